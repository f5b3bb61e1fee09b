"""Several numeric columns of an engine's table, batch by batch: see `uptack.columns.batched`.

Every scan reads all columns at once. DuckDB and PostgreSQL send record batches, which are read one after the other.
Spark adds up where the rows are, and sends one list of sums per partition. All scans of a release see one state of the
table (`uptack.data.states.snapshot`). A scan that finds another number of rows than the first one is an error.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns.batched import Batched, Places
from uptack.columns.selection import Floats, Window
from uptack.data import engines, states
from uptack.data.expressions import as_floats, infinite, missing
from uptack.data.ordering import Count, Fetch, Sample, Selected
from uptack.data.places import Counted, Weighed
from uptack.data.protocol import NUMERIC, known_all
from uptack.data.queries import QuerySource
from uptack.data.scans import QueryScans, at_pivots, between, sample
from uptack.errors import UptackError

Sizes = dict[int, tuple[int, int]]
"""Of every partition, how many rows it has and how many are complete."""

Ends = tuple[float | None, float | None]


@dataclass(frozen=True)
class Layout:
    """How a record batch is read, here or on an executor: so many columns, some brought to between 0 and 1."""

    width: int
    truth: tuple[int, ...] = ()

    def read(self, batch: Any, complete: bool) -> Floats:
        """One line per column; all rows, or the complete ones."""
        rows = np.empty((self.width, batch.num_rows))
        for i, line in enumerate(rows):
            line[:] = engines.floats(batch.column(i))
        for i in self.truth:
            np.clip(rows[i], 0.0, 1.0, out=rows[i])
        whole = np.isfinite(rows).all(axis=0) if complete else np.True_
        return rows if whole.all() else np.ascontiguousarray(rows[:, whole])

    def apply(self, f: Callable[[Floats], list[Any]], batch: Any) -> list[Any]:
        """f of the complete rows of a batch. What floats say on an executor is nobody's to read."""
        with np.errstate(all="ignore"):
            return f(self.read(batch, complete=True))


