"""The reach of a difference between order statistics of two groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.reach.protocol import Floats
from uptack.table.arguments import MEASURED, as_column
from uptack.table.protocol import Column

Data = Column | NDArray[np.generic]


class Difference:
    """T = a(r) - b(s) for ranks r of one group and s of the other.

    **Reach.** With m = gk rows of k people, i of them in the first group and m - i in the second: [min over i of
    a(r - i) - b(s + m - i), max over i of a(r + i) - b(s - m + i)]. A row that changes, comes or goes moves the order
    statistics of one group by at most one rank, so the rows are split freely.

    A replaced row may also go from one group to the other, if its label is part of it. Then it moves both groups by one
    rank each: for {0, 10, 20} and {0, 10, 20, 30}, let 20 go over and become 100. So with `together` both sides move by
    m: [a(r - m) - b(s + m), a(r + m) - b(s - m)].

    Ranks may be worked out from the true sizes where these are secret: the score of a quantile still moves by at most
    one where a row comes or goes (`uptack.statistics.release_methods.measured`), and so does its interval.

    A difference of floats is rounded correctly, which keeps order; +inf less +inf counts as -inf in the lower end and
    as +inf in the upper one, which keeps it too. So the axioms hold for the floats.
    """

    def __init__(
        self, a: Data, b: Data, ranks: tuple[int, int], steps: int, rows_per_person: int = 1, together: bool = False
    ) -> None:
        self._g, self._together = rows_per_person, together
        moves = np.arange(steps * rows_per_person + 1)
        ends = []
        for data, rank in ((a, ranks[0]), (b, ranks[1])):
            found = as_column("x", data, MEASURED).order([(rank - int(moves[-1]), rank + int(moves[-1]))])
            ends.append((found.at(rank - moves), found.at(rank + moves)))
        (self._a_low, self._a_high), (self._b_low, self._b_high) = ends

    @property
    def value(self) -> float:
        """T: with an empty group it is not finite."""
        return self.interval(0)[0]

    def interval(self, k: int) -> tuple[float, float]:
        """The ends for one k."""
        m = self._g * k
        i, rest = (slice(m, m + 1),) * 2 if self._together else (slice(0, m + 1), slice(m, None, -1))
        with np.errstate(invalid="ignore", over="ignore"):
            low, high = self._a_low[i] - self._b_high[rest], self._a_high[i] - self._b_low[rest]
        return float(np.where(np.isnan(low), -np.inf, low).min()), float(np.where(np.isnan(high), np.inf, high).max())

    def intervals(self, steps: int) -> tuple[Floats, Floats]:
        """The ends for k = 0, ..., steps."""
        ends = np.array([self.interval(k) for k in range(steps + 1)])
        return ends[:, 0], ends[:, 1]
