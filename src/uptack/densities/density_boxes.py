"""The box of a Fourier density, given or private, and the cells of it that rows are in."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uptack import checks
from uptack.account import Outcome
from uptack.densities.density_columns import features
from uptack.densities.trigonometric_moments import CELLS, Integers
from uptack.errors import InvalidArgument
from uptack.kernels.density_curves import Floats
from uptack.statistics.column_options import Question
from uptack.statistics.joint_quantiles import quantiles
from uptack.statistics.quantiles import statistic as quantile_statistic
from uptack.table.memory.counts import added
from uptack.table.protocol import Columns

BOX_SHARE = Fraction(1, 4)
"""The part of ε that goes into the box, where it is not given."""

MOST_TAIL, TAIL_ROWS = Fraction(1, 4), 120
"""The box comes from quantiles with at most this share of rows beyond each, and about this many rows over ε."""

NORMAL_REACH = 3.5
"""The quantiles are moved outward as if to so many standard deviations of a normal law."""


def _cells(x: Floats, low: float, side: float) -> Integers:
    """The cell of each row, alone. A row outside the box is wrapped around; what is too far away for that goes to 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        share = (x - low) / side
        share = np.fmax(share - np.floor(share), 0.0)  # 0 for NaN
    return np.minimum((share * CELLS).astype(np.int64), CELLS - 1)


def _cell_counts(x: Floats, low: float, side: float) -> list[Integers]:
    return [np.bincount(_cells(x, low, side), minlength=CELLS)]


@dataclass(frozen=True)
class DensityBox:
    """A box by its ends, one of each a column."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def over(self, dimension: int) -> DensityBox:
        """The box for so many columns; a single pair of ends is for all of them."""
        if len(self.low) not in (1, dimension):
            raise InvalidArgument("low", f"a number, or {dimension}, one per column", f"{len(self.low)} of them")
        times = dimension // len(self.low)
        return DensityBox(self.low * times, self.high * times)


def counted(columns: Columns, box: DensityBox) -> tuple[Integers, Integers]:
    """The cells that rows are in, and how many, or how many units of people, are in each."""
    low, sides = box.low, [b - a for a, b in zip(box.low, box.high, strict=True)]
    if len(columns) == 1 and not columns[0].unit.weighted:
        (counts,) = columns[0].sum(functools.partial(_cell_counts, low=low[0], side=sides[0]))
        filled = np.flatnonzero(counts)
        return filled.reshape(-1, 1), counts[filled]
    values, units = features(columns)
    cells = np.stack([_cells(x, a, s) for x, a, s in zip(values.T, low, sides, strict=True)], axis=1)
    unique, place, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    if units is not None:
        counts = added(place.reshape(-1), units, len(unique))
    return unique.reshape(-1, len(columns)), counts


def tail_rows(question: Question, dimension: int) -> Fraction:
    """How many rows beyond each quantile are enough for quantiles that are good and don't refuse."""
    return TAIL_ROWS * question.rows * dimension / (question.epsilon * BOX_SHARE)


def _least_tail(n: int) -> Fraction:
    """n^(-2/5) from 1/100 down to 1/1000: further out a heavy tail would leave no room for the middle."""
    return Fraction(min(max(max(n, 1) ** -0.4, 0.001), 0.01)).limit_denominator(10**6)


def private_box(columns: Columns, n: int, question: Question, rows: Fraction) -> DensityBox | Outcome[Any]:
    """Two quantiles of each column, with so many rows beyond, moved outward.

    For a normal law the ends are then at ±3.5 standard deviations, however far in the quantiles had to be.
    """
    tail = min(max(rows / max(n, 1), _least_tail(n)), MOST_TAIL)
    outward = NORMAL_REACH / -NormalDist().inv_cdf(float(tail))
    lows, highs, d = [], [], len(columns)
    for data, part in zip(columns, question.split(*[Fraction(1, d)] * d), strict=True):
        ends = quantiles(data, n, (tail, 1 - tail), replace(part, granularity=None), quantile_statistic)
        if ends.value is None:  # what it says of ε is about a part of it
            return replace(ends, advice=ends.advice and replace(ends.advice, epsilon=None))
        a, b = (float(v) for v in ends.value)
        least = max(abs(a), abs(b), 1.0) * 1e-9  # rows that are all the same still get a box
        centre, reach = (a + b) / 2, max((b - a) / 2 * outward, least)
        lows.append(centre - reach)
        highs.append(centre + reach)
    return DensityBox(tuple(lows), tuple(highs))


def given_ends(low: ArrayLike | None, high: ArrayLike | None) -> DensityBox | None:
    """The ends that the caller gave, or None where there are none."""
    if low is None and high is None:
        return None
    for name, value, other in (("low", low, "high"), ("high", high, "low")):
        if value is None:
            raise InvalidArgument(name, f"given where {other} is", "None", "Give both, or none for private ones.")
    a, b = _ends("low", low), _ends("high", high)
    if len(a) != len(b) or not all(1e-80 <= q - p <= 1e80 for p, q in zip(a, b, strict=False)):
        must = "below high by 1e-80 to 1e80, and as many numbers as that"
        raise InvalidArgument("low", must, f"{checks.describe(low)} beside {checks.describe(high)}")
    return DensityBox(a, b)


def _ends(name: str, value: Any) -> tuple[float, ...]:
    values = [value] if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) else list(value)
    return tuple(float(checks.rational(name, v, "a number, or one per column")) for v in values)
