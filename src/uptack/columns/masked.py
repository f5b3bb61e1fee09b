"""A column of whole numbers in memory, some of which are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns.numeric import ArrayColumn
from uptack.columns.selection import Floats, OrderStatistics, Window


class MaskedColumn:
    """Whole numbers and a mask of the rows without one: they stay integers, whether a row is missing or not."""

    integers = True

    def __init__(self, values: NDArray[Any], missing: NDArray[np.bool_]) -> None:
        self._numbers, self._missing = values, missing

    @property
    def size(self) -> int:
        """The number of rows."""
        return self._numbers.size

    @cached_property
    def values(self) -> Floats:
        """The nearest floats, with NaN for rows without a value."""
        return np.where(self._missing, np.nan, self._numbers.astype(np.float64))

    def finite(self) -> bool:
        """Whether no row is missing."""
        return not self._missing.any()

    def filled(self, missing: float) -> ArrayColumn:
        """Missing rows replaced by a number; a whole one beyond what the type can hold by the nearest that it can.

        Only if the number asked for is no whole one, all are floats.
        """
        if not missing.is_integer():
            return ArrayColumn(np.where(self._missing, missing, self._numbers.astype(np.float64)), True)
        limits = np.iinfo(self._numbers.dtype)
        instead = min(max(int(missing), int(limits.min)), int(limits.max))
        return ArrayColumn(np.where(self._missing, self._numbers.dtype.type(instead), self._numbers), True)

    def present(self) -> ArrayColumn:
        """The rows that have a value."""
        return ArrayColumn(self._numbers[~self._missing], True)

    def floats(self) -> ArrayColumn:
        """The column as floats."""
        return ArrayColumn(self.values, False)

    def away(self, centre: float) -> ArrayColumn:
        """Distances from a number."""
        return self.floats().away(centre)

    def ordered(self, windows: Sequence[Window]) -> OrderStatistics:
        """Order statistics, missing rows last."""
        return self.floats().ordered(windows)

    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over batches."""
        return self.floats().sums(f)

    def taken(self, rows: NDArray[np.int64]) -> MaskedColumn:
        """Some of the rows."""
        return MaskedColumn(self._numbers[rows], self._missing[rows])
