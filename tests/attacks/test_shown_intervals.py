"""What is shown of an answer must not say more than the answer does: ends of intervals, and errors of counts."""

import re
from datetime import datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

import uptack as ut
from uptack.display.numbers import number
from uptack.report import Figure
from uptack.report.category_card import bars

UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "min": timedelta(minutes=1), "s": timedelta(seconds=1)}


def read(words: str) -> timedelta:
    parts = re.findall(r"([0-9.]+) (d|h|min|s)", words)
    size = sum((float(count) * UNITS[unit] for count, unit in parts), timedelta(0))
    return -size if words.startswith("-") else size


SECONDS = (0, 0.5, 59.999999, 60, 61, 3599, 3600, 3661, 5459, 86399, 86399.5, 86400, 90061, 187140, 2e9 + 0.25)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_interval_of_durations_is_rounded_outward(sign):
    """It used to be cut: 2 d 3 h 59 min as an upper end was "2 d 3 h"."""
    for seconds in SECONDS:
        value = sign * timedelta(seconds=seconds)
        assert read(number(value, end="low")) <= value <= read(number(value, end="high"))


@pytest.mark.parametrize("scale", [0.0, 1e15])
def test_an_interval_of_times_is_rounded_outward(scale):
    for seconds in SECONDS:
        value = datetime(2024, 2, 29, 23, 59) + timedelta(seconds=seconds)
        low, high = (datetime.fromisoformat(number(value, scale, end)) for end in ("low", "high"))
        assert low <= value <= high
    assert number(datetime.max, scale, "high").startswith("9999-12-31 23:59")


@pytest.mark.parametrize("sign", [1, -1])
def test_an_interval_of_large_and_small_numbers_is_rounded_outward(sign):
    for size in (1.23446e20, 1.23456e20, 9.99999e20, 1.23446e-7, 1.23456e-7, 1.7976931348623157e308, 1e300):
        value = sign * size
        assert Decimal(number(value, end="low")) <= Decimal(value) <= Decimal(number(value, end="high"))


def test_the_error_of_a_count_holds_the_whole_interval():
    """Intervals are cut off at 0, so half the width of that of a small count is not its error."""
    counts = {"none": 0, "below": -3, "few": 2, "many": 400, "part": 7.75}
    noisy = np.array([*counts.values()])
    ends = np.maximum(noisy - 8, 0), np.maximum(noisy + 8, 0)
    shown = {bar.name: bar for bar in bars(Figure("counts", SimpleNamespace(items=counts.items), ends))}
    for name, low, high in zip(counts, *ends, strict=True):
        assert shown[name].rows - shown[name].error <= low <= high <= shown[name].rows + shown[name].error
    assert shown["many"].error == 8


def test_an_interval_of_times_is_shown_at_the_confidence_it_was_paid_for():
    """Only numbers told what they were paid for at; an interval of times at 80% was not shown at all."""
    ticks = np.random.default_rng(0).integers(0, 3 * 10**12, 5000)
    for column in (ticks, ticks.view("M8[us]")):
        made = ut.median(column, epsilon=3, interval=0.8, entropy=ut.SeededEntropy(1))
        (line,) = made.records()
        assert line["low"] <= line["value"] <= line["high"]
        assert "80% interval" in made.table().text()
