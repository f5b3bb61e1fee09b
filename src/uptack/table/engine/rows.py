"""Rows that stay in an engine: the values of columns, whose they are, and what is asked of them.

Every scan reads all columns at once. DuckDB and PostgreSQL send record batches, which are read one after the other.
Spark adds up where the rows are, and sends one list of sums per partition. All scans of a release see one state of the
table (`uptack.table.snapshots.snapshot`). A scan that finds another number of rows than the first one is an error.
Order statistics are found by a search, whose questions are queries, one for all columns.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from uptack.errors import UptackError
from uptack.table import search, snapshots
from uptack.table.engine import connection, expressions, private_folders
from uptack.table.engine.expressions import float_literal, infinite, key_value, missing, unit_sum
from uptack.table.exact_sum import Floats, exact_sum
from uptack.table.ids import of_fields
from uptack.table.memory.rows import MemoryRows, by_part, by_weight, least
from uptack.table.packages import ibis
from uptack.table.protocol import Additive, Keys, Of, PerPerson, Steps, apply_steps
from uptack.table.search import Gap, Order, PivotCounts, Size, WeightedRows, Window, orders, sum_of_ranks
from uptack.table.unit import Integers, PrivacyUnit, roomy
from uptack.table.values.entrance import CodedField, Field, merge_labels
from uptack.table.values.kinds import LARGEST, Kind, canonical

if TYPE_CHECKING:
    from uptack.table.engine.table import EngineTable

Weigh = Callable[[Any], Any]
"""Puts the weights of rows beside them."""

Drops = Literal["missing", "infinite"]
"""Which rows are left out: those without a value in some column, or also those that are ±inf in one."""

Located = tuple[Integers, Floats]
"""Slots, and the rows that are in them."""

BATCH = 1 << 18
"""Rows that are sorted by their units at once: so that not many of them are alone with theirs."""

HELD = 1 << 25
"""Rows of which a value and a weight may be in memory, where order statistics are looked for."""


@dataclass(frozen=True)
class BatchLayout:
    """How a record batch is read, here or on an executor: so many columns, and which rows are left out."""

    width: int
    drops: Drops | None

    def read(self, batch: Any) -> Floats:
        lines = np.empty((self.width, batch.num_rows))
        for i, line in enumerate(lines):
            line[:] = connection.floats(batch.column(i))
        return lines

    def there(self, lines: Floats | list[Floats]) -> NDArray[np.bool_]:
        there = np.ones(lines[0].size, bool)
        for line in lines if self.drops is not None else ():
            there &= np.isfinite(line) if self.drops == "infinite" else ~np.isnan(line)
        return there

    def complete(self, batch: Any) -> Floats:
        lines = self.read(batch)
        there = self.there(lines)
        return lines if there.all() else np.ascontiguousarray(lines[:, there])

    def apply(self, f: Additive, weighted: bool, batch: Any) -> list[Any]:
        """f of the complete rows of a batch, or of all rows and their weights. Executors show no warnings."""
        with np.errstate(all="ignore"):
            if weighted:
                return f(*by_weight(self.read(batch), connection.integers(batch.column(self.width))))
            return f(self.complete(batch), None)


@dataclass(frozen=True, eq=False)
class EngineRows:
    """Values of columns as an expression: floats v0, v1, ... of `all` rows of a table, and ids of people k0, k1, ...

    Which of them are left out is said by `drops`. `valued` says that no row can be without a value. `clipped` are
    columns that are brought to between 0 and 1: they are not searched with the others.
    """

    table: EngineTable
    all: Any
    width: int
    drops: Drops | None
    valued: bool = False
    clipped: frozenset[int] = frozenset()
    _orders: dict[Any, dict[int, Order]] = field(default_factory=dict, repr=False)

    @property
    def unit(self) -> PrivacyUnit:
        return self.table.unit

    @cached_property
    def ids(self) -> list[str]:
        return list(self.table.ids)

    @property
    def names(self) -> list[str]:
        return [f"v{i}" for i in range(self.width)]

    @property
    def _layout(self) -> BatchLayout:
        return BatchLayout(self.width, self.drops)

    @cached_property
    def _con(self) -> Any:
        return connection.backend(self.all)

    @property
    def _on_spark(self) -> bool:
        return bool(self._con.name == "pyspark")

    # ---------------------------------------------------------------------------------------------------------- numbers

    @cached_property
    def complete(self) -> Any:
        return self.all if self.drops is None else self.all.filter(self._there)

    @cached_property
    def _there(self) -> Any:
        tests = [~missing(self.all[name]) for name in self.names]
        if self.drops == "infinite":
            tests += [~infinite(self.all[f"v{i}"]) for i in range(self.width) if i not in self.clipped]
        return functools.reduce(operator.and_, tests)

    @cached_property
    def everybody(self) -> Any:
        """One line per person of the table: her ids, and how many rows she has."""
        return self.table.everybody()

    @cached_property
    def _count(self) -> int:
        return self.table.count()

    @cached_property
    def people(self) -> Any:
        """One line per person who has a complete row: her ids, and how many she has."""
        return self.everybody if self.drops is None else expressions.people_counts(self.complete, self.ids)

    @cached_property
    def _complete_size(self) -> Size:
        """The complete rows and their units, and how many people have one; with a cap, people's worth of rows."""
        if self.ids:
            theirs = self.people.mutate(w=expressions.row_weight(self.people.m, self.unit))
            (line,) = connection.result_rows(
                theirs.aggregate(people=theirs.count(), rows=theirs.m.sum(), units=unit_sum(theirs.w * theirs.m))
            )
            units, rows = int(line["units"] or 0), int(line["rows"] or 0)
            return Size(int(line["people"]) if self.unit.at_most is None else int(self.unit.ranks(units)), units, rows)
        if self.drops is None:
            n = self._count
        elif self._on_spark:
            n = sum(complete for _, complete in self._partitions.values())
        else:
            (n,) = connection.count_conditions(self.all, [self._there])
        return Size(n, n, n)

    @cached_property
    def size(self) -> int:
        return self.table.people() if self.ids else self._count

    @property
    def n(self) -> int:
        return self._complete_size.n

    def lacking(self) -> bool:
        return self.drops is not None and self._complete_size.rows != self._count

    # --------------------------------------------------------------------------------------------------- order and sums

    @property
    def _weigh(self) -> Weigh | None:
        if not self.unit.weighted:
            return None
        return functools.partial(expressions.with_weights, people=self.people, ids=self.ids, unit=self.unit)

    def order(self, column: int, windows: Sequence[Window]) -> Order:
        """In two or three scans for all columns together, or for as many as there is memory for.

        With weights only the columns that were searched last are kept: many of their rows are in memory.
        """
        if self.unit.share == "any":
            raise UptackError("weights='any' is for counts of cells; order statistics are not defined for it")
        several = self.width
        if self._weigh is not None:
            wanted = sum(b - a + 1 for a, b in windows) * self._complete_size.rows
            several = max(HELD * self.n // max(wanted, 1), 1)
        free = [i for i in range(self.width) if i not in self.clipped or i == column]
        start = free.index(column) // several * several
        key = (tuple(windows), tuple(free[start : start + several]))
        if key not in self._orders:
            if self._weigh is not None:
                self._orders.clear()
            rows, size = self.complete, self._valued_size
            if size.rows < self._complete_size.rows:
                rows = rows.filter(~missing(rows.v0))
            scans = QueryScans(rows, self.unit, self._weigh)
            self._orders[key] = orders(scans, self.unit, dict.fromkeys(key[1], size), windows)
        return self._orders[key][column]

    @cached_property
    def _valued_size(self) -> Size:
        """The same of rows that have a value. Only of one column may some have none, where they are kept."""
        size = self._complete_size
        if self.valued or self.drops is not None:
            return size
        (gone,) = connection.count_conditions(self.all, [missing(self.all.v0)])
        if not gone or self._weigh is None:
            return Size(size.n, size.units - gone, size.rows - gone)
        there = self._weigh(self.all.filter(~missing(self.all.v0)))
        (line,) = connection.result_rows(there.aggregate(rows=there.count(), units=unit_sum(there.w)))
        return Size(size.n, int(line["units"] or 0), int(line["rows"]))

    def sum(self, f: Additive) -> list[Any]:
        """Σ f over batches of complete rows: on the executors of Spark, otherwise here."""
        nothing = np.empty((self.width, 0))
        if self._weigh is None:
            read = functools.partial(self._layout.apply, f, False)
            return connection.batch_sums(self.all.select(*self.names), read, f(nothing, None))
        rows, read = self._weigh(self.complete), functools.partial(self._layout.apply, f, True)
        return connection.batch_sums(rows, read, f(nothing, np.empty(0, np.int64)), BATCH)

    # ------------------------------------------------------------------------------------------------- pairs and blocks

    def pick(self, places: Integers, key: Keys, of: Of) -> tuple[Integers, Floats]:
        turn = np.argsort(places, kind="stable")
        if not self.ids:
            lines = self._rows_in_places(places[turn], of)
            there = np.flatnonzero(self._layout.there(lines))
            found = turn[there]
            order = np.argsort(found, kind="stable")
            return found[order], np.take(lines[:, there], order, axis=1)
        rows, fold = self._rows_with_places(of), functools.partial(_least_rows, self._layout, places[turn], turn, key)
        found_in = connection.on_partitions(rows, lambda _, parts: fold(parts), "place")
        slots = np.concatenate([np.empty(0, np.int64), *(part[0] for _, part in found_in)])
        picked = np.concatenate([np.empty((self.width, 0)), *(part[1] for _, part in found_in)], axis=1)
        order = np.argsort(slots, kind="stable")
        return slots[order], np.take(picked, order, axis=1)

    @cached_property
    def _partitions(self) -> dict[int, tuple[int, int]]:
        """How many rows a partition of Spark has, and how many are complete: one scan, the same with the same rows."""
        rows = self.all.select(*self.names)
        key, sizes = ("partitions", rows.op(), self.drops), functools.partial(_partition_sizes, self._layout)
        return snapshots.once(self._con, key, lambda: dict(sorted(connection.on_partitions(rows, sizes))))

    def _rows_in_places(self, wanted: Integers, of: Of) -> Floats:
        """The rows in places that are sorted.

        Every partition sends its own. One that has another number of rows than it had is an error.
        """
        sizes = {0: self.n if of == "complete" else self.size}
        if self._on_spark:
            sizes = {place: size[of == "complete"] for place, size in self._partitions.items()}
        ends = np.cumsum([0, *sizes.values()])
        cuts = np.searchsorted(wanted, ends)
        cut = zip(sizes, cuts[:-1], cuts[1:], ends[:-1], strict=True)
        local = {place: wanted[a:b] - start for place, a, b, start in cut}
        layout, nowhere = self._layout, np.empty(0, np.int64)
        parts = connection.on_partitions(
            self.all.select(*self.names),
            lambda place, parts: _rows_in_places(layout, local.get(place, nowhere), of, parts),
        )
        found = dict(sorted(parts, key=lambda part: part[0]))
        if {place: read for place, (read, _) in found.items()} != sizes:
            raise UptackError(snapshots.CHANGED)
        return np.concatenate([np.empty((self.width, 0)), *(lines for _, lines in found.values())], axis=1)

    def places(self, of: Of) -> Any:
        """The ids of people with their places, in the order of ids: of all, or of those who have complete rows."""
        theirs = self.people if of == "complete" else self.everybody
        return theirs.select(*self.ids, place=ibis.row_number().over(order_by=self.ids))

    def _rows_with_places(self, of: Of) -> Any:
        return self.complete.join(self.places(of), self.ids).select(*self.names, "place")

    def deal(self, slots: Integers, size: int, parts: int, of: Of) -> Iterator[Located]:
        """One part after the other, by one scan: they wait in files of a private folder.

        The place of a row may differ from scan to scan, so with one scan per part a row could come to two parts.
        """
        if self.ids:
            rows, many = self._rows_with_places(of), self._complete_size.rows
            read = functools.partial(_with_slots_of_people, self._layout, slots)
        else:
            rows, many = self.all.select(*self.names), slots.size
            read = functools.partial(_with_slots, self._layout, slots, of)
        with private_folders.temporary() as folder:
            paths = [folder / str(part) for part in range(parts)]
            found = connection.fold_batches(rows, lambda some: _write_parts(read(some), size, paths), in_turn=True)
            if found != many:
                raise UptackError(snapshots.CHANGED)
            for path in paths:
                lines = np.fromfile(path).reshape(-1, self.width + 1)
                path.unlink()
                yield lines[:, 0].astype(np.int64), lines[:, 1:].T

    def in_memory(self) -> MemoryRows:
        """The same rows as arrays, read by one scan. People are numbered in the order of their canonical ids."""
        lines, ids = read_columns(self.all.select(*self.names, *self.ids), self.width, self.table.id_kinds, self._count)
        there = self._layout.there(lines)
        kept = None if there.all() else np.flatnonzero(there)
        values = lines if kept is None else [line[kept] for line in lines]
        if not ids:
            return MemoryRows(values, self.unit, self._count, None, kept)
        whose = of_fields(list(zip(self.ids, ids, strict=True)))
        return MemoryRows(values, self.unit, whose.people, whose.codes if kept is None else whose.codes[kept], kept)


def read_columns(
    read: Any, width: int, kinds: Sequence[Kind] = (), rows: int | None = None
) -> tuple[list[Floats], list[Field]]:
    """Columns of floats, so many, and columns of these kinds, by one scan; an error if there are not so many rows."""

    def fold(batches: Iterator[Any]) -> tuple[int, list[list[Floats]], list[Codes]]:
        many, lines, coded = 0, [[np.empty(0)] for _ in range(width)], [Codes(kind) for kind in kinds]
        for batch in batches:
            many += batch.num_rows
            for i, line in enumerate(lines):
                line.append(connection.floats(batch.column(i)))
            for i, one in enumerate(coded, width):
                one.read(batch.column(i))
        return many, lines, coded

    many, lines, coded = connection.fold_batches(read, fold)
    if rows not in (None, many):
        raise UptackError(snapshots.CHANGED)
    return [np.concatenate(line) for line in lines], [one.field() for one in coded]


class Codes:
    """One column, read batch by batch. Values that are equal in their canonical form have one code."""

    def __init__(self, kind: Kind) -> None:
        self._kind, self._parts, self._places = kind, [np.empty(0, np.int64)], dict[Hashable, int]()

    def read(self, values: Any) -> None:
        encoded = values.dictionary_encode("encode")
        plain = (canonical(key_value(one, self._kind)) for one in encoded.dictionary.to_pylist())
        ours = np.array([self._places.setdefault(one, len(self._places)) for one in plain], np.int64)
        self._parts.append(ours[encoded.indices.to_numpy(zero_copy_only=False)])

    def field(self) -> Field:
        """All rows, by the values that occur, in order, a missing one last."""
        labels, places = merge_labels(list(self._places))
        return CodedField(self._kind, labels, places[np.concatenate(self._parts)])


def _rows_in_places(layout: BatchLayout, wanted: Integers, of: Of, parts: Iterator[Any]) -> tuple[int, Floats]:
    """How many rows there are, and those in places that are sorted."""
    found, start = np.full((layout.width, wanted.size), np.nan), 0
    for batch in parts:
        lines = layout.complete(batch) if of == "complete" else layout.read(batch)
        end = start + lines.shape[1]
        a, b = np.searchsorted(wanted, [start, end])
        found[:, a:b] = lines[:, wanted[a:b] - start]
        start = end
    return start, found


def _partition_sizes(layout: BatchLayout, place: int, parts: Iterator[Any]) -> tuple[int, int]:
    """How many rows a partition has, and how many are complete."""
    rows = complete = 0
    for batch in parts:
        rows += batch.num_rows
        complete += layout.complete(batch).shape[1]
    return rows, complete


def _least_rows(layout: BatchLayout, places: Integers, turn: Integers, key: Keys, parts: Iterator[Any]) -> Located:
    """Each person's row with the least key. `places` are sorted places of people; `turn` says which slot each has."""
    best, there = np.empty((layout.width, places.size)), np.zeros(places.size, bool)
    first = np.zeros(places.size, np.uint64)
    for batch in parts if places.size else ():
        at = connection.integers(batch.column(layout.width))
        near = np.minimum(np.searchsorted(places, at), places.size - 1)
        wanted = np.flatnonzero(places[near] == at)
        slots, lines = turn[near[wanted]], np.take(layout.read(batch), wanted, axis=1)
        keys = key(slots, lines)
        near = np.flatnonzero(~there[slots] | (keys <= first[slots]))
        slots, keys, lines = least(slots[near], keys[near], np.take(lines, near, axis=1))
        old = slots[there[slots]]
        lines = np.concatenate([lines, best[:, old]], axis=1)
        slots, keys, lines = least(np.append(slots, old), np.append(keys, first[old]), lines)
        best[:, slots], first[slots], there[slots] = lines, keys, True
    return np.flatnonzero(there), best[:, there]


def _with_slots(layout: BatchLayout, slots: Integers, of: Of, parts: Iterator[Any]) -> Iterator[Located]:
    """Batches of rows, and the slots of their places in the scan; -1 for incomplete rows. Extra rows have no slot."""
    start = 0
    for batch in parts:
        lines = layout.complete(batch) if of == "complete" else layout.read(batch)
        theirs = slots[start : start + lines.shape[1]]
        start += lines.shape[1]
        if of == "all" and theirs.size == lines.shape[1]:
            theirs = np.where(layout.there(lines), theirs, -1)
        yield theirs, lines


def _with_slots_of_people(layout: BatchLayout, slots: Integers, parts: Iterator[Any]) -> Iterator[Located]:
    """Batches of rows, and the slots of the people that they belong to."""
    for batch in parts:
        yield slots[connection.integers(batch.column(layout.width))], layout.read(batch)


def _write_parts(batches: Iterator[Located], size: int, paths: list[Path]) -> int:
    """Every row in the file of its part, after its slot; and how many rows there are."""
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in paths]
        found = 0
        for slots, lines in batches:
            found += lines.shape[1]
            if slots.size < lines.shape[1]:
                return -1
            order, ends = by_part(slots, size, len(paths))
            some = np.concatenate([slots[None, order].astype(np.float64), np.take(lines, order, axis=1)]).T
            for file, part in zip(files, np.split(some, ends)[1:], strict=True):
                file.write(np.ascontiguousarray(part).tobytes())
    return found


