"""Rows in groups, as statistics take them: a column, a table, or several of them side by side."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from uptack.columns.grouped import coded
from uptack.columns.masked import MaskedColumn
from uptack.columns.numeric import ArrayColumn
from uptack.columns.owners import of_people
from uptack.columns.timed import TimedColumn
from uptack.errors import InvalidArgument
from uptack.table.values.entrance import indexed
from uptack.table.values.kinds import canonical

Integers = NDArray[np.int64]


@runtime_checkable
class Grouped(Protocol):
    """Rows in groups, wherever they are stored. The group of a row depends on that row only.

    Where people are the unit, the group of a person depends on her rows only, and sizes are numbers of people
    (`uptack.columns.grouped`).
    """

    def sizes(self) -> tuple[Sequence[Hashable], Integers]:
        """The groups that occur, distinct also in their canonical form (`uptack.columns`), and their sizes."""
        ...

    def rows(self, group: Hashable) -> Any:
        """The rows of a group, as a statistic takes them: the same as `nothing()` if the group does not occur."""
        ...

    def nothing(self) -> Any:
        """A group without rows, as a statistic takes it."""
        ...


class ArrayGroups:
    """Rows in memory, sorted by group once.

    >>> groups = ArrayGroups(np.array([5.0, 6.0, 7.0]), ["b", "a", "b"])
    >>> groups.sizes()[0], groups.rows("b"), groups.rows("z")
    (['a', 'b'], array([5., 7.]), array([], dtype=float64))
    """

    def __init__(self, x: Any, by: Any) -> None:
        self._x = x if isinstance(x, ArrayColumn | MaskedColumn | TimedColumn) else indexed("x", x)
        self._groups, place = coded(by)
        if self._size != len(place):
            raise InvalidArgument("by", "a column of one group for every row of x", "another length")
        self._order = np.argsort(place, kind="stable")
        self._ends = np.cumsum(np.bincount(place, minlength=len(self._groups)))
        self._number = {canonical(group): i for i, group in enumerate(self._groups)}

    @property
    def _size(self) -> int:
        return len(self._x) if isinstance(self._x, np.ndarray) else self._x.size

    def sizes(self) -> tuple[Sequence[Hashable], Integers]:
        """The groups that occur, and their numbers of rows."""
        return self._groups, np.diff(self._ends, prepend=0)

    def rows(self, group: Hashable) -> Any:
        """The rows of a group, in the order of the table."""
        i = self._number.get(canonical(group))
        if i is None:
            return self.nothing()
        return self._picked(self._order[self._ends[i - 1] if i else 0 : self._ends[i]])

    def nothing(self) -> Any:
        """No rows, with the type of the column."""
        return self._picked(np.zeros(0, np.int64))

    def _picked(self, rows: Integers) -> Any:
        """A part of a column is a column of the same type."""
        if isinstance(self._x, np.ndarray):
            return self._x[rows]
        if isinstance(self._x, MaskedColumn | TimedColumn):
            return self._x.taken(rows)
        return ArrayColumn(self._x.values[rows], self._x.integers)


class Parts(tuple[Any, ...]):
    """Several arguments of a statistic, such as X and y, of the same rows."""


@dataclass(frozen=True, eq=False)
class GroupedParts:
    """Several columns or tables in the same groups: a group's rows are `Parts`."""

    parts: tuple[Grouped, ...]

    @staticmethod
    def of(data: Sequence[Any], by: Any) -> GroupedParts:
        """Data of as many rows as there are groups, or people's data in their groups already."""
        return GroupedParts(tuple(x if isinstance(x, Grouped) else ArrayGroups(x, by) for x in data))

    @property
    def of_people(self) -> bool:
        """Whether they are people's."""
        return of_people(self.parts[0])

    def sizes(self) -> tuple[Sequence[Hashable], Integers]:
        """The groups that occur, and their sizes."""
        return self.parts[0].sizes()

    def rows(self, group: Hashable) -> Parts:
        """The rows of a group, of each part."""
        return Parts(part.rows(group) for part in self.parts)

    def nothing(self) -> Parts:
        """No rows, of each part."""
        return Parts(part.nothing() for part in self.parts)
