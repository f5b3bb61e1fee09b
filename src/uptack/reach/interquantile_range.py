"""The reach of an interquantile range."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.reach.protocol import Floats
from uptack.table.arguments import ORDERED, as_column
from uptack.table.protocol import Column
from uptack.table.search import Window


class InterquantileRange:
    """T = x(b) - x(a) for public ranks a ≤ b.

    **Reach.** With m = gk rows of k people, i of them pushing the lower end and m - i the upper one:
    [min over i of x(b - (m-i)) - x(a + i), floored at 0; max over i of x(b + (m-i)) - x(a - i)]. A person may push both
    ends, so the rows are split freely. It is exact for replaced rows. A difference of floats is rounded correctly,
    which keeps order, so the axioms hold for the floats.
    """

    def __init__(
        self, x: Column | NDArray[np.generic], ranks: tuple[int, int], steps: int, rows_per_person: int = 1
    ) -> None:
        data = as_column("x", x, ORDERED).order(self.windows(ranks, steps, rows_per_person))
        moves = np.arange(steps * rows_per_person + 1)
        self._low_out, self._low_in = data.at(ranks[0] - moves), data.at(ranks[0] + moves)
        self._high_in, self._high_out = data.at(ranks[1] - moves), data.at(ranks[1] + moves)
        self._g = rows_per_person
        self._inside = bool(np.isfinite([self._low_out[-1], self._high_out[-1]]).all())
        self.value = self.interval(0)[0]

    @staticmethod
    def windows(ranks: tuple[int, int], steps: int, rows_per_person: int = 1) -> list[Window]:
        """The ranks that will be looked at."""
        k = steps * rows_per_person
        return [(rank - k, rank + k) for rank in ranks]

    def interval(self, k: int) -> tuple[float, float]:
        """The ends for one k."""
        m = self._g * k
        i, rest = slice(0, m + 1), slice(m, None, -1)
        with np.errstate(invalid="ignore", over="ignore"):
            widest, narrowest = self._high_out[rest] - self._low_out[i], self._high_in[rest] - self._low_in[i]
        if not self._inside:  # inf - inf, where both ends have left the table on one side
            widest, narrowest = np.where(np.isnan(widest), np.inf, widest), np.where(np.isnan(narrowest), 0, narrowest)
        return max(float(narrowest.min()), 0.0), float(widest.max())

    def intervals(self, steps: int) -> tuple[Floats, Floats]:
        """The ends for k = 0, ..., steps."""
        ends = np.array([self.interval(k) for k in range(steps + 1)])
        return ends[:, 0], ends[:, 1]
