"""Reaches of L-statistics: weighted sums of order statistics with weights of at least 0."""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from uptack.table.exact_sum import as_floats, as_integers
from uptack.table.protocol import Column
from uptack.table.reads import MEASURED, as_column
from uptack.table.search import Order, Window

Floats = NDArray[np.float64]


class Reach(Protocol):
    """Nested intervals around a statistic T of the data D: interval k holds every value that T can take after at most k
    people's rows of D are changed.

    Privacy needs three axioms, and nothing else:

    1. T(D) is in interval 0;
    2. interval k is inside interval k + 1;
    3. for neighbours D, D': interval k of D' is inside interval k + 1 of D.

    An interval may be larger than it must be: privacy still holds, only accuracy suffers. All survive any rounding
    of the ends that keeps order (x ≤ y gives round(x) ≤ round(y)), so float ends are as good as real ones if each is
    the correctly rounded value of the exact one.

    A reach says its intervals one by one (`interval`) or together (`intervals`). The other follows, and so does T(D).
    """

    @property
    def value(self) -> float:
        """T(D)."""
        return self.interval(0)[0]

    def interval(self, k: int) -> tuple[float, float]:
        """The ends of interval k."""
        low, high = self.intervals(k)
        return float(low[k]), float(high[k])

    def intervals(self, steps: int) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals k = 0, 1, ..., steps."""
        ends = np.array([self.interval(k) for k in range(steps + 1)])
        return ends[:, 0], ends[:, 1]


Data = Column | NDArray[np.generic]


@dataclass(frozen=True)
class Segment:
    """The weight w on each of the ranks first, ..., last."""

    first: int
    last: int
    weight: Fraction = Fraction(1)


class LStatistic(Reach):
    """T = Σ w_i·x(i) with w ≥ 0 on public ranks: quantiles, trimmed and Winsorized means, midhinge, trimean.

    **Reach.** Changing, adding or removing one row moves every order statistic by at most one rank, so interval k is
    [Σ w_i·x(i - gk), Σ w_i·x(i + gk)] for people with up to g rows. It is exact: k rows sent to +∞ give the upper end.
    The sums are exact and rounded once, which keeps order, so the axioms hold for the floats.
    """

    def __init__(self, data: Order, segments: tuple[Segment, ...], rows_per_person: int = 1) -> None:
        self._data, self._segments, self._g = data, segments, rows_per_person

    @classmethod
    def of(cls, x: Data, segments: tuple[Segment, ...], steps: int, rows_per_person: int = 1) -> Self:
        """The statistic of a column, ready for this many steps."""
        selected = as_column("x", x, MEASURED).order(cls.windows(segments, steps, rows_per_person))
        return cls(selected, segments, rows_per_person)

    @staticmethod
    def windows(segments: tuple[Segment, ...], steps: int, rows_per_person: int = 1) -> list[Window]:
        """The ranks that will be looked at: within g·steps of the ends of each segment."""
        k = steps * rows_per_person
        return [(end - k, end + k) for s in segments for end in {s.first, s.last}]

    @classmethod
    def quantile(cls, x: Data, rank: int, steps: int, rows_per_person: int = 1) -> Self:
        """The order statistic x(rank)."""
        return cls.of(x, (Segment(rank, rank),), steps, rows_per_person)

    def intervals(self, steps: int) -> tuple[Floats, Floats]:
        """The sums of order statistics gk ranks further down, and further up."""
        shifts = self._g * np.arange(steps + 1)
        return self._shifted_sums(-shifts), self._shifted_sums(shifts)

    def _shifted_sums(self, shifts: NDArray[np.int64]) -> Floats:
        """Σ w_i·x(i + shift) for each of the shifts, which go up or down from the first in one direction."""
        only = self._segments[0]
        if len(self._segments) == 1 and only.first == only.last and only.weight == 1:
            return self._data.at(only.first + shifts)
        out = np.full(shifts.size, np.nan)
        low, high = min(s.first for s in self._segments), max(s.last for s in self._segments)
        out[low + shifts < 1], out[high + shifts > self._data.n] = -np.inf, np.inf
        known = np.flatnonzero(np.isnan(out))
        common = math.lcm(*(s.weight.denominator for s in self._segments))
        weights = [s.weight.numerator * (common // s.weight.denominator) for s in self._segments]
        totals = [self._sums(s, shifts[known]) for s in self._segments]
        out[known] = as_floats([sum(map(operator.mul, weights, parts)) for parts in zip(*totals, strict=True)], common)
        return out

    def _sums(self, segment: Segment, shifts: NDArray[np.int64]) -> list[int]:
        """Exact sums of x over the segment moved by each shift: one sum, then what enters less what leaves."""
        if shifts.size == 0:
            return []
        if segment.first == segment.last:
            return as_integers(self._data.at(segment.first + shifts))
        start, moved = int(shifts[0]), np.arange(abs(int(shifts[-1] - shifts[0])))
        first, last = segment.first + start, segment.last + start
        up = shifts[-1] >= shifts[0]
        entering = self._data.at(last + 1 + moved if up else first - 1 - moved)
        leaving = self._data.at(first + moved if up else last - moved)
        changes = map(operator.sub, as_integers(entering), as_integers(leaving))
        running = itertools.accumulate(changes, initial=self._data.total(first, last))
        return list(running)[:: self._g]


def quantile_rank(p: Fraction, n: int) -> int:
    """The rank ⌈pn⌉ of the p-quantile, within 1..n: the least value with a share of at least p of the rows up to it."""
    return min(max(-(-p.numerator * n // p.denominator), 1), max(n, 1))


def quantile(p: Fraction, n: int) -> tuple[Segment, ...]:
    """The order statistic x(⌈pn⌉)."""
    rank = quantile_rank(p, n)
    return (Segment(rank, rank),)


def trimmed_mean(cut: Fraction, n: int) -> tuple[Segment, ...]:
    """The mean of what is left when ⌊cut·n⌋ rows are taken off each end."""
    off = int(cut * n)
    return (Segment(off + 1, n - off, Fraction(1, max(n - 2 * off, 1))),)


def winsorized_mean(cut: Fraction, n: int) -> tuple[Segment, ...]:
    """The mean where the ⌊cut·n⌋ rows at each end are set to the nearest one that is left."""
    off, each = int(cut * n), Fraction(1, max(n, 1))
    ends = (Segment(off + 1, off + 1, off * each), Segment(n - off, n - off, off * each)) if off else ()
    return (Segment(off + 1, n - off, each), *ends)


def midhinge(n: int) -> tuple[Segment, ...]:
    """The mean of the two quartiles."""
    return tuple(Segment(r, r, Fraction(1, 2)) for r in quartiles(n))


def trimean(n: int) -> tuple[Segment, ...]:
    """A quarter of each quartile and half of the median."""
    low, high = quartiles(n)
    middle = quantile_rank(Fraction(1, 2), n)
    return tuple(Segment(r, r, w) for r, w in ((low, Fraction(1, 4)), (middle, Fraction(1, 2)), (high, Fraction(1, 4))))


def spread_ranks(low: Fraction, high: Fraction, n: int) -> tuple[int, int]:
    """The ranks ⌊low·n⌋ + 1 and ⌈high·n⌉ of an interquantile range, alike from both ends."""
    return min(int(low * n) + 1, max(n, 1)), quantile_rank(high, n)


def quartiles(n: int) -> tuple[int, int]:
    """The ranks ⌊n/4⌋ + 1 and ⌈3n/4⌉."""
    return spread_ranks(Fraction(1, 4), Fraction(3, 4), n)
