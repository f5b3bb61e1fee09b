"""People that an engine keeps: their rows are counted and weighed, and their units added up, where they are.

The engine counts rows by id, which makes a table with one line per person, and joins it to the rows that a query is
about. DuckDB keeps that table for the queries of one state of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from uptack.table import snapshots
from uptack.table.engine import connection
from uptack.table.engine.expressions import number
from uptack.table.unit import PrivacyUnit

HALF = 16
"""Bits of the lower parts of units, which are added up by themselves."""


def plain_zero(key: Any) -> Any:
    """The same key, without -0.0, which is 0.0 everywhere else."""
    zero = number(0.0)
    return connection.ibis().ifelse(key == zero, zero, key) if key.type().is_floating() else key


def counted(rows: Any, ids: Sequence[str]) -> connection.Kept:
    """One line per person: her ids, and how many rows she has (m). Once for each state of the table."""
    theirs = rows.select(*ids).group_by(list(ids)).aggregate(m=rows.select(*ids).count())
    return snapshots.once(connection.backend(rows), ("people", theirs.op()), lambda: connection.Kept(theirs))


def weight(m: Any, unit: PrivacyUnit) -> Any:
    """The units of each row of a person with m rows."""
    return unit.weights(m, _least).cast("int64")


def _least(each: Any, most: int) -> Any:
    return connection.ibis().least(each, connection.ibis().literal(most, type="int64"))


def weighed(rows: Any, people: connection.Kept, ids: Sequence[str], unit: PrivacyUnit) -> Any:
    """Rows with their weights, w, in place of their ids. Those of people who are not there are left out."""
    theirs, values = people.table, [name for name in rows.columns if name not in ids]
    return rows.join(theirs.select(*ids, w=weight(theirs.m, unit)), list(ids)).select(*values, "w")


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
    """What is added up over all people: how many there are, their rows, and the units of these."""

    people: int
    rows: int
    units: int


def summed(people: connection.Kept, unit: PrivacyUnit) -> Sums:
    """The sums of people with so many rows, m."""
    theirs = people.table.mutate(w=weight(people.table.m, unit))
    (line,) = connection.whole(
        theirs.aggregate(people=theirs.count(), rows=theirs.m.sum(), **units(theirs.w * theirs.m))
    )
    return Sums(int(line["people"]), int(line["rows"] or 0), added(line))
