"""Rows of several numbers, and what may be asked of them: sums of integers, pair by pair or row by row, and medians.

A step of a multivariate release is a function of a batch of rows that says which integers each row contributes
(`Terms`). Integers add up to the same sum in any order and in any batches, so a step gives the same numbers in memory,
in batches of a file, and in partitions of a cluster. What one row contributes must not depend on the other rows of its
batch. So functions use elementwise arithmetic only, which IEEE 754 defines to the last bit; a product of matrices would
not do, since libraries add up in an order that depends on the shape.

**Exact sums.** Entries of vectors are whole numbers of at most 2^18, units are below 2^33, and batches have at most
2^14 rows. What is added up in floats is at most 2^53, and what in integers of 64 bits is below 2^63: so nothing is
rounded, whatever the order. Larger numbers are split first.

**People.** Where rows belong to people, each person contributes the mean of what her rows would. Let U be the units of
one person, a public integer (`uptack.table.unit`). A person with m complete rows gives ⌊U/m⌋ units to each of them.
Rows that lack a value are left out before m is counted.

**Lemma (sums).** Let c be what a row contributes to a sum, in a set C of bounded size that is convex or is cut out of
one: matrices uuᵀ with |u| ≤ Λ, vectors u with |u| ≤ Λ, 0 or 1. Then a person contributes Σ units·c/U, and a sum over
people moves by no more than one over rows does. *Proof.* Her units add up to at most U. So a vector has a length of at
most Λ, a matrix is positive semidefinite with a trace of at most Λ², and a number is in [0, 1]. One who is replaced
moves a sum by the difference of two such, whatever the number of her rows. A fraction in [0, 1] that is then rounded
down to a whole number in a sum moves it by at most 1. A vector in a sum that is rounded moves by less than 1 more in
each coordinate. ∎

**Lemma (scores).** Let #(< t) be units over U in the scores of `uptack.multivariate.private_sums`. One person moves
every score by at most 1. *Proof.* She counts between -q and 1 - q in L, and in R between -(1 - q) and q. ∎

**Lemma (medians).** Order statistics are z of `uptack.table.unit`, whose lemma says that one person moves them by at
most a rank, as one row does.

**Pairs.** Numbers are drawn for the places of rows in a scan, independently of the rows and of their order.

**Theorem.** Whatever the order of a scan is, and however it depends on the rows: pairs of *rows* have a law that does
not depend on what rows hold. One row that is replaced, added or removed changes one pair at most. *Proof.* Where the
number of rows is public, every ordered choice of so many places is equally likely (`equal_pairs`), and the order of a
scan maps places to rows one to one. So every choice of pairs of rows is equally likely. Let the same pairs act on two
tables that differ in one row: the row is in one of them at most. Else, or where few of a public number of rows are
complete, every complete row gets a number of its own (`choose_slots`), all independent and of one law. So let rows that
are in both tables have the same numbers, and a row that is replaced keep its number. A slot's pair are the two rows
with the least numbers in it, none where that is a tie with a third row: it depends on the rows of the slot and on their
numbers, not on their order. A row is in one slot, whether it is complete in both tables or in one. ∎ (The first two
rows of a slot *in the order of a scan* would not do. An engine may scan a table that has one row more in another order,
and then other slots have other pairs.)

More than a public number of pairs are never made, so memory is bounded however many rows there are. Pairs of people
have one row of each. Which one is a function of her rows and the number of the pair: a fixed random-looking function of
the number and the row's values is least there. (Rows that are equal stand for one. The least rows themselves would not
do: of a year, or the number of a visit, everybody's least may be the same.)

**Engines.** Where an engine has an order of rows (files, a frame of Spark that has not been shuffled) pairs are those
of the same rows in memory, to the last bit for the same randomness. Elsewhere they are equal in law, which is what
privacy needs. A release reads a table a public number of times, up to the selection of medians.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.blocks.partition import equal_blocks
from uptack.noise import Entropy
from uptack.table.exact_sum import Floats
from uptack.table.protocol import Of, Rows, Weights
from uptack.table.search import Order
from uptack.table.unit import Integers

Whole = NDArray[Any]
"""Integers: as Python's own, or in a batch as any numbers that are whole and below 2^53. Sums over people are exact
fractions."""

HALF, WIDE = 17, 26
"""Bits of the lower part of units, and of a sum of squares."""

BATCH = 1 << 14
"""Rows at a time: a column of them stays in the cache."""

MOST = 1 << 18
"""Pairs, where nobody asks for more."""

DENSE = 8
"""Up to so many rows per pair all of them are shuffled."""

CHUNK = 1 << 20
"""Numbers that are drawn at once."""


class Terms(ABC):
    """What each row of a batch contributes, not added up yet, so that rows can have units."""

    @abstractmethod
    def total(self) -> Whole:
        """Their sum."""

    @abstractmethod
    def weighed(self, units: Integers) -> Whole:
        """Σ units·contribution, as Python's integers. Rows with equal units are next to each other."""


