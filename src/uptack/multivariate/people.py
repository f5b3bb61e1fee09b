"""Rows of several numbers that belong to people: each person contributes the mean of what her rows would.

Let U be the units of one person, a public integer (`uptack.columns.people.UNIT`). A person with m rows that have all
their values gives ⌊U/m⌋ units to each of them. Rows that lack a value are left out before m is counted.

**Lemma (sums).** Let c be what a row contributes to a sum, in a set C of bounded size that is convex or is cut out of
one: matrices uuᵀ with |u| ≤ Λ, vectors u with |u| ≤ Λ, 0 or 1. Then a person contributes Σ units·c/U, and a sum over
people moves by no more than one over rows does. *Proof.* Her units add up to at most U. So a vector has a length of at
most Λ, a matrix is positive semidefinite with a trace of at most Λ², and a number is in [0, 1]. One who is replaced
moves a sum by the difference of two such, whatever the number of her rows. A fraction in [0, 1] that is then rounded
down to a whole number in a sum moves it by at most 1. ∎

**Lemma (scores).** Let #(< t) be units over U in the scores of `uptack.multivariate.levels`. One person moves every
score by at most 1. *Proof.* She counts between -q and 1 - q in L, and in R between -(1 - q) and q. ∎

**Lemma (medians).** Order statistics are z of `uptack.columns.people`, whose lemma says that one person moves them by
at most a rank, as one row does.

**Pairs** are pairs of people: everybody is in at most one, with one of her rows. Which one is a function of her rows
and the number of the pair: they are sorted, and a fixed random-looking function of the number says which. (Rows in the
order of the table would not do: of a year, or the number of a visit, everybody's first rows may hold the same.) So one
person changes one pair.

With one row per person all these are those of rows. Integers are exact, so sums do not tell how rows were put together.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns.numeric import Ordered
from uptack.columns.owners import Codes
from uptack.columns.people import UNIT
from uptack.columns.people_order import PeopleOrder
from uptack.multivariate.pairs import MOST, chosen, equal
from uptack.multivariate.rows import Floats, PairStep, Step, Whole, added, around_median, batches, paired
from uptack.noise import Entropy

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PeopleMatrix:
    """The complete rows of people in memory, one line per column: person after person, and sorted within each.

    `codes` says whose each row is, of `size` people. Some of them may have none.
    """

    values: Floats
    codes: Codes
    size: int

    @staticmethod
    def of(rows: Floats, codes: Codes, people: int) -> PeopleMatrix:
        """The lines of a matrix as rows. Those with something that is no finite number are left out."""
        complete = np.flatnonzero(np.isfinite(rows).all(axis=1))
        columns, whose = rows[complete].T, codes[complete]
        order = np.lexsort((*columns[::-1], whose))
        return PeopleMatrix(np.ascontiguousarray(columns[:, order]), whose[order], people)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.values)

    @cached_property
    def _counts(self) -> Indices:
        """How many rows each person has."""
        return np.bincount(self.codes, minlength=self.size)

    def count(self) -> int:
        """How many people have a complete row."""
        return int(np.count_nonzero(self._counts))

    @cached_property
    def _alike(self) -> list[tuple[int, Floats]]:
        """The rows of all people who have m of them, with the units of each row."""
        each = self._counts[self.codes]
        order = np.argsort(each, kind="stable")
        numbers, starts = np.unique(each[order], return_index=True)
        parts = np.split(self.values[:, order], starts[1:], axis=1)
        return [(units_of(m), np.ascontiguousarray(part)) for m, part in zip(numbers.tolist(), parts, strict=False)]

    def sums(self, step: Step) -> list[Whole]:
        """Σ units·contribution/U, exactly: rows with equal units are added up first."""
        totals = added(step(self.values[:, :0]), ())
        for units, rows in self._alike:
            for part in batches(step, rows):
                totals = [total + units * new for total, new in zip(totals, added(part, ()), strict=True)]
        return [total * Fraction(1, UNIT) for total in totals]

    def pairs(self, step: PairStep, slots: int | None, entropy: Entropy, most: int = MOST) -> list[Whole]:
        """Over pairs of people, one row of each: see the module."""
        pair, one, other = self._paired(slots, entropy, most)
        sides = np.array([self._row(person, 2 * pair + side) for side, person in enumerate((one, other))])
        return paired(step, self.values[:, sides])

    def _paired(self, slots: int | None, entropy: Entropy, most: int) -> tuple[Indices, Indices, Indices]:
        """The numbers of pairs in which both have a row, and who they are."""
        if slots is not None:
            number, places = chosen(self.count(), slots, most, entropy)
            return number, *np.flatnonzero(self._counts)[places]
        one, other = equal(self.size, most, entropy)
        pair = np.flatnonzero((self._counts[one] > 0) & (self._counts[other] > 0))
        return pair, one[pair], other[pair]

    def _row(self, people: Indices, numbers: Indices) -> Indices:
        """One row of each of the people, by a number that has nothing to do with rows."""
        first, counts = np.cumsum(self._counts) - self._counts, self._counts[people].astype(np.uint64)
        return np.asarray(first[people] + (mixed(numbers) % counts).astype(np.int64))

    def ordered(self, column: int, reach: int) -> Ordered:
        """z, by selection where that is less work than sorting."""
        units = units_of(self._counts[self.codes])
        return PeopleOrder(self.values[column], units, UNIT, self.count(), [around_median(self.count(), reach)])


def units_of(rows: Any) -> Any:
    """The units of each row of a person with so many of them."""
    return UNIT // rows


def mixed(numbers: Indices) -> NDArray[np.uint64]:
    """A fixed function that looks random: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    x = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))
