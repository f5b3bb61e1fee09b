"""Which rows of an engine's table meet conditions, as an expression that is never null."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from uptack.table.conditions import ORDER, Condition, decided
from uptack.table.engine import connection
from uptack.table.engine.expressions import missing, number, text_bytes, whole
from uptack.table.values.kinds import number as nearest


def met(compared: Callable[[Condition], Any], conditions: Sequence[Condition]) -> Any:
    """The condition that a row meets all conditions; `compared` is what each of them compares: a key, or ticks."""
    return reduce(operator.and_, [_met(one, compared(one)) for one in conditions])


def _met(one: Condition, values: Any) -> Any:
    """On a column's keys: floats, integers, truth values, bytes of texts."""

    def same() -> Any:
        return _any_of(one, values, [_literal(one, values, value) for value in one.values if value is not None])

    def ordered(sign: str, end: Any) -> Any:
        limits = (values.type().bounds.lower, values.type().bounds.upper) if one.kind == "integer" else None
        always = decided(sign, end, limits)
        if always is not None:
            return connection.ibis().literal(always)
        return ORDER[sign](values, _literal(one, values, end)).fill_null(False)

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


def _literal(one: Condition, values: Any, value: Any) -> Any:
    """A value as the engine's column has it; null, which nothing is equal to, where it can't."""
    ibis = connection.ibis()
    if one.kind == "number":
        return number(nearest(value))
    if one.kind == "integer":
        return whole(value, values.type()) if isinstance(value, int) else ibis.null().cast(values.type())
    if one.kind == "boolean":
        return ibis.literal(bool(value))
    return text_bytes(connection.backend(values), value)
