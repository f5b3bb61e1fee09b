"""Rows of people that an engine keeps: their weights are counted, joined and added up where they are.

Person i with m_i rows gives each of them U // m_i units (`uptack.columns.people`). The engine counts rows by id, which
makes a table with one line per person, and joins it to the rows that a query is about. Nothing is kept between queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from uptack.columns.people import UNIT
from uptack.columns.selection import Floats, Window, exact_sum
from uptack.data import engines
from uptack.data.each import EachQueryColumn, ordering, summed
from uptack.data.expressions import as_floats, filled, missing, number
from uptack.data.ordering import Counted, Gap, Scale, Selected, Weighed, crossed
from uptack.data.queries import QuerySource, between, inside
from uptack.errors import UptackError

SCALE = Scale(UNIT)


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


class Sums(NamedTuple):
    """What is added up over all people: how many there are, the rows that have a value, and the units of all rows."""

    people: int
    rows: int
    valued: int
    units: int


@dataclass(frozen=True)
class PeopleQueryColumn:
    """A numeric column of an engine in units of people: an expression with ids k0, k1, ... and floats v.

    `source` holds rows that belong to somebody only. The rest is as in `uptack.data.queries.QueryColumn`.
    """

    source: QuerySource
    ids: tuple[str, ...]
    name: str
    values: Any
    integers: bool
    certain: bool = False
    at_most: int | None = None

    of_people = weighted = True

    @property
    def keys(self) -> list[str]:
        """The names of the ids in `values`."""
        return [f"k{i}" for i in range(len(self.ids))]

    @cached_property
    def counted(self) -> Any:
        """One line per person: how many rows she has (m) and how many of them have a value (c), their weight (w)."""
        rows = self.values
        there = rows.group_by(self.keys).aggregate(m=rows.count(), c=rows.count(where=~missing(rows.v)))
        return there.mutate(w=weight(there.m, self.at_most))

    @cached_property
    def _sums(self) -> Sums:
        p = self.counted
        found = p.aggregate(people=p.count(), rows=p.c.sum(), valued=(p.w * p.c).sum(), units=(p.w * p.m).sum())
        (line,) = engines.whole(found)
        return Sums(*(int(line[name] or 0) for name in Sums._fields))

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
        """Whether no row is missing, NaN or infinite."""
        return self.certain or self.source.oddities(self.name) == (0, 0)

    def filled(self, missing: float) -> PeopleQueryColumn:
        """The engine replaces NaN and infinities as it reads."""
        return self if self.certain else replace(self, values=filled(self.values, missing), certain=True)

    def present(self) -> PeopleQueryColumn:
        """Rows without a value are left out before weights are counted, and with them people who have no others."""
        if self.certain:
            return self
        there = self.values.filter(~missing(self.values.v))
        return replace(self, values=filled(there, 0.0), certain=True)

    def floats(self) -> PeopleQueryColumn:
        """The column as floats."""
        return replace(self, integers=False)

    def away(self, centre: float) -> PeopleQueryColumn:
        """The engine takes the distances."""
        return replace(self, values=self.values.mutate(v=(self.values.v - number(centre)).abs()), integers=False)

    def ordered(self, windows: Sequence[Window]) -> Selected:
        """F^-1 of half ranks, in a few scans: see `uptack.data.ordering`."""
        rows = self.values if self.certain else self.values.filter(~missing(self.values.v))
        n, sums = self.size, self._sums
        return Selected(PeopleScans(rows, self.counted), n, sums.valued, windows, scale=SCALE, rows=sums.rows)

    @property
    def valued(self) -> int:
        """The units of all rows that have a value."""
        return self._sums.valued

    def by_rows(self, at_most: int) -> PeopleQueryColumn:
        """Rows of people with up to so many weigh alike."""
        return replace(self, at_most=at_most)

    def each(self, how: str, order: str | None = None) -> EachQueryColumn:
        """One number per person. The last row is the one with the largest value in the column `order`."""
        return EachQueryColumn(column(self.source, self.ids, self.name, order), how)

    def clamped(self, low: float, high: float, centre: float) -> int:
        """Σ over people of the weighted mean of their clamped rows: see `uptack.columns.people.People`."""
        v, ibis = self.values.v, engines.ibis()
        bounded = ibis.ifelse(v < number(low), number(low), ibis.ifelse(v > number(high), number(high), v))
        sums, counts = summed(self.values.mutate(v=bounded - number(centre)), self.counted, self.keys)
        each = sums / (counts if self.at_most is None else np.maximum(counts, self.at_most))
        return exact_sum(np.clip(each, low - centre, high - centre))

    def sums(self, f: Callable[[Floats], list[Any]]) -> NoReturn:
        """Rows of people are not added up: that is not bounded per person."""
        raise UptackError("sums over rows are not proved for people")


def column(source: QuerySource, ids: tuple[str, ...], name: str, order: str | None = None) -> PeopleQueryColumn:
    """A numeric column of rows that belong to somebody, beside one by which they are ordered."""
    beside = {} if order is None else ordering(source.key(order))
    values = source.table.select(**keys(source, ids), v=as_floats(source.table[name]), **beside)
    return PeopleQueryColumn(source, ids, name, values, source.columns[name] != "number")


@dataclass(frozen=True)
class PeopleScans:
    """The questions of `uptack.data.ordering.Scans` on rows (ids and v, none missing) and people (ids and w)."""

    rows: Any
    people: Any

    def _weighed(self, rows: Any) -> Any:
        ids = [name for name in rows.columns if name.startswith("k")]
        return rows.join(self.people.select(*ids, "w"), ids).select("v", "w")

    def counts(self, pivots: Sequence[float]) -> Counted:
        """Units and rows below and up to each pivot: one scan."""
        rows, ends = self._weighed(self.rows), [number(pivot) for pivot in pivots]
        if not ends:
            return Counted([], [], [], [])
        conditions = [rows.v < end for end in ends] + [rows.v <= end for end in ends]
        units = {f"u{i}": rows.w.sum(where=condition) for i, condition in enumerate(conditions)}
        many = {f"n{i}": rows.count(where=condition) for i, condition in enumerate(conditions)}
        (line,) = engines.whole(rows.aggregate(**units, **many))
        found = [[int(line[f"{kind}{i}"] or 0) for i in range(len(conditions))] for kind in "un"]
        return Counted(*(part for side in found for part in (side[: len(ends)], side[len(ends) :])))

    def sample(self, gaps: Sequence[Gap], part: float) -> Weighed:
        """A part of the rows: see `uptack.data.queries.QueryScans`."""
        first = len(gaps) == 1 and gaps[0].low is None and gaps[0].high is None
        if first and engines.backend(self.rows).name == "duckdb":
            return _read(self._weighed(self.rows.sample(part, method="block")))
        return _read(self._weighed(inside(self.rows, gaps).filter(engines.ibis().random() < part)))

    def fetch(self, gaps: Sequence[Gap]) -> Weighed:
        """All rows in the gaps."""
        return _read(self._weighed(inside(self.rows, gaps)))

    def between(self, low: float, high: float, before: int) -> int:
        """Σ x(r) strictly between two values. The engine sorts, since which rows are met depends on all before them."""
        rows = self._weighed(self.rows.filter(between(self.rows, low, high))).order_by("v")

        def add(batches: Any) -> int:
            total, units = 0, before
            for batch in batches:
                read = Weighed(engines.floats(batch.column(0)), _integers(batch.column(1)))
                total += crossed(read, units, SCALE)
                units += int(_weights(read).sum())
            return total

        return engines.folded(rows, add)


def _weights(read: Weighed) -> NDArray[np.int64]:
    assert read.weights is not None
    return read.weights


def _integers(values: Any) -> NDArray[np.int64]:
    made: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return made.astype(np.int64, copy=False)


def _read(rows: Any) -> Weighed:
    """Values and weights of an expression."""

    def parts(batches: Any) -> list[tuple[Any, Any]]:
        return [(engines.floats(batch.column(0)), _integers(batch.column(1))) for batch in batches]

    found = engines.folded(rows, parts)
    values, weights = zip(*found, strict=True) if found else ([np.empty(0)], [np.empty(0, np.int64)])
    return Weighed(np.concatenate(values), np.concatenate(weights))
