"""A table in memory: named fields, each of a declared kind, and whose each row is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.errors import InvalidArgument, UptackError
from uptack.table.conditions import ORDER, Condition
from uptack.table.exact_sum import Floats
from uptack.table.ids import Owners, of_fields, renumber
from uptack.table.memory import counts
from uptack.table.memory.counts import MemoryGroups
from uptack.table.memory.rows import MemoryRows, person_numbers, row_weights
from uptack.table.names import column_name
from uptack.table.protocol import (
    SECRET,
    WEIGHTLESS,
    Category,
    Column,
    Columns,
    Counts,
    FieldSums,
    Floored,
    Infinite,
    Meets,
    Missing,
    Place,
    RowDesign,
    Table,
    apply_steps,
)
from uptack.table.unit import ROW, Integers, PrivacyUnit
from uptack.table.values.entrance import (
    NUMBERS,
    Field,
    Mask,
    check_kind,
    column_field,
    matrix_fields,
    no_rows,
    of_numpy,
)
from uptack.table.values.kinds import LARGEST, NUMERIC, Kind, canonical, sorted_counts
from uptack.table.values.times import TIMED, Form, label, unit_start

BATCH = 1 << 17
"""Rows that `field_sums` reads at once, as many as an engine sends."""
Values = tuple[NDArray[Any], Mask | None, bool]
"""Numbers as they are held, the rows without one, and whether all others are known to be finite."""


@dataclass(frozen=True, eq=False)
class MemoryTable(Table):
    """Fields by name; rows of nobody are gone. `mask` tells which rows meet the conditions, once somebody asks.

    `codes` numbers the people 0, 1, ..., people - 1, in the order of their ids; None where rows are their own. A `part`
    of a table has no public size.

    >>> from uptack.table.opening import open_table
    >>> visits = open_table({"id": ["a", "a", "b", None], "age": np.array([31, 32, 50, 77])}, person="id")
    >>> visits.size, dict(visits.kinds), visits.unit.ids
    (2, {'age': 'integer'}, ('id',))
    """

    fields: Mapping[str, Field]
    unit: PrivacyUnit = ROW
    codes: Integers | None = None
    people: int = 0
    mask: Callable[[], Mask] | None = None
    is_part: bool = False
    outer: MemoryTable | None = None

    @staticmethod
    def of(fields: Mapping[str, Field], whose: Owners | None = None, names: tuple[str, ...] = ()) -> MemoryTable:
        """Columns of one length; with owners, the rows that have one. Columns with the `names` of ids are hidden."""
        if len({field.size for field in fields.values()}) > 1:
            raise InvalidArgument("data", "columns of equal length", "columns of different lengths")
        if whose is None:
            return MemoryTable(dict(fields))
        kept = whose.owned_rows
        others = {name: field.take(kept) for name, field in fields.items() if name not in names}
        return MemoryTable(others, PrivacyUnit(whose.names, "people"), whose.codes[kept], whose.people)

    def __repr__(self) -> str:
        whose = f", people by {' and '.join(self.unit.ids)}" if self.unit.ids else ""
        return f"MemoryTable of {len(self.fields)} columns{whose}"

    # -------------------------------------------------------------------------------------------------- what is public

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        return {name: field.kind for name, field in self.fields.items()}

    @cached_property
    def forms(self) -> Mapping[str, Form]:
        return {name: field.form for name, field in self.fields.items() if field.kind in TIMED}

    @cached_property
    def categorical(self) -> frozenset[str]:
        return frozenset(name for name, field in self.fields.items() if field.categories)

    @property
    def size(self) -> int:
        if self.is_part:
            raise UptackError(SECRET)
        return self._size

    @property
    def _rows(self) -> int:
        return next((field.size for field in self.fields.values()), 0) if self.codes is None else self.codes.size

    @property
    def _size(self) -> int:
        return self._rows if self.codes is None else self.people

    def field(self, name: str) -> Field:
        """All rows of a column; those that do not meet the conditions have no value."""
        found, met = self.fields[name], self.row_mask
        return found if met is None else found.hiding(~met)

    # ------------------------------------------------------------------------------------------------- other tables

    def where(self, conditions: Sequence[Condition]) -> MemoryTable:

        @cache
        def mask() -> Mask:
            found = rows_meeting(self.fields, conditions)
            return found if self.mask is None else found & self.mask()

        return replace(self, mask=mask)

    @property
    def filtered(self) -> bool:
        return self.mask is not None

    @property
    def row_mask(self) -> Mask | None:
        """Which rows meet the conditions; None for all of them."""
        return None if self.mask is None else self.mask()

    def by_person(self, ids: Sequence[str]) -> MemoryTable:
        """The rows that are somebody's, as columns of ids say."""
        names = tuple(column_name(name, self.kinds) for name in ids)
        whose = of_fields([(name, self.fields[name]) for name in names])
        return replace(MemoryTable.of(self.fields, whose, names), outer=self)

    def identifies(self, name: str) -> bool:
        """Whether a column can be one of ids: here any can."""
        return name in self.fields

    def as_rows(self) -> MemoryTable:
        return self if self.outer is None else self.outer

    def groups(self, by: Sequence[str]) -> MemoryGroups:
        return MemoryGroups(self, tuple(by))

    @cached_property
    def present(self) -> Integers:
        return np.arange(self._rows) if self.row_mask is None else np.flatnonzero(self.row_mask)

    def part(self, rows: Integers) -> MemoryTable:
        """Some of the rows, and those who own them."""
        codes, people = (None, 0) if self.codes is None else renumber(self.codes[rows])
        fields = {name: field.take(rows) for name, field in self.fields.items()}
        return MemoryTable(fields, self.unit, codes, people, is_part=True)

    def _designed(self, design: RowDesign) -> MemoryTable:

        def level_numbers(category: Category) -> Floats:
            """The number of each row's level; NaN where a row counts as missing."""
            order = {canonical(level): place for place, level in enumerate(category.levels)}
            other = {"missing": np.nan, "first": 0.0, "own": float(len(category.levels))}[category.others]
            values, codes = self.field(category.name).codes()
            each = [np.nan if value is None else order.get(canonical(value), other) for value in values]
            return np.array(each, np.float64)[codes] if each else np.empty(0)

        reads = [level_numbers(one) if isinstance(one, Category) else self.field(one).floats() for one in design.reads]
        with np.errstate(all="ignore"):
            lines = design.make(reads)
        fields = {name: of_numpy(line) for name, line in zip(design.names, lines, strict=True)}
        return replace(self, fields=fields, mask=None)

    # ------------------------------------------------------------------------------------------------------- questions

    def rows(self, columns: Sequence[Column], infinite: Infinite | None = None) -> MemoryRows:
        """Hidden rows, missing values, numbers per person, weights: in this order."""
        read = [self._values(column) for column in columns]
        lost = list[Mask]()
        for column, (numbers, gone, bounded) in zip(columns, read, strict=True):
            if infinite == "drop" and not bounded:
                gone = ~np.isfinite(numbers) if gone is None else gone | ~np.isfinite(numbers)
            if gone is not None and (infinite is not None or column.missing == "drop"):
                lost.append(gone)
        out = np.logical_or.reduce(lost) if lost else None
        kept = None if out is None or not out.any() else np.flatnonzero(~out)
        ways = [column.missing if infinite is None else "drop" for column in columns]
        values = [_ready(way, one, kept) for way, one in zip(ways, read, strict=True)]
        codes = self.codes if kept is None or self.codes is None else self.codes[kept]
        own = columns[0].own
        if own is None:
            return MemoryRows(values, self.unit, self._size, codes, kept)
        assert codes is not None
        order = None if own.order is None else self.field(own.order).places()[0]
        order = order if order is None or kept is None else order[kept]
        made = [person_numbers(one, codes, self.people, own.how, order) for one in values]
        made = [apply_steps(column.after, one) for column, one in zip(columns, made, strict=True)]
        there = np.flatnonzero(np.bincount(codes, minlength=self.people))
        everybody = there.size == self.people
        return MemoryRows(made, PrivacyUnit(self.unit.ids), self.people, None, None if everybody else there)

    def finite(self, column: Column) -> bool:
        values, gone, bounded = self._values(column)
        return (gone is None or not gone.any()) and (bounded or _finite(values))

    def _values(self, column: Column) -> Values:
        """The numbers of all rows, before there are numbers per person."""
        value, gone = column.expr, None
        if isinstance(value, Meets):
            values: NDArray[Any] = rows_meeting(self.fields, [value.condition]).astype(np.float64)
            gone = ~rows_meeting(self.fields, [value.among])
        else:
            field = self.fields[value.name]
            values, gone = field.ticks() if field.kind in TIMED else field.numbers()
        bounded = values.dtype.kind != "f" or _finite(values)
        if not bounded:
            gone = np.isnan(values)
        if self.row_mask is not None:
            gone = ~self.row_mask if gone is None else gone | ~self.row_mask
        if column.steps:
            values, bounded = apply_steps(column.steps, values), False
        return values, gone, bounded

    def counts(self, columns: Sequence[Column]) -> Counts:
        distinct = [self._distinct(column) for column in columns]
        keys, cells = counts.combinations(distinct)
        pairs = zip(keys, self._units(cells, len(keys)), strict=True)  # a cell of hidden rows alone is none
        found, units = sorted_counts((pair for pair in pairs if pair[1]), [c.kind for c in columns])
        return Counts(found, units, self.unit)

    def cells(self, column: Column, place: Place, size: int) -> Integers:
        return self._units(place(self.fields[column.name]), size)

    def cells_per_person(self, column: Column, place: Place | None = None) -> Integers:
        assert self.codes is not None
        cells = self._distinct(column)[1] if place is None else place(self.fields[column.name])
        return counts.cells_per_person(cells[self.present], self.codes[self.present])

    def _units(self, cells: Integers, size: int) -> Integers:
        codes = self.codes if self.codes is None or self.row_mask is None else self.codes[self.present]
        cells = cells if self.row_mask is None else cells[self.present]
        return counts.units(cells, size, self.unit, codes, self.people)

    def common(self, column: Column, least: int) -> tuple[list[Hashable], Integers]:
        field = self.fields[column.name]
        if field.kind in TIMED:
            ticks, gone = field.ticks()
            distinct, cells = np.unique(ticks, return_inverse=True)
            labels, cells = [*distinct.tolist(), None], np.where(gone, distinct.size, cells)
        else:
            labels, cells = field.codes()
        units = self._units(cells, len(labels))
        there = np.flatnonzero(units >= max(least, 1))
        return [labels[i] for i in there.tolist()], units[there]

    def field_sums(self, columns: Sequence[Column], f: FieldSums) -> list[Any]:
        if self.unit.share == "any":
            raise UptackError(WEIGHTLESS)
        fields, rows = [self.fields[column.name] for column in columns], self.present
        weights = row_weights(self.unit, None if self.codes is None else self.codes[rows], self.people)
        parts = (
            f([field.take(rows[part]) for field in fields], None if weights is None else weights[part])
            for part in (slice(start, start + BATCH) for start in range(0, max(rows.size, 1), BATCH))
        )
        return reduce(lambda sums, part: [a + b for a, b in zip(sums, part, strict=True)], parts)

    def _distinct(self, column: Column) -> tuple[Sequence[Hashable], Integers]:
        """The values of a column that occur, and each row's place among them; times by units of the calendar."""
        field = self.fields[column.name]
        if not isinstance(column.expr, Floored):
            return field.codes()
        ticks, gone = field.ticks()
        starts, codes = np.unique(unit_start(ticks, column.expr.every), return_inverse=True)
        labels = [label(int(tick), column.expr.every, field.form) for tick in starts]
        return [*labels, None], np.where(gone, len(labels), codes)

    def trues(self, name: str | None, at_most: int = 1) -> int:
        rows = self.present if name is None else np.flatnonzero(self.field(column_name(name, self.kinds)).flags())
        if self.codes is None:
            return rows.size
        return counts.capped_sum(np.bincount(self.codes[rows], minlength=self.people), at_most)

    def spread(self) -> tuple[int, int]:
        if self.codes is None:
            return self._rows, 1
        return self.codes.size, int(np.bincount(self.codes, minlength=1).max())


