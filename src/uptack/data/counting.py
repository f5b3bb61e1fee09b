"""Rows of people that an engine keeps: see `uptack.data.people`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uptack.columns.owners import Owners, PeopleRows
from uptack.columns.spread import PeopleValues, Weights
from uptack.data import people_columns, weights
from uptack.data.people_columns import PeopleQueryColumn
from uptack.data.protocol import Counts, tidy
from uptack.data.queries import QuerySource
from uptack.data.weights import PeopleScans
from uptack.errors import InvalidArgument
from uptack.table.conditions import Condition
from uptack.table.engine import connection
from uptack.table.engine.codes import fields, joined
from uptack.table.engine.expressions import missing
from uptack.table.values.field import Field
from uptack.table.values.kinds import LARGEST, labelled

MUST = "a column of numbers, texts, dates, times, truth values or UUIDs, or several such"
FIX = "Make an id of one of these types first, in a query or a view, such as CAST(id AS VARCHAR)."


def can_be_an_id(dtype: Any) -> bool:
    """Whether equal values of a type are one person: not lists, structures, maps, JSON, and intervals.

    Engines don't agree on when two of those are equal, and one person must never become two.
    """
    plain = ("is_numeric", "is_boolean", "is_string", "is_date", "is_time", "is_timestamp", "is_uuid", "is_binary")
    return any(getattr(dtype, test)() for test in plain) and not dtype.is_json()


@dataclass(frozen=True)
class QueryPeople:
    """A table of an engine without rows of nobody, and the columns that say whose each row is."""

    source: QuerySource
    ids: tuple[str, ...]

    @staticmethod
    def of(source: QuerySource, ids: tuple[str, ...]) -> QueryPeople:
        """The rows of a source that belong to somebody. Whether a column can be an id is said by its declared type."""
        types = source.table.schema()
        for name in ids:
            if not can_be_an_id(types[name]):
                raise InvalidArgument("person", MUST, f"a column of type {types[name]}", FIX)
        return QueryPeople(weights.owned(source, ids), ids)

    @property
    def _keys(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.ids))]

    def _rows(self, **columns: Any) -> Any:
        """Ids and other columns of all rows."""
        return self.source.table.select(**weights.keys(self.source, self.ids), **columns)

    @property
    def _people(self) -> connection.Kept:
        """One line per person: ids, and how many rows she has."""
        return weights.all_people(self.source, self.ids)

    def people(self) -> int:
        """How many people there are, once for each state of the table that is read."""

        def count() -> int:
            kept = self._people
            return int(connection.whole(kept.table.aggregate(people=kept.table.count()))[0]["people"])

        return self.source.once("number of people", count)

    def spread(self) -> tuple[int, int]:
        """How many rows there are, and how many one person has at most."""
        kept = self._people
        (line,) = connection.whole(kept.table.aggregate(rows=kept.table.m.sum(), most=kept.table.m.max()))
        return int(line["rows"] or 0), int(line["most"] or 0)

    def column(self, name: str) -> PeopleQueryColumn:
        """A numeric column."""
        return people_columns.column(self.source.still(), self.ids, name)

    def order(self, name: str) -> str:
        """The column itself."""
        return name

    def units(self, name: str, how: Weights) -> Counts:
        """The values of a column and their units: the engine joins, groups and adds."""
        rows, kept = self._rows(c=self.source.key(name)), self._people
        theirs = kept.table.select(*self._keys, w=weights.weight(kept.table.m, how.at_most))
        joined = rows.join(theirs, self._keys)
        found = connection.whole(joined.group_by("c").aggregate(**weights.units(joined.w)))
        return self.source.tidied([name], (((row["c"],), weights.added(row)) for row in found))

    def bins(self, name: str, edges: Sequence[float], how: Weights) -> Counts:
        """Units of the rows on each edge and between two of them, in one scan, whatever the number of values.

        A float next to an edge stands for the rows between that edge and the next. There is none where no float is.
        """
        column = replace(people_columns.column(self.source.still(), self.ids, name), at_most=how.at_most)
        there = column.values.filter(~missing(column.values.v))
        ends = np.unique(np.array([float(edge) for edge in edges])) + 0.0
        counted = PeopleScans(there, column.counted, how.at_most).counts(ends.tolist())
        inside, on = [], []
        for low, high, up_to, below in zip(ends[:-1], ends[1:], counted.up_to[:-1], counted.below[1:], strict=True):
            inside.append(((float(np.nextafter(low, high)),), below - up_to))
        for edge, up_to, below in zip(ends, counted.up_to, counted.below, strict=True):
            on.append(((float(edge),), up_to - below))
        nowhere = PeopleScans(column.values.filter(missing(column.values.v)).mutate(v=0.0), column.counted, how.at_most)
        lost = nowhere.counts([0.0]).up_to[0]  # rows without a value are beyond the last edge, as in memory
        outside = [((-LARGEST,), counted.below[0]), ((LARGEST,), column.valued - counted.up_to[-1] + lost)]
        return tidy(pair for pair in (*inside, *on, *outside) if pair[1])

    def trues(self, name: str | None, at_most: int) -> int:
        """How many rows are True, of each person so many at most."""
        kept = self._people
        theirs = kept.table
        if name is not None:
            rows = self._rows(c=self.source.table[name])
            rows = rows.filter(rows.c.fill_null(False))
            theirs = rows.group_by(self._keys).aggregate(m=rows.count())
        most = connection.ibis().least(theirs.m, connection.ibis().literal(at_most, type="int64"))
        return int(connection.whole(theirs.aggregate(found=most.sum()))[0]["found"] or 0)

    def points(self, names: Sequence[str]) -> PeopleRows:
        """Numeric columns, and whose each row is, streamed into arrays."""
        values, codes = self.source.streamed(names, self.ids)
        return PeopleRows(values[:, 0] if len(names) == 1 else values, codes, int(codes.max(initial=-1)) + 1)

    def mixed(self, numbers: Sequence[str], others: Sequence[str]) -> tuple[PeopleRows, list[Field]]:
        """Some columns as numbers, with whose each row is, and others as fields, in one pass."""
        matrix, read = self.source.coded(numbers, (*self.ids, *others))
        codes = joined([part.numbers() for part in read[: len(self.ids)]])
        found = fields(read[len(self.ids) :], [self.source.columns[name] for name in others])
        return PeopleRows(matrix, codes, int(codes.max(initial=-1)) + 1), found

    def values(self, name: str) -> PeopleValues:
        """All rows of a column, and whose they are, in memory."""
        (*ids, column) = self.source.coded((), (*self.ids, name))[1]
        codes, labels = joined([part.numbers() for part in ids]), labelled(column.labels(), self.source.columns[name])
        return PeopleValues([labels[cell] for cell in column.numbers()], Owners(codes, int(codes.max(initial=-1)) + 1))

    def groups(self, names: Sequence[str]) -> Counts:
        """The combinations of values of columns, and how many people have each."""
        theirs, values = self._by_values(names), _values(names)
        found = connection.whole(theirs.group_by(values).aggregate(people=theirs.count()))
        return self.source.tidied(names, ((tuple(row[c] for c in values), row["people"]) for row in found))

    def settled(self, names: Sequence[str]) -> QueryPeople:
        """The rows of each person that have her most frequent values: the engine ranks those of each person."""
        ibis, theirs, values = connection.ibis(), self._by_values(names), _values(names)
        order = [term for c in values for term in (theirs[c].isnull(), theirs[c].asc())]
        window = ibis.window(group_by=self._keys, order_by=[theirs.m.desc(), *order])
        best = theirs.mutate(place=ibis.row_number().over(window)).filter(ibis._.place == 0)
        best = best.select(*self._keys, *values).view()  # its own table: ibis would take its ids for those of the rows
        table = self.source.table
        same = [key == best[k] for k, key in weights.keys(self.source, self.ids).items()]
        same += [self._value(name).identical_to(best[c]) for c, name in zip(values, names, strict=True)]
        return QueryPeople(QuerySource(table.semi_join(best, same), durations=self.source.durations), self.ids)

    def _value(self, name: str) -> Any:
        """A column as keys: no two that are equal, and null for what is missing."""
        key = weights.plain_zero(self.source.key(name))
        return connection.ibis().ifelse(missing(key), connection.ibis().null().cast(key.type()), key)

    def _by_values(self, names: Sequence[str]) -> Any:
        """One line per person and values of columns: ids, values (c0, c1, ...), and how many rows there are (m)."""
        rows = self._rows(**{c: self._value(name) for c, name in zip(_values(names), names, strict=True)})
        return rows.group_by([*self._keys, *_values(names)]).aggregate(m=rows.count())

    def masked(self, wanted: Sequence[Condition]) -> QueryPeople:
        """The same people. Rows that do not meet the conditions have no value."""
        return replace(self, source=self.source.masked(wanted, keep=self.ids))

    def left(self, wanted: Sequence[Condition]) -> QueryPeople:
        """The rows that meet the conditions, and those who own them."""
        return replace(self, source=self.source.left(wanted))

    def restricted(self, name: str, value: Any) -> QueryPeople:
        """The rows that have a value."""
        return QueryPeople(self.source.restricted(name, value), self.ids)


def _values(names: Sequence[str]) -> list[str]:
    return [f"c{i}" for i in range(len(names))]
