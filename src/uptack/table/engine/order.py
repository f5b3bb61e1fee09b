"""Order statistics of rows that stay where they are: the questions of a search as queries, one for all columns."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from uptack.table import search
from uptack.table.engine import connection
from uptack.table.engine.expressions import float_literal, unit_sums, unit_total
from uptack.table.exact_sum import exact_sum
from uptack.table.search import Gap, PivotCounts, WeightedRows, sum_of_ranks
from uptack.table.unit import PrivacyUnit, roomy

if TYPE_CHECKING:
    from uptack.table.engine.rows import Weigh

SIDES = (operator.lt, operator.le)


@dataclass(frozen=True, eq=False)
class QueryScans:
    """The questions of a search (`Scans`) about columns v0, v1, ... without nulls; `weigh` adds the weights w."""

    rows: Any
    unit: PrivacyUnit
    weigh: Weigh | None = None
    small: int = field(default_factory=lambda: search.SMALL)
    fetched: int = field(default_factory=lambda: search.FETCHED)

    def sample(self, asked: Mapping[int, tuple[Sequence[Gap], float]]) -> Mapping[int, WeightedRows]:
        """The first sample is one of rows, for all columns; later ones, which are rare, are of other rows for each.

        DuckDB takes vectors of 2048 rows at first: poor if they are sorted, but several times faster. From the second
        time on every row is drawn by itself.
        """
        gaps = {column: several for column, (several, _) in asked.items()}
        if all(gap.low is None and gap.high is None for several in gaps.values() for gap in several):
            part = max(part for _, part in asked.values())
            block = connection.backend(self.rows).name == "duckdb"
            return self._read(self.rows.sample(part, method="block") if block else _random_rows(self.rows, part), gaps)
        found = dict[int, WeightedRows]()
        for column, (several, part) in asked.items():
            some = {column: several}
            found |= self._read(_random_rows(self._inside(some), part), some)
        return found

    def count(self, asked: Mapping[int, Sequence[float]]) -> Mapping[int, PivotCounts]:
        """All pivots of all columns in one scan.

        The engine counts rows. It adds up units where they are of one column. Those of several are added up here, or on
        the executors of Spark: conditional sums of many columns take an engine several times as long.
        """
        if self.weigh is not None and len(asked) == 1:
            return {column: self._column_counts(self.weigh, column, pivots) for column, pivots in asked.items()}
        pivots = [(f"v{column}", pivot) for column, some in asked.items() for pivot in some]
        if self.weigh is None:
            tests = [side(self.rows[name], float_literal(pivot)) for side in SIDES for name, pivot in pivots]
            counted = connection.count_conditions(self.rows, tests)
            lines = [counted[: len(pivots)], counted[len(pivots) :]] * 2
        elif pivots:
            names = list(dict.fromkeys(name for name, _ in pivots))
            read = functools.partial(_units, [(names.index(name), pivot) for name, pivot in pivots])
            rows, nothing = self.weigh(self.rows).select(*names, "w"), [np.zeros((4, len(pivots)), object)]
            lines = connection.batch_sums(rows, read, nothing)[0].tolist()
        else:
            lines = [[]] * 4
        found, start = dict[int, PivotCounts](), 0
        for column, some in asked.items():
            found[column] = PivotCounts(*(line[start : start + len(some)] for line in lines))
            start += len(some)
        return found

    def _column_counts(self, weigh: Weigh, column: int, pivots: Sequence[float]) -> PivotCounts:
        """The same of one column: one scan of the rows up to the largest pivot.

        Pivots p0 < p1 < ... cut rows into parts 0 (v < p0), 1 (v = p0), 2 (p0 < v < p1), 3 (v = p1), ...
        """
        if not pivots:
            return PivotCounts([], [], [], [])
        ends, v = sorted(set(pivots)), f"v{column}"
        rows = weigh(self.rows.filter(self.rows[v] <= float_literal(ends[-1])))
        sides = [side(rows[v], float_literal(end)) for end in ends for side in SIDES]
        part = connection.ibis().cases(*((side, i) for i, side in enumerate(sides)))
        parts = rows.group_by(part=part.cast("int16")).aggregate(rows=rows.count(), **unit_sums(rows.w))
        found = np.zeros((2, 2 * len(ends)), object)
        for line in connection.result_rows(parts):
            found[:, int(line["part"])] = unit_total(line), int(line["rows"])
        sums, order = np.cumsum(found, axis=1), [ends.index(pivot) for pivot in pivots]
        theirs, many = ([[int(side[2 * i + up_to]) for i in order] for up_to in (0, 1)] for side in sums)
        return PivotCounts(*theirs, *many)

    def fetch(self, asked: Mapping[int, Sequence[Gap]]) -> Mapping[int, WeightedRows]:
        """The rows that lie in a gap of one of the columns, in one scan. Of them each column keeps its own."""
        return self._read(self._inside(asked), asked)

    def between(self, column: int, low: float, high: float, before: int, last: int) -> int:
        """Σ x(r) strictly between two values, batch by batch; sorted by the engine if rows have weights."""
        v, gap = f"v{column}", Gap(low, high, 0, 0, 0)
        rows = self._inside({column: [gap]})
        if self.weigh is None:
            return int(connection.batch_sums(rows.select(v), _exact_total, [0])[0])
        unit = self.unit

        def add(batches: Iterator[Any]) -> int:
            total, up_to = 0, before
            for batch in batches:
                weights = connection.integers(batch.column(1))
                total += sum_of_ranks(WeightedRows(connection.floats(batch.column(0)), weights), up_to, unit)
                up_to += int(roomy(weights).sum())
            return total

        return connection.fold_batches(self.weigh(rows).select(v, "w").order_by(v), add)

    def _inside(self, asked: Mapping[int, Sequence[Gap]]) -> Any:
        """The rows that lie in a gap of one of the columns."""
        tests = [gap.test(self.rows[f"v{column}"], float_literal) for column, gaps in asked.items() for gap in gaps]
        everywhere = any(test is None for test in tests)
        return self.rows if everywhere else self.rows.filter(functools.reduce(operator.or_, tests))

    def _read(self, rows: Any, asked: Mapping[int, Sequence[Gap]]) -> dict[int, WeightedRows]:
        """Of each column its values that are in its gaps."""
        columns, weighed = [f"v{column}" for column in asked], self.weigh is not None
        read = rows.select(*columns) if self.weigh is None else self.weigh(rows).select(*columns, "w")

        def fold(parts: Iterator[Any]) -> dict[int, WeightedRows]:
            found = {column: ([np.empty(0)], [np.empty(0, np.int64)]) for column in asked}
            for batch in parts:
                weights = connection.integers(batch.column(len(columns))) if weighed else None
                for place, (column, gaps) in enumerate(asked.items()):
                    values = connection.floats(batch.column(place))
                    tests = [gap.test(values) for gap in gaps]
                    kept: Any = slice(None)
                    if not any(test is None for test in tests):
                        kept = functools.reduce(operator.or_, tests)
                    found[column][0].append(values[kept])
                    if weights is not None:
                        found[column][1].append(weights[kept])
            made = dict[int, WeightedRows]()
            for column in asked:
                parted = found.pop(column)
                made[column] = WeightedRows(np.concatenate(parted[0]), np.concatenate(parted[1]) if weighed else None)
            return made

        return connection.fold_batches(read, fold)


def _random_rows(rows: Any, part: float) -> Any:
    """A part of the rows, each drawn by itself."""
    return rows.filter(connection.ibis().random() < part)


def _exact_total(batch: Any) -> list[int]:
    """The exact sum of a batch."""
    return [exact_sum(connection.floats(batch.column(0)))]


def _units(pivots: Sequence[tuple[int, float]], batch: Any) -> list[NDArray[Any]]:
    """Units below each pivot of one of the columns of a batch, and up to it; and rows."""
    weights = roomy(connection.integers(batch.column(batch.num_columns - 1)))
    found = np.zeros((4, len(pivots)), object)
    for i, (column, pivot) in enumerate(pivots):
        values = connection.floats(batch.column(column))
        sides = values < pivot, values <= pivot
        found[:2, i] = [int(weights[side].sum()) for side in sides]
        found[2:, i] = [int(np.count_nonzero(side)) for side in sides]
    return [found]