# --------------------------------------------------------------------------------------------------- order statistics

SIDES = (operator.lt, operator.le)


@dataclass(frozen=True, eq=False)
class QueryScans:
    """The questions of a search (`Scans`) about columns v0, v1, ... without nulls; `weigh` adds the weights w."""

    rows: Any
    unit: PrivacyUnit
    weigh: Weigh | None = None
    small: int = field(default_factory=lambda: search.SMALL)
    fetched: int = field(default_factory=lambda: search.FETCHED)

    def sample(self, asked: Mapping[int, tuple[Sequence[Gap], float]]) -> Mapping[int, WeightedRows]:
        """The first sample is one of rows, for all columns; later ones, which are rare, are of other rows for each.

        DuckDB takes vectors of 2048 rows at first: poor if they are sorted, but several times faster. From the second
        time on every row is drawn by itself.
        """
        gaps = {column: several for column, (several, _) in asked.items()}
        if all(gap.low is None and gap.high is None for several in gaps.values() for gap in several):
            part = max(part for _, part in asked.values())
            block = connection.backend(self.rows).name == "duckdb"
            return self._read(self.rows.sample(part, method="block") if block else _random_rows(self.rows, part), gaps)
        found = dict[int, WeightedRows]()
        for column, (several, part) in asked.items():
            some = {column: several}
            found |= self._read(_random_rows(self._inside(some), part), some)
        return found

    def count(self, asked: Mapping[int, Sequence[float]]) -> Mapping[int, PivotCounts]:
        """All pivots of all columns in one scan.

        The engine counts rows. It adds up units where they are of one column. Those of several are added up here, or on
        the executors of Spark: conditional sums of many columns take an engine several times as long.
        """
        if not any(asked.values()):
            return dict.fromkeys(asked, PivotCounts([], [], [], []))
        if self.weigh is not None and len(asked) == 1:
            return {column: self._column_counts(self.weigh, column, pivots) for column, pivots in asked.items()}
        pivots = [(f"v{column}", pivot) for column, some in asked.items() for pivot in some]
        if self.weigh is None:
            tests = [side(self.rows[name], float_literal(pivot)) for side in SIDES for name, pivot in pivots]
            counted = connection.count_conditions(self.rows, tests)
            lines = [counted[: len(pivots)], counted[len(pivots) :]] * 2
        else:
            names = list(dict.fromkeys(name for name, _ in pivots))
            read = functools.partial(_units, [(names.index(name), pivot) for name, pivot in pivots])
            rows, nothing = self.weigh(self.rows).select(*names, "w"), [np.zeros((4, len(pivots)), object)]
            lines = connection.batch_sums(rows, read, nothing)[0].tolist()
        found, start = dict[int, PivotCounts](), 0
        for column, some in asked.items():
            found[column] = PivotCounts(*(line[start : start + len(some)] for line in lines))
            start += len(some)
        return found

    def _column_counts(self, weigh: Weigh, column: int, pivots: Sequence[float]) -> PivotCounts:
        """The same of one column: one scan of the rows up to the largest pivot.

        Pivots p0 < p1 < ... cut rows into parts 0 (v < p0), 1 (v = p0), 2 (p0 < v < p1), 3 (v = p1), ...
        """
        ends, v = sorted(set(pivots)), f"v{column}"
        rows = weigh(self.rows.filter(self.rows[v] <= float_literal(ends[-1])))
        sides = [side(rows[v], float_literal(end)) for end in ends for side in SIDES]
        part = ibis.cases(*((side, i) for i, side in enumerate(sides)))
        parts = rows.group_by(part=part.cast("int16")).aggregate(rows=rows.count(), units=unit_sum(rows.w))
        found = np.zeros((2, 2 * len(ends)), object)
        for line in connection.result_rows(parts):
            found[:, int(line["part"])] = int(line["units"]), int(line["rows"])
        sums, order = np.cumsum(found, axis=1), [ends.index(pivot) for pivot in pivots]
        theirs, many = ([[int(side[2 * i + up_to]) for i in order] for up_to in (0, 1)] for side in sums)
        return PivotCounts(*theirs, *many)

    def fetch(self, asked: Mapping[int, Sequence[Gap]]) -> Mapping[int, WeightedRows]:
        """The rows that lie in a gap of one of the columns, in one scan. Of them each column keeps its own."""
        return self._read(self._inside(asked), asked)

    def between(self, column: int, low: float, high: float, before: int, last: int) -> int:
        """Σ x(r) strictly between two values, batch by batch; sorted by the engine if rows have weights."""
        v, gap = f"v{column}", Gap(low, high, 0, 0, 0)
        rows = self._inside({column: [gap]})
        if self.weigh is None:
            return int(connection.batch_sums(rows.select(v), _exact_total, [0])[0])
        unit = self.unit

        def add(batches: Iterator[Any]) -> int:
            total, up_to = 0, before
            for batch in batches:
                weights = connection.integers(batch.column(1))
                total += sum_of_ranks(WeightedRows(connection.floats(batch.column(0)), weights), up_to, unit)
                up_to += int(roomy(weights).sum())
            return total

        return connection.fold_batches(self.weigh(rows).select(v, "w").order_by(v), add)

    def _inside(self, asked: Mapping[int, Sequence[Gap]]) -> Any:
        tests = [gap.test(self.rows[f"v{column}"], float_literal) for column, gaps in asked.items() for gap in gaps]
        everywhere = any(test is None for test in tests)
        return self.rows if everywhere else self.rows.filter(functools.reduce(operator.or_, tests))

    def _read(self, rows: Any, asked: Mapping[int, Sequence[Gap]]) -> dict[int, WeightedRows]:
        """Of each column its values that are in its gaps."""
        columns, weighed = [f"v{column}" for column in asked], self.weigh is not None
        read = rows.select(*columns) if self.weigh is None else self.weigh(rows).select(*columns, "w")

        def fold(parts: Iterator[Any]) -> dict[int, WeightedRows]:
            found = {column: ([np.empty(0)], [np.empty(0, np.int64)]) for column in asked}
            for batch in parts:
                weights = connection.integers(batch.column(len(columns))) if weighed else None
                for place, (column, gaps) in enumerate(asked.items()):
                    values = connection.floats(batch.column(place))
                    tests = [gap.test(values) for gap in gaps]
                    kept: Any = slice(None)
                    if not any(test is None for test in tests):
                        kept = functools.reduce(operator.or_, tests)
                    found[column][0].append(values[kept])
                    if weights is not None:
                        found[column][1].append(weights[kept])
            made = dict[int, WeightedRows]()
            for column in asked:
                parted = found.pop(column)
                made[column] = WeightedRows(np.concatenate(parted[0]), np.concatenate(parted[1]) if weighed else None)
            return made

        return connection.fold_batches(read, fold)


