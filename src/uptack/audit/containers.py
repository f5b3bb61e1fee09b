"""Every container that NumPy, pandas, polars and Arrow have: whether one row is missing decides no kind and no type.

Each makes a column of rows, of which None is a missing one. Those of packages that are not installed are left out.
"""

from __future__ import annotations

import array
import collections
import datetime as dt
import importlib
import importlib.util
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from uptack.audit.scenario import Pairs

Make = Callable[[list[Any]], Any]
Containers = dict[str, tuple[Make, Any]]
DAY, MOMENT, SPAN = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), dt.timedelta(seconds=1)
ROWS = 120


@cache
def containers() -> Containers:
    """All of them: how each is made, and a value that it can hold."""
    return {**_plain(), **_of("pandas", _pandas), **_of("pyarrow", _arrow), **_of("polars", _polars)}


def container_pairs() -> Pairs:
    """In each of them, a row that has a value or none."""
    return {
        name: (make([value] * ROWS), make([*[value] * (ROWS - 1), None]))
        for name, (make, value) in containers().items()
    }


def installed(package: str) -> Any:
    """A package, or None where it is not installed."""
    return importlib.import_module(package) if importlib.util.find_spec(package) else None


def _of(package: str, make: Callable[[Any], Containers]) -> Containers:
    module = installed(package)
    return {} if module is None else make(module)


