"""A table that an engine keeps: files through DuckDB, databases and clusters, whatever ibis speaks to."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property, partial, reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from uptack.errors import InvalidArgument, UptackError
from uptack.table import snapshots
from uptack.table.conditions import ORDER, Condition
from uptack.table.engine import connection, design, expressions
from uptack.table.engine import counts as engine_counts
from uptack.table.engine.connection import Plain
from uptack.table.engine.counts import EngineGroups
from uptack.table.engine.expressions import (
    as_floats,
    float_literal,
    infinite,
    integer_literal,
    missing,
    text_bytes,
    text_key,
)
from uptack.table.engine.rows import Drops, EngineRows, order_keys, person_numbers, read_columns
from uptack.table.memory.rows import MemoryRows
from uptack.table.memory.table import MemoryTable
from uptack.table.names import column_name
from uptack.table.packages import ibis
from uptack.table.protocol import (
    SECRET,
    Clipped,
    Column,
    Infinite,
    Meets,
    Name,
    RowDesign,
    Steps,
    Table,
)
from uptack.table.unit import ROW, PrivacyUnit
from uptack.table.values.entrance import of_numpy
from uptack.table.values.kinds import LARGEST, Kind, canonical
from uptack.table.values.kinds import number as nearest
from uptack.table.values.times import Form

COLUMN = 1 << 27
"""Bytes that the columns of one question may have to be read: one of 16 million rows."""
ALL = 1 << 28
"""Bytes of all columns that are held, at most: of each its rows, and the same once more, put in order."""
HERE = ("duckdb",)
"""Engines of this process. What is elsewhere stays there, and sends a few rows."""
MUST = "a column of numbers, texts, dates, times, truth values or UUIDs, or several such"
FIX = "Make an id of one of these types first, in a view: CAST(id AS VARCHAR) fails on no row."


@dataclass(frozen=True, eq=False)
class EngineTable(Table):
    """An ibis table, or a plain one of DuckDB. Names and types are read at once, rows when they are asked for.

    `id_columns` say whose each row is; rows of nobody are not in the table. `durations` are columns of whole numbers
    that are ticks of durations, of which engines have no type. `unreadable` columns are of a type that ibis takes for
    another one (`uptack.table.engine.connection.unreadable`). Rows that do not meet the `conditions` have no value.
    `outer` is the table that was opened, of which this one may be a part; a part has no public size.
    """

    opened: Any
    unit: PrivacyUnit = ROW
    id_columns: tuple[str, ...] = ()
    durations: frozenset[str] = frozenset()
    unreadable: frozenset[str] = frozenset()
    conditions: tuple[Condition, ...] = ()
    outer: Any = None
    is_part: bool = False

    @staticmethod
    def of(opened: Any, durations: frozenset[str] = frozenset()) -> EngineTable:
        return EngineTable(opened, durations=durations, unreadable=connection.unreadable(opened), outer=opened)

    def by_person(self, ids: Sequence[str]) -> EngineTable:
        """The rows that have an id. Whether a column can be one of ids is decided by its declared type."""
        names = tuple(column_name(name, self.kinds) for name in ids)
        for name in names:
            if not self.identifies(name):
                raise InvalidArgument("person", MUST, f"a column of type {self.table.schema()[name]}", FIX)
        table = replace(self, unit=PrivacyUnit(names, "people"), id_columns=names)
        return replace(table, opened=table.table.filter([~missing(key) for key in table.ids.values()]))

    def identifies(self, name: str) -> bool:
        """Whether a column can be one of ids: not lists, structures, maps, JSON, and intervals.

        Engines disagree on when two of those are equal, and one person must never become two.
        """
        dtype = self.table.schema()[name]
        plain = ("is_numeric", "is_boolean", "is_string", "is_date", "is_time", "is_timestamp", "is_uuid", "is_binary")
        return name not in self.unreadable and any(getattr(dtype, one)() for one in plain) and not dtype.is_json()

    def as_rows(self) -> EngineTable:
        return EngineTable.of(self.outer, self.durations)

    def __repr__(self) -> str:
        whose = f", people by {' and '.join(self.unit.ids)}" if self.unit.ids else ""
        return f"EngineTable of {len(self.kinds)} columns on {self._con.name}{whose}"

    # -------------------------------------------------------------------------------------------------- what is public

    @cached_property
    def _con(self) -> Any:
        return connection.backend(self.opened)

    @property
    def plain(self) -> Plain | None:
        """The table in DuckDB's own words, where it is one of the usual types and nothing is hidden."""
        return self.opened if isinstance(self.opened, Plain) and not self.conditions else None

    @property
    def table(self) -> Any:
        return self.opened.table if isinstance(self.opened, Plain) else self.opened

    @cached_property
    def _kinds(self) -> Mapping[str, Kind]:
        """The kinds of all columns, also of ids."""
        if isinstance(self.opened, Plain):
            found = self.opened.kinds
        else:
            found = {name: self._kind(dtype) for name, dtype in self.opened.schema().items()}
        lengths: dict[str, Kind] = dict.fromkeys(self.durations & found.keys(), "duration")
        return found | lengths | dict.fromkeys(self.unreadable & found.keys(), "other")

    def _kind(self, dtype: Any) -> Kind:
        """By the type. Texts that the engine may not tell apart, and times that we can't read, are "other"."""
        found = expressions.column_kind(dtype)
        known_time = found != "time" or expressions.reads_times(self._con, dtype)
        return found if known_time and (found != "text" or expressions.compares_bytes(self._con)) else "other"

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        return MappingProxyType({name: found for name, found in self._kinds.items() if name not in self.id_columns})

    @property
    def categorical(self) -> frozenset[str]:
        """None: an engine knows the type of all values of a column."""
        return frozenset()

    @cached_property
    def forms(self) -> Mapping[str, Form]:
        timed = [name for name, found in self.kinds.items() if found == "time"]
        types = self.opened.schema() if timed else {}
        lengths = {name: Form("duration") for name in self.kinds if name in self.durations}
        return {name: expressions.time_form(types[name]) for name in timed} | lengths

    @property
    def id_kinds(self) -> tuple[Kind, ...]:
        return tuple(self._kinds[name] for name in self.id_columns)

    @property
    def size(self) -> int:
        """The number of rows, or of people, as it is now; inside a `snapshot` as it was when that began."""
        if self.is_part:
            raise UptackError(SECRET)
        return self.people() if self.ids else self.count()

    @property
    def filtered(self) -> bool:
        return bool(self.conditions)

    def count(self) -> int:
        """How many rows there are: secret of people, and of a part."""
        return _row_count(self._con, self.opened)

    def people(self) -> int:
        everybody = self.everybody()
        counted = everybody.aggregate(people=everybody.count())
        (line,) = snapshots.once(self._con, counted.op(), lambda: connection.result_rows(counted))
        return int(line["people"])

    def everybody(self) -> Any:
        """One line per person: her ids, and how many rows she has."""
        return expressions.people_counts(self.table.select(**self.ids), list(self.ids))

    def weigh(self, rows: Any) -> Any:
        """Rows that have ids, with the weights that they have among all rows in place of these."""
        return expressions.with_weights(rows, self.everybody(), list(self.ids), self.unit)

    def spread(self) -> tuple[int, int]:
        if not self.ids:
            return self.count(), 1
        everybody = self.everybody()
        (line,) = connection.result_rows(everybody.aggregate(rows=everybody.m.sum(), most=everybody.m.max()))
        return int(line["rows"] or 0), int(line["most"] or 0)

    @property
    def is_current(self) -> bool:
        return snapshots.state(self._con).unchanged()

    def snapshot(self) -> AbstractContextManager[None]:
        return snapshots.snapshot(self._con, lambda: _row_count(self._con, self.outer), lambda: _count(self.outer))

    def one_state(self) -> AbstractContextManager[object]:
        return snapshots.one_state(self._con)

    # ------------------------------------------------------------------------------------------------- expressions

    @cached_property
    def ids(self) -> dict[str, Any]:
        """The columns that say whose a row is, as expressions k0, k1, ...

        Dates, times and UUIDs are the bytes of what the engine writes for them: engines have dates and times that
        Python lacks (the year 20000, infinity, 24:00), and reading one is an error.
        """

        def id_key(name: str) -> Any:
            dtype = self.table.schema()[name]
            if not any((dtype.is_date(), dtype.is_time(), dtype.is_timestamp(), dtype.is_uuid())):
                return self.key(name)
            text = self.table[name].cast("string")
            return text_key(self._con, text) if expressions.compares_bytes(self._con) else text

        return {f"k{i}": expressions.without_negative_zero(id_key(name)) for i, name in enumerate(self.id_columns)}

    def key(self, name: str) -> Any:
        """What rows are grouped by: floats, the bytes of texts, and everything else as it is."""
        values, found = self.table[name], self._kinds[name]
        return as_floats(values) if found == "number" else text_key(self._con, values) if found == "text" else values

    def has(self, name: str, value: Any) -> Any:
        """The condition that a row has this value, which may be missing. No row has a value of another kind."""
        found, values, wanted = self._kinds[name], self.key(name), canonical(value)
        if wanted is None:
            return missing(values)
        if found == "number" and isinstance(wanted, int) and canonical(nearest(wanted)) != wanted:
            return ibis.literal(False)  # no float is this integer
        return (values == literal(found, values, wanted)).fill_null(False)

    @cached_property
    def _meets_all(self) -> Any:
        return rows_meeting(self._operand, self.conditions)

    def _operand(self, one: Condition) -> Any:
        """What a condition compares: keys, or ticks."""
        return self.key(one.column) if one.form is None else as_floats(self.table[one.column])

    def _raw(self, column: Column) -> Any:
        """The numbers of all rows as floats, before anything is done to them; null where there is none."""
        nothing = ibis.null().cast("float64")
        value = column.expr
        if isinstance(value, Meets):
            met, among = (rows_meeting(self._operand, [one]) for one in (value.condition, value.among))
            found = ibis.cases((~among, nothing), (met, float_literal(1.0)), else_=float_literal(0.0))
        else:
            found = as_floats(self.table[column.name])
        return self._hide(found)

    def _hide(self, values: Any) -> Any:
        return ibis.ifelse(self._meets_all, values, ibis.null().cast(values.type())) if self.conditions else values

    def _value(self, column: Column, way: Infinite | None) -> Any:
        """Numbers as a question is about them, all rows; those that are left out are among them."""
        v = steps_as_expression(column.steps, self._raw(column))
        if way == "drop" or (way is None and column.missing == "keep"):
            return v
        v = ibis.ifelse(
            v == float_literal(np.inf),
            float_literal(LARGEST),
            ibis.ifelse(v == float_literal(-np.inf), float_literal(-LARGEST), v),
        )
        if way == "clip" or isinstance(column.missing, str):
            return v
        return ibis.ifelse(missing(v), float_literal(float(column.missing)), v)

    # ------------------------------------------------------------------------------------------------- other tables

    def where(self, conditions: Sequence[Condition]) -> EngineTable:
        return replace(self, conditions=(*self.conditions, *conditions))

    def part(self, table: Any) -> EngineTable:
        """Some of the rows, as an expression, and those who own them."""
        return replace(self, opened=table, conditions=(), is_part=True)

    def matching_rows(self) -> EngineTable:
        """The rows that meet the conditions. How many there are is secret."""
        return self.part(self.table.filter(self._meets_all)) if self.conditions else self

    def groups(self, by: Sequence[str]) -> EngineGroups:
        return EngineGroups(self, tuple(by))

    def _designed(self, wanted: RowDesign) -> EngineTable:
        rows = self
        if self.conditions:  # rows that do not meet them have no value but in the columns of ids
            hidden = {name: self._hide(self.table[name]) for name in self.table.columns if name not in self.id_columns}
            rows = replace(self, opened=self.table.mutate(**hidden), conditions=())
        expression = design.design_rows(rows, wanted)
        outer = self.outer if wanted.select is not None else expression
        return EngineTable(expression, self.unit, tuple(self.ids), outer=outer, is_part=self.is_part)

    # ------------------------------------------------------------------------------------------------------- questions

    def rows(self, columns: Sequence[Column], infinite: Infinite | None = None) -> EngineRows | MemoryRows:
        """Rows of a small table, and numbers per person, are in memory. All others stay in the engine."""
        cached = None if self.ids else self._cached(columns)
        if cached is not None:
            return cached.rows(columns, infinite)
        own = columns[0].own
        beside = {} if own is None or own.order is None else order_keys(self._hide(self.key(own.order)))
        certain = bool(self.ids) and not self.conditions  # of people's rows: all finite, and nothing is done to them
        certain = certain and all(isinstance(c.expr, Name) and not c.steps and self.finite(c) for c in columns)
        values = {f"v{i}": self._raw(c) if certain else self._value(c, infinite) for i, c in enumerate(columns)}
        drops: Drops | None = None
        if not certain and (infinite is not None or columns[0].missing == "drop"):
            drops = "infinite" if infinite == "drop" else "missing"
        valued = certain or not isinstance(columns[0].missing, str)
        clipped = frozenset(i for i, column in enumerate(columns) if column.steps[-1:] == (Clipped(),))
        all_rows = self.table.select(**self.ids, **values, **beside)
        rows = EngineRows(self, all_rows, len(columns), drops, valued, clipped)
        return rows if own is None else person_numbers(rows, own, [column.after for column in columns])

    def _cached(self, columns: Sequence[Column]) -> CachedColumns | None:
        """The columns in memory, where the table that was opened is small: what is done to them comes after.

        They are read once for each state of the table. Those asked for last are kept, as many as there is room for if
        each has as many rows as the whole table.
        """
        if self._con.name not in HERE:
            return None
        rows, width = _row_count(self._con, self.outer), len(columns)
        if rows * width * 8 > COLUMN:
            return None
        if self.plain is not None and not any(isinstance(column.expr, Meets) for column in columns):
            read: Any = self.plain.beside([column.name for column in columns], ())
        else:
            read = self.table.select(**{f"v{i}": self._raw(column) for i, column in enumerate(columns)})
        state = snapshots.state(self._con)
        with state.lock:
            if state.reading is None and not state.fixed:
                return CachedColumns(read, width)
            key = read.op()
            if key not in state.columns:
                while state.columns and (sum(one.width for one in state.columns.values()) + width) * rows * 16 > ALL:
                    state.columns.popitem(last=False)
                state.columns[key] = CachedColumns(read, width)
            state.columns.move_to_end(key)
            cached: CachedColumns = state.columns[key]
            return cached

    def finite(self, column: Column) -> bool:
        cached = None if self.ids else self._cached([column])
        if cached is not None:
            return cached.columns([column])[0].finite()
        rows = self.table.select(v=steps_as_expression(column.steps, self._raw(column)))
        tests = [missing(rows.v), infinite(rows.v)]
        count = partial(connection.count_conditions, rows, tests)
        return not any(snapshots.once(self._con, ("finite", rows.op()), count))

    counts, cells, common = engine_counts.counts, engine_counts.cells, engine_counts.common
    field_sums, cells_per_person = engine_counts.field_sums, engine_counts.cells_per_person
    trues = engine_counts.trues


