"""Reaches of differences: of two groups' order statistics, of all pairs of rows, and of two quantiles of one column.

The last one is the interquantile range, of rows, and of people, whose rows may push both ends at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uptack.reach.l_statistics import Floats, Reach
from uptack.table.memory.table import as_column
from uptack.table.protocol import Column
from uptack.table.reads import MEASURED
from uptack.table.unit import Integers, U

Data = Column | NDArray[np.generic]
AT_ONCE = 1 << 21
"""How many rows times candidates are compared at once."""


class Difference(Reach):
    """T = a(r) - b(s) for ranks r of one group and s of the other.

    **Reach.** With m = gk rows of k people, i of them in the first group and m - i in the second: [min over i of
    a(r - i) - b(s + m - i), max over i of a(r + i) - b(s - m + i)]. A row that changes, comes or goes moves the order
    statistics of one group by at most one rank, so the rows are split freely.

    A replaced row may also go from one group to the other, if its label is part of it. Then it moves both groups by one
    rank each: for {0, 10, 20} and {0, 10, 20, 30}, let 20 go over and become 100. So with `together` both sides move by
    m: [a(r - m) - b(s + m), a(r + m) - b(s - m)].

    Ranks may be computed from the true sizes if these are secret: the score of a quantile still moves by at most
    one where a row comes or goes (`uptack.statistics.statistic.outcome`), and so does its interval.

    A difference of floats is rounded correctly, which keeps order; +inf less +inf counts as -inf in the lower end and
    as +inf in the upper one, which keeps it too. So the axioms hold for the floats.
    """

    def __init__(
        self, a: Data, b: Data, ranks: tuple[int, int], steps: int, rows_per_person: int = 1, together: bool = False
    ) -> None:
        self._g, self._together = rows_per_person, together
        most = steps * rows_per_person
        around = [[(rank - most, rank + most)] for rank in ranks]
        if a is b:
            orders = [as_column("x", a, MEASURED).order(around[0] + around[1])] * 2
        else:
            orders = [as_column("x", data, MEASURED).order(near) for data, near in zip((a, b), around, strict=True)]
        moves = np.arange(most + 1)
        self._a_low, self._b_low = (order.at(rank - moves) for order, rank in zip(orders, ranks, strict=True))
        self._a_high, self._b_high = (order.at(rank + moves) for order, rank in zip(orders, ranks, strict=True))

    def interval(self, k: int) -> tuple[float, float]:
        """The ends for one k; of T itself not finite with an empty group."""
        (low,), (high,) = self._ends([k])
        return float(low), float(high)

    def intervals(self, steps: int) -> tuple[Floats, Floats]:
        return self._ends(range(steps + 1))

    def _ends(self, steps: Sequence[int]) -> tuple[Floats, Floats]:
        low, high = np.empty(len(steps)), np.empty(len(steps))
        with np.errstate(invalid="ignore", over="ignore"):
            for place, m in enumerate(self._g * k for k in steps):
                i, rest = (slice(m, m + 1),) * 2 if self._together else (slice(0, m + 1), slice(m, None, -1))
                low[place] = (self._a_low[i] - self._b_high[rest]).min()  # NaN if one of them is
                high[place] = (self._a_high[i] - self._b_low[rest]).max()
        return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


class PairwiseShift(Reach):
    """T = a median of a_i - b_j over all pairs of two groups (Hodges and Lehmann), on the points of a lattice.

    **Reach.** For a candidate y let S(y) be the number of pairs with b_j ≥ a_i - y less the number of the others, and
    S'(y) the same with b_j > a_i - y. Interval k holds the y with S(y) ≥ -t_k and S'(y) ≤ t_k, where t_k = k·step. Each
    is a sum of ±1 over pairs, which depends on two rows each. If such sums, times a public or secret h, move by at most
    h·step where one person's rows change, then a y of interval k of D' is in interval k + 1 of D. S and S' rise with y,
    so intervals are intervals. The difference a_i - y is rounded; the sign of a pair depends on it alone.
    """

    def __init__(self, a: Floats, b: Floats, step: Fraction, steps: int, values: Callable[..., Floats], top: int):
        self._a, self._b, self._values, self._top = np.sort(a), np.sort(b), values, top
        pairs = a.size * b.size
        moved = [k * step for k in range(steps + 1)]
        lows = [math.ceil((pairs - t) / 2) for t in moved]
        highs = [math.floor((pairs + t) / 2) for t in moved]
        self._low = self._edges(lows, [low <= 0 for low in lows], "left", -np.inf)
        self._high = self._edges([high + 1 for high in highs], [high >= pairs for high in highs], "right", np.inf)

    def intervals(self, steps: int) -> tuple[Floats, Floats]:
        return self._low[: steps + 1], self._high[: steps + 1]

    def _edges(self, wanted: list[int], beyond: list[bool], side: str, outside: float) -> Floats:
        """For each number of pairs the point before the least one that has as many (left), or the one after the last
        that has fewer (right): one point further out than they must be, so that a median between two points is inside.
        """
        open_ended = np.array(beyond)
        need = np.array([0 if out else count for count, out in zip(wanted, beyond, strict=True)], np.int64)
        low, high = np.full(need.size, -self._top - 1), np.full(need.size, self._top + 1)
        while (live := ~open_ended & (high - low > 1)).any():
            middle = (low[live] + high[live]) // 2
            enough = self._counts(middle, side) >= need[live]
            low[live], high[live] = np.where(enough, low[live], middle), np.where(enough, middle, high[live])
        edge = np.clip(high - 1 if side == "left" else low + 1, -self._top, self._top)
        return np.where(open_ended, outside, self._values(edge))

    def _counts(self, ordinals: NDArray[np.int64], side: str) -> NDArray[np.int64]:
        """Pairs with b_j ≥ a_i - y (left), or with b_j > a_i - y (right)."""
        distinct, back = np.unique(ordinals, return_inverse=True)
        some = max(AT_ONCE // max(self._a.size, 1), 1)
        counts = np.zeros(distinct.size, np.int64)
        for start in range(0, distinct.size, some):
            y = self._values(distinct[start : start + some])
            with np.errstate(over="ignore"):
                below = np.searchsorted(self._b, self._a[None, :] - y[:, None], side=side)  # type: ignore[call-overload]
            counts[start : start + some] = self._a.size * self._b.size - below.sum(axis=1)
        return counts[back]


# --------------------------------------------------------------------------------------------------------------- ranges


class InterquantileRange(Difference):
    """T = x(b) - x(a) for public ranks a ≤ b: a difference of two order statistics of one column, floored at 0.

    **Reach.** That of a difference, where of m = gk rows of k people i push the lower end and m - i the upper one. A
    person may push both ends, so the rows are split freely. It is exact for replaced rows.
    """

    def __init__(self, x: Data, ranks: tuple[int, int], steps: int, rows_per_person: int = 1) -> None:
        super().__init__(x, x, ranks[::-1], steps, rows_per_person)

    def _ends(self, steps: Sequence[int]) -> tuple[Floats, Floats]:
        low, high = super()._ends(steps)
        return np.maximum(low, 0.0), high


class _Inverse(NamedTuple):
    """F^-1 around a rank: the values there, and the units up to each."""

    values: Floats
    up_to: Integers

    def __call__(self, units: Integers) -> Floats:
        """The least v with F(v) ≥ u; -inf for u ≤ 0, and +inf past the end."""
        values = np.append(self.values, np.inf)[np.searchsorted(self.up_to, units)]
        return np.where(units <= 0, -np.inf, values)

    def between(self, least: int, most: int) -> tuple[Floats, Integers]:
        """The values with least ≤ F(v) ≤ most, and F(v)."""
        inside = slice(np.searchsorted(self.up_to, least), np.searchsorted(self.up_to, most, side="right"))
        return self.values[inside], self.up_to[inside]


class PeopleRange(Reach):
    """T = z(b) - z(a) for public ranks a ≤ b of people (`uptack.table.unit`).

    **Reach.** Let A = (a - 1/2)·U, B = (b - 1/2)·U and κ = k·U. Interval k is

        [max(0, min over i of F^-1(B - κ + i) - F^-1(A + i)); max over i of F^-1(B + κ - i) - F^-1(A - i)]

    over all numbers of units 0 ≤ i ≤ κ. A person pushes one end with some of her rows and the other with the rest, so
    *units* are split, and whole people are not enough: replacing {1, 7} in {1, 7}, {3}, {3, 7} by {3} takes the range
    of the ranks 1 and 3 from 6 to 0, where splitting whole people would say that it is at least 2.

    *Axiom 3.* Let a person's f units up to each v become f', both rising from 0 to U at most, and F' = F - f + f'. Let
    x = F'^-1(s) ≤ y = F'^-1(t). Then F'(x) ≥ s and F'(y-) < t, so F(x) ≥ s - i with i = max(0, f'(x) - f(x)), and
    F(y-) < t + j with j = max(0, f(y-) - f'(y-)). So x ≥ F^-1(s - i) and y ≤ F^-1(t + j), and i + j ≤ U: i ≤ U and
    j ≤ U, and where both are above 0 and x < y their sum is (f(y-) - f(x)) - (f'(y-) - f'(x)) ≤ U. The other end is the
    same with signs changed: F(x-) < s + i, F(y) ≥ t - j. With s and t of interval k that is interval k + 1. ∎

    *Which i matter.* As i grows, F^-1(A - i) falls at i = A - F(v) and nowhere else, and F^-1(B + κ - i) falls too. So
    the largest difference is at i = 0 or at such an i; for the lower end, at i = κ or i = F(v) - B + κ. The
    differences are rounded correctly, which keeps order, so the axioms hold for the floats.
    """

    def __init__(self, x: Column, ranks: tuple[int, int], steps: int) -> None:
        data = x.order([(rank - steps, rank + steps) for rank in ranks])
        self._low, self._high = (_Inverse(*data.jumps(rank - steps, rank + steps)) for rank in ranks)
        self._a, self._b = ((2 * rank - 1) * (U // 2) for rank in ranks)

    def interval(self, k: int) -> tuple[float, float]:
        return self._narrowest(k * U), self._widest(k * U)

    def _widest(self, moved: int) -> float:
        """F^-1(B + κ - i) - F^-1(A - i) where that is largest."""
        if moved >= self._a:
            return np.inf
        left, up_to = self._low.between(self._a - moved, self._a)
        split = np.append(self._a - up_to, 0)
        left = np.append(left, self._low(np.array([self._a])))
        apart = _differences(self._high(self._b + moved - split), left)
        return float(np.where(np.isnan(apart), np.inf, apart).max())

    def _narrowest(self, moved: int) -> float:
        """F^-1(B - κ + i) - F^-1(A + i) where that is least, and at least 0."""
        if moved >= self._b:
            return 0.0
        right, up_to = self._high.between(self._b - moved, self._b)
        split = np.append(up_to - self._b + moved, moved)
        right = np.append(right, self._high(np.array([self._b])))
        apart = _differences(right, self._low(self._a + split))
        return max(float(np.where(np.isnan(apart), 0.0, apart).min()), 0.0)


def _differences(high: Floats, low: Floats) -> Floats:
    """NaN where both have left the table on one side."""
    with np.errstate(invalid="ignore", over="ignore"):
        return high - low


def range_reach(x: Any, ranks: tuple[int, int], steps: int, rows_per_person: int = 1) -> Reach:
    """The reach of an interquantile range of rows, or of people's rows where these have weights."""
    column = as_column("x", x, MEASURED)
    if column.unit.weighted:
        return PeopleRange(column, ranks, steps)
    return InterquantileRange(column, ranks, steps, rows_per_person)
