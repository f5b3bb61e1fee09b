"""Times at the ends of what their types can hold: each row is read by itself, in order, and cells keep their names."""

from datetime import datetime

import numpy as np
import pytest

import uptack as ut
from uptack.table.values.times import FIRST, LAST, LONGEST, ticks_of

RAW = sorted({s * ((2**63 - 1) // d - k) for s in (1, -1) for d in (1, 2, 3, 7, 25) for k in (0, 1, 2)} | {-1, 0, 1})


@pytest.mark.parametrize("kind", ["M8", "m8"])
@pytest.mark.parametrize("unit", ["W", "D", "s", "us", "ns", "ps", "as"])
def test_ticks_keep_order_in_every_unit_and_step(kind, unit):
    """With steps such as 3 ns the earliest moments overflowed, and came last."""
    for step in (1, 2, 3, 7, 25):
        ticks, gone = ticks_of(np.array(RAW, np.int64).view(f"{kind}[{step}{unit}]"))
        least, most = (FIRST, LAST) if kind == "M8" else (-LONGEST, LONGEST)
        assert not gone.any()
        assert (np.diff(ticks) >= 0).all()
        assert least <= ticks[0] <= ticks[-1] <= most


def test_hours_of_dates_have_names_of_their_own():
    """All 24 cells of a day were named by a date, half of them by that of the next day, and found by none."""
    days = np.array(["2024-02-28", "2024-02-29"] * 500, "M8[D]")
    made = ut.histogram(days, edges=["2024-02-28", "2024-03-01"], every="hour", epsilon=50).value
    counts = dict(made.items())
    assert len(counts) == 48
    for day in (28, 29):
        assert abs(counts[datetime(2024, 2, day)] - 500) < 20
    assert abs(counts[datetime(2024, 2, 28, 13)]) < 20
