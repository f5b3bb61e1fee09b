"""The rows of a block as f gets them: fresh copies, built from these rows and the declared types alone.

**Lemma.** What `fresh(data, rows)` builds is a function of the values of these rows, of the names of the columns, and
of the types that the container declares. Replacing a row that is not among them leaves it as it is, byte for byte.
Nothing that all rows decide together comes along: no categories, widths of text, index labels, sorting flags,
attributes, nor an array of which the block is a view.

- *Lists of rows.* Every row is copied by itself.
- *NumPy arrays.* The dtype is declared. The width of texts is that of the block's own longest, and a masked array
  always has a mask of its full shape.
- *pandas.* A dtype with missing values of its own is declared, since no row can change it: Int64, Float64, boolean,
  string, and Arrow's plain types. All other dtypes pandas reads off the rows: one missing value makes integers floats,
  and one text makes them objects. So a block is read again, by its own rows: **numbers are float64**, missing ones
  NaN; truth values are bool, and everything else is what pandas makes of a list of the values. A column or block
  without any value is float64.
- *polars.* Types are declared, but for categories and enumerations: they are read as texts.

*Proof.* Each value is mapped by itself (`_value`, `own`); ints and the floats that a missing value makes of them are
mapped to the same float64, times of all units to the same Timestamp. The column is then built from the mapped values. ∎
"""

from __future__ import annotations

import copy
import datetime as dt
import math
import operator
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.interrupts import attempt
from uptack.table.packages import pa, pd, pl

Indices = NDArray[np.int64]
Parcel = Callable[[], Any]
"""Builds a block."""
MASKED = {f"{kind}{bits}" for kind in ("Int", "UInt", "Float") for bits in (8, 16, 32, 64)} | {"boolean"}


def library(data: Any) -> str:
    """The library that a frame or column is of: "pandas", "polars" or ""."""
    homes = {kind.__module__.partition(".")[0] for kind in type(data).__mro__}
    return next((name for name in ("pandas", "polars") if name in homes), "")


def number_of_rows(data: Any) -> int:
    """The number of rows of a table, of a type whose rows can be selected by position."""
    array = isinstance(data, np.ndarray) and data.ndim > 0
    pandas = library(data) == "pandas" and hasattr(data, "iloc")
    polars = library(data) == "polars" and hasattr(data, "__len__")
    if not (array or isinstance(data, list | tuple) or pandas or polars):
        must = "a NumPy array, a pandas or polars frame or column, or a list of rows"
        raise InvalidArgument("data", must, checks.describe(data), "Collect a lazy frame first.")
    return len(data)


def parcels(data: Any, blocks: Sequence[Indices], *, shipped: bool = False) -> list[Parcel]:
    """Functions that build the blocks. `shipped` ones hold no other rows, and can be sent to another interpreter."""
    if library(data) == "polars":
        return [_polars_parcel(data, rows) for rows in blocks]
    builders = [partial(fresh, data, rows) for rows in blocks]
    return [_ready(parcel) for parcel in builders] if shipped else list(builders)


def _ready(parcel: Parcel) -> Parcel:
    def build() -> Parcel:
        return partial(operator.itemgetter(0), (parcel(),))  # which can be pickled

    return attempt(build, lambda: _nothing)


def _nothing() -> Any:
    raise ValueError


def fresh(data: Any, rows: Indices) -> Any:
    """Copies of these rows, in the form that the data have.

    >>> texts = np.array(["a", "bb", "a text of a row that is in another block"])
    >>> fresh(texts, np.array([0, 1])).dtype
    dtype('<U2')
    """
    if isinstance(data, list | tuple):
        return [own(data[i]) for i in rows.tolist()]
    if library(data) == "pandas":
        return _copy_frame(data, rows) if hasattr(data, "columns") else _series(data.iloc[rows])
    return _array((data if isinstance(data, np.ma.MaskedArray) else np.asarray(data))[rows])


def own(value: Any) -> Any:
    """A copy that shares nothing with other rows."""
    if isinstance(value, np.ndarray):
        return _array(value)
    if library(value) == "pandas" and hasattr(value, "iloc"):
        return fresh(value, np.arange(len(value)))
    return attempt(lambda: pickle.loads(pickle.dumps(value)), lambda: copy.deepcopy(value))


def _array(block: NDArray[Any]) -> NDArray[Any]:
    """A copy in memory of its own, with texts as wide as its own."""
    if isinstance(block, np.ma.MaskedArray):
        mask, values = np.ma.getmaskarray(block).copy(), np.array(block.data)
        if values.dtype.names is None:
            values[mask] = np.zeros((), values.dtype)
        return np.ma.MaskedArray(_array(values), mask=mask)
    if block.dtype.names is not None:
        return _copy_records(block)
    out: NDArray[Any]
    if block.dtype.kind == "O":
        out = np.empty(block.shape, object)
        for place in np.ndindex(block.shape):
            out[place] = own(block[place])
        return out
    if block.dtype.kind in "US":
        out = np.array(block.tolist() if block.size else "", block.dtype.kind)
        return out if block.size else np.empty(block.shape, out.dtype)
    return np.array(block, order="C", subok=False)


