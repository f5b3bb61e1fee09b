"""Rows in memory: the values of columns, whose they are, and what is asked of them.

Order statistics are found by selection where each row has one unit, and by search where rows have weights.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.table.exact_sum import Floats, exact_sum
from uptack.table.protocol import Additive, Keys, Of, Weights
from uptack.table.search import Gap, Order, Piece, PivotCounts, Size, WeightedRows, Window, orders, sum_of_ranks
from uptack.table.unit import Integers, PrivacyUnit, wide
from uptack.table.values.kinds import LARGEST

BATCH = 1 << 16
"""Rows at a time: a column of them stays in the cache."""


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """Values of columns, each as it is held, and whose each row is; `kept` are the places of the rows in the table.

    `codes` are those of all `size` people, of whom some may have no row here; None where rows are their own.
    """

    values: Sequence[NDArray[Any]]
    unit: PrivacyUnit
    size: int
    codes: Integers | None = None
    kept: Integers | None = None
    _selections: dict[int, Selection] = field(default_factory=dict, repr=False)

    @property
    def width(self) -> int:
        return len(self.values)

    @property
    def _rows(self) -> int:
        return int(self.values[0].size)

    @cached_property
    def m(self) -> Integers:
        """How many rows each of all people has."""
        assert self.codes is not None
        return np.bincount(self.codes, minlength=self.size)

    @cached_property
    def weights(self) -> Weights:
        return row_weights(self.unit, self.codes, self.size)

    @property
    def n(self) -> int:
        """The number of rows, or of those who have one; with a cap, of people's worth of rows."""
        if self.codes is None:
            return self._rows
        if self.unit.at_most is None:
            return int(np.count_nonzero(self.m))
        assert self.weights is not None
        return int(self.unit.ranks(int(wide(self.weights, (self.size + 1) * self.unit.most).sum())))

    def lacking(self) -> bool:
        return self.kept is not None

    # ------------------------------------------------------------------------------------------------- order and sums

    def order(self, column: int, windows: Sequence[Window]) -> Order:
        """By selection, which questions of the same column share; where rows have weights, by search."""
        if self.weights is not None:
            return weighted_order(self.values[column], self.weights, self.n, self.unit, windows)
        if column not in self._selections:
            self._selections[column] = Selection(self.values[column].copy())
        return self._selections[column].order(windows, self.unit)

    @cached_property
    def lines(self) -> Floats:
        if self.width == 1:
            return self.values[0].astype(np.float64, copy=False)[None]
        return np.array([line.astype(np.float64, copy=False) for line in self.values])

    @cached_property
    def _alike(self) -> tuple[Floats, Weights]:
        """The rows in the order of their weights, and these."""
        return (self.lines, None) if self.weights is None else by_weight(self.lines, self.weights)

    def sum(self, f: Additive) -> list[Any]:
        """Σ f over batches that fit the cache."""
        lines, weights = self._alike
        starts = range(0, max(lines.shape[1], 1), BATCH)
        cuts = (slice(start, start + BATCH) for start in starts)
        parts = (f(lines[:, cut], None if weights is None else weights[cut]) for cut in cuts)
        return [sum(entries[1:], start=entries[0]) for entries in zip(*parts, strict=True)]

    def person_means(self, f: Callable[[Floats], Floats]) -> Floats:
        """Each person's weighted mean of f over her rows, which are added in the order of their size."""
        assert self.codes is not None
        order = np.argsort(self.values[0])  # so that sums don't depend on the order of the table
        terms = f(self.values[0][order].astype(np.float64))
        sums = np.bincount(self.codes[order], weights=terms, minlength=self.size)
        each: Floats = sums / np.maximum(self.m, self.unit.at_most or 1)
        return each[self.m > 0]

    # ------------------------------------------------------------------------------------------------- pairs and blocks

    def pick(self, places: Integers, key: Keys, of: Of) -> tuple[Integers, Floats]:
        if self.codes is None:
            at = places
            if of == "all" and self.kept is not None:
                among = np.full(self.size, -1)  # rows that were left out are nowhere
                among[self.kept] = np.arange(self.kept.size)
                at = among[places]
            found = np.flatnonzero(at >= 0)
            return found, np.take(self.lines, at[found], axis=1)
        slot = np.full(self.size, -1)
        slot[np.flatnonzero(self.m)[places] if of == "complete" else places] = np.arange(places.size)
        slots = slot[self.codes]
        wanted = np.flatnonzero(slots >= 0)
        slots, rows = slots[wanted], np.take(self.lines, wanted, axis=1)
        found, _, picked = least(slots, key(slots, rows), rows)
        return found, picked

    def deal(self, slots: Integers, size: int, parts: int, of: Of) -> Iterator[tuple[Integers, Floats]]:
        if self.codes is None:
            each = slots if of == "complete" or self.kept is None else slots[self.kept]
        else:
            whose = np.cumsum(self.m > 0) - 1 if of == "complete" else np.arange(self.size)
            each = slots[whose[self.codes]]
        order, ends = by_part(each, size, parts)
        for rows in np.split(order, ends)[1:]:
            yield each[rows], np.take(self.lines, rows, axis=1)

    def in_memory(self) -> MemoryRows:
        return self