def _random_rows(rows: Any, part: float) -> Any:
    return rows.filter(ibis.random() < part)


def _exact_total(batch: Any) -> list[int]:
    return [exact_sum(connection.floats(batch.column(0)))]


def _units(pivots: Sequence[tuple[int, float]], batch: Any) -> list[NDArray[Any]]:
    """Units below each pivot of one of the columns of a batch, and up to it; and rows."""
    weights = roomy(connection.integers(batch.column(batch.num_columns - 1)))
    found = np.zeros((4, len(pivots)), object)
    for i, (column, pivot) in enumerate(pivots):
        values = connection.floats(batch.column(column))
        sides = values < pivot, values <= pivot
        found[:2, i] = [int(weights[side].sum()) for side in sides]
        found[2:, i] = [int(np.count_nonzero(side)) for side in sides]
    return [found]


# ------------------------------------------------------------------------------------------------- numbers per person

# They are those of `uptack.table.memory.rows.person_numbers`, to the bit. The engine counts rows, and finds a person's
# least, middle, largest and last one. But it adds floats in any order, and the last bits of one person's sum would then
# depend on others' rows. So for sums and means it sorts rows by their values, and they are added here, as they come.
# What is kept is one number per person.

ORDER = ("o0", "o1")


def order_keys(key: Any) -> dict[str, Any]:
    """The columns by which rows of a person are ordered before their values: those without a key come first."""
    gone = missing(key)
    return {"o0": ibis.ifelse(gone, 0, 1), "o1": ibis.ifelse(gone, ibis.null().cast(key.type()), key)}


