"""Rows of people in groups: each person counts in one of her groups only.

Her group is the one with most of her rows, and of several the first in the order of their values; her rows elsewhere
are left out. So the group of a person is a function of her rows alone, and groups of people are what groups of rows
are: one person who is added or removed changes one group, by one person.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.columns.each import EachColumn
from uptack.columns.owners import Owners, PeopleRows
from uptack.columns.people import PeopleColumn
from uptack.columns.spread import PeopleValues, favourites
from uptack.errors import InvalidArgument
from uptack.table.values import containers
from uptack.table.values.entrance import field
from uptack.table.values.field import Field
from uptack.table.values.kinds import canonical

Integers = NDArray[np.int64]
Column = tuple[Sequence[Hashable], Integers]
Theirs = PeopleColumn | EachColumn | PeopleRows | PeopleValues
Shape = Callable[[Any, Integers], Any]
MUST = "a one-dimensional column of categories, or a tuple of such columns"
FIX = "A list is one column; several columns are a tuple, as in by=(ward, sex), or a frame."


def coded(by: Any, name: str = "by") -> tuple[list[Hashable], Integers]:
    """The groups that occur, in order, and each row's place among them. Groups of several columns are tuples.

    >>> groups, places = coded((["b", "a", "b"], [1, 1, None]))
    >>> groups, places.tolist()
    ([('a', 1), ('b', 1), ('b', None)], [1, 0, 2])
    """
    parts = _parts(by, name)
    if len({part.size for part in parts}) > 1:
        raise InvalidArgument(name, "columns of equal length", "columns of several lengths", FIX)
    if len(parts) == 1:
        return parts[0].codes()
    groups, places = joined([part.codes() for part in parts])
    return list(groups), places


def joined(columns: Sequence[Column]) -> tuple[list[tuple[Hashable, ...]], Integers]:
    """The combinations that occur of the values of several columns, in order, and each row's place among them.

    Rows are numbered anew after each column, so that numbers stay below rows².
    """
    cells = np.zeros(len(columns[0][1]), np.int64)
    for distinct, places in columns:
        cells = np.unique(cells * len(distinct) + places, return_inverse=True)[1]
    firsts = np.unique(cells, return_index=True)[1]
    return [tuple(distinct[places[first]] for distinct, places in columns) for first in firsts], cells


def _parts(by: Any, name: str) -> list[Field]:
    """The columns, by the container's own type."""
    framed = containers.frame(by)
    if isinstance(by, np.ndarray) and by.ndim == 2:
        parts = [by[:, i] for i in range(by.shape[1])]
    else:
        parts = list(by) if isinstance(by, tuple) else [by] if framed is None else [part for _, part in framed]
    if not parts:
        raise InvalidArgument(name, MUST, checks.outline(by), FIX)
    return [field(name, part, MUST, FIX) for part in parts]


@dataclass(frozen=True, eq=False)
class Keys:
    """The groups that occur, in order, and the number of the group of every row that is somebody's."""

    groups: Sequence[Hashable]
    places: Integers

    @staticmethod
    def of(by: Any, whose: Owners, name: str = "by") -> Keys:
        """A column with the group of every row; missing values are the group None."""
        groups, places = coded(by, name)
        if places.size != whose.size:
            raise InvalidArgument(name, "a column of one group for every row of x", "another length")
        return Keys(groups, places[whose.kept])


class PeopleGroups:
    """People in memory, each in her group: a column, or other data of people that know `codes`, `people` and `only`.

    `shape` makes what is asked of a group's rows: see `PeopleColumn.each`.
    """

    of_people = True

    def __init__(self, x: Theirs, keys: Keys, shape: Shape = lambda column, rows: column) -> None:
        self._x, self._shape, self._groups = x, shape, keys.groups
        people, chosen = favourites(keys.places, x.codes)
        own = np.zeros(x.people, np.int64)
        own[people] = chosen
        self._sizes = np.bincount(chosen, minlength=len(self._groups))
        inside = np.flatnonzero(keys.places == own[x.codes])
        order = np.argsort(keys.places[inside], kind="stable")
        self._rows, self._place = inside[order], keys.places[inside][order]
        self._number = {canonical(group): i for i, group in enumerate(self._groups)}

    def sizes(self) -> tuple[Sequence[Hashable], Integers]:
        """The groups that occur, and how many people are in each."""
        return self._groups, self._sizes

    def rows(self, group: Hashable) -> Any:
        """The rows of a group's people in that group."""
        i = self._number.get(canonical(group), -1)
        low, high = np.searchsorted(self._place, [i, i + 1]) if i >= 0 else (0, 0)
        rows = self._rows[low:high]
        return self._shape(self._x.only(rows), rows)

    def nothing(self) -> Any:
        """A group without people."""
        rows = np.zeros(0, np.int64)
        return self._shape(self._x.only(rows), rows)
