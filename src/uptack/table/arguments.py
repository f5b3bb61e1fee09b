"""Data that a caller hands to a function, as columns of a table in memory: whatever holds them, by their types
alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.table.ids import Owners
from uptack.table.memory import counts
from uptack.table.memory.table import MemoryTable
from uptack.table.protocol import Column, Columns
from uptack.table.unit import Integers, PrivacyUnit
from uptack.table.values import entrance
from uptack.table.values.entrance import HELD, field, numeric
from uptack.table.values.field import Field
from uptack.table.values.kinds import NUMERIC, Kind
from uptack.table.values.times import TIMED

NUMBERS = "a one-dimensional column of numbers"

MEASURED: tuple[Kind, ...] = (*NUMERIC, *TIMED)
"""Kinds of columns that have an order and distances: numbers, times and durations."""


def column_field(name: str, x: Any, kinds: Sequence[Kind] | None = None, must: str = NUMBERS) -> Field:
    """A column of one of the kinds, or of any; `name` is what it is called in an error."""
    if kinds is None:
        return field(name, x, must, "Pick one column.")
    found = field(name, x, must, "Pick one numeric column.")
    return found if found.kind in kinds and found.kind in TIMED else numeric(name, found, must)


def as_column(name: str, x: Any, kinds: Sequence[Kind] | None = NUMERIC, must: str = NUMBERS) -> Column:
    """A column of a table as it is; anything else like a column as one of a table in memory.

    What is of another kind is refused by its declared type.
    """
    if isinstance(x, Column):
        if kinds is not None and x.kind not in kinds:
            what, fix = HELD[x.kind]
            raise InvalidArgument(name, must, f"a column of {what}", fix)
        return x
    return MemoryTable.of({name: column_field(name, x, kinds, must)}).column(name)


def matrix_fields(name: str, x: Any, must: str = "a table of numbers") -> dict[str, Field]:
    """The columns of numbers of a frame, of an array of one or two dimensions, or of a list, which is one column.

    Those of a frame have its names, as far as these differ; others are numbered.
    """
    framed = entrance.frame(x)
    if framed is not None:
        labels = [label for label, _ in framed]
        own = [label if labels.count(label) == 1 else f"{i}: {label}" for i, label in enumerate(labels)]
        fields = [column_field(f"{name}[{label!r}]", part, NUMERIC) for label, part in framed]
        return dict(zip(own, fields, strict=True))
    if isinstance(x, np.ndarray) and x.ndim == 2:
        numeric(name, entrance.of_numpy(x.reshape(-1)), must)
        return {str(i): entrance.of_numpy(x[:, i]) for i in range(x.shape[1])}
    return {"0": numeric(name, field(name, x, must, ""), must)}


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
    fields = {name: column_field(name, x, NUMERIC) for name, x in given.items()}
    first = next(iter(fields.values()))
    for name, one in fields.items():
        if one.size != first.size:
            raise InvalidArgument(name, f"as long as the first column, {first.size} rows", f"{one.size} rows")
    table = MemoryTable.of(fields)
    return Columns(map(table.column, fields))


BY_MUST = "a one-dimensional column of categories, or a tuple of such columns"
BY_FIX = "A list is one column; several columns are a tuple, as in by=(ward, sex), or a frame."


def category_fields(by: Any, name: str = "by") -> dict[str, Field]:
    """One or several columns of categories, by the container's own type, under names of their own."""
    framed = entrance.frame(by)
    if isinstance(by, np.ndarray) and by.ndim == 2:
        parts = [by[:, i] for i in range(by.shape[1])]
    else:
        parts = list(by) if isinstance(by, tuple) else [by] if framed is None else [part for _, part in framed]
    if not parts:
        raise InvalidArgument(name, BY_MUST, checks.outline(by), BY_FIX)
    fields = {f"{name} {i}": field(name, part, BY_MUST, BY_FIX) for i, part in enumerate(parts)}
    if len({one.size for one in fields.values()}) > 1:
        raise InvalidArgument(name, "columns of equal length", "columns of several lengths", BY_FIX)
    return fields


@dataclass(frozen=True, eq=False)
class Owned:
    """Data of any form and whose their rows are, for functions that read rows themselves."""

    data: Any
    whose: Owners
    unit: PrivacyUnit

    of_people: ClassVar[bool] = True

    def weighted(self, unit: PrivacyUnit) -> Owned:
        """The same with units that rows share in another way."""
        return Owned(self.data, self.whose, unit)

    def sharing(self, share: str, at_most: int | None = None) -> Owned:
        """The same of people whose rows share their units so."""
        return self.weighted(PrivacyUnit.of_people(self.unit.ids, share, at_most))

    def of(self, data: Any) -> Owned:
        """Other data of the same rows."""
        return Owned(data, self.whose, self.unit)

    def column(self, values: Any) -> Column:
        """A column that was made of the data, row by row."""
        made = column_field("x", values)
        self.whose.check("the data", made.size)
        return MemoryTable.of({"x": made}, self.whose).weighted(self.unit).column("x")

    def units(self, cells: Integers, size: int) -> Integers:
        """The units in each of so many cells, for the cells of all rows. Rows of nobody count nowhere."""
        self.whose.check("the data", cells.size)
        kept = self.whose.kept
        return counts.units(cells[kept], size, self.unit, self.whose.codes[kept], self.whose.people)
