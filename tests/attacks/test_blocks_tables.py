"""A block is a function of its own rows and of declared types: no other row shows in it, whatever that row holds."""

import datetime as dt
import hashlib
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import uptack as ut
from uptack.blocks import stable_value
from uptack.blocks.block_evaluation import accepting, evaluate
from uptack.blocks.partition import random_blocks

N, BLOCKS = 40, 8
PARTS = random_blocks(N, BLOCKS, ut.SeededEntropy(3))
LAST = N - 1


def digest(rows):
    return hashlib.sha256(pickle.dumps(rows)).hexdigest()


def moved(first, second, f=digest):
    """How many blocks look different to f."""
    _, *told = (seen(f, data) for data in (first, first, second))  # the first fills caches of pandas' own
    assert None not in told[0]
    return sum(a != b for a, b in zip(*told, strict=True))


def seen(f, data):
    """What f says of every block."""
    return evaluate(f, data, PARTS, *accepting("outcome", None), trusted=True)


def series(values):
    """What pandas makes of a list."""
    try:
        return pd.Series(values, name="x")
    except (UnicodeEncodeError, OverflowError):  # pandas 3, pandas 2
        return pd.Series(values, name="x", dtype=object)


def neighbours(values, other):
    values = list(values)
    return values, [*values[:LAST], other]


INTEGERS = [int(i) for i in range(N)]
TEXTS = [f"t{i % 5}" for i in range(N)]
MOMENTS = [dt.datetime(2024, 1, 1) + dt.timedelta(hours=i) for i in range(N)]
ZONED = [moment.replace(tzinfo=dt.UTC) for moment in MOMENTS]
BERLIN = dt.timezone(dt.timedelta(hours=1))

# ---------------------------------------------------------------------------------------------------- what pandas reads


@pytest.mark.parametrize(
    ("values", "others"),
    [
        (INTEGERS, [None, 2.5, "text", -1, 2**63, 2**70, 10**400, True, Decimal("1.5"), np.inf]),
        ([i / 2 for i in range(N)], [None, 7, "text", 1e308, -0.0, 1j]),
        ([i % 2 == 0 for i in range(N)], [None, 1, "text", np.nan]),
        (TEXTS, [None, 3, "a far longer text than all others", "\ud800", b"bytes", float("nan")]),
        (MOMENTS, [None, "text", dt.datetime(9999, 1, 1), dt.date(2024, 1, 1), ZONED[3], pd.Timestamp(1)]),
        (ZONED, [None, "text", ZONED[3].astimezone(BERLIN), MOMENTS[3], pd.Timestamp(1, tz="UTC")]),
        ([dt.timedelta(hours=i) for i in range(N)], [None, "text", pd.Timedelta(1), 5]),
        ([dt.date(2024, 1, 1 + i % 28) for i in range(N)], [None, "text", MOMENTS[0]]),
        ([Decimal(i) / 4 for i in range(N)], [None, 2.5, "text", Decimal("1.50000")]),
        ([None] * N, [1, 2.5, "text", True, MOMENTS[0]]),
        ([[i] for i in range(N)], [None, 1, "text"]),
        ([pd.Period("2024-01", "M") + i for i in range(N)], [None, pd.Period("2024", "Y"), "text"]),
    ],
    ids=lambda value: type(value[0]).__name__,
)
def test_one_row_of_any_kind_changes_one_pandas_block(values, others):
    for other in others:
        first, second = neighbours(values, other)
        assert moved(series(first), series(second)) <= 1, repr(other)
        frames = [pd.DataFrame({"x": series(column), "y": INTEGERS}) for column in (first, second)]
        assert moved(*frames) <= 1, repr(other)


@pytest.mark.parametrize("other", ["t1", "a new one", None])
@pytest.mark.parametrize("ordered", [True, False])
def test_categories_of_other_rows_do_not_show(other, ordered):
    first, second = (pd.Series(pd.Categorical(v, ordered=ordered)) for v in neighbours(TEXTS, other))
    assert moved(first, second) <= 1
    assert moved(first.to_frame("x"), second.to_frame("x")) <= 1
    plain = neighbours(TEXTS, other)[0]
    assert moved(first, pd.Series(plain), lambda r: (str(r.dtype), tuple(r))) == 0


def test_a_category_of_one_row_is_not_published():
    column = ["flu"] * 2000 + ["cold"] * 2000 + ["one person's text"]
    frame = pd.DataFrame({"dx": pd.Categorical(column)})
    rarest = stable_value(
        lambda t: t["dx"].value_counts().idxmin(), frame, epsilon=1, delta=1e-6, blocks=60, trusted=True
    )
    assert not rarest or rarest.value in ("flu", "cold")


@pytest.mark.parametrize(
    "dtype",
    [
        *("Int64", "UInt8", "Float64", "boolean", "string", "string[pyarrow]", "int64[pyarrow]", "double[pyarrow]"),
        *("timestamp[ns][pyarrow]", "bool[pyarrow]", "float32[pyarrow]"),
    ],
)
def test_declared_types_stay_and_show_no_other_row(dtype):
    values = TEXTS if "string" in dtype else [i % 2 for i in INTEGERS]
    for other in (None, values[0]):
        first, second = (pd.Series(v, dtype=dtype) for v in neighbours(values, other))
        assert moved(first, second, lambda r: (str(r.dtype), tuple(map(str, r)))) <= 1
        assert set(seen(lambda r: str(r.dtype), first)) == {str(first.dtype)}


def test_an_arrow_dictionary_of_other_rows_does_not_show():
    pa = pytest.importorskip("pyarrow")
    dictionary = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    first, second = (pd.Series(v, dtype=dictionary) for v in neighbours(TEXTS, "a new one"))
    assert moved(first, second) <= 1


