"""Counts of combinations of values, in units, and each person's most frequent combinations, by the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from uptack.table import snapshots
from uptack.table.engine import connection
from uptack.table.engine.expressions import added, as_floats, missing, plain_zero, units, valued, weighed
from uptack.table.engine.rows import gathered
from uptack.table.exact_sum import Floats
from uptack.table.ids import of_fields
from uptack.table.memory import counts as memory_counts
from uptack.table.memory.table import MemoryTable
from uptack.table.protocol import Column, Counts, Floored, Place, Weights
from uptack.table.unit import Integers, roomy
from uptack.table.values.field import CodedField, Field
from uptack.table.values.kinds import NUMERIC, Kind, tidy
from uptack.table.values.times import FIRST, LAST, TIMED, Form, begin, label

if TYPE_CHECKING:
    from uptack.table.engine.table import EngineTable

Key = tuple[Any, ...]


def counts(table: EngineTable, columns: Sequence[Column]) -> Counts:
    """Rows that do not meet the conditions are in no cell, and do not share their owners' units."""
    left, names = table.left(), [column.name for column in columns]
    if any(isinstance(column.expr, Floored) for column in columns):
        if len(columns) > 1 or left.unit.share == "any":
            return in_memory(left, columns).counts(columns)
        return _by_calendar(left, columns[0])
    if left.unit.share == "any":
        assert left.unit.at_most is not None, "how many cells of a person count is not chosen yet"
        return Counts(*favourite_sizes(left, names, favourites(left, names, left.unit.at_most)), left.unit)
    cells = [f"c{i}" for i in range(len(names))]
    if left.plain is not None and not left.ids:
        found = connection.whole(left.plain.counts(names))
        return Counts(*tidied(left, names, ((tuple(row.values())[:-1], row["rows"]) for row in found)), left.unit)
    rows = left.table.select(**left.ids, **{c: left.key(name) for c, name in zip(cells, names, strict=True)})
    people = left.everybody() if left.ids else None
    if people is not None:
        rows = weighed(rows, people, list(left.ids), left.unit)
    found = connection.whole(rows.group_by(cells).aggregate(**(units(rows.w) if left.ids else {"rows": rows.count()})))
    theirs = ((tuple(row[c] for c in cells), added(row) if left.ids else row["rows"]) for row in found)
    return Counts(*tidied(left, names, theirs), left.unit)


def tidied(table: EngineTable, names: Sequence[str], found: Iterable[tuple[Key, int]]) -> tuple[list[Key], Integers]:
    """What was counted by keys of columns, with their values in place of the keys."""
    kinds: list[Kind] = [table.kinds[name] for name in names]

    def values(key: Key) -> Key:
        return tuple(valued(part, kind) for part, kind in zip(key, kinds, strict=True))

    return tidy(((values(key), count) for key, count in found), kinds)


# --------------------------------------------------------------------------------------------- units of the calendar


def _by_calendar(left: EngineTable, column: Column) -> Counts:
    """Units of the rows in each hour, day, ..., wherever the rows are: numbers of units are added up."""
    assert isinstance(column.expr, Floored)
    every, form = column.expr.every, left.forms[column.name]
    (found,) = left.rows([left.column(column.name)]).sum(partial(_starts, every))
    keys = (((None if tick is None else label(tick, every, form),), count) for tick, count in found.items())
    return Counts(*tidy(keys, [column.kind]), left.unit)


def _starts(every: str, lines: Floats, weights: Weights) -> list[Any]:
    """The units of a batch of ticks that are in each unit of the calendar, by its begin; None for missing rows."""
    gone = np.isnan(lines[0])
    whole = np.clip(lines[0][~gone].astype(np.int64), FIRST, LAST)
    starts, cells = np.unique(begin(whole, every), return_inverse=True)
    many = _added(cells, None if weights is None else weights[~gone], starts.size)
    found: Counter[int | None] = Counter(dict(zip(starts.tolist(), map(int, many), strict=True)))
    if gone.any():
        found[None] = int(gone.sum() if weights is None else roomy(weights[gone]).sum())
    return [found]


def _added(cells: Integers, weights: Weights, size: int) -> Integers:
    """The units in each of so many cells."""
    if weights is not None:
        return memory_counts.added(cells, weights, size)
    return np.bincount(cells, minlength=size).astype(np.int64)


# --------------------------------------------------------------------------------------------------- declared cells


