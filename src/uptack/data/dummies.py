"""Columns of 0 and 1 for the levels of categories, worked out by the engine that has the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uptack.data.queries import QuerySource
from uptack.table.engine import connection
from uptack.table.engine.expressions import missing

Wanted = tuple[str, tuple[Any, ...] | None, str, int | None]
"""The name of a column of numbers, and None; or of one of categories, its levels, what becomes of rows with another
value ("missing", "first", "own"), and the number of the level that is 1. Without such a number it is that of each row's
level."""


def selected(source: QuerySource, wanted: Mapping[str, Wanted], kept: Mapping[str, Any]) -> Any:
    """An expression with these columns by name, and some that are kept. Each row is made from one of the table.

    The place of a row's value among the levels is worked out once for all columns of a category: the query grows with
    the number of levels, and not with its square.
    """
    table, places = source.table, dict[tuple[Any, ...], str]()
    for name, values, others, _ in wanted.values():
        if values is not None:
            places.setdefault((name, values, others), f"place {len(places)}")
    plain = {called: table[name] for called, (name, values, *_) in wanted.items() if values is None}
    rows = table.select(**plain, **kept, **{called: _place(source, *one) for one, called in places.items()})
    dummies = {n: _dummy(rows[places[one[:3]]], one[3]) for n, one in wanted.items() if one[1] is not None}
    return rows.select(**{name: dummies[name] if name in dummies else rows[name] for name in (*wanted, *kept)})


def _place(source: QuerySource, name: str, values: tuple[Any, ...], others: str) -> Any:
    """The number of each row's level; null for a missing one."""
    ibis = connection.ibis()
    nowhere = ibis.null().cast("int32")
    other = {"missing": nowhere, "first": ibis.literal(0, "int32"), "own": ibis.literal(len(values), "int32")}[others]
    found = [(source.has(name, value), ibis.literal(place, "int32")) for place, value in enumerate(values)]
    listed = ibis.cases(*found, else_=other) if found else other
    return ibis.ifelse(missing(source.key(name)), nowhere, listed)


def _dummy(place: Any, level: int | None) -> Any:
    """1 for rows of a level, 0 for those of another one, null for missing ones; without a level the place itself."""
    ibis = connection.ibis()
    if level is None:
        return place.cast("float64")
    return ibis.ifelse(place.isnull(), ibis.null().cast("float64"), ibis.ifelse(place == level, 1.0, 0.0))