@dataclass(frozen=True, eq=False)
class Vectors(Terms):
    """Whole numbers, one per row or several: the last axis is that of rows. Sums are below 2^32, with units 2^50."""

    values: Floats

    def total(self) -> Whole:
        """Their sum."""
        return np.asarray(self.values.sum(axis=-1))

    def weighed(self, units: Integers) -> Whole:
        """By both halves of the units."""
        high, low = (exact((self.values * half).sum(axis=-1)) for half in (units >> HALF, units & ((1 << HALF) - 1)))
        return high * (1 << HALF) + low


@dataclass(frozen=True, eq=False)
class Squares(Terms):
    """uuᵀ of a vector u for each row, which is a column here. Entries of sums are at most 2^50."""

    vectors: Floats

    def total(self) -> Whole:
        """Their sum."""
        return np.asarray(self.vectors @ self.vectors.T)

    def weighed(self, units: Integers) -> Whole:
        """Rows with equal units first; then units and totals are split, so that sums of 2^14 products are < 2^60."""
        starts = np.flatnonzero(np.diff(units, prepend=-1))
        parts = [self.vectors[:, a:b] for a, b in itertools.pairwise([*starts.tolist(), units.size])]
        width, each = len(self.vectors), units[starts]
        totals = np.array([part @ part.T for part in parts], np.float64).reshape(-1, width, width).astype(np.int64)
        found = np.zeros((width, width), object)
        for up, part in ((HALF, each >> HALF), (0, each & ((1 << HALF) - 1))):
            for higher, half in ((WIDE, totals >> WIDE), (0, totals & ((1 << WIDE) - 1))):
                found = found + np.tensordot(part, half, axes=(0, 0)).astype(object) * (1 << (up + higher))
        return found


@dataclass(frozen=True, eq=False)
class Tally(Terms):
    """One level per row, of so many: what is added up is how many rows are on each. Sums of units are below 2^47."""

    levels: Integers
    size: int

    def total(self) -> Whole:
        """Their sum."""
        return np.bincount(self.levels, minlength=self.size)

    def weighed(self, units: Integers) -> Whole:
        """In floats."""
        return exact(np.bincount(self.levels, units.astype(np.float64), self.size))


Step = Callable[[Floats], Sequence[Terms]]
PairStep = Callable[[Floats, Floats], Sequence[Whole]]


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
        totals = self.rows.sum(partial(sum_rows, step, self.width))
        unit = self.rows.unit
        return [total * Fraction(1, unit.most) for total in totals] if unit.weighted else totals

    def pairs(self, step: PairStep, slots: int | None, account: Account, most: int = MOST) -> list[Whole]:
        """The same over random disjoint pairs of rows, so many at most. The step must be symmetric in the two rows.

        Without `slots` the number of rows is public: a random half is paired with the other one, and rows without all
        their values leave their pair empty. With `slots`, each row with all its values chooses one of so many by
        itself, and two rows of a slot are a pair. The rows of all pairs are gathered in one scan.
        """
        if slots is None:
            sides = account.toss(lambda entropy: equal_pairs(self.size, most, entropy))
            rows = self._pick(np.arange(sides.shape[1]), sides, "all")
        else:
            places = account.toss(lambda entropy: choose_slots(self.count(), slots, most, entropy))
            rows = self._pick(*places, "complete")
        return add_up(step(rows[:, 0, batch], rows[:, 1, batch]) for batch in batches(rows.shape[2]))

    def _pick(self, numbers: Integers, sides: Integers, of: Of) -> Floats:
        """The rows of all pairs in which both places have a complete one: columns, sides, pairs."""
        places = sides.reshape(-1)
        if places.size == 0:
            return np.empty((self.width, 2, 0))
        key = partial(hash_rows, np.concatenate([2 * numbers, 2 * numbers + 1]))
        found, values = self.rows.pick(places, key, of)
        rows, there = np.empty((self.width, places.size)), np.zeros(places.size, bool)
        rows[:, found], there[found] = values[: self.width], True
        return rows.reshape(self.width, 2, -1)[:, :, there.reshape(2, -1).all(axis=0)]

    def ordered(self, column: int, reach: int) -> Order:
        """The order statistics of a column, within so many ranks of the median."""
        middle = (self.count() + 1) // 2
        return self.rows.order(column, [(middle - reach - 1, middle + reach + 2)])


