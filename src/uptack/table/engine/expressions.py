"""Columns of an engine as expressions: floats, texts as bytes, times as ticks, and the units of people's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from uptack.errors import InvalidArgument
from uptack.table import snapshots
from uptack.table.engine import connection
from uptack.table.packages import ibis, ops
from uptack.table.unit import PrivacyUnit
from uptack.table.values.kinds import LARGEST, Kind
from uptack.table.values.times import DAY, EPOCH, FIRST, LAST, SECOND, Form


def column_kind(dtype: Any) -> Kind:
    """The kind of an ibis type."""
    if dtype.is_boolean():
        return "boolean"
    if dtype.is_integer():
        return "integer"
    if dtype.is_floating() or dtype.is_decimal():
        return "number"
    if dtype.is_timestamp() or dtype.is_date():
        return "time"
    return "text" if dtype.is_string() else "other"


def float_literal(value: float) -> Any:
    """A float as the engine reads it, to the last bit: text is rounded once, other literals may be rounded twice."""
    return ibis.literal(repr(float(value))).cast("float64")


def as_floats(values: Any) -> Any:
    """A numeric column of an expression as floats of 64 bits; times as the floats nearest to their ticks.

    PostgreSQL's numeric is ±inf beyond floats and 0 below them, where its own cast is an error, and NaN is missing. A
    numeric NaN equals itself and is above all numbers, so it is tested first.
    """
    if values.type().is_timestamp() or values.type().is_date():
        return ticks(values)
    if not (values.type().is_decimal() and connection.backend(values).name == "postgres"):
        return (values.cast("int32") if values.type().is_boolean() else values).cast("float64")
    nan, most, least = (ibis.literal(str(one)).cast("decimal") for one in ("NaN", LARGEST, "2.4703282292062328e-324"))
    return ibis.cases(
        (values == nan, ibis.null().cast("float64")),
        (values > most, float_literal(np.inf)),
        (values < -most, float_literal(-np.inf)),
        ((values < least) & (values > -least), float_literal(0.0)),
        else_=values.cast("float64"),
    )


def missing(values: Any) -> Any:
    """The condition that a row has no value, or is NaN.

    DuckDB answers isnan(x) from the least and the largest value that a Parquet file states, which leave NaN out: no row
    is NaN then, and NaN rows come through. Of the float next to x it knows no bounds, so there it looks at the rows.
    """
    if not values.type().is_floating():
        return values.isnull()
    if connection.backend(values).name == "duckdb":
        return values.isnull() | connection.builtin("nextafter", float, float, float)(values, 0.0).isnan()
    return values.isnull() | values.isnan()


def infinite(values: Any) -> Any:
    """The condition that a row is ±inf, by comparison: not every engine knows the function."""
    return (values == float_literal(np.inf)) | (values == float_literal(-np.inf))


def integer_literal(wanted: int, dtype: Any) -> Any:
    """An integer of the column's own type; null, which nothing is equal to, where the type does not reach so far."""
    try:
        return ibis.literal(wanted, type=dtype.copy(nullable=True))
    except Exception:
        return ibis.null().cast(dtype)


def compares_bytes(con: Any) -> bool:
    """Whether we know how to compare texts by their bytes in this engine."""
    return con.name in _ENCODERS


def text_key(con: Any, values: Any) -> Any:
    """Texts as bytes: an engine may take "flu" and "Flu" for equal, and a single row may decide which it shows."""
    return _ENCODERS[con.name](values)


def _spark_bytes(text: Any) -> Any:
    """Texts of Spark are bytes of any kind: what is not UTF-8 is missing. Spark 3 leaves that to `key_value`."""
    import pyspark

    newer = int(pyspark.__version__.split(".")[0]) >= 4
    return (connection.builtin("try_validate_utf8", str, str)(text) if newer else text).cast("binary")


_ENCODERS: dict[str, Callable[[Any], Any]] = {
    "duckdb": lambda text: connection.builtin("encode", bytes, str)(text),
    "postgres": lambda text: connection.builtin("convert_to", bytes, str, str)(text, "UTF8"),
    "pyspark": _spark_bytes,
}


def text_bytes(con: Any, text: object) -> Any:
    """The bytes of a text, to compare with `text_key`; null, which nothing is equal to, where no row can hold it."""
    try:
        found = text.encode() if isinstance(text, str) else None
    except UnicodeEncodeError:
        found = None
    if found is None or (con.name == "postgres" and b"\0" in found):
        return ibis.null().cast("binary")
    if con.name == "postgres":  # ibis writes bytes in a form that PostgreSQL does not read
        return text_key(con, ibis.literal(text))
    return ibis.literal(found)


def key_value(key: Any, kind: Kind) -> Any:
    """What a key of a column stands for: a text for its bytes, None for bytes that are no text, a duration."""
    if key is None or kind not in ("duration", "text"):
        return key
    if kind == "duration":
        return timedelta(microseconds=key)
    try:
        return bytes(key).decode()
    except UnicodeDecodeError:
        return None


