"""The reach of the median of all differences between the rows of two groups (Hodges and Lehmann)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack.reach.protocol import Floats

AT_ONCE = 1 << 21
"""How many rows times candidates are compared at once."""


class PairwiseShift:
    """T = a median of a_i - b_j over the m = n₁·n₀ pairs of two groups, on the points of a lattice.

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

    @property
    def value(self) -> float:
        """One of the medians."""
        return float(self._low[0])

    def interval(self, k: int) -> tuple[float, float]:
        """The ends for one k."""
        return float(self._low[k]), float(self._high[k])

    def intervals(self, steps: int) -> tuple[Floats, Floats]:
        """The ends for k = 0, ..., steps."""
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
        found = np.zeros(distinct.size, np.int64)
        for start in range(0, distinct.size, some):
            y = self._values(distinct[start : start + some])
            with np.errstate(over="ignore"):
                below = np.searchsorted(self._b, self._a[None, :] - y[:, None], side=side)  # type: ignore[call-overload]
            found[start : start + some] = self._a.size * self._b.size - below.sum(axis=1)
        return found[back]
