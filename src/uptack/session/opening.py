"""`uptack.open`: the unit of privacy of a session, the ledger that pays for it, and the types of a CSV file.

Types are inferred once. Later rows cannot change them, since the ledger stores them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.interrupts import SILENCE
from uptack.labels import shell_word
from uptack.noise import Entropy
from uptack.noise.entropy import source as entropy_source
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Adjacency, Privacy
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.session.session import Session
from uptack.statistics.column_options import missing_value
from uptack.table.csv import cells, rules
from uptack.table.csv.rules import GUESS, Types
from uptack.table.engine import connection
from uptack.table.engine.files import FileOptions, is_text, schema_of, text_layout
from uptack.table.engine.table import EngineTable
from uptack.table.names import id_names
from uptack.table.opening import open_with
from uptack.table.protocol import Table
from uptack.table.schema import Schema
from uptack.table.snapshots import state

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
    own = book.adjacency
    if own.person != relation.person:
        same = f"person={list(own.person)}" if own.person else "no person"
        name = "SUBSTITUTE" if relation.size_is_public else "ADD_REMOVE"
        code = f"{name}.by_person({', '.join(map(repr, relation.person))})" if relation.person else name
        command = "".join(f" --person {shell_word(name)}" for name in relation.person)
        fix = (
            f"Open the data with {same}, or create another ledger: `uptack ledger create PLACE{command}`, or in Python "
            f"uptack.Ledger(PLACE, ..., adjacency={code})."
        )
        must = f"a ledger for {relation.whose}, as in the session"
        raise InvalidArgument("ledger", must, f"one for {own.whose}", fix)
    if own.rows_per_person < relation.rows_per_person:
        must = f"a ledger for people with {relation.rows_per_person} or more rows, as in the session"
        raise InvalidArgument("ledger", must, str(own), "Create it with adjacency=SUBSTITUTE.per_person(...).")


WORD = "kind of column "
"""The beginning of an entry about the kind of a column. No request begins with it."""

LONGEST_NAME = 300
"""Characters of a name in the ledger. Of a longer name it keeps the hash."""


def recall_kinds(data: Any, options: FileOptions, ledger: Ledger | None) -> FileOptions:
    """The options of a CSV file, with the inferred kinds of columns that the ledger keeps.

    An entry of the ledger names a column and its kind, and costs nothing. Kinds that the ledger does not have yet are
    inferred and entered. Declared kinds are not entered.
    """
    types = options.types
    guesses = types == GUESS or (isinstance(types, Mapping) and GUESS in types.values())
    if ledger is None or not guesses or not is_text(data):
        return options
    paths, layout = text_layout(data, options)
    file = Path(os.fspath(data)).name

    kinds, stored = rules.declared_kinds(types, layout), _stored_kinds(ledger, file, layout.names)
    fresh = [name for name, kind in kinds.items() if kind == GUESS and name not in stored]
    if fresh:
        guessed = rules.infer_kinds(paths, layout)
        for name in fresh:
            entry = json.dumps([_short(file), _short(name), guessed[name]])
            ledger.debit(Privacy(0, 0, ledger.adjacency), what=WORD + entry)
        stored = _stored_kinds(ledger, file, layout.names)
    return replace(options, types={n: stored.get(n, "text") if k == GUESS else k for n, k in kinds.items()})


def csv_kinds(rows: Table) -> Mapping[str, str]:
    """The kinds of the columns of a CSV file, as they are written; none for other tables."""
    return state(connection.backend(rows.outer)).csv_kinds if isinstance(rows, EngineTable) else {}


def inferred_kinds(kinds: Mapping[str, str], types: object) -> dict[str, str]:
    """Those kinds of columns of a CSV file that were inferred from its rows."""
    if not (types == GUESS or isinstance(types, Mapping)):
        return {}
    return {n: k for n, k in kinds.items() if not isinstance(types, Mapping) or types.get(n) == GUESS}


def with_units(schema: Schema, kinds: Mapping[str, str]) -> Schema:
    """The schema with the sign beside the numbers of a column, such as €, as its unit, where it states none."""
    signs = {
        name: cells.number_format(kind)[0] for name, kind in kinds.items() if kind.startswith(("number:", "integer:"))
    }
    units = {
        name: replace(schema.column(name), unit=schema.column(name).unit or sign)
        for name, sign in signs.items()
        if sign
    }
    return replace(schema, columns={**schema.columns, **units}) if units else schema


def _short(name: str) -> str | list[str]:
    """A name in the ledger: itself, or if it is long a list with its hash, which differs from every name."""
    return name if len(json.dumps(name)) <= LONGEST_NAME else [hashlib.sha256(json.dumps(name).encode()).hexdigest()]


def _stored_kinds(ledger: Ledger, file: str, names: Iterable[str]) -> dict[str, str]:
    """The kinds of columns in the ledger. If a column has two entries, the first one is valid."""
    kinds: dict[str, str] = {}
    known = {json.dumps(form): name for name in names for form in (name, _short(name))}
    for line in ledger.entries():
        if line.what.startswith(WORD) and not line.cost.exact_epsilon:
            where, name, kind = json.loads(line.what.removeprefix(WORD))
            if where in (file, _short(file)) and json.dumps(name) in known:
                kinds.setdefault(known[json.dumps(name)], kind)
    return kinds


def open(
    data: Any,
    *,
    ledger: Ledger | str | Path | None = None,
    analyst: str | None = None,
    table: str | None = None,
    adjacency: Adjacency | None = None,
    rows_per_person: int = 1,
    person: str | Sequence[str] | None = None,
    noun: str | None = None,
    missing: Any = "drop",
    types: Types = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    na: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
    skip_rows: int | None = None,
    comment: str | None = None,
    unnamed: str | None = None,
    entropy: Entropy | None = None,
) -> Session:
    """A session on data, wherever they are: a file, a data frame, a table of a database or cluster.

    `data` is whatever `uptack.table.open_table` takes. With a `ledger` (an `uptack.Ledger`, its path or its URL) every
    release is debited, durably, before data are read; `analyst` says on whose behalf. The other arguments are defaults
    for every release. A request may raise `rows_per_person`, not lower it.

    `types` declares the types of a CSV file. If neither `types` nor a schema does, they are inferred from the rows and
    become public: `session.inferred` lists them, and a ledger keeps them for the next time. `delimiter`, `header`,
    `encoding`, `decimal`, `thousands`, `na`, `skip_rows`, `comment` and `unnamed` say how a CSV file is written: see
    `uptack.table.open_table`.

    An error about missing values reveals something about the data, so `missing="error"` is for a curator who opens the
    session with it.

    `person` names the column of ids that says whose each row is, or several for an id of several columns. Then people
    are protected, with all their rows. The number of people is public in place of the number of rows. Rows without an
    id are left out, and ids are never released. Without `person` rows are protected. `noun` is what one row is called,
    "row" by default.

    The schema of a file, `FILE.uptack.toml` beside it, provides what no argument does: how the file is written, types,
    `person`, `noun` and `adjacency`, and for each column its granularity, plausible range and categories. If it names a
    ledger, that one is debited, and no other is accepted (`uptack.table.schema`).

    Each release reads one state of the table, and counts its rows anew. Threads may share a session. Those that share a
    connection to an engine take turns.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> session = open({"age": np.arange(20, 80).repeat(100)}, entropy=SeededEntropy(1))
    >>> session["age"].median(epsilon=0.5).value
    49.0
    >>> session.spent
    Privacy(epsilon=0.5)
    """
    schema = schema_of(data) or Schema()
    if types is None and is_text(data) and not schema.columns and header is not False:
        types = GUESS
    stated = FileOptions(
        table=table, types=types, delimiter=delimiter, header=header, encoding=encoding, decimal=decimal,
        thousands=thousands, na=na, skip_rows=skip_rows, comment=comment, unnamed=unnamed,
    )  # fmt: skip
    options = schema.filled(stated)
    usual = ADD_REMOVE if schema.adjacency == "add-remove" else SUBSTITUTE
    relation = check_adjacency(usual if adjacency is None else adjacency, rows_per_person)
    relation = person_adjacency(relation, person if person is not None or relation.person else schema.person or None)
    book = choose_ledger(ledger, schema)
    if book is not None:
        check_ledger(book, relation)
    missing_value(missing)  # refuses a wrong one
    with SILENCE, np.errstate(all="ignore"):  # ids are read here, and no warning may reveal one
        rows = open_with(data, relation.person, recall_kinds(data, options, book))
    schema.fits(rows.kinds)
    noun = (schema.noun or "row") if noun is None else noun
    if not isinstance(noun, str) or not 0 < len(noun) <= LONGEST_NOUN or not noun.isprintable():
        raise InvalidArgument("noun", f"a word of at most {LONGEST_NOUN} characters", checks.describe(noun))
    kinds = csv_kinds(rows)
    inferred, schema = inferred_kinds(kinds, options.types), with_units(schema, kinds)
    return Session(rows, book, analyst, relation, missing, entropy_source(entropy), noun, schema, inferred)
