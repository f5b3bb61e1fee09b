"""Reaches of differences between two groups: of order statistics, and the median of all differences of two rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack.reach.protocol import Floats, Reach
from uptack.table.protocol import Column
from uptack.table.reads import MEASURED, as_column

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
        m = self._g * k
        i, rest = (slice(m, m + 1),) * 2 if self._together else (slice(0, m + 1), slice(m, None, -1))
        with np.errstate(invalid="ignore", over="ignore"):
            low, high = self._a_low[i] - self._b_high[rest], self._a_high[i] - self._b_low[rest]
        return float(np.where(np.isnan(low), -np.inf, low).min()), float(np.where(np.isnan(high), np.inf, high).max())


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
