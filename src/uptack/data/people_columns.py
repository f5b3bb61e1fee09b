"""Numeric columns of people's rows that an engine keeps: see `uptack.columns.people`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from uptack.columns.numeric import ArrayColumn
from uptack.columns.people import PeopleColumn
from uptack.columns.selection import Floats, Window
from uptack.data import weights
from uptack.data.each import EachQueryColumn, gathered, ordering
from uptack.data.ordering import Selected
from uptack.data.queries import QuerySource
from uptack.data.weights import PeopleScans, Sums
from uptack.errors import UptackError
from uptack.table.engine import connection
from uptack.table.engine.expressions import as_floats, filled, missing, number


@dataclass(frozen=True)
class PeopleQueryColumn:
    """A numeric column of an engine in units of people: an expression with ids k0, k1, ... and floats v.

    `source` holds rows that belong to somebody only. `certain` says that every row has a value that is finite, `whole`
    that all rows of the source are there.
    """

    source: QuerySource
    ids: tuple[str, ...]
    name: str
    values: Any
    integers: bool
    certain: bool = False
    whole: bool = True
    at_most: int | None = None

    of_people = weighted = True

    @property
    def keys(self) -> list[str]:
        """The names of the ids in `values`."""
        return [f"k{i}" for i in range(len(self.ids))]

    @cached_property
    def counted(self) -> connection.Kept:
        """One line per person: her ids, and how many rows she has (m)."""
        return weights.all_people(self.source, self.ids) if self.whole else weights.counted(self.values, self.keys)

    @cached_property
    def _sums(self) -> Sums:
        theirs = self.counted.table
        sums = weights.summed(theirs.mutate(w=weights.weight(theirs.m, self.at_most)))
        return sums if self.finite() else self._without_missing(sums)

    def _without_missing(self, sums: Sums) -> Sums:
        """The same with the rows that have a value, and their units."""
        rows = self._scans.weighed(self.values.filter(~missing(self.values.v)))
        (line,) = connection.whole(rows.aggregate(rows=rows.count(), **weights.units(rows.w)))
        return sums._replace(rows=int(line["rows"] or 0), valued=weights.added(line))

    @property
    def _scans(self) -> PeopleScans:
        rows = self.values if self.finite() else self.values.filter(~missing(self.values.v))
        return PeopleScans(rows, self.counted, self.at_most)

    @property
    def people(self) -> int:
        """The number of people."""
        return self._sums.people

    @property
    def size(self) -> int:
        """The number of people; with `by_rows`, of people's worth of rows."""
        return self.people if self.at_most is None else int(weights.SCALE.ranks(self._sums.units))

    @property
    def size_is_secret(self) -> bool:
        """Whether the size depends on how many rows people have."""
        return self.at_most is not None

    def finite(self) -> bool:
        """Whether no row is missing, NaN or infinite: one scan per column."""
        return self.certain or self.source.oddities(self.name) == (0, 0)

    def filled(self, missing: float) -> PeopleQueryColumn:
        """The engine replaces NaN and infinities as it reads."""
        return self if self.finite() else replace(self, values=filled(self.values, missing), certain=True)

    def present(self) -> PeopleQueryColumn:
        """Rows without a value are left out before weights are counted, and with them people who have no others."""
        if self.finite():
            return self
        there = self.values.filter(~missing(self.values.v))
        return replace(self, values=filled(there, 0.0), certain=True, whole=False)

    def floats(self) -> PeopleQueryColumn:
        """The column as floats."""
        return replace(self, integers=False)

    def away(self, centre: float) -> PeopleQueryColumn:
        """The engine takes the distances."""
        return replace(self, values=self.values.mutate(v=(self.values.v - number(centre)).abs()), integers=False)

    def ordered(self, windows: Sequence[Window]) -> Selected:
        """F^-1 of half ranks, in a few scans: see `uptack.data.ordering`."""
        n, sums = self.size, self._sums
        return Selected(self._scans, n, sums.valued, windows, scale=weights.SCALE, rows=sums.rows)

    @property
    def valued(self) -> int:
        """The units of all rows that have a value."""
        return self._sums.valued

    def by_rows(self, at_most: int) -> PeopleQueryColumn:
        """Rows of people with up to so many weigh alike."""
        return replace(self, at_most=at_most)

    def each(self, how: str, order: Any = None) -> EachQueryColumn:
        """One number per person. The last row is the one with the largest value in the column `order`."""
        return EachQueryColumn(column(self.source, self.ids, self.name, order), how)

    @cached_property
    def _in_memory(self) -> PeopleColumn:
        """The rows as they are read now, and whose they are: for sums over people, which engines add in any order."""
        values, codes = gathered(self.values, self.counted.table, self.keys)
        return PeopleColumn(ArrayColumn(values, self.integers), codes, self.people, self.at_most)

    def averaged(self, f: Callable[[Floats], Floats]) -> Floats:
        """Each person's weighted mean of f over her rows: see `uptack.columns.people.People`."""
        return self._in_memory.averaged(f)

    def cumulated(self) -> tuple[Floats, NDArray[np.int64]]:
        """All rows in order, and the units up to each."""
        return self._in_memory.cumulated()

    def inside(self, low: float, high: float) -> tuple[int, int, int, int]:
        """Units from low to high, outside, and on one value."""
        return self._in_memory.inside(low, high)

    def sums(self, f: Callable[[Floats], list[Any]]) -> NoReturn:
        """Rows of people are not added up: that is not bounded per person."""
        raise UptackError("sums over rows are not proved for people")


def column(source: QuerySource, ids: tuple[str, ...], name: str, order: str | None = None) -> PeopleQueryColumn:
    """A numeric column of rows that belong to somebody, beside one by which they are ordered."""
    beside = {} if order is None else ordering(source.key(order))
    values = source.table.select(**weights.keys(source, ids), v=as_floats(source.table[name]), **beside)
    return PeopleQueryColumn(source, ids, name, values, source.columns[name] != "number")
