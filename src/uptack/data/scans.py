"""Questions about the order of rows as queries: see `uptack.data.ordering`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from uptack.columns.selection import Floats, exact_sum
from uptack.data.places import Counted, Gap, Weighed
from uptack.table.engine import connection
from uptack.table.engine.expressions import number


@dataclass(frozen=True)
class QueryScans:
    """The questions of `uptack.data.asking.Scans` as queries on an expression with one column, v, without nulls."""

    rows: Any

    def counts(self, pivots: Sequence[float]) -> Counted:
        """Rows below and up to each pivot."""
        found = connection.tally(self.rows, at_pivots(self.rows.v, pivots))
        return Counted(found[: len(pivots)], found[len(pivots) :])

    def sample(self, gaps: Sequence[Gap], part: float) -> Weighed:
        """A part of the rows."""
        return Weighed(connection.read(sampled(self.rows, gaps, part)))

    def fetch(self, gaps: Sequence[Gap]) -> Weighed:
        """All rows in the gaps."""
        return Weighed(connection.read(inside(self.rows, gaps)))

    def between(self, low: float, high: float, before: int) -> int:
        """The exact sum of the rows strictly between two values."""
        return int(connection.sums(self.rows.filter(between(self.rows.v, low, high)), exact_total)[0])


def at_pivots(v: Any, pivots: Sequence[float]) -> list[Any]:
    """The conditions that v is below each pivot, and then that it is up to each."""
    ends = [number(pivot) for pivot in pivots]
    return [v < end for end in ends] + [v <= end for end in ends]


def sampled(rows: Any, gaps: Sequence[Gap], part: float) -> Any:
    """A part of the rows in gaps. From the second time on, where there are ends, every row is drawn by itself."""
    first = len(gaps) == 1 and gaps[0].low is None and gaps[0].high is None
    return sample(rows, part) if first else _drawn(inside(rows, gaps), part)


def sample(rows: Any, part: float) -> Any:
    """A part of the rows. DuckDB takes vectors of 2048 rows: poor if they are sorted, but several times faster."""
    return rows.sample(part, method="block") if connection.backend(rows).name == "duckdb" else _drawn(rows, part)


def _drawn(rows: Any, part: float) -> Any:
    """A part of the rows, each drawn by itself."""
    return rows.filter(connection.ibis().random() < part)


def inside(rows: Any, gaps: Sequence[Gap]) -> Any:
    """The rows of an expression that lie in gaps of its column v."""
    conditions = [between(rows.v, gap.low, gap.high) for gap in gaps if (gap.low, gap.high) != (None, None)]
    return rows.filter(functools.reduce(operator.or_, conditions)) if conditions else rows


def between(v: Any, low: float | None, high: float | None) -> Any:
    """The condition that v lies strictly between two values, one of which may be left out."""
    above = None if low is None else v > number(low)
    below = None if high is None else v < number(high)
    return below if above is None else above if below is None else above & below


def exact_total(values: Floats) -> list[int]:
    """The exact sum of a batch."""
    return [exact_sum(values)]
