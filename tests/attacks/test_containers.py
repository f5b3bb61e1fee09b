"""Every container that NumPy, pandas, polars and Arrow have: one row decides no kind, no type and no error.

`uptack.audit.hostile_tables` lists all that were tried. Each makes a column of rows, of which None is a missing one.
`UNHELD` are containers of rows that Python can't hold. That no type of the four libraries is left out is a test of its
own.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import uptack as ut
from tests.attacks.small_tables import observed
from uptack.audit.hostile_tables import (
    arrow_column,
    arrow_values,
    categorical,
    containers,
    in_pandas,
    numpy_values,
    pandas_values,
    polars_values,
    sparse,
)
from uptack.table.values.entrance import field
from uptack.table.values.kinds import NUMERIC

ROWS = 600
CONTAINERS = containers()


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
    assert shown(make(whole)) == shown(make(last if list(CONTAINERS).index(name) % 2 else gap))


@pytest.mark.parametrize("fill", [np.nan, pd.NA])
def test_sparse_integers_are_exact_whatever_is_missing(fill):
    large = 2**60 + 1
    made = field("x", sparse(pd, "int64", fill)([large, None, -large]))
    values, missing = made.numbers()
    assert (made.kind, values[[0, 2]].tolist(), missing.tolist()) == ("integer", [large, -large], [False, True, False])
    assert made.codes()[0] == [-large, large, None]
    stored = field("x", pd.Series(pd.arrays.SparseArray([0, large, 0, 5], dtype=pd.SparseDtype("int64", 0))))
    values, missing = stored.numbers()
    assert (values.tolist(), missing) == ([0, large, 0, 5], None)


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
    assert {np.dtype(code).kind for code in np.typecodes["All"]} <= {np.dtype(code).kind for code in numpy_values()}
    assert {np.dtype(code).type for code in np.typecodes["All"]} <= {np.dtype(code).type for code in numpy_values()}
    arrows = {getattr(pa.lib, name) for name in dir(pa.lib) if name.startswith("Type_")}
    without = {pa.lib.Type_INTERVAL_MONTHS, pa.lib.Type_INTERVAL_DAY_TIME}  # which pyarrow can't make
    extensions = {dtype.storage_type.id for dtype, _ in arrow_values(pa) if isinstance(dtype, pa.BaseExtensionType)}
    assert arrows - without <= {dtype.id for dtype, _ in arrow_values(pa)} | extensions
    named = {dtype if isinstance(dtype, type) else type(dtype) for dtype, _ in polars_values(pl)}
    leaves = {one for one in below(pl.DataType) if not one.__subclasses__() and one.__module__.startswith("polars.")}
    assert {one.__name__ for one in leaves - named} <= {"Unknown"}
    dtypes = [pd.Series([value], dtype=dtype).dtype for dtype, value in pandas_values(pd).items()]
    dtypes += [made([3]).dtype for made in (sparse(pd, "int64", 0), in_pandas(arrow_column(pa.int64())))]
    dtypes += [pd.arrays.NumpyExtensionArray(np.array([3], object)).dtype]
    dtypes += [dtype for dtype, _ in categorical(pd).values()]
    kinds = {one for one in below(pd.api.extensions.ExtensionDtype) if one.__module__.startswith("pandas")}
    assert {one for one in kinds if not one.__subclasses__()} <= {type(dtype) for dtype in dtypes}
