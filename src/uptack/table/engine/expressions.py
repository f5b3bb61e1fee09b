"""Columns of an engine's table as expressions: numbers as floats, texts as bytes, and which rows have no value."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any

import numpy as np

from uptack.table.engine import connection
from uptack.table.engine.ticks import ticks
from uptack.table.values.kinds import LARGEST, Kind


def kind(dtype: Any) -> Kind:
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


def number(value: float) -> Any:
    """A float as the engine reads it, to the last bit: text is rounded once, other literals may be rounded twice."""
    return connection.ibis().literal(repr(float(value))).cast("float64")


def as_floats(values: Any) -> Any:
    """A numeric column of an expression as floats of 64 bits; times as the floats nearest to their ticks."""
    if values.type().is_timestamp() or values.type().is_date():
        return ticks(values)
    if values.type().is_decimal() and connection.backend(values).name == "postgres":
        return _within_floats(values)
    return (values.cast("int32") if values.type().is_boolean() else values).cast("float64")


def _within_floats(values: Any) -> Any:
    """PostgreSQL's numeric, which reaches beyond floats, where its cast is an error: there ±inf, or 0; NaN is missing.

    A numeric NaN is equal to itself and above all numbers, so it comes first.
    """
    ibis, (most, least) = connection.ibis(), (_exact(bound) for bound in (LARGEST, "2.4703282292062328e-324"))
    return ibis.cases(
        (values == _exact("NaN"), ibis.null().cast("float64")),
        (values > most, number(np.inf)),
        (values < -most, number(-np.inf)),
        ((values < least) & (values > -least), number(0.0)),
        else_=values.cast("float64"),
    )


def _exact(value: object) -> Any:
    return connection.ibis().literal(str(value)).cast("decimal")


def missing(values: Any) -> Any:
    """The condition that a row has no value."""
    return values.isnull() | _is_nan(values) if values.type().is_floating() else values.isnull()


def _is_nan(values: Any) -> Any:
    """The condition that a row is NaN.

    DuckDB answers isnan(x) from the least and the largest value that a Parquet file states, which leave NaN out: no row
    is NaN then, and NaN rows come through. Of the float next to x it knows no bounds, so there it looks at the rows.
    """
    if connection.backend(values).name == "duckdb":
        return _nextafter()(values, 0.0).isnan()
    return values.isnan()


@cache
def _nextafter() -> Callable[[Any, Any], Any]:
    def nextafter(x: float, y: float) -> float:
        """DuckDB's own: the float next to x towards y."""
        raise NotImplementedError  # never called: ibis writes its name into the query

    return _builtin(nextafter, x=float, y=float, **{"return": float})


def infinite(values: Any) -> Any:
    """The condition that a row is ±inf, by comparison: not every engine knows the function."""
    return (values == number(np.inf)) | (values == number(-np.inf))


def whole(wanted: int, dtype: Any) -> Any:
    """An integer of the column's own type; null, which nothing is equal to, where the type does not reach so far."""
    try:
        return connection.ibis().literal(wanted, type=dtype.copy(nullable=True))
    except Exception:
        return connection.ibis().null().cast(dtype)


def filled(table: Any, instead: float) -> Any:
    """The column v with numbers in place of missing values and of infinities; other columns as they are."""
    v, ibis = table.v, connection.ibis()
    bounded = ibis.ifelse(v == number(np.inf), number(LARGEST), ibis.ifelse(v == number(-np.inf), number(-LARGEST), v))
    return table.mutate(v=ibis.ifelse(missing(v), number(instead), bounded))


def compares_bytes(con: Any) -> bool:
    """Whether we know how to compare texts by their bytes in this engine."""
    return con.name in _ENCODERS


def text_key(con: Any, values: Any) -> Any:
    """A column of texts as bytes: an engine may take "flu" and "Flu" for equal, bytes are equal or not.

    Of two equal spellings an engine shows one and counts it for both: which one, a single row may decide.
    """
    return _ENCODERS[con.name](values)


@cache
def _encode() -> Callable[[Any], Any]:
    def encode(text: str) -> bytes:
        """DuckDB's own."""
        raise NotImplementedError  # never called: ibis writes its name into the query

    return _builtin(encode, text=str, **{"return": bytes})


@cache
def _convert_to() -> Callable[[Any, str], Any]:
    def convert_to(text: str, encoding: str) -> bytes:
        """PostgreSQL's own."""
        raise NotImplementedError  # never called

    return _builtin(convert_to, text=str, encoding=str, **{"return": bytes})


def _valid(text: Any) -> Any:
    """Texts of Spark are bytes of any kind: what is not UTF-8 is missing. Spark 3 leaves that to `decoded`."""
    import pyspark

    return _try_validate_utf8()(text) if int(pyspark.__version__.split(".")[0]) >= 4 else text


@cache
def _try_validate_utf8() -> Callable[[Any], Any]:
    def try_validate_utf8(text: str) -> str:
        """Spark's own."""
        raise NotImplementedError  # never called

    return _builtin(try_validate_utf8, text=str, **{"return": str})


def _builtin(function: Callable[..., Any], **types: type) -> Callable[..., Any]:
    """A function of the engine. ibis reads the types of its arguments, and strings are none."""
    function.__annotations__ = types
    made: Callable[..., Any] = connection.ibis().udf.scalar.builtin(function)
    return made


_ENCODERS: dict[str, Callable[[Any], Any]] = {
    "duckdb": lambda text: _encode()(text),
    "postgres": lambda text: _convert_to()(text, "UTF8"),
    "pyspark": lambda text: _valid(text).cast("binary"),
}


def text_bytes(con: Any, text: object) -> Any:
    """The bytes of a text, to compare with `text_key`; null, which nothing is equal to, where no row can hold it."""
    try:
        found = text.encode() if isinstance(text, str) else None
    except UnicodeEncodeError:
        found = None
    if found is None or (con.name == "postgres" and b"\0" in found):
        return connection.ibis().null().cast("binary")
    if con.name == "postgres":  # ibis writes bytes in a form that PostgreSQL does not read
        return text_key(con, connection.ibis().literal(text))
    return connection.ibis().literal(found)


def valued(key: Any, kind: Kind) -> Any:
    """What a key of a column stands for: a text for its bytes, a duration for its ticks."""
    if kind == "duration":
        return None if key is None else timedelta(microseconds=key)
    return decoded(key) if kind == "text" else key


def decoded(text: bytes | None) -> str | None:
    """Bytes as the text that they are; None if they are none."""
    try:
        return None if text is None else bytes(text).decode()
    except UnicodeDecodeError:
        return None
