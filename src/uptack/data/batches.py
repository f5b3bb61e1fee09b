"""Several numeric columns of an engine's table, batch by batch: see `uptack.columns.batched`.

Every scan reads all columns at once. DuckDB and PostgreSQL send record batches, which are read one after the other.
Spark adds up where the rows are, and sends one list of sums per partition. All scans of a release see one state of the
table (`uptack.table.snapshots.snapshot`). A scan that finds another number of rows than the first one is an error.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uptack.columns.batched import Batched, BatchedRows, Picked, Places
from uptack.columns.selection import Floats, Window
from uptack.data.dealt import Fold, dealt
from uptack.data.ordering import Selected
from uptack.data.protocol import known_all
from uptack.data.queries import QuerySource
from uptack.data.scans import QueryScans
from uptack.data.shared import SharedScans
from uptack.errors import UptackError
from uptack.table import snapshots
from uptack.table.engine import connection
from uptack.table.engine.expressions import as_floats, infinite, missing, number
from uptack.table.values.kinds import NUMERIC, canonical

Sizes = dict[int, tuple[int, int]]
"""Of every partition, how many rows it has and how many are complete."""


Classes = tuple[Any, Any]


@dataclass(frozen=True)
class Layout:
    """How a record batch is read, here or on an executor: so many columns, some brought to between 0 and 1."""

    width: int
    truth: tuple[int, ...] = ()

    def read(self, batch: Any, complete: bool) -> Floats:
        """One line per column; all rows, or the complete ones."""
        rows = np.empty((self.width, batch.num_rows))
        for i, line in enumerate(rows):
            line[:] = connection.floats(batch.column(i))
        for i in self.truth:
            np.clip(rows[i], 0.0, 1.0, out=rows[i])
        whole = np.isfinite(rows).all(axis=0) if complete else np.True_
        return rows if whole.all() else np.ascontiguousarray(rows[:, whole])

    def apply(self, f: Callable[[Floats], list[Any]], batch: Any) -> list[Any]:
        """f of the complete rows of a batch. What floats say on an executor is nobody's to read."""
        with np.errstate(all="ignore"):
            return f(self.read(batch, complete=True))


