"""Several numeric columns of people's rows that an engine keeps, batch by batch: see `uptack.columns.batched`.

The engine counts the complete rows of each person, and puts the units of each row beside it (`uptack.data.weights`). So
a batch, or a partition, need not have all rows of a person: each row adds what it contributes times its units, in
integers that have no largest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uptack.columns.batched import Batched, BatchedPeople, Keyed, Picked, Places, by_units, least
from uptack.columns.selection import Floats, Window, exact_sum
from uptack.data import weights
from uptack.data.batches import Layout, QueryRows
from uptack.data.counting import QueryPeople
from uptack.data.dealt import Fold, dealt
from uptack.data.ordering import Selected
from uptack.data.shared import SharedScans
from uptack.data.weights import PeopleScans, Sums
from uptack.table.engine import connection

BATCH = 1 << 18
"""Rows that are sorted by their units at once: so that not many of them are alone with theirs."""

HELD = 1 << 25
"""Rows of which a value and a weight may be in memory, where order statistics are looked for."""


@dataclass(frozen=True, eq=False)
class QueryPeopleRows(BatchedPeople):
    """Columns of rows that all belong to somebody."""

    people: QueryPeople
    columns: QueryRows

    @staticmethod
    def of(people: QueryPeople, names: Sequence[str]) -> QueryPeopleRows:
        """Numeric columns, whose numbers of rows and people stay as they are first counted."""
        columns = QueryRows.of(people.source, names)
        return QueryPeopleRows(replace(people, source=columns.source), columns)

    @property
    def size(self) -> int:
        """How many people there are."""
        return self.people.people()

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.columns.width

    def beside(self, other: Batched) -> QueryPeopleRows:
        """The columns of both."""
        assert isinstance(other, QueryPeopleRows)
        return replace(self, columns=self.columns.beside(other.columns))

    def clipped(self, columns: Sequence[int]) -> QueryPeopleRows:
        """The same with some columns brought to between 0 and 1."""
        return replace(self, columns=self.columns.clipped(columns))

    def coded(self, first: Any, second: Any) -> QueryPeopleRows:
        """The only column as 0 and 1 for two values."""
        return replace(self, columns=self.columns.coded(first, second))

    @property
    def _keys(self) -> dict[str, Any]:
        return weights.keys(self.people.source, self.people.ids)

    def _rows(self) -> Any:
        """Ids and values of complete rows."""
        rows = self.columns.rows(**self._keys)
        return rows.filter(self.columns.complete(rows))

    @property
    def _complete(self) -> connection.Kept:
        """One line per person who has a complete row: her ids, and how many she has."""
        name = f"people with complete rows of {self.columns.key}"
        return self.people.source.once(name, lambda: weights.counted(self._rows(), list(self._keys)))

    @property
    def _sums(self) -> Sums:
        """How many people and complete rows there are, and their units: one line per person is read."""

        def added() -> Sums:
            theirs = self._complete.table
            return weights.summed(theirs.mutate(w=weights.weight(theirs.m)))

        return self.people.source.once(f"units of {self.columns.key}", added)

    def count(self) -> int:
        """How many people have a complete row."""
        return self._sums.people

    def lacking(self) -> bool:
        """Whether some row is not complete."""
        return self._sums.rows != self.people.spread()[0]

    def weighed(self, f: Callable[[Floats, Places], list[Any]]) -> list[Any]:
        """Σ f over complete rows and their units: on the executors of Spark, otherwise here."""
        rows = weights.weighed(self._rows(), self._complete)
        apply = functools.partial(self._layout.apply, functools.partial(_by_units, f))
        nothing = f(np.empty((self.width, 0)), np.empty(0, np.int64))
        return connection.batch_sums(rows, apply, nothing, BATCH)

    @property
    def _layout(self) -> Layout:
        """The values of a row, and a whole number."""
        return replace(self.columns.layout, width=self.width + 1)

    def picked(self, places: Places, keyed: Keyed, complete: bool) -> Picked:
        """One scan, in which every row knows the place of its person."""
        read, fold = self._placed(complete), functools.partial(_picked, self._layout, places, keyed)
        if not self.columns.on_spark:
            return connection.folded(read, fold)
        parts = [part for _, part in connection.on_partitions(read, functools.partial(_in_partition, fold), "place")]
        slots = np.concatenate([np.empty(0, np.int64), *(part[0] for part in parts)])
        return slots, np.concatenate([np.empty((self.width, 0)), *(part[1] for part in parts)], axis=1)

    def dealt(self, slots: Places, size: int, parts: int, complete: bool) -> Iterator[Picked]:
        """By one scan, and files on a disk."""

        def scan(fold: Fold) -> int:
            read = functools.partial(_located, self._layout, slots)
            return connection.folded(self._placed(complete), lambda batches: fold(read(batches)), in_turn=True)

        return dealt(scan, self.width, self._sums.rows, size, parts)

    def _placed(self, complete: bool) -> Any:
        """Complete rows with the places of people, in the order of their ids, of all or of those who have such rows."""
        theirs = self._complete.table if complete else weights.all_people(self.people.source, self.people.ids).table
        numbered = theirs.select(*self._keys, place=connection.ibis().row_number().over(order_by=list(self._keys)))
        return self._rows().join(numbered, list(self._keys)).select(*(f"v{i}" for i in range(self.width)), "place")

    def ordered(self, column: int, windows: Sequence[Window]) -> Ranked:
        """z in two or three scans for as many columns together as there is memory for: see `uptack.data.ordering`.

        For each of them about as many rows are fetched as the people have whose ranks are asked for. What stays in
        memory is one number per rank.
        """
        told, sums = self.columns, self._sums
        wanted = sum(b - a + 1 for a, b in windows) * sums.rows
        several = max(HELD * sums.people // max(wanted, 1), 1)
        free = [i for i in range(self.width) if i not in told.truth]
        start = free.index(column) // several * several
        group = free[start : start + several]
        name = f"order of {told.key} {group} {windows}"
        return self.people.source.once(name, lambda: self._ordered(group, windows))[column]

    def _ordered(self, group: Sequence[int], windows: Sequence[Window]) -> dict[int, Ranked]:
        rows, people, sums = self._rows(), self._complete, self._sums
        alone = {i: PeopleScans(rows.select(*self._keys, v=rows[f"v{i}"]), people) for i in group}
        scans = SharedScans(rows, alone, functools.partial(weights.weighed, people=people))
        n, scale = sums.people, weights.SCALE
        found = Selected.several(scans, alone, n, sums.valued, windows, scale=scale, rows=sums.rows)
        ranks = np.concatenate([np.arange(max(a, 1), min(b, n) + 1) for a, b in windows])
        return {column: Ranked(n, ranks, one.at(ranks)) for column, one in found.items()}


@dataclass(frozen=True, eq=False)
class Ranked:
    """z of some ranks, in order."""

    n: int
    ranks: Places
    values: Floats

    def at(self, ranks: Places) -> Floats:
        """z(r) of these; -inf for r < 1 and +inf for r > n."""
        inside = np.append(self.values, np.nan)[np.searchsorted(self.ranks, ranks)]
        return np.where(ranks < 1, -np.inf, np.where(ranks > self.n, np.inf, inside))

    def total(self, first: int, last: int) -> int:
        """Σ of z(first), ..., z(last) in units of 2^-1074, if all of them are there."""
        return exact_sum(self.at(np.arange(first, last + 1)))


def _by_units(f: Callable[[Floats, Places], list[Any]], rows: Floats) -> list[Any]:
    """f of rows whose last line are their units."""
    return f(*by_units(rows[:-1], rows[-1]))


def _located(layout: Layout, slots: Places, parts: Iterator[Any]) -> Iterator[Picked]:
    """Batches of rows, and the slots of the people that they belong to."""
    for batch in parts:
        rows = layout.read(batch, complete=True)
        yield slots[rows[-1].astype(np.int64)], rows[:-1]


def _picked(layout: Layout, places: Places, keyed: Keyed, parts: Iterator[Any]) -> Picked:
    """The row of each person that comes first, of rows whose last line are the places of people, batch after batch."""
    best, there = np.empty((layout.width - 1, places.size)), np.zeros(places.size, bool)
    first = np.zeros(places.size, np.uint64)
    for batch in parts:
        rows = layout.read(batch, complete=True)
        at = np.minimum(np.searchsorted(places, rows[-1]), places.size - 1)
        wanted = np.flatnonzero(places[at] == rows[-1])
        slots, rows = at[wanted], np.take(rows[:-1], wanted, axis=1)
        keys = keyed(slots, rows)
        near = np.flatnonzero(~there[slots] | (keys <= first[slots]))
        slots, keys, rows = least(slots[near], keys[near], np.take(rows, near, axis=1))
        old = slots[there[slots]]
        rows = np.concatenate([rows, best[:, old]], axis=1)
        slots, keys, rows = least(np.append(slots, old), np.append(keys, first[old]), rows)
        best[:, slots], first[slots], there[slots] = rows, keys, True
    return np.flatnonzero(there), best[:, there]


def _in_partition(fold: Callable[[Iterator[Any]], Picked], place: int, parts: Iterator[Any]) -> Picked:
    """The same in one partition."""
    return fold(parts)
