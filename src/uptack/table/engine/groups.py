"""Groups of rows, or of people, that an engine keeps: it counts them, and filters the rows of each."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from uptack.table.engine import connection, counts
from uptack.table.memory.table import MemoryTable
from uptack.table.names import group_key
from uptack.table.unit import Integers, PrivacyUnit
from uptack.table.values.field import no_rows
from uptack.table.values.kinds import Kind

if TYPE_CHECKING:
    from uptack.table.engine.table import EngineTable


class EngineGroups:
    """A table by the values of columns: see `uptack.table.protocol.GroupedTable`. It is read when sizes or rows are
    asked for."""

    def __init__(self, table: EngineTable, by: Sequence[str]) -> None:
        self._table, self._by = table, tuple(by)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of the columns."""
        return tuple(self._table.kinds[name] for name in self._by)

    def _best(self) -> connection.Kept:
        """The group of each person: that of most of her rows, and of several the first."""
        return counts.favourites(self._table.left(), self._by)

    def _settled(self) -> EngineTable:
        """The rows that are in a group: of people those in their own."""
        left = self._table.left()
        if not left.ids:
            return left
        kept = self._best()
        best = kept.table.view()  # its own table: ibis would take its ids for those of the rows
        same = [key == best[k] for k, key in left.ids.items()]
        same += [counts.value(left, name).identical_to(best[f"c{i}"]) for i, name in enumerate(self._by)]
        return left.part(left.table.semi_join(best, same), kept)

    def sizes(self) -> tuple[list[Hashable], Integers]:
        """The groups that occur, and their numbers of rows, or of people."""
        left = self._table.left()
        if left.ids:
            keys, many = counts.settled_sizes(left, self._by, self._best())
        else:
            counted = counts.counts(left.weighted(PrivacyUnit()), [left.column(name) for name in self._by])
            keys, many = counted.keys, counted.units
        return (list(keys) if len(self._by) > 1 else [key for (key,) in keys]), many

    def part(self, group: Hashable) -> EngineTable:
        """The rows of a group. Values that are one in their canonical form are one group."""
        settled, values = self._settled(), group_key(group, self.kinds)
        tests = [settled.has(name, one) for name, one in zip(self._by, values, strict=True)]
        return settled.part(settled.table.filter(reduce(operator.and_, tests)))

    def nothing(self) -> MemoryTable:
        """No rows."""
        table = self._table
        fields = {name: no_rows(kind, table.forms.get(name)) for name, kind in table.kinds.items()}
        return MemoryTable.without_rows(fields, table.unit)
