"""Every container that NumPy, pandas, polars and Arrow have: whether one row is missing decides no kind and no type.

The list of all that were tried is `uptack.audit.containers`. Each makes a column of rows, of which None is a missing
one.
"""

import numpy as np
import pandas as pd
import pytest

import uptack as ut
from uptack.audit.containers import containers, sparse
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
    assert shown(make(whole)) == shown(make(gap)) == shown(make(last))


@pytest.mark.parametrize("fill", [np.nan, pd.NA])
def test_sparse_integers_are_exact_whatever_is_missing(fill):
    large = 2**60 + 1
    made = field("x", sparse(pd, "int64", fill)([large, None, -large]))
    values, missing = made.numbers()
    assert (made.kind, values[[0, 2]].tolist(), missing.tolist()) == ("integer", [large, -large], [False, True, False])
    assert made.codes()[0] == [-large, large, None]
    stored = field("x", pd.Series(pd.arrays.SparseArray([0, large, 0, 5], dtype=pd.SparseDtype("int64", 0))))
    assert (stored.numbers()[0].tolist(), stored.missing) == ([0, large, 0, 5], None)
