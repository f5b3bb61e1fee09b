"""What rows contribute to a sum, as whole numbers: not added up yet, so that rows can have units.

**Exact sums.** Entries of vectors are whole numbers of at most 2^18, units are below 2^33, and batches have at most
2^14 rows (`uptack.multivariate.steps.BATCH`). What is added up in floats is at most 2^53, and what in integers of 64
bits is below 2^63: so nothing is rounded, whatever the order. Larger numbers are split first.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Units = NDArray[np.int64]
Whole = NDArray[Any]
HALF, WIDE = 17, 26
"""Bits of the lower part of units, and of a sum of squares."""


class Terms(ABC):
    """What each row of a batch contributes."""

    @abstractmethod
    def total(self) -> Whole:
        """Their sum."""

    @abstractmethod
    def weighed(self, units: Units) -> Whole:
        """Σ units·contribution, as Python's integers. Rows with equal units are next to each other."""


@dataclass(frozen=True, eq=False)
class Vectors(Terms):
    """Whole numbers, one per row or several: the last axis is that of rows."""

    values: Floats

    def total(self) -> Whole:
        """Below 2^32."""
        return np.asarray(self.values.sum(axis=-1))

    def weighed(self, units: Units) -> Whole:
        """By both halves of the units: sums below 2^50."""
        high, low = (exact((self.values * half).sum(axis=-1)) for half in (units >> HALF, units & ((1 << HALF) - 1)))
        return high * (1 << HALF) + low


@dataclass(frozen=True, eq=False)
class Squares(Terms):
    """uuᵀ of a vector u for each row, which is a column here."""

    vectors: Floats

    def total(self) -> Whole:
        """Entries of at most 2^50."""
        return np.asarray(self.vectors @ self.vectors.T)

    def weighed(self, units: Units) -> Whole:
        """Those of rows with equal units first."""
        starts = np.flatnonzero(np.diff(units, prepend=-1))
        parts = [self.vectors[:, a:b] for a, b in itertools.pairwise([*starts.tolist(), units.size])]
        width = len(self.vectors)
        totals = np.array([part @ part.T for part in parts], np.float64).reshape(-1, width, width)
        return _combined(units[starts], totals.astype(np.int64))


def _combined(units: Units, totals: Units) -> Whole:
    """Σ units·total: both are split, so that sums of 2^14 products are below 2^60."""
    found = np.zeros(totals.shape[1:], object)
    for up, part in ((HALF, units >> HALF), (0, units & ((1 << HALF) - 1))):
        for higher, half in ((WIDE, totals >> WIDE), (0, totals & ((1 << WIDE) - 1))):
            found = found + np.tensordot(part, half, axes=(0, 0)).astype(object) * (1 << (up + higher))
    return found


@dataclass(frozen=True, eq=False)
class Tally(Terms):
    """One level per row, of so many: what is added up is how many rows are on each."""

    levels: Units
    size: int

    def total(self) -> Whole:
        """Up to 2^14."""
        return np.bincount(self.levels, minlength=self.size)

    def weighed(self, units: Units) -> Whole:
        """Floats below 2^47."""
        return exact(np.bincount(self.levels, units.astype(np.float64), self.size))


def exact(part: Any) -> Whole:
    """Whole numbers as Python's own. (NumPy takes one of 2^63 or more for another type of 64 bits.)"""
    made = np.asarray(part, object) if isinstance(part, int) else np.asarray(part)
    return made if made.dtype == object else made.astype(np.int64).astype(object)
