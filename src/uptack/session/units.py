"""The unit of privacy of a session, rows or people, and the ledger that pays for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.privacy import Adjacency
from uptack.table.names import id_names
from uptack.table.schema import Schema

if TYPE_CHECKING:
    from uptack.ledger import Ledger

LONGEST_NOUN = 40


def person_adjacency(relation: Adjacency, person: str | Sequence[str] | None) -> Adjacency:
    """The adjacency by the people whose ids are in the columns `person`."""
    if person is None:
        return relation
    names = id_names(person)
    if relation.person not in ((), names):
        raise InvalidArgument("person", f"{relation.person}, as in adjacency", checks.describe(person))
    if relation.rows_per_person != 1:
        fix = "Leave it out: with person= all rows of a person are protected together, however many."
        raise InvalidArgument("rows_per_person", "1 if person is given", relation.rows_per_person, fix)
    return relation.by_person(*names)


def check_noun(noun: object) -> str:
    """What a row is called: a short noun."""
    if not isinstance(noun, str) or not 0 < len(noun) <= LONGEST_NOUN or not noun.isprintable():
        raise InvalidArgument("noun", f"a word of at most {LONGEST_NOUN} characters", checks.describe(noun))
    return noun


def choose_ledger(given: object, schema: Schema) -> Ledger | None:
    """The ledger that pays: the one of the schema if it names one, else the given one, which may be a path or a URL.

    If the schema names a ledger, every release from the file is debited to it. Another one is refused.
    """
    if given is None and schema.ledger is None:
        return None
    from uptack.ledger import Ledger  # imports SQLAlchemy, which sessions without a ledger don't need

    fix = "Pass ledger='budget.db', or uptack.Ledger('budget.db')."
    book = Ledger(given) if isinstance(given, str | Path) else given
    if book is not None and not isinstance(book, Ledger):
        raise InvalidArgument("ledger", "an uptack.Ledger, its path or its URL", checks.describe(given), fix)
    if schema.ledger is None:
        return book
    own = Ledger(schema.ledger, dataset=schema.dataset or "data")
    if book is not None and (book.where, book.dataset) != (own.where, own.dataset):
        must = f"data set {own.dataset!r} of {own.where}, which {schema.name} names"
        fix = "Leave it out: every release from this file is debited to that ledger."
        raise InvalidArgument("ledger", must, f"{book.dataset!r} of {book.where}", fix)
    return own if book is None else book


def check_ledger(book: Ledger, relation: Adjacency) -> None:
    """Refuses a ledger for another unit: rows or people, and by which ids.

    Budgets for different units cannot be added up.
    """
    kept = book.adjacency
    if kept.person != relation.person:
        same = f"person={list(kept.person)}" if kept.person else "no person"
        fix = f"Open the data with {same}, or create another ledger with adjacency={_made(relation)}."
        raise InvalidArgument(
            "ledger", f"a ledger for {_unit(relation)}, as in the session", f"one for {_unit(kept)}", fix
        )
    if kept.rows_per_person < relation.rows_per_person:
        must = f"a ledger for people with {relation.rows_per_person} or more rows, as in the session"
        fix = "Create it with adjacency=SUBSTITUTE.per_person(...)."
        raise InvalidArgument("ledger", must, str(kept), fix)


def _unit(relation: Adjacency) -> str:
    return f"people by {' and '.join(relation.person)}" if relation.person else "rows"


def _made(relation: Adjacency) -> str:
    name = "SUBSTITUTE" if relation.size_is_public else "ADD_REMOVE"
    return f"{name}.by_person({', '.join(map(repr, relation.person))})" if relation.person else name
