"""A table that an engine keeps: files through DuckDB, databases and clusters, whatever ibis speaks to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.columns.selection import Floats
from uptack.columns.timed import TimedColumn
from uptack.data import held
from uptack.data.protocol import Counts, Key, assigned, comparable, known, known_all, tidy
from uptack.data.query_columns import QueryColumn
from uptack.errors import UptackError
from uptack.noise import Entropy
from uptack.noise.entropy import source as entropy_source
from uptack.table import snapshots
from uptack.table.conditions import Condition
from uptack.table.engine import connection
from uptack.table.engine.codes import Codes, fields, joined
from uptack.table.engine.expressions import (
    as_floats,
    compares_bytes,
    infinite,
    kind,
    missing,
    number,
    text_bytes,
    text_key,
    valued,
    whole,
)
from uptack.table.engine.plain import Plain
from uptack.table.engine.ticks import form
from uptack.table.engine.ticks import known as known_times
from uptack.table.values.field import Field
from uptack.table.values.kinds import NUMERIC, Kind
from uptack.table.values.times import TIMED, Form

T = TypeVar("T")


class QuerySource:
    """An ibis table, or a plain one of DuckDB. Names and types are read at once, rows when they are asked for.

    `durations` are columns of whole numbers that are ticks of durations, of which engines have no type.
    """

    def __init__(
        self,
        table: Any,
        fixed: bool = False,
        within: QuerySource | None = None,
        durations: frozenset[str] = frozenset(),
    ) -> None:
        self._given, self._con, self._fixed = table, connection.backend(table), fixed
        self._plain = table if isinstance(table, Plain) else None
        self._within = None if within is None else within.whole
        self._counted, self._state = dict[str, Any](), snapshots.state(self._con)
        self._counted_in: object | None = None
        types = {} if self._plain else table.schema()
        kinds = self._plain.kinds if self._plain else {n: self._kind(t) for n, t in types.items()}
        self.durations, lengths = durations, dict.fromkeys(durations, Form("duration"))
        self.columns: Mapping[str, Kind] = MappingProxyType({**kinds, **dict.fromkeys(durations, "duration")})
        self.forms: Mapping[str, Form] = {n: form(t) for n, t in types.items() if kinds[n] in TIMED} | lengths

    def __repr__(self) -> str:
        return f"QuerySource of {len(self.columns)} columns on {self._con.name}"

    def _kind(self, dtype: Any) -> Kind:
        """By the type; texts of an engine that may take two of them for equal are of no kind that is counted.

        Nor are times that we can't read there.
        """
        found = kind(dtype)
        if found == "time" and not known_times(self._con, dtype):
            return "other"
        return "other" if found == "text" and not compares_bytes(self._con) else found

    @property
    def table(self) -> Any:
        """The table as ibis has it."""
        return self._plain.table if self._plain else self._given

    @property
    def rows(self) -> int:
        """The number of rows, as it is now; inside a `snapshot` as it was when that began."""
        return self.once("rows", self._count)

    def _count(self) -> int:
        counted = self._plain.count() if self._plain else self.table.aggregate(rows=self.table.count())
        return int(connection.whole(counted)[0]["rows"])

    @property
    def whole(self) -> QuerySource:
        """The table that this one is a part of."""
        return self if self._within is None else self._within

    def snapshot(self) -> AbstractContextManager[None]:
        """All that is read inside sees one state of the table: see `uptack.table.snapshots.snapshot`."""
        return snapshots.snapshot(self._con, lambda: self.rows, self._count)

    def one_state(self) -> AbstractContextManager[object]:
        """All snapshots inside see one state of the table: see `uptack.table.snapshots.one_state`."""
        return snapshots.one_state(self._con)

    def once(self, what: str, count: Callable[[], T]) -> T:
        """What is counted, once for each state of the table that is read; once for all if this source is fixed."""
        with self._state.lock:
            reading = self._state.reading
            if not self._fixed and (reading is None or reading is not self._counted_in):
                self._counted, self._counted_in = {}, reading
            if what not in self._counted:
                self._counted[what] = count()
            found: T = self._counted[what]
            return found

    def still(self) -> QuerySource:
        """This source with numbers that stay as they are first counted, for a column: all of its rows are read once."""
        if self._fixed:
            return self
        still = QuerySource(self._given, fixed=True, within=self, durations=self.durations)
        with self._state.lock:
            if self._state.reading is not None and self._state.reading is self._counted_in:
                still._counted = self._counted
        return still

    def column(self, name: str) -> QueryColumn | held.HeldColumn | TimedColumn:
        """A column of numbers, times or durations."""
        numbers = self.numbers(known(name, self.columns, (*NUMERIC, *TIMED)))
        return TimedColumn(numbers, self.forms[name]) if name in self.forms else numbers

    def numbers(self, name: str) -> QueryColumn | held.HeldColumn:
        """A column as numbers, of times and durations their ticks: in memory if the table is small (`held`)."""
        if held.fits(self._con, self.whole):
            values = self._plain.floats(name) if self._plain else self.values(name)
            return held.column(self._con, self.whole, values, self.columns[name] != "number")
        return self.kept(name)

    def kept(self, name: str) -> QueryColumn:
        """A column as numbers whose rows stay where they are."""
        return QueryColumn(self.still(), name, self.values(name), self.columns[name] != "number", certain=False)

    def values(self, name: str) -> Any:
        """A column as an expression with one column, v, of floats."""
        return self.table.select(v=as_floats(self.table[name]))

    def oddities(self, name: str) -> tuple[int, int]:
        """How many rows of a numeric column are missing or NaN, and how many infinite: one scan, once."""
        values = self.values(name)

        def count() -> tuple[int, int]:
            gone, unbounded = connection.tally(values, [missing(values.v), infinite(values.v)])
            return gone, unbounded

        return self.once(f"oddities of {name}", count)

    def counts(self, names: Sequence[str]) -> Counts:
        """Combinations of values, and how often they occur."""
        wanted = known_all(names, self.columns)
        lines = connection.whole(self._plain.counts(wanted) if self._plain else self._grouped(wanted))
        return self.tidied(wanted, ((tuple(row.values())[:-1], row["rows"]) for row in lines))

    def tidied(self, names: Sequence[str], found: Iterable[tuple[Key, int]]) -> Counts:
        """What was counted by keys of columns, with their values in place of the keys."""
        kinds = [self.columns[name] for name in names]

        def values(key: Key) -> Key:
            return tuple(valued(part, kind) for part, kind in zip(key, kinds, strict=True))

        return tidy(((values(key), count) for key, count in found), kinds)

    def _grouped(self, names: Sequence[str]) -> Any:
        keys = {f"k{i}": self.key(name) for i, name in enumerate(names)}
        return self.table.group_by(**keys).aggregate(rows=self.table.count())

    def key(self, name: str) -> Any:
        """What rows are grouped by: floats, the bytes of texts, and everything else as it is."""
        values, found = self.table[name], self.columns[name]
        return as_floats(values) if found == "number" else text_key(self._con, values) if found == "text" else values

    def categories(self, name: str) -> dict[Any, int]:
        """The values of one column, and how often they occur."""
        keys, counts = self.counts([name])
        return {key: int(count) for (key,), count in zip(keys, counts, strict=True)}

    def matrix(self, names: Sequence[str]) -> Floats:
        """Numeric columns side by side, streamed into one array."""
        return self.streamed(known_all(names, self.columns, NUMERIC), ())[0]

    def blocks(
        self, names: Sequence[str], count: int, *, id: str | None = None, entropy: Entropy | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Each row's block, and the matrix of the named columns, in one pass."""
        total, bits = checks.integer("count", count, least=1), entropy_source(entropy)
        wanted = known_all(names, self.columns, NUMERIC)
        matrix, owners = self.streamed(wanted, () if id is None else (known(id, self.columns),))
        return assigned(owners, total, bits), matrix

    def streamed(self, names: Sequence[str], ids: Sequence[str]) -> tuple[Floats, NDArray[np.int64]]:
        """The numbers of all rows, and a number for the owner of each: of its own if no column says who.

        Owners are numbered in the order of their canonical ids.
        """
        matrix, owners = self.coded(names, ids)
        return matrix, joined([owner.numbers() for owner in owners]) if owners else np.arange(len(matrix))

    def coded(self, names: Sequence[str], others: Sequence[str]) -> tuple[Floats, list[Codes]]:
        """Some columns as numbers and others of any kind as codes, in one pass, so that rows stay together."""
        rows, beside = self.rows, self._plain.beside(names, others) if self._plain else self._beside(names, others)

        def fill(batches: Iterator[Any]) -> tuple[int, Floats, list[Codes]]:
            made, start = np.empty((rows, len(names))), 0
            codes = [Codes(rows, self.columns[name]) for name in others]
            for batch in batches:
                end = start + batch.num_rows
                if end > rows:
                    return end, made, codes
                for i in range(len(names)):
                    made[start:end, i] = connection.floats(batch.column(i))
                for i, column in enumerate(codes):
                    column.read(batch.column(len(names) + i), start)
                start = end
            return start, made, codes

        read, matrix, codes = connection.folded(beside, fill)
        if read != rows:
            raise UptackError(snapshots.CHANGED)
        return matrix, codes

    def _beside(self, names: Sequence[str], others: Sequence[str]) -> Any:
        columns = {f"v{i}": as_floats(self.table[name]) for i, name in enumerate(names)}
        return self.table.select(**columns, **{f"c{i}": self.key(name) for i, name in enumerate(others)})

    def mixed(self, numbers: Sequence[str], others: Sequence[str]) -> tuple[Floats, list[Field]]:
        """Some columns as a matrix, and others as fields, in one pass."""
        matrix, codes = self.coded(numbers, others)
        return matrix, fields(codes, [self.columns[name] for name in others])

    def restricted(self, name: str, value: Any) -> QuerySource:
        """The rows with this value."""
        return self.part(self.has(name, value))

    def has(self, name: str, value: Any) -> Any:
        """The condition that a row has this value."""
        found = self.columns[known(name, self.columns)]
        wanted, values = comparable(name, found, value), self.key(name)
        if wanted is None:
            return missing(values)
        if found in ("integer", "duration"):
            ticks = wanted // timedelta(microseconds=1) if found == "duration" else wanted
            return values == whole(ticks, values.type())
        if found == "text":
            return values == text_bytes(self._con, wanted)
        return values == (number(wanted) if found == "number" else wanted)

    def met(self, wanted: Sequence[Condition]) -> Any:
        """The condition that a row meets all conditions."""
        return functools.reduce(lambda a, b: a & b, [one.expression(self._compared(one)) for one in wanted])

    def _compared(self, one: Condition) -> Any:
        """What a condition compares: a key, or the ticks of times."""
        return self.key(one.column) if one.form is None else as_floats(self.table[one.column])

    def masked(self, wanted: Sequence[Condition], keep: Sequence[str] = ()) -> QuerySource:
        """All rows; those that do not meet the conditions have no value but in the columns to keep."""
        table, met, ibis = self.table, self.met(wanted), connection.ibis()
        types = {name: dtype for name, dtype in table.schema().items() if name not in keep}
        hidden = {name: ibis.ifelse(met, table[name], ibis.null().cast(dtype)) for name, dtype in types.items()}
        return QuerySource(table.mutate(**hidden), within=self, durations=self.durations)

    def left(self, wanted: Sequence[Condition]) -> QuerySource:
        """The rows that meet all conditions."""
        return self.part(self.met(wanted))

    def part(self, condition: Any) -> QuerySource:
        """The rows that meet a condition of the engine, which filters them."""
        return QuerySource(self.table.filter(condition), within=self, durations=self.durations)
