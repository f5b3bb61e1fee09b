"""Every container that NumPy, pandas, polars and Arrow have: whether one row is missing decides no kind and no type.

Each makes a column of rows, of which None is a missing one. Those of packages that are not installed are left out.
Types are listed by a value that they can hold.
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
DAY, MOMENT, SPAN, CLOCK = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), dt.timedelta(seconds=1), dt.time(1)
ROWS = 120


@cache
def containers() -> Containers:
    """All of them: how each is made, and a value that it can hold."""
    packages = {"pandas": _pandas, "pyarrow": _arrow, "polars": _polars}
    every = _plain()
    for name, containers_of in packages.items():
        every |= containers_of(package) if (package := installed(name)) else {}
    return every


def container_pairs() -> Pairs:
    """In each of them, a row that has a value or none."""
    every = containers().items()
    return {name: (make([v] * ROWS), make([*[v] * (ROWS - 1), None])) for name, (make, v) in every}


def installed(package: str) -> Any:
    """A package, or None where it is not installed."""
    return importlib.import_module(package) if importlib.util.find_spec(package) else None


# -------------------------------------------------------------------------------------------------- Python and NumPy


class Convertible:
    """An object that has no declared type, and that NumPy can convert."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(_floats(self.rows))

    def __len__(self) -> int:
        return len(self.rows)


def _floats(rows: list[Any]) -> list[Any]:
    return [np.nan if row is None else row for row in rows]


def numpy_values() -> dict[str, Any]:
    """Types of NumPy, each with a value."""
    values: dict[str, Any] = {"i1": 3, "i8": 3, "u8": 3, "f2": 1.5, "f4": 1.5, "f8": 1.5, "g": 1.5, "?": True}
    values |= {"U3": "a", "S3": b"a", "M8[D]": DAY, "M8[us]": MOMENT, "m8[s]": SPAN, "O": 3, "c8": 1j, "c16": 1j}
    values |= {"G": 1j, "V1": b"a", ">i4": 3, ">u8": 3, ">f8": 1.5, "i4, f8": (3, 1.5)}
    return values | dict.fromkeys("bhilqnpBHILQNP", 3)


def _masked(dtype: Any, value: Any) -> Make:
    """A masked array; one without a missing row has no mask."""

    def make(rows: list[Any]) -> Any:
        values = np.array([value if row is None else row for row in rows], dtype)
        return np.ma.MaskedArray(values, [row is None for row in rows] if None in rows else np.ma.nomask)

    return make


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
        **{f"numpy masked {dtype}": (_masked(dtype, value), value) for dtype, value in numpy_values().items()},
    }


# ------------------------------------------------------------------------------------------------------------- pandas


def sparse(pd: Any, subtype: str, fill: Any) -> Make:
    """A sparse column of pandas; missing rows are not stored."""

    def make(rows: list[Any]) -> Any:
        index = pd.arrays.SparseArray(np.array([row is not None for row in rows]), fill_value=False).sp_index
        values = np.array([row for row in rows if row is not None], subtype)
        return pd.Series(pd.arrays.SparseArray(values, sparse_index=index, dtype=pd.SparseDtype(subtype, fill)))

    return make


