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
and the number of the pair: a fixed random-looking function of the number and the row's values is least there. (Rows
that are equal stand for one. The least rows themselves would not do: of a year, or the number of a visit, everybody's
least may be the same.) So one person changes one pair, in whichever order and batches rows come.

With one row per person all these are those of rows. Integers are exact, so sums do not tell how rows were put together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns.batched import BatchedPeople, Keyed, Keys, Picked, Places, by_units, least
from uptack.columns.numeric import Ordered
from uptack.columns.owners import Codes
from uptack.columns.people import UNIT
from uptack.columns.people_order import PeopleOrder
from uptack.multivariate.pairs import MOST, chosen, equal
from uptack.multivariate.rows import Floats, PairStep, Step, Whole, around_median, paired, weighed
from uptack.multivariate.streams import Streamed
from uptack.multivariate.terms import Units
from uptack.noise import Entropy

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PeopleMatrix:
    """The complete rows of people in memory, one line per column.

    `codes` says whose each row is, of `size` people. Some of them may have none.
    """

    values: Floats
    codes: Codes
    size: int

    @staticmethod
    def of(rows: Floats, codes: Codes, people: int) -> PeopleMatrix:
        """The lines of a matrix as rows. Those with something that is no finite number are left out."""
        complete = np.flatnonzero(np.isfinite(rows).all(axis=1))
        return PeopleMatrix(np.ascontiguousarray(rows[complete].T), codes[complete], people)

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
    def _alike(self) -> tuple[Floats, Units]:
        """The rows in the order of their units, and these."""
        return by_units(self.values, units_of(self._counts[self.codes]))

    def sums(self, step: Step) -> list[Whole]:
        """Σ units·contribution/U, exactly."""
        return in_people(weighed(step, *self._alike))

    def pairs(self, step: PairStep, slots: int | None, entropy: Entropy, most: int = MOST) -> list[Whole]:
        """Over pairs of people, one row of each: see the module."""
        return paired(step, pairs_of(self, self._picked, slots, entropy, most))

    def _picked(self, places: Places, keyed: Keyed, complete: bool) -> Picked:
        """See `uptack.columns.batched.BatchedPeople`."""
        slot = np.full(self.size, -1)
        slot[np.flatnonzero(self._counts)[places] if complete else places] = np.arange(places.size)
        slots = slot[self.codes]
        wanted = np.flatnonzero(slots >= 0)
        slots, rows = slots[wanted], np.take(self.values, wanted, axis=1)
        found, _, picked = least(slots, keyed(slots, rows), rows)
        return found, picked

    def ordered(self, column: int, reach: int) -> Ordered:
        """z, by selection where that is less work than sorting."""
        units = units_of(self._counts[self.codes])
        return PeopleOrder(self.values[column], units, UNIT, self.count(), [around_median(self.count(), reach)])


@dataclass(frozen=True, eq=False)
class StreamedPeople(Streamed):
    """The same of a table that is read in batches, to the last bit."""

    table: BatchedPeople

    def sums(self, step: Step) -> list[Whole]:
        """One scan."""
        return in_people(self.table.weighed(partial(weighed, step)))

    def pairs(self, step: PairStep, slots: int | None, entropy: Entropy, most: int = MOST) -> list[Whole]:
        """One scan, after which there are no more rows than twice `most` in memory."""
        return paired(step, pairs_of(self, self.table.picked, slots, entropy, most))


def units_of(rows: Any) -> Any:
    """The units of each row of a person with so many of them."""
    return UNIT // rows


def in_people(totals: list[Whole]) -> list[Whole]:
    """Sums in units as sums over people, exactly."""
    return [total * Fraction(1, UNIT) for total in totals]


# --------------------------------------------------------------------------------------------------------------- pairs

Picker = Callable[[Places, Keyed, bool], Picked]


def pairs_of(
    people: PeopleMatrix | StreamedPeople, picked: Picker, slots: int | None, entropy: Entropy, most: int
) -> Floats:
    """The rows of all pairs in which both have a complete one: columns, sides, pairs."""
    if slots is None:
        sides = equal(people.size, most, entropy)
        pair = np.arange(sides.shape[1])
    else:
        pair, sides = chosen(people.count(), slots, most, entropy)
    places, numbers = sides.reshape(-1), np.concatenate([2 * pair, 2 * pair + 1])
    order, rows = np.argsort(places), np.full((people.width, places.size), np.nan)
    if places.size:
        found, values = picked(places[order], partial(hashed, numbers[order]), slots is not None)
        rows[:, order[found]] = values
    both = rows.reshape(people.width, 2, pair.size)
    return both[:, :, np.isfinite(both).all(axis=(0, 1))]


def hashed(numbers: Indices, slots: Places, rows: Floats) -> Keys:
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