@dataclass(frozen=True, eq=False)
class QueryRows(BatchedRows):
    """Columns of an engine by their names.

    `truth` are the numbers of those that are brought to between 0 and 1, and `classes` two values of each of those
    that are 0 and 1 for them.
    """

    source: QuerySource
    names: tuple[str, ...]
    truth: tuple[int, ...] = ()
    classes: tuple[tuple[int, Classes], ...] = ()

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
        classes = tuple((self.width + column, both) for column, both in other.classes)
        return QueryRows(self.source, self.names + other.names, self.truth + more, self.classes + classes)

    def clipped(self, columns: Sequence[int]) -> QueryRows:
        """The same with some columns brought to between 0 and 1."""
        return replace(self, truth=tuple(sorted({*self.truth, *columns})))

    def coded(self, first: Any, second: Any) -> QueryRows:
        """The only column as 0 and 1 for two values."""
        return replace(self, classes=((0, (first, second)),))

    @property
    def layout(self) -> Layout:
        """How a record batch of these columns is read."""
        return Layout(self.width, self.truth)

    @property
    def key(self) -> str:
        """What tells these columns from others of the same source."""
        return f"{self.names} {self.truth} {self.classes}"

    def rows(self, **beside: Any) -> Any:
        """An expression with floats v0, v1, ... and what is to be beside them."""
        return self.source.table.select(**{f"v{i}": self._value(i) for i in range(self.width)}, **beside)

    def _value(self, i: int) -> Any:
        values = as_floats(self.source.table[self.names[i]])
        both = dict(self.classes).get(i)
        return values if both is None else _classified(values, *both)

    def complete(self, rows: Any) -> Any:
        """The condition that a row is complete. What is brought to between 0 and 1 is finite if it is not missing."""
        whole = [~missing(rows[f"v{i}"]) for i in range(self.width)]
        bounded = [~infinite(rows[f"v{i}"]) for i in range(self.width) if i not in self.truth]
        return functools.reduce(operator.and_, whole + bounded)

    @property
    def on_spark(self) -> bool:
        """Whether rows stay on the executors of Spark."""
        return bool(connection.backend(self.source.table).name == "pyspark")

    def count(self) -> int:
        """How many rows are complete: one scan, once."""

        def counted() -> int:
            rows = self.rows()
            return connection.tally(rows, [self.complete(rows)])[0]

        if self.on_spark:
            return sum(complete for _, complete in self._partitions().values())
        return self.source.once(f"complete rows of {self.key}", counted)

    def lacking(self) -> bool:
        """Whether some row is not complete."""
        return self.count() != self.size

    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over batches of complete rows: on the executors of Spark, otherwise here."""
        return connection.batch_sums(self.rows(), functools.partial(self.layout.apply, f), f(np.empty((self.width, 0))))

    def taken(self, places: Places, complete: bool) -> Floats:
        """The rows in these places, by one scan."""
        order = np.argsort(places, kind="stable")
        wanted, out = places[order], np.empty((self.width, places.size))
        if self.on_spark:
            found = self._taken_on_spark(wanted, complete)
        else:
            read, found = connection.folded(self.rows(), functools.partial(_picked, self.layout, wanted, complete))
            if read != (self.count() if complete else self.size):
                raise UptackError(snapshots.CHANGED)
        out[:, order] = found
        return out

    def dealt(self, slots: Places, size: int, parts: int, complete: bool) -> Iterator[Picked]:
        """By one scan, and files on a disk."""

        def scan(fold: Fold) -> int:
            read = functools.partial(_located, self.layout, slots, complete)
            return connection.folded(self.rows(), lambda batches: fold(read(batches)), in_turn=True)

        return dealt(scan, self.width, slots.size, size, parts)

    def _partitions(self) -> Sizes:
        """One scan, once: Spark does the same with the same rows."""

        def counted() -> Sizes:
            return dict(sorted(connection.on_partitions(self.rows(), functools.partial(_sized, self.layout))))

        return self.source.once(f"partitions of {self.key}", counted)

    def _taken_on_spark(self, wanted: Places, complete: bool) -> Floats:
        """Every partition sends its own. One that has another number of rows than it had is an error."""
        sizes = {place: size[complete] for place, size in self._partitions().items()}
        ends = np.cumsum([0, *sizes.values()])
        cuts = np.searchsorted(wanted, ends)
        local = {
            place: wanted[a:b] - start for place, a, b, start in zip(sizes, cuts[:-1], cuts[1:], ends[:-1], strict=True)
        }
        pick = functools.partial(_picked_in, self.layout, local, complete)
        found = dict(sorted(connection.on_partitions(self.rows(), pick), key=lambda part: part[0]))
        if {place: read for place, (read, _) in found.items()} != sizes:
            raise UptackError(snapshots.CHANGED)
        return np.concatenate([np.empty((self.width, 0)), *(rows for _, rows in found.values())], axis=1)

    def ordered(self, column: int, windows: Sequence[Window]) -> Selected:
        """Order statistics in two or three scans for all columns together, once: see `uptack.data.ordering`."""

        def selected() -> dict[int, Selected]:
            rows, n = self.rows(), self.count()
            if n != self.size:
                rows = rows.filter(self.complete(rows))
            alone = {i: QueryScans(rows.select(v=rows[f"v{i}"])) for i in range(self.width) if i not in self.truth}
            return Selected.several(SharedScans(rows, alone), alone, n, n, windows)

        return self.source.once(f"order of {self.key} {windows}", selected)[column]


def _classified(values: Any, first: Any, second: Any) -> Any:
    """0 where a value is the first, 1 where it is the second, and null elsewhere: what is no float no row is."""
    ibis = connection.ibis()
    found = ibis.null().cast("float64")
    for code, one in ((0.0, canonical(first)), (1.0, canonical(second))):
        if isinstance(one, int | float) and _is_float(one):
            found = ibis.ifelse(values == number(one), number(code), found)
    return found


def _is_float(value: float) -> bool:
    try:
        return float(value) == value
    except OverflowError:
        return False


def _located(layout: Layout, slots: Places, complete: bool, parts: Iterator[Any]) -> Iterator[Picked]:
    """Batches of rows, and the slots of their places in the scan. There are too few if there are more rows."""
    start = 0
    for batch in parts:
        rows = layout.read(batch, complete)
        yield slots[start : start + rows.shape[1]], rows
        start += rows.shape[1]


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
