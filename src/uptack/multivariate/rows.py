"""Rows of several numbers, and what may be asked of them: sums of integers, pair by pair or row by row, and medians.

A step of a multivariate release is a function of a batch of rows that returns integers. Integers add up to the same sum
in any order and in any batches, so a step gives the same numbers in memory, in batches of a file, and in partitions of
a cluster. What one row contributes must not depend on the other rows of its batch. So functions use elementwise
arithmetic only, which IEEE 754 defines to the last bit; a product of matrices would not do, since libraries add up in
an order that depends on the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from uptack.blocks.partition import equal_blocks, independent_blocks
from uptack.columns.numeric import Ordered
from uptack.columns.selection import OrderStatistics
from uptack.noise import Entropy

Floats = NDArray[np.float64]
Whole = NDArray[Any]
"""Integers: as Python's own, or in a batch as any numbers that are whole and below 2^53."""

Step = Callable[[Floats], Sequence[Whole]]
PairStep = Callable[[Floats, Floats], Sequence[Whole]]

BATCH = 1 << 13
"""Rows at a time: a column of them stays in the cache."""


class Rows(Protocol):
    """A table of numbers. A batch has one line per column."""

    @property
    def width(self) -> int:
        """The number of columns."""
        ...

    def count(self) -> int:
        """How many rows have all their values. It may be secret."""
        ...

    def sums(self, step: Step) -> list[Whole]:
        """The sums of what a step returns, over all batches of the rows that have all their values."""
        ...

    def pairs(self, step: PairStep, slots: int | None, entropy: Entropy) -> list[Whole]:
        """The same over random disjoint pairs of rows. One row is in at most one pair.

        Without `slots` the number of rows is public: a random half is paired with the other one. Rows without all their
        values leave their pair empty. With `slots`, each row with all its values chooses one of so many by itself, and
        the first two rows of a slot are a pair. So a row that is replaced, added or removed changes one pair.
        """
        ...

    def ordered(self, column: int, reach: int) -> Ordered:
        """The order statistics of a column, within so many ranks of the median."""
        ...


@dataclass(frozen=True)
class MatrixRows:
    """Rows in memory: one line per column, and which rows have all their values."""

    values: Floats
    complete: NDArray[np.bool_]

    @staticmethod
    def of(rows: Floats) -> MatrixRows:
        """The lines of a matrix as rows. Those with something that is no finite number are not complete."""
        complete: NDArray[np.bool_] = np.atleast_1d(np.isfinite(rows).all(axis=1))
        return MatrixRows(np.ascontiguousarray(np.where(complete[:, None], rows, 0.0).T), complete)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.values)

    @cached_property
    def _kept(self) -> Floats:
        return self.values if self.complete.all() else np.ascontiguousarray(self.values[:, self.complete])

    def count(self) -> int:
        """How many rows are complete."""
        return int(self._kept.shape[1])

    def sums(self, step: Step) -> list[Whole]:
        """Batch after batch; first one without rows, so that there is a sum of the right shape whatever the rows."""
        rows = self._kept
        starts = range(0, rows.shape[1], BATCH)
        return added(step(rows[:, :0]), (step(rows[:, start : start + BATCH]) for start in starts))

    def pairs(self, step: PairStep, slots: int | None, entropy: Entropy) -> list[Whole]:
        """Both halves are gathered first."""
        rows, one, other = self._paired(slots, entropy)
        starts = range(0, one.size, BATCH)
        parts = (step(*(rows[:, side[start : start + BATCH]] for side in (one, other))) for start in starts)
        return added(step(rows[:, :0], rows[:, :0]), parts)

    def _paired(self, slots: int | None, entropy: Entropy) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
        if slots is None:
            n = self.complete.size
            one, other = equal_blocks(n, n // 2, entropy)[:, :2].T if n > 1 else np.zeros((2, 0), np.int64)
            there = self.complete[one] & self.complete[other]
            return self.values, one[there], other[there]
        members = independent_blocks(self.count(), max(slots, 1), entropy)
        one, other = np.column_stack([members, np.full(len(members), -1)])[:, :2].T
        return self._kept, one[other >= 0], other[other >= 0]

    def ordered(self, column: int, reach: int) -> Ordered:
        """By selection."""
        middle = (self.count() + 1) // 2
        return OrderStatistics(self._kept[column], [(middle - reach - 1, middle + reach + 2)])


def added(first: Sequence[Whole], parts: Any) -> list[Whole]:
    """The sums of integers, as Python's own: they have no largest."""
    totals = [_exact(part) for part in first]
    for part in parts:
        totals = [total + _exact(new) for total, new in zip(totals, part, strict=True)]
    return totals


def _exact(part: Whole) -> Whole:
    return np.asarray(part).astype(np.int64).astype(object)


def products(matrix: Floats, columns: Floats) -> Floats:
    """matrix·columns, row by row of the table: the same operations in the same order for each."""
    out = np.zeros((len(matrix), columns.shape[1]))
    scratch = np.empty(columns.shape[1])
    for line, factors in zip(out, matrix.tolist(), strict=True):
        for factor, column in zip(factors, columns, strict=True):
            if factor != 0.0:
                np.multiply(column, factor, out=scratch)
                np.add(line, scratch, out=line)
    return out


def lengths(columns: Floats) -> Floats:
    """The Euclidean length of each row."""
    total, scratch = np.zeros(columns.shape[1]), np.empty(columns.shape[1])
    for column in columns:
        np.multiply(column, column, out=scratch)
        np.add(total, scratch, out=total)
    return np.sqrt(total)
