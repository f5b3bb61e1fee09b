"""Hostile confidences, formulas and blocks: what was found once stays found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from uptack.regression.intervals import CoefficientErrors, Draw
from uptack.regression.summary import LinearErrors

CONFIDENCES = ("1e-300", "1e-17", "0.5", "0.95", "0.999999999999", "0.99999999999999999", "0.9999999999999999999999")


@pytest.mark.filterwarnings("error")
def test_intervals_of_any_confidence() -> None:
    """No error of a solver: wider for a larger confidence, also where no finite width has it."""
    for blocks in (3, 50, 4000):
        errors = CoefficientErrors((1.0, 0.0), Draw(blocks, 2, 1, 1.0), Draw(blocks, 2, 1, 0.5))
        found = [errors.around(np.zeros(2), confidence)[1] for confidence in CONFIDENCES]
        assert all(b[0] >= a[0] > 0 == a[1] for a, b in zip(found, found[1:], strict=False))
        assert (found[-1][0] < math.inf) == (blocks > 50)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("drawn", [1, 2, 3, 100])
def test_intervals_of_coefficients_that_are_not_resolved(drawn: int) -> None:
    """They are infinite, also for no confidence at all."""
    told = LinearErrors((1.0, math.inf), (1,), (), 1.0, True, "", private=(0.5, 0.0), unsure=(0.0, 0.0), drawn=drawn)
    found = [told.around(np.zeros(2), confidence)[1] for confidence in CONFIDENCES]
    assert all(b[0] > a[0] >= 0 and a[1] == math.inf for a, b in zip(found[1:], found[2:], strict=False))