class Convertible:
    """An object that has no declared type, and that NumPy can convert."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([np.nan if row is None else row for row in self.rows])

    def __len__(self) -> int:
        return len(self.rows)


def masked(dtype: Any) -> Make:
    """A masked array; one without a missing row has no mask."""

    def make(rows: list[Any]) -> Any:
        some = next(row for row in rows if row is not None)
        held = np.array([some if row is None else row for row in rows], dtype)
        return np.ma.MaskedArray(held, [row is None for row in rows]) if None in rows else np.ma.MaskedArray(held)

    return make


def _floats(rows: list[Any]) -> list[Any]:
    return [np.nan if row is None else row for row in rows]


def numpy_values() -> dict[str, Any]:
    """Types of NumPy, each with a value."""
    made: dict[str, Any] = {"i1": 3, "i8": 3, "u8": 3, "f2": 1.5, "f4": 1.5, "f8": 1.5, "g": 1.5, "?": True}
    made |= {"U3": "a", "S3": b"a", "M8[D]": DAY, "M8[us]": MOMENT, "m8[s]": SPAN, "O": 3, "c8": 1j, "c16": 1j}
    made |= {"G": 1j, "V1": b"a", ">i4": 3, ">u8": 3, ">f8": 1.5, "i4, f8": (3, 1.5)}
    return made | dict.fromkeys("bhilqnpBHILQNP", 3)


def _plain() -> Containers:
    texts: Any = np.dtypes.StringDType
    return {
        "list": (list, 3),
        "tuple": (tuple, 3),
        "deque": (collections.deque, 3),
        "object array": (lambda rows: np.array(rows, object), 3),
        "float array": (lambda rows: np.array(_floats(rows)), 1.5),
        "array.array": (lambda rows: array.array("d", _floats(rows)), 1.5),
        "numpy texts, None": (lambda rows: np.array(rows, texts(na_object=None)), "a"),
        "numpy texts, nan": (lambda rows: np.array(_floats(rows), texts(na_object=np.nan)), "a"),
        "record array": (lambda rows: np.rec.array([(row,) for row in _floats(rows)], [("a", "f8")]), 1.5),
        "array protocol, integers": (Convertible, 3),
        "array protocol, truth values": (Convertible, True),
        **{f"numpy masked {dtype}": (masked(dtype), value) for dtype, value in numpy_values().items()},
    }


# ------------------------------------------------------------------------------------------------------------- pandas


def sparse(pd: Any, subtype: str, fill: Any) -> Make:
    """A sparse column of pandas; missing rows are not stored."""

    def make(rows: list[Any]) -> Any:
        stored = [place for place, row in enumerate(rows) if row is not None]
        index = pd.arrays.SparseArray(np.array([row is not None for row in rows]), fill_value=False).sp_index
        values = np.array([rows[place] for place in stored], subtype)
        return pd.Series(pd.arrays.SparseArray(values, sparse_index=index, dtype=pd.SparseDtype(subtype, fill)))

    return make


def pandas_values(pd: Any) -> dict[str, Any]:
    """Types of pandas, each with a value."""
    dtypes = {
        "Int8": 3, "Int16": 3, "Int32": 3, "Int64": 3, "UInt8": 3, "UInt16": 3, "UInt32": 3, "UInt64": 3,
        "Float32": 1.5, "Float64": 1.5, "boolean": True, "string": "a", "string[python]": "a",
        "str": "a", "object": 3, "float32": 1.5, "float64": 1.5,
        "datetime64[s]": MOMENT, "datetime64[ns]": MOMENT, "datetime64[ns, UTC]": MOMENT, "timedelta64[ns]": SPAN,
        "period[M]": pd.Period("2024-01", "M"), "period[D]": pd.Period("2024-01-01", "D"),
        "period[Q-DEC]": pd.Period("2024Q1", "Q"), "interval[float64]": pd.Interval(1.0, 2.0),
    }  # fmt: skip
    if installed("pyarrow"):
        dtypes |= {
            "string[pyarrow]": "a", "int64[pyarrow]": 3, "double[pyarrow]": 1.5, "bool[pyarrow]": True,
            "timestamp[ns][pyarrow]": MOMENT, "date32[day][pyarrow]": DAY, "duration[ns][pyarrow]": SPAN,
        }  # fmt: skip
    return dtypes


def categorical(pd: Any) -> dict[str, tuple[Any, Any]]:
    """Types of categories, each with a value."""
    return {
        "texts": (pd.CategoricalDtype(["a", "b"]), "a"),
        "integers": (pd.CategoricalDtype([3, 4]), 3),
        "floats": (pd.CategoricalDtype([1.5, 2.5], ordered=True), 1.5),
        "times": (pd.CategoricalDtype([pd.Timestamp(MOMENT)]), pd.Timestamp(MOMENT)),
        "truth values": (pd.CategoricalDtype([True, False]), True),
    }


def _pandas(pd: Any) -> Containers:
    gaps = (np.nan, None, pd.NA)
    of_sparse = (
        ("int64", 3, gaps),
        ("int8", 3, gaps),
        ("uint64", 3, gaps),
        ("bool", True, gaps),
        ("float32", 1.5, (np.nan, 0.0)),
        ("float64", 1.5, (np.nan, 0.0)),
        ("object", "a", (np.nan,)),
        ("M8[ns]", MOMENT, (np.datetime64("NaT", "ns"),)),
        ("m8[ns]", SPAN, (np.timedelta64("NaT", "ns"),)),
    )
    dtypes, categories = pandas_values(pd), categorical(pd)

    def series(dtype: Any) -> Make:
        return lambda rows: pd.Series(rows, dtype=dtype)

    def index(dtype: Any) -> Make:
        return lambda rows: pd.Index(pd.Series(rows, dtype=dtype))

    def array_of(dtype: Any) -> Make:
        return lambda rows: pd.Series(rows, dtype=dtype).array

    return {
        "pandas index of pairs": (lambda rows: pd.MultiIndex.from_arrays([rows, ["a"] * len(rows)]), 3),
        "pandas array of NumPy": (lambda rows: pd.arrays.NumpyExtensionArray(np.array(rows, object)), 3),
        **{f"pandas sparse {of} {fill}": (sparse(pd, of, fill), v) for of, v, fills in of_sparse for fill in fills},
        **{f"pandas {dtype}": (series(dtype), value) for dtype, value in dtypes.items()},
        **{f"pandas index {dtype}": (index(dtype), value) for dtype, value in dtypes.items()},
        **{f"pandas array {dtype}": (array_of(dtype), value) for dtype, value in dtypes.items()},
        **{f"pandas categories of {name}": (series(dtype), value) for name, (dtype, value) in categories.items()},
        **{f"pandas index of {name}": (index(dtype), value) for name, (dtype, value) in categories.items()},
    }


# ---------------------------------------------------------------------------------------------------- Arrow and polars


def _union(pa: Any, mode: str) -> Make:
    """A union of integers and texts; only a member can be missing."""

    def make(rows: list[Any]) -> Any:
        types, members = pa.array([0] * len(rows), pa.int8()), [pa.array(rows, pa.int64()), pa.array(["a"] * len(rows))]
        if mode == "sparse":
            return pa.UnionArray.from_sparse(types, members)
        return pa.UnionArray.from_dense(types, pa.array(range(len(rows)), pa.int32()), members)

    return make


def arrow_values(pa: Any) -> list[tuple[Any, Any]]:
    """Types of Arrow, each with a value."""
    return [
        *((dtype, 3) for dtype in (
            pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        )),
        (pa.float16(), 1.5), (pa.float32(), 1.5), (pa.float64(), 1.5),
        (pa.bool_(), True), (pa.string(), "a"), (pa.large_string(), "a"), (pa.string_view(), "a"),
        (pa.decimal32(5, 2), Decimal("1.5")), (pa.decimal64(5, 2), Decimal("1.5")),
        (pa.decimal128(5, 2), Decimal("1.5")), (pa.decimal128(5, 0), Decimal(3)),
        (pa.decimal256(40, 2), Decimal("1.5")),
        (pa.date32(), DAY), (pa.date64(), DAY), (pa.timestamp("s"), MOMENT), (pa.timestamp("us", "UTC"), MOMENT),
        (pa.duration("ms"), SPAN), (pa.time32("s"), dt.time(1)), (pa.binary(), b"a"), (pa.null(), None),
        (pa.time64("us"), dt.time(1)), (pa.large_binary(), b"a"), (pa.binary_view(), b"a"), (pa.binary(1), b"a"),
        *((dtype, [3]) for dtype in (
            pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_view(pa.int64()), pa.large_list_view(pa.int64()),
            pa.list_(pa.int64(), 1), pa.fixed_shape_tensor(pa.int64(), [1]),
        )),
        (pa.map_(pa.string(), pa.int64()), [("a", 3)]), (_union(pa, "sparse")([3]).type, 3),
        (_union(pa, "dense")([3]).type, 3),
        (pa.struct([("a", pa.int64())]), {"a": 3}), (pa.uuid(), b"0" * 16),
        (pa.bool8(), 1), (pa.json_(), "1"), (pa.month_day_nano_interval(), (1, 1, 1)),
        (pa.run_end_encoded(pa.int32(), pa.int64()), 3),
        *((pa.dictionary(pa.int32(), of), value) for of, value in (
            (pa.string(), "a"), (pa.int64(), 3), (pa.float64(), 1.5), (pa.bool_(), True),
            (pa.decimal128(5, 2), Decimal("1.5")), (pa.timestamp("s"), MOMENT), (pa.duration("s"), SPAN),
        )),
    ]  # fmt: skip


def arrow_column(dtype: Any) -> Make:
    """A column of a type of Arrow."""
    pa, pc = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")

    def make(rows: list[Any]) -> Any:
        if pa.types.is_union(dtype):
            return _union(pa, dtype.mode)(rows)
        if isinstance(dtype, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(dtype, pa.array(rows, dtype.storage_type))
        if pa.types.is_run_end_encoded(dtype):
            return pc.run_end_encode(pa.array(rows, dtype.value_type))
        if pa.types.is_dictionary(dtype):
            return pc.dictionary_encode(pa.array(rows, dtype.value_type))
        return pa.array(rows, dtype)

    return make


def in_pandas(make: Make) -> Make:
    """A column of Arrow as one of pandas."""
    pd, pa = importlib.import_module("pandas"), importlib.import_module("pyarrow")
    return lambda rows: pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([make(rows)])))


def _arrow(pa: Any) -> Containers:
    of, dtypes = arrow_column, arrow_values(pa)

    def chunked(make: Make) -> Make:
        return lambda rows: pa.chunked_array([make(rows[:7]), make(rows[7:])])

    made: Containers = {f"arrow {dtype}": (of(dtype), value) for dtype, value in dtypes}
    made |= {f"arrow {dtype} in chunks": (chunked(of(dtype)), value) for dtype, value in dtypes}
    return made | _of("pandas", lambda _: {f"pandas of arrow {d}": (in_pandas(of(d)), v) for d, v in dtypes})


def polars_values(pl: Any) -> list[tuple[Any, Any]]:
    """Types of polars, each with a value."""
    dtypes = [
        *((dtype, 3) for dtype in (
            pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64,
        )),
        (pl.Float32, 1.5), (pl.Float64, 1.5),
        (pl.Boolean, True), (pl.String, "a"), (pl.Categorical, "a"), (pl.Enum(["a"]), "a"),
        (pl.Decimal(5, 2), Decimal("1.5")), (pl.Decimal(5, 0), Decimal(3)), (pl.Date, DAY), (pl.Datetime("ms"), MOMENT),
        (pl.Datetime("us", "UTC"), MOMENT.replace(tzinfo=dt.UTC)), (pl.Duration("us"), SPAN), (pl.Time, dt.time(1)),
        (pl.Object, 3), (pl.Null, None), (pl.List(pl.Int64), [3]), (pl.Array(pl.Int64, 1), [3]),
        (pl.Struct({"a": pl.Int64}), {"a": 3}), (pl.Binary, b"a"),
    ]  # fmt: skip
    if hasattr(pl, "UInt128"):
        dtypes += [(pl.UInt128, 3), (pl.Float16, 1.5)]
    if hasattr(pl, "Extension"):
        dtypes += [(pl.Map(pl.String, pl.Int64), {"a": 3}), (pl.Extension("ours", pl.List(pl.Date)), [DAY])]
    return dtypes


def _polars(pl: Any) -> Containers:
    def of(dtype: Any) -> Make:
        if not hasattr(pl, "Extension") or not isinstance(dtype, pl.Extension):
            return lambda rows: pl.Series("x", rows, dtype=dtype)
        return lambda rows: pl.Series("x", rows, dtype=dtype.ext_storage()).ext.to(dtype)

    return {f"polars {dtype}": (of(dtype), value) for dtype, value in polars_values(pl)}
