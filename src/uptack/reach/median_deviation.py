"""The reach of the median absolute deviation (MAD): the median of |x - c|, c the median of x."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from uptack.reach.l_statistics import Floats, Reach
from uptack.table.protocol import Column
from uptack.table.reads import MEASURED, as_column
from uptack.table.search import Order, Window

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
