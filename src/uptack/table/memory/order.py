"""Order statistics of arrays: by selection where each row has one unit, by search where rows have weights."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.table.exact_sum import Floats, exact_sum
from uptack.table.search import Gap, Order, Piece, PivotCounts, Size, WeightedRows, Window, orders, sum_of_ranks
from uptack.table.unit import Integers, PrivacyUnit, wide

SORTED = 1 << 16
"""Up to so many rows with weights all are sorted, which takes no longer than a sample and two counts."""


class Selection:
    """Numbers that are put in order as far as somebody asked, in place: what is in order stays so.

    It is the fast path of rows with one unit each (a search with weights takes two to three times as long from 10^6
    rows on). A *cut* is a place k with x_i ≤ x_j for all i < k ≤ j. Between two cuts, nothing else moves when ranks in
    between are asked for. So all windows of a column together cost about as much as the first.
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self.values, self._cuts, self._done = values, [0, values.size], list[Window]()

    def order(self, windows: Sequence[Window], unit: PrivacyUnit) -> Order:
        """x(a), ..., x(b) for each window (a, b). NaN comes last."""
        n = self.values.size
        inside = merge_windows([(max(a, 1), min(b, n)) for a, b in windows if a <= n and b >= 1])
        self._sort([(a, b) for a, b in inside if not any(low <= a and b <= high for low, high in self._done)])
        pieces = [Piece(a, b, self.values[a - 1 : b]) for a, b in inside]

        def between(low: float, high: float, before: int, last: int) -> int:
            return exact_sum(self.values[before:last].astype(np.float64, copy=False))

        return Order(n, pieces, between, unit)

    def _sort(self, windows: Sequence[Window]) -> None:
        self._cut(sorted({place for a, b in windows for place in (a - 1, b) if not self._is_in_place(place)}))
        for a, b in windows:
            self.values[a - 1 : b].sort()
        self._done = merge_windows([*self._done, *windows])

    def _is_in_place(self, place: int) -> bool:
        """Whether a place is a cut, or among numbers that are in order."""
        return place in self._cuts or any(a <= place < b for a, b in self._done)

    def _cut(self, places: Sequence[int]) -> None:
        """Make these places cuts, the middle one first. NumPy selects one place eight times faster than two at once."""
        if places:
            middle = len(places) // 2
            after = bisect(self._cuts, places[middle])
            low, high = self._cuts[after - 1], self._cuts[after]
            self.values[low:high].partition(places[middle] - low)
            self._cuts.insert(after, places[middle])
            self._cut(places[:middle])
            self._cut(places[middle + 1 :])


def order_of(values: NDArray[Any], windows: Sequence[Window], unit: PrivacyUnit) -> Order:
    """The order statistics of an array that is left as it is."""
    return Selection(values.copy()).order(windows, unit)


def weighted_order(
    values: NDArray[Any], weights: Integers, n: int, unit: PrivacyUnit, windows: Sequence[Window]
) -> Order:
    """The order statistics of rows with weights. Rows that are NaN have no value."""
    floats = values.astype(np.float64, copy=False)
    if values.dtype.kind == "f" and (gone := np.isnan(floats)).any():
        floats, weights = floats[~gone], weights[~gone]
    theirs = wide(weights, (n + 1) * unit.most)
    size = Size(n, int(theirs.sum()), floats.size)
    return orders(ArrayScans(floats, theirs, unit), unit, {0: size}, windows)[0]


def merge_windows(windows: Sequence[Window]) -> list[Window]:
    """Windows that overlap or touch joined into one."""
    out: list[Window] = []
    for a, b in sorted(windows):
        if out and a <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(b, out[-1][1]))
        else:
            out.append((a, b))
    return out


@dataclass(frozen=True, eq=False)
class ArrayScans:
    """The questions of a search about one array of values and one of weights."""

    values: Floats
    weights: Integers
    unit: PrivacyUnit

    small = SORTED

    @property
    def fetched(self) -> int:
        """So many rows are sorted after a first sample."""
        return max(self.small, self.values.size // 8)

    def sample(self, asked: Mapping[int, tuple[Sequence[Gap], float]]) -> Mapping[int, WeightedRows]:
        """Every so manieth row."""
        ((gaps, part),) = asked.values()
        values, weights = self._inside(gaps)
        step = max(int(1 / part), 1)
        assert weights is not None
        return {0: WeightedRows(values[::step], weights[::step])}

    def count(self, asked: Mapping[int, Sequence[float]]) -> Mapping[int, PivotCounts]:
        """From pivot to pivot: only what is new is added up."""
        found, units, rows, before = PivotCounts([], [], [], []), 0, 0, None
        for pivot in asked[0]:
            under = self.values < pivot if before is None else (self.values < pivot) & (self.values > before)
            tied, before = self.values == pivot, pivot
            found.below.append(units := units + int(self.weights[under].sum()))
            found.rows_below.append(rows := rows + int(np.count_nonzero(under)))
            found.up_to.append(units := units + int(self.weights[tied].sum()))
            found.rows_up_to.append(rows := rows + int(np.count_nonzero(tied)))
        return {0: found}

    def fetch(self, asked: Mapping[int, Sequence[Gap]]) -> Mapping[int, WeightedRows]:
        return {0: self._inside(asked[0])}

    def between(self, column: int, low: float, high: float, before: int, last: int) -> int:
        inside = (self.values > low) & (self.values < high)
        return sum_of_ranks(WeightedRows(self.values[inside], self.weights[inside]).sorted(), before, self.unit)

    def _inside(self, gaps: Sequence[Gap]) -> WeightedRows:
        tests = [gap.test(self.values) for gap in gaps]
        if any(test is None for test in tests):
            return WeightedRows(self.values, self.weights)
        inside = reduce(np.logical_or, tests, np.zeros(self.values.size, bool))
        return WeightedRows(self.values[inside], self.weights[inside])
