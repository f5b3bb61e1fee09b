"""The midhinge. What every declared statistic must do is tested in batteries that read the registry."""

import numpy as np
import pytest

import uptack as ut


@pytest.mark.parametrize("method", ["inverse", "ptr"])
def test_it_is_close_to_the_midhinge_of_the_rows(method):
    x = np.random.default_rng(1).gamma(2.0, size=50_000)
    low, high = np.quantile(x, [0.25, 0.75])
    made = ut.midhinge(x, epsilon=1, delta=1e-6, method=method, entropy=ut.SeededEntropy(1))
    assert abs(made.value - (low + high) / 2) < (0.02 if method == "inverse" else 0.2)


def test_half_of_an_integer_is_an_answer():
    made = ut.midhinge(np.repeat([1, 2], 5_000), epsilon=1, entropy=ut.SeededEntropy(1))
    assert made.value == pytest.approx(1.5, abs=1e-6)


def test_too_few_rows_cost_nothing():
    reply = ut.midhinge(np.arange(20.0), epsilon=1)
    assert not reply
    assert reply.privacy.epsilon == 0
