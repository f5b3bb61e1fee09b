"""Arrays and frames of other libraries as tables in memory. Their packages are used, never imported, here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns.column import listed
from uptack.data.arrays import Field, MemorySource
from uptack.data.protocol import Kind
from uptack.errors import InvalidArgument

NUMPY_KINDS: dict[str, Kind] = {"i": "integer", "u": "integer", "f": "number", "b": "boolean", "U": "text", "O": "text"}


def package(x: object) -> str:
    """The package that an object comes from."""
    return type(x).__module__.split(".")[0]


def from_arrays(x: Any) -> MemorySource:
    """An array (a column "x", or columns "x0", "x1", ...), a structured array, or a dictionary of arrays."""
    if isinstance(x, Mapping):
        named = {str(name): _array(name, values) for name, values in x.items()}
    elif x.dtype.names:
        named = {name: x[name] for name in x.dtype.names}
    elif x.ndim == 2:
        named = {f"x{place}": x[:, place] for place in range(x.shape[1])}
    else:
        named = {"x": _array("x", x)}
    return MemorySource({name: _numpy_field(values) for name, values in named.items()})


def _array(name: object, values: Any) -> NDArray[Any]:
    listing = isinstance(values, list | tuple) and not any(isinstance(v, list | tuple | np.ndarray) for v in values)
    if listing and not _flags(values):  # numbers are floats, since a list has no type; with anything else in it, texts
        floats = listed(values)
        return _object_array(list(values)) if floats is None else floats
    array: NDArray[Any] = np.asanyarray(values)
    if array.ndim != 1:
        raise InvalidArgument(f"data[{name!r}]", "one-dimensional", f"an array of {array.ndim} dimensions")
    return array


def _flags(values: Any) -> bool:
    """Whether a list is of truth values alone."""
    return len(values) > 0 and all(isinstance(value, bool | np.bool_) for value in values)


def _numpy_field(values: NDArray[Any]) -> Field:
    """An array; where it is a masked one, masked rows have no value."""
    plain = np.asarray(values)
    missing = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    if plain.dtype.kind in "mM":
        missing = np.isnat(plain) if missing is None else missing | np.isnat(plain)
    kind = NUMPY_KINDS.get(plain.dtype.kind, "other")
    return Field(kind, plain.size, lambda: (plain, missing))


def from_pandas(frame: Any) -> MemorySource:
    """A pandas frame, with the nullable types and those of Arrow."""
    if frame.columns.has_duplicates:
        raise InvalidArgument("data", "a frame whose columns have different names", "some that are equal")
    return MemorySource({str(name): _pandas_field(frame[name]) for name in frame.columns})


def _pandas_field(series: Any) -> Field:
    dtype, size = series.dtype, len(series)
    if hasattr(dtype, "pyarrow_dtype"):
        return _arrow_field(series.array.__arrow_array__())
    if hasattr(dtype, "categories"):
        text = dtype.categories.dtype.kind == "O"
        return _objects("text" if text else "other", series)
    kind: Kind = NUMPY_KINDS.get(dtype.kind, "other")
    if isinstance(dtype, np.dtype) and kind != "text":
        return _numpy_field(series.to_numpy())
    if kind not in ("integer", "number", "boolean"):
        return _objects(kind, series)
    width = dtype.numpy_dtype
    return Field(kind, size, lambda: (series.to_numpy(dtype=width, na_value=width.type(0)), np.asarray(series.isna())))


def _objects(kind: Kind, series: Any) -> Field:
    return Field(kind, len(series), lambda: (series.astype(object).to_numpy(), np.asarray(series.isna())))


def from_polars(frame: Any) -> MemorySource:
    """A polars frame, eager or lazy."""
    eager = frame.collect() if hasattr(frame, "collect") else frame
    return MemorySource({name: _polars_field(eager[name]) for name in eager.columns})


def _polars_field(series: Any) -> Field:
    dtype, size = series.dtype, len(series)
    name = str(dtype).split("(")[0]
    if dtype.is_integer() or name == "Boolean":
        kind: Kind = "boolean" if name == "Boolean" else "integer"
        empty = False if kind == "boolean" else 0
        return Field(kind, size, lambda: (series.fill_null(empty).to_numpy(), series.is_null().to_numpy()))
    if dtype.is_float() or dtype.is_decimal():
        return Field("number", size, lambda: (np.array(series.cast(float).to_numpy(), np.float64), None))
    kind = "text" if name in ("String", "Categorical", "Enum") else "other"
    return Field(kind, size, lambda: (_object_array(series.to_list()), None))


def from_arrow(table: Any) -> MemorySource:
    """A table or a record batch of Arrow."""
    return MemorySource({name: _arrow_field(table.column(name)) for name in table.schema.names})


def _arrow_field(values: Any) -> Field:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind, size = _arrow_kind(values.type), len(values)
    if kind == "number":
        if pa.types.is_decimal(values.type):  # text is rounded once, and Arrow's own cast of decimals is not
            values = pc.cast(values, pa.string())
        return Field(kind, size, lambda: (_plain(pc.cast(values, pa.float64(), safe=False)), None))
    if kind in ("integer", "boolean"):
        empty = pa.scalar(kind == "boolean").cast(values.type) if kind == "boolean" else pa.scalar(0, values.type)
        return Field(kind, size, lambda: (_plain(pc.fill_null(values, empty)), _plain(pc.is_null(values))))
    return Field(kind, size, lambda: (_object_array(values.to_pylist()), None))


def _arrow_kind(dtype: Any) -> Kind:
    import pyarrow as pa

    kinds: dict[Kind, tuple[Any, ...]] = {
        "integer": (pa.types.is_integer,),
        "number": (pa.types.is_floating, pa.types.is_decimal),
        "boolean": (pa.types.is_boolean,),
        "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    }
    return next((kind for kind, tests in kinds.items() if any(test(dtype) for test in tests)), "other")


def _plain(values: Any) -> NDArray[Any]:
    """An array of Arrow, whole or in chunks, as one of NumPy; null floats are NaN."""
    chunked = hasattr(values, "combine_chunks")
    made: NDArray[Any] = values.to_numpy() if chunked else values.to_numpy(zero_copy_only=False)
    return made


def _object_array(values: list[Any]) -> NDArray[Any]:
    return np.fromiter(values, object, len(values))


READERS = {"pandas": from_pandas, "polars": from_polars, "pyarrow": from_arrow}
"""Which function reads the frames of which package."""

FIELDS = {"pandas": _pandas_field, "polars": _polars_field, "pyarrow": _arrow_field}
"""The same for a single column."""


def column_field(x: Any) -> Field | None:
    """A column of pandas, polars or Arrow, by its declared type; None for anything else."""
    read, single = FIELDS.get(package(x)), not hasattr(x, "columns") and not hasattr(x, "column_names")
    if read is None or not single or not (hasattr(x, "dtype") or hasattr(x, "type")):
        return None
    if package(x) == "pandas" and not hasattr(x, "isna"):
        return None
    return read(x)