def without_rows(table: Table) -> MemoryTable:
    """A part of a table that has no rows, with the same columns. Looks at no row."""
    forms, categorical = table.forms, table.categorical
    fields = {name: no_rows(kind, forms.get(name), name in categorical) for name, kind in table.kinds.items()}
    return MemoryTable(fields, table.unit, np.zeros(0, np.int64) if table.unit.ids else None, 0, is_part=True)


def _finite(values: NDArray[Any]) -> bool:
    """Whether no float is NaN or infinite. One sum tells, unless it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64))) or bool(np.isfinite(values).all())


def _ready(missing: Missing, read: Values, kept: Integers | None) -> NDArray[Any]:
    """The rows that are kept. Missing values are NaN, or filled: in a whole-number type with the nearest that it holds.

    Where rows must have a value, infinities are ±the largest float.
    """
    values, gone, bounded = read
    if kept is not None:
        values, gone = values[kept], None if gone is None else gone[kept]
    if missing != "keep" and not bounded:
        values = np.clip(values, -LARGEST, LARGEST)
    if gone is None or missing == "drop" or not gone.any():
        return values
    instead = np.nan if missing == "keep" else float(missing)
    if values.dtype.kind == "f":
        return np.where(gone, instead, values)
    if not instead.is_integer():
        return np.where(gone, instead, values.astype(np.float64))
    limits = np.iinfo(values.dtype)
    return np.where(gone, values.dtype.type(min(max(int(instead), int(limits.min)), int(limits.max))), values)


def rows_meeting(fields: Mapping[str, Field], conditions: Sequence[Condition]) -> Mask:
    """The rows that meet all conditions."""
    rows: Mask = np.logical_and.reduce([_meets(one, fields[one.column]) for one in conditions])
    return rows


def _meets(one: Condition, field: Field) -> Mask:
    if one.kind not in ("integer", "number", "boolean"):
        labels, codes = field.codes()
        return np.fromiter((one.holds_for(canonical(value)) for value in labels), bool, len(labels))[codes]
    values, gone = field.numbers() if one.form is None else field.ticks()
    values = values if one.form is None else values.astype(np.float64)
    there = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(field.size, bool)
    there = there if gone is None else there & ~gone
    limits = None
    if values.dtype.kind in "iu":
        limits = int(np.iinfo(values.dtype).min), int(np.iinfo(values.dtype).max)

    def same() -> Mask:
        wanted = [value for value in one.values if isinstance(value, int | float)]
        inside = [value for value in wanted if limits is None or limits[0] <= value <= limits[1]]
        return reduce(np.logical_or, (values == value for value in inside), np.zeros(field.size, bool))

    rows: Mask = one.mask(there, same, lambda sign, end: ORDER[sign](values, end), limits)
    return rows


# ---------------------------------------------------------------------------------------------- data that callers pass


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
