"""`uptack describe` and `uptack init`: what is public about a table, what its rows show, and its schema and ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from uptack.cli import command_support as shared
from uptack.errors import InvalidArgument, UptackError
from uptack.exact import read
from uptack.labels import json_text, label, shell_word
from uptack.privacy import Adjacency
from uptack.privacy.guarantee import whose
from uptack.progress import steps
from uptack.session import Session
from uptack.session.session import INFERRED
from uptack.table import schema as schemas
from uptack.table.csv import cells
from uptack.table.csv.inspector import Look, inspect_file
from uptack.table.engine import files
from uptack.table.ids import MANY, SOUNDS, Repeats, repeats
from uptack.table.names import column_name
from uptack.table.schema import ColumnSchema, Schema
from uptack.table.values.times import TYPES

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
@shared.stack_decorators(shared.as_json, shared.session_options)
def describe(path: str, curator: bool, write: bool, **options: Any) -> int:
    """What is public about a table: columns and types, the number of rows or people, and whose privacy is protected."""
    json_wanted, ids = options.pop("as_json"), list[Repeats]()
    if write and not curator:
        raise click.UsageError("--write only applies together with --curator, which inspects the rows")
    if write:
        new_schema_place(path)
    seen = inspect_table(path, options) if curator else None
    declared = {name: options[name] for name in ("person", "noun", "adjacency")}
    with shared.open_source(path, options) as session:
        with steps("looking for ids", 1):
            ids = repeats(session.whole) if curator else []
        shown, lines = session.to_dict(), [session.describe().replace(f"{INFERRED}\n", "")]
        if curator:
            shown |= {"curator": [line.to_dict() for line in ids], "proposal": None if seen is None else seen.to_dict()}
            lines += ["", WARNING, *look_lines(seen), *_id_lines(session, ids)]
        shared.say(json_text(shown) if json_wanted else "\n".join(lines))
        if write:
            save_schema(path, propose_schema(session, seen, ids, **declared))
    return shared.ANSWER


def new_schema_place(path: str) -> Path:
    """The place of a new schema. An existing one is not overwritten."""
    if not files.has_schema(path):
        fix = "Other tables have no schema. For a budget, run `uptack ledger create` and pass --ledger to each command."
        raise InvalidArgument("data", "a CSV, Parquet or Arrow file on this machine", repr(path), fix)
    if (place := schemas.schema_place(path)).exists():
        fix = "Edit that file, or remove it first."
        raise InvalidArgument("schema", "a new file", f"{place.name!r}, which exists", fix)
    return place


def inspect_table(path: str, options: dict[str, Any]) -> Look | None:
    """Inspect a CSV file. What it proposes becomes the default of options that neither the user nor a schema gives."""
    shared.say(f"uptack: {WARNING}", err=True)
    if path == "-" or not files.is_text(path):
        return None
    shared.split_missing_words(path, options)
    given = files.FileOptions(types=options["types"] or None, **shared.dialect_options(options))
    schema = files.schema_of(path)
    with steps(f"inspecting {Path(path).name}", 1):
        seen = inspect_file(path, given if schema is None else schema.filled(given))
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
        file.write(schemas.schema_text(schema, Path(path).name))
    ids = " and ".join(map(label, schema.person))
    people = f" Rows with the same {ids} belong to one person." if ids else ""
    advice = "It is now public. Correct what is wrong or reveals too much."
    shared.say(f"uptack: saved {place}.{people} {advice}", err=True)


def look_lines(seen: Look | None) -> list[str]:
    """The result of inspecting a CSV file, as lines."""
    if seen is None:
        return []

    def text(value: Any) -> str:
        words = " ".join(map(label, value)) if isinstance(value, list) else repr(value)
        return ("no", "yes")[value] if isinstance(value, bool) else words

    how = ", ".join(f"{key} {text(value)}" for key, value in seen.dialect.items() if value not in ("", []))
    lines = [f"  the file: {how}"]
    if seen.odd:
        lines.append(f"  {seen.odd:,} of {seen.rows:,} rows have too few or too many cells, and are read as missing")
    if len(seen.columns) == 1:
        lines.append("  there is one column. If another character separates cells, pass --delimiter")
    for column in seen.columns:
        step = "" if column.granularity is None else f", multiples of {float(column.granularity):g}"
        others = f" ({', '.join(map(label, column.words))})" if column.words else ""
        wrong = f"; {column.misfits:,} of {column.filled:,} cells are not, and become missing values{others}"
        lines.append(f"  {label(column.name)}: {column.kind}{step}{wrong if column.misfits else ''}")
    return [*lines, *(f"  {column.hint}" for column in seen.columns if column.hint)]


def _id_lines(session: Session, repeated: list[Repeats]) -> list[str]:
    ids, lines = session.adjacency.person, list[str]()
    for line in repeated:
        names = " and ".join(map(label, line.names))
        most = f"{line.most:,} row{'' if line.most == 1 else 's'}"
        many = f"{line.values:,} values in {line.rows:,} rows, at most {most} per value"
        without_id = f"; {line.missing:,} rows without an id are left out" if line.missing else ""
        lines.append(f"  {names}: {many}{without_id}")
    if not repeated:
        lines.append("  no column looks like ids of people")
    several = [line for line in repeated if line.most > 1]
    if not ids and several:
        best = next((line for line in several if like_people(line)), several[0])
        lines.append("If one of these columns identifies people, they are only protected with an option such as:")
        lines.append("  " + " ".join(f"--person {shell_word(name)}" for name in best.names))
    return lines


ASKED = {
    "encoding": "Encoding",
    "delimiter": "Character between cells",
    "decimal": "Decimal sign",
    "thousands": "Separator of thousands",
    "na": "Words for missing values, separated by blanks",
}


@click.command(
    epilog="""\b
