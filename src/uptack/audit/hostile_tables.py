"""The kinds of data of an audit: every container, hostile values, and neighbours that differ in one row that has one.

The row in question is the last one. Whether it is missing decides no kind and no type, in any container that NumPy,
pandas, polars and Arrow have. Those of packages that are not installed are left out.
"""

from __future__ import annotations

import array
import collections
import datetime as dt
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.audit.scenario import Pairs, PersonRows, with_last
from uptack.registry import Declaration

ROWS = 120
Make = Callable[[list[Any]], Any]
Containers = dict[str, tuple[Make, Any]]
DAY, MOMENT, SPAN, CLOCK = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), dt.timedelta(seconds=1), dt.time(1)


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


# ------------------------------------------------------------------------------------------------- hostile values

FINITE = {
    "a tie": 3.0,
    "minus zero": -0.0,
    "a subnormal": 5e-324,
    "the next float": float(np.nextafter(3.0, 4.0)),
    "2^53": 2.0**53,
    "2^63": 2.0**63,
    "1e308": 1.7e308,
    "-1e308": -1.7e308,
}
NOT_FINITE = {"NaN": np.nan, "inf": np.inf, "-inf": -np.inf}
INSTANT = datetime(2024, 2, 29, 12, tzinfo=UTC)


class Silent:
    """An object that neither prints, nor compares, nor hashes."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


EQUAL: dict[str, tuple[Any, Any]] = {
    "decimals": (Decimal("1.0"), Decimal("1.00")),
    "zones": (INSTANT, INSTANT.astimezone(timezone(timedelta(hours=5, minutes=30)))),
    "signed zeros": (0.0, -0.0),
    "a truth value and a number": (True, 1.0),
    "a fraction and an integer": (Fraction(2), 2),
    "sets": (frozenset((1, 9)), frozenset((9, 1, True))),
    "folds": (datetime(2024, 10, 27, 2, 30), datetime(2024, 10, 27, 2, 30, fold=1)),
}
"""Values that are equal, and can be told apart."""

MIXED: dict[str, tuple[Any, Any]] = {
    "none": (1, None),
    "NaN": (1, np.nan),
    "NaT": (1, np.datetime64("NaT")),
    "a text": (1, "1"),
    "bytes": ("a", b"a"),
    "a date": ("2024-02-29", date(2024, 2, 29)),
    "a text and a time": (str(INSTANT), INSTANT),
    "a wide integer": (1, 2**70),
    "a list": ("a", []),
    "a list in a tuple": ("a", ([],)),
    "a decimal NaN": (Decimal(1), Decimal("NaN")),
    "a signalling NaN": (Decimal(1), Decimal("sNaN")),
    "an object without a text": ("a", Silent()),
}
"""Values of which one is of another type than its column."""

RETYPED = ("pandas, an integer missing", "pandas, one missing")
"""Pairs of pandas columns of which one row decides the type."""


# ------------------------------------------------------------------------------------------------------------- columns


def base(n: int = ROWS) -> NDArray[np.float64]:
    """Ties, a gap, and values without ties."""
    parts = np.zeros(n // 4), np.full(n // 4, 3.0), np.linspace(3, 9, n - 2 * (n // 4) - 8), np.full(8, 1e6)
    return np.concatenate(parts)


def ends(x: Any, values: dict[str, Any]) -> Pairs:
    """A column, and the same with each of these values as its last row."""
    return {name: (x, with_last(x, v)) for name, v in values.items()}


def numbers() -> Pairs:
    """Floats whose last row is an ordinary or a hostile one, and narrow and wide types, each with its extremes."""
    x, flags = base(), base() > 3
    pairs = ends(x, FINITE)
    whole = with_last(x.astype(np.int64), 2**53)
    ticks = 1_699_920_000 * 10**9 + 86_400 * 10**9 * np.sort(np.r_[np.zeros(ROWS // 2, int), np.arange(ROWS // 2)])
    limits: dict[str, tuple[Any, Any]] = {}
    for kind in ("int8", "uint8", "int64", "uint64"):
        limits[kind] = np.iinfo(kind).max, np.iinfo(kind).min
    for kind in ("float16", "float32", "longdouble"):
        limits[kind] = np.finfo(kind).max, np.finfo(kind).smallest_subnormal
    for kind, (most, least) in limits.items():
        pairs |= ends(x.clip(0, 9).astype(kind), {f"{kind}, the largest": most, f"{kind}, the least": least})
        if kind == "uint64":
            pairs |= ends(whole, {"int64, beyond 2^53": 2**53 + 1}) | ends(ticks, {"int64, nanoseconds": ticks[0]})
    return pairs | ends(flags, {"bool": not flags[-1]})


def missing() -> Pairs:
    """What is no finite number, and columns of other types with one row that has no value."""
    x = base()
    pairs = ends(x, NOT_FINITE)
    strangers = {"None": None, "a text": "9", "a wide integer": 2**2000, "a decimal": Decimal("sNaN")}
    pairs |= ends(x.tolist(), {f"a list and {name}": value for name, value in strangers.items()})
    whole = x.astype(np.int64).tolist()
    types = "numpy masked f8, numpy masked i8, pandas Int64, pandas Float64, pandas float64, arrow int64, polars Int64"
    makers = {name: containers()[name][0] for name in types.split(", ") if name in containers()}
    return pairs | {name: (make(whole), make([*whole[:-1], None])) for name, make in makers.items()}


def gaps() -> Pairs:
    """Those, and columns that are no numbers, or that one row makes another type: no message must show it."""
    whole = base().astype(np.int64)
    rows = whole.tolist()
    pairs = missing() | ends(whole.astype(object), {"objects": None, "objects and a text": "a"})
    pairs |= ends(np.datetime64("2024-01-01") + whole % 100, {"dates": np.datetime64("NaT")})
    pairs["texts"] = whole.astype(str), with_last(whole.astype("U21"), "a text that is long")
    if pandas := installed("pandas"):
        pairs["pandas, an integer missing"] = pandas.Series(rows), pandas.Series([*rows[:-1], None])
        category = partial(pandas.Series, dtype="category")
        pairs["pandas categories"] = category(rows), category([*rows[:-1], 7])
    return pairs


def times() -> Pairs:
    """Columns of times and durations whose last row is missing, beyond the calendar, or the same moment elsewhere."""
    place = base().astype(np.int64) % 1000
    days, clock = np.datetime64("2024-01-01") + place, np.datetime64("2024-01-01T12", "us") + place
    late = np.datetime64("9999-12-31T23:59:59.999999")
    pairs = ends(days, {"dates, NaT": np.datetime64("NaT"), "dates, far off": np.datetime64(10**7, "D")})
    pairs |= ends(clock, {"times, the last": late})
    pairs |= ends(with_last(clock, late), {"times beyond 2^53 ticks": late - np.timedelta64(1, "us")})
    longest = np.timedelta64(2**63 - 1, "us")
    pairs |= ends(clock - clock[0], {"durations, NaT": np.timedelta64("NaT"), "durations, the longest": longest})
    if pandas := installed("pandas"):
        zoned = pandas.Series(clock).dt.tz_localize("UTC")
        pairs |= ends(zoned, {"a zone, NaT": pandas.NaT})
        pairs["another zone"] = zoned, zoned.dt.tz_convert("Asia/Kolkata")
        pairs |= ends(pandas.Series(pandas.PeriodIndex(days, freq="D")), {"periods, NaT": pandas.NaT})
    return pairs


def flags() -> Pairs:
    """Columns of truth values, and lists of them."""
    x = np.arange(ROWS) % 3 == 0
    pairs = ends(x, {"flags": not x[-1]})
    pairs |= ends(x.tolist(), {"a list and None": None, "a list and a text": "no", "a list and a number": 3.5})
    if pandas := installed("pandas"):
        boolean, rest = partial(pandas.Series, dtype="boolean"), x[:-1].tolist()
        pairs["pandas boolean"] = boolean([*rest, True]), boolean([*rest, None])
        pairs["pandas, one missing"] = pandas.Series(x.tolist()), pandas.Series([*rest, None])
    return pairs


def labels() -> Pairs:
    """Columns of categories whose first row has another spelling, or whose last row has another type."""
    lists: dict[str, tuple[list[Any], list[Any]]] = {}
    for name, (one, other) in EQUAL.items():
        rest = [one] * (ROWS - 1)
        lists |= {f"equal {name}": ([other, *rest], [one, *rest])}
        lists |= {f"equal {name}, the last": ([*rest, other], [*rest, one])}
    for name, (one, other) in MIXED.items():
        lists[f"with {name}"] = [one] * ROWS, [*[one] * (ROWS - 1), other]
    # arrays of objects, none of which NumPy looks into
    arrays = {name: tuple(np.fromiter(side, object, ROWS) for side in pair) for name, pair in lists.items()}
    return arrays | {f"{name}, a list": pair for name, pair in lists.items()}  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------ several columns, and values


def _each(pairs: Pairs, make: Callable[[Any], Any]) -> Pairs:
    """The same pairs with something made of each side."""
    return {name: (make(d), make(e)) for name, (d, e) in pairs.items()}


def tables(values: dict[str, Any]) -> Pairs:
    """(X, y) whose last row has a hostile response, or a hostile regressor. y is not a function of X alone."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(ROWS, 1))
    y = 2 * x[:, 0] + rng.normal(size=ROWS)
    pairs: Pairs = {}
    for name, value in values.items():
        pairs[f"y, {name}"] = (x, y), (x, with_last(y, value))
        pairs[f"x, {name}"] = (x, y), (with_last(x, value), y)
    return pairs