def person_numbers(rows: EngineRows, own: PerPerson, after: Sequence[Steps]) -> MemoryRows:
    """The numbers of all who have a row, in the order of their ids, and what is done to them; one line per column."""
    made = [apply_steps(steps, _column_numbers(rows, i, own)) for i, steps in enumerate(after)]
    return MemoryRows(made, PrivacyUnit(rows.unit.ids), rows.size, None, _complete_people(rows))


def _complete_people(rows: EngineRows) -> Integers | None:
    """The places of those who have a complete row among all people; None where all have one."""
    if rows.drops is None:
        return None
    there = rows.places("all").semi_join(rows.people.view(), rows.ids).order_by("place")
    places = connection.read_floats(there.select(place=there.place.cast("float64"))).astype(np.int64)
    return None if places.size == rows.size else places


def _row_counts(rows: EngineRows) -> Floats:
    return connection.read_floats(rows.people.order_by(rows.ids).select(m=rows.people.m.cast("float64")))


def _sums_in_order(size: int, batches: Iterator[Any]) -> Floats:
    """The sums of so many people of rows that come with their places, one row after the other."""
    sums = np.zeros(size)
    with np.errstate(all="ignore"):
        for batch in batches:
            np.add.at(sums, connection.integers(batch.column(0)), connection.floats(batch.column(1)))
    return sums