def row_weights(unit: PrivacyUnit, codes: Integers | None, people: int) -> Weights:
    """The units of each row, whose person is `codes` of so many people; None where each row has one."""
    if codes is None or not unit.weighted:
        return None
    each: Integers = unit.weights(np.maximum(np.bincount(codes, minlength=people), 1))[codes]
    return each


def by_weight(rows: Floats, weights: Integers) -> tuple[Floats, Integers]:
    """The rows in the order of their weights, and these."""
    each = np.unique(weights)
    place = np.searchsorted(each, weights).astype(np.min_scalar_type(each.size))  # small numbers are sorted in one pass
    order = np.argsort(place, kind="stable")
    return np.take(rows, order, axis=1), weights[order].astype(np.int64)


def least(slots: Integers, keys: NDArray[np.uint64], rows: Floats) -> tuple[Integers, NDArray[np.uint64], Floats]:
    """Of the rows in each slot the one with the least key; of several the least row. So their order does not matter."""
    order = np.lexsort((keys, slots))
    first = np.flatnonzero(np.diff(slots[order], prepend=-1))
    ties = order[keys[order] == np.repeat(keys[order[first]], np.diff(first, append=order.size))]
    if ties.size > first.size:
        ties = ties[np.lexsort((*rows[::-1, ties], slots[ties]))]
        ties = ties[np.flatnonzero(np.diff(slots[ties], prepend=-1))]
    return slots[ties], keys[ties], np.take(rows, ties, axis=1)


def by_part(slots: Integers, size: int, parts: int) -> tuple[Integers, Integers]:
    """Rows in the order of their parts, and where each part begins. First come those that are left out."""
    part = np.maximum(slots // size, -1).astype(np.int16)  # small numbers are sorted in one pass
    order = np.argsort(part, kind="stable")
    return order, np.searchsorted(part[order], np.arange(parts))


def person_numbers(
    values: NDArray[Any], codes: Integers, people: int, how: str, order: Integers | None
) -> NDArray[Any]:
    """One number of each person who has a row, in the order of codes; `order` says which of her rows is the last.

    Her rows are added in the order of their size, so that the table's order has no say.
    """
    m = np.bincount(codes, minlength=people)
    there = m > 0
    if how == "count":
        return m[there]
    if how in ("mean", "sum"):
        floats = values.astype(np.float64)
        turn = np.argsort(floats, kind="stable")
        sums = np.bincount(codes[turn], weights=floats[turn], minlength=people)[there]
        return np.clip(sums / m[there] if how == "mean" else sums, -LARGEST, LARGEST)
    rows = np.lexsort((values, codes) if order is None else (values, order, codes))
    ends, m = np.cumsum(m)[there], m[there]
    place = {"min": ends - m, "median": ends - m + (m - 1) // 2}.get(how, ends - 1)
    picked: NDArray[Any] = values[rows[place]]
    return picked


# --------------------------------------------------------------------------------------------------- order statistics

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
