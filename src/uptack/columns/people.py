"""A column of numbers in units of people: each person weighs one, spread over her rows.

Let U be the units of one person, a public number (`UNIT`). A person with m rows gives each of them ⌊U/m⌋ units; F(v)
is the number of units on rows up to v. The *pseudo order statistic* of rank r is

    z(r) = the least v with F(v) ≥ (r - 1/2)·U,   -∞ for r < 1 and +∞ past the end.

With one row per person z(r) is x(r).

**Lemma.** Let the rows of one person be replaced by others, however many. Then z'(r - 1) ≤ z(r) ≤ z'(r + 1) for all r.
If a person is added, z'(r) ≤ z(r) ≤ z'(r + 1). *Proof.* A person has between 0 and U units up to v, so F(v) moves by at
most U, for every v; a person who is added moves it up. If F(v) ≥ (r - 1/2)·U then F'(v) ≥ (r - 1 - 1/2)·U; so
z'(r - 1) ≤ z(r), and so on with signs changed. ∎

Whatever rests on order statistics moving by one rank at most holds for z, with people in place of rows: quantiles, sums
of them with weights of at least 0, boxes of several, the ends of intervals. What rests on more is proved apart, as the
range is (`uptack.reach.people_range`), or refused. No row is thrown away, and no cap is guessed. What is estimated is
the law of a random row of a random person.

**Rows as the unit of the estimate.** With `at_most=g`, each row has min(⌊U/g⌋, ⌊U/m⌋) units: rows of people with up to
g rows weigh alike. A person still has at most U units, so the lemma holds. The size n is then the number of units over
U, rounded: it depends on people's rows, and is secret.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from uptack.columns.each import EachColumn, taken
from uptack.columns.masked import MaskedColumn
from uptack.columns.numeric import ArrayColumn, Column, Ordered
from uptack.columns.owners import Codes, Owners, numbered
from uptack.columns.people_order import PeopleOrder, Units
from uptack.columns.selection import Floats, Window
from uptack.columns.units import wide
from uptack.errors import InvalidArgument, UptackError

UNIT = math.lcm(*range(1, 24))
"""Units that one person has, about 2^32: people with up to 23 rows lose none of them by rounding, and all people
together fewer than half a person's while there are fewer than 2^31 rows."""


class PeopleOrdered(Ordered, Protocol):
    """Pseudo order statistics, and the distribution function between two of them."""

    def jumps(self, first: int, last: int) -> tuple[Floats, Units]:
        """The values v with z(first) ≤ v ≤ z(last), each once, and F(v). Ranks past the ends are taken as the ends."""
        ...


@runtime_checkable
class People(Column, Protocol):
    """A column of people's rows, as a statistic asks for it; `size` is the number of people.

    `of_people` says that it knows whose its rows are. `weighted` says that ranks are those of z, so that only what is
    proved for z may use them. `size_is_secret` says that the size depends on how many rows people have.
    """

    @property
    def of_people(self) -> bool:
        """Yes."""
        ...

    @property
    def weighted(self) -> bool:
        """Whether ranks are those of z."""
        ...

    @property
    def size_is_secret(self) -> bool:
        """Whether the size depends on how many rows people have."""
        ...

    def ordered(self, windows: Sequence[Window]) -> PeopleOrdered:
        """z inside windows of ranks."""
        ...

    def each(self, how: str, order: Any = None) -> Column:
        """One number per person: see `uptack.columns.each`."""
        ...

    def by_rows(self, at_most: int) -> People:
        """Weights min(1, at_most/m) in place of 1: see above."""
        ...

    def averaged(self, f: Callable[[Floats], Floats]) -> Floats:
        """One number per person: the weighted mean of f over her rows; f is of each row by itself.

        People come in any order, which is the same for every f.
        """
        ...

    def cumulated(self) -> tuple[Floats, Units]:
        """All rows in order, and the units up to each of them."""
        ...

    def inside(self, low: float, high: float) -> tuple[int, int, int, int]:
        """A person's units; those of rows from low to high, of all others, and the most on one value inside."""
        ...


def weighted(data: Any) -> bool:
    """Whether the ranks of a column are those of z."""
    return bool(getattr(data, "weighted", False))


