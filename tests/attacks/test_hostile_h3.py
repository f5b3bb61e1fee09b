"""Intervals of regressions that were sure of what they could not know: collinear columns."""

import numpy as np

import uptack as ut
from uptack.noise import SeededEntropy


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
