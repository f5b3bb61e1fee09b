"""Counts of combinations of values, in units, each person's most frequent combinations, and groups, by the engine."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from uptack.errors import UptackError
from uptack.table import snapshots
from uptack.table.conditions import Condition
from uptack.table.engine import connection
from uptack.table.engine.expressions import (
    UNITS,
    as_floats,
    key_value,
    missing,
    unit_sum,
    without_negative_zero,
)
from uptack.table.engine.rows import Codes, read_columns
from uptack.table.exact_sum import Floats
from uptack.table.ids import of_fields
from uptack.table.memory.counts import sum_units
from uptack.table.memory.table import MemoryTable
from uptack.table.names import column_name, group_key
from uptack.table.packages import ibis, pa
from uptack.table.protocol import WEIGHTLESS, Column, Counts, FieldSums, Floored, GroupedTable, Place, Weights
from uptack.table.unit import ROOM, Integers, PrivacyUnit, roomy
from uptack.table.values.entrance import CodedField, Field, no_rows
from uptack.table.values.kinds import NUMERIC, Key, Kind, canonical, in_order, sorted_counts
from uptack.table.values.times import TIMED, Form, label, unit_start

if TYPE_CHECKING:
    from uptack.table.engine.table import EngineTable


def counts(table: EngineTable, columns: Sequence[Column]) -> Counts:
    """Rows that do not meet the conditions are in no cell, and do not share their owners' units."""
    left, names = table.matching_rows(), [column.name for column in columns]
    kinds, cells = [left.kinds[name] for name in names], [f"c{i}" for i in range(len(names))]
    if any(isinstance(column.expr, Floored) for column in columns):
        return _calendar_counts(left, columns)
    if left.unit.share == "any":
        assert left.unit.at_most is not None, "how many cells of a person count is not chosen yet"
        best = favourites(left, names, left.unit.at_most)
        grouped = best.group_by(cells).aggregate(units=best.count())
    elif left.plain is not None and not left.ids:
        grouped = left.plain.counts(names)
    else:
        grouped = _units_by_key(left, dict(zip(cells, map(left.key, names), strict=True)))

    def read() -> tuple[list[Key], Integers]:
        lines = connection.result_rows(grouped)
        keys = [[key_value(line[c], kind) for line in lines] for c, kind in zip(cells, kinds, strict=True)]
        return sorted_counts(zip(zip(*keys, strict=True), (line["units"] for line in lines), strict=True), kinds)

    return Counts(*snapshots.kept_last(connection.backend(grouped), (grouped.op(), *kinds), read), left.unit)


def _units_by_key(left: EngineTable, keys: Mapping[str, Any]) -> Any:
    """A line for each combination of keys that occurs, with its `units`: of rows, or of people's rows."""
    rows = left.table.select(**left.ids, **keys)
    rows = left.weigh(rows) if left.ids else rows
    return rows.group_by(list(keys)).aggregate(units=unit_sum(rows.w) if left.ids else rows.count())


def _calendar_counts(left: EngineTable, columns: Sequence[Column]) -> Counts:
    """Times by units of the calendar: those of one column are added up batch by batch."""
    if len(columns) > 1 or left.unit.share == "any":
        return in_memory(left, columns).counts(columns)
    (column,) = columns
    assert isinstance(column.expr, Floored)
    every, form = column.expr.every, left.forms[column.name]
    (found,) = left.rows([left.column(column.name)]).sum(partial(_calendar_units, every))
    labels = (((None if tick is None else label(tick, every, form),), count) for tick, count in found.items())
    return Counts(*sorted_counts(labels, [column.kind]), left.unit)


def _calendar_units(every: str, lines: Floats, weights: Weights) -> list[Any]:
    """The units of a batch of ticks that are in each unit of the calendar, by its begin; None for missing rows."""
    ticks, gone = _numbers(lines[0], Form("clock")).ticks()
    starts, cells = np.unique(unit_start(ticks[~gone], every), return_inverse=True)
    many = sum_units(cells, None if weights is None else weights[~gone], starts.size)
    found: Counter[int | None] = Counter(dict(zip(starts.tolist(), map(int, many), strict=True)))
    if gone.any():
        found[None] = int(gone.sum() if weights is None else roomy(weights[gone]).sum())
    return [found]


# --------------------------------------------------------------------------------------------------- declared cells


def cells(table: EngineTable, column: Column, place: Place, size: int) -> Integers:
    """The units in each of so many cells.

    Of a column of floats they are added up batch by batch, of another one by its counts: a whole number as a float may
    stand for several. Which of several cells has most of a person's rows is found in memory.
    """
    left = table.matching_rows()
    if left.unit.share == "any":
        return in_memory(left, [column]).cells(column, place, size)
    if column.kind in TIMED or (column.kind in NUMERIC and not column.integers):
        read = partial(_batch_cells, place, size, left.forms.get(column.name))
        (found,) = left.rows([left.column(column.name)]).sum(read)
        return np.asarray(found)
    counted = counts(table, [column])
    places = place(CodedField(column.kind, [key for (key,) in counted.keys], np.arange(len(counted.keys))))
    inside = places >= 0
    found = np.zeros(size, counted.units.dtype)
    np.add.at(found, places[inside], counted.units[inside])
    return found


