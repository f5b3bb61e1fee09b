"""Containers of all libraries: the declared type decides, masks are kept, and errors name the kind and the way out."""

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import uptack as ut
from tests.answers import categories, part_size
from uptack.table.memory.table import as_column
from uptack.table.opening import open_table
from uptack.table.reads import MEASURED
from uptack.table.values.entrance import column_field, field, matrix, numbers

NAN = float("nan")
BIG = 2**60


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


WHOLE = {
    "int8": np.array([3, 1, 2], np.int8),
    "uint64": np.array([3, 1, 2], np.uint64),
    "masked": np.ma.MaskedArray([3, 1, 2], [False, False, False]),
    "pandas": pd.Series([3, 1, 2]),
    "Int64": pd.Series([3, 1, 2], dtype="Int64"),
    "UInt8": pd.Series([3, 1, 2], dtype="UInt8"),
    "arrow in pandas": pd.Series([3, 1, 2], dtype="int32[pyarrow]"),
    "index": pd.Index([3, 1, 2]),
    "pandas array": pd.array([3, 1, 2]),
    "sparse": pd.Series(pd.arrays.SparseArray([3, 1, 2])),
    "polars": pl.Series([3, 1, 2]),
    "Int128": pl.Series([3, 1, 2], dtype=pl.Int128),
    "arrow": pa.array([3, 1, 2]),
    "chunks": pa.chunked_array([[3], [1, 2]]),
    "dictionary": pa.array([3, 1, 2]).dictionary_encode(),
    "range": range(3, 0, -1),
}
REAL = {
    "float16": np.array([1.5, 2], np.float16),
    "longdouble": np.array([1.5, 2], np.longdouble),
    "Float64": pd.Series([1.5, 2], dtype="Float64"),
    "arrow in pandas": pd.Series([1.5, 2], dtype="double[pyarrow]"),
    "decimals of pandas": pd.Series([Decimal("1.5"), Decimal(2)], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
    "polars": pl.Series([1.5, 2], dtype=pl.Float32),
    "decimals of polars": pl.Series([Decimal("1.5"), Decimal(2)], dtype=pl.Decimal(10, 2)),
    "half": pa.array(np.array([1.5, 2], np.float16)),
    "decimals of arrow": pa.array([Decimal("1.5"), Decimal(2)], pa.decimal128(10, 2)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers(name):
    found = column_field("x", WHOLE[name])
    assert found.kind == "integer"
    assert sorted(found.floats()) == [1, 2, 3]
    assert as_column("x", WHOLE[name], MEASURED).integers
    assert [type(label) for label in found.codes()[0]] == [int] * 3
    values, _ = found.numbers()
    assert values.dtype in (np.int64, np.uint64)


@pytest.mark.parametrize("name", REAL)
def test_real_numbers(name):
    found = column_field("x", REAL[name])
    assert found.kind == "number"
    assert found.floats().tolist() == [1.5, 2]
    assert found.floats().dtype == np.float64
    assert repr(found.codes()[0]) == "[1.5, 2.0]"


HOLES = {
    "masked": np.ma.MaskedArray([BIG + 1, 999, BIG + 3], [False, True, False]),
    "Int64": pd.Series([BIG + 1, None, BIG + 3], dtype="Int64"),
    "arrow in pandas": pd.Series([BIG + 1, None, BIG + 3], dtype="int64[pyarrow]"),
    "polars": pl.Series([BIG + 1, None, BIG + 3]),
    "Int128": pl.Series([BIG + 1, None, BIG + 3], dtype=pl.Int128),
    "arrow": pa.array([BIG + 1, None, BIG + 3]),
}


def held(data):
    """The values of a column as they are held, before they are rounded to floats."""
    (values,) = data.rows.values
    return values


@pytest.mark.parametrize("name", HOLES)
def test_one_missing_row_makes_no_floats_of_the_others(name):
    data = as_column("x", HOLES[name], MEASURED)
    assert data.integers
    assert not data.finite()
    assert held(data.drop()).tolist() == [BIG + 1, BIG + 3]
    assert held(data.filled(7.0)).tolist() == [BIG + 1, 7, BIG + 3]
    assert held(data.filled(float(np.finfo(float).max)))[1] == 2**63 - 1
    assert np.isnan(held(data.floats())[1])
    assert field("x", HOLES[name]).codes()[0] == [BIG + 1, BIG + 3, None]
    by_group = ut.median(HOLES[name], by=["a"] * 3, groups=["a"], epsilon=1, missing="drop")
    assert list(by_group.value) == ["a"]


def test_masks_are_kept():
    rows = np.arange(2000.0)
    hidden = np.ma.MaskedArray(np.append(rows, [1e9] * 1999), np.arange(3999) >= 2000)
    made = ut.median(hidden, epsilon=1, missing="drop", entropy=ut.SeededEntropy(1))
    assert made.value < 2000
    table = np.ma.MaskedArray(np.zeros((100, 2)) + 1e9, np.zeros((100, 2), bool))
    table[50:], table.mask[:50] = [1.0, 2.0], True
    assert np.isnan(matrix("x", table)[:50]).all()
    assert matrix("x", table)[50:].tolist() == [[1.0, 2.0]] * 50
    with pytest.raises(ut.InvalidArgument, match="free of NaN"):
        ut.kde(table, epsilon=1, delta=1e-6, bandwidth=1)
    assert ut.count(np.ma.MaskedArray([True] * 9, [True] * 4 + [False] * 5), epsilon=50).value == 5
    grouped = ut.per_group(ut.median, hidden, ["a"] * 3999, groups=["a"], epsilon=1, missing="drop")
    assert grouped.value["a"].value < 2000


@pytest.mark.parametrize(
    "make",
    [
        lambda x, y: pd.DataFrame({"x": pd.array(x, dtype="Float64"), "y": pd.array(y, dtype="Int64")}),
        lambda x, y: pd.DataFrame({"x": x, "y": y}).convert_dtypes(dtype_backend="pyarrow"),
        lambda x, y: pd.DataFrame({"x": x, "y": y}, dtype=object),
        lambda x, y: pl.DataFrame({"x": x, "y": y}),
        lambda x, y: pa.table({"x": x, "y": y}),
        lambda x, y: np.column_stack([x, y]).astype(np.longdouble),
    ],
    ids=["nullable", "pyarrow", "objects", "polars", "arrow", "longdouble"],
)
def test_frames_of_all_types(make):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=6000), rng.integers(0, 9, 6000)
    plain, table = np.column_stack([x, y]), make(x, y)
    np.testing.assert_array_equal(matrix("x", table), plain)
    for call in (
        lambda t: (
            ut.shortcut_regression(t, x, epsilon=4, blocks=300, progress=False, entropy=ut.SeededEntropy(1)).value
        ),
        lambda t: ut.kde(t, epsilon=1, delta=1e-6, bandwidth=1, entropy=ut.SeededEntropy(1)).value.at([[0.0, 4.0]]),
        lambda t: ut.fourier_density(t, 1, low=[-4, 0], high=[4, 9], entropy=ut.SeededEntropy(1)).value.at(
            [[0.0, 4.0]]
        ),
    ):
        np.testing.assert_array_equal(call(table), call(plain))


TIMES = pd.date_range("2024-01-01", periods=5)
REFUSED = {
    "numpy times": (TIMES.to_numpy(), "times", "public date"),
    "pandas times": (pd.Series(TIMES), "times", "public date"),
    "zoned times": (pd.Series(TIMES.tz_localize("Europe/Paris")), "times", "public date"),
    "polars times": (pl.Series([dt.datetime(2024, 1, 1)]), "times", "public date"),
    "polars dates": (pl.Series([dt.date(2024, 1, 1)]), "times", "public date"),
    "arrow times": (pa.array([dt.datetime(2024, 1, 1)]), "times", "public date"),
    "numpy durations": (np.array([1, 2], "m8[s]"), "durations", "Divide"),
    "polars durations": (pl.Series([dt.timedelta(1)]), "durations", "Divide"),
    "categories": (pd.Series(pd.Categorical([1, 2])), "texts or categories", "histogram"),
    "polars categories": (pl.Series(["a"], dtype=pl.Categorical), "texts or categories", "histogram"),
    "texts": (np.array(["alice"]), "texts or categories", "histogram"),
    "pandas texts": (pd.Series(["alice"], dtype="string"), "texts or categories", "histogram"),
    "lists": (pl.Series([[1, 2]]), "values of another type", "numeric column"),
    "bytes": (pa.array([b"alice"]), "values of another type", "numeric column"),
    "complex": (np.array([1j]), "values of another type", "numeric column"),
    "periods": (pd.Series(pd.period_range("2024-01", periods=2, freq="M")), "times", "public date"),
    "periods of a quarter": (
        pd.Series(pd.period_range("2024-01", periods=2, freq="Q")),
        "values of another",
        "numeric",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_columns_that_are_no_numbers_are_refused_by_their_kind(name):
    x, kind, fix = REFUSED[name]
    calls = {
        "x": (
            lambda: ut.variance(x, epsilon=1),
            lambda: ut.kde(x, epsilon=1, delta=1e-6),
            lambda: ut.fourier_density(x, 1),
        ),
        "X": (lambda: ut.shortcut_regression(x, [1.0] * len(x), epsilon=1),),
        "y": (lambda: ut.shortcut_regression([1.0] * len(x), x, epsilon=1),),
    }
    for argument, asked in calls.items():
        for call in asked:
            with pytest.raises(
                ut.InvalidArgument, match=f"^{argument} must be .* got a column of {kind}.*{fix}"
            ) as caught:
                call()
            assert "alice" not in str(caught.value)


def test_a_column_of_a_frame_that_is_no_number_is_named():
    with pytest.raises(ut.InvalidArgument, match=r"^X\['when'\] must be .* times"):
        ut.shortcut_regression(pd.DataFrame({"x": [1.0] * 5, "when": TIMES}), [1.0] * 5, epsilon=1)


def test_integers_of_128_bits():
    rows = pl.DataFrame({"n": pl.Series([2**100, None, -(2**100), 5] * 500, dtype=pl.Int128)})
    session = ut.open(rows, entropy=ut.SeededEntropy(1))
    assert session["n"].median(epsilon=4).value == 5
    assert categories(open_table(rows), "n") == {-(2**100): 500, 5: 500, 2**100: 500, None: 500}
    assert part_size(open_table(rows), "n", 2**100) == 500


def test_times_are_counted_in_one_zone_and_by_kind():
    paris = pd.Series(TIMES.tz_localize("Europe/Paris"))
    shown = field("x", paris).codes()[0]
    assert {when.tzinfo for when in shown} == {dt.UTC}
    assert shown == field("x", paris.dt.tz_convert("Asia/Tokyo")).codes()[0]
    assert shown == field("x", pl.from_pandas(paris)).codes()[0] == field("x", pa.Array.from_pandas(paris)).codes()[0]
    assert shown == field("x", paris.astype(object)).codes()[0]
    assert {when.tzinfo for when in field("x", pd.Series(TIMES)).codes()[0]} == {None}
    far = np.array([2**62, 0], "M8[s]")  # years beyond Python's: NumPy's own cast wraps around to 1970
    assert len(field("x", far).codes()[0]) == 2
    assert dict(open_table({"t": TIMES.to_numpy(), "d": np.array([1] * 5, "m8[s]")}).kinds) == {
        "t": "time",
        "d": "duration",
    }


def test_texts_that_are_no_utf8_are_missing():
    offsets = pa.array([0, 1, 2, 3], pa.int32()).buffers()[1]
    broken = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"a\xffb")])
    assert field("x", broken).codes()[0] == ["a", "b", None]
    assert field("x", pa.chunked_array([broken])).codes()[1].tolist() == [0, 2, 1]


def test_categories_of_other_rows_are_not_seen():
    """Which type the categories have, and which there are, depends on the rows of the whole table."""
    one = pd.Series(pd.Categorical([1, 2, 2], categories=[1, 2]))
    two = pd.Series(pd.Categorical([1, 2, "alice"], categories=[1, 2, "alice"]))
    assert field("x", one).kind == field("x", two).kind == "text"
    assert field("x", one).codes()[0] == [1, 2]
    assert field("x", two[:2]).codes()[0] == [1, 2]


# -------------------------------------------------------------------------------------------- values that get noise


def test_values_that_get_noise_are_read_one_by_one():
    assert numbers("value", [2**63, 1]).tolist() == [2**53, 1]
    assert numbers("value", [2**63, -1, 0.5]).tolist() == [2**53, -1, 0.5]
    assert numbers("value", [1.0, None, "x", NAN, np.inf]).tolist() == [1, 0, 0, 0, np.finfo(float).max]
    assert numbers("value", 2**64) == 2**53
    assert numbers("value", np.longdouble(2)) == 2
    assert numbers("value", np.array([2**64 - 1], np.uint64)) == 2**53
    for value in (2**64, [2**64, 1.5], np.array([2**64], object)):
        assert np.isfinite(ut.mechanisms.laplace(value, sensitivity=1, epsilon=1).value).all()


@pytest.mark.parametrize("value", ["1234567", None, 1j, b"1234567", [], {1234567: 1}, np.array(["1234567"])])
def test_an_error_shows_no_value(value):
    with pytest.raises(ut.InvalidArgument) as caught:
        ut.mechanisms.laplace(value, sensitivity=1, epsilon=1)
    assert "1234567" not in str(caught.value)
    with pytest.raises(ut.InvalidArgument) as caught:
        ut.median(1234567 if isinstance(value, list) else value, epsilon=1)
    assert "1234567" not in str(caught.value)
