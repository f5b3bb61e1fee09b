"""The median absolute deviation. What every declared statistic must do is tested by batteries of the registry."""

import numpy as np
import pytest

import uptack as ut

RNG = np.random.default_rng(3)
SHAPES = {
    "normal": RNG.normal(100, 3, 20_000),
    "skewed": RNG.lognormal(size=20_000),
    "two heaps": np.r_[RNG.normal(0, 1, 12_000), RNG.normal(50, 1, 8_000)],
    "integers": RNG.poisson(30, 20_000),
}


def own(x):
    """The deviation of the rows themselves, with the lower of two middle ones."""
    middle = np.sort(x)[(x.size - 1) // 2]
    return np.sort(np.abs(x - middle))[(x.size - 1) // 2]


@pytest.mark.parametrize("method", ["inverse", "ptr", "dwork-lei"])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_close_to_that_of_the_rows(shape, method):
    x = SHAPES[shape]
    made = ut.mad(x, epsilon=5, delta=1e-6, method=method, entropy=ut.SeededEntropy(1))
    assert not made or made.value == pytest.approx(own(x), rel=0.02 if method == "inverse" else 0.5, abs=0.01)
    assert made or method != "inverse"


def test_nearly_half_of_the_rows_may_be_anything():
    x = np.r_[RNG.normal(0, 1, 6_000), np.full(4_000, 1e300)]
    assert ut.mad(x, epsilon=1, entropy=ut.SeededEntropy(1)).value < 4


@pytest.mark.parametrize("adjacency", [ut.SUBSTITUTE, ut.ADD_REMOVE])
def test_files_give_what_arrays_give(adjacency, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    x = RNG.normal(size=150_000)
    pq.write_table(pa.table({"x": x}), tmp_path / "x.parquet")
    both = [
        ut.open(data, adjacency=adjacency, entropy=ut.SeededEntropy(1))["x"].mad(epsilon=1).value
        for data in ({"x": x}, tmp_path / "x.parquet")
    ]
    assert both[0] == both[1] == pytest.approx(0.6745, abs=0.02)
