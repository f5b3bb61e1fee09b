"""Regressions that were sure of what they could not know: collinear columns, and directions of noise; and advice."""

import numpy as np
import pytest

import uptack as ut
from tests.helpers import sampled
from uptack.account import Account
from uptack.multivariate.standardise import Frame
from uptack.noise import SeededEntropy
from uptack.regression.fit_model import Model
from uptack.regression.fit_plans import FitRequest
from uptack.regression.hessian import hessian
from uptack.regression.huber_loss import HuberLoss
from uptack.regression.logistic_loss import LogisticLoss


def test_intervals_hold_where_the_ridge_draws_collinear_columns_together():
    """b was taken for what the ridge had made of it already: half of the intervals held."""
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(5000, 2))
        x[:, 1] = x[:, 0] + x[:, 1] / 20
        y = x @ [2.0, -1.0] + rng.normal(size=5000)
        found = ut.linear_regression(x, y, epsilon=1, entropy=SeededEntropy(seed))
        low, high = found.interval()
        held.append(low[1] < 2 < high[1])
    assert sum(held) >= 17


@pytest.mark.parametrize("p", [1, 2, 3])
def test_noise_alone_is_hardly_ever_taken_for_a_direction(p):
    """The edge is a mean: of two columns a direction passed it in a sixth of all cases."""
    frame = Frame(tuple(range(p)), np.ones(p), np.zeros(p), leading=False)
    model = Model(frame, np.eye(p), 1.0, 50.0, HuberLoss())
    rows = sampled(np.zeros((50, p + 1)))
    made = [hessian(rows, model, Account.open("noise", 1, entropy=SeededEntropy(seed))) for seed in range(200)]
    assert np.mean([one.raw[-1] > one.edge for one in made]) > 0.3
    assert np.mean([not one.lost.all() for one in made]) < 0.13


def test_more_rows_than_advised_get_a_plan_too():
    """With more rows there were more rounds, and then less than enough for each matrix."""
    for epsilon, columns, leading in ((0.1, 12, True), (1, 30, False), (5, 30, True), (5, 6, True)):
        asked = FitRequest(LogisticLoss(), (), leading, "error", Account.open("plan", epsilon))
        n = asked.rows_needed(columns)
        assert all(asked.planned(n * times / 100, columns) for times in range(100, 200))
        assert asked.planned(n - 1, columns) is None