def cells(table: EngineTable, columns: Sequence[Column], place: Place, size: int) -> Integers:
    """The units in each of so many cells.

    Of one column of floats they are added up batch by batch, of another one by its counts: a whole number as a float
    may stand for several. Which of several cells has most of a person's rows is found in memory, and so are the cells
    of several columns.
    """
    left = table.left()
    if len(columns) > 1 or left.unit.share == "any":
        return in_memory(left, columns).cells(columns, place, size)
    (column,) = columns
    if column.kind in TIMED or (column.kind in NUMERIC and not column.integers):
        (found,) = left.rows([left.column(column.name)]).sum(partial(_placed, place, size))
        made: Integers = found
        return made
    counted = counts(table, columns)
    places = place(CodedField(column.kind, [key for (key,) in counted.keys], np.arange(len(counted.keys))))
    inside = places >= 0
    if counted.units.dtype == object:
        found = np.zeros(size, object)
        np.add.at(found, places[inside], counted.units[inside])
        return found
    return memory_counts.added(places[inside], counted.units[inside], size)


def _placed(place: Place, size: int, lines: Floats, weights: Weights) -> list[Any]:
    """The units of a batch in each cell."""
    where = place(lines[0])
    inside = where >= 0
    return [_added(where[inside], None if weights is None else weights[inside], size)]


def in_memory(left: EngineTable, columns: Sequence[Column]) -> MemoryTable:
    """Columns of any kind, read by one scan; of times the floats nearest to their ticks."""
    kinds = {column.name: left.kinds[column.name] for column in columns}
    numbers = [name for name, kind in kinds.items() if kind == "number" or kind in TIMED]
    others = [name for name in kinds if name not in numbers]
    if left.plain is not None and not left.ids:
        read = left.plain.beside(numbers, others)
    else:
        values = {f"v{i}": as_floats(left.table[name]) for i, name in enumerate(numbers)}
        read = left.table.select(**values, **{f"c{i}": left.key(name) for i, name in enumerate(others)}, **left.ids)
    coded = [*(kinds[name] for name in others), *left.id_kinds]
    lines, codes = gathered(read, len(numbers), coded, left.count())
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


def cells_per_person(left: EngineTable, columns: Sequence[Column], place: Place | None) -> Integers:
    """At k how many people have rows in k cells, or in k combinations of values."""
    if place is not None or any(isinstance(column.expr, Floored) for column in columns):
        return in_memory(left, columns).cells_per_person(columns, place)
    theirs = _theirs(left, [column.name for column in columns])
    each = theirs.group_by(list(left.ids)).aggregate(k=theirs.count())
    found = {int(row["k"]): int(row["n"]) for row in connection.whole(each.group_by("k").aggregate(n=each.count()))}
    people = np.zeros(max(found, default=0) + 1, np.int64)
    people[list(found)] = list(found.values())
    return people


def favourites(left: EngineTable, names: Sequence[str], at_most: int) -> connection.Kept:
    """Lines of each person's ids, and of the values (c0, c1, ...) that most of her rows have: up to so many of each
    person, the first ones of several."""
    ibis, ids, cells = connection.ibis(), list(left.ids), [f"c{i}" for i in range(len(names))]
    theirs = _theirs(left, names)
    order = [term for c in cells for term in (theirs[c].isnull(), theirs[c].asc())]
    window = ibis.window(group_by=ids, order_by=[theirs.m.desc(), *order])
    best = theirs.mutate(place=ibis.row_number().over(window)).filter(ibis._.place < at_most).select(*ids, *cells)
    return snapshots.once(connection.backend(best), ("favourites", best.op()), lambda: connection.Kept(best))


def favourite_sizes(
    left: EngineTable, names: Sequence[str], best: connection.Kept
) -> tuple[list[tuple[Any, ...]], Integers]:
    """The values that are somebody's most frequent ones, and of how many people."""
    theirs, cells = best.table, [f"c{i}" for i in range(len(names))]
    found = connection.whole(theirs.group_by(cells).aggregate(people=theirs.count()))
    return tidied(left, names, ((tuple(row[c] for c in cells), row["people"]) for row in found))


def value(table: EngineTable, name: str) -> Any:
    """A column as keys: no two that are equal, and null for what is missing."""
    key = plain_zero(table.key(name))
    return connection.ibis().ifelse(missing(key), connection.ibis().null().cast(key.type()), key)


# -------------------------------------------------------------------------------------------------------------- trues


def trues(table: EngineTable, name: str | None, at_most: int) -> int:
    """How many rows are True, of each person so many at most; without a column, how many there are."""
    left = table.left()
    if not left.ids:
        if name is None:
            return left.count()
        if left.plain is not None:
            counted = counts(left, [left.column(name)])
            return sum(int(many) for (key,), many in zip(counted.keys, counted.units, strict=True) if key is True)
        return connection.tally(left.table, [left.table[name].fill_null(False)])[0]
    people = left.everybody()
    theirs = people.table
    if name is not None:
        rows = left.table.select(**left.ids, c=left.table[name])
        rows = rows.filter(rows.c.fill_null(False))
        theirs = rows.group_by(list(left.ids)).aggregate(m=rows.count())
    most = connection.ibis().least(theirs.m, connection.ibis().literal(at_most, type="int64"))
    return int(connection.whole(theirs.aggregate(found=most.sum()))[0]["found"] or 0)
