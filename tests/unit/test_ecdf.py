"""Distribution functions: what is read off them, and that the band covers."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import uptack as ut
from tests.helpers import FALSE_ALARM
from uptack.noise import IntegerLaplace, SeededEntropy
from uptack.privacy.loss import Pure
from uptack.statistics.ecdf import RunningCounts, error_bound

X = np.random.default_rng(3).lognormal(size=20_000)
PAID = Pure(1)
MADE = ut.ecdf(X, epsilon=1, entropy=SeededEntropy(1)).value


def test_it_is_near_the_truth_everywhere():
    points = np.quantile(X, np.linspace(0.05, 0.95, 50))
    assert np.abs(MADE.at(points) - np.linspace(0.05, 0.95, 50)).max() < 0.01
    assert np.abs(MADE.quantile([0.25, 0.5, 0.75]) - np.quantile(X, [0.25, 0.5, 0.75])).max() < 0.05
    assert MADE.share(1.0, 2.0) == pytest.approx(np.mean((X > 1) & (X <= 2)), abs=0.01)
    assert MADE.at(-np.inf) == 0
    assert MADE.at(np.inf) == 1
    assert (np.diff(MADE.at(np.linspace(-1, 30, 500))) >= 0).all()
    with pytest.raises(ut.InvalidArgument, match="p must be between"):
        MADE.quantile(1e-6)
    with pytest.raises(ut.InvalidArgument, match="high must be at least low"):
        MADE.share(2, 1)
    with pytest.raises(ut.InvalidArgument, match="points must be numbers"):
        MADE.at([np.nan])


def test_a_coarse_density_is_read_off():
    edges, heights = MADE.density()
    middle = (edges[1:] + edges[:-1]) / 2
    assert heights.size == edges.size - 1 >= 5
    inside = (middle > 0.3) & (middle < 3)
    assert np.abs(heights[inside] / stats.lognorm.pdf(middle[inside], 1) - 1).max() < 0.3
    assert (heights * np.diff(edges)).sum() <= 1


def test_it_can_be_written_down_and_drawn():
    plain = json.loads(json.dumps(MADE.to_dict()))
    assert plain["knots"] == MADE.knots.tolist()
    assert all(
        low <= share <= high for low, share, high in zip(*(plain[k] for k in ("lower", "shares", "upper")), strict=True)
    )
    pytest.importorskip("matplotlib").use("Agg")
    assert MADE.plot().get_ylim() == (0, 1)
    assert not MADE.knots.flags.writeable


@pytest.mark.parametrize("options", [{}, {"adjacency": ut.ADD_REMOVE}, {"rows_per_person": 2}, {"missing": "drop"}])
@pytest.mark.parametrize("kind", ["normal", "integers", "constant", "huge"])
def test_any_column(kind, options):
    rng = np.random.default_rng(2)
    x = {
        "normal": rng.normal(size=30_000),
        "integers": rng.poisson(4, 30_000),
        "constant": np.full(30_000, -2.5),
        "huge": rng.choice([-1e308, -1e-310, 0.0, 1e308], 30_000),
    }[kind]
    released = ut.ecdf(x, epsilon=1, entropy=SeededEntropy(4), **options)
    assert released.privacy.exact_epsilon == 1
    points = np.unique(x.astype(float))[:: max(1, np.unique(x).size // 50)]
    low, high = released.value.band(0.99).at(points)
    truth = np.array([np.mean(x <= p) for p in points])
    assert (low <= truth).all()
    assert (truth <= high).all()


def test_the_band_covers_the_population():
    """At 80% in 80 runs; Dvoretzky, Kiefer and Wolfowitz leave little room, noise and knots some."""
    covered, runs = 0, 80
    grid = np.linspace(-3, 3, 601)
    truth = stats.norm.cdf(grid)
    for seed in range(runs):
        x = np.random.default_rng(seed).normal(size=3000)
        low, high = ut.ecdf(x, epsilon=2, entropy=SeededEntropy(seed)).value.band(0.8).at(grid)
        covered += bool((low <= truth).all() and (truth <= high).all())
    assert stats.binom.cdf(covered, runs, 0.8) > FALSE_ALARM


def test_the_band_holds_where_rows_of_a_person_are_copies():
    """At 80% in 100 runs: 20 rows each of 150 people are no more than 150 rows."""
    covered, runs = 0, 100
    grid = np.linspace(-3, 3, 601)
    truth = stats.norm.cdf(grid)
    for seed in range(runs):
        x = np.repeat(np.random.default_rng(seed).normal(size=150), 20)
        found = ut.ecdf(x, epsilon=200, knots=9, rows_per_person=20, entropy=SeededEntropy(seed))
        low, high = found.value.band(0.8).at(grid)
        covered += bool((low <= truth).all() and (truth <= high).all())
    assert stats.binom.cdf(covered, runs, 0.8) > FALSE_ALARM


@pytest.mark.parametrize(
    "noise",
    [
        RunningCounts.of(12, Fraction(1), 2),
        RunningCounts(PAID, 9, 8, 3, Fraction(4)),
        RunningCounts(PAID, 7, 6, 2, Fraction(1, 3)),
    ],
)
def test_the_largest_deviation_has_the_law_that_is_computed(noise):
    entropy, runs, none = SeededEntropy(3), 1000, np.zeros(noise.lower + noise.upper + 1, np.int64)
    largest = np.array(
        [max(np.abs(a).max(), np.abs(b).max()) for a, b in (noise.draw(none, entropy) for _ in range(runs))]
    )
    half = error_bound(noise, Fraction(1, 2))
    for z in {half, error_bound(noise, Fraction(1, 10)), max(half // 2, 1)}:
        assert stats.binomtest(int((largest <= z).sum()), runs, noise.within(z)).pvalue > FALSE_ALARM
    wrong = replace(noise, scale=noise.scale * Fraction(13, 10))
    z = error_bound(noise, Fraction(1, 2))
    assert stats.binomtest(int((largest <= z).sum()), runs, wrong.within(z)).pvalue < FALSE_ALARM


def test_one_step_is_the_integer_laplace_law():
    law, one = IntegerLaplace(Fraction(5, 2)), RunningCounts(PAID, 1, 0, 1, Fraction(5, 2))
    for z in range(8):
        assert one.within(z) == pytest.approx(sum(law.pmf(k) for k in range(-z, z + 1)), rel=1e-12)
    assert error_bound(one, Fraction(1, 20)) == law.cutoff(Fraction(1, 40)) - 1


@pytest.mark.parametrize("bins", [2, 3, 10, 80, 1000])
def test_running_counts_change_by_no_more_than_the_noise_is_for(bins):
    """Two bins changed by 1 (a replaced row): blocks and single bins that are counted change by 4 in all at most."""
    noise = RunningCounts.of(bins, Fraction(1), 2)
    assert noise.lower + noise.upper + 1 == bins
    levels = 1 if noise.block == 1 else 2
    assert noise.scale == 2 * levels


def test_too_few_rows_and_bad_arguments():
    refused = ut.ecdf(np.arange(300.0), epsilon=1)
    assert not refused
    assert refused.privacy.exact_epsilon == 0
    assert ut.ecdf(np.arange(float(refused.advice.n)), epsilon=1)
    with pytest.raises(ut.InvalidArgument, match="knots must be"):
        ut.ecdf(X, epsilon=1, knots=1)
    with pytest.raises(ut.InvalidArgument, match="knots must be at most"):
        ut.ecdf(X, epsilon=1, knots=10**6)
    assert ut.ecdf(X, epsilon=1, knots=20, entropy=SeededEntropy(1)).value.knots.size == 20


@pytest.mark.parametrize("noise", [RunningCounts.of(12, Fraction(1), 2), RunningCounts(PAID, 9, 8, 3, Fraction(4))])
def test_what_is_counted_changes_by_at_most_one_bin_and_one_block_per_row(noise):
    bins = np.arange(noise.lower + noise.upper + 1) + 5
    for j in range(bins.size):
        other = bins + (np.arange(bins.size) == j)
        moved = sum(np.abs(a - b).sum() for a, b in zip(noise.parts(bins), noise.parts(other), strict=True))
        assert moved <= (1 if noise.block == 1 else 2)
    for side, (whole, single) in zip(
        (bins[: noise.lower], bins[::-1][: noise.upper]), (noise.parts(bins)[:2], noise.parts(bins)[2:]), strict=True
    ):
        assert sum(side) <= sum(whole) + sum(single)
