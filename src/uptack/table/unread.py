"""A table that must not be read yet.

A release is rehearsed before its debit: the same function is run on a table of which only the public side is known,
with randomness that can't be drawn from. If it returns ⊥ or raises, that was decided by public numbers alone, and
nothing is owed. Where it asks for rows or for randomness it stops with `Touched`: from there on it would look at
people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import NoReturn

from uptack.interrupts import Stop
from uptack.table.conditions import Condition
from uptack.table.memory.table import MemoryTable
from uptack.table.names import known
from uptack.table.protocol import Additive, Column, Columns, Counts, Infinite, Keys, Name, Of, Place, RowDesign, Table
from uptack.table.search import Order, Window
from uptack.table.unit import Integers, PrivacyUnit
from uptack.table.values.field import no_rows
from uptack.table.values.kinds import Kind, whole
from uptack.table.values.times import Form


class Touched(Stop):
    """The rehearsal came to where data or randomness are needed. Like an interrupt, callers must not catch it."""


@dataclass(frozen=True)
class UnreadTable:
    """The names and types of columns, the unit and the size."""

    kinds: Mapping[str, Kind]
    forms: Mapping[str, Form]
    unit: PrivacyUnit
    size: int

    @staticmethod
    def of(table: Table) -> UnreadTable:
        """What is public of a table."""
        return UnreadTable(table.kinds, table.forms, table.unit, table.size)

    def column(self, name: str) -> Column:
        """A column of any kind."""
        kind, form = self.kinds[known(name, self.kinds)], self.forms.get(name)
        return Column(self, Name(name), kind, form, form is not None or whole(kind))

    def rows(self, columns: Sequence[Column], infinite: Infinite | None = None) -> UnreadRows:
        """Rows of which only the public size is known."""
        return UnreadRows(columns[0].unit, len(columns), self.size)

    def finite(self, column: Column) -> bool:
        """Taken for granted."""
        return True

    def counts(self, columns: Sequence[Column]) -> Counts:
        """Stops the rehearsal."""
        raise Touched

    def cells(self, columns: Sequence[Column], place: Place, size: int) -> Integers:
        """Stops the rehearsal."""
        raise Touched

    def cells_per_person(self, columns: Sequence[Column], place: Place | None = None) -> Integers:
        """Stops the rehearsal."""
        raise Touched

    def trues(self, name: str | None, at_most: int = 1) -> int:
        """Stops the rehearsal."""
        raise Touched

    def spread(self) -> tuple[int, int]:
        """Stops the rehearsal."""
        raise Touched

    def design(self, design: RowDesign) -> tuple[Columns, Column]:
        """As many columns of numbers."""
        names = [*map(str, range(design.width)), "y"]
        made = UnreadTable(dict.fromkeys(names, "number"), {}, self.unit, self.size)
        *x, y = (made.column(name) for name in names)
        return Columns(x), y

    def groups(self, by: Sequence[str]) -> UnreadGroups:
        """Groups of which nothing is known."""
        return UnreadGroups(self, tuple(self.kinds[name] for name in by))

    def where(self, conditions: Sequence[Condition]) -> UnreadTable:
        """The same: which rows have a value is secret."""
        return self

    def by_person(self, ids: Sequence[str]) -> UnreadTable:
        """Stops the rehearsal."""
        raise Touched

    def identifies(self, name: str) -> bool:
        """Stops the rehearsal."""
        raise Touched

    def as_rows(self) -> UnreadTable:
        """Stops the rehearsal."""
        raise Touched

    def weighted(self, unit: PrivacyUnit) -> UnreadTable:
        """The same with another unit."""
        return replace(self, unit=unit)

    def sharing(self, share: str, at_most: int | None = None) -> UnreadTable:
        """The same of people whose rows share their units so."""
        return self.weighted(PrivacyUnit.of_people(self.unit.ids, share, at_most))

    @property
    def of_people(self) -> bool:
        """Whether it says whose its rows are."""
        return self.unit.people

    def snapshot(self) -> AbstractContextManager[None]:
        """Nothing is read."""
        return nullcontext()

    def one_state(self) -> AbstractContextManager[object]:
        """Nothing is read."""
        return nullcontext()


@dataclass(frozen=True)
class UnreadRows:
    """Rows that stop the rehearsal when anything but their public number is asked for."""

    unit: PrivacyUnit
    width: int
    size: int

    @property
    def n(self) -> int:
        """The size of the table: how many rows have a value is secret, and drawn before it is used."""
        return self.size

    def lacking(self) -> bool:
        """Stops the rehearsal."""
        raise Touched

    def order(self, column: int, windows: Sequence[Window]) -> Order:
        """Stops the rehearsal."""
        raise Touched

    def sum(self, f: Additive) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def pick(self, places: Integers, key: Keys, of: Of) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def deal(self, slots: Integers, size: int, parts: int, of: Of) -> Iterator[NoReturn]:
        """Stops the rehearsal."""
        raise Touched

    def in_memory(self) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched


@dataclass(frozen=True)
class UnreadGroups:
    """Groups of which nothing is known but the types of what is in them."""

    table: UnreadTable
    kinds: tuple[Kind, ...]

    @property
    def unit(self) -> PrivacyUnit:
        """Whose rows they are."""
        return self.table.unit

    def among(self, groups: object) -> UnreadGroups:
        """The same."""
        return self

    def within(self, at_most: int) -> UnreadGroups:
        """The same."""
        return self

    def where(self, conditions: object) -> UnreadGroups:
        """The same."""
        return self

    def per_person(self) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def sizes(self, unit: PrivacyUnit | None = None) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def part(self, group: object) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def nothing(self) -> MemoryTable:
        """A table without rows."""
        fields = {name: no_rows(kind, self.table.forms.get(name)) for name, kind in self.table.kinds.items()}
        return MemoryTable.without_rows(fields, self.table.unit)
