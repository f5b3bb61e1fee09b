"""Every container that NumPy, pandas, polars and Arrow have: one row decides no kind, no type and no error.

`CONTAINERS` is the list of all that were tried. Each makes a column of rows, of which None is a missing one. `UNHELD`
are containers of rows that Python can't hold. That no type of the four libraries is left out is a test of its own.
"""

import array
import collections
import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import uptack as ut
from tests.attacks.small_tables import observed
from uptack.table.values.entrance import field
from uptack.table.values.kinds import NUMERIC

ROWS = 600
DAY, MOMENT, SPAN = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), dt.timedelta(seconds=1)
FLOAT_GAPS = (np.nan, None, pd.NA)


class Convertible:
    """An object that has no declared type, and that NumPy can convert."""

    def __init__(self, rows):
        self.rows = rows

    def __array__(self, dtype=None, copy=None):
        return np.array([np.nan if row is None else row for row in self.rows])


def sparse(subtype, fill):
    """A sparse column; missing rows are not stored."""

    def make(rows):
        stored = [place for place, row in enumerate(rows) if row is not None]
        index = pd.arrays.SparseArray(np.array([row is not None for row in rows]), fill_value=False).sp_index
        values = np.array([rows[place] for place in stored], subtype)
        return pd.Series(pd.arrays.SparseArray(values, sparse_index=index, dtype=pd.SparseDtype(subtype, fill)))

    return make


def series(dtype):
    return lambda rows: pd.Series(rows, dtype=dtype)


def index(dtype):
    return lambda rows: pd.Index(pd.Series(rows, dtype=dtype))


def masked(dtype):
    """A masked array; one without a missing row has no mask."""

    def make(rows):
        some = next(row for row in rows if row is not None)
        held = np.array([some if row is None else row for row in rows], dtype)
        return np.ma.MaskedArray(held, [row is None for row in rows]) if None in rows else np.ma.MaskedArray(held)

    return make


def union(mode):
    """A union of integers and texts; only a member can be missing."""

    def make(rows):
        types, members = pa.array([0] * len(rows), pa.int8()), [pa.array(rows, pa.int64()), pa.array(["a"] * len(rows))]
        if mode == "sparse":
            return pa.UnionArray.from_sparse(types, members)
        return pa.UnionArray.from_dense(types, pa.array(range(len(rows)), pa.int32()), members)

    return make


def arrow(dtype):
    def make(rows):
        if pa.types.is_union(dtype):
            return union(dtype.mode)(rows)
        if isinstance(dtype, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(dtype, pa.array(rows, dtype.storage_type))
        if pa.types.is_run_end_encoded(dtype):
            return pc.run_end_encode(pa.array(rows, dtype.value_type))
        if pa.types.is_dictionary(dtype):
            return pc.dictionary_encode(pa.array(rows, dtype.value_type))
        return pa.array(rows, dtype)

    return make


def chunked(make):
    return lambda rows: pa.chunked_array([make(rows[:7]), make(rows[7:])])


def in_pandas(make):
    return lambda rows: pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([make(rows)])))


def numpy_in_pandas(rows):
    return pd.arrays.NumpyExtensionArray(np.array(rows, object))


def polars(dtype):
    def make(rows):
        if not hasattr(pl, "Extension") or not isinstance(dtype, pl.Extension):
            return pl.Series("x", rows, dtype=dtype)
        return pl.Series("x", rows, dtype=dtype.ext_storage()).ext.to(dtype)

    return make


