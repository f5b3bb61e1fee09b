"""`uptack describe`: what is public of a table, and what its curator may see beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from uptack.cli.command_support import ANSWER, as_json, opened, say, session_options, split_missing_words, written
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

WARNING = "FOR THE CURATOR'S EYES ONLY: exact numbers from the rows, not private. Don't pass them on."


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
    help="Look at the rows: how a CSV file is written, what its columns hold, which of them may be ids. NOT PRIVATE.",
)
@click.option("--write", is_flag=True, help="With --curator: write TABLE.uptack.toml, which is public from then on.")
@stacked(as_json, session_options)
def describe(path: str, curator: bool, write: bool, **options: Any) -> int:
    """What is public of a table: columns and types, the number of rows or people, and whose privacy is meant."""
    json_wanted, ids = options.pop("as_json"), list[Repeats]()
    if write and not curator:
        raise click.UsageError("--write goes with --curator: what it writes down comes from the rows")
    if write:
        new(path)
    seen = looked(path, options) if curator else None
    told = {name: options[name] for name in ("person", "noun", "adjacency")}
    with opened(path, options) as session:
        with steps("looking for ids", 1):
            ids = repeats(session.whole) if curator else []
        shown, lines = session.to_dict(), [session.describe()]
        if curator:
            shown |= {"curator": [line.to_dict() for line in ids], "proposal": None if seen is None else seen.to_dict()}
            lines += ["", WARNING, *look_lines(seen), *_lines(session, ids)]
        say(json_text(shown) if json_wanted else "\n".join(lines))
        if write:
            save(path, proposed(session, seen, ids, **told))
    return ANSWER


def new(path: str) -> Path:
    """Where the schema of a table will be. There is none yet."""
    if not files.has_schema(path):
        raise InvalidArgument(
            "data", "a CSV, Parquet or Arrow file on this machine", repr(path), "Others have no schema."
        )
    if (place := schemas.place(path)).exists():
        fix = "Edit it, or remove it first."
        raise InvalidArgument("schema", "a new file", f"{place.name!r}, which exists", fix)
    return place


def looked(path: str, options: dict[str, Any]) -> Look | None:
    """A look at a CSV file. What it proposes is filled into the options that nobody gave, and no schema says."""
    say(f"uptack: {WARNING}", err=True)
    if path == "-" or not files.is_text(path):
        return None
    split_missing_words(path, options)
    given = files.FileOptions(types=options["types"] or None, **written(options))
    told = files.schema_of(path)
    with steps(f"looking at {Path(path).name}", 1):
        seen = look(path, given if told is None else told.filled(given))
    if told is None:
        options |= {name: value for name, value in seen.dialect.items() if options[name] in (None, ())}
        options["types"] = {column.name: column.kind for column in seen.columns}
    return seen


def proposed(
    session: Session, seen: Look | None, ids: list[Repeats], person: Any, noun: str | None, adjacency: str | None
) -> Schema:
    """The schema that a look proposes. Where nothing is said of people, ids that look like people's are theirs."""
    columns = {name: ColumnSchema() for name in session.source.as_rows().kinds}
    columns |= {} if seen is None else {column.name: column.schema for column in seen.columns}
    dialect = {} if seen is None else {key: value for key, value in seen.dialect.items() if value not in ("", [])}
    owner = tuple(person) or next((line.names for line in ids if like_people(line)), ())
    return Schema("", columns, dialect, owner, noun, adjacency)


def like_people(line: Repeats) -> bool:
    """Whether a column looks like ids of people who have several rows: by its name, and by how many values it has."""
    return line.most > 1 and line.values * MANY >= line.rows and bool(SOUNDS.search(line.names[0]))


def save(path: str, schema: Schema) -> None:
    """Write the schema beside the table."""
    place = new(path)
    with place.open("x", encoding="utf-8") as file:
        file.write(schemas.text(schema, Path(path).name))
    ids = " and ".join(map(label, schema.person))
    whose = f" It says that rows with the same {ids} are one person's." if ids else ""
    told = "It is public from now on: read it, and mend what is wrong or says too much."
    say(f"uptack: wrote {place}. {told}{whose}", err=True)


def look_lines(seen: Look | None) -> list[str]:
    """What was seen of a CSV file."""
    if seen is None:
        return []
    how = ", ".join(f"{key} {_shown(value)}" for key, value in seen.dialect.items() if value not in ("", []))
    lines = [f"  the file: {how}"]
    if seen.odd:
        lines.append(
            f"  {seen.odd:,} of {seen.rows:,} rows have too few or too many cells, and count as missing values"
        )
    if len(seen.columns) == 1:
        lines.append("  there is one column: say --delimiter if another sign is between cells")
    lines += [f"  {label(column.name)}: {_column(column)}" for column in seen.columns]
    return [*lines, *(f"  {column.hint}" for column in seen.columns if column.hint)]


def _column(column: ColumnLook) -> str:
    step = "" if column.granularity is None else f" in steps of {float(column.granularity):g}"
    others = f" ({', '.join(map(label, column.words))})" if column.words else ""
    wrong = f"; {column.misfits:,} of {column.filled:,} cells are none, and count as missing{others}"
    return f"{column.kind}{step}{wrong if column.misfits else ''}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(label, value)) if isinstance(value, list) else repr(value)


def _lines(session: Session, found: list[Repeats]) -> list[str]:
    """What the curator is told of columns that may be ids."""
    ids, lines = session.adjacency.person, list[str]()
    for line in found:
        names = " and ".join(map(label, line.names))
        most = f"{line.most:,} row{'' if line.most == 1 else 's'}"
        many = f"{line.values:,} values in {line.rows:,} rows, at most {most} of one"
        nobody = f"; {line.missing:,} rows have none and are left out" if line.missing else ""
        lines.append(f"  {names}: {many}{nobody}")
    if not found:
        lines.append("  no column looks like ids of people")
    several = [line for line in found if line.most > 1]
    if not ids and several:
        best = next((line for line in several if like_people(line)), several[0])
        lines.append("If one of these says whose a row is, people are protected only with this option, or its like:")
        lines.append("  " + " ".join(f"--person {pasted(name)}" for name in best.names))
    return lines