# ---------------------------------------------------------------------------------------------------------------- times

# As ticks (`uptack.table.values.times`): each row by itself, and no row can make a query fail. Some engines have times
# beyond the years 1 to 9999, and ±infinity. These are brought to the ends before anything is worked out from them.


def time_form(dtype: Any) -> Form:
    """How times of an ibis type are shown."""
    return Form("date" if dtype.is_date() else "utc" if dtype.timezone is not None else "clock")


def reads_times(con: Any, dtype: Any) -> bool:
    """Whether we know how to read times of this type in this engine."""
    if con.name == "pyspark":  # without a zone they would be read by the clock of the cluster
        return bool(dtype.is_date() or dtype.timezone is not None)
    return con.name in _READ


def ticks(values: Any) -> Any:
    """The floats nearest to the ticks of a column of times; null where there is none."""
    dtype = values.type()
    read = _READ[connection.backend(values).name]
    if dtype.is_timestamp() and dtype.scale == 9:  # from 1677 to 2262
        return read(values)
    dated = dtype.is_date()
    zone = "" if dated or dtype.timezone is None else "+00"
    ends = (date.min, date.max) if dated else (datetime.min, datetime.max)
    low, high = (ibis.literal(f"{end}{zone}").cast(dtype) for end in ends)
    inside = ibis.ifelse(values > high, high, ibis.ifelse(values < low, low, values))
    return ibis.cases(
        (values > high, float_literal(LAST)), (values < low, float_literal(FIRST)), else_=read(inside).cast("float64")
    )


def _duckdb(values: Any) -> Any:
    """Whole microseconds; of nanoseconds the part below is cut off towards the past.

    Of dates it is days: DuckDB works out ahead what `epoch_us` of the earliest and the latest date of a table is, also
    where no row that comes here has it, and fails at one that has no microseconds.
    """
    if values.type().is_date():
        start = ibis.literal(EPOCH.date()).cast(values.type())
        days = connection.builtin("subtract", int, values.type(), values.type())(values, start)
        return days.cast("float64") * float(DAY)
    if not values.type().is_timestamp() or values.type().scale != 9:
        return connection.builtin("epoch_us", int, values.type())(values)
    nanoseconds = connection.builtin("epoch_ns", int, values.type())(values)
    left = nanoseconds % 1000
    whole = connection.builtin("divide", int, int, int)(nanoseconds, 1000)
    return (whole - (left < 0).cast("int64")).cast("float64")


def _postgres(values: Any) -> Any:
    """The whole minute and the microseconds in it are exact floats, so that their sum is rounded once."""
    dtype = values.type()
    if dtype.is_date():
        return connection.builtin("date_part", float, str, dtype)("epoch", values) * float(SECOND)
    if dtype.timezone is not None:
        dtype = dtype.copy(timezone=None)
        values = connection.builtin("timezone", dtype, str, values.type())("UTC", values)
    minute = connection.builtin("date_trunc", dtype, str, dtype)("minute", values)
    part = connection.builtin("date_part", float, str, dtype)
    return part("epoch", minute) * float(SECOND) + part("microseconds", values)


def _spark(values: Any) -> Any:
    if values.type().is_date():
        return connection.builtin("unix_date", int, values.type())(values).cast("float64") * float(DAY)
    return connection.builtin("unix_micros", int, values.type())(values)


_READ: dict[str, Callable[[Any], Any]] = {"duckdb": _duckdb, "postgres": _postgres, "pyspark": _spark}


# --------------------------------------------------------------------------------------------------------------- people

# The engine counts rows by id, which makes a table with one line per person, and joins it to the rows that a query is
# about. DuckDB keeps that table for the queries of one state of the table.


def without_negative_zero(key: Any) -> Any:
    """The same key, without -0.0, which is 0.0 everywhere else."""
    zero = float_literal(0.0)
    return ibis.ifelse(key == zero, zero, key) if key.type().is_floating() else key


def people_counts(rows: Any, ids: Sequence[str]) -> Any:
    """One line per person: her ids, and how many rows she has (m). Once for each state of the table."""
    theirs = rows.select(*ids).group_by(list(ids)).aggregate(m=rows.select(*ids).count())
    return snapshots.once(connection.backend(rows), ("people", theirs.op()), lambda: connection.shared_table(theirs))


def row_weight(m: Any, unit: PrivacyUnit) -> Any:
    """The units of each row of a person with m rows."""
    return unit.weights(m, lambda each, most: ibis.least(each, ibis.literal(most, type="int64"))).cast("int64")


def with_weights(rows: Any, people: Any, ids: Sequence[str], unit: PrivacyUnit) -> Any:
    """Rows with their weights, w, in place of their ids. Those of people who are not there are left out."""
    values = [name for name in rows.columns if name not in ids]
    return rows.join(people.select(*ids, w=row_weight(people.m, unit)), list(ids)).select(*values, "w")


