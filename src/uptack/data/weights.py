"""Rows of people that an engine keeps: their weights are counted, joined and added up where they are.

Person i with m_i rows gives each of them U // m_i units (`uptack.columns.people`). The engine counts rows by id, which
makes a table with one line per person, and joins it to the rows that a query is about. DuckDB keeps that table for the
queries of one release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uptack.columns.people import UNIT
from uptack.columns.units import roomy
from uptack.data.places import Counted, Gap, Scale, Weighed, crossed
from uptack.data.queries import QuerySource
from uptack.data.scans import between, inside, sampled
from uptack.table.engine import connection
from uptack.table.engine.expressions import missing, number

SCALE = Scale(UNIT)
HALF = 16
"""Bits of the lower parts of units, which are added up by themselves."""


def keys(source: QuerySource, ids: Sequence[str]) -> dict[str, Any]:
    """The columns that say whose a row is, as expressions k0, k1, ..."""
    return {f"k{i}": plain_zero(source.key(name)) for i, name in enumerate(ids)}


def plain_zero(key: Any) -> Any:
    """The same key, without -0.0, which is 0.0 everywhere else."""
    zero = number(0.0)
    return connection.ibis().ifelse(key == zero, zero, key) if key.type().is_floating() else key


def owned(source: QuerySource, ids: Sequence[str]) -> QuerySource:
    """The rows that belong to somebody: no part of their id is missing."""
    whose = [~missing(key) for key in keys(source, ids).values()]
    return QuerySource(source.table.filter(whose), durations=source.durations)


def weight(m: Any, at_most: int | None = None) -> Any:
    """U // m units for each of m rows; with `at_most` no more than U // at_most."""
    ibis = connection.ibis()
    share = (ibis.literal(UNIT, type="int64") // m).cast("int64")
    return share if at_most is None else ibis.least(share, ibis.literal(UNIT // at_most, type="int64"))


def counted(rows: Any, ids: Sequence[str]) -> connection.Kept:
    """One line per person: her ids, and how many rows she has (m)."""
    return connection.Kept(rows.group_by(ids).aggregate(m=rows.count()))


def all_people(source: QuerySource, ids: Sequence[str]) -> connection.Kept:
    """The same of all rows of a source, once for each state of it that is read."""

    def count() -> connection.Kept:
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
    (line,) = connection.whole(found)
    return Sums(int(line["people"]), int(line["rows"] or 0), added(line), added(line))


def weighed(rows: Any, people: connection.Kept, at_most: int | None = None) -> Any:
    """Rows with their weights, w, in place of their ids k0, k1, ... Those of people who are not there are left out."""
    ids, theirs = [name for name in rows.columns if name.startswith("k")], people.table
    values = [name for name in rows.columns if name not in ids]
    return rows.join(theirs.select(*ids, w=weight(theirs.m, at_most)), ids).select(*values, "w")


@dataclass(frozen=True)
class PeopleScans:
    """The questions of `uptack.data.asking.Scans` on rows (ids and v, none missing) and people (ids and m)."""

    rows: Any
    people: connection.Kept
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
        part = connection.ibis().cases(*((side, i) for i, side in enumerate(sides)))
        parts = rows.group_by(part=part.cast("int16")).aggregate(rows=rows.count(), **units(rows.w))
        found = np.zeros((2, 2 * len(ends)), object)
        for line in connection.whole(parts):
            found[:, int(line["part"])] = added(line), int(line["rows"])
        sums, order = np.cumsum(found, axis=1), [ends.index(pivot) for pivot in pivots]
        theirs, many = ([[int(side[2 * i + up_to]) for i in order] for up_to in (0, 1)] for side in sums)
        return Counted(*theirs, *many)

    def sample(self, gaps: Sequence[Gap], part: float) -> Weighed:
        """A part of the rows."""
        return _read(self.weighed(sampled(self.rows, gaps, part)))

    def fetch(self, gaps: Sequence[Gap]) -> Weighed:
        """All rows in the gaps."""
        return _read(self.weighed(inside(self.rows, gaps)))

    def between(self, low: float, high: float, before: int) -> int:
        """Σ x(r) strictly between two values. The engine sorts, since which rows are met depends on all before them."""
        rows = self.weighed(self.rows.filter(between(self.rows.v, low, high))).order_by("v")

        def add(batches: Any) -> int:
            total, up_to = 0, before
            for batch in batches:
                read = Weighed(connection.floats(batch.column(0)), connection.integers(batch.column(1)))
                total += crossed(read, up_to, SCALE)
                up_to += int(roomy(_weights(read)).sum())
            return total

        return connection.folded(rows, add)


def _weights(read: Weighed) -> NDArray[np.int64]:
    assert read.weights is not None
    return read.weights


def _read(rows: Any) -> Weighed:
    """Values and weights of an expression."""

    def parts(batches: Any) -> list[Weighed]:
        return [Weighed(connection.floats(batch.column(0)), connection.integers(batch.column(1))) for batch in batches]

    return Weighed.joined(connection.folded(rows, parts), weighed=True)