# -------------------------------------------------------------------------------------------------------------- pairs


def equal_pairs(n: int, most: int, entropy: Entropy) -> Integers:
    """So many pairs of n places, n/2 of them or `most`, each with the same chance. Two lines."""
    pairs = min(n // 2, most)
    if pairs == 0:
        return np.zeros((2, 0), np.int64)
    if n <= DENSE * most:
        return equal_blocks(n, n // 2, entropy)[:pairs, :2].T
    return _distinct(n, 2 * pairs, entropy).reshape(2, pairs)


def _distinct(n: int, size: int, entropy: Entropy) -> Integers:
    """The first different ones of a sequence of uniform integers: so all choices and orders are equally likely."""
    found = np.empty(0, np.int64)
    while found.size < size:
        drawn = np.concatenate([found, entropy.integers(n, size)])
        found = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return found[:size]


def choose_slots(n: int, slots: int, most: int, entropy: Entropy) -> tuple[Integers, Integers]:
    """The pairs of the first `most` slots, for n rows that each choose one of them all: which slots, and two lines.

    A number below slots·2^b is a slot, and b bits that say who is first there.
    """
    bits = 63 - slots.bit_length()
    numbers, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for start in range(0, n, CHUNK):
        drawn = entropy.integers(slots << bits, min(CHUNK, n - start))
        kept = np.flatnonzero(drawn >> bits < most)
        numbers.append(drawn[kept])
        places.append(start + kept)
    return _least_two(np.concatenate(numbers), np.concatenate(places), bits)


def _least_two(numbers: Integers, places: Integers, bits: int) -> tuple[Integers, Integers]:
    """The slots with two rows, and the places of the two least numbers of each."""
    order = np.argsort(numbers)
    ordered = np.append(numbers[order], [-1, -1])
    slot = ordered >> bits
    first = np.flatnonzero(np.diff(slot[:-2], prepend=-1))
    paired = (slot[first] == slot[first + 1]) & (ordered[first + 1] != ordered[first + 2])
    kept = first[paired]
    return slot[kept], places[order[np.array([kept, kept + 1])]]


def hash_rows(numbers: Integers, slots: Integers, rows: Floats) -> NDArray[np.uint64]:
    """A fixed function of the number of a slot and the values of a row that looks random. -0.0 is 0.0."""
    found = mix_bits(numbers[slots].astype(np.uint64))
    for column in rows:
        found = mix_bits(found ^ (column + 0.0).view(np.uint64))
    return found


def mix_bits(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    x = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


# ------------------------------------------------------------------------------------------------- sums and products


def batches(size: int) -> Iterator[slice]:
    """One batch of rows after the other; one without rows if there is none, so that sums always have their shape."""
    return (slice(start, start + BATCH) for start in range(0, max(size, 1), BATCH))


def sum_rows(step: Step, width: int, rows: Floats, weights: Weights = None) -> list[Whole]:
    """Σ contribution of the first columns, or Σ units·contribution. Rows with equal units are next to each other."""
    cuts = batches(rows.shape[1])
    if weights is None:
        return add_up([terms.total() for terms in step(rows[:width, cut])] for cut in cuts)
    return add_up([terms.weighed(weights[cut]) for terms in step(rows[:width, cut])] for cut in cuts)


def add_up(parts: Iterable[Sequence[Whole]]) -> list[Whole]:
    """The sums of integers, as arbitrary-precision integers."""
    totals: list[Whole] = []
    for part in parts:
        new = [exact(one) for one in part]
        totals = [a + b for a, b in zip(totals, new, strict=True)] if totals else new
    return totals


def exact(part: Any) -> Whole:
    """Whole numbers as Python's own. (NumPy takes one of 2^63 or more for another type of 64 bits.)"""
    made = np.asarray(part, object) if isinstance(part, int) else np.asarray(part)
    return made if made.dtype == object else made.astype(np.int64).astype(object)


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