def _batch_cells(place: Place, size: int, form: Form | None, lines: Floats, weights: Weights) -> list[Any]:
    """The units of a batch in each cell."""
    where = place(_numbers(lines[0], form))
    inside = where >= 0
    return [sum_units(where[inside], None if weights is None else weights[inside], size)]


def common(table: EngineTable, column: Column, least: int) -> tuple[list[Hashable], Integers]:
    """The values of a column that have at least so many units, by one query.

    Of values that are the same in their canonical form, though not to the engine (texts of Spark 3 that are not UTF-8),
    the one with most units counts: what a person adds to the largest is at most what she adds to all.
    """
    left = table.matching_rows()
    kind = left.kinds[column.name]
    key = as_floats(left.table[column.name]) if kind in TIMED else value(left, column.name)
    grouped = _units_by_key(left, {"c": key})
    enough = ibis.literal(str(max(least, 1))).cast(UNITS)
    found: dict[Hashable, int] = {}
    for row in connection.result_rows(grouped.filter(grouped.units.cast(UNITS) >= enough)):
        plain = canonical(row["c"] if kind in TIMED else key_value(row["c"], kind))  # ticks are whole numbers
        found[plain] = max(int(row["units"]), found.get(plain, 0))
    labels = sorted(found, key=in_order)
    each = [found[one] for one in labels]
    return labels, np.array(each, np.int64 if max(each, default=0) < ROOM else object)


@dataclass(frozen=True)
class FieldLayout:
    """Record batches of a scan: first columns of floats, then keys of others, then weights. `order` is how the caller
    has the columns."""

    kinds: tuple[Kind, ...]
    forms: tuple[Form | None, ...]
    numbers: int
    order: tuple[int, ...]
    weighted: bool

    def apply(self, f: FieldSums, batch: Any) -> list[Any]:
        return f(self._fields(batch), connection.integers(batch.column(len(self.kinds))) if self.weighted else None)

    def nothing(self, f: FieldSums) -> list[Any]:
        fields = [no_rows(self.kinds[i], self.forms[i]) for i in self.order]
        return f(fields, np.empty(0, np.int64) if self.weighted else None)

    def _fields(self, batch: Any) -> list[Field]:
        made = []
        for i, (kind, form) in enumerate(zip(self.kinds, self.forms, strict=True)):
            values = batch.column(i)
            made.append(_numbers(connection.floats(values), form) if i < self.numbers else _key_field(kind, values))
        return [made[i] for i in self.order]


def _key_field(kind: Kind, values: Any) -> Field:
    """A column of keys of a record batch. Integers of the machine are taken as they are."""
    if kind == "integer" and pa.types.is_integer(values.type):
        gone, whole = np.asarray(values.is_null()), np.asarray(values.fill_null(0))
        return Field(kind, whole.size, lambda: (whole, gone))
    codes = Codes(kind)
    codes.read(values)
    return codes.field()


def field_sums(table: EngineTable, columns: Sequence[Column], f: FieldSums) -> list[Any]:
    """Σ f over batches, by one scan: on the executors of Spark, otherwise here."""
    left = table.matching_rows()
    if left.unit.share == "any":
        raise UptackError(WEIGHTLESS)
    numbers, others = _numbers_first(left, columns)
    names = numbers + others
    layout = FieldLayout(
        tuple(left.kinds[name] for name in names),
        tuple(left.forms.get(name) for name in names),
        len(numbers),
        tuple(names.index(column.name) for column in columns),
        bool(left.ids) and left.unit.weighted,
    )
    rows = _beside(left, numbers, others)
    rows = left.weigh(rows) if layout.weighted else rows
    return connection.batch_sums(rows, partial(layout.apply, f), layout.nothing(f), connection.BATCH)


def _numbers_first(left: EngineTable, columns: Sequence[Column]) -> tuple[list[str], list[str]]:
    """The names of columns, each once: those that are read as floats, and the others."""
    names = list(dict.fromkeys(column.name for column in columns))
    numbers = [name for name in names if left.kinds[name] == "number" or left.kinds[name] in TIMED]
    return numbers, [name for name in names if name not in numbers]


def _beside(left: EngineTable, numbers: Sequence[str], others: Sequence[str]) -> Any:
    if left.plain is not None and not left.ids:
        return left.plain.beside(numbers, others)
    values = {f"v{i}": as_floats(left.table[name]) for i, name in enumerate(numbers)}
    return left.table.select(**values, **{f"c{i}": left.key(name) for i, name in enumerate(others)}, **left.ids)


def in_memory(left: EngineTable, columns: Sequence[Column]) -> MemoryTable:
    """Columns of any kind, read by one scan; of times the floats nearest to their ticks."""
    numbers, others = _numbers_first(left, columns)
    coded = [*(left.kinds[name] for name in others), *left.id_kinds]
    lines, codes = read_columns(_beside(left, numbers, others), len(numbers), coded, left.count())
    fields = {name: _numbers(line, left.forms.get(name)) for name, line in zip(numbers, lines, strict=True)}
    fields |= dict(zip(others, codes, strict=False))
    if not left.ids:
        return MemoryTable(fields, left.unit)
    whose = of_fields(list(zip(left.ids, codes[len(others) :], strict=True)))
    return MemoryTable(fields, left.unit, whose.codes, whose.people)


