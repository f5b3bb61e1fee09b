"""Regressions of counts where noise leads early steps astray, and scores of counts that are all equal."""

import math

import numpy as np
import pytest

import uptack as ut
from uptack.noise import SeededEntropy


def sample(rate, slopes, seed, n=10_000):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    intercept = math.log(rate) - np.dot(slopes, slopes) / 2
    return x, rng.poisson(np.exp(intercept + x @ slopes)).astype(float), np.array([intercept, *slopes])


def fits_of_rare_counts(seed, times):
    """At rates and ε for which the noise of early steps is often larger than any slope."""
    rng = np.random.default_rng(seed)
    for _ in range(times):
        epsilon, rate, slopes = rng.uniform(4, 8), rng.uniform(0.02, 0.05), rng.normal(size=2) * 0.6
        own = int(rng.integers(1 << 30))
        x, y, truth = sample(rate, slopes, own)
        yield truth, ut.poisson_regression(x, y, epsilon=epsilon, entropy=SeededEntropy(own))


def test_rare_counts_get_no_wild_answer():
    replies = [(truth, found) for truth, found in fits_of_rare_counts(1, 80) if found]
    away = [np.abs(found.value - truth) / found.noise.standard_errors for truth, found in replies]
    assert replies
    # 5 deviations of the noise's law, e^-|v| in three dimensions: P = (2 + 10)·e^-10/2 < 3e-4 for each of up to 240
    assert np.max(away) < 5


@pytest.mark.parametrize("y", [[0, 0, 0], [3, 3, 3]])
def test_counts_that_are_all_equal_have_no_deviance_to_explain(y):
    x, counts, _ = sample(2.0, np.array([0.5, -0.3]), 1)
    model = ut.PoissonRegressor(epsilon=4, random_state=1).fit(x, counts)
    assert math.isnan(model.score(x[:3], y))


def test_advice_is_more_rows_than_there_are():
    x, y, _ = sample(2.0, np.array([0.5, -0.3]), 1)
    for found in (ut.poisson_regression(x, 0 * y, epsilon=2), ut.logistic_regression(x, 0 * y, epsilon=2)):
        assert not found
        assert found.advice.n > len(x)
    secret = ut.poisson_regression(x, 0 * y, epsilon=2, adjacency=ut.ADD_REMOVE)
    other = ut.poisson_regression(x[:9000], 0 * y[:9000], epsilon=2, adjacency=ut.ADD_REMOVE)
    assert secret.advice == other.advice
