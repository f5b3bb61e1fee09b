"""Times of an engine as ticks (`uptack.table.values.times`): each row by itself, and no row can make a query fail.

Some engines have times beyond the years 1 to 9999, and ±infinity. These are brought to the ends before anything is
worked out from them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from functools import cache
from typing import Any

from uptack.table.engine import connection
from uptack.table.values.times import DAY, EPOCH, FIRST, LAST, SECOND, Form


def form(dtype: Any) -> Form:
    """How times of an ibis type are shown."""
    return Form("date" if dtype.is_date() else "utc" if dtype.timezone is not None else "clock")


def known(con: Any, dtype: Any) -> bool:
    """Whether we know how to read times of this type in this engine."""
    if con.name == "pyspark":  # without a zone they would be read by the clock of the cluster
        return bool(dtype.is_date() or dtype.timezone is not None)
    return con.name in _READ


def ticks(values: Any) -> Any:
    """The floats nearest to the ticks of a column of times; null where there is none."""
    ibis, dtype = connection.ibis(), values.type()
    read = _READ[connection.backend(values).name]
    if dtype.is_timestamp() and dtype.scale == 9:  # from 1677 to 2262
        return read(values)
    dated = dtype.is_date()
    zone = "" if dated or dtype.timezone is None else "+00"
    ends = (date.min, date.max) if dated else (datetime.min, datetime.max)
    low, high = (ibis.literal(f"{end}{zone}").cast(dtype) for end in ends)
    inside = ibis.ifelse(values > high, high, ibis.ifelse(values < low, low, values))
    return ibis.cases(
        (values > high, _number(LAST)), (values < low, _number(FIRST)), else_=read(inside).cast("float64")
    )


def _number(value: int) -> Any:
    return connection.ibis().literal(float(value), type="float64")


def _duckdb(values: Any) -> Any:
    """Whole microseconds; of nanoseconds the part below is cut off towards the past.

    Of dates it is days: DuckDB works out ahead what `epoch_us` of the earliest and the latest date of a table is, also
    where no row that comes here has it, and fails at one that has no microseconds.
    """
    if values.type().is_date():
        start = connection.ibis().literal(EPOCH.date()).cast(values.type())
        days = _function("subtract", int, values.type(), values.type())(values, start)
        return days.cast("float64") * float(DAY)
    if not values.type().is_timestamp() or values.type().scale != 9:
        return _function("epoch_us", int, values.type())(values)
    nanoseconds = _function("epoch_ns", int, values.type())(values)
    left = nanoseconds % 1000
    whole = _function("divide", int, int, int)(nanoseconds, 1000)
    return (whole - (left < 0).cast("int64")).cast("float64")


def _postgres(values: Any) -> Any:
    """The whole minute and the microseconds in it are exact floats, so that their sum is rounded once."""
    dtype = values.type()
    if dtype.is_date():
        return _function("date_part", float, str, dtype)("epoch", values) * float(SECOND)
    if dtype.timezone is not None:
        dtype = dtype.copy(timezone=None)
        values = _function("timezone", dtype, str, values.type())("UTC", values)
    minute = _function("date_trunc", dtype, str, dtype)("minute", values)
    part = _function("date_part", float, str, dtype)
    return part("epoch", minute) * float(SECOND) + part("microseconds", values)


def _spark(values: Any) -> Any:
    if values.type().is_date():
        return _function("unix_date", int, values.type())(values).cast("float64") * float(DAY)
    return _function("unix_micros", int, values.type())(values)


@cache
def _function(name: str, made: Any, *types: Any) -> Callable[..., Any]:
    """A function of the engine by its name, of one or two arguments, as ibis writes it into a query."""

    def one(a: Any) -> Any:
        raise NotImplementedError  # never called

    def two(a: Any, b: Any) -> Any:
        raise NotImplementedError  # never called

    named = connection.ibis().udf.scalar.builtin(name=name, signature=(types, made))
    built: Callable[..., Any] = named(one if len(types) == 1 else two)
    return built


_READ: dict[str, Callable[[Any], Any]] = {"duckdb": _duckdb, "postgres": _postgres, "pyspark": _spark}
