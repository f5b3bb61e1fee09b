"""Inferred types of columns, which a ledger keeps, and defaults from a schema.

Types are inferred once. Later rows cannot change them, since the ledger has them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uptack.privacy import Privacy
from uptack.session.requests import Request
from uptack.table.csv import rules
from uptack.table.engine import connection
from uptack.table.engine.files import FileOptions, is_text, text_layout
from uptack.table.engine.table import EngineTable
from uptack.table.protocol import Table
from uptack.table.schema import ColumnSchema, Schema
from uptack.table.snapshots import state

if TYPE_CHECKING:
    from uptack.ledger import Ledger

WORD = "kind of column "
"""How such an entry of a ledger begins. No request begins so."""

LONGEST_NAME = 300
"""Characters of a name in the ledger. Of a longer name it keeps the hash."""


def recall_kinds(data: Any, options: FileOptions, ledger: Ledger | None) -> FileOptions:
    """The options of a CSV file, with the inferred kinds of columns that the ledger keeps.

    An entry of the ledger names a column and its kind, and costs nothing. Kinds that the ledger does not have yet are
    inferred and entered. Declared kinds are not entered.
    """
    types = options.types
    guesses = types == rules.GUESS or (isinstance(types, Mapping) and rules.GUESS in types.values())
    if ledger is None or not guesses or not is_text(data):
        return options
    paths, layout = text_layout(data, options)
    file = Path(os.fspath(data)).name

    kinds, kept = rules.declared(types, layout), _read(ledger, file, layout.names)
    fresh = [name for name, kind in kinds.items() if kind == rules.GUESS and name not in kept]
    if fresh:
        guessed = rules.guess(paths, layout)
        for name in fresh:
            _write(ledger, file, name, guessed[name])
        kept = _read(ledger, file, layout.names)
    return replace(options, types={n: kept.get(n, "text") if k == rules.GUESS else k for n, k in kinds.items()})


def inferred_kinds(rows: Table, types: object) -> dict[str, str]:
    """The kinds of those columns of a CSV file that were inferred from its rows."""
    if not isinstance(rows, EngineTable) or not (types == rules.GUESS or isinstance(types, Mapping)):
        return {}
    kinds = state(connection.backend(rows.outer)).csv_kinds
    return {n: k for n, k in kinds.items() if not isinstance(types, Mapping) or types.get(n) == rules.GUESS}


def _write(ledger: Ledger, file: str, name: str, kind: str) -> None:
    ledger.debit(Privacy(0, 0, ledger.adjacency), what=WORD + json.dumps([_kept(file), _kept(name), kind]))


def _kept(name: str) -> str | list[str]:
    """A name as the ledger holds it: itself, or if it is long a list with its hash, which differs from every name."""
    return name if len(json.dumps(name)) <= LONGEST_NAME else [hashlib.sha256(json.dumps(name).encode()).hexdigest()]


def _read(ledger: Ledger, file: str, names: Iterable[str]) -> dict[str, str]:
    """The kinds in the ledger. Of two entries about one column the first one holds."""
    found: dict[str, str] = {}
    known = {json.dumps(form): name for name in names for form in (name, _kept(name))}
    for line in ledger.entries():
        if line.what.startswith(WORD) and not line.cost.exact_epsilon:
            where, name, kind = json.loads(line.what.removeprefix(WORD))
            if where in (file, _kept(file)) and json.dumps(name) in known:
                found.setdefault(known[json.dumps(name)], kind)
    return found


def with_schema(request: Request, schema: Schema, kinds: Mapping[str, str]) -> Request:
    """The request with defaults from a schema: granularity, plausible range and public categories of its columns.

    The first two describe the values of the column itself. So they are not used for one number per person, nor for
    methods without candidates. Categories are used if δ is 0, since none can be found then.
    """
    if not all(isinstance(name, str) for name in request.columns):
        return request  # refused later, where columns are read
    allowed, reads = request.declaration.allowed, request.declaration.reads
    levels = {} if request.given.get("delta") else {n: s.levels for n, s in schema.columns.items() if s.levels}
    given = reads.completed(request.columns, request.given, kinds, levels, allowed)
    usual = dict[str, Any]()
    if len(request.columns) == 1:
        column = schema.columns.get(request.columns[0], ColumnSchema())
        if given.get("method", "inverse") == "inverse" and given.get("per_person") is None:
            usual |= {"granularity": column.granularity, "plausible": column.plausible}
        if column.levels in ((0, 1), (1, 0)) and given.get("above") is None:
            usual |= {"equals": 1}
        usual |= {"keys": column.levels} if given.get("edges") is None and not given.get("delta") else {}
    if not given.get("delta") and "by" in given:
        usual |= {"groups": _groups(schema, given["by"])}
    fresh = {name: value for name, value in usual.items() if value is not None and name in allowed}
    return Request(request.statistic, *request.columns, **{**fresh, **given})


def _groups(schema: Schema, by: Any) -> list[Any] | None:
    """The public groups of a column, or all combinations of several; None if the schema does not list them all."""
    named = by if isinstance(by, list | tuple) else (by,)
    levels = [
        schema.columns[name].levels if isinstance(name, str) and name in schema.columns else None for name in named
    ]
    known = [one for one in levels if one is not None]
    if len(known) < len(levels):
        return None
    return list(known[0]) if len(known) == 1 else list(itertools.product(*known))
