"""Synthetic rows of tables in PostgreSQL and Spark are those of the same table in memory, with the same randomness."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import uptack as ut
from uptack.noise import SeededEntropy

ROWS = 1500
ENGINES = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("spark", "postgres")]


def rows() -> pa.Table:
    rng = np.random.default_rng(3)
    age = rng.integers(20, 60, ROWS)
    days = [dt.date(2020, 1, 1) + dt.timedelta(int(one) % 5) if one % 7 else None for one in age]
    return pa.table(
        {
            "id": pa.array(np.arange(ROWS) // 2),
            "age": pa.array(age),
            "height": pa.array(np.where(age == 33, np.nan, rng.normal(170, 10, ROWS))),
            "price": pa.array(np.round(rng.gamma(3, 20, ROWS), 2)),
            "ward": pa.array(np.array(["north", "", "süd", None], object)[age % 4]),
            "smokes": pa.array([None if one == 40 else bool(one % 3 == 0) for one in age.tolist()]),
            "day": pa.array(days, pa.date32()),
        }
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_gives_the_rows_that_memory_gives(request, tmp_path, engine):
    table = rows()
    put = request.getfixturevalue(engine).put(table, tmp_path)
    found = []
    for source in (table, put.table):
        session = ut.open(source, person="id", entropy=SeededEntropy(1)).where("age >= 25")
        found.append(session.synthetic(epsilon=8, delta=1e-4).value)
    ours, theirs = found
    assert ours.pairs == theirs.pairs
    assert ours.pairs
    for name in ours.columns:
        np.testing.assert_array_equal(ours.columns[name], theirs.columns[name])
        np.testing.assert_array_equal(ours.missing[name], theirs.missing[name])
