"""The reach of an interquantile range: of rows, and of people, whose rows may push both ends at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uptack.reach.group_difference import Data, Difference
from uptack.reach.protocol import Floats, Reach
from uptack.table.protocol import Column
from uptack.table.reads import MEASURED, as_column
from uptack.table.unit import Integers, U


class InterquantileRange(Difference):
    """T = x(b) - x(a) for public ranks a ≤ b: a difference of two order statistics of one column, floored at 0.

    **Reach.** That of a difference, where of m = gk rows of k people i push the lower end and m - i the upper one. A
    person may push both ends, so the rows are split freely. It is exact for replaced rows.
    """

    def __init__(self, x: Data, ranks: tuple[int, int], steps: int, rows_per_person: int = 1) -> None:
        super().__init__(x, x, ranks[::-1], steps, rows_per_person)

    def interval(self, k: int) -> tuple[float, float]:
        low, high = super().interval(k)
        return max(low, 0.0), high


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