def formula_table(table: Any) -> dict[str, Any]:
    """With a column of texts that nobody listed; a hostile row has one of its own."""
    x, y = table[0][:, 0], table[1]
    kinds = ["b" if abs(a) < 9 and 0 != b < 99 else f"odd {a} {b}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return {"x": x, "y": y, "kind": ["a"] * (ROWS // 2) + kinds[ROWS // 2 :]}


def classes() -> Pairs:
    """A classification: labels of ±1, and a row that has another label, or lies elsewhere."""
    (x, _), _ = tables(FINITE)["y, a tie"]
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    return _each(ends(x, FINITE), lambda moved: (moved, y)) | {"another label": ((x, y), (x, with_last(y, -y[-1])))}


def groups(gaps: bool = False, labels_move: bool = True) -> Pairs:
    """Numbers with the label of each row: a row that has another value, another label, or none."""
    x, label = np.arange(float(ROWS)) % 7, np.arange(ROWS) % 2
    moved = ends(x, NOT_FINITE if gaps else FINITE)
    pairs: Pairs = {f"x, {name}": ((d, label), (e, label)) for name, (d, e) in moved.items()}
    if not labels_move:
        return pairs
    if gaps:
        others = {"None": None, "a text": "1", "a float": 1.0, "a truth value": True, "NaN": np.nan}
        other = ends(label.tolist(), others)
    else:
        other = ends(label, {str(v): v for v in (0, 7, -(2**63))})
        pairs["both"] = (x, label), (with_last(x, 1e308), with_last(label, 0))
    return pairs | {f"label, {name}": ((x, d), (x, e)) for name, (d, e) in other.items()}


def block_rows() -> Pairs:
    """Rows of any kind, for functions of blocks."""
    records = [{"v": float(i % 7)} for i in range(ROWS)]
    pairs = labels() | {f"numbers, {name}": pair for name, pair in ends(base(), FINITE).items()}
    return pairs | ends(records, {"records": {"v": None}, "records, a key": {}})


VECTOR, PLACES = np.array([0.5, 0.25]), np.arange(ROWS)
DATA: dict[str, Callable[[], Pairs]] = {
    "numbers": numbers,
    "any numbers": lambda: numbers() | missing(),
    "gaps": gaps,
    "times": times,
    "flags": flags,
    "labels": labels,
    "containers": container_pairs,
    "containers by group": lambda: _each(container_pairs(), lambda labels: (np.zeros(len(labels)), labels)),
    "by group": lambda: _each(labels(), lambda labels: (PLACES % 7.0, labels)),
    "sides by group": lambda: _each(labels(), lambda labels: (PLACES % 2, PLACES % 2, labels)),
    "flags by group": lambda: _each(labels(), lambda labels: (PLACES % 7 > 3, labels)),
    "table by group": lambda: _each(tables(FINITE), lambda table: (*table, np.full(ROWS, "a", object))),
    "columns": lambda: {name: ({"a": d, "b": d}, {"a": e, "b": d}) for name, (d, e) in labels().items()},
    "integers": lambda: ends(PLACES % 5, {str(v): v for v in (0, 7, -1, 2**62, -(2**63))}),
    "plane": lambda: _each(ends(base(), FINITE), lambda x: np.column_stack([x, base()])),
    "plane with gaps": lambda: _each(ends(base(), NOT_FINITE), lambda x: np.column_stack([x, base()])),
    "table": lambda: tables(FINITE),
    "table with gaps": lambda: tables(NOT_FINITE),
    "formula": lambda: _each(tables(FINITE), formula_table),
    "formula with gaps": lambda: _each(tables(NOT_FINITE), formula_table),
    "sides": lambda: _each(tables(FINITE), lambda table: (table[0][:, 0], table[1])),
    "sides with gaps": lambda: _each(tables(NOT_FINITE), lambda table: (table[0][:, 0], table[1])),
    "classes": classes,
    "groups": groups,
    "groups with gaps": partial(groups, gaps=True),
    "values of groups": partial(groups, labels_move=False),
    "proportion": lambda: ends(np.arange(400) % 2 == 0, {"another flag": True}),
    "function": lambda: ends(base(), {**FINITE, **NOT_FINITE}),
    "blocks": block_rows,
    "number": lambda: {
        **{f"{a} and {b}": (a, b) for a, b in ((0.0, 1.0), (-0.0, 0.0), (2**64, 2**64 + 1), (1e308, -1e308))},
        "a number and NaN": (0.0, np.nan),
        "wide integers": (np.array(2**63 - 1), np.array(-(2**63))),
    },
    "vector": lambda: ends(VECTOR, {**FINITE, "NaN": np.nan}),
    "square": lambda: _each(ends(VECTOR, {**FINITE, "NaN": np.nan}), np.diag),
    "scores": lambda: {
        "a tie": ([3, 3, 0], [4, 2, 0]),
        "huge": ([1e308, 0, 0], [-1e308, 0, 0]),
        "NaN": ([1, 0, 0], [np.nan, 0, 0]),
    },
    "distance": lambda: {
        "far": (("a", 9), ("a", 8)),
        "near": (("a", 0), ("b", 0)),
        "wide": (("a", 2**70), ("a", 2**70 - 1)),
    },
}
VALUES = ("number", "vector", "square", "scores", "distance")
"""What is a number of the data already: neighbours are the same whatever the adjacency, and move by any amount."""


# ------------------------------------------------------------------------------------------------------ next to nobody


GONE = "gone"
"""A missing value, where the function takes them."""
SMALL: dict[tuple[bool, bool], dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]]] = {
    (False, False): {
        "one row, another": ((0.5,), (2.0,)),
        "one row, missing": ((0.5,), (GONE,)),
        "all missing but one": ((GONE, GONE, GONE), (GONE, GONE, 0.5)),
    },
    (True, False): {
        "one row or none": ((0.5,), ()),
        "two rows or one": ((0.5, 1.0), (0.5,)),
        "missing or not there": ((GONE,), ()),
    },
    (False, True): {
        "one person, other rows": ((0.5, 0.5, 0.5), (2.0,)),
        "one person, missing": ((0.5, 0.5, 0.5), (GONE, GONE)),
    },
    (True, True): {
        "one person or nobody": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),  # rows without an id are nobody's
        "one person or no rows": ((0.5, 0.5, 0.5), ()),
    },
}
"""Rows of two neighbours, by whether the number of rows is secret, and whether all of them are one person's."""


def small_pairs(declaration: Declaration, secret: bool, people: bool) -> Pairs:
    """Neighbours of next to nobody, as the data of a declared function."""
    shape, least = declaration.reads.shape, declaration.reads.least
    gone = np.nan if "missing" in declaration.allowed else 7.0

    def table(values: Sequence[Any], owner: float) -> Any:
        """Rows as the data arguments of the function."""
        x = np.array([gone if v == GONE else v for v in values], np.float64)
        wide = np.tile(x[:, None], (1, max(least, 2)))
        pair = (x, np.ones(x.size)) if shape == "labelled" else (x, x) if shape == "sides" and least == 2 else x
        rows = {"flags": x > 1, "columns": wide, "design": (wide, x)}.get(shape, pair)
        return PersonRows(rows, np.full(x.size, owner)) if people else rows

    pairs = SMALL[secret, people].items()
    return {name: (table(d, 0.0), table(e, np.nan if name.endswith("nobody") else 0.0)) for name, (d, e) in pairs}
