"""Rows of several numbers, and what may be asked of them: sums of integers, pair by pair or row by row, and medians.

A step of a multivariate release is a function of a batch of rows that says which integers each row contributes
(`uptack.multivariate.terms`). Integers add up to the same sum in any order and in any batches, so a step gives the same
numbers in memory, in batches of a file, and in partitions of a cluster. What one row contributes must not depend on the
other rows of its batch. So functions use elementwise arithmetic only, which IEEE 754 defines to the last bit; a product
of matrices would not do, since libraries add up in an order that depends on the shape.

**People.** Where rows belong to people, each person contributes the mean of what her rows would. Let U be the units of
one person, a public integer (`uptack.table.unit`). A person with m complete rows gives ⌊U/m⌋ units to each of them.
Rows that lack a value are left out before m is counted.

**Lemma (sums).** Let c be what a row contributes to a sum, in a set C of bounded size that is convex or is cut out of
one: matrices uuᵀ with |u| ≤ Λ, vectors u with |u| ≤ Λ, 0 or 1. Then a person contributes Σ units·c/U, and a sum over
people moves by no more than one over rows does. *Proof.* Her units add up to at most U. So a vector has a length of at
most Λ, a matrix is positive semidefinite with a trace of at most Λ², and a number is in [0, 1]. One who is replaced
moves a sum by the difference of two such, whatever the number of her rows. A fraction in [0, 1] that is then rounded
down to a whole number in a sum moves it by at most 1. ∎

**Lemma (scores).** Let #(< t) be units over U in the scores of `uptack.multivariate.levels`. One person moves every
score by at most 1. *Proof.* She counts between -q and 1 - q in L, and in R between -(1 - q) and q. ∎

**Lemma (medians).** Order statistics are z of `uptack.table.unit`, whose lemma says that one person moves them by at
most a rank, as one row does.

**Pairs** are pairs of people: everybody is in at most one, with one of her rows. Which one is a function of her rows
and the number of the pair: a fixed random-looking function of the number and the row's values is least there. (Rows
that are equal stand for one. The least rows themselves would not do: of a year, or the number of a visit, everybody's
least may be the same.) So one person changes one pair, in whichever order and batches rows come.

With one row per person all these are those of rows. Integers are exact, so sums do not tell how rows were put together.

**Engines.** Pairs are drawn by the places of rows in a scan: where an engine has an order of rows (files, a frame of
Spark that has not been shuffled) they are those of the same rows in memory, to the last bit for the same randomness;
elsewhere they are equal in law, which is what privacy needs (`uptack.multivariate.pairs`). A release reads a table a
public number of times, up to the selection of medians.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.multivariate.pairs import MOST, chosen, equal
from uptack.multivariate.terms import Terms, exact
from uptack.table.exact_sum import Floats
from uptack.table.protocol import Of, Rows, Weights
from uptack.table.search import Order, Window
from uptack.table.unit import Integers

Whole = NDArray[Any]
"""Integers: as Python's own, or in a batch as any numbers that are whole and below 2^53. Sums over people are exact
fractions."""

Step = Callable[[Floats], Sequence[Terms]]
PairStep = Callable[[Floats, Floats], Sequence[Whole]]
Keys = NDArray[np.uint64]

BATCH = 1 << 14
"""Rows at a time: a column of them stays in the cache."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The complete rows of a table of numbers, of which the first `width` columns are shown to steps.

    A batch has one line per column. Where rows belong to people, people stand for rows. A row is complete if it is so
    in all columns, also in those that are not shown.
    """

    rows: Rows
    width: int

    @staticmethod
    def of(rows: Rows) -> Sample:
        """All columns."""
        return Sample(rows, rows.width)

    def first(self, width: int) -> Sample:
        """The same rows, of which fewer columns are shown."""
        return replace(self, width=width)

    @property
    def size(self) -> int:
        """How many rows there are, with those that lack a value."""
        return self.rows.size

    def count(self) -> int:
        """How many rows have all their values. It may be secret."""
        return self.rows.n

    def sums(self, step: Step) -> list[Whole]:
        """The sums of what a step returns, over all batches of the rows that have all their values."""
        totals = self.rows.sum(partial(summed, step, self.width))
        unit = self.rows.unit
        return [total * Fraction(1, unit.most) for total in totals] if unit.weighted else totals

    def pairs(self, step: PairStep, slots: int | None, account: Account, most: int = MOST) -> list[Whole]:
        """The same over random disjoint pairs of rows, so many at most. The step must not mind which row is first.

        Without `slots` the number of rows is public: a random half is paired with the other one. Rows without all their
        values leave their pair empty. With `slots`, each row with all its values chooses one of so many by itself, and
        two rows of a slot are a pair. So a row that is replaced, added or removed changes one pair: the theorem of
        `uptack.multivariate.pairs`. The rows of all pairs are gathered in one scan.
        """
        if slots is None:
            sides = account.toss(lambda entropy: equal(self.size, most, entropy))
            return paired(step, self._picked(np.arange(sides.shape[1]), sides, "all"))
        places = account.toss(lambda entropy: chosen(self.count(), slots, most, entropy))
        return paired(step, self._picked(*places, "complete"))

    def _picked(self, numbers: Integers, sides: Integers, of: Of) -> Floats:
        """The rows of all pairs in which both places have a complete one: columns, sides, pairs."""
        places = sides.reshape(-1)
        if places.size == 0:
            return np.empty((self.width, 2, 0))
        key = partial(hashed, np.concatenate([2 * numbers, 2 * numbers + 1]))
        found, values = self.rows.pick(places, key, of)
        rows, there = np.empty((self.width, places.size)), np.zeros(places.size, bool)
        rows[:, found], there[found] = values[: self.width], True
        return rows.reshape(self.width, 2, -1)[:, :, there.reshape(2, -1).all(axis=0)]

    def ordered(self, column: int, reach: int) -> Order:
        """The order statistics of a column, within so many ranks of the median."""
        return self.rows.order(column, [around_median(self.count(), reach)])


def around_median(n: int, reach: int) -> Window:
    """The ranks that are at most so far from the median."""
    return (n + 1) // 2 - reach - 1, (n + 1) // 2 + reach + 2


def hashed(numbers: Integers, slots: Integers, rows: Floats) -> Keys:
    """A fixed function of the number of a slot and the values of a row that looks random. -0.0 is 0.0."""
    found = mixed(numbers[slots].astype(np.uint64))
    for column in rows:
        found = mixed(found ^ (column + 0.0).view(np.uint64))
    return found


def mixed(numbers: Keys) -> Keys:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    x = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def batches(size: int) -> Iterator[slice]:
    """One batch of rows after the other; one without rows if there is none, so that sums always have their shape."""
    return (slice(start, start + BATCH) for start in range(0, max(size, 1), BATCH))


def paired(step: PairStep, rows: Floats) -> list[Whole]:
    """The sums over pairs: rows have a dimension more, for the two sides."""
    return added(step(rows[:, 0, batch], rows[:, 1, batch]) for batch in batches(rows.shape[2]))


def summed(step: Step, width: int, rows: Floats, weights: Weights = None) -> list[Whole]:
    """Σ contribution of the first columns, or Σ units·contribution. Rows with equal units are next to each other."""
    cuts = batches(rows.shape[1])
    if weights is None:
        return added([terms.total() for terms in step(rows[:width, cut])] for cut in cuts)
    return added([terms.weighed(weights[cut]) for terms in step(rows[:width, cut])] for cut in cuts)


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
