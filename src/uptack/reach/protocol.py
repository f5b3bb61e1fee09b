"""The one idea: how far can the answer move when k rows change?"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

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