Examples:
  uptack init patients.csv
  uptack init patients.csv --yes --epsilon 3
  uptack init visits.csv --person patient_id
"""
)
@click.argument("path", metavar="TABLE")
@click.option("--yes", "-y", is_flag=True, help="Ask no questions: accept what is proposed.")
@click.option("--epsilon", "-e", type=shared.EXACT, help="The total ε of the ledger; 0 for no ledger. [default: 1]")
@click.option("--delta", type=shared.EXACT, help="The total δ of the ledger. [default: 1e-6]")
@click.option("--ledger", help="A new file for the ledger, or the URL of a PostgreSQL database. "
                                "[default: TABLE.ledger.db]")  # fmt: skip
@click.option("--person", multiple=True, help="The column with the id of each row's person. May be repeated.")
@shared.file_options
def init(
    path: str, yes: bool, epsilon: Any, delta: Any, ledger: str | None, person: tuple[str, ...], **options: Any
) -> int:
    """Create the schema of a file, TABLE.uptack.toml, and a ledger, with a few questions.

    It inspects the rows, which is NOT PRIVATE. The schema is public from then on. It names the ledger, so that every
    release from the file is debited.
    """
    new_schema_place(path)
    questions = _Questions(yes)
    seen = questions.dialect(path, options)
    with shared.open_source(path, options) as session:
        with steps("looking for ids", 1):
            ids = repeats(session.source)
        schema = propose_schema(session, seen, ids, person, None, None)
        if not schema.person:
            shared.say("\n".join(_id_lines(session, ids)))
    schema = questions.people(questions.kinds(schema))
    budget = questions.number("Total privacy budget ε of all releases (0: no ledger)", epsilon, "1")
    if budget:
        slack = questions.number("Total δ of all releases", delta, "1e-6")
        place = ledger or questions.word("Ledger", f"{path}.ledger.db")
        relation = shared.ADJACENCIES[schema.adjacency or "substitute"]
        relation = relation.by_person(*schema.person) if schema.person else relation
        ledger_place, dataset = _new_ledger(path, place, budget, slack, relation)
        schema = replace(schema, ledger=ledger_place, dataset=dataset)
        shared.say(whose(relation, schema.noun or "row"))
    save_schema(path, schema)
    half = f" --delta {float(slack) / 2:g}" if budget and slack else ""  # so that something is left of both
    shared.say(f"Next: uptack report {path} --epsilon {float(budget) / 2 or 1:g}{half}")
    return shared.ANSWER


def _new_ledger(path: str, place: str, epsilon: Any, delta: Any, relation: Adjacency) -> tuple[str, str | None]:
    """Creates the ledger of a table. Returns its place and data set as the schema names them."""
    schemas.check_ledger_place(place)
    file, remote = Path(place), "://" in place
    if not remote and file.exists():
        raise InvalidArgument("ledger", "a new file", f"{place!r}, which exists", "Name another one with --ledger.")
    named = {"dataset": Path(path).name} if remote else {}
    made = shared.open_ledger(place, epsilon, delta, adjacency=relation, **named)
    shared.say(f"Created the ledger {made.where}, with a budget of {made.budget}.")
    if remote:
        return place, named["dataset"]
    same = file.resolve().parent == schemas.schema_place(path).resolve().parent
    return file.name if same else str(file.resolve()), None


class _Questions:
    """Questions on the terminal, each with a proposed answer. With `yes` the proposals are accepted unasked."""

    def __init__(self, yes: bool) -> None:
        self.yes = yes

    @staticmethod
    def _answer(ask: Callable[..., Any], question: str, **options: Any) -> Any:
        """What somebody answers. In a script there may be nobody to ask."""
        try:
            return ask(question, **options)
        except click.exceptions.Abort as stopped:
            if not isinstance(stopped.__context__, EOFError):
                raise
            text = "there was no answer to a question. Pass --yes to accept the proposals."
            raise UptackError(text) from None

    def sure(self, question: str) -> bool:
        return self.yes or bool(self._answer(click.confirm, question, default=True))

    def word(self, question: str, usual: str) -> str:
        if self.yes:
            return usual
        return str(self._answer(click.prompt, question, default=usual, show_default=bool(usual))).strip()

    def number(self, question: str, given: Any, usual: str) -> Any:
        if given is not None or self.yes:
            return read(usual) if given is None else given
        return self._answer(click.prompt, question, default=usual, type=shared.EXACT)

    def dialect(self, path: str, options: dict[str, Any]) -> Look | None:
        """How the file is written, until the curator agrees."""
        given = dict(options)
        while True:
            filled = dict(given)
            seen = inspect_table(path, filled)
            if seen is None:
                return None
            shared.say("\n".join(look_lines(seen)))
            if self.sure("Is this description of the file right?"):
                options |= filled
                return seen
            for name, question in ASKED.items():
                value = self.word(question, " ".join(seen.dialect["na"]) if name == "na" else seen.dialect[name])
                given[name] = tuple(value.split()) if name == "na" else value

    def kinds(self, schema: Schema) -> Schema:
        def kind_of(text: str) -> str:
            if not cells.is_kind(text):
                raise InvalidArgument("kind", f"one of {', '.join((*TYPES, *cells.EXAMPLES))}", repr(text))
            return text

        def step_of(text: str) -> Fraction | None:
            try:
                step = read(text) if text else None
            except ValueError:
                step = Fraction(0)
            if step is not None and not step > 0:
                raise InvalidArgument("granularity", "a positive number", repr(text))
            return step

        if not schema.kinds or self.sure("Are these types right?"):
            return schema
        columns = dict(schema.columns)
        for name, column in columns.items():
            kind = self._until(f"{label(name)} ({', '.join(TYPES)})", column.kind or "text", kind_of)
            numeric = kind in ("integer", "number")
            usual = "" if column.granularity is None else f"{float(column.granularity):g}"
            step = self._until("  values are multiples of (empty: unknown)", usual, step_of) if numeric else None
            columns[name] = replace(column, kind=kind, granularity=step)
        return replace(schema, columns=columns)

    def people(self, schema: Schema) -> Schema:
        def ids(text: str) -> tuple[str, ...]:
            names = () if text == "none" else text.split(",")
            return tuple(column_name(one.strip(), dict.fromkeys(schema.columns, "other")) for one in names if one)

        question = "Column with the id of each row's person (several: separated by commas; none: rows are protected)"
        person = self._until(question, ",".join(schema.person) or "none", ids)
        noun = self.word("What is one row called?", schema.noun or "row")
        public = self.sure(f"Is the number of {'people' if person else 'rows'} public?")
        return replace(schema, person=person, noun=noun, adjacency="substitute" if public else "add-remove")

    def _until(self, question: str, usual: str, read: Any) -> Any:
        while True:
            try:
                return read(self.word(question, usual))
            except UptackError as error:
                if self.yes:
                    raise
                shared.say(str(error), err=True)