UNITS = "decimal(38, 0)"
"""The type of sums of units: integers of 64 bits hold those of 2^63/U = 1.7·10^9 people and not of more."""


def unit_sum(column: Any) -> Any:
    """The sum of a column of units."""
    return column.cast(UNITS).sum()


# ----------------------------------------------------------------------------------- expressions that fail on some rows

SAFE = frozenset((
    "Field", "Literal", "Alias", "Equals", "NotEquals", "Less", "LessEqual", "Greater", "GreaterEqual", "IdenticalTo",
    "Between", "InValues", "And", "Or", "Xor", "Not", "IsNull", "NotNull", "IsNan", "IsInf", "Coalesce", "IfElse",
    "SearchedCase", "SimpleCase", "NullIf", "TryCast", "Lowercase", "Uppercase", "Strip", "LStrip", "RStrip",
    "StringLength", "StringContains", "StartsWith", "EndsWith", "StringConcat", "RowNumber", "WindowFunction",
    "ExtractYear", "ExtractQuarter", "ExtractMonth", "ExtractDay", "ExtractDayOfYear", "ExtractHour", "ExtractMinute",
    "ExtractSecond", "DayOfWeekIndex", "SortKey", "RandomScalar",
))  # fmt: skip
"""Operations that have an answer, or null, for every row, in every engine. For casts see `_can_fail`.

Aggregates and ranks are allowed too. Their arguments are checked.
"""

TOTAL = "an ibis table that has a value, or none, for every row"


def with_failures_missing(table: Any) -> Any:
    """The same table, where an expression that fails on a row is missing there; refused where no engine can do that.

    An engine that meets a row on which `text.cast("int64")`, `1 // (i - 5)` or a sum fails stops, so that this one row
    would decide between an answer and an error. A row on which an expression fails must have a missing value there, and
    a row on which a condition fails must not meet it.

    - **DuckDB** has `TRY(...)`, which is null where its argument fails, row by row. Every computed column and every
      condition is put into one.
    - **Other engines** have no such thing. There, what can fail is refused when the table is opened.

    Views, and queries in the engine's own language, can't be looked into: see "What is not protected" in the docs.
    """
    root, on_duckdb = table.op(), connection.backend(table).name == "duckdb"
    if not any(_can_fail(node) for node in root.find(ops.Value)):
        return table

    def replace_node(node: Any, changed: dict[str, Any] | None) -> Any:
        given = dict(zip(node.__argnames__, node.__args__, strict=True)) if changed is None else changed
        if isinstance(node, ops.Project):
            return ops.Project(given["parent"], {n: _null_on_failure(v, on_duckdb) for n, v in given["values"].items()})
        if isinstance(node, ops.Filter):
            return ops.Filter(given["parent"], [_null_on_failure(one, on_duckdb) for one in given["predicates"]])
        made = node if changed is None else node.__recreate__(given)
        if isinstance(node, ops.Relation):
            links = [child for child in made.__children__ if isinstance(child, ops.JoinLink)]
            for part in (*made.__children__, *(predicate for link in links for predicate in link.__children__)):
                if isinstance(part, ops.Value):  # a key, a predicate of a join, an aggregate
                    _refuse(part)
        return made

    return root.replace(replace_node).to_expr()


def _null_on_failure(value: Any, on_duckdb: bool) -> Any:
    """A value that is null where it fails."""
    if not any(_can_fail(node) for node in _within(value)):
        return value
    whole_table = (ops.Reduction, ops.Analytic, ops.WindowFunction, ops.Subquery, ops.Impure)
    if not on_duckdb or any(isinstance(node, whole_table) for node in _within(value)):
        _refuse(value)
    return connection.builtin("TRY", value.dtype.copy(nullable=True), value.dtype)(value.to_expr()).op()


def _within(value: Any) -> list[Any]:
    """The operations of a value, and none of the table that it is of."""
    found, waiting = [], [value]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ops.Field):
            waiting += [child for child in node.__children__ if isinstance(child, ops.Value)]
    return found


def _can_fail(node: Any) -> bool:
    """Whether an operation may fail on a row. A cast can't if the new type holds all values of the old one."""
    if not isinstance(node, ops.Cast):
        return type(node).__name__ not in SAFE and not isinstance(node, ops.Reduction | ops.Analytic)
    old, new = node.arg.dtype, node.to
    if new.is_string():
        return not (old.is_string() or old.is_numeric() or old.is_boolean())
    if new.is_integer() and old.is_integer():
        return bool(new.bounds.lower > old.bounds.lower or new.bounds.upper < old.bounds.upper)
    if new.is_float64():
        return not (old.is_integer() or old.is_float32() or old.is_float64())
    return bool(old != new)


def _refuse(value: Any) -> None:
    """Refuse a value that may fail."""
    for node in _within(value):
        if _can_fail(node):
            word = f"one with {type(node).__name__} in {value.name!r}, which may fail on a row"
            fix = "Use try_cast in place of cast, or store its result in a table and open that."
            raise InvalidArgument("data", TOTAL, word, fix)