def steps_as_expression(steps: Steps, v: Any) -> Any:
    """What steps make of an expression, row by row."""
    for step in steps:
        if isinstance(step, Clipped):
            low, high, nothing = float_literal(0.0), float_literal(1.0), ibis.null().cast("float64")
            v = ibis.cases((missing(v), nothing), (v > high, high), (v < low, low), else_=v)
        else:
            v = (v - float_literal(step.centre)).abs()
    return v


def _row_count(con: Any, opened: Any) -> int:
    """How many rows a table has, once for each state of it that is read."""
    key = opened if isinstance(opened, Plain) else opened.op()
    return snapshots.once(con, ("rows", key), lambda: _count(opened))


def _count(opened: Any) -> int:
    counted = opened.count() if isinstance(opened, Plain) else opened.aggregate(rows=opened.count())
    return int(connection.result_rows(counted)[0]["rows"])


# --------------------------------------------------------------------------------------------------------- conditions


def rows_meeting(compared: Callable[[Condition], Any], conditions: Sequence[Condition]) -> Any:
    """The condition that a row meets all conditions; `compared` is what each of them compares: a key, or ticks."""
    return reduce(operator.and_, [_meets(one, compared(one)) for one in conditions])


def _meets(one: Condition, values: Any) -> Any:
    """On a column's keys: floats, integers, truth values, bytes of texts."""

    def same() -> Any:
        return _any_of(one, values, [literal(one.kind, values, value) for value in one.values if value is not None])

    def compare(sign: str, end: Any) -> Any:
        return ORDER[sign](values, literal(one.kind, values, end)).fill_null(False)

    bounds = values.type().bounds if one.kind == "integer" else None
    limits = None if bounds is None else (bounds.lower, bounds.upper)
    return one.mask(~missing(values), same, compare, limits, ibis.literal)


