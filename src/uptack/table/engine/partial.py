"""Expressions of ibis that fail on some rows: `text.cast("int64")`, `1 // (i - 5)`, sums that overflow.

An engine that meets such a row stops, so that this one row would decide between an answer and an error. A row on which
an expression fails must have a missing value there, and a row on which a condition fails must not meet it.

- **DuckDB** has `TRY(...)`, which is null where its argument fails, row by row. Every computed column and every
  condition is put into one.
- **Other engines** have no such thing. There, what can fail is refused when the table is opened.

Views, and queries in the engine's own language, can't be looked into: see "What is not protected" in the docs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from uptack.errors import InvalidArgument
from uptack.table.engine import connection

SAFE = frozenset((
    "Field", "Literal", "Alias", "Equals", "NotEquals", "Less", "LessEqual", "Greater", "GreaterEqual", "IdenticalTo",
    "Between", "InValues", "And", "Or", "Xor", "Not", "IsNull", "NotNull", "IsNan", "IsInf", "Coalesce", "IfElse",
    "SearchedCase", "SimpleCase", "NullIf", "TryCast", "Lowercase", "Uppercase", "Strip", "LStrip", "RStrip",
    "StringLength", "StringContains", "StartsWith", "EndsWith", "StringConcat", "RowNumber", "WindowFunction",
    "ExtractYear", "ExtractQuarter", "ExtractMonth", "ExtractDay", "ExtractDayOfYear", "ExtractHour", "ExtractMinute",
    "ExtractSecond", "DayOfWeekIndex", "SortKey", "RandomScalar",
))  # fmt: skip
"""Operations that have an answer, or null, for every row, in every engine. A cast may be one: see `_widens`.

Aggregates and ranks are let through too: they are of many rows, and what they are of is looked at.
"""

MUST = "an ibis table that has a value, or none, for every row"


def total(table: Any) -> Any:
    """The same table, where an expression that fails on a row is missing there; refused where no engine can do that."""
    from ibis.expr import operations as ops

    root, on_duckdb = table.op(), connection.backend(table).name == "duckdb"
    if not any(_can_fail(node) for node in root.find(ops.Value)):
        return table

    def replaced(node: Any, changed: dict[str, Any] | None) -> Any:
        given = dict(zip(node.__argnames__, node.__args__, strict=True)) if changed is None else changed
        if isinstance(node, ops.Project):
            return ops.Project(given["parent"], {n: _tried(v, on_duckdb) for n, v in given["values"].items()})
        if isinstance(node, ops.Filter):
            return ops.Filter(given["parent"], [_tried(one, on_duckdb) for one in given["predicates"]])
        if isinstance(node, ops.Relation):
            for part in _values(given.values()):
                _refuse(part)
        return node if changed is None else node.__recreate__(given)

    return root.replace(replaced).to_expr()


def _values(given: Iterable[Any]) -> list[Any]:
    """The values among the arguments of a relation: keys, predicates of joins, aggregates."""
    from ibis.expr import operations as ops

    found = []
    for one in given:
        if isinstance(one, ops.Value):
            found.append(one)
        elif hasattr(one, "values") and hasattr(one, "items"):
            found += _values(one.values())
        elif isinstance(one, tuple | list):
            found += _values(one)
        elif type(one).__name__ == "JoinLink":
            found += _values([one.predicates])
    return found


def _tried(value: Any, on_duckdb: bool) -> Any:
    """A value that is null where it fails."""
    from ibis.expr import operations as ops

    if not any(_can_fail(node) for node in _within(value)):
        return value
    whole_table = (ops.Reduction, ops.Analytic, ops.WindowFunction, ops.Subquery, ops.Impure)
    if not on_duckdb or any(isinstance(node, whole_table) for node in _within(value)):
        _refuse(value)
    return connection.builtin("TRY", value.dtype.copy(nullable=True), value.dtype)(value.to_expr()).op()


def _within(value: Any) -> list[Any]:
    """The operations of a value, and none of the table that it is of."""
    from ibis.expr import operations as ops

    found, waiting = [], [value]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ops.Field):
            waiting += [child for child in node.__children__ if isinstance(child, ops.Value)]
    return found


def _can_fail(node: Any) -> bool:
    from ibis.expr import operations as ops

    if isinstance(node, ops.Cast):
        return not _widens(node)
    return type(node).__name__ not in SAFE and not isinstance(node, ops.Reduction | ops.Analytic)


def _widens(node: Any) -> bool:
    """Whether a cast is one to a type that holds all values of the other."""
    old, new = node.arg.dtype, node.to
    if new.is_string():
        return bool(old.is_string() or old.is_numeric() or old.is_boolean())
    if new.is_integer() and old.is_integer():
        return bool(new.bounds.lower <= old.bounds.lower and new.bounds.upper >= old.bounds.upper)
    if new.is_float64():
        return bool(old.is_integer() or old.is_float32() or old.is_float64())
    return bool(old == new)


def _refuse(value: Any) -> None:
    """Refuse a value that may fail."""
    for node in _within(value):
        if _can_fail(node):
            word = f"one with {type(node).__name__} in {value.name!r}, which may fail on a row"
            fix = "Use try_cast in place of cast, or keep what it makes in a table and open that."
            raise InvalidArgument("data", MUST, word, fix)
