"""Columns of NumPy, pandas, polars and Arrow as fields, by their declared types.

pandas and polars are used, never imported; Arrow's own functions read its columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack import interrupts
from uptack.table.values.field import Array, Field, Mask
from uptack.table.values.kinds import Kind, canonical
from uptack.table.values.times import Form, form_of, measured

NUMPY_KINDS: dict[str, Kind] = {
    "i": "integer",
    "u": "integer",
    "f": "number",
    "b": "boolean",
    "U": "text",
    "T": "text",
    "M": "time",
    "m": "duration",
    "O": "any",
}


def package(x: object) -> str:
    """The package that an object comes from."""
    return type(x).__module__.split(".")[0]


def objects(values: list[Any]) -> Array:
    """A list as an array of the same objects."""
    return np.fromiter(values, object, len(values))


# ---------------------------------------------------------------------------------------------------------------- NumPy


def of_numpy(values: Array) -> Field:
    """An array of one dimension; where it is a masked one, masked rows have no value."""
    plain = np.asarray(values)
    missing = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    if plain.dtype.kind in "Mm":
        kind: Kind = NUMPY_KINDS[plain.dtype.kind] if measured(plain.dtype) else "other"
        return Field(kind, plain.size, lambda: (plain, missing), form=form_of(plain.dtype))
    return Field(NUMPY_KINDS.get(plain.dtype.kind, "other"), plain.size, lambda: (plain, missing))


def of_list(values: list[Any] | tuple[Any, ...]) -> Field:
    """A list has no declared type: whatever is in it, each row is read by itself."""
    return Field("any", len(values), lambda: (objects(list(values)), None))


# --------------------------------------------------------------------------------------------------------------- pandas


def of_pandas(series: Any) -> Field:
    """A column of pandas, with the nullable types and those of Arrow. Categories are read as texts are.

    Which type the categories have depends on the rows: one text among numbers makes objects of all.
    """
    dtype, size = series.dtype, len(series)
    if isinstance(dtype, np.dtype):
        return of_numpy(series.to_numpy())
    array = getattr(series, "array", series)
    if hasattr(dtype, "pyarrow_dtype") or (dtype.type is str and getattr(dtype, "storage", "") == "pyarrow"):
        return of_arrow(array.__arrow_array__())
    if hasattr(dtype, "tz") and hasattr(dtype, "unit"):
        unit = f"datetime64[{dtype.unit}]"
        return Field("time", size, lambda: (series.to_numpy(dtype=unit), None), form=Form("utc"))
    if (period := _period(dtype)) is not None:
        return Field("time", size, lambda: (array.asi8.view(period), None), form=form_of(np.dtype(period)))
    if hasattr(dtype, "numpy_dtype"):
        width = dtype.numpy_dtype
        kind = NUMPY_KINDS.get(width.kind, "other")
        return Field(
            kind, size, lambda: (series.to_numpy(dtype=width, na_value=width.type(0)), np.asarray(series.isna()))
        )
    if hasattr(dtype, "fill_value"):
        return _of_sparse(array, dtype)
    categories = hasattr(dtype, "categories")
    kind = "text" if categories or dtype.type is str else "other"

    def read() -> tuple[Array, Mask]:
        return np.asarray(series.astype(object), object), np.asarray(series.isna())

    return Field(kind, size, read, categories=categories)


def _of_sparse(array: Any, dtype: Any) -> Field:
    """A sparse column: its declared subtype says what it holds. Rows that are not stored have the value of the type.

    pandas itself makes floats of whole numbers, and of truth values, as soon as one row is missing.
    """
    width, size = dtype.subtype, len(array)
    declared = of_numpy(np.zeros(0, width))
    filled = _fits(dtype.fill_value, width)

    def read() -> tuple[Array, Mask | None]:
        stored = array.sp_index.to_int_index().indices
        values = np.full(size, dtype.fill_value, width) if filled else np.zeros(size, width)
        gone = np.ones(size, bool)
        values[stored], gone[stored] = np.asarray(array.sp_values).astype(width), False
        return values, None if filled else gone | np.asarray(array.isna())

    return Field(declared.kind, size, read, form=form_of(width) if width.kind in "Mm" else None)


def _fits(value: Any, width: np.dtype[Any]) -> bool:
    """Whether a type can hold the value of rows that are not stored; where not, they are missing."""
    if canonical(value) is None:
        return False
    return width.kind == "O" or bool(np.full(1, value, width)[0] == value)


PERIODS = {"Y-DEC": "Y", "A-DEC": "Y", "M": "M", "D": "D", "h": "h", "H": "h", "min": "m", "T": "m", "s": "s", "S": "s"}
PERIODS |= {"ms": "ms", "L": "ms", "us": "us", "U": "us", "ns": "ns", "N": "ns"}


def _period(dtype: Any) -> str | None:
    """The type of NumPy that counts as a type of pandas for periods does: a period is the moment in which it begins."""
    words = str(dtype)
    unit = PERIODS.get(words[7:-1]) if words.startswith("period[") else None
    return None if unit is None else f"M8[{unit}]"


# --------------------------------------------------------------------------------------------------------------- polars


def of_polars(series: Any) -> Field:
    """A column of polars."""
    dtype, size = series.dtype, len(series)
    kind = polars_kind(dtype)
    if kind == "integer" and str(dtype).endswith("128"):
        return Field(kind, size, lambda: (objects(series.to_list()), series.is_null().to_numpy()))
    if kind in ("integer", "boolean"):
        empty = False if kind == "boolean" else 0
        return Field(kind, size, lambda: (series.fill_null(empty).to_numpy(), series.is_null().to_numpy()))
    if kind == "number":
        return Field(kind, size, lambda: (np.array(series.cast(float).to_numpy(), np.float64), None))
    if kind in ("time", "duration"):
        form = _form(kind, str(dtype) == "Date", getattr(dtype, "time_zone", None) is not None)
        return Field(kind, size, lambda: (series.to_numpy(), None), form=form)
    if kind == "text" or (kind == "other" and str(dtype) != "Time"):  # of a row that Python can't hold polars panics
        return Field(kind, size, lambda: (_python(series.to_arrow()), None))
    return Field(kind, size, lambda: (objects(series.to_list()), None))


def _form(kind: Kind, dated: bool, zoned: bool) -> Form:
    """How times or durations are shown, by their type."""
    return Form("duration" if kind == "duration" else "date" if dated else "utc" if zoned else "clock")


def polars_kind(dtype: Any) -> Kind:
    """The kind of a type of polars."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_float() or dtype.is_decimal():
        return "number"
    kinds: dict[str, Kind] = {"Boolean": "boolean", "Date": "time", "Datetime": "time", "Duration": "duration"}
    kinds |= {"String": "text", "Categorical": "text", "Enum": "text", "Object": "any", "Null": "any"}
    return kinds.get(str(dtype).split("(")[0], "other")


