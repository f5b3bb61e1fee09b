"""Sums of bounded contributions: a row's part must not depend on its batch."""

import numpy as np

from uptack.statistics.variances import fourth_powers

HOSTILE = np.array([0.0, -0.0, 1.0, 5e-324, 1e-160, 1e-200, 1e154, 1e200, -1e308, 1.7e308, 2.0**53, np.pi, 1e-3, 3.3])


def test_fourth_powers_are_the_same_in_any_batches():
    x = np.append(HOSTILE, np.random.default_rng(0).normal(size=1000))
    whole = fourth_powers(x, -3.0, 5.0, 0.3, 5.0)[0]
    for size in (1, 3, 8, 64):
        parts = [fourth_powers(x[i : i + size], -3.0, 5.0, 0.3, 5.0)[0] for i in range(0, x.size, size)]
        assert sum(parts) == whole
