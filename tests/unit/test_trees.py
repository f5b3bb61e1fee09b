"""Many quantiles of hostile columns, of columns in engines, and what is said where n is too small."""

from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from uptack.mechanisms.quantile_chain import FloatSums
from uptack.noise import SeededEntropy
from uptack.privacy import loss
from uptack.statistics import quantile_trees
from uptack.statistics.column_options import read_question
from uptack.table.memory.table import as_column
from uptack.table.opening import open_table as source
from uptack.table.protocol import Column

N = 40_000
RNG = np.random.default_rng(6)
COLUMNS = {
    "normal": RNG.normal(size=N),
    "far from zero": 1e6 + RNG.normal(size=N),
    "beyond 2^53": (2**60 + RNG.integers(0, 2**40, N)).astype(np.int64),
    "±1e308": RNG.choice([-1e308, 1e308, -1e307, 5.0], N),
    "subnormal": RNG.integers(-5000, 5000, N) * 5e-324,
    "constant": np.full(N, 3.5),
    "many zeros": np.where(RNG.random(N) < 0.4, 0.0, RNG.lognormal(size=N)),
    "few integers": RNG.poisson(3, N),
    "flags": RNG.random(N) < 0.7,
}


def off(x, released, levels, tolerance=1e-6):
    """How many ranks each released value is from its level: 0 where tied rows reach over it."""
    rows, released = (np.clip(v.astype(np.float64), -1e76, 1e76) for v in (x, released))
    rows, released = (np.where(np.abs(v) < 1e-70, 0.0, v) for v in (np.sort(rows), released))  # beyond the lattice
    wide = np.abs(released) * tolerance
    low = np.searchsorted(rows, released - wide, side="left")
    high = np.searchsorted(rows, released + wide, side="right")
    ranks = np.ceil(np.array(levels) * len(rows))
    return np.maximum(np.maximum(low - ranks, ranks - high), 0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in COLUMNS),
        *((name, {"adjacency": ut.ADD_REMOVE}) for name in ("normal", "many zeros", "flags")),
        ("normal", {"rows_per_person": 2, "epsilon": 4}),
    ],
)
def test_a_hundred_quantiles_of_any_column(name, options):
    x, levels = COLUMNS[name], [j / 100 for j in range(1, 100)]
    released = ut.quantile(x, levels, **({"epsilon": 2, "entropy": SeededEntropy(3)} | options))
    assert released.privacy.exact_epsilon == options.get("epsilon", 2)
    assert (np.diff(released.value) >= 0).all()
    assert np.mean(off(x, released.value, levels)) < 60
    assert np.max(off(x, released.value, levels)) < 300


@pytest.mark.parametrize("name", ["few integers", "beyond 2^53"])
def test_integers_stay_integers(name):
    x = COLUMNS[name]
    released = ut.quantile(x, [j / 30 for j in range(1, 30)], epsilon=2, entropy=SeededEntropy(3)).value
    assert (released == np.rint(released)).all()


def test_the_loss_is_that_of_the_tiers():
    released = ut.quantile(COLUMNS["normal"], [j / 40 for j in range(1, 40)], epsilon=1, entropy=SeededEntropy(3))
    assert released.loss == loss.Composed((loss.BoundedRange(Fraction(1, 2)),) * 2)


def test_engines_and_arrays_give_the_same_bits(tmp_path):
    pytest.importorskip("duckdb")
    parquet = pytest.importorskip("pyarrow.parquet")
    kept = {name: COLUMNS[name] for name in ("many zeros", "few integers")}
    parquet.write_table(pytest.importorskip("pyarrow").table(kept), tmp_path / "rows.parquet")
    there, levels = source(tmp_path / "rows.parquet"), [j / 60 for j in range(1, 60)]
    for name, values in kept.items():
        for ask in (
            lambda x: ut.quantile(x, levels, epsilon=2, entropy=SeededEntropy(9)).value.tolist(),
            lambda x: ut.ecdf(x, epsilon=2, entropy=SeededEntropy(9)).value.to_dict(),
        ):
            assert ask(values) == ask(there.column(name))


def test_only_rows_near_the_ranks_are_asked_for():
    class Watched(Column):
        asked = 0

        def order(self, windows):
            Watched.asked += sum(b - a + 1 for a, b in windows)
            return super().order(windows)

    x = np.random.default_rng(1).normal(size=2_000_000)
    ranks = [j * 100_000 for j in range(1, 20)]
    made = as_column("x", x)
    watched = Watched(made.table, made.expr, made.kind)
    question = read_question("quantiles", 1, {"entropy": SeededEntropy(2)})
    found = quantile_trees.tree_quantiles(watched, x.size, ranks, question)
    assert Watched.asked < x.size / 10
    assert np.abs(np.searchsorted(np.sort(x), found) - ranks).max() < 200


def test_no_reply_says_which_n_would_do():
    levels, x = [j / 100 for j in range(1, 100)], np.arange(60_000.0)
    refused = ut.quantile(x[:3000], levels, epsilon=1)
    assert not refused
    assert refused.privacy.exact_epsilon == 0
    assert ut.quantile(x[: refused.advice.n], levels, epsilon=1)
    assert ut.quantile(x[:3000], levels, epsilon=refused.advice.epsilon)
    assert not ut.quantile(x[: refused.advice.n * 9 // 10], levels, epsilon=1)


def test_which_way_is_taken_is_public(monkeypatch):
    """The plan is made before any row is looked at, and floats alone decide nothing of it."""
    seen = []
    monkeypatch.setattr(
        quantile_trees, "WindowRows", lambda *given: seen.append(given) or (_ for _ in ()).throw(KeyError)
    )
    monkeypatch.setattr(FloatSums, "total", property(lambda self: 1 / 0))
    sizes = (5_000, 5_000, 50_000)
    plans = [quantile_trees.plan_tree(n, [n * j // 20 for j in range(1, 20)], Fraction(1), 1) for n in sizes]
    assert plans[0] == plans[1] != plans[2]
    assert not seen
