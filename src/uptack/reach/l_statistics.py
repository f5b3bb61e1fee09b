"""Reaches of sums of order statistics with weights of at least 0, and of the median absolute deviation (MAD)."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from uptack.table.exact_sum import as_floats, as_integers
from uptack.table.memory.table import as_column
from uptack.table.protocol import Column
from uptack.table.reads import MEASURED
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
        shifts, only = self._g * np.arange(steps + 1), self._segments[0]
        if len(self._segments) == 1 and only.first == only.last and only.weight == 1:
            both = self._data.at(only.first + np.concatenate([-shifts, shifts]))
            return both[: steps + 1], both[steps + 1 :]
        return self._shifted_sums(-shifts), self._shifted_sums(shifts)

    def _shifted_sums(self, shifts: NDArray[np.int64]) -> Floats:
        """Σ w_i·x(i + shift) for each of the shifts, which go up or down from the first in one direction."""
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


# ------------------------------------------------------------------------------------------------- the median deviation


LARGE, TINY = 2.0**1000, 2.0**-960
"""Rows beyond ±LARGE are read as ±LARGE and those within ±TINY as 0, so that no sum or half of two rows is rounded."""


class MedianDeviation(Reach):
    """T = R(c, r), where c = x(r) for a public rank r, and R(c, j) is the j-th smallest of the distances |x - c|.

    **Reach.** With m = gk rows of k people changed, c stays in I = [x(r - m), x(r + m)], and each R(c, j) lies between
    the old R(c, j - m) and R(c, j + m). So interval k is [min over c in I of R(c, r - m); max over c in I of R(c, r +
    m)]. *Axiom 3*: for a neighbour D' the I of k is inside the I of k + 1 of D, and R'(c, r + m) ≤ R(c, r + m + g). ∎

    The j nearest rows to c are neighbours in order, so R(c, j) = min over i of max(c - x(i), x(i + j - 1) - c). As a
    function of c that is a zigzag. Its valleys are at (x(i) + x(i+j-1))/2, with value (x(i+j-1) - x(i))/2. Its peaks
    are at (x(i) + x(i+j))/2, with value (x(i+j) - x(i))/2. So the extremes over I are at its ends, or are valleys or
    peaks inside. Which i these are depends on the data: they are found by two selections of distances and one count,
    and a last selection then has their rows. Whether a valley or peak lies inside is decided exactly, and each value is
    rounded once, which keeps order, so the axioms hold for the floats.
    """

    def __init__(self, x: Column | NDArray[np.generic], rank: int, steps: int, rows_per_person: int = 1) -> None:
        self._rank, self._g = rank, rows_per_person
        column, most = as_column("x", x, MEASURED), steps * rows_per_person
        middle = column.order([(rank - most, rank + most)])
        moves = np.arange(most + 1)
        self._left, self._right = _tame(middle.at(rank - moves)), _tame(middle.at(rank + moves))
        most = int(np.count_nonzero(np.isfinite(self._left) & np.isfinite(self._right))) - 1  # beyond all is infinite
        first, last = (1, 0) if most < 0 else _range(column, self._left[most], self._right[most], rank, most)
        span = (first, last + 1)
        far = (first + rank - most - 1, last + rank + most + 1)
        order = column.order([span, far])
        self._low, self._high = _Ranks(order, span), _Ranks(order, far)
        self._span = (first, last)

    def interval(self, k: int) -> tuple[float, float]:
        m = self._g * k
        a, b = float(self._left[m]), float(self._right[m])
        return self._extreme(a, b, self._rank - m, lowest=True), self._extreme(a, b, self._rank + m, lowest=False)

    def _extreme(self, a: float, b: float, j: int, lowest: bool) -> float:
        """The least, or the largest, R(c, j) over c in [a, b]."""
        if not lowest and not (np.isfinite(a) and np.isfinite(b)):
            return np.inf
        if lowest and (j < 1 or not (np.isfinite(a) and np.isfinite(b))):
            return 0.0
        x, y = self._pairs(j - 1)
        ends = [float(np.minimum.reduce(np.maximum(c - x, y - c), initial=np.inf)) for c in (a, b)]
        if not lowest:
            x, y = self._pairs(j)
        upper, lower = _compare(x, y, b), _compare(x, y, a)
        inside = (upper <= 0) & (lower >= 0)
        turns = (y[inside] - x[inside]) / 2
        return float(min([*ends, turns.min(initial=np.inf)]) if lowest else max([*ends, turns.max(initial=0.0)]))

    def _pairs(self, apart: int) -> tuple[Floats, Floats]:
        """x(i) and x(i + apart) for all i of the span, each pair of values once."""
        first, last = self._span
        i = np.unique(np.concatenate(([first], self._low.changes, self._high.changes - apart)))
        i = i[(i >= first) & (i <= last)]
        return self._low.at(i), self._high.at(i + apart)


class _Ranks:
    """Rows of a window of ranks, tame, and infinite past the ends of the table; and at which ranks they change."""

    def __init__(self, order: Order, window: Window) -> None:
        self._first, self._last = window
        ranks = np.arange(self._first, self._last + 1)
        self._values = _tame(order.at(ranks))
        self.changes = ranks[1:][self._values[1:] != self._values[:-1]]

    def at(self, ranks: NDArray[np.int64]) -> Floats:
        """x(r) for ranks of the window."""
        return self._values[np.clip(ranks, self._first, self._last) - self._first]


def _tame(x: Floats) -> Floats:
    """Rows that can be added and halved without rounding; each row by itself, in order. Infinite ones stay so."""
    bounded = np.where(np.isinf(x), x, np.clip(x, -LARGE, LARGE))
    return np.where(np.abs(bounded) < TINY, 0.0, bounded)


def _compare(x: Floats, y: Floats, c: float) -> Floats:
    """The sign of (x + y)/2 - c, exactly: that of the rounded sum less 2c, and then that of the exact rest (Knuth)."""
    with np.errstate(invalid="ignore"):
        s = x + y
        back = s - x
        rest = (x - (s - back)) + (y - back)
    sign = np.where(s == 2 * c, np.where(np.isfinite(s), rest, 0.0), np.where(s < 2 * c, -1.0, 1.0))
    return np.asarray(np.sign(sign))


def _range(column: Column, a: float, b: float, rank: int, most: int) -> tuple[int, int]:
    """The first and the last i whose valleys or peaks can matter for c in [a, b] and j within `most` of the rank.

    The last valley up to c belongs to an i with #{x < c - R} ≤ i ≤ #{x ≤ c - R}, R = R(c, j). It rises with c and falls
    with j, so two counts bound all of them. More than are needed do no harm, so there is room for rounded distances.
    """
    nearest, furthest = _distance(column, b, rank - most), _distance(column, a, rank + most)
    counts = functools.partial(_counts, near=(b, nearest), far=(a, furthest))
    beyond, up_to = column.sum(counts)
    return max(int(beyond) - 1, 1), column.count() if nearest > LARGE / 4 else int(up_to) + 1


def _distance(column: Column, c: float, j: int) -> float:
    """R(c, j); past the ends of the table 0 or infinite."""
    return float(column.distance(c).order([(j, j)]).at(np.array([j]))[0]) if j >= 1 else 0.0


def _counts(x: Floats, near: tuple[float, float], far: tuple[float, float]) -> list[int]:
    """How many rows lie further to the left than `far` says, and how many at least as far as `near` says."""
    room = 1e-12
    beyond = far[0] - _tame(x) > far[1] * (1 + room) + TINY
    up_to = near[0] - _tame(x) >= near[1] * (1 - room) - TINY
    return [int(np.count_nonzero(beyond)), int(np.count_nonzero(up_to))]