# ---------------------------------------------------------------------------------------------------------------- Arrow


def of_arrow(values: Any) -> Field:
    """A column of Arrow, whole or in chunks."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind, size = arrow_kind(values.type), len(values)
    if kind == "number":
        if pa.types.is_decimal(values.type):  # text is rounded once, and Arrow's own cast of decimals is not
            values = pc.cast(values, pa.string())
        return Field(kind, size, lambda: (_plain(pc.cast(values, pa.float64(), safe=False)), None))
    if kind in ("integer", "boolean"):
        empty = pa.scalar(kind == "boolean").cast(values.type) if kind == "boolean" else pa.scalar(0, values.type)
        return Field(kind, size, lambda: (_plain(pc.fill_null(values, empty)), _plain(pc.is_null(values))))
    if kind in ("time", "duration"):
        dated = pa.types.is_date(values.type)
        plain = pc.cast(values, pa.date32(), safe=False) if dated else values
        form = _form(kind, dated, getattr(values.type, "tz", None) is not None)
        return Field(kind, size, lambda: (_plain(plain), None), form=form)
    return Field(kind, size, lambda: (_python(values), None))


def arrow_kind(dtype: Any) -> Kind:
    """The kind of a type of Arrow."""
    import pyarrow as pa

    kinds: dict[Kind, tuple[Any, ...]] = {
        "integer": (pa.types.is_integer,),
        "number": (pa.types.is_floating, pa.types.is_decimal),
        "boolean": (pa.types.is_boolean,),
        "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
        "time": (pa.types.is_timestamp, pa.types.is_date),
        "duration": (pa.types.is_duration,),
        "any": (pa.types.is_null,),
    }
    return next((kind for kind, tests in kinds.items() if any(test(dtype) for test in tests)), "other")


def _plain(values: Any) -> Array:
    """An array of Arrow, whole or in chunks, as one of NumPy; null floats are NaN, null times NaT."""
    chunked = hasattr(values, "combine_chunks")
    made: Array = values.to_numpy() if chunked else values.to_numpy(zero_copy_only=False)
    return made


def _python(values: Any) -> Array:
    """Values of Arrow as those of Python. A row that Python can't hold is missing: it must not fail all others.

    Such are bytes that are no UTF-8, which Arrow does not check in texts, the year 20000, and a time of 24:00.
    """

    def read() -> Array:
        try:
            return objects(values.to_pylist())
        except BaseException:
            interrupts.check()
        return objects([_held(value) for value in values])

    return interrupts.watched(read)


def _held(value: Any) -> Any:
    """The value of one row; None where Python has none."""
    try:
        return value.as_py()
    except BaseException:
        interrupts.check()
        return None


READERS = {"pandas": of_pandas, "polars": of_polars, "pyarrow": of_arrow}
"""Which function reads the columns of which package."""


def foreign(x: Any) -> Field | None:
    """A column of pandas, polars or Arrow; None for anything else."""
    read, single = READERS.get(package(x)), not hasattr(x, "columns") and not hasattr(x, "column_names")
    if read is None or not single or not (hasattr(x, "dtype") or hasattr(x, "type")):
        return None
    return read(x) if hasattr(x, "__len__") and getattr(x, "ndim", 1) == 1 else None


def frame(x: Any) -> list[tuple[str, Any]] | None:
    """The names and columns of a frame of pandas, polars or Arrow; None for anything else."""
    of = package(x)
    if of == "pandas" and hasattr(x, "columns"):
        return [(str(name), x.iloc[:, place]) for place, name in enumerate(x.columns)]
    if of == "polars" and hasattr(type(x), "columns"):
        eager = x.collect() if hasattr(x, "collect") else x
        return [(name, eager[name]) for name in eager.columns]
    if of == "pyarrow" and hasattr(x, "schema") and hasattr(x, "column"):
        return [(name, x.column(place)) for place, name in enumerate(x.schema.names)]
    return None


def names(x: Any) -> tuple[str, ...]:
    """The names of the columns of a frame; none for anything else, and for one that pandas made of an array."""
    if package(x) == "pandas" and not all(isinstance(name, str) for name in getattr(x, "columns", ())):
        return ()
    columns = None if hasattr(x, "collect") else frame(x)  # a lazy frame is read once, elsewhere
    return tuple(name for name, _ in columns or ())
