"""Pictures, cells and messages where hostile tables would show more, or less, than there is."""

import numpy as np
import pytest

import uptack as ut
from uptack.report import profile, spikes


@pytest.mark.parametrize("values", [(0.1, 0.2, 0.3), (0.01, 0.02, 0.03), (10.0, 1010.0), (-10.0, 990.0), (0.0, 1000.0)])
def test_all_rows_are_in_bars(values):
    """The bars of the least and the largest number reach to the ends of the box, or beyond by a rounding."""
    x = np.repeat(values, 12_000 // len(values))
    (column,) = profile(ut.open({"x": x}, entropy=ut.SeededEntropy(1)), 6, 1e-6).columns
    found = column.density.value
    assert isinstance(found, spikes.Bars)
    assert found.points.size <= spikes.MOST
    for value in values:
        near = np.abs(found.points - value).argmin()
        assert abs(found.values[near] * found.width - 1 / len(values)) < 0.05
    assert abs((found.values * found.width).sum() - 1) < 0.1
