"""Quantile regression by bounded sums."""

import numpy as np
import pytest
from scipy.stats import expon, norm

import uptack as ut
from uptack.noise import SeededEntropy
from uptack.regression.quantile import CheckLoss

SLOPES = np.array([1.0, -0.002])
STEP = np.array([1.0, 1.0, 1000.0])


def sample(n, errors, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) * [1, 1000]
    return x, 3 + x @ SLOPES + errors(rng, n)


def normal(rng, n):
    return rng.normal(size=n)


def fit(x, y, seed=1, **told):
    return ut.quantile_regression(x, y, **{"epsilon": 2, **told}, entropy=SeededEntropy(seed))


@pytest.mark.parametrize(("quantile", "told"), [(0.5, {}), (0.9, {"adjacency": ut.ADD_REMOVE}), (0.25, {})])
def test_coefficients_are_close_and_intervals_hold_them(quantile, told):
    truth, held = np.r_[3 + norm.ppf(quantile), SLOPES], []
    for seed in range(6):
        found = fit(*sample(20_000, normal, seed), seed, quantile=quantile, **told)
        assert np.abs((found.value - truth) * STEP).max() < 0.15
        assert found.privacy.epsilon <= 2
        low, high = found.interval(0.95)
        held.append((np.array(low) <= truth) & (np.array(high) >= truth))
    # 18 intervals of 95%: fewer than 11 with a chance below 1e-6 were they independent
    assert np.sum(held) >= 11


def test_tails_do_not_matter_for_the_median():
    found = fit(*sample(20_000, lambda rng, n: rng.standard_cauchy(size=n)))
    assert np.abs((found.value - [3, *SLOPES]) * STEP).max() < 0.15


def test_a_quantile_near_the_end_of_the_residuals():
    found = fit(*sample(40_000, lambda rng, n: rng.exponential(size=n)), quantile=0.1)
    assert np.abs((found.value - [3 + expon.ppf(0.1), *SLOPES]) * STEP).max() < 0.05


def test_residuals_that_spread_with_x():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 2, size=(40_000, 1))
    y = 1 + x[:, 0] + (1 + x[:, 0]) * rng.normal(size=40_000)
    truth = np.array([1, 1]) + norm.ppf(0.75)
    for seed in range(3):
        found = fit(x, y, seed, quantile=0.75)
        assert np.abs(found.value - truth).max() < 0.2
        assert (np.abs(found.value - truth) < 5 * np.array(found.noise.standard_errors)).all()


def test_without_an_intercept_and_with_gaps_and_people():
    x, y = sample(20_000, normal)
    y = y - 3
    x[::9, 1] = np.nan
    found = fit(x, y, fit_intercept=False, missing="drop")
    assert np.abs((found.value - SLOPES) * STEP[1:]).max() < 0.15
    people = fit(x, y, missing="drop", person=np.arange(20_000) // 2, epsilon=4)
    assert np.abs((people.value - [0, *SLOPES]) * STEP).max() < 0.2


def test_the_loss():
    loss, r = CheckLoss(0.9), np.array([-5.0, -0.1, 0.0, 0.1, 5.0])
    assert loss.score(r, np.zeros(5), 0.5) == pytest.approx([-0.1, -0.1, 0.9, 0.9, 0.9])
    assert loss.curvature(r, np.zeros(5), 0.5).tolist() == [0, 1, 1, 1, 0]


def test_quantiles_that_are_no_use():
    x, y = sample(100, normal)
    for wrong in (0.01, 1, -1, "a", None):
        with pytest.raises(ut.InvalidArgument, match=r"^quantile must be"):
            ut.quantile_regression(x, y, epsilon=1, quantile=wrong)
    refused = ut.quantile_regression(x, y, epsilon=1)
    assert not refused
    assert refused.privacy.epsilon == 0


def test_the_estimator_and_a_session():
    x, y = sample(20_000, normal)
    model = ut.QuantileRegressor(epsilon=2, quantile=0.9, random_state=1).fit(x, y)
    assert np.mean(y < model.predict(x)) == pytest.approx(0.9, abs=0.02)
    assert "estimate" in model.summary()
    session = ut.open({"y": y, "a": x[:, 0], "b": x[:, 1]}, entropy=SeededEntropy(1))
    assert session.quantile_regression("y", "a", "b", epsilon=2, quantile=0.9).value[0] == pytest.approx(4.28, abs=0.15)
