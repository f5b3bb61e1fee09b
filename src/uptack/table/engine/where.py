"""Which rows of an engine's table meet conditions, as an expression that is never null."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import reduce
from typing import Any

from uptack.table.conditions import ORDER, Condition, decided
from uptack.table.engine import connection
from uptack.table.engine.expressions import missing, number, text_bytes, whole
from uptack.table.values.kinds import Kind
from uptack.table.values.kinds import number as nearest


def met(compared: Callable[[Condition], Any], conditions: Sequence[Condition]) -> Any:
    """The condition that a row meets all conditions; `compared` is what each of them compares: a key, or ticks."""
    return reduce(operator.and_, [_met(one, compared(one)) for one in conditions])


def _met(one: Condition, values: Any) -> Any:
    """On a column's keys: floats, integers, truth values, bytes of texts."""

    def same() -> Any:
        return _any_of(one, values, [literal(one.kind, values, value) for value in one.values if value is not None])

    def ordered(sign: str, end: Any) -> Any:
        limits = (values.type().bounds.lower, values.type().bounds.upper) if one.kind == "integer" else None
        always = decided(sign, end, limits)
        if always is not None:
            return connection.ibis().literal(always)
        return ORDER[sign](values, literal(one.kind, values, end)).fill_null(False)

    return one.met_where(~missing(values), same, ordered)


def _any_of(one: Condition, values: Any, wanted: Sequence[Any]) -> Any:
    """The condition that a row has one of these values. It is no deeper for a thousand of them than for ten.

    Engines look a value up in a list by a hash. DuckDB's and PostgreSQL's are those of their `=`. Others may tell -0.0
    from 0.0, so floats are compared with one after the other there.
    """
    if not wanted:
        return connection.ibis().literal(False)
    if len(wanted) == 1:
        return (values == wanted[0]).fill_null(False)
    if one.kind == "number" and connection.backend(values).name not in ("duckdb", "postgres"):
        half = len(wanted) // 2
        return _any_of(one, values, wanted[:half]) | _any_of(one, values, wanted[half:])
    return values.isin(list(wanted)).fill_null(False)


def literal(kind: Kind, values: Any, value: Any) -> Any:
    """A canonical value as rows of a column have it; null, which nothing is equal to, where none can have it."""
    ibis = connection.ibis()
    if kind in ("time", "other", "any"):
        return value
    if kind == "text":
        return text_bytes(connection.backend(values), value)
    if kind == "duration" and isinstance(value, timedelta):
        return whole(value // timedelta(microseconds=1), values.type())
    if kind == "integer" and isinstance(value, int):
        return whole(value, values.type())
    if kind == "number" and isinstance(value, int | float):
        return number(nearest(value))
    if kind == "boolean" and value in (0, 1):
        return ibis.literal(bool(value))
    return ibis.null().cast(values.type())
