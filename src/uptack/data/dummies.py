"""Columns of 0 and 1 for the levels of categories, worked out by the engine that has the rows."""

from __future__ import annotations

import functools
import operator
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
    """X and y, of which no more than a batch of rows need be in memory. Each row of X is made from one of the table."""
    table = source.table
    columns = {f"x{i}": _column(source, one) for i, one in enumerate(wanted)}
    made = QuerySource(table.select(y=table[response], **columns), within=source)
    return QueryRows.of(made, list(columns)), QueryRows.of(made, ["y"])


def _column(source: QuerySource, wanted: Wanted) -> Any:
    """Numbers as they are; of categories 1 for rows of a level, 0 for those of another one, null for missing ones."""
    name, values, others, level = wanted
    if values is None:
        return source.table[name]
    ibis = engines.ibis()
    has = [source.has(name, value) for value in values]
    nobody = ibis.literal(False)
    listed = functools.reduce(operator.or_, has, nobody)
    counted = listed if others == "missing" else ~missing(source.key(name))
    if level == len(values):
        one = ~listed
    elif others == "first" and level == 0:
        one = ~functools.reduce(operator.or_, has[1:], nobody)
    else:
        one = has[level]
    return ibis.ifelse(counted, ibis.ifelse(one, 1.0, 0.0), ibis.null().cast("float64"))
