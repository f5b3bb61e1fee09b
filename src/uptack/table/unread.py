"""A table that must not be read yet.

A release is rehearsed before its debit: the same function runs on the public side of a table, with randomness that
can't be drawn from. If it returns ⊥ or raises, public numbers alone decided that, and nothing is owed. `DataNeeded`
stops it where it asks for rows or randomness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from uptack.interrupts import Stop
from uptack.table.conditions import Condition
from uptack.table.protocol import Column, GroupedTable, Infinite, RowDesign, Table
from uptack.table.unit import PrivacyUnit
from uptack.table.values.kinds import Kind
from uptack.table.values.times import Form


class DataNeeded(Stop):
    """The rehearsal came to where data or randomness are needed. Like an interrupt, callers must not catch it."""


def _stop(*arguments: Any, **options: Any) -> NoReturn:
    """Stop the rehearsal."""
    raise DataNeeded


@dataclass(frozen=True)
class UnreadTable(Table):
    """The names and types of columns, the unit and the size. Every question about rows stops the rehearsal."""

    kinds: Mapping[str, Kind]
    forms: Mapping[str, Form]
    unit: PrivacyUnit
    size: int
    categorical: frozenset[str] = frozenset()

    counts = cells = common = field_sums = cells_per_person = trues = spread = by_person = identifies = as_rows = _stop

    @staticmethod
    def of(table: Table) -> UnreadTable:
        return UnreadTable(table.kinds, table.forms, table.unit, table.size, table.categorical)

    def rows(self, columns: Sequence[Column], infinite: Infinite | None = None) -> UnreadRows:
        return UnreadRows(columns[0].unit, len(columns), self.size, self.size)

    def finite(self, column: Column) -> bool:
        return True

    def _designed(self, design: RowDesign) -> UnreadTable:
        return UnreadTable(dict.fromkeys(design.names, "number"), {}, self.unit, self.size)

    def groups(self, by: Sequence[str]) -> UnreadGroups:
        return UnreadGroups(self, tuple(by))

    def where(self, conditions: Sequence[Condition]) -> UnreadTable:
        """The same: which rows have a value is secret."""
        return self


@dataclass(frozen=True)
class UnreadRows:
    """Rows that stop the rehearsal when anything but their number is asked for: the size, since n is secret."""

    unit: PrivacyUnit
    width: int
    size: int
    n: int

    lacking = order = sum = pick = deal = in_memory = _stop


class UnreadGroups(GroupedTable):
    """Groups of which nothing is known but the types of what is in them."""

    per_person = sizes = part = _stop
