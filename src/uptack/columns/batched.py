"""Several numeric columns side by side, of which only a batch at a time is in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from uptack.columns.numeric import Ordered
from uptack.columns.selection import Floats, Window
from uptack.columns.unread import Touched

Places = NDArray[np.int64]
Picked = tuple[Places, Floats]
Keys = NDArray[np.uint64]
Keyed = Callable[[Places, Floats], Keys]
"""A key for each of some rows, from its values and a number that its person has."""


def by_units(rows: Floats, units: NDArray[Any]) -> tuple[Floats, NDArray[np.int64]]:
    """The rows in the order of their units, which are whole numbers, and these."""
    each = np.unique(units)
    place = np.searchsorted(each, units).astype(np.min_scalar_type(each.size))  # small numbers are sorted in one pass
    order = np.argsort(place, kind="stable")
    return np.take(rows, order, axis=1), units[order].astype(np.int64)


def least(slots: Places, keys: Keys, rows: Floats) -> tuple[Places, Keys, Floats]:
    """Of the rows in each slot the one with the least key; of several the least row. So their order does not matter."""
    order = np.lexsort((keys, slots))
    first = np.flatnonzero(np.diff(slots[order], prepend=-1))
    ties = order[keys[order] == np.repeat(keys[order[first]], np.diff(first, append=order.size))]
    if ties.size > first.size:
        ties = ties[np.lexsort((*rows[::-1, ties], slots[ties]))]
        ties = ties[np.flatnonzero(np.diff(slots[ties], prepend=-1))]
    return slots[ties], keys[ties], np.take(rows, ties, axis=1)


class Batched(ABC):
    """A table of numbers. A batch has one line per column. A row is complete if all its values are finite numbers.

    `of_people` says that it knows whose its rows are. Then people stand for rows in what it counts.
    """

    of_people: bool = False

    @property
    @abstractmethod
    def size(self) -> int:
        """How many rows there are, or people."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of columns."""

    @abstractmethod
    def beside(self, other: Batched) -> Batched:
        """The columns of both, which are of one table."""

    @abstractmethod
    def clipped(self, columns: Sequence[int]) -> Batched:
        """The same with some columns brought to between 0 and 1."""

    @abstractmethod
    def coded(self, first: Any, second: Any) -> Batched:
        """The only column as 0 where it has the first of two values, 1 for the second, and missing for others."""

    @abstractmethod
    def count(self) -> int:
        """How many rows are complete, or people have such a row."""

    @abstractmethod
    def lacking(self) -> bool:
        """Whether some row is not complete. For the curator only."""

    @abstractmethod
    def ordered(self, column: int, windows: Sequence[Window]) -> Ordered:
        """The order statistics of a column, over complete rows. Those of people are z of `uptack.columns.people`."""


class BatchedRows(Batched):
    """A table whose rows stand for themselves."""

    @abstractmethod
    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over batches of complete rows, in any order. f must pickle, and make zeros of a batch without rows."""

    @abstractmethod
    def taken(self, places: Places, complete: bool) -> Floats:
        """The rows in these places of a scan; `complete` says that only complete rows have a place.

        Which row has which place may differ from scan to scan. Rows that are not complete come as they are.
        """

    @abstractmethod
    def dealt(self, slots: Places, size: int, parts: int, complete: bool) -> Iterator[Picked]:
        """Slots and rows of one part after the other: part j has the slots from j·size on, so many of them.

        slots[i] is the slot of the row in place i of one scan, or negative for one that is left out. Several rows may
        have one slot. There are at most 2^15 parts. Only one of them is in memory.
        """


class BatchedPeople(Batched):
    """A table whose rows belong to people, with U units each (`uptack.columns.people`)."""

    of_people = True

    @abstractmethod
    def weighed(self, f: Callable[[Floats, Places], list[Any]]) -> list[Any]:
        """Σ f over batches of complete rows, in any order: f as above, of rows by units, and these."""

    @abstractmethod
    def picked(self, places: Places, keyed: Keyed, complete: bool) -> Picked:
        """One complete row of each of the people in these places, who are some, in order: see `least`.

        People are numbered in the order of their ids; `complete` says that only those with a complete row are.
        """

    @abstractmethod
    def dealt(self, slots: Places, size: int, parts: int, complete: bool) -> Iterator[Picked]:
        """The same as of rows: slots[i] is that of all complete rows of person i, who are numbered as above."""


@dataclass(frozen=True)
class UnreadTable(Batched):
    """A stand-in for a table that must not be read yet: see `uptack.columns.unread`."""

    rows: int
    columns: int
    of_people: bool = False

    @property
    def size(self) -> int:
        """How many rows there are, or people."""
        return self.rows

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.columns

    def beside(self, other: Batched) -> UnreadTable:
        """The columns of both."""
        return UnreadTable(self.size, self.width + other.width, self.of_people)

    def clipped(self, columns: Sequence[int]) -> UnreadTable:
        """The same table."""
        return self

    def coded(self, first: Any, second: Any) -> UnreadTable:
        """The same table."""
        return self

    def count(self) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def lacking(self) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def ordered(self, column: int, windows: Sequence[Window]) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched
