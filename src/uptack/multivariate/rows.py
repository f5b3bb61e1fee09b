"""Rows of several numbers, and what may be asked of them: sums of integers, pair by pair or row by row, and medians.

A step of a multivariate release is a function of a batch of rows that says which integers each row contributes
(`uptack.multivariate.terms`). Integers add up to the same sum in any order and in any batches, so a step gives the same
numbers in memory, in batches of a file, and in partitions of a cluster. What one row contributes must not depend on the
other rows of its batch. So functions use elementwise arithmetic only, which IEEE 754 defines to the last bit; a product
of matrices would not do, since libraries add up in an order that depends on the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from uptack.columns.numeric import Ordered
from uptack.columns.selection import OrderStatistics, Window
from uptack.multivariate.pairs import MOST, chosen, equal
from uptack.multivariate.terms import Terms, Units, exact
from uptack.noise import Entropy

Floats = NDArray[np.float64]
Whole = NDArray[Any]
"""Integers: as Python's own, or in a batch as any numbers that are whole and below 2^53. Sums over people are exact
fractions: see `uptack.multivariate.people`."""

Step = Callable[[Floats], Sequence[Terms]]
PairStep = Callable[[Floats, Floats], Sequence[Whole]]

BATCH = 1 << 14
"""Rows at a time: a column of them stays in the cache."""


class Rows(Protocol):
    """A table of numbers. A batch has one line per column. Where rows belong to people, people stand for rows."""

    @property
    def size(self) -> int:
        """How many rows there are, with those that lack a value."""
        ...

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

    def pairs(self, step: PairStep, slots: int | None, entropy: Entropy, most: int = MOST) -> list[Whole]:
        """The same over random disjoint pairs of rows, so many at most. The step must not mind which row is first.

        Without `slots` the number of rows is public: a random half is paired with the other one. Rows without all their
        values leave their pair empty. With `slots`, each row with all its values chooses one of so many by itself, and
        two rows of a slot are a pair. So a row that is replaced, added or removed changes one pair: the theorem of
        `uptack.multivariate.pairs`.
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
    def size(self) -> int:
        """How many rows there are."""
        return self.complete.size

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
        """Batch after batch."""
        return summed(step, self._kept)

    def pairs(self, step: PairStep, slots: int | None, entropy: Entropy, most: int = MOST) -> list[Whole]:
        """Both halves are gathered first."""
        if slots is None:
            places = equal(self.size, most, entropy)
            return paired(step, self.values[:, places[:, self.complete[places].all(axis=0)]])
        return paired(step, self._kept[:, chosen(self.count(), slots, most, entropy)[1]])

    def ordered(self, column: int, reach: int) -> Ordered:
        """By selection."""
        return OrderStatistics(self._kept[column], [around_median(self.count(), reach)])


@dataclass(frozen=True, eq=False)
class FirstColumns:
    """The first columns of rows that are complete if the others are there, too."""

    rows: Rows
    width: int

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.rows.size

    def count(self) -> int:
        """How many rows are complete."""
        return self.rows.count()

    def sums(self, step: Step) -> list[Whole]:
        """Of these columns."""
        return self.rows.sums(partial(_cut, step, self.width))

    def pairs(self, step: PairStep, slots: int | None, entropy: Entropy, most: int = MOST) -> list[Whole]:
        """Of these columns."""
        return self.rows.pairs(partial(_cut, step, self.width), slots, entropy, most)

    def ordered(self, column: int, reach: int) -> Ordered:
        """Of one of these columns."""
        return self.rows.ordered(column, reach)


def _cut(step: Callable[..., Sequence[Any]], width: int, *batches: Floats) -> Sequence[Any]:
    """What a step makes of the first columns: a function that other processes can be sent."""
    return step(*(batch[:width] for batch in batches))


def around_median(n: int, reach: int) -> Window:
    """The ranks that are at most so far from the median."""
    return (n + 1) // 2 - reach - 1, (n + 1) // 2 + reach + 2


def batches(size: int) -> Iterator[slice]:
    """One batch of rows after the other; first one without rows, so that sums always have their shape."""
    yield slice(0)
    yield from (slice(start, start + BATCH) for start in range(0, size, BATCH))


def paired(step: PairStep, rows: Floats) -> list[Whole]:
    """The sums over pairs: rows have a dimension more, for the two sides."""
    return added(step(rows[:, 0, batch], rows[:, 1, batch]) for batch in batches(rows.shape[2]))


def summed(step: Step, rows: Floats) -> list[Whole]:
    """The sums over rows, batch after batch."""
    return added([terms.total() for terms in step(rows[:, batch])] for batch in batches(rows.shape[1]))


def weighed(step: Step, rows: Floats, units: Units) -> list[Whole]:
    """Σ units·contribution. Rows with equal units are next to each other."""
    return added([terms.weighed(units[batch]) for terms in step(rows[:, batch])] for batch in batches(rows.shape[1]))


def added(parts: Iterable[Sequence[Whole]]) -> list[Whole]:
    """The sums of integers, as Python's own: they have no largest."""
    totals: list[Whole] = []
    for part in parts:
        new = [exact(one) for one in part]
        totals = [a + b for a, b in zip(totals, new, strict=True)] if totals else new
    return totals


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
    return np.sqrt(squares(columns))


def squares(columns: Floats) -> Floats:
    """The squared length of each row, added from the first column on."""
    total, scratch = np.zeros(columns.shape[1]), np.empty(columns.shape[1])
    for column in columns:
        np.multiply(column, column, out=scratch)
        np.add(total, scratch, out=total)
    return total
