"""`uptack init`: create the schema and the ledger of a file, with questions to its curator."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from uptack.cli.command_support import ADJACENCIES, ANSWER, file_options, open_source, say
from uptack.cli.describe_command import inspect_table, look_lines, new_schema_place, propose_schema, save_schema
from uptack.cli.parameter_types import Exact
from uptack.errors import InvalidArgument, UptackError
from uptack.exact import read
from uptack.labels import label
from uptack.privacy import Adjacency
from uptack.privacy.guarantee import whose
from uptack.progress import steps
from uptack.table import schema as schemas
from uptack.table.csv import cells
from uptack.table.csv.inspector import Look
from uptack.table.id_candidates import repeats
from uptack.table.names import known
from uptack.table.schema import Schema

REST = {
    "ledger": None, "dataset": None, "analyst": None, "adjacency": None, "rows_per_person": 1, "person": (),
    "noun": None, "missing": "drop", "where": (), "seed": None,
}  # fmt: skip
"""Options of a session besides those of its file."""
ASKED = {
    "encoding": "Encoding",
    "delimiter": "Character between cells",
    "decimal": "Decimal sign",
    "thousands": "Separator of thousands",
    "na": "Words for missing values, separated by blanks",
}


@click.command(epilog="\b\nExamples:\n  uptack init patients.csv\n  uptack init patients.csv --yes --epsilon 3")
@click.argument("path", metavar="TABLE")
@click.option("--yes", "-y", is_flag=True, help="Ask no questions: accept what is proposed.")
@click.option("--epsilon", "-e", type=Exact(), help="The total ε of the ledger; 0 for no ledger. [default: 1]")
@click.option("--delta", type=Exact(), help="The total δ of the ledger. [default: 1e-6]")
@click.option("--ledger", help="A new file for the ledger, or the URL of a PostgreSQL database. "
                                "[default: TABLE.ledger.db]")  # fmt: skip
@file_options
def init(path: str, yes: bool, epsilon: Any, delta: Any, ledger: str | None, **options: Any) -> int:
    """Create the schema of a file, TABLE.uptack.toml, and a ledger, with a few questions.

    It inspects the rows, which is NOT PRIVATE. The schema is public from then on. It names the ledger, so that every
    release from the file is debited.
    """
    new_schema_place(path)
    questions = _Questions(yes)
    seen = questions.dialect(path, options)
    with open_source(path, {**REST, **options}) as session:
        with steps("looking for ids", 1):
            ids = repeats(session.source)
        schema = propose_schema(session, seen, ids, (), None, None)
    schema = questions.people(questions.kinds(schema))
    budget = questions.number("Total privacy budget ε of all releases (0: no ledger)", epsilon, "1")
    if budget:
        slack = questions.number("Total δ of all releases", delta, "1e-6")
        place = ledger or questions.word("Ledger", f"{path}.ledger.db")
        relation = ADJACENCIES[schema.adjacency or "substitute"]
        relation = relation.by_person(*schema.person) if schema.person else relation
        ledger_place, dataset = _new_ledger(path, place, budget, slack, relation)
        schema = replace(schema, ledger=ledger_place, dataset=dataset)
        say(whose(relation, schema.noun or "row"))
    save_schema(path, schema)
    say(f"Now: uptack report {path} --epsilon {float(budget) / 2 or 1:g}")
    return ANSWER


def _new_ledger(path: str, place: str, epsilon: Any, delta: Any, relation: Adjacency) -> tuple[str, str | None]:
    """Creates the ledger of a table. Returns its place and data set as the schema names them."""
    from uptack.ledger import Ledger

    schemas.check_ledger_place(place)
    if "://" in place:
        dataset = Path(path).name
        say(repr(Ledger(place, epsilon, delta, dataset=dataset, adjacency=relation)))
        return place, dataset
    file = Path(place)
    if file.exists():
        raise InvalidArgument("ledger", "a new file", f"{place!r}, which exists", "Name another one with --ledger.")
    say(repr(Ledger(file, epsilon, delta, adjacency=relation)))
    same = file.resolve().parent == schemas.place(path).resolve().parent
    return file.name if same else str(file.resolve()), None


class _Questions:
    """Questions on the terminal, each with a proposed answer. With `yes` the proposals are accepted unasked."""

    def __init__(self, yes: bool) -> None:
        self.yes = yes

    def sure(self, question: str) -> bool:
        return self.yes or click.confirm(question, default=True)

    def word(self, question: str, usual: str) -> str:
        return usual if self.yes else str(click.prompt(question, default=usual, show_default=bool(usual))).strip()

    def number(self, question: str, given: Any, usual: str) -> Any:
        if given is not None or self.yes:
            return read(usual) if given is None else given
        return click.prompt(question, default=usual, type=Exact())

    def dialect(self, path: str, options: dict[str, Any]) -> Look | None:
        """How the file is written, until the curator agrees."""
        given = dict(options)
        while True:
            filled = dict(given)
            seen = inspect_table(path, filled)
            if seen is None:
                return None
            say("\n".join(look_lines(seen)))
            if self.sure("Is the file written like this?"):
                options |= filled
                return seen
            for name, question in ASKED.items():
                value = self.word(question, " ".join(seen.dialect["na"]) if name == "na" else seen.dialect[name])
                given[name] = tuple(value.split()) if name == "na" else value

    def kinds(self, schema: Schema) -> Schema:
        """The types of the columns."""
        if not schema.kinds or self.sure("Are these types right?"):
            return schema
        columns = dict(schema.columns)
        for name, column in columns.items():
            kind = self._until(f"{label(name)} ({', '.join(cells.TYPES)})", column.kind or "text", _kind)
            numeric = kind in ("integer", "number")
            usual = "" if column.granularity is None else f"{float(column.granularity):g}"
            step = self._until("  values are multiples of (empty: unknown)", usual, _step) if numeric else None
            columns[name] = replace(column, kind=kind, granularity=step)
        return replace(schema, columns=columns)

    def people(self, schema: Schema) -> Schema:
        """Whose rows they are: people or the rows themselves."""

        def ids(text: str) -> tuple[str, ...]:
            return tuple(known(one.strip(), dict.fromkeys(schema.columns, "other")) for one in text.split(",") if one)

        question = "Column with the id of each row's person (several: separated by commas; none: rows are protected)"
        person = self._until(
            question, ",".join(schema.person) or "none", lambda text: () if text == "none" else ids(text)
        )
        noun = self.word("What is one row called?", schema.noun or "row")
        public = self.sure(f"Is the number of {'people' if person else 'rows'} public?")
        return replace(schema, person=person, noun=noun, adjacency="substitute" if public else "add-remove")

    def _until(self, question: str, usual: str, read: Any) -> Any:
        """The first valid answer."""
        while True:
            try:
                return read(self.word(question, usual))
            except UptackError as error:
                if self.yes:
                    raise
                say(str(error), err=True)


def _kind(text: str) -> str:
    if not cells.is_kind(text):
        raise InvalidArgument("kind", f"one of {', '.join((*cells.TYPES, *cells.EXAMPLES))}", repr(text))
    return text


def _step(text: str) -> Fraction | None:
    try:
        step = read(text) if text else None
    except ValueError:
        step = Fraction(0)
    if step is not None and not step > 0:
        raise InvalidArgument("granularity", "a positive number", repr(text))
    return step
