"""Rows that were counted already, where they are kept."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uptack.table.values.field import Floats, listed


@dataclass(frozen=True, eq=False)
class Tally:
    """Distinct values of a column, and how many rows have each: what a database says in one query.

    A function of counts takes it in place of the column.
    """

    values: tuple[Hashable, ...]
    counts: NDArray[np.int64]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())

    def numbers(self) -> Floats:
        """The values as floats; what is no number as NaN."""
        return listed(self.values)
