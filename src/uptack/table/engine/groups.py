"""Groups of rows, or of people, that an engine keeps: it counts them, and filters the rows of each."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from functools import reduce
from typing import TYPE_CHECKING, Any

from uptack.table.engine import counts
from uptack.table.names import group_key
from uptack.table.protocol import GroupedTable
from uptack.table.unit import Integers, PrivacyUnit

if TYPE_CHECKING:
    from uptack.table.engine.table import EngineTable


class EngineGroups(GroupedTable):
    """An engine's table by the values of columns."""

    table: EngineTable

    def _left(self) -> EngineTable:
        """The rows that meet the conditions and are in one of the groups."""
        left = self.table.left()
        if self.only is None:
            return left
        tests = [self._test(left, group) for group in self.only]
        while len(tests) > 1:  # as a tree, which is not deep
            tests = [reduce(operator.or_, tests[i : i + 2]) for i in range(0, len(tests), 2)]
        return left.part(left.table.filter(tests[0]))

    def _test(self, table: EngineTable, group: Hashable) -> Any:
        """The condition that a row is in a group. Values that are one in their canonical form are one group."""
        values = group_key(group, self.kinds)
        return reduce(operator.and_, [table.has(name, one) for name, one in zip(self.by, values, strict=True)])

    def _members(self) -> EngineTable:
        """The rows that are in a group: of people those in their own."""
        left = self._left()
        if not left.ids:
            return left
        kept = counts.favourites(left, self.by, self.at_most)
        best = kept.table.view()  # its own table: ibis would take its ids for those of the rows
        same = [key == best[k] for k, key in left.ids.items()]
        same += [counts.value(left, name).identical_to(best[f"c{i}"]) for i, name in enumerate(self.by)]
        return left.part(left.table.semi_join(best, same), kept)

    def per_person(self) -> Integers:
        """At k how many people are in k groups."""
        left = self._left()
        return counts.cells_per_person(left, [left.column(name) for name in self.by], None)

    def sizes(self, unit: PrivacyUnit | None = None) -> tuple[list[Hashable], Integers]:
        """The groups that occur, and their numbers of rows, or of people, or their units."""
        left = self._left()
        people = PrivacyUnit(left.unit.ids, "any", self.at_most) if left.ids else PrivacyUnit()
        counted = counts.counts(left.weighted(unit or people), [left.column(name) for name in self.by])
        return (list(counted.keys) if len(self.by) > 1 else [key for (key,) in counted.keys]), counted.units

    def part(self, group: Hashable) -> EngineTable:
        """The rows of a group."""
        members = self._members()
        return members.part(members.table.filter(self._test(members, group)))
