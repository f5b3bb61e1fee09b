"""`uptack init`: a schema and a ledger for a file, by asking its curator."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from uptack.cli.command_support import ADJACENCIES, ANSWER, file_options, opened, say
from uptack.cli.describe_command import look_lines, looked, new, proposed, save
from uptack.cli.parameter_types import Exact
from uptack.errors import InvalidArgument, UptackError
from uptack.exact import read
from uptack.labels import label
from uptack.privacy import Adjacency
from uptack.privacy.explanation import whose
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
"""What a session is told beside how its file is written."""
ASKED = {
    "encoding": "Encoding",
    "delimiter": "Between two cells",
    "decimal": "Decimal sign",
    "thousands": "Between thousands",
    "na": "Words for missing values, with blanks between them",
}


@click.command(epilog="\b\nExamples:\n  uptack init patients.csv\n  uptack init patients.csv --yes --epsilon 3")
@click.argument("path", metavar="TABLE")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing: take what is proposed.")
@click.option("--epsilon", "-e", type=Exact(), help="The whole budget of the ledger; 0 for none. [default: 1]")
@click.option("--delta", type=Exact(), help="The whole δ of the ledger. [default: 1e-6]")
@click.option("--ledger", help="A new file for the ledger, or the URL of a PostgreSQL database. "
                                "[default: TABLE.ledger.db]")  # fmt: skip
@file_options
def init(path: str, yes: bool, epsilon: Any, delta: Any, ledger: str | None, **options: Any) -> int:
    """Look at a file, ask its curator, and write down what is public of it: TABLE.uptack.toml. Make a ledger, too.

    The look is NOT PRIVATE. What is written down is public from then on.
    """
    new(path)
    asking = _Asking(yes)
    seen = asking.written(path, options)
    with opened(path, {**REST, **options}) as session:
        with steps("looking for ids", 1):
            ids = repeats(session.source)
        schema = proposed(session, seen, ids, (), None, None)
    schema = asking.people(asking.kinds(schema))
    budget = asking.number("Privacy budget ε of all releases together; 0 for no ledger", epsilon, "1")
    if budget:
        slack = asking.number("δ of all releases together", delta, "1e-6")
        place = ledger or asking.word("Ledger", f"{path}.ledger.db")
        relation = ADJACENCIES[schema.adjacency or "substitute"]
        relation = relation.by_person(*schema.person) if schema.person else relation
        ledger_place, dataset = _new_ledger(path, place, budget, slack, relation)
        schema = replace(schema, ledger=ledger_place, dataset=dataset)
        say(whose(relation, schema.noun or "row"))
    save(path, schema)
    say(f"Now: uptack report {path} --epsilon {float(budget) / 2 or 1:g}")
    return ANSWER


def _new_ledger(path: str, place: str, epsilon: Any, delta: Any, relation: Adjacency) -> tuple[str, str | None]:
    """Creates the ledger of a table, and says how a schema names it: in its own folder by the file's name alone."""
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


class _Asking:
    """Questions on the terminal, each with what is proposed as its default; with `yes` none is asked."""

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

    def written(self, path: str, options: dict[str, Any]) -> Look | None:
        """How the file is written, until the curator says yes."""
        given = dict(options)
        while True:
            filled = dict(given)
            seen = looked(path, filled)
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
        """What the columns hold."""
        if not schema.kinds or self.sure("Do the columns hold what is listed above?"):
            return schema
        columns = dict(schema.columns)
        for name, said in columns.items():
            kind = self._until(f"{label(name)} ({', '.join(cells.TYPES)})", said.kind or "text", _kind)
            numeric = kind in ("integer", "number")
            usual = "" if said.granularity is None else f"{float(said.granularity):g}"
            step = self._until("  in steps of (none if empty)", usual, _step) if numeric else None
            columns[name] = replace(said, kind=kind, granularity=step)
        return replace(schema, columns=columns)

    def people(self, schema: Schema) -> Schema:
        """Whose rows they are."""

        def ids(text: str) -> tuple[str, ...]:
            return tuple(known(one.strip(), dict.fromkeys(schema.columns, "other")) for one in text.split(",") if one)

        question = "Column that says whose a row is (several: with commas; none: each row is protected by itself)"
        person = self._until(
            question, ",".join(schema.person) or "none", lambda text: () if text == "none" else ids(text)
        )
        noun = self.word("What one row is", schema.noun or "row")
        public = self.sure(f"May everybody know the number of {'people' if person else 'rows'}?")
        return replace(schema, person=person, noun=noun, adjacency="substitute" if public else "add-remove")

    def _until(self, question: str, usual: str, read: Any) -> Any:
        """The first answer that can be read."""
        while True:
            try:
                return read(self.word(question, usual))
            except UptackError as error:
                if self.yes:
                    raise
                say(str(error), err=True)


def _kind(text: str) -> str:
    if not cells.is_kind(text):
        raise InvalidArgument("kind", f"one of {', '.join(cells.TYPES)}, or such as boolean:yes/no", repr(text))
    return text


def _step(text: str) -> Fraction | None:
    try:
        step = read(text) if text else None
    except ValueError:
        step = Fraction(0)
    if step is not None and not step > 0:
        raise InvalidArgument("granularity", "a positive number", repr(text))
    return step
