"""One number per person from rows that an engine keeps: see `uptack.columns.each`, which these agree with to the bit.

Counts, least and largest values come from the engine's own `group by`. An engine adds floats in any order, and the last
bits of one person's sum would then depend on others' rows. So for sums, means, medians and last rows the engine sorts
by id and value, and they are folded as they come, in the order of their size. What is kept is one number per person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from uptack.columns.numeric import ArrayColumn, Ordered
from uptack.columns.selection import Floats, Window
from uptack.table.engine import connection
from uptack.table.engine.expressions import missing
from uptack.table.values.kinds import LARGEST

if TYPE_CHECKING:
    from uptack.data.people_columns import PeopleQueryColumn

T = TypeVar("T")
Run = tuple[NDArray[np.bool_], Floats, Floats]
"""Rows in a row: whether a person begins with each, the values, and how many rows that person has."""
ORDER = ("o0", "o1")


@dataclass(frozen=True)
class EachQueryColumn:
    """One number per person, worked out once the rows without a value have been filled or left out."""

    rows: PeopleQueryColumn
    how: str

    of_people = True
    weighted = size_is_secret = False

    @property
    def size(self) -> int:
        """The number of people."""
        return self.rows.people

    @property
    def integers(self) -> bool:
        """Whether the numbers are whole ones, by the type of the rows."""
        return self.how == "count" or (self.rows.integers and self.how != "mean")

    def finite(self) -> bool:
        """Whether no row is missing, NaN or infinite. For the curator only."""
        return self.rows.finite()

    def filled(self, missing: float) -> ArrayColumn:
        """The numbers, where rows without a value are read as this one."""
        return replace(self, rows=self.rows.filled(missing))._made

    def present(self) -> ArrayColumn:
        """The numbers of the people who have a row with a value, from those rows alone."""
        return replace(self, rows=self.rows.present())._made

    def floats(self) -> EachQueryColumn:
        """The same from rows as floats."""
        return replace(self, rows=self.rows.floats())

    def away(self, centre: float) -> ArrayColumn:
        """Distances of the numbers from one."""
        return self._made.away(centre)

    def ordered(self, windows: Sequence[Window]) -> Ordered:
        """Order statistics of the numbers."""
        return self._made.ordered(windows)

    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over the numbers."""
        return self._made.sums(f)

    @cached_property
    def _made(self) -> ArrayColumn:
        return ArrayColumn(numbers(self.rows, self.how), self.integers)


def numbers(column: PeopleQueryColumn, how: str) -> Floats:
    """The numbers of all people, in no particular order."""
    rows, theirs = column.values, column.counted.table
    if how == "count":
        return connection.read(theirs.select(v=theirs.m.cast("float64")))
    if how in ("min", "max"):
        return connection.read(rows.group_by(column.keys).aggregate(v=getattr(rows.v, how)()).select("v"))
    if how in ("sum", "mean"):
        sums, counts = summed(rows, theirs, column.keys)
        return np.clip(sums / counts if how == "mean" else sums, -LARGEST, LARGEST)
    return _folded(rows, theirs, column.keys, _medians if how == "median" else _lasts, by_order=how == "last")


def summed(rows: Any, counts: Any, keys: list[str]) -> tuple[Floats, Floats]:
    """Each person's sum of v, added from her least row on, and how many rows she has."""
    return _folded(rows, counts, keys, _added)


def gathered(rows: Any, counts: Any, keys: list[str]) -> tuple[Floats, NDArray[np.int64]]:
    """All rows in memory, and the number 0, 1, 2, ... of the person whose each is."""
    return _folded(rows, counts, keys, _gathered)


def _folded(rows: Any, counts: Any, keys: list[str], fold: Callable[[Iterator[Run]], T], by_order: bool = False) -> T:
    """What a function makes of the rows of people, one person after the other, from her least row on."""
    joined = rows.join(counts.select(*keys, "m"), keys).order_by([*keys, *(ORDER if by_order else ()), "v"])
    return connection.folded(joined.select(*keys, "v", "m"), lambda batches: fold(_runs(batches, len(keys))))


def ordering(key: Any) -> dict[str, Any]:
    """The columns by which rows of a person are ordered before their values: those without a key come first."""
    ibis, gone = connection.ibis(), missing(key)
    return {"o0": ibis.ifelse(gone, 0, 1), "o1": ibis.ifelse(gone, ibis.null().cast(key.type()), key)}


def _runs(batches: Iterator[Any], keys: int) -> Iterator[Run]:
    """Batches that are sorted by person."""
    import pyarrow.compute as pc

    before: list[Any] | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        begins = np.zeros(batch.num_rows, bool)
        ids = [batch.column(place) for place in range(keys)]
        for place, part in enumerate(ids):
            begins[1:] |= pc.not_equal(part[1:], part[:-1]).to_numpy(zero_copy_only=False)
            begins[0] |= before is None or part[0].as_py() != before[place]
        before = [part[-1].as_py() for part in ids]
        yield begins, connection.floats(batch.column(keys)), connection.floats(batch.column(keys + 1))


def _added(runs: Iterator[Run]) -> tuple[Floats, Floats]:
    """Sums, and numbers of rows. A sum that goes on in the next batch is its first summand there."""
    sums, counts, going_on = [np.empty(0)], [np.empty(0)], 0.0
    for begins, values, many in runs:
        found = np.bincount(np.append(0, np.cumsum(begins)), weights=np.append(going_on, values))
        sums.append(found[:-1].astype(np.float64, copy=False))
        counts.append(many[begins])
        going_on = float(found[-1])
    return np.concatenate([*sums, [going_on]])[1:], np.concatenate(counts)  # the first one was nobody's


def _gathered(runs: Iterator[Run]) -> tuple[Floats, NDArray[np.int64]]:
    """The rows as they come, and how many people began before each."""
    found, begun = [np.empty(0)], [np.empty(0, bool)]
    for begins, values, _ in runs:
        found.append(values)
        begun.append(begins)
    return np.concatenate(found), np.cumsum(np.concatenate(begun)) - 1


def _medians(runs: Iterator[Run]) -> Floats:
    """The middle row of each person, the lower one of two."""
    found: list[Floats] = [np.empty(0)]
    done = 0
    for begins, values, many in runs:
        places = np.arange(values.size)
        place = places - np.maximum.accumulate(np.where(begins, places, -done))
        found.append(values[place == (many - 1) // 2])
        done = int(place[-1]) + 1
    return np.concatenate(found)


def _lasts(runs: Iterator[Run]) -> Floats:
    """The last row of each person."""
    found: list[Floats] = [np.empty(0)]
    last: Floats = np.empty(0)
    for begins, values, _ in runs:
        found += [last[: int(begins[0])], values[:-1][begins[1:]]]
        last = values[-1:]
    return np.concatenate([*found, last])
