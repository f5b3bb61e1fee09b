"""Rows of people in memory: see `uptack.data.people`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns.each import places
from uptack.columns.owners import Owners, PeopleRows, numbered, of_fields
from uptack.columns.people import PeopleColumn
from uptack.columns.spread import PeopleValues, Weights, added, favourites, up_to
from uptack.data.arrays import MemorySource, numeric_column
from uptack.data.protocol import Counts
from uptack.table.conditions import Condition
from uptack.table.values.field import Field


@dataclass(frozen=True, eq=False)
class MemoryPeople:
    """A table in memory without rows of nobody, and the number 0, 1, 2, ... of the person whose each row is."""

    table: MemorySource
    codes: NDArray[np.int64]
    size: int

    @staticmethod
    def of(source: MemorySource, ids: tuple[str, ...]) -> MemoryPeople:
        """The rows of a source that belong to somebody."""
        whose = of_fields([(name, source.field(name)) for name in ids])
        return MemoryPeople(source.taken(whose.kept), whose.codes[whose.kept], whose.people)

    def people(self) -> int:
        """How many people there are."""
        return self.size

    def spread(self) -> tuple[int, int]:
        """How many rows there are, and how many one person has at most."""
        return self.codes.size, int(np.bincount(self.codes, minlength=1).max())

    def column(self, name: str) -> PeopleColumn:
        """A numeric column."""
        return PeopleColumn(numeric_column(self.table.field(name)), self.codes, self.size)

    def order(self, name: str) -> NDArray[np.int64]:
        """Each row's place in the order of a column."""
        return places(self.table.field(name), self.codes.size)

    def units(self, name: str, weights: Weights) -> Counts:
        """The values of a column and their units."""
        found, cells = self.table.field(name).codes()
        return [(key,) for key in found], added(cells, weights.units(self.codes, self.size), len(found))

    def bins(self, name: str, edges: Sequence[float], weights: Weights) -> Counts:
        """Values by themselves: there is memory for as many of them as there are rows."""
        return self.units(name, weights)

    def trues(self, name: str | None, at_most: int) -> int:
        """How many rows are True, of each person so many at most."""
        kept = slice(None) if name is None else np.flatnonzero(self.table.field(name).flags())
        return up_to(np.bincount(self.codes[kept], minlength=self.size), at_most)

    def points(self, names: Sequence[str]) -> PeopleRows:
        """Numeric columns, and whose each row is."""
        values = self.table.matrix(names)
        return PeopleRows(values[:, 0] if len(names) == 1 else values, self.codes, self.size)

    def mixed(self, numbers: Sequence[str], others: Sequence[str]) -> tuple[PeopleRows, list[Field]]:
        """Some columns as numbers, with whose each row is, and others as fields."""
        matrix, fields = self.table.mixed(numbers, others)
        return PeopleRows(matrix, self.codes, self.size), fields

    def values(self, name: str) -> PeopleValues:
        """All rows of a column, and whose they are."""
        return PeopleValues(self.table.field(name).array(), Owners(self.codes, self.size))

    def moments(self, name: str) -> PeopleValues:
        """The same for times and durations, with how they are shown."""
        return PeopleValues(self.table.field(name), Owners(self.codes, self.size))

    def groups(self, names: Sequence[str]) -> Counts:
        """The combinations of values of columns, and how many people have each."""
        found, cells = self.table.cells(names)
        pairs = np.unique(self.codes * max(len(found), 1) + cells)
        return found, np.bincount(pairs % max(len(found), 1), minlength=len(found))

    def settled(self, names: Sequence[str]) -> MemoryPeople:
        """The rows of each person that have her most frequent combination of values."""
        cells = self.table.cells(names)[1]
        best = np.empty(self.size, np.int64)
        whose, best_cells = favourites(cells, self.codes)
        best[whose] = best_cells
        return self._taken(np.flatnonzero(cells == best[self.codes]))

    def masked(self, wanted: Sequence[Condition]) -> MemoryPeople:
        """The same people. Rows that do not meet the conditions have no value."""
        return replace(self, table=self.table.masked(wanted))

    def left(self, wanted: Sequence[Condition]) -> MemoryPeople:
        """The rows that meet the conditions, and those who own them."""
        return self._taken(np.flatnonzero(self.table.met(wanted)))

    def restricted(self, name: str, value: Any) -> MemoryPeople:
        """The rows that have a value."""
        return self._taken(self.table.places(name, value))

    def _taken(self, rows: NDArray[np.int64]) -> MemoryPeople:
        codes, people = numbered(self.codes[rows])
        return MemoryPeople(self.table.taken(rows), codes, people)