@dataclass(frozen=True, eq=False)
class QueryRows(Batched):
    """Columns of an engine by their names; `truth` are the numbers of those that are brought to between 0 and 1."""

    source: QuerySource
    names: tuple[str, ...]
    truth: tuple[int, ...] = ()

    @staticmethod
    def of(source: QuerySource, names: Sequence[str]) -> QueryRows:
        """Numeric columns of a table, whose numbers of rows stay as they are first counted."""
        return QueryRows(source.still(), tuple(known_all(names, source.columns, NUMERIC)))

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.source.rows

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.names)

    def beside(self, other: Batched) -> QueryRows:
        """The columns of both."""
        assert isinstance(other, QueryRows)
        assert other.source.table is self.source.table
        more = tuple(self.width + column for column in other.truth)
        return QueryRows(self.source, self.names + other.names, self.truth + more)

    def clipped(self, columns: Sequence[int]) -> QueryRows:
        """The same with some columns brought to between 0 and 1."""
        return replace(self, truth=tuple(sorted({*self.truth, *columns})))

    @property
    def _layout(self) -> Layout:
        return Layout(self.width, self.truth)

    def _rows(self) -> Any:
        table = self.source.table
        return table.select(**{f"v{i}": as_floats(table[name]) for i, name in enumerate(self.names)})

    def _complete(self, rows: Any) -> Any:
        """The condition that a row is complete. What is brought to between 0 and 1 is finite if it is not missing."""
        whole = [~missing(rows[f"v{i}"]) for i in range(self.width)]
        bounded = [~infinite(rows[f"v{i}"]) for i in range(self.width) if i not in self.truth]
        return functools.reduce(operator.and_, whole + bounded)

    @property
    def _on_spark(self) -> bool:
        return bool(engines.backend(self.source.table).name == "pyspark")

    def count(self) -> int:
        """How many rows are complete: one scan, once."""

        def counted() -> int:
            rows = self._rows()
            return engines.tally(rows, [self._complete(rows)])[0]

        if self._on_spark:
            return sum(complete for _, complete in self._partitions().values())
        return self.source.once(f"complete rows of {self.names} {self.truth}", counted)

    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over batches of complete rows: on the executors of Spark, otherwise here."""
        return engines.batch_sums(self._rows(), functools.partial(self._layout.apply, f), f(np.empty((self.width, 0))))

    def taken(self, places: Places, complete: bool) -> Floats:
        """The rows in these places, by one scan."""
        order = np.argsort(places, kind="stable")
        wanted, out = places[order], np.empty((self.width, places.size))
        if self._on_spark:
            found = self._taken_on_spark(wanted, complete)
        else:
            read, found = engines.folded(self._rows(), functools.partial(_picked, self._layout, wanted, complete))
            if read != (self.count() if complete else self.size):
                raise UptackError(states.CHANGED)
        out[:, order] = found
        return out

    def _partitions(self) -> Sizes:
        """One scan, once: Spark does the same with the same rows."""

        def counted() -> Sizes:
            return dict(sorted(engines.on_partitions(self._rows(), functools.partial(_sized, self._layout))))

        return self.source.once(f"partitions of {self.names} {self.truth}", counted)

    def _taken_on_spark(self, wanted: Places, complete: bool) -> Floats:
        """Every partition sends its own. One that has another number of rows than it had is an error."""
        sizes = {place: size[complete] for place, size in self._partitions().items()}
        ends = np.cumsum([0, *sizes.values()])
        cuts = np.searchsorted(wanted, ends)
        local = {
            place: wanted[a:b] - start for place, a, b, start in zip(sizes, cuts[:-1], cuts[1:], ends[:-1], strict=True)
        }
        pick = functools.partial(_picked_in, self._layout, local, complete)
        found = dict(sorted(engines.on_partitions(self._rows(), pick), key=lambda part: part[0]))
        if {place: read for place, (read, _) in found.items()} != sizes:
            raise UptackError(states.CHANGED)
        return np.concatenate([np.empty((self.width, 0)), *(rows for _, rows in found.values())], axis=1)

    def ordered(self, column: int, windows: Sequence[Window]) -> Selected:
        """Order statistics in two or three scans for all columns together, once: see `uptack.data.ordering`."""

        def selected() -> dict[int, Selected]:
            rows, n = self._rows(), self.count()
            if n != self.size:
                rows = rows.filter(self._complete(rows))
            alone = {i: QueryScans(rows.select(v=rows[f"v{i}"])) for i in range(self.width) if i not in self.truth}
            return Selected.several(SharedScans(rows, alone), alone, n, windows)

        return self.source.once(f"order of {self.names} {self.truth} {windows}", selected)[column]


@dataclass(frozen=True)
class SharedScans:
    """The questions of `uptack.data.ordering.Together`, of an expression with columns v0, v1, ... without nulls."""

    rows: Any
    alone: Mapping[int, QueryScans]

    def sample(self, asked: Mapping[int, Sample]) -> Mapping[int, Weighed]:
        """The first sample is one of rows, for all columns; later ones, which are rare, are of other rows for each."""
        if any((gap.low, gap.high) != (None, None) for ask in asked.values() for gap in ask.gaps):
            return {column: self.alone[column].sample(ask.gaps, ask.part) for column, ask in asked.items()}
        return self._read(sample(self.rows, max(ask.part for ask in asked.values())), dict.fromkeys(asked, ()))

    def count(self, asked: Mapping[int, Count]) -> Mapping[int, Counted]:
        """All pivots of all columns in one scan."""
        conditions = [at_pivots(self.rows[f"v{column}"], ask.pivots) for column, ask in asked.items()]
        counts, found = iter(engines.tally(self.rows, [one for some in conditions for one in some])), {}
        for column, ask in asked.items():
            below, up_to = ([next(counts) for _ in ask.pivots] for _ in range(2))
            found[column] = Counted(below, up_to)
        return found

    def fetch(self, asked: Mapping[int, Fetch]) -> Mapping[int, Weighed]:
        """The rows that lie in a gap of one of the columns, in one scan. Of them each column keeps its own."""
        ends = {column: [(gap.low, gap.high) for gap in ask.gaps] for column, ask in asked.items()}
        every = [between(self.rows[f"v{column}"], *pair) for column, pairs in ends.items() for pair in pairs]
        some = not any(condition is None for condition in every)
        return self._read(self.rows.filter(functools.reduce(operator.or_, every)) if some else self.rows, ends)

    def _read(self, rows: Any, ends: Mapping[int, Sequence[Ends]]) -> dict[int, Weighed]:
        """Of each column its values that are strictly between two ends, or all where no ends are given."""

        def fold(parts: Iterator[Any]) -> dict[int, Weighed]:
            found: dict[int, list[Floats]] = {column: [np.empty(0)] for column in ends}
            for batch in parts:
                for place, (column, pairs) in enumerate(ends.items()):
                    values = engines.floats(batch.column(place))
                    found[column].append(values[_between(values, pairs)] if pairs else values)
            return {column: Weighed(np.concatenate(values)) for column, values in found.items()}

        return engines.folded(rows.select(*(f"v{column}" for column in ends)), fold)


def _between(values: Floats, ends: Sequence[Ends]) -> NDArray[np.bool_]:
    """Which values are strictly between two ends, of which one may be left out."""
    found = np.zeros(values.size, bool)
    for low, high in ends:
        found |= (values > (-np.inf if low is None else low)) & (values < (np.inf if high is None else high))
    return found


def _picked(layout: Layout, wanted: Places, complete: bool, parts: Iterator[Any]) -> tuple[int, Floats]:
    """How many rows there are, and those in places that are sorted."""
    found, start = np.empty((layout.width, wanted.size)), 0
    for batch in parts:
        rows = layout.read(batch, complete)
        end = start + rows.shape[1]
        a, b = np.searchsorted(wanted, [start, end])
        found[:, a:b] = rows[:, wanted[a:b] - start]
        start = end
    return start, found


def _picked_in(
    layout: Layout, wanted: dict[int, Places], complete: bool, place: int, parts: Iterator[Any]
) -> tuple[int, Floats]:
    """The same in one partition."""
    return _picked(layout, wanted.get(place, np.empty(0, np.int64)), complete, parts)


def _sized(layout: Layout, place: int, parts: Iterator[Any]) -> tuple[int, int]:
    """How many rows a partition has, and how many are complete."""
    rows = complete = 0
    for batch in parts:
        rows += batch.num_rows
        complete += layout.read(batch, complete=True).shape[1]
    return rows, complete
