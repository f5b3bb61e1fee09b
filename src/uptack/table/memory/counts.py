"""Counts of combinations of values, in units, each person's most frequent combinations, and groups of rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from uptack.table.memory.rows import row_weights
from uptack.table.names import group_key
from uptack.table.protocol import GroupedTable, Table, Weights
from uptack.table.unit import Integers, PrivacyUnit, wide

if TYPE_CHECKING:
    from uptack.table.memory.table import MemoryTable

HALF = 16
"""Bits of the lower halves of units, which floats add up exactly."""

Distinct = tuple[Sequence[Hashable], Integers]
"""The values of a column that occur, and each row's place among them."""


def combinations(columns: Sequence[Distinct]) -> tuple[list[tuple[Hashable, ...]], Integers]:
    """The combinations that occur of the values of several columns, in order, and each row's place among them.

    Rows are numbered anew after each column, so that numbers stay below rows².
    """
    if len(columns) == 1:  # which are in order already
        return [(value,) for value in columns[0][0]], columns[0][1]
    cells = np.zeros(len(columns[0][1]), np.int64)
    for distinct, places in columns:
        cells = np.unique(cells * len(distinct) + places, return_inverse=True)[1]
    firsts = np.unique(cells, return_index=True)[1]
    return [tuple(distinct[places[first]] for distinct, places in columns) for first in firsts], cells


def units(cells: Integers, size: int, unit: PrivacyUnit, codes: Integers | None, people: int) -> Integers:
    """The units in each of so many cells, where a row is in no cell if its cell is -1.

    >>> from uptack.table.unit import ROW, U
    >>> cells, whose = np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1])
    >>> (units(cells, 3, PrivacyUnit(("id",), "people"), whose, 2) / U).round(3)
    array([0.667, 0.333, 1.   ])
    >>> units(cells, 3, PrivacyUnit(("id",), "any", 1), whose, 2), units(cells, 3, ROW, None, 4)
    (array([1, 0, 1]), array([2, 1, 1]))
    """
    inside = cells >= 0
    if unit.share == "any":
        assert codes is not None
        assert unit.at_most is not None, "how many cells of a person count is not chosen yet"
        mine = favourites(cells[inside], codes[inside], unit.at_most)[1]
        return np.bincount(mine, minlength=size).astype(np.int64)
    weights = row_weights(unit, codes, people)
    return sum_units(cells[inside], None if weights is None else weights[inside], size)


def sum_units(cells: Integers, weights: Weights, size: int) -> Integers:
    """Σ weights in each cell, exactly: their halves are added as floats, which hold 2^36 of them."""
    if weights is None:
        return np.bincount(cells, minlength=size).astype(np.int64)
    high = np.bincount(cells, weights=weights >> HALF, minlength=size).astype(np.int64)
    low = np.bincount(cells, weights=weights & ((1 << HALF) - 1), minlength=size).astype(np.int64)
    return (wide(high, (int(high.max(initial=0)) + 1) << HALF) << HALF) + low


def favourites(cells: Integers, codes: Integers, at_most: int) -> tuple[Integers, Integers]:
    """Pairs of a person and a cell with most of her rows, up to so many cells of each: the first ones of several.

    >>> favourites(np.array([2, 1, 1, 2, 5]), np.array([0, 0, 0, 0, 3]), 1)
    (array([0, 3]), array([1, 5]))
    """
    order = np.lexsort((cells, codes))
    code, cell = codes[order], cells[order]
    starts = np.flatnonzero(np.append(True, (code[1:] != code[:-1]) | (cell[1:] != cell[:-1]))[: code.size])
    rows = np.diff(np.append(starts, code.size))
    code, cell = code[starts], cell[starts]
    best = np.lexsort((cell, -rows, code))
    first = np.flatnonzero(np.append(True, code[best][1:] != code[best][:-1])[: code.size])
    place = np.arange(code.size) - np.repeat(first, np.diff(np.append(first, code.size)))
    chosen = best[place < at_most]
    return code[chosen], cell[chosen]


def cells_per_person(cells: Integers, codes: Integers) -> Integers:
    """At k how many people have rows in k cells. Rows whose cell is -1 are in none.

    >>> cells_per_person(np.array([2, 1, 1, -1, 5]), np.array([0, 0, 0, 1, 3])).tolist()
    [0, 1, 1]
    """
    inside = cells >= 0
    people, _ = favourites(cells[inside], codes[inside], inside.size)
    return np.bincount(np.bincount(people)[np.unique(people)]).astype(np.int64)


def capped_sum(rows: Integers, most: int) -> int:
    """Σ min(rows of a person, most)."""
    return int(np.minimum(rows, most).sum())


# ------------------------------------------------------------------------------------------------------------- groups


class MemoryGroups(GroupedTable):
    """A table in memory by the values of columns."""

    table: MemoryTable

    @cached_property
    def _cells(self) -> tuple[list[Hashable], Integers]:
        """The groups that occur, and the number of each row's group; -1 for rows of other groups and hidden ones."""
        keys, cells = combinations([self.table.field(name).codes() for name in self.by])
        groups: list[Hashable] = list(keys) if len(self.by) > 1 else [key for (key,) in keys]
        hidden = np.ones(cells.size, bool)
        hidden[self.table.present] = False
        cells = np.where(hidden, -1, cells)
        if self.only is not None:
            wanted = {group_key(group, self.kinds) for group in self.only}
            known = np.array([group_key(group, self.kinds) in wanted for group in groups], bool)
            cells = np.where((cells >= 0) & np.append(known, False)[cells], cells, -1)
        return groups, cells

    @cached_property
    def _parts(self) -> dict[tuple[Hashable, ...], Integers]:
        """The rows of each group that occurs, in the order of the table; of people those in their own groups."""
        groups, cells = self._cells
        rows, whose = np.flatnonzero(cells >= 0), self.table.codes
        if whose is not None:
            people, chosen = favourites(cells[rows], whose[rows], self.at_most)
            rows = rows[np.isin(whose[rows] * len(groups) + cells[rows], people * len(groups) + chosen)]
        rows = rows[np.argsort(cells[rows], kind="stable")]
        parts = np.split(rows, np.cumsum(np.bincount(cells[rows], minlength=len(groups)))[:-1])
        return {group_key(group, self.kinds): part for group, part in zip(groups, parts, strict=False) if part.size}

    def per_person(self) -> Integers:
        cells = self._cells[1]
        assert self.table.codes is not None
        return cells_per_person(cells, self.table.codes)

    def sizes(self, unit: PrivacyUnit | None = None) -> tuple[list[Hashable], Integers]:
        groups, cells = self._cells
        rows, whose = np.flatnonzero(cells >= 0), self.table.codes
        codes = None if whose is None else whose[rows]
        found = units(cells[rows], len(groups), unit or self.unit, codes, self.table.people)
        there = np.flatnonzero(found)  # a group of hidden rows alone is none
        return [groups[i] for i in there], found[there]

    def part(self, group: Hashable) -> Table:
        rows = self._parts.get(group_key(group, self.kinds))
        return self.nothing() if rows is None else self.table.part(rows)
