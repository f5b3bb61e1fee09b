"""How many rows lie beyond any number, as far as both ends of a column tell: for the draws of a frame."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.reach.protocol import Floats
from uptack.statistics.statistic import Data
from uptack.table.unit import U, wide


@dataclass(frozen=True)
class Tails:
    """How many rows are below and from any number on, as far as both ends of the column tell; in parts of `unit`.

    Counts above what the ends hold come out as what they hold. `centre` is the row of the public rank ⌊(N + 1)/2⌋.
    """

    lows: Floats
    below_lows: NDArray[np.int64]
    highs: Floats
    from_highs: NDArray[np.int64]
    ranks: tuple[float, ...]
    size: int
    centre: float = math.nan
    unit: int = 1

    @staticmethod
    def read(data: Data, least: int, depth: int, rank: int) -> Tails:
        """The `depth` rows at each end, and the order statistics of ranks `least`, 2·least, ..., and of one more."""
        if data.unit.weighted:
            return Tails._of_people(data, least)
        n = data.count()
        deep = min(depth, n)
        ranks = np.arange(least, n + 1, least)
        found = data.order([(1, deep), (n - deep + 1, n), *((int(r), int(r)) for r in (*ranks, rank))])
        lows, highs = found.at(np.arange(1, deep + 1)), found.at(np.arange(n - deep + 1, n + 1))
        steps = np.arange(deep + 1)
        centre = float(found.at(np.array([rank]))[0])
        return Tails(lows, steps, highs, deep - steps, tuple(found.at(ranks).tolist()), n, centre)

    @staticmethod
    def _of_people(data: Any, least: int) -> Tails:
        values, up_to = data.distribution
        total, apart = int(up_to[-1]) if up_to.size else 0, max(least - 1, 1) * U
        below = np.append(0, up_to)
        ranks = np.searchsorted(up_to, wide(np.arange(1, total // apart + 1), total) * apart)
        return Tails(values, below, values, total - below, tuple(values[ranks].tolist()), total, unit=U)

    def below(self, edges: Floats) -> NDArray[np.int64]:
        """Rows below each edge."""
        return self.below_lows[np.searchsorted(self.lows, edges, "left")]

    def outside(self, low: float, high: float) -> int:
        """Rows below the one, or at or above the other."""
        below, beyond = bisect_left(self.lows, low), bisect_left(self.highs, high)
        return int(self.below_lows[below] + self.from_highs[beyond])

    def above(self, edges: Floats) -> NDArray[np.int64]:
        """Rows above each edge."""
        return self.from_highs[np.searchsorted(self.highs, edges, "right")]
