"""The level of a line whose residuals have one long tail."""

import numpy as np
import pytest

import uptack as ut
from tests.helpers import sampled
from uptack.account import Account
from uptack.multivariate.standardise import Frame
from uptack.noise import SeededEntropy
from uptack.regression.fit_model import Model
from uptack.regression.fit_plans import FitRequest
from uptack.regression.huber_loss import HuberLoss
from uptack.regression.intercept_level import SKEWED, raise_intercept
from uptack.regression.newton_steps import NewtonStep


def test_the_level_of_few_rows_is_their_mean_and_that_of_many_clips_wider():
    """Where noise leaves no room to clip residuals wider, a fit of skewed ones was below their mean by a fifth of a
    spread.
    """
    rng = np.random.default_rng(5)
    x, errors = rng.normal(size=(6_000, 6)), rng.gamma(2, size=6_000)
    y = x @ np.ones(6) + errors
    asked = FitRequest(HuberLoss(), (), True, "error", Account.open("plan", 1))
    few, many = asked.planned(6_000, 6), asked.planned(90_000, 6)
    assert few is not None
    assert many is not None
    assert few.level
    assert not many.level
    found = [ut.linear_regression(x, y, epsilon=1, entropy=SeededEntropy(seed)) for seed in range(9)]
    levels, errors = zip(*((f.value[0], f.noise.standard_errors[0]) for f in found if f), strict=True)
    assert len(levels) >= 7
    assert abs(np.median(levels) - 2) < 0.1  # and Huber's is at 1.75
    assert max(abs(level - 2) / error for level, error in zip(levels, errors, strict=True)) < 4


X = np.linspace(-1, 1, 1000)


def level(y, epsilon, seed=3):
    """The last step of a flat line through these responses, in spreads."""
    model = Model(Frame((0, 1), np.ones(2), np.zeros(2)), np.eye(2), 10.0, 1000, HuberLoss())
    start = NewtonStep(np.zeros(2), np.zeros(2), 1.0, 0.6, 0.6, 0.01, 0.01, 0.01, 0.0, 0.0, np.zeros((2, 2)))
    rows = sampled(np.column_stack([X, np.broadcast_to(y, 1000)]))
    return raise_intercept(rows, model, start, Account.open("level", epsilon, entropy=SeededEntropy(seed)))


TENTH, HALF = X > 0.8, X > 0


@pytest.mark.parametrize(
    ("y", "mean"), [(0, 0), (3 * TENTH, 0.3), (-29 * TENTH[::-1], -0.4), (31 * TENTH, 0), (18 * HALF - 9, 0)]
)
def test_a_level_is_that_of_clipped_residuals_without_outliers(y, mean):
    step = level(y, 1000)
    if abs(mean) > SKEWED:
        assert step is None
    else:
        assert abs(step.beta[0] - mean) < 0.001
        assert step.beta[1] == 0


def test_a_level_that_noise_explains_stays():
    """Noise exceeds 1.5 of its scales in 22 of 100 cases: fewer than 125 of 200 levels stay in one of 10^6."""
    steps = [level(0.0, 1, seed) for seed in range(200)]
    assert sum(step.beta[0] == 0 for step in steps) >= 125
    assert all((step.beta[0] == 0) == (step.raised[1] == 0.0) for step in steps)