def test_labels_attributes_and_the_whole_table_stay_behind():
    frame = pd.DataFrame({"x": INTEGERS}, index=pd.Index(TEXTS, name="person"))
    frame.attrs["all"] = INTEGERS

    def about(rows):
        base = rows["x"].to_numpy()
        while base.base is not None:
            base = base.base
        return len(rows.attrs), rows.index.tolist() == list(range(len(rows))), base.size <= rows.size

    found = seen(about, frame)
    assert set(found) == {(0, True, True)}


def test_names_of_columns_are_kept():
    frame = pd.DataFrame(np.zeros((N, 3)), columns=["x", "x", ("a", 1)])
    frame.columns.name = "all"
    double = pd.DataFrame(np.zeros((N, 2)), columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["p", "q"]))
    for table in (frame, double, pd.DataFrame(index=range(N))):
        found = seen(lambda r: (tuple(r.columns), len(r)), table)
        assert found == [(tuple(table.columns), len(part)) for part in PARTS]


# --------------------------------------------------------------------------------------------------------------- NumPy


@pytest.mark.parametrize("kind", ["U", "S"])
def test_the_width_of_texts_is_that_of_the_block(kind):
    first, second = (np.array(v, kind) for v in neighbours(TEXTS, "a far longer text than all others"))
    assert moved(first, second) <= 1
    assert moved(first.reshape(N, 1), second.reshape(N, 1)) <= 1
    fields = [np.array([*zip(v, INTEGERS, strict=True)], [("text", f"{kind}40"), ("n", "i8", (2,))]) for v in
              neighbours(TEXTS, "a far longer text than all others")]  # fmt: skip
    narrow = fields[0].astype([("text", f"{kind}2"), ("n", "i8", (2,))])
    assert moved(fields[0], narrow) == 0
    assert moved(narrow, fields[1]) <= 1


def test_strings_of_variable_width():
    first, second = (np.array(v, np.dtypes.StringDType()) for v in neighbours(TEXTS, "x" * 500))
    assert moved(first, second, lambda rows: (str(rows.dtype), tuple(rows.tolist()))) <= 1


def test_one_masked_row_gives_no_mask_to_others():
    first, second = np.ma.array(np.arange(N)), np.ma.array(np.arange(N), mask=np.arange(N) == LAST)
    assert moved(first, second, lambda r: (str(r.mask), tuple(r.tolist()))) <= 1
    hidden = np.ma.array(np.arange(N) + (np.arange(N) == LAST), mask=np.arange(N) == LAST)
    assert moved(second, hidden) == 0  # nor does what is under a mask show


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_block_is_no_view(order):
    tables = [np.asarray(np.ones((N, 3)), order=order), np.ones((2 * N, 3))[::2], np.ones(N, "M8[s]").view(np.recarray)]
    for table in tables[:2]:
        found = seen(lambda r: (r.base is None, r.flags.c_contiguous), table)
        assert set(found) == {(True, True)}


# ------------------------------------------------------------------------------------------------------- rows and cells


def test_rows_that_are_views_show_no_other_rows():
    table = np.arange(2.0 * N).reshape(N, 2)
    wide = np.array([[text, "y"] for text in neighbours(TEXTS, "a far longer text")[1]])
    narrow = np.array([[text, "y"] for text in TEXTS])

    def alone(rows):
        return all(row.base is None or row.base.size <= 2 for row in rows)

    assert all(seen(alone, list(table)))
    assert moved(list(narrow), list(wide)) <= 1


# -------------------------------------------------------------------------------------------------------------- polars


@pytest.mark.parametrize("other", ["t1", "a new one", None])
def test_polars_categories_do_not_show(other):
    for kind in (pl.Categorical, pl.Enum([*sorted({*TEXTS, "a new one"})])):
        first, second = (pl.Series("x", v, dtype=kind) for v in neighbours(TEXTS, other))
        assert moved(first, second) <= 1
        assert moved(first, pl.Series("x", TEXTS)) == 0
        frames = [pl.DataFrame({"x": v, "y": INTEGERS}) for v in (first, second)]
        assert moved(*frames) <= 1
        nested = [
            pl.DataFrame({"x": v}).select(pl.struct("x").alias("s"), pl.concat_list("x")) for v in (first, second)
        ]
        assert moved(*nested) <= 1


def test_polars_flags_and_chunks_do_not_show():
    data = pl.Series("x", INTEGERS).sort()
    assert moved(data, pl.concat([pl.Series("x", [i]) for i in INTEGERS], rechunk=False)) == 0
    flags = seen(lambda r: any(r.flags.values()), data)
    assert not any(flags)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (INTEGERS, pl.Int8),
        (INTEGERS, pl.UInt64),
        ([i / 3 for i in INTEGERS], pl.Float32),
        ([i * 10**15 for i in INTEGERS], pl.Datetime("ms")),  # years above 9999
        (INTEGERS, pl.Datetime("ns", "Europe/Berlin")),
        (INTEGERS, pl.Duration("us")),
        (INTEGERS, pl.Date),
        (INTEGERS, pl.Time),
        ([str(i) for i in INTEGERS], pl.Decimal(10, 2)),
        ([b"x"] * N, pl.Binary),
        ([[i, None] for i in INTEGERS], pl.List(pl.Int16)),
    ],
)
def test_polars_types_are_kept(values, kind):
    data = pl.Series("x", [*values[:LAST], None])
    data = data.cast(kind) if data.dtype != kind else data
    found = seen(lambda r: (str(r.dtype), len(r)), data)
    assert found == [(str(data.dtype), len(part)) for part in PARTS]
    totals = seen(lambda r: r.null_count(), data)
    assert sum(totals) == 1