def pandas_values(pd: Any) -> dict[str, Any]:
    """Types of pandas, each with a value."""
    dtypes = {
        **dict.fromkeys(("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "object"), 3),
        **dict.fromkeys(("Float32", "Float64", "float32", "float64"), 1.5), "boolean": True,
        **dict.fromkeys(("string", "string[python]", "str"), "a"), "timedelta64[ns]": SPAN,
        **dict.fromkeys(("datetime64[s]", "datetime64[ns]", "datetime64[ns, UTC]"), MOMENT),
        "period[M]": pd.Period("2024-01", "M"), "period[D]": pd.Period("2024-01-01", "D"),
        "period[Q-DEC]": pd.Period("2024Q1", "Q"), "interval[float64]": pd.Interval(1.0, 2.0),
    }  # fmt: skip
    arrow = {
        "string": "a", "int64": 3, "double": 1.5, "bool": True, "timestamp[ns]": MOMENT, "date32[day]": DAY,
        "duration[ns]": SPAN,
    }  # fmt: skip
    return dtypes | {f"{name}[pyarrow]": value for name, value in arrow.items() if installed("pyarrow")}


def categorical(pd: Any) -> dict[str, tuple[Any, Any]]:
    """Types of categories, each with a value."""
    moment = pd.Timestamp(MOMENT)
    values: dict[str, list[Any]] = {"texts": ["a", "b"], "integers": [3, 4], "floats": [1.5, 2.5], "times": [moment]}
    values |= {"truth values": [True, False]}
    return {name: (pd.CategoricalDtype(every, ordered=name == "floats"), every[0]) for name, every in values.items()}


def _pandas(pd: Any) -> Containers:
    integers, floats = dict.fromkeys(("int64", "int8", "uint64"), 3), dict.fromkeys(("float32", "float64"), 1.5)
    fills: dict[str, tuple[Any, ...]] = dict.fromkeys((*integers, "bool"), (np.nan, None, pd.NA))
    fills |= dict.fromkeys(floats, (np.nan, 0.0)) | {"object": (np.nan,)}
    fills |= {"M8[ns]": (np.datetime64("NaT", "ns"),), "m8[ns]": (np.timedelta64("NaT", "ns"),)}
    of_sparse = {**integers, "bool": True, **floats, "object": "a", "M8[ns]": MOMENT, "m8[ns]": SPAN}
    forms: dict[str, Callable[[Any], Any]] = {"": lambda x: x, " index": pd.Index, " array": lambda x: x.array}

    def column(form: Callable[[Any], Any], dtype: Any) -> Make:
        return lambda rows: form(pd.Series(rows, dtype=dtype))

    return {
        "pandas index of pairs": (lambda rows: pd.MultiIndex.from_arrays([rows, ["a"] * len(rows)]), 3),
        "pandas array of NumPy": (lambda rows: pd.arrays.NumpyExtensionArray(np.array(rows, object)), 3),
        **{
            f"pandas sparse {of} {fill}": (sparse(pd, of, fill), v) for of, v in of_sparse.items() for fill in fills[of]
        },
        **{
            f"pandas{name} {dtype}": (column(form, dtype), value)
            for name, form in forms.items()
            for dtype, value in pandas_values(pd).items()
        },
        **{
            f"pandas {form} of {name}": (column(forms[" index" if form == "index" else ""], dtype), value)
            for form in ("categories", "index")
            for name, (dtype, value) in categorical(pd).items()
        },
    }


# ---------------------------------------------------------------------------------------------------- Arrow and polars


def _union(pa: Any, mode: str, rows: list[Any]) -> Any:
    """A union of integers and texts; only a member can be missing."""
    types, members = pa.array([0] * len(rows), pa.int8()), [pa.array(rows, pa.int64()), pa.array(["a"] * len(rows))]
    if mode == "sparse":
        return pa.UnionArray.from_sparse(types, members)
    return pa.UnionArray.from_dense(types, pa.array(range(len(rows)), pa.int32()), members)


def arrow_values(pa: Any) -> list[tuple[Any, Any]]:
    """Types of Arrow, each with a value."""
    tenths, whole = Decimal("1.2"), pa.int64()
    plain: dict[Any, str] = {
        3: "int8 int16 int32 int64 uint8 uint16 uint32 uint64", 1.5: "float16 float32 float64", True: "bool_",
        "a": "string large_string string_view", b"a": "binary large_binary binary_view", DAY: "date32 date64",
        None: "null", (1, 1, 1): "month_day_nano_interval", "1": "json_", b"0" * 16: "uuid",
    }  # fmt: skip
    others = {
        tenths: [pa.decimal32(5, 2), pa.decimal64(5, 2), pa.decimal128(5, 2), pa.decimal256(40, 2)],
        3: [*(_union(pa, mode, [3]).type for mode in ("sparse", "dense")), pa.run_end_encoded(pa.int32(), whole)],
        MOMENT: [pa.timestamp("s"), pa.timestamp("us", "UTC")], SPAN: [pa.duration("ms")], b"a": [pa.binary(1)],
        CLOCK: [pa.time32("s"), pa.time64("us")], 1: [pa.bool8()],
    }  # fmt: skip
    lists = (pa.list_(whole), pa.large_list(whole), pa.list_view(whole), pa.large_list_view(whole), pa.list_(whole, 1))
    values = {"a": pa.string(), 3: whole, 1.5: pa.float64(), True: pa.bool_(), tenths: pa.decimal128(5, 2)}
    values |= {MOMENT: pa.timestamp("s"), SPAN: pa.duration("s")}
    return [
        *((getattr(pa, name)(), value) for value, names in plain.items() for name in names.split()),
        *((dtype, value) for value, dtypes in others.items() for dtype in dtypes),
        *((dtype, [3]) for dtype in (*lists, pa.fixed_shape_tensor(whole, [1]))),
        *((pa.dictionary(pa.int32(), dtype), value) for value, dtype in values.items()),
        (pa.decimal128(5, 0), Decimal(3)),
        (pa.map_(pa.string(), whole), [("a", 3)]),
        (pa.struct([("a", whole)]), {"a": 3}),
    ]


def arrow_column(dtype: Any) -> Make:
    """A column of a type of Arrow."""
    pa, pc = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")

    def make(rows: list[Any]) -> Any:
        if pa.types.is_union(dtype):
            return _union(pa, dtype.mode, rows)
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
    def chunked(make: Make) -> Make:
        return lambda rows: pa.chunked_array([make(rows[:7]), make(rows[7:])])

    forms: dict[str, Callable[[Make], Make]] = {"arrow {}": lambda make: make, "arrow {} in chunks": chunked}
    forms |= {"pandas of arrow {}": in_pandas} if installed("pandas") else {}
    every = arrow_values(pa)
    return {name.format(d): (form(arrow_column(d)), v) for name, form in forms.items() for d, v in every}


def polars_values(pl: Any) -> list[tuple[Any, Any]]:
    """Types of polars, each with a value."""
    plain: dict[Any, str] = {
        3: "Int8 Int16 Int32 Int64 Int128 UInt8 UInt16 UInt32 UInt64 UInt128 Object", 1.5: "Float16 Float32 Float64",
        True: "Boolean", "a": "String Categorical", DAY: "Date", CLOCK: "Time", None: "Null", b"a": "Binary",
    }  # fmt: skip
    dtypes = [(getattr(pl, name), v) for v, names in plain.items() for name in names.split() if hasattr(pl, name)]
    dtypes += [
        (pl.Enum(["a"]), "a"), (pl.Decimal(5, 2), Decimal("1.5")), (pl.Decimal(5, 0), Decimal(3)),
        (pl.Datetime("ms"), MOMENT), (pl.Datetime("us", "UTC"), MOMENT.replace(tzinfo=dt.UTC)),
        (pl.Duration("us"), SPAN), (pl.List(pl.Int64), [3]), (pl.Array(pl.Int64, 1), [3]),
        (pl.Struct({"a": pl.Int64}), {"a": 3}),
    ]  # fmt: skip
    if hasattr(pl, "Extension"):
        dtypes += [(pl.Map(pl.String, pl.Int64), {"a": 3}), (pl.Extension("ours", pl.List(pl.Date)), [DAY])]
    return dtypes


def _polars(pl: Any) -> Containers:
    def column(dtype: Any) -> Make:
        if not hasattr(pl, "Extension") or not isinstance(dtype, pl.Extension):
            return lambda rows: pl.Series("x", rows, dtype=dtype)
        return lambda rows: pl.Series("x", rows, dtype=dtype.ext_storage()).ext.to(dtype)

    return {f"polars {dtype}": (column(dtype), value) for dtype, value in polars_values(pl)}