def _any_of(one: Condition, values: Any, wanted: Sequence[Any]) -> Any:
    """The condition that a row has one of these values. It is no deeper for a thousand of them than for ten.

    Engines look a value up in a list by a hash. DuckDB's and PostgreSQL's are those of their `=`. Others may tell -0.0
    from 0.0, so floats are compared with one after the other there.
    """
    if not wanted:
        return ibis.literal(False)
    if len(wanted) == 1:
        return (values == wanted[0]).fill_null(False)
    if one.kind == "number" and connection.backend(values).name not in ("duckdb", "postgres"):
        half = len(wanted) // 2
        return _any_of(one, values, wanted[:half]) | _any_of(one, values, wanted[half:])
    return values.isin(list(wanted)).fill_null(False)


def literal(kind: Kind, values: Any, value: Any) -> Any:
    """A canonical value as rows of a column have it; null, which nothing is equal to, where none can have it."""
    if kind in ("time", "other", "any"):
        return value
    if kind == "text":
        return text_bytes(connection.backend(values), value)
    if kind == "duration" and isinstance(value, timedelta):
        return integer_literal(value // timedelta(microseconds=1), values.type())
    if kind == "integer" and isinstance(value, int):
        return integer_literal(value, values.type())
    if kind == "number" and isinstance(value, int | float):
        return float_literal(nearest(value))
    if kind == "boolean" and value in (0, 1):
        return ibis.literal(bool(value))
    return ibis.null().cast(values.type())


# --------------------------------------------------------------------------------------------------------- small tables


class CachedColumns:
    """Columns that were read side by side, NaN where there is no value: all figures of a small table come from memory.

    A query has a price of its own, whatever it reads: some milliseconds until it is written, planned and begun. A
    report asks a column for a dozen things. So a column of a small table is read once for each state of the table, and
    both ways give the same numbers, to the last bit. How many rows the *whole* table has decides, and nothing else: a
    filter or a group of a large table stays with the engine, however few rows it has. So the number of queries does
    not tell how many rows meet a condition.

    `_rows` are all rows of a column ("keep"), or those that have a value ("drop"): figures share the work of putting
    them in order.
    """

    def __init__(self, read: Any, width: int) -> None:
        lines, self.width = read_columns(read, width)[0], width
        self.table = MemoryTable({f"v{i}": of_numpy(line) for i, line in enumerate(lines)})
        self._rows = dict[str, MemoryRows]()

    def columns(self, columns: Sequence[Column]) -> list[Column]:
        return [
            Column(self.table, Name(f"v{i}"), "number", missing=column.missing, steps=column.steps)
            for i, column in enumerate(columns)
        ]

    def rows(self, columns: Sequence[Column], infinite: Infinite | None) -> MemoryRows:
        first, *others = self.columns(columns)
        if infinite is not None or first.steps or others:
            return self.table.rows([first, *others], infinite)
        way = "keep" if first.finite() else first.missing
        if not isinstance(way, str):  # a number fills what is missing
            return self.table.rows([first])
        if way not in self._rows:
            self._rows[way] = self.table.rows([first])
        return self._rows[way]
