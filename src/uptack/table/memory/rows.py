"""Rows in memory: the values of columns, whose they are, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.table.exact_sum import Floats
from uptack.table.memory.order import Selection, order_of, weighted_order
from uptack.table.protocol import Additive, Keys, Of, Weights
from uptack.table.search import Order, Window
from uptack.table.unit import Integers, PrivacyUnit, wide
from uptack.table.values.kinds import LARGEST

BATCH = 1 << 16
"""Rows at a time: a column of them stays in the cache."""


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """Values of columns, each as it is held, and whose each row is; `kept` are the places of the rows in the table.

    `codes` are those of all `size` people, of whom some may have no row here; None where rows are their own. `held` are
    columns that several questions put in order together.
    """

    values: Sequence[NDArray[Any]]
    unit: PrivacyUnit
    size: int
    codes: Integers | None = None
    kept: Integers | None = None
    held: Sequence[Selection] = field(default=(), repr=False)

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
        """The units of each row."""
        if self.codes is None or not self.unit.weighted:
            return None
        found: Integers = self.unit.weights(np.maximum(self.m, 1))[self.codes]
        return found

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
        """By selection; where rows have weights, by search."""
        if self.weights is not None:
            return weighted_order(self.values[column], self.weights, self.n, self.unit, windows)
        if self.held:
            return self.held[column].order(windows, self.unit)
        return order_of(self.values[column], windows, self.unit)

    @cached_property
    def lines(self) -> Floats:
        """One line per column, as floats."""
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