def _numbers(values: Floats, form: Form | None) -> Field:
    """Floats as a field of numbers, times or durations; NaN is a row without a value."""
    if form is None:
        return Field("number", values.size, lambda: (values, None))
    gone = np.isnan(values)
    ticks = np.where(gone, 0.0, values).astype(np.int64).view("m8[us]" if form.kind == "duration" else "M8[us]")
    return Field(form.kind, values.size, lambda: (ticks, gone), form=form)


# ---------------------------------------------------------------------------------------------------------- favourites


def _theirs(left: EngineTable, names: Sequence[str]) -> Any:
    """One line per person and combination of values (c0, c1, ...): how many rows she has there (m)."""
    cells = {f"c{i}": value(left, name) for i, name in enumerate(names)}
    rows = left.table.select(**left.ids, **cells)
    return rows.group_by([*left.ids, *cells]).aggregate(m=rows.count())


def cells_per_person(table: EngineTable, column: Column, place: Place | None = None) -> Integers:
    """At k how many people have rows in k cells, or with k values."""
    left = table.matching_rows()
    if place is not None or isinstance(column.expr, Floored):
        return in_memory(left, [column]).cells_per_person(column, place)
    return _combinations_per_person(left, [column.name])


def _combinations_per_person(left: EngineTable, names: Sequence[str]) -> Integers:
    """At k how many people have rows in k combinations of values."""
    theirs = _theirs(left, names)
    each = theirs.group_by(list(left.ids)).aggregate(k=theirs.count())
    lines = connection.result_rows(each.group_by("k").aggregate(n=each.count()))
    found = {int(line["k"]): int(line["n"]) for line in lines}
    people = np.zeros(max(found, default=0) + 1, np.int64)
    people[list(found)] = list(found.values())
    return people


def favourites(left: EngineTable, names: Sequence[str], at_most: int) -> Any:
    """Each person's ids and up to `at_most` values (c0, c1, ...) that most of her rows have, the first ones of ties."""
    ids, cells = list(left.ids), [f"c{i}" for i in range(len(names))]
    theirs = _theirs(left, names)
    order = [term for c in cells for term in (theirs[c].isnull(), theirs[c].asc())]
    window = ibis.window(group_by=ids, order_by=[theirs.m.desc(), *order])
    best = theirs.mutate(place=ibis.row_number().over(window)).filter(ibis._.place < at_most).select(*ids, *cells)
    return snapshots.once(connection.backend(best), ("favourites", best.op()), lambda: connection.shared_table(best))


def value(table: EngineTable, name: str) -> Any:
    """A column as keys: no two that are equal, and null for what is missing."""
    key = without_negative_zero(table.key(name))
    return ibis.ifelse(missing(key), ibis.null().cast(key.type()), key)


# -------------------------------------------------------------------------------------------------------------- trues


def trues(table: EngineTable, name: str | None, at_most: int = 1) -> int:
    """How many rows are True, of each person so many at most; without a column, how many there are."""
    if name is not None and not table.ids:
        counted = counts(table, [table.column(name)])
        return sum(int(many) for (key,), many in zip(counted.keys, counted.units, strict=True) if key is True)
    there = table if name is None else table.where([Condition(column_name(name, table.kinds), "boolean", "==", (1,))])
    left = there.matching_rows()
    if not left.ids:
        return left.count()
    theirs = left.everybody()
    most = ibis.least(theirs.m, ibis.literal(at_most, type="int64"))
    return int(connection.result_rows(theirs.aggregate(found=most.sum()))[0]["found"] or 0)


# ------------------------------------------------------------------------------------------------------------- groups


class EngineGroups(GroupedTable):
    """An engine's table by the values of columns."""

    table: EngineTable

    def _matching_rows(self) -> EngineTable:
        """The rows that meet the conditions and are in one of the groups."""
        left = self.table.matching_rows()
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
        left = self._matching_rows()
        if not left.ids:
            return left
        best = favourites(left, self.by, self.at_most).view()  # else ibis would take its ids for those of the rows
        same = [key == best[k] for k, key in left.ids.items()]
        same += [value(left, name).identical_to(best[f"c{i}"]) for i, name in enumerate(self.by)]
        return left.part(left.table.semi_join(best, same))

    def per_person(self) -> Integers:
        return _combinations_per_person(self._matching_rows(), self.by)

    def sizes(self, unit: PrivacyUnit | None = None) -> tuple[list[Hashable], Integers]:
        left = self._matching_rows()
        counted = counts(left.with_unit(unit or self.unit), [left.column(name) for name in self.by])
        return (list(counted.keys) if len(self.by) > 1 else [key for (key,) in counted.keys]), counted.units

    def part(self, group: Hashable) -> EngineTable:
        members = self._members()
        return members.part(members.table.filter(self._test(members, group)))
