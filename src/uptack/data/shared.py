"""Questions about the order of several columns at once, by scans that they share: see `uptack.data.ordering`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns.selection import Floats
from uptack.columns.units import roomy
from uptack.data.asking import Count, Fetch, Sample, Scans
from uptack.data.places import Counted, Weighed
from uptack.data.scans import at_pivots, between, sample
from uptack.table.engine import connection

Ends = tuple[float | None, float | None]


@dataclass(frozen=True)
class SharedScans:
    """The questions of `uptack.data.asking.Together`, of an expression with columns v0, v1, ... without nulls.

    Where rows have weights, `weigh` puts them beside the rows of an expression, as w.
    """

    rows: Any
    alone: Mapping[int, Scans]
    weigh: Callable[[Any], Any] | None = None

    def sample(self, asked: Mapping[int, Sample]) -> Mapping[int, Weighed]:
        """The first sample is one of rows, for all columns; later ones, which are rare, are of other rows for each."""
        if any((gap.low, gap.high) != (None, None) for ask in asked.values() for gap in ask.gaps):
            return {column: self.alone[column].sample(ask.gaps, ask.part) for column, ask in asked.items()}
        return self._read(sample(self.rows, max(ask.part for ask in asked.values())), dict.fromkeys(asked, ()))

    def count(self, asked: Mapping[int, Count]) -> Mapping[int, Counted]:
        """All pivots of all columns in one scan."""
        counts = self._counts([(f"v{column}", pivot) for column, ask in asked.items() for pivot in ask.pivots])
        found, start = {}, 0
        for column, ask in asked.items():
            found[column] = Counted(*(part[start : start + len(ask.pivots)] for part in counts))
            start += len(ask.pivots)
        return found

    def _counts(self, pivots: Sequence[tuple[str, float]]) -> list[list[int]]:
        """How many rows are below each pivot of a column and up to it; before that their units, where they have some.

        The engine counts rows. Units are added up here, or on the executors of Spark: as engines do it, conditional
        sums of many columns take several times as long.
        """
        if self.weigh is None:
            ends = [at_pivots(self.rows[name], [pivot]) for name, pivot in pivots]
            counted = connection.tally(self.rows, [below for below, _ in ends] + [up_to for _, up_to in ends])
            return [counted[: len(pivots)], counted[len(pivots) :]]
        names = list(dict.fromkeys(name for name, _ in pivots))
        places = [(names.index(name), pivot) for name, pivot in pivots]
        read = functools.partial(_units, places)
        nothing = [np.zeros((4, len(pivots)), object)]
        (found,) = (
            connection.batch_sums(self.weigh(self.rows).select(*names, "w"), read, nothing) if pivots else nothing
        )
        lines: list[list[int]] = found.tolist()
        return lines

    def fetch(self, asked: Mapping[int, Fetch]) -> Mapping[int, Weighed]:
        """The rows that lie in a gap of one of the columns, in one scan. Of them each column keeps its own."""
        ends = {column: [(gap.low, gap.high) for gap in ask.gaps] for column, ask in asked.items()}
        every = [between(self.rows[f"v{column}"], *pair) for column, pairs in ends.items() for pair in pairs]
        some = not any(condition is None for condition in every)
        return self._read(self.rows.filter(functools.reduce(operator.or_, every)) if some else self.rows, ends)

    def _read(self, rows: Any, ends: Mapping[int, Sequence[Ends]]) -> dict[int, Weighed]:
        """Of each column its values that are strictly between two ends, or all where no ends are given."""

        def fold(parts: Iterator[Any]) -> dict[int, Weighed]:
            found: dict[int, list[Weighed]] = {column: [] for column in ends}
            for batch in parts:
                weights = None if self.weigh is None else connection.integers(batch.column(len(ends)))
                for place, (column, pairs) in enumerate(ends.items()):
                    values = connection.floats(batch.column(place))
                    kept = _between(values, pairs) if pairs else slice(None)
                    found[column].append(Weighed(values[kept], None if weights is None else weights[kept]))
            return {column: Weighed.joined(found.pop(column), self.weigh is not None) for column in ends}

        columns = [f"v{column}" for column in ends]
        read = rows.select(*columns) if self.weigh is None else self.weigh(rows).select(*columns, "w")
        return connection.folded(read, fold)


def _units(pivots: Sequence[tuple[int, float]], batch: Any) -> list[NDArray[Any]]:
    """Units below each pivot of one of the columns of a batch, and up to it; and rows."""
    units = roomy(connection.integers(batch.column(batch.num_columns - 1)))
    found = np.zeros((4, len(pivots)), object)
    for i, (column, pivot) in enumerate(pivots):
        values = connection.floats(batch.column(column))
        sides = values < pivot, values <= pivot
        found[:2, i] = [int(units[side].sum()) for side in sides]
        found[2:, i] = [int(np.count_nonzero(side)) for side in sides]
    return [found]


def _between(values: Floats, ends: Sequence[Ends]) -> NDArray[np.bool_]:
    """Which values are strictly between two ends, of which one may be left out."""
    found = np.zeros(values.size, bool)
    for low, high in ends:
        found |= (values > (-np.inf if low is None else low)) & (values < (np.inf if high is None else high))
    return found
