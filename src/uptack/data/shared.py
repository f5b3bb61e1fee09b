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
from uptack.data import engines
from uptack.data.ordering import Count, Fetch, Sample, Scans
from uptack.data.places import Counted, Weighed
from uptack.data.scans import at_pivots, between, sample

Ends = tuple[float | None, float | None]


@dataclass(frozen=True)
class SharedScans:
    """The questions of `uptack.data.ordering.Together`, of an expression with columns v0, v1, ... without nulls.

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
        rows = self.rows if self.weigh is None else self.weigh(self.rows)
        conditions = [one for column, ask in asked.items() for one in at_pivots(rows[f"v{column}"], ask.pivots)]
        counts = [iter(engines.tally(rows, conditions))] if self.weigh is None else _weighed(rows, conditions)
        return {
            column: Counted(*([next(one) for _ in ask.pivots] for one in counts for _ in ("below", "up to")))
            for column, ask in asked.items()
        }

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
                weights = None if self.weigh is None else engines.integers(batch.column(len(ends)))
                for place, (column, pairs) in enumerate(ends.items()):
                    values = engines.floats(batch.column(place))
                    kept = _between(values, pairs) if pairs else slice(None)
                    found[column].append(Weighed(values[kept], None if weights is None else weights[kept]))
            return {column: Weighed.joined(parts, self.weigh is not None) for column, parts in found.items()}

        columns = [f"v{column}" for column in ends]
        read = rows.select(*columns) if self.weigh is None else self.weigh(rows).select(*columns, "w")
        return engines.folded(read, fold)


def _weighed(rows: Any, conditions: Sequence[Any]) -> list[Iterator[int]]:
    """The units of the rows that meet each condition, and how many these are, in one scan."""
    if not conditions:
        return [iter(()), iter(())]
    units = {f"u{i}": rows.w.sum(where=one) for i, one in enumerate(conditions)}
    counts = {f"c{i}": rows.count(where=one) for i, one in enumerate(conditions)}
    (line,) = engines.whole(rows.aggregate(**units, **counts))
    return [(int(line[name] or 0) for name in names) for names in (units, counts)]


def _between(values: Floats, ends: Sequence[Ends]) -> NDArray[np.bool_]:
    """Which values are strictly between two ends, of which one may be left out."""
    found = np.zeros(values.size, bool)
    for low, high in ends:
        found |= (values > (-np.inf if low is None else low)) & (values < (np.inf if high is None else high))
    return found
