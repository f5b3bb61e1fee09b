"""Draws of the sparse sampler against the dense mechanism and its exact laws; each test rejects a law a little off."""

import math

import numpy as np
import pytest
from scipy import stats

import uptack as ut
from tests.helpers import FALSE_ALARM, assert_fits
from uptack.discrete.categories import SkewedLaplace, binomial
from uptack.discrete.sparse_histograms import SparseCells, _random_subset, sparse_histogram
from uptack.exact import Real, ball
from uptack.noise import IntegerLaplace, SeededEntropy
from uptack.privacy import loss

OCCUPIED, COUNTS = np.array([3, 4, 9]), np.array([1, 6, 2])
SIZE, CUTOFF, RUNS = 12, 3, 1_500
LAW = SkewedLaplace(2, 3)
SPARSE = SparseCells(loss.Pure(1), LAW, SIZE, CUTOFF)


def dense(entropy):
    table = np.zeros(SIZE, np.int64)
    table[OCCUPIED] = COUNTS
    noisy = table + LAW.draw(SIZE, entropy)
    return np.flatnonzero(noisy >= CUTOFF), noisy[noisy >= CUTOFF]


def forgetful(entropy):
    """Empty cells pass when their noise is above the cutoff, and not when it is at it."""
    cells, noisy = SPARSE.draw((OCCUPIED, COUNTS), entropy)
    kept = (noisy > CUTOFF) | np.isin(cells, OCCUPIED)
    return cells[kept], noisy[kept]


def summaries(sampler, seed):
    """Counts of three features of the output: how many cells, which, and the values of one empty cell."""
    entropy, seen = SeededEntropy(seed), np.zeros((3, SIZE + 1))
    for _ in range(RUNS):
        cells, noisy = sampler(entropy)
        seen[0, cells.size] += 1
        seen[1, cells] += 1
        seen[2, np.minimum(noisy[~np.isin(cells, OCCUPIED)], SIZE)] += 1
    return seen


def p_value(a, b):
    tables = [np.array([x, y]) for x, y in zip(a, b, strict=True)]
    return min(stats.chi2_contingency(t[:, t.sum(axis=0) > 40]).pvalue for t in tables)


def test_sparse_draws_are_dense_draws():
    right = summaries(dense, 1)
    assert p_value(right, summaries(lambda e: SPARSE.draw((OCCUPIED, COUNTS), e), 2)) > FALSE_ALARM
    assert p_value(right, summaries(forgetful, 3)) < FALSE_ALARM


def test_skewed_noise_has_its_law():
    draws = SkewedLaplace(4, "3/2").draw(200_000, SeededEntropy(4))
    assert_fits(draws, SkewedLaplace(4, "3/2"), SkewedLaplace("42/10", "3/2"))
    even = SkewedLaplace(3, 3)
    assert_fits(even.draw(200_000, SeededEntropy(5)), IntegerLaplace(3), IntegerLaplace("315/100"))
    for k in range(-9, 10):
        assert even.pmf(k) == pytest.approx(IntegerLaplace(3).pmf(k))
        assert even.tail(k) == pytest.approx(IntegerLaplace(3).tail(k))
        assert LAW.tail(k) - LAW.tail(k + 1) == pytest.approx(LAW.pmf(k))


@pytest.mark.parametrize(("trials", "mean"), [(40, 6), (2**62, 3)])
def test_binomial_draws(trials, mean):
    tiny = ball(mean) / trials
    chance, entropy = Real(lambda: tiny * (ball(1).exp() / ball(1).exp())), SeededEntropy(6)
    draws = np.array([binomial(trials, chance, entropy) for _ in range(20_000)])
    right = stats.binom(trials, mean / trials) if trials < 100 else stats.poisson(mean)
    cells = np.arange(1, 9)
    for law, accepted in ((right, True), (stats.poisson(mean * 1.08), False)):
        expected = np.diff(np.concatenate(([0], law.cdf(cells - 1), [1]))) * draws.size
        observed = np.bincount(np.searchsorted(cells, draws, side="right"), minlength=9)
        assert (stats.chisquare(observed, expected).pvalue > FALSE_ALARM) == accepted


@pytest.mark.parametrize("count", [0, 1, 2, 4, 5])
def test_sets_are_uniform(count):
    entropy, seen = SeededEntropy(7), {}
    for _ in range(6000):
        drawn = tuple(_random_subset(count, 5, entropy).tolist())
        assert len(set(drawn)) == count
        seen[drawn] = seen.get(drawn, 0) + 1
    assert len(seen) == math.comb(5, count)
    if len(seen) > 1:
        assert stats.chisquare(list(seen.values())).pvalue > FALSE_ALARM


def test_intervals_of_a_cell_chosen_beforehand():
    entropy, inside = SeededEntropy(8), []
    for _ in range(400):
        release = sparse_histogram(np.full(60, 7), 2**20, 1, rule="adaptive", cutoff=12, entropy=entropy)
        low, high = release.interval(0.9)
        at = int(np.searchsorted(release.value.cells, 7))
        kept = at < len(release.value) and release.value.cells[at] == 7
        inside.append(not kept or low[at] <= 60 <= high[at])
    assert np.mean(inside) > 0.9 - 6 * np.sqrt(0.09 / 400)


def test_the_adaptive_rule_beats_the_printed_one_on_small_counts():
    rng, entropy = np.random.default_rng(9), SeededEntropy(9)
    truth = np.zeros(65_536, np.int64)
    truth[rng.choice(65_536, 3000, replace=False)] = np.ceil(rng.pareto(1.1, 3000)).clip(1, 4000)
    keys = np.repeat(np.arange(65_536), truth)

    def error(rule, adjacency):
        value = sparse_histogram(keys, 65_536, 1, rule=rule, adjacency=adjacency, entropy=entropy).value
        left = truth.copy()
        left[value.cells] -= value.counts
        return np.abs(left).sum()

    for adjacency in (ut.SUBSTITUTE, ut.ADD_REMOVE):
        printed, adaptive = (np.mean([error(rule, adjacency) for _ in range(15)]) for rule in ("printed", "adaptive"))
        assert adaptive < 0.93 * printed