def _copy_records(block: NDArray[Any]) -> NDArray[Any]:
    parts = {name: _array(block[name]) for name in block.dtype.names or ()}
    kinds = [(name, part.dtype, part.shape[block.ndim :]) for name, part in parts.items()]
    out = np.empty(block.shape, np.dtype(kinds))
    for name, part in parts.items():
        out[name] = part
    return out


# -------------------------------------------------------------------------------------------------------------- pandas


def _copy_frame(data: Any, rows: Indices) -> Any:
    columns = [_series(data.iloc[:, i].iloc[rows]) for i in range(data.shape[1])]
    out = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(len(rows)))
    labels = list(data.columns)
    if isinstance(data.columns, pd.MultiIndex):
        out.columns = pd.MultiIndex.from_tuples(labels, names=list(data.columns.names))
    else:
        out.columns = pd.Index(labels, name=data.columns.name, tupleize_cols=False)
    return out


def _series(column: Any) -> Any:
    """A column of the block's rows, without index labels."""
    return pd.Series(_column(column), name=column.name)


def _column(column: Any) -> Any:
    """The values of a column of the block, typed by themselves or by a declared type."""
    dtype = column.dtype
    if _is_declared(dtype):
        return pd.array(column.tolist(), dtype=dtype)
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return np.array(column.to_numpy(), np.float64) + 0.0
    values = [_value(value) for value in column.tolist()]
    if all(value is None for value in values):
        return np.full(len(values), np.nan)
    return attempt(lambda: pd.Series(values), lambda: pd.Series(values, dtype=object))


def _is_declared(dtype: Any) -> bool:
    """Whether no row can change the dtype of a column, nor leave a trace in it."""
    if isinstance(dtype, pd.StringDtype):
        return dtype.na_value is pd.NA  # the other one is what pandas 3 makes of texts
    if isinstance(dtype, pd.ArrowDtype):
        of, kind = pa.types, dtype.pyarrow_dtype
        return bool(of.is_primitive(kind) or of.is_string(kind) or of.is_large_string(kind) or of.is_binary(kind))
    return str(dtype) in MASKED


def _value(value: Any) -> Any:
    """A cell by itself: None where it is missing, numbers as floats, times as Timestamps."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, np.generic):
        return _value(value.item()) if value.dtype.kind not in "mMV" else _time(value)
    if isinstance(value, complex) and not value.imag:
        value = value.real
    if isinstance(value, int | float):
        try:
            return None if math.isnan(number := float(value)) else number + 0.0
        except OverflowError:
            return None
    if isinstance(value, dt.datetime | dt.timedelta):
        return _time(value)
    return None if value is None or type(value).__name__ == "NAType" else own(value)


def _time(value: Any) -> Any:
    """A moment or duration in microseconds, or in nanoseconds where it has some: the unit of a column is everyone's."""
    if isinstance(value, np.void):
        return own(value)
    moment = isinstance(value, dt.datetime | np.datetime64)
    stamp = pd.Timestamp(value) if moment else pd.Timedelta(value)
    if stamp is pd.NaT:
        return None
    fine = stamp.nanosecond if moment else stamp.nanoseconds
    return stamp.as_unit("ns" if fine else "us")


# -------------------------------------------------------------------------------------------------------------- polars


def _polars_parcel(data: Any, rows: Indices) -> Parcel:
    frame = hasattr(data, "columns")

    def parcel() -> Parcel:
        columns = data[rows].get_columns() if frame else [data[rows]]
        return partial(_build_polars, [_polars_column(one) for one in columns], frame)

    return attempt(parcel, lambda: _nothing)


def _build_polars(columns: list[tuple[str, list[Any], Any, Any]], frame: bool) -> Any:
    """A frame or column from lists: nothing else is known of its rows, nor how others were sorted or stored."""
    built = []
    for name, values, plain, kind in columns:
        column = pl.Series(name, values, dtype=plain)
        built.append(column if plain == kind else column.cast(kind))
    return pl.DataFrame(built) if frame else built[0]


def _polars_column(column: Any) -> tuple[str, list[Any], Any, Any]:
    """Its name, its values as a list, the type of these, and that of the column."""
    kind = _without_categories(column.dtype)
    plain = column if kind == column.dtype else column.cast(kind)
    if kind.is_temporal():  # as integers: Python has no years above 9999
        physical = plain.to_physical()
        return column.name, physical.to_list(), physical.dtype, kind
    return column.name, plain.to_list(), kind, kind


def _without_categories(kind: Any) -> Any:
    if isinstance(kind, pl.Categorical | pl.Enum):
        return pl.String()
    if isinstance(kind, pl.List):
        return pl.List(_without_categories(kind.inner))
    if isinstance(kind, pl.Array):
        return pl.Array(_without_categories(kind.inner), kind.size)
    if isinstance(kind, pl.Struct):
        return pl.Struct({field.name: _without_categories(field.dtype) for field in kind.fields})
    return kind