class PeopleColumn:
    """Rows in memory, and whose they are. All of them are somebody's, and every person has one."""

    of_people = weighted = True

    def __init__(self, rows: ArrayColumn | MaskedColumn, codes: Codes, people: int, at_most: int | None = None) -> None:
        self._rows, self._codes, self._people, self._at_most = rows, codes, people, at_most

    @staticmethod
    def of(name: str, rows: Column, whose: Owners) -> PeopleColumn:
        """The rows of a column that are somebody's."""
        if not isinstance(rows, ArrayColumn | MaskedColumn):
            fix = "Open the table with uptack.open(..., person=...)."
            raise InvalidArgument(name, "rows in memory where person is a column of ids", "an engine's column", fix)
        whose.check(name, rows.size)
        return PeopleColumn(taken(rows, whose.kept), whose.codes[whose.kept], whose.people)

    @property
    def size(self) -> int:
        """The number of people; with `by_rows`, of people's worth of rows."""
        return self._people if self._at_most is None else self._size

    @property
    def size_is_secret(self) -> bool:
        """Whether the size depends on how many rows people have."""
        return self._at_most is not None

    @property
    def values(self) -> NDArray[Any]:
        """The value of each row."""
        return self._rows.values

    @property
    def codes(self) -> Codes:
        """Whose each row is."""
        return self._codes

    @property
    def people(self) -> int:
        """How many people have rows."""
        return self._people

    def only(self, rows: NDArray[np.int64]) -> PeopleColumn:
        """Some of the rows, and those who own them."""
        codes, people = numbered(self._codes[rows])
        return PeopleColumn(taken(self._rows, rows), codes, people, self._at_most)

    @property
    def integers(self) -> bool:
        """Whether its type says that all values are whole numbers."""
        return self._rows.integers

    def finite(self) -> bool:
        """Whether no row is missing, NaN or infinite. For the curator only."""
        return self._rows.finite()

    def filled(self, missing: float) -> PeopleColumn:
        """Rows without a value replaced by a number."""
        return self._with(self._rows.filled(missing))

    def floats(self) -> PeopleColumn:
        """The same column as floats."""
        return self._with(self._rows.floats())

    def present(self) -> PeopleColumn:
        """The rows that have a value, before weights are worked out. A person without one is gone."""
        if self._rows.finite():
            return self
        rows = np.flatnonzero(~np.isnan(self._rows.values))
        codes, people = numbered(self._codes[rows])
        return PeopleColumn(taken(self._rows, rows).filled(0.0), codes, people, self._at_most)

    def by_rows(self, at_most: int) -> PeopleColumn:
        """Rows of people with up to so many weigh alike."""
        return PeopleColumn(self._rows, self._codes, self._people, at_most)

    def each(self, how: str, order: Any = None) -> EachColumn:
        """One number per person."""
        return EachColumn(self._rows, self._codes, self._people, how, order)

    def ordered(self, windows: Sequence[Window]) -> PeopleOrder:
        """z, by selection where that is less work than sorting."""
        return PeopleOrder(self._rows.values, self.units, UNIT, self.size, windows)

    def averaged(self, f: Callable[[Floats], Floats]) -> Floats:
        """Each person's weighted mean of f over her rows: see `People`."""
        counts = np.bincount(self._codes, minlength=self._people)
        rows = np.argsort(self._rows.values)  # so that sums don't depend on the order of the table
        terms = f(self._rows.values[rows].astype(np.float64))
        sums = np.bincount(self._codes[rows], weights=terms, minlength=self._people)
        each: Floats = sums / (counts if self._at_most is None else np.maximum(counts, self._at_most))
        return each

    def cumulated(self) -> tuple[Floats, Units]:
        """All rows in order, and the units up to each."""
        return self._cumulated

    def inside(self, low: float, high: float) -> tuple[int, int, int, int]:
        """Units from low to high, outside, and on one value: see `People`."""
        values, up_to = self.cumulated()
        a, b = np.searchsorted(values, low, "left"), np.searchsorted(values, high, "right")
        units = np.append(0, up_to)
        ends = a + np.append(0, np.flatnonzero(np.diff(values[a:b])) + 1)
        ties = np.diff(units[np.append(ends, b)]) if b > a else np.zeros(1, np.int64)
        held = int(units[b] - units[a])
        return UNIT, held, int(units[-1]) - held, int(ties.max())

    def sums(self, f: Callable[[Floats], list[Any]]) -> NoReturn:
        """Rows of people are not added up: that is not bounded per person."""
        raise UptackError("sums over rows are not proved for people")

    def away(self, centre: float) -> PeopleColumn:
        """Distances from a number, with the same weights."""
        return self._with(self._rows.away(centre))

    @cached_property
    def units(self) -> Units:
        """The units of each row."""
        counts = np.bincount(self._codes, minlength=self._people)
        each = UNIT // np.maximum(counts, 1)
        capped = each if self._at_most is None else np.minimum(each, UNIT // self._at_most)
        return capped[self._codes]

    @cached_property
    def _cumulated(self) -> tuple[Floats, Units]:
        order = np.argsort(self._rows.values)
        return self._rows.values[order].astype(np.float64), np.cumsum(self._many(self.units[order]))

    @cached_property
    def _size(self) -> int:
        return (int(self._many(self.units).sum()) + UNIT // 2) // UNIT

    def _many(self, units: Units) -> Units:
        """Units of rows that can be added up: all people together have no more than U each."""
        return wide(units, self._people * UNIT)

    def _with(self, rows: ArrayColumn | MaskedColumn) -> PeopleColumn:
        return PeopleColumn(rows, self._codes, self._people, self._at_most)
