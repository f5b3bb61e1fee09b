"""A NaN in a Parquet file is a missing value, although the file's statistics say that there is none."""

import numpy as np
import pytest

import uptack as ut
from tests.answers import categories, part_size
from uptack.table.opening import open_table

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
ROWS = [float(i % 9) for i in range(1500)]


@pytest.fixture
def parquet(tmp_path):
    pq.write_table(pa.table({"x": pa.array([*ROWS, float("nan")])}), tmp_path / "x.parquet")
    return tmp_path / "x.parquet"


def test_it_is_dropped_filled_and_counted_as_missing(parquet):
    column = open_table(parquet).column("x")
    assert column.drop().count() == 1500
    assert not column.finite()
    assert column.filled(5.0).sum(lambda x: [int(np.isnan(x).sum())]) == [0]
    assert categories(open_table(parquet), "x")[None] == 1
    assert part_size(open_table(parquet), "x", None) == 1


@pytest.mark.parametrize("adjacency", [ut.SUBSTITUTE, ut.ADD_REMOVE])
@pytest.mark.parametrize("name", ["ecdf", "median", "quantile", "mean", "kde", "mad"])
def test_a_session_answers_as_for_an_array(parquet, name, adjacency):
    more = {"quantile": {"p": [0.25, 0.75]}, "kde": {"delta": 1e-6, "bandwidth": 1.0}}.get(name, {})
    for seed in range(3):
        made = [
            getattr(ut.open(data, adjacency=adjacency, entropy=ut.SeededEntropy(seed))["x"], name)(epsilon=3, **more)
            for data in (parquet, {"x": np.array([*ROWS, np.nan])})
        ]
        assert bool(made[0]) == bool(made[1])
        assert made[0].mechanism == made[1].mechanism
