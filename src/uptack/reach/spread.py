"""The reach of an interquantile range."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.reach.protocol import Floats
from uptack.reach.selection import OrderStatistics, Window


class InterquantileRange:
    """T = x(b) - x(a) for public ranks a ≤ b.

    **Reach.** With k people of up to g rows each, i of them pushing the lower end and k - i the upper one:
    [min over i of x(b - g(k-i)) - x(a + gi), floored at 0; max over i of x(b + g(k-i)) - x(a - gi)]. It is exact for
    replaced rows. A difference of floats is rounded correctly, which keeps order, so the axioms hold for the floats.
    """

    def __init__(self, x: NDArray[np.generic], ranks: tuple[int, int], steps: int, rows_per_person: int = 1) -> None:
        data = OrderStatistics(x, self.windows(ranks, steps, rows_per_person))
        moves = rows_per_person * np.arange(steps + 1)
        self._low_out, self._low_in = data.at(ranks[0] - moves), data.at(ranks[0] + moves)
        self._high_in, self._high_out = data.at(ranks[1] - moves), data.at(ranks[1] + moves)
        self.value = self.interval(0)[0]

    @staticmethod
    def windows(ranks: tuple[int, int], steps: int, rows_per_person: int = 1) -> list[Window]:
        """The ranks that will be looked at."""
        k = steps * rows_per_person
        return [(rank - k, rank + k) for rank in ranks]

    def interval(self, k: int) -> tuple[float, float]:
        """The ends for one k."""
        i, rest = slice(0, k + 1), slice(k, None, -1)
        widest = self._high_out[rest] - self._low_out[i]
        with np.errstate(invalid="ignore"):  # inf - inf, where both ends have left the table on one side
            narrowest = np.nan_to_num(self._high_in[rest] - self._low_in[i], nan=0.0)
        return max(float(narrowest.min()), 0.0), float(widest.max())

    def intervals(self, steps: int) -> tuple[Floats, Floats]:
        """The ends for k = 0, ..., steps."""
        ends = np.array([self.interval(k) for k in range(steps + 1)])
        return ends[:, 0], ends[:, 1]
