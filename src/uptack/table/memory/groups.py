"""Groups of rows, or of people, in memory: sorted once for all of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from uptack.table.memory.counts import favourites, joined
from uptack.table.names import group_key
from uptack.table.unit import Integers
from uptack.table.values.kinds import Kind

if TYPE_CHECKING:
    from uptack.table.memory.table import MemoryTable


class MemoryGroups:
    """A table by the values of columns: see `uptack.table.protocol.GroupedTable`. It is read when sizes or rows are
    asked for."""

    def __init__(self, table: MemoryTable, by: Sequence[str]) -> None:
        self._table, self._by = table, tuple(by)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of the columns."""
        return tuple(self._table.kinds[name] for name in self._by)

    @cached_property
    def _sorted(self) -> tuple[list[Hashable], Integers, Integers, Integers]:
        """The groups, their sizes, the rows in the order of their groups, and where each group ends."""
        keys, cells = joined([self._table.field(name).codes() for name in self._by])
        groups: list[Hashable] = list(keys) if len(self._by) > 1 else [key for (key,) in keys]
        rows, whose = self._table.present, self._table.codes
        chosen = cells[rows]
        if whose is not None:
            best = np.full(self._table.people, -1)
            people, chosen = favourites(cells[rows], whose[rows])
            best[people] = chosen
            rows = rows[cells[rows] == best[whose[rows]]]
        sizes = np.bincount(chosen, minlength=len(groups))
        order = rows[np.argsort(cells[rows], kind="stable")]
        ends = np.cumsum(np.bincount(cells[rows], minlength=len(groups)))
        there = np.flatnonzero(sizes)  # a group of hidden rows alone is none
        starts = ends - np.bincount(cells[rows], minlength=len(groups))
        return [groups[i] for i in there], sizes[there], order, np.stack([starts, ends])[:, there]

    @cached_property
    def _number(self) -> dict[Hashable, int]:
        return {group_key(group, self.kinds): i for i, group in enumerate(self._sorted[0])}

    def sizes(self) -> tuple[list[Hashable], Integers]:
        """The groups that occur, and their numbers of rows, or of people."""
        return self._sorted[0], self._sorted[1]

    def part(self, group: Hashable) -> MemoryTable:
        """The rows of a group, in the order of the table."""
        i = self._number.get(group_key(group, self.kinds))
        if i is None:
            return self.nothing()
        start, end = self._sorted[3][:, i]
        return self._table.part(self._sorted[2][start:end])

    def nothing(self) -> MemoryTable:
        """No rows."""
        return self._table.empty()
