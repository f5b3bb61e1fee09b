"""Columns of 0 and 1 for the levels of categories, worked out by the engine that has the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uptack.data import engines
from uptack.data.batches import QueryRows
from uptack.data.expressions import missing
from uptack.data.queries import QuerySource

Wanted = tuple[str, tuple[Any, ...] | None, str, int]
"""A column of X: the name of one of numbers, and None; or of one of categories, its levels, what becomes of rows with
another value ("missing", "first", "own"), and the number of the level that is 1."""


def design(source: QuerySource, response: str, wanted: Sequence[Wanted]) -> tuple[QueryRows, QueryRows]:
    """X and y, of which no more than a batch of rows need be in memory. Each row of X is made from one of the table.

    The place of a row's value among the levels is worked out once for all columns of a category: the query grows with
    the number of levels, and not with its square.
    """
    table, places = source.table, dict[tuple[Any, ...], str]()
    for name, values, others, _ in wanted:
        if values is not None:
            places.setdefault((name, values, others), f"p{len(places)}")
    plain = {f"x{i}": table[name] for i, (name, values, *_) in enumerate(wanted) if values is None}
    rows = table.select(y=table[response], **plain, **{called: _place(source, *one) for one, called in places.items()})
    dummies = {f"x{i}": _dummy(rows[places[one[:3]]], one[3]) for i, one in enumerate(wanted) if one[1] is not None}
    columns = {name: dummies[name] if name in dummies else rows[name] for name in (f"x{i}" for i in range(len(wanted)))}
    made = QuerySource(rows.select(y=rows.y, **columns), within=source)
    return QueryRows.of(made, list(columns)), QueryRows.of(made, ["y"])


def _place(source: QuerySource, name: str, values: tuple[Any, ...], others: str) -> Any:
    """The number of each row's level; null for a missing one."""
    ibis = engines.ibis()
    nowhere = ibis.null().cast("int32")
    other = {"missing": nowhere, "first": ibis.literal(0, "int32"), "own": ibis.literal(len(values), "int32")}[others]
    found = [(source.has(name, value), ibis.literal(place, "int32")) for place, value in enumerate(values)]
    listed = ibis.cases(*found, else_=other) if found else other
    return ibis.ifelse(missing(source.key(name)), nowhere, listed)


def _dummy(place: Any, level: int) -> Any:
    """1 for rows of a level, 0 for those of another one, null for missing ones."""
    ibis = engines.ibis()
    return ibis.ifelse(place.isnull(), ibis.null().cast("float64"), ibis.ifelse(place == level, 1.0, 0.0))
