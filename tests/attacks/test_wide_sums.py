"""Sums beyond 64 bits, which the next step took for others."""

import numpy as np
import pytest

import uptack as ut
from uptack.discrete.categories import SkewedLaplace
from uptack.discrete.sparse_histograms import posterior_medians
from uptack.table import search, unit

RNG = np.random.default_rng(3)
ROWS = RNG.integers(0, 6, size=900)
WHO = RNG.integers(0, 400, size=900)
ASKED = {
    "mean": lambda: ut.mean(ROWS, epsilon=4, person=WHO, entropy=ut.SeededEntropy(1)).value,
    "variance": lambda: ut.variance(ROWS * 1.0, epsilon=4, person=WHO, entropy=ut.SeededEntropy(1)).value,
    "median": lambda: ut.median(ROWS, epsilon=1, person=WHO, entropy=ut.SeededEntropy(1)).value,
    "sparse": lambda: dict(ut.sparse_histogram(ROWS, 64, epsilon=1, person=WHO, entropy=ut.SeededEntropy(1)).value),
    "adaptive": lambda: dict(
        ut.sparse_histogram(ROWS, 64, epsilon=1, rule="adaptive", person=WHO, entropy=ut.SeededEntropy(1)).value
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_billion_people_are_asked_as_a_few_are(name, monkeypatch):
    few = ASKED[name]()
    for module in (unit, search):
        monkeypatch.setattr(module, "ROOM", 1)
    assert ASKED[name]() == few


def test_guesses_of_counts_that_64_bits_do_not_hold():
    law = SkewedLaplace(1 << 33, 1 << 33)
    noisy = np.array([1 << 36, 1 << 70, 1 << 40], object)
    found = posterior_medians(noisy, 1 << 36, law, 10_000).tolist()
    assert found[0] == 0
    assert abs(found[1] / (1 << 70) - 1) < 1e-9
    assert abs(found[2] / (1 << 40) - 1) < 1e-1
