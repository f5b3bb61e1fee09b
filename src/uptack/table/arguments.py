"""Data that a caller passes to a function, as columns of a table in memory, read by their declared types alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.table.ids import Owners
from uptack.table.memory import counts
from uptack.table.memory.table import MemoryTable
from uptack.table.protocol import Column, Columns
from uptack.table.unit import Integers, PrivacyUnit
from uptack.table.values.entrance import NUMBERS, check_kind, column_field, field, matrix_fields, parts
from uptack.table.values.field import Field
from uptack.table.values.kinds import NUMERIC, Kind
from uptack.table.values.times import TIMED

MEASURED: tuple[Kind, ...] = (*NUMERIC, *TIMED)
"""Kinds of columns that have an order and distances: numbers, times and durations."""


def as_column(name: str, x: Any, kinds: Sequence[Kind] | None = NUMERIC, must: str = NUMBERS) -> Column:
    """A column of a table, or other data as a column of a table in memory. Other kinds are refused by their type."""
    if isinstance(x, Column):
        check_kind(name, x.kind, (x.kind,) if kinds is None else kinds, must)
        return x
    return MemoryTable.of({name: column_field(name, x, kinds, must)}).column(name)


def as_columns(name: str, x: Any, must: str = "a table of numbers") -> Columns:
    """Columns of a table as they are; anything else like a table of numbers as columns of one in memory."""
    if isinstance(x, Columns):
        return x
    if isinstance(x, Column):
        return Columns([x])
    table = MemoryTable.of(matrix_fields(name, x, must))
    return Columns(map(table.column, table.fields))


def side_by_side(columns: Mapping[str, Any]) -> Columns:
    """Columns of numbers of one length, each given by itself; None is left out."""
    given = {name: x for name, x in columns.items() if x is not None}
    if any(isinstance(x, Column) for x in given.values()):
        return Columns(given.values())
    fields = {name: column_field(name, x) for name, x in given.items()}
    first = next(iter(fields.values()))
    for name, one in fields.items():
        if one.size != first.size:
            raise InvalidArgument(name, f"as long as the first column, {first.size} rows", f"{one.size} rows")
    table = MemoryTable.of(fields)
    return Columns(map(table.column, fields))


BY_MUST = "a one-dimensional column of categories, or a tuple of such columns"
BY_FIX = (
    "A list is one column; several columns are a tuple, as in by=(ward, sex), or a frame. "
    "Names of columns belong to a session: uptack.open(data).median('cost', by='ward', ...)."
)


def category_fields(by: Any, name: str = "by") -> dict[str, Field]:
    """One or several columns of categories, by the container's own type, under names of their own."""
    several = parts(name, by)
    columns = [by] if several is None else [part for _, part in several]
    if not columns:
        raise InvalidArgument(name, BY_MUST, checks.outline(by), BY_FIX)
    fields = {f"{name} {i}": field(name, part, BY_MUST, BY_FIX) for i, part in enumerate(columns)}
    if len({one.size for one in fields.values()}) > 1:
        raise InvalidArgument(name, "columns of equal length", "columns of different lengths", BY_FIX)
    return fields


@dataclass(frozen=True, eq=False)
class OwnedRows:
    """Data of any form and whose their rows are, for functions that read rows themselves."""

    data: Any
    whose: Owners
    unit: PrivacyUnit

    of_people: ClassVar[bool] = True

    def weighted(self, unit: PrivacyUnit) -> OwnedRows:
        """The same with units that rows share in another way."""
        return OwnedRows(self.data, self.whose, unit)

    def sharing(self, share: str, at_most: int | None = None) -> OwnedRows:
        """The same of people whose rows share their units so."""
        return self.weighted(PrivacyUnit.of_people(self.unit.ids, share, at_most))

    def of(self, data: Any) -> OwnedRows:
        """Other data of the same rows."""
        return OwnedRows(data, self.whose, self.unit)

    def column(self, values: Any) -> Column:
        """A column that was made of the data, row by row."""
        made = column_field("x", values, None)
        self.whose.check("the data", made.size)
        return MemoryTable.of({"x": made}, self.whose).weighted(self.unit).column("x")

    def units(self, cells: Integers, size: int) -> Integers:
        """The units in each of so many cells, for the cells of all rows. Rows of nobody count nowhere."""
        self.whose.check("the data", cells.size)
        kept = self.whose.kept
        return counts.units(cells[kept], size, self.unit, self.whose.codes[kept], self.whose.people)
