"""Poisson regression by bounded sums."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

import uptack as ut
from uptack.noise import SeededEntropy
from uptack.regression.losses import exponential

SLOPES = np.array([0.5, -0.0003])
STEP = np.array([1.0, 1.0, 1000.0])
BETA = np.array([1.0, *SLOPES])


def sample(n, shape=math.inf, seed=0):
    """Counts with variance μ + μ²/shape."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) * [1, 1000]
    mu = np.exp(BETA[0] + x @ SLOPES)
    return x, rng.poisson(mu if shape == math.inf else rng.gamma(shape, mu / shape)).astype(float)


def fit(x, y, seed=1, **told):
    return ut.poisson_regression(x, y, **{"epsilon": 2, **told}, entropy=SeededEntropy(seed))


@pytest.mark.parametrize(("shape", "told"), [(math.inf, {}), (1.0, {"adjacency": ut.ADD_REMOVE}), (2.0, {})])
def test_coefficients_are_close_and_intervals_hold_them(shape, told):
    held = []
    for seed in range(4):
        x, y = sample(20_000, shape, seed)
        found = fit(x, y, seed, **told)
        assert np.abs((found.value - BETA) * STEP).max() < 0.15
        assert np.exp(found.value[0] + x @ found.value[1:]).mean() == pytest.approx(y.mean(), rel=0.06)
        assert found.privacy.epsilon <= 2
        low, high = found.interval(0.95)
        held.append((np.array(low) <= BETA) & (np.array(high) >= BETA))
    # 12 intervals of 95%: fewer than 6 with a chance below 1e-6 were they independent
    assert np.sum(held) >= 6


def test_without_an_intercept_and_with_gaps_and_people():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30_000, 2))
    y = rng.poisson(np.exp(x @ [0.4, -0.2])).astype(float)
    x[::9, 1] = np.nan
    y[::50] = np.nan
    found = fit(x, y, fit_intercept=False, missing="drop")
    assert np.abs(found.value - [0.4, -0.2]).max() < 0.15
    people = fit(x, y, missing="drop", person=np.arange(30_000) // 2, epsilon=4)
    assert np.abs(people.value - [0, 0.4, -0.2]).max() < 0.15


def test_rows_that_are_no_counts_hardly_matter():
    x, y = sample(20_000, 2.0)
    y[200:300], y[300:400] = 1e300, -1e9
    assert np.abs((fit(x, y).value - BETA) * STEP).max() < 0.5
    x[:200] = 1e300  # here e^η is beyond everything, so it is mostly ⊥
    found = fit(x, y)
    assert not found or np.abs((found.value - BETA) * STEP).max() < 0.5


def test_no_reply_where_rates_are_lost():
    x, y = sample(20_000)
    assert not fit(x, np.zeros(20_000))
    rare = fit(x, (np.arange(20_000) % 400 == 0) * 1.0, epsilon=1)
    assert not rare
    assert rare.privacy.epsilon > 0
    refused = fit(x[:100], y[:100])
    assert not refused
    assert refused.privacy.epsilon == 0


def test_advice_holds():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8_000, 3))
    y = rng.poisson(np.exp(0.5 + x @ [0.3, -0.3, 0.2]))
    refused = fit(x[:3_000], y[:3_000], epsilon=1)
    assert refused.privacy.epsilon == 0
    n = refused.advice.n
    assert sum(bool(fit(x[:n], y[:n], seed, epsilon=1)) for seed in range(8)) >= 6


def test_the_exponential_is_the_same_everywhere():
    t = np.linspace(-699, 699, 1001)
    assert exponential(t) == pytest.approx(np.exp(t), rel=1e-13)
    assert (exponential(t) == np.concatenate([exponential(t[i : i + 1]) for i in range(len(t))])).all()


def test_the_estimator_and_a_session():
    x, y = sample(20_000)
    frame = pd.DataFrame(x, columns=["a", "b"])
    model = ut.PoissonRegressor(epsilon=2, random_state=1).fit(frame, y)
    assert model.predict(frame).mean() == pytest.approx(y.mean(), rel=0.05)
    assert model.score(frame, y) > 0.25
    assert "estimate" in model.summary()
    session = ut.open({"y": y, "a": x[:, 0], "b": x[:, 1]}, entropy=SeededEntropy(1))
    assert session.poisson_regression("y", "a", "b", epsilon=2).value[1] == pytest.approx(0.5, abs=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(ut.PoissonRegressor(epsilon=1e6, on_no_reply="nan", random_state=0))


def test_a_response_of_huge_numbers_is_refused_and_does_not_fail():
    """On a server a release that fails is lost, and its debit stands."""
    x, y = sample(3_000)
    y[::2] = 1e300
    assert not fit(x[:, :1], y, epsilon=20)
