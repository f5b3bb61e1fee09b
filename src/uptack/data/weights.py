"""Rows of people that an engine keeps: their weights are counted, joined and added up where they are.

Person i with m_i rows gives each of them U // m_i units (`uptack.columns.people`). The engine counts rows by id, which
makes a table with one line per person, and joins it to the rows that a query is about. DuckDB keeps that table for the
queries of one release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from uptack.columns.numeric import ArrayColumn
from uptack.columns.people import UNIT, PeopleColumn
from uptack.columns.selection import Floats, Window
from uptack.data import engines
from uptack.data.each import EachQueryColumn, gathered, ordering
from uptack.data.expressions import as_floats, filled, missing, number
from uptack.data.ordering import Selected
from uptack.data.places import Counted, Gap, Scale, Weighed, crossed, roomy
from uptack.data.queries import QuerySource
from uptack.data.scans import between, drawn, inside
from uptack.errors import UptackError

SCALE = Scale(UNIT)
HALF = 16
"""Bits of the lower parts of units, which are added up by themselves."""


def keys(source: QuerySource, ids: Sequence[str]) -> dict[str, Any]:
    """The columns that say whose a row is, as expressions k0, k1, ..."""
    return {f"k{i}": plain_zero(source.key(name)) for i, name in enumerate(ids)}


def plain_zero(key: Any) -> Any:
    """The same key, without -0.0, which is 0.0 everywhere else."""
    zero = number(0.0)
    return engines.ibis().ifelse(key == zero, zero, key) if key.type().is_floating() else key


def owned(source: QuerySource, ids: Sequence[str]) -> QuerySource:
    """The rows that belong to somebody: no part of their id is missing."""
    return QuerySource(source.table.filter([~missing(key) for key in keys(source, ids).values()]))


def weight(m: Any, at_most: int | None = None) -> Any:
    """U // m units for each of m rows; with `at_most` no more than U // at_most."""
    ibis = engines.ibis()
    share = (ibis.literal(UNIT, type="int64") // m).cast("int64")
    return share if at_most is None else ibis.least(share, ibis.literal(UNIT // at_most, type="int64"))


def counted(rows: Any, ids: Sequence[str]) -> engines.Kept:
    """One line per person: her ids, and how many rows she has (m)."""
    return engines.Kept(rows.group_by(ids).aggregate(m=rows.count()))


def all_people(source: QuerySource, ids: Sequence[str]) -> engines.Kept:
    """The same of all rows of a source, once for each state of it that is read."""

    def count() -> engines.Kept:
        rows = source.table.select(**keys(source, ids))
        return counted(rows, rows.columns)

    return source.once("people", count)


def units(column: Any, each: str = "units") -> dict[str, Any]:
    """The sum of a column of units, as two sums of the engine for `added`.

    A person has U < 2^33 units, so integers of 64 bits hold those of 2^63/U = 1.7·10^9 people and not of more; Spark
    goes round then, or raises. Sums of the lower 16 bits and of the rest hold those of 2^46 rows.
    """
    return {f"{each}_high": (column >> HALF).sum(), f"{each}_low": (column & (2**HALF - 1)).sum()}


def added(line: Mapping[str, Any], each: str = "units") -> int:
    """What `units` has added up; 0 where there was nothing."""
    return (int(line[f"{each}_high"] or 0) << HALF) + int(line[f"{each}_low"] or 0)


class Sums(NamedTuple):
    """What is added up over all people: how many there are, the rows that have a value, their units, and all units."""

    people: int
    rows: int
    valued: int
    units: int


def summed(people: Any) -> Sums:
    """The sums of people with so many rows, m, that have so many units each, w, and all have a value."""
    found = people.aggregate(people=people.count(), rows=people.m.sum(), **units(people.w * people.m))
    (line,) = engines.whole(found)
    return Sums(int(line["people"]), int(line["rows"] or 0), added(line), added(line))


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
    def counted(self) -> engines.Kept:
        """One line per person: her ids, and how many rows she has (m)."""
        return all_people(self.source, self.ids) if self.whole else counted(self.values, self.keys)

    @cached_property
    def _sums(self) -> Sums:
        theirs = self.counted.table
        sums = summed(theirs.mutate(w=weight(theirs.m, self.at_most)))
        return sums if self.finite() else self._without_missing(sums)

    def _without_missing(self, sums: Sums) -> Sums:
        """The same with the rows that have a value, and their units."""
        rows = self._scans.weighed(self.values.filter(~missing(self.values.v)))
        (line,) = engines.whole(rows.aggregate(rows=rows.count(), **units(rows.w)))
        return sums._replace(rows=int(line["rows"] or 0), valued=added(line))

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
        return self.people if self.at_most is None else int(SCALE.ranks(self._sums.units))

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
        return Selected(self._scans, n, sums.valued, windows, scale=SCALE, rows=sums.rows)

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
    values = source.table.select(**keys(source, ids), v=as_floats(source.table[name]), **beside)
    return PeopleQueryColumn(source, ids, name, values, source.columns[name] != "number")


def weighed(rows: Any, people: engines.Kept, at_most: int | None = None) -> Any:
    """Rows with their weights, w, in place of their ids k0, k1, ... Those of people who are not there are left out."""
    ids, theirs = [name for name in rows.columns if name.startswith("k")], people.table
    values = [name for name in rows.columns if name not in ids]
    return rows.join(theirs.select(*ids, w=weight(theirs.m, at_most)), ids).select(*values, "w")


@dataclass(frozen=True)
class PeopleScans:
    """The questions of `uptack.data.ordering.Scans` on rows (ids and v, none missing) and people (ids and m)."""

    rows: Any
    people: engines.Kept
    at_most: int | None = None

    def weighed(self, rows: Any) -> Any:
        """Values and weights of some rows."""
        return weighed(rows, self.people, self.at_most).select("v", "w")

    def counts(self, pivots: Sequence[float]) -> Counted:
        """Units and rows below and up to each pivot: one scan of the rows up to the largest pivot.

        Pivots p0 < p1 < ... cut rows into parts 0 (v < p0), 1 (v = p0), 2 (p0 < v < p1), 3 (v = p1), ...
        """
        if not pivots:
            return Counted([], [], [], [])
        ends = sorted(set(pivots))
        rows = self.weighed(self.rows.filter(self.rows.v <= number(ends[-1])))
        sides = [side for end in ends for side in (rows.v < number(end), rows.v <= number(end))]
        part = engines.ibis().cases(*((side, i) for i, side in enumerate(sides)))
        parts = rows.group_by(part=part.cast("int16")).aggregate(rows=rows.count(), **units(rows.w))
        found = np.zeros((2, 2 * len(ends)), object)
        for line in engines.whole(parts):
            found[:, int(line["part"])] = added(line), int(line["rows"])
        sums, order = np.cumsum(found, axis=1), [ends.index(pivot) for pivot in pivots]
        theirs, many = ([[int(side[2 * i + up_to]) for i in order] for up_to in (0, 1)] for side in sums)
        return Counted(*theirs, *many)

    def sample(self, gaps: Sequence[Gap], part: float) -> Weighed:
        """A part of the rows: see `uptack.data.scans.QueryScans`."""
        first = len(gaps) == 1 and gaps[0].low is None and gaps[0].high is None
        if first and engines.backend(self.rows).name == "duckdb":
            return _read(self.weighed(self.rows.sample(part, method="block")))
        return _read(self.weighed(drawn(inside(self.rows, gaps), part)))

    def fetch(self, gaps: Sequence[Gap]) -> Weighed:
        """All rows in the gaps."""
        return _read(self.weighed(inside(self.rows, gaps)))

    def between(self, low: float, high: float, before: int) -> int:
        """Σ x(r) strictly between two values. The engine sorts, since which rows are met depends on all before them."""
        rows = self.weighed(self.rows.filter(between(self.rows.v, low, high))).order_by("v")

        def add(batches: Any) -> int:
            total, up_to = 0, before
            for batch in batches:
                read = Weighed(engines.floats(batch.column(0)), engines.integers(batch.column(1)))
                total += crossed(read, up_to, SCALE)
                up_to += int(roomy(_weights(read)).sum())
            return total

        return engines.folded(rows, add)


def _weights(read: Weighed) -> NDArray[np.int64]:
    assert read.weights is not None
    return read.weights


def _read(rows: Any) -> Weighed:
    """Values and weights of an expression."""

    def parts(batches: Any) -> list[Weighed]:
        return [Weighed(engines.floats(batch.column(0)), engines.integers(batch.column(1))) for batch in batches]

    return Weighed.joined(engines.folded(rows, parts), weighed=True)
