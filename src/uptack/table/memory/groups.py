"""Groups of rows, or of people, in memory: sorted once for all of them."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from uptack.table.memory.counts import cells_per_person, favourites, joined, units
from uptack.table.names import group_key
from uptack.table.protocol import GroupedTable, Table
from uptack.table.unit import Integers, PrivacyUnit

if TYPE_CHECKING:
    from uptack.table.memory.table import MemoryTable


class MemoryGroups(GroupedTable):
    """A table in memory by the values of columns."""

    table: MemoryTable

    @cached_property
    def _cells(self) -> tuple[list[Hashable], Integers]:
        """The groups that occur, and the number of each row's group; -1 for rows of other groups and hidden ones."""
        keys, cells = joined([self.table.field(name).codes() for name in self.by])
        groups: list[Hashable] = list(keys) if len(self.by) > 1 else [key for (key,) in keys]
        hidden = np.ones(cells.size, bool)
        hidden[self.table.present] = False
        cells = np.where(hidden, -1, cells)
        if self.only is not None:
            wanted = {group_key(group, self.kinds) for group in self.only}
            known = np.array([group_key(group, self.kinds) in wanted for group in groups], bool)
            cells = np.where((cells >= 0) & np.append(known, False)[cells], cells, -1)
        return groups, cells

    @cached_property
    def _sorted(self) -> tuple[list[Hashable], Integers, Integers, Integers]:
        """The groups, their sizes, the rows in the order of their groups, and where each group ends."""
        groups, cells = self._cells
        rows, whose = np.flatnonzero(cells >= 0), self.table.codes
        chosen = cells[rows]
        if whose is not None:
            people, chosen = favourites(cells[rows], whose[rows], self.at_most)
            mine = np.isin(whose[rows] * len(groups) + cells[rows], people * len(groups) + chosen)
            rows = rows[mine]
        sizes = np.bincount(chosen, minlength=len(groups))
        order = rows[np.argsort(cells[rows], kind="stable")]
        ends = np.cumsum(np.bincount(cells[rows], minlength=len(groups)))
        there = np.flatnonzero(sizes)  # a group of hidden rows alone is none
        starts = ends - np.bincount(cells[rows], minlength=len(groups))
        return [groups[i] for i in there], sizes[there], order, np.stack([starts, ends])[:, there]

    def per_person(self) -> Integers:
        """At k how many people are in k groups."""
        cells = self._cells[1]
        assert self.table.codes is not None
        return cells_per_person(cells, self.table.codes)

    @cached_property
    def _number(self) -> dict[Hashable, int]:
        return {group_key(group, self.kinds): i for i, group in enumerate(self._sorted[0])}

    def sizes(self, unit: PrivacyUnit | None = None) -> tuple[list[Hashable], Integers]:
        """The groups that occur, and their numbers of rows, or of people, or their units."""
        if unit is None:
            return self._sorted[0], self._sorted[1]
        groups, cells = self._cells
        rows, whose = np.flatnonzero(cells >= 0), self.table.codes
        codes = None if whose is None else whose[rows]
        found = units(cells[rows], len(groups), unit, codes, self.table.people)
        there = np.flatnonzero(found)
        return [groups[i] for i in there], found[there]

    def part(self, group: Hashable) -> Table:
        """The rows of a group, in the order of the table."""
        i = self._number.get(group_key(group, self.kinds))
        if i is None:
            return self.nothing()
        start, end = self._sorted[3][:, i]
        return self.table.part(self._sorted[2][start:end])