SPARSE = {
    f"{subtype} {fill}": (sparse(subtype, fill), value)
    for subtype, value, fills in (
        ("int64", 3, FLOAT_GAPS),
        ("int8", 3, FLOAT_GAPS),
        ("uint64", 3, FLOAT_GAPS),
        ("bool", True, FLOAT_GAPS),
        ("float32", 1.5, (np.nan, 0.0)),
        ("float64", 1.5, (np.nan, 0.0)),
        ("object", "a", (np.nan,)),
        ("M8[ns]", MOMENT, (np.datetime64("NaT", "ns"),)),
        ("m8[ns]", SPAN, (np.timedelta64("NaT", "ns"),)),
    )
    for fill in fills
}
PANDAS = {
    "Int8": 3, "Int16": 3, "Int32": 3, "Int64": 3, "UInt8": 3, "UInt16": 3, "UInt32": 3, "UInt64": 3,
    "Float32": 1.5, "Float64": 1.5, "boolean": True, "string": "a", "string[python]": "a", "string[pyarrow]": "a",
    "str": "a", "object": 3, "float32": 1.5, "float64": 1.5, "int64[pyarrow]": 3, "double[pyarrow]": 1.5,
    "bool[pyarrow]": True, "timestamp[ns][pyarrow]": MOMENT,
    "date32[day][pyarrow]": DAY, "duration[ns][pyarrow]": SPAN,
    "datetime64[s]": MOMENT, "datetime64[ns]": MOMENT, "datetime64[ns, UTC]": MOMENT, "timedelta64[ns]": SPAN,
    "period[M]": pd.Period("2024-01", "M"), "period[D]": pd.Period("2024-01-01", "D"),
    "period[Q-DEC]": pd.Period("2024Q1", "Q"), "interval[float64]": pd.Interval(1.0, 2.0),
}  # fmt: skip
CATEGORICAL = {
    "texts": (pd.CategoricalDtype(["a", "b"]), "a"),
    "integers": (pd.CategoricalDtype([3, 4]), 3),
    "floats": (pd.CategoricalDtype([1.5, 2.5], ordered=True), 1.5),
    "times": (pd.CategoricalDtype([pd.Timestamp(MOMENT)]), pd.Timestamp(MOMENT)),
    "truth values": (pd.CategoricalDtype([True, False]), True),
}
ARROW = [
    *((dtype, 3) for dtype in (
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
    )),
    (pa.float16(), 1.5), (pa.float32(), 1.5), (pa.float64(), 1.5),
    (pa.bool_(), True), (pa.string(), "a"), (pa.large_string(), "a"), (pa.string_view(), "a"),
    (pa.decimal32(5, 2), Decimal("1.5")), (pa.decimal64(5, 2), Decimal("1.5")),
    (pa.decimal128(5, 2), Decimal("1.5")), (pa.decimal128(5, 0), Decimal(3)), (pa.decimal256(40, 2), Decimal("1.5")),
    (pa.date32(), DAY), (pa.date64(), DAY), (pa.timestamp("s"), MOMENT), (pa.timestamp("us", "UTC"), MOMENT),
    (pa.duration("ms"), SPAN), (pa.time32("s"), dt.time(1)), (pa.binary(), b"a"), (pa.null(), None),
    (pa.time64("us"), dt.time(1)), (pa.large_binary(), b"a"), (pa.binary_view(), b"a"), (pa.binary(1), b"a"),
    *((dtype, [3]) for dtype in (
        pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_view(pa.int64()), pa.large_list_view(pa.int64()),
        pa.list_(pa.int64(), 1), pa.fixed_shape_tensor(pa.int64(), [1]),
    )),
    (pa.map_(pa.string(), pa.int64()), [("a", 3)]), (union("sparse")([3]).type, 3), (union("dense")([3]).type, 3),
    (pa.struct([("a", pa.int64())]), {"a": 3}), (pa.uuid(), b"0" * 16),
    (pa.bool8(), 1), (pa.json_(), "1"), (pa.month_day_nano_interval(), (1, 1, 1)),
    (pa.run_end_encoded(pa.int32(), pa.int64()), 3),
    *((pa.dictionary(pa.int32(), of), value) for of, value in (
        (pa.string(), "a"), (pa.int64(), 3), (pa.float64(), 1.5), (pa.bool_(), True),
        (pa.decimal128(5, 2), Decimal("1.5")), (pa.timestamp("s"), MOMENT), (pa.duration("s"), SPAN),
    )),
]  # fmt: skip
POLARS = [
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
    POLARS += [(pl.UInt128, 3), (pl.Float16, 1.5)]
if hasattr(pl, "Extension"):
    POLARS += [(pl.Map(pl.String, pl.Int64), {"a": 3}), (pl.Extension("ours", pl.List(pl.Date)), [DAY])]
NUMPY = {"i1": 3, "i8": 3, "u8": 3, "f2": 1.5, "f4": 1.5, "f8": 1.5, "g": 1.5, "?": True, "U3": "a", "S3": b"a"}
NUMPY |= {"M8[D]": DAY, "M8[us]": MOMENT, "m8[s]": SPAN, "O": 3, "c8": 1j, "c16": 1j, "G": 1j, "V1": b"a"}
NUMPY |= dict.fromkeys("bhilqnpBHILQNP", 3) | {">i4": 3, ">u8": 3, ">f8": 1.5, "i4, f8": (3, 1.5)}
PLAIN = {
    "list": (list, 3),
    "tuple": (tuple, 3),
    "deque": (collections.deque, 3),
    "object array": (lambda rows: np.array(rows, object), 3),
    "float array": (lambda rows: np.array([np.nan if row is None else row for row in rows]), 1.5),
    "array.array": (lambda rows: array.array("d", [np.nan if row is None else row for row in rows]), 1.5),
    "numpy texts, None": (lambda rows: np.array(rows, np.dtypes.StringDType(na_object=None)), "a"),
    "numpy texts, nan": (
        lambda rows: np.array(
            [np.nan if row is None else row for row in rows], np.dtypes.StringDType(na_object=np.nan)
        ),
        "a",
    ),
    "record array": (
        lambda rows: np.rec.array([(np.nan if row is None else row,) for row in rows], [("a", "f8")]),
        1.5,
    ),
    "pandas index of pairs": (lambda rows: pd.MultiIndex.from_arrays([rows, ["a"] * len(rows)]), 3),
    "pandas array of NumPy": (numpy_in_pandas, 3),
    "array protocol, integers": (Convertible, 3),
    "array protocol, truth values": (Convertible, True),
}

CONTAINERS = {
    **PLAIN,
    **{f"numpy masked {dtype}": (masked(dtype), value) for dtype, value in NUMPY.items()},
    **{f"pandas sparse {name}": pair for name, pair in SPARSE.items()},
    **{f"pandas {dtype}": (series(dtype), value) for dtype, value in PANDAS.items()},
    **{f"pandas index {dtype}": (index(dtype), value) for dtype, value in PANDAS.items()},
    **{
        f"pandas array {dtype}": (lambda rows, d=dtype: series(d)(rows).array, value) for dtype, value in PANDAS.items()
    },
    **{f"pandas categories of {name}": (series(dtype), value) for name, (dtype, value) in CATEGORICAL.items()},
    **{f"pandas index of {name}": (index(dtype), value) for name, (dtype, value) in CATEGORICAL.items()},
    **{f"arrow {dtype}": (arrow(dtype), value) for dtype, value in ARROW},
    **{f"arrow {dtype} in chunks": (chunked(arrow(dtype)), value) for dtype, value in ARROW},
    **{f"pandas of arrow {dtype}": (in_pandas(arrow(dtype)), value) for dtype, value in ARROW},
    **{f"polars {dtype}": (polars(dtype), value) for dtype, value in POLARS},
}


def shown(column):
    """What a session says of a column before and with its answers, but for their noise."""
    session = ut.open({"x": column, "n": np.arange(ROWS)}, entropy=ut.SeededEntropy(1))
    made = [session.describe(), session.source.kinds["x"]]
    for ask in (
        lambda: session["x"].median(epsilon=4),
        lambda: session["x"].histogram(epsilon=4, delta=1e-6),
        lambda: session["n"].median(by="x", delta=1e-6, epsilon=4),
    ):
        try:
            released = ask()
        except ut.UptackError as error:
            made.append((type(error), str(error)))
        else:
            value = released.value if released else None
            cells = getattr(value, "cells", getattr(value, "replies", ()))
            made.append((type(value), released.mechanism, {type(cell) for cell in cells if cell is not None}))
    return made


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.filterwarnings("ignore")
def test_a_missing_row_decides_no_kind_and_no_type(name):
    make, value = CONTAINERS[name]
    whole, gap, last = [value] * ROWS, [*[value] * 4, None, *[value] * (ROWS - 5)], [*[value] * (ROWS - 1), None]
    fields = [field("x", make(rows)) for rows in (whole, gap, last)]
    assert len({one.kind for one in fields}) == 1
    assert len({one.array().dtype for one in fields}) == 1
    assert len({type(one.array()) for one in fields}) == 1 or "masked" not in name
    if fields[0].kind in NUMERIC:
        assert len({one.numbers()[0].dtype for one in fields}) == 1
    assert shown(make(whole)) == shown(make(gap)) == shown(make(last))


@pytest.mark.parametrize("fill", [np.nan, pd.NA])
def test_sparse_integers_are_exact_whatever_is_missing(fill):
    large = 2**60 + 1
    made = field("x", sparse("int64", fill)([large, None, -large]))
    values, missing = made.numbers()
    assert (made.kind, values[[0, 2]].tolist(), missing.tolist()) == ("integer", [large, -large], [False, True, False])
    assert made.codes()[0] == [-large, large, None]
    stored = field("x", pd.Series(pd.arrays.SparseArray([0, large, 0, 5], dtype=pd.SparseDtype("int64", 0))))
    assert (stored.numbers()[0].tolist(), stored.missing) == ([0, large, 0, 5], None)


# ------------------------------------------------------------------------------------------ rows that Python can't hold

BAD, FAR = b"\xff\xfe", 2 * 10**9
"""Bytes that are no UTF-8, and days, or seconds, since 1970 that are beyond the years that Python has."""


def viewed(width, dtype):
    """Integers of this width as what Arrow takes them for."""
    return lambda values: pa.array(values, width).view(dtype)


def unchecked(values):
    """Bytes as texts, which Arrow does not look at."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


def lists(inner):
    return lambda values: pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), inner(values))


def structs(inner):
    return lambda values: pa.StructArray.from_arrays([inner(values)], ["a"])


DAYS, LENGTHS = viewed(pa.int32(), pa.date32()), viewed(pa.int64(), pa.duration("s"))
INSIDE = {
    "texts": (unchecked, b"a", BAD),
    "dates": (DAYS, 5, FAR),
    "moments": (viewed(pa.int64(), pa.timestamp("s")), 5, 2**60),
    "durations": (LENGTHS, 5, 2**60),
    "times of day": (viewed(pa.int64(), pa.time64("us")), 5, 24 * 3600 * 10**6),
}
UNHELD = {
    **{f"arrow {name}": made for name, made in INSIDE.items()},
    **{f"arrow lists of {name}": (lists(make), *values) for name, (make, *values) in INSIDE.items()},
    **{f"arrow structs of {name}": (structs(make), *values) for name, (make, *values) in INSIDE.items()},
    **{
        f"polars {name} of dates": (
            lambda values, outer=outer: pl.Series("x", pl.from_arrow(outer(DAYS)(values))),
            5,
            FAR,
        )
        for name, outer in (("lists", lists), ("structs", structs))
    },
    **{
        f"polars {name}": (lambda values, make=make: pl.Series("x", pl.from_arrow(make(values))), b"a", BAD)
        for name, make in (
            ("texts", unchecked),
            ("categories", lambda values: unchecked(values).dictionary_encode()),
            ("lists of texts", lists(unchecked)),
        )
    },
    "polars structs of durations": (lambda values: pl.Series("x", pl.from_arrow(structs(LENGTHS)(values))), 5, 2**53),
    "pandas structs of dates": (in_pandas(structs(DAYS)), 5, FAR),
    "arrow dictionaries of texts": (lambda values: unchecked(values).dictionary_encode(), b"a", BAD),
}


@pytest.mark.parametrize("name", UNHELD)
def test_a_row_that_python_cannot_hold_is_an_ordinary_one(name, capfd):
    make, held, beyond = UNHELD[name]
    columns = [make([held] * 299 + [last] + [held] * 300) for last in (held, beyond)]
    numbers = np.arange(600.0)
    asks = [
        lambda x: ut.histogram(x, epsilon=4, delta=1e-6),
        lambda x: ut.median(numbers, person=x, epsilon=4, adjacency=ut.ADD_REMOVE),
        lambda x: ut.per_group(ut.median, numbers, x, epsilon=4, delta=1e-6),
    ]
    for ask in asks:
        whole, odd = (observed(lambda x=x, ask=ask: ask(x)) for x in columns)
        assert whole == odd
        assert whole == "reply" or "every must be given" in whole or "a column of" in whole
    found = [field("x", x).codes() for x in columns]
    assert found[0][1].max() == 0
    assert len(found[1][0]) == 2
    assert np.flatnonzero(found[1][1] != found[1][1][0]).tolist() == [299]
    assert capfd.readouterr() == ("", "")


# --------------------------------------------------------------------------------------------- whether all are listed


def below(kind):
    return {one for direct in kind.__subclasses__() for one in {direct, *below(direct)}}


def test_every_type_of_the_four_libraries_is_listed():
    assert {np.dtype(code).kind for code in np.typecodes["All"]} <= {np.dtype(code).kind for code in NUMPY}
    assert {np.dtype(code).type for code in np.typecodes["All"]} <= {np.dtype(code).type for code in NUMPY}
    arrows = {getattr(pa.lib, name) for name in dir(pa.lib) if name.startswith("Type_")}
    without = {pa.lib.Type_INTERVAL_MONTHS, pa.lib.Type_INTERVAL_DAY_TIME}  # which pyarrow can't make
    extensions = {dtype.storage_type.id for dtype, _ in ARROW if isinstance(dtype, pa.BaseExtensionType)}
    assert arrows - without <= {dtype.id for dtype, _ in ARROW} | extensions
    named = {dtype if isinstance(dtype, type) else type(dtype) for dtype, _ in POLARS}
    leaves = {one for one in below(pl.DataType) if not one.__subclasses__() and one.__module__.startswith("polars.")}
    assert {one.__name__ for one in leaves - named} <= {"Unknown"}
    dtypes = [pd.Series([value], dtype=dtype).dtype for dtype, value in PANDAS.items()]
    dtypes += [made([3]).dtype for made in (sparse("int64", 0), in_pandas(arrow(pa.int64())), numpy_in_pandas)]
    dtypes += [dtype for dtype, _ in CATEGORICAL.values()]
    kinds = {one for one in below(pd.api.extensions.ExtensionDtype) if one.__module__.startswith("pandas")}
    assert {one for one in kinds if not one.__subclasses__()} <= {type(dtype) for dtype in dtypes}