def _column_numbers(rows: EngineRows, column: int, own: PerPerson) -> Floats:
    """Of one column. Rows that stay without a value are NaN, which is above all numbers."""
    ids, complete = rows.ids, rows.complete
    if own.how == "count":
        return _row_counts(rows)
    beside = ORDER if own.order is not None else ()
    v = complete[f"v{column}"]
    if rows.drops is None and not rows.valued:
        v = ibis.ifelse(missing(v), float_literal(np.nan), v)
    read = complete.select(*ids, *beside, v=v)
    if own.how in ("min", "max"):
        made = read.group_by(ids).aggregate(v=read.v.min() if own.how == "min" else read.v.max())
        return connection.read_floats(made.order_by(ids).select("v"))
    if own.how in ("mean", "sum"):
        sorted_rows = read.join(rows.places("complete"), ids).order_by("v").select("place", "v")
        many = _row_counts(rows)
        sums = connection.fold_batches(sorted_rows, functools.partial(_sums_in_order, many.size))
        return np.clip(sums / many if own.how == "mean" else sums, -LARGEST, LARGEST)
    window = ibis.window(group_by=ids, order_by=[*beside, "v"])
    ranked = read.join(rows.people.select(*ids, "m"), ids).mutate(place=ibis.row_number().over(window))  # from 0
    place = (ranked.m - 1) // 2 if own.how == "median" else ranked.m - 1
    return connection.read_floats(ranked.filter(ranked.place == place).order_by(ids).select("v"))
