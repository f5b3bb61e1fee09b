"""Regressions that were sure of what they could not know: collinear columns, and directions of noise; and advice."""

import numpy as np
import pytest

import uptack as ut
from uptack.account import Account
from uptack.multivariate.private_sums import NoisyMatrix
from uptack.noise import SeededEntropy
from uptack.regression.fits import FitRequest
from uptack.regression.formulas import DesignColumns
from uptack.regression.logistic import LogisticLoss
from uptack.regression.solver import spectrum


def test_intervals_hold_where_columns_are_nearly_collinear():
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(20_000, 2))
        x[:, 1] = x[:, 0] + x[:, 1] / 4
        y = x @ [2.0, -1.0] + rng.normal(size=20_000)
        found = ut.linear_regression(x, y, epsilon=1, entropy=SeededEntropy(seed))
        if found:
            low, high = found.interval()
            held.append(low[1] < 2 < high[1])
    assert len(held) >= 10
    assert np.mean(held) > 0.8


@pytest.mark.parametrize("p", [2, 3, 8])
def test_noise_alone_is_hardly_ever_taken_for_a_direction(p):
    rng, seen = np.random.default_rng(p), []
    for _ in range(400):
        one, two = rng.normal(size=(2, p, p + 1))
        seen.append(spectrum(NoisyMatrix.laplace((one @ one.T - two @ two.T) / 2, 1.0), p)[2].all())
    assert np.mean(seen) > 0.9


def test_more_rows_than_advised_get_a_plan_too():
    for epsilon, columns, leading in ((0.1, 12, True), (1, 30, False), (5, 30, True), (5, 6, True)):
        request = FitRequest(LogisticLoss(), DesignColumns((), (), leading), "error", Account.open("plan", epsilon))
        assert (least := request.least(columns, request.account)) < request.advice(columns).n < 1.3 * least
