"""Counts of people: how one person's rows are spread over cells, in exact integer units.

A person has at most `most` units, whatever her rows are, and `step` units count for one in the released value:

| weights | units of a row | most | step |
|---|---|---|---|
| "people" | ⌊U/m⌋ for a person with m rows, U = `uptack.columns.people.UNIT` | U | U |
| "one" | 1 for the person's most frequent cell, the first of several; 0 for all others | 1 | 1 |
| "rows" | min(⌊U/g⌋, ⌊U/m⌋), g = `at_most` | U | ⌊U/g⌋ |

**Theorem.** Let a table of cells hold the units of all rows. One person who is added or removed moves it by at most
`most` in ℓ1, upwards or downwards alone; one who is replaced moves it up by at most `most` and down by at most `most`.
So a table of people's units is one of rows, for people with up to `most` rows: whatever is proved for such holds.
*Proof.* The units of a person depend on her rows alone, none is negative, and they add up to at most `most`. ∎

Without `at_most` a person weighs one in all. With it a row weighs one, up to g rows of a person; if she has more, her
rows together weigh g.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from uptack import checks
from uptack.columns.owners import Owners, numbered
from uptack.columns.people import UNIT
from uptack.columns.units import Integers, wide
from uptack.errors import InvalidArgument
from uptack.table.values.entrance import flags, indexed
from uptack.table.values.field import Floats, listed

WAYS = ("people", "one", "rows")
HALF = 16
"""Bits of the lower halves of units, which floats add up exactly."""


@dataclass(frozen=True)
class Weights:
    """How much each row of a person counts for: see the module."""

    way: str = "people"
    at_most: int | None = None

    def __post_init__(self) -> None:
        checks.choice("weights", self.way, WAYS)
        if self.way != "rows":
            if self.at_most is not None:
                fix = "It caps the rows that count; people count for one."
                raise InvalidArgument("at_most", "left out but for weights='rows'", checks.describe(self.at_most), fix)
            return
        if self.at_most is None:
            fix = "Choose a public number of rows that hardly anybody exceeds, such as 10."
            raise InvalidArgument("at_most", "given where weights='rows'", "None", fix)
        if checks.integer("at_most", self.at_most, least=1) > UNIT // 2:  # a row has two units: counts are floats
            raise InvalidArgument("at_most", f"at most {UNIT // 2:,} rows", self.at_most)

    @property
    def most(self) -> int:
        """The units that one person has, at most."""
        return 1 if self.way == "one" else UNIT

    @property
    def step(self) -> int:
        """The units that count for one."""
        return 1 if self.way == "one" else UNIT // (self.at_most or 1)

    def units(self, codes: Integers, people: int) -> Integers:
        """The units of each row; not for "one", where cells decide."""
        each: Integers = UNIT // np.maximum(np.bincount(codes, minlength=people), 1)
        return np.minimum(each, self.step)[codes]


def table(places: Integers, codes: Integers, people: int, weights: Weights, size: int) -> Integers:
    """The units in each of so many cells, where a row is in no cell if its place is -1.

    >>> rows, whose = np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1])
    >>> (table(rows, whose, 2, Weights(), 3) / UNIT).round(3)
    array([0.667, 0.333, 1.   ])
    >>> table(rows, whose, 2, Weights("one"), 3)
    array([1, 0, 1])
    """
    inside = places >= 0
    if weights.way == "one":
        return np.bincount(favourites(places[inside], codes[inside])[1], minlength=size).astype(np.int64)
    return added(places[inside], weights.units(codes, people)[inside], size)


def added(places: Integers, units: Integers, size: int) -> Integers:
    """Σ units in each cell, exactly: the halves of units are added as floats, which hold 2^36 of them."""
    high = np.bincount(places, weights=units >> HALF, minlength=size).astype(np.int64)
    low = np.bincount(places, weights=units & ((1 << HALF) - 1), minlength=size).astype(np.int64)
    return (wide(high, (int(high.max(initial=0)) + 1) << HALF) << HALF) + low


def favourites(places: Integers, codes: Integers) -> tuple[Integers, Integers]:
    """Each person who has a row, and the cell with most of her rows: the first one of several.

    >>> favourites(np.array([2, 1, 1, 2, 5]), np.array([0, 0, 0, 0, 3]))
    (array([0, 3]), array([1, 5]))
    """
    order = np.lexsort((places, codes))
    code, place = codes[order], places[order]
    starts = np.flatnonzero(np.append(True, (code[1:] != code[:-1]) | (place[1:] != place[:-1]))[: code.size])
    rows = np.diff(np.append(starts, code.size))
    code, place = code[starts], place[starts]
    best = np.lexsort((place, -rows, code))
    first = np.flatnonzero(np.append(True, code[best][1:] != code[best][:-1])[: code.size])
    return code[best][first], place[best][first]


def up_to(rows: Integers, most: int) -> int:
    """Σ min(rows of a person, most)."""
    return int(np.minimum(rows, most).sum())


# ---------------------------------------------------------------------------------------------- data, as counts take it


@dataclass(frozen=True, eq=False)
class PeopleValues:
    """A column or table of any kind, as a function of rows takes it, and whose its rows are."""

    data: Any
    whose: Owners
    weights: Weights = Weights()

    of_people: ClassVar[bool] = True

    @staticmethod
    def of(name: str, data: Any, whose: Owners) -> PeopleValues:
        """Data as they are. They are read by whoever counts them."""
        return PeopleValues(data, whose)

    def by_rows(self, at_most: int) -> PeopleValues:
        """Rows count for one, up to so many of a person."""
        return replace(self, weights=Weights("rows", at_most))

    def once(self) -> PeopleValues:
        """A person counts for one, in one cell."""
        return replace(self, weights=Weights("one"))

    @property
    def people(self) -> int:
        """How many people there are."""
        return self.whose.people

    @property
    def codes(self) -> Integers:
        """Whose each row is, of those that are somebody's."""
        return self.whose.codes[self.whose.kept]

    def only(self, rows: Integers) -> PeopleValues:
        """Some of the rows that are somebody's, and those who own them."""
        codes, people = numbered(self.codes[rows])
        return replace(self, data=indexed("x", self.data)[self.whose.kept[rows]], whose=Owners(codes, people))

    def table(self, places: Integers, size: int) -> Integers:
        """The units in each cell, for the places of all rows. Rows of nobody count nowhere."""
        self.whose.check("the data", places.size)
        kept = self.whose.kept
        return table(places[kept], self.whose.codes[kept], self.people, self.weights, size)

    def counted(self, public: bool) -> PeopleCount:
        """How many people, or rows up to the cap, are true; all of them, in data that are no truth values.

        Where the number of people is public it is not counted.
        """
        truths = flags(self.data)
        self.whose.check("the data", len(self.data) if truths is None else truths.size)
        if truths is None and public and self.weights.way != "rows":
            fix = "The number of people is public; pass adjacency=ADD_REMOVE to count them privately."
            raise InvalidArgument("rows", "a column of truth values", checks.outline(self.data), fix)
        held = self.whose.codes != -1 if truths is None else (self.whose.codes != -1) & truths
        rows = np.bincount(self.whose.codes[held], minlength=self.people)
        most = self.weights.at_most or 1
        return PeopleCount(up_to(rows, most), most)


@dataclass(frozen=True)
class PeopleCount:
    """A number that one person moves by at most `most`: how many people, or how many rows up to a cap of each."""

    count: int
    most: int = 1

    of_people: ClassVar[bool] = True

    def by_rows(self, at_most: int) -> PeopleCount:
        """The same, which must have been counted so."""
        return _same(self, self.most == at_most)


@dataclass(frozen=True, eq=False)
class PeopleTally:
    """Distinct values of a column and the units that each has: what a database says of people in one query."""

    values: tuple[Hashable, ...]
    counts: Integers
    people: int
    weights: Weights = Weights()

    of_people: ClassVar[bool] = True

    def numbers(self) -> Floats:
        """The values as floats; what is no number as NaN."""
        return listed(self.values)

    def by_rows(self, at_most: int) -> PeopleTally:
        """The same, which must have been counted so."""
        return _same(self, self.weights == Weights("rows", at_most))


Counted = TypeVar("Counted", PeopleCount, PeopleTally)


def _same(counted: Counted, fits: bool) -> Counted:
    """What was counted where the rows are can't be counted again with other weights."""
    if not fits:
        raise InvalidArgument("weights", "those with which the rows were counted", "others")
    return counted
