"""`uptack describe`: what is public about a table, and with --curator what its rows show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from uptack.cli.command_support import (
    ANSWER,
    as_json,
    dialect_options,
    open_source,
    say,
    session_options,
    split_missing_words,
)
from uptack.cli.parameter_types import stacked
from uptack.errors import InvalidArgument
from uptack.labels import json_text, label, pasted
from uptack.progress import steps
from uptack.session import Session
from uptack.table import schema as schemas
from uptack.table.csv.inspector import ColumnLook, Look, look
from uptack.table.engine import files
from uptack.table.id_candidates import MANY, SOUNDS, Repeats, repeats
from uptack.table.schema import ColumnSchema, Schema

WARNING = "FOR THE CURATOR ONLY: exact numbers from the rows. They are not private. Do not share them."


@click.command(
    epilog="""\b
Examples:
  uptack describe visits.parquet --person patient_id
  uptack describe visits.csv --curator
  uptack describe visits.csv --curator --write
"""
)
@click.argument("path", metavar="TABLE")
@click.option(
    "--curator",
    is_flag=True,
    help="Inspect the rows: how a CSV file is written, types of columns, columns that may be ids. NOT PRIVATE.",
)
@click.option(
    "--write", is_flag=True, help="With --curator: save the result as TABLE.uptack.toml, which is public from then on."
)
@stacked(as_json, session_options)
def describe(path: str, curator: bool, write: bool, **options: Any) -> int:
    """What is public about a table: columns and types, the number of rows or people, and whose privacy is protected."""
    json_wanted, ids = options.pop("as_json"), list[Repeats]()
    if write and not curator:
        raise click.UsageError("--write only applies together with --curator, which inspects the rows")
    if write:
        new_schema_place(path)
    seen = inspect_table(path, options) if curator else None
    declared = {name: options[name] for name in ("person", "noun", "adjacency")}
    with open_source(path, options) as session:
        with steps("looking for ids", 1):
            ids = repeats(session.whole) if curator else []
        shown, lines = session.to_dict(), [session.describe()]
        if curator:
            shown |= {"curator": [line.to_dict() for line in ids], "proposal": None if seen is None else seen.to_dict()}
            lines += ["", WARNING, *look_lines(seen), *_lines(session, ids)]
        say(json_text(shown) if json_wanted else "\n".join(lines))
        if write:
            save_schema(path, propose_schema(session, seen, ids, **declared))
    return ANSWER


def new_schema_place(path: str) -> Path:
    """The place of a new schema. An existing one is not overwritten."""
    if not files.has_schema(path):
        raise InvalidArgument(
            "data", "a CSV, Parquet or Arrow file on this machine", repr(path), "Other tables have no schema."
        )
    if (place := schemas.place(path)).exists():
        fix = "Edit that file, or remove it first."
        raise InvalidArgument("schema", "a new file", f"{place.name!r}, which exists", fix)
    return place


def inspect_table(path: str, options: dict[str, Any]) -> Look | None:
    """Inspect a CSV file. What it proposes becomes the default of options that neither the user nor a schema gives."""
    say(f"uptack: {WARNING}", err=True)
    if path == "-" or not files.is_text(path):
        return None
    split_missing_words(path, options)
    given = files.FileOptions(types=options["types"] or None, **dialect_options(options))
    schema = files.schema_of(path)
    with steps(f"inspecting {Path(path).name}", 1):
        seen = look(path, given if schema is None else schema.filled(given))
    if schema is None:
        options |= {name: value for name, value in seen.dialect.items() if options[name] in (None, ())}
        options["types"] = {column.name: column.kind for column in seen.columns}
    return seen


def propose_schema(
    session: Session, seen: Look | None, ids: list[Repeats], person: Any, noun: str | None, adjacency: str | None
) -> Schema:
    """The schema that an inspection proposes. Without --person, it takes the ids that look like those of people."""
    columns = {name: ColumnSchema() for name in session.source.as_rows().kinds}
    columns |= {} if seen is None else {column.name: column.schema for column in seen.columns}
    dialect = {} if seen is None else {key: value for key, value in seen.dialect.items() if value not in ("", [])}
    owner = tuple(person) or next((line.names for line in ids if like_people(line)), ())
    return Schema("", columns, dialect, owner, noun, adjacency)


def like_people(line: Repeats) -> bool:
    """Whether a column looks like ids of people with several rows, by its name and its number of values."""
    return line.most > 1 and line.values * MANY >= line.rows and bool(SOUNDS.search(line.names[0]))


def save_schema(path: str, schema: Schema) -> None:
    """Write the schema beside the table."""
    place = new_schema_place(path)
    with place.open("x", encoding="utf-8") as file:
        file.write(schemas.text(schema, Path(path).name))
    ids = " and ".join(map(label, schema.person))
    whose = f" Rows with the same {ids} belong to one person." if ids else ""
    say(f"uptack: saved {place}.{whose} It is public from now on. Correct what is wrong or reveals too much.", err=True)


def look_lines(seen: Look | None) -> list[str]:
    """The result of inspecting a CSV file, as lines."""
    if seen is None:
        return []
    how = ", ".join(f"{key} {_shown(value)}" for key, value in seen.dialect.items() if value not in ("", []))
    lines = [f"  the file: {how}"]
    if seen.odd:
        lines.append(
            f"  {seen.odd:,} of {seen.rows:,} rows have too few or too many cells, and are rows of missing values"
        )
    if len(seen.columns) == 1:
        lines.append("  there is one column. If another character separates cells, pass --delimiter")
    lines += [f"  {label(column.name)}: {_column(column)}" for column in seen.columns]
    return [*lines, *(f"  {column.hint}" for column in seen.columns if column.hint)]


def _column(column: ColumnLook) -> str:
    step = "" if column.granularity is None else f", multiples of {float(column.granularity):g}"
    others = f" ({', '.join(map(label, column.words))})" if column.words else ""
    wrong = f"; {column.misfits:,} of {column.filled:,} cells are not, and become missing values{others}"
    return f"{column.kind}{step}{wrong if column.misfits else ''}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(label, value)) if isinstance(value, list) else repr(value)


def _lines(session: Session, found: list[Repeats]) -> list[str]:
    """Lines about columns that may be ids."""
    ids, lines = session.adjacency.person, list[str]()
    for line in found:
        names = " and ".join(map(label, line.names))
        most = f"{line.most:,} row{'' if line.most == 1 else 's'}"
        many = f"{line.values:,} values in {line.rows:,} rows, at most {most} per value"
        without_id = f"; {line.missing:,} rows without an id are left out" if line.missing else ""
        lines.append(f"  {names}: {many}{without_id}")
    if not found:
        lines.append("  no column looks like ids of people")
    several = [line for line in found if line.most > 1]
    if not ids and several:
        best = next((line for line in several if like_people(line)), several[0])
        lines.append("If one of these columns identifies people, they are only protected with an option such as:")
        lines.append("  " + " ".join(f"--person {pasted(name)}" for name in best.names))
    return lines
