"""The rows around some ranks as candidates without ties: what chains and trees of quantiles look at.

Each row is changed by itself, with randomness of its own: it falls into a cell (`uptack.statistics.quantile_cells`),
and there random digits give it a place among the cell's candidates. They tell tied rows apart. Only the rows near the
ranks are looked at; of others in the same cell it is enough to know how many there are.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.reach.protocol import Floats
from uptack.statistics.quantile_cells import Candidates, Cells, Integers
from uptack.table.protocol import Column

BITS = 40
"""Random bits per row."""

FEW = 64
"""Up to so many bounds it is faster to compare all rows with each of them."""


class WindowRows:
    """The n least rows of a column as candidates, in their order, around the ranks that have been asked for so far.

    Where there are fewer, the others are at the end of all candidates. A row keeps its place: whoever asks for it
    again, from whichever window, finds the same. That matters: a row that two windows placed differently would move
    the counts of one and not of the other, and the theorem of `uptack.mechanisms.quantile_chain` asks for one table.

    **Theorem.** The places have the law of this: put each row into its cell, at the place that random digits of its own
    choose among the cell's candidates; sort. *Proof.* A row's cell keeps the order of rows, and cells don't overlap, so
    the rows of one cell have consecutive ranks. Their digits are independent of everything else, so it is the same to
    draw the digits of all rows of a cell and sort them. A cell that may reach beyond a window is counted, by comparing
    rows with the two bounds of the cell, and its digits are drawn once for all windows; any other cell is drawn where
    it is, in the one window that has it. ∎
    """

    def __init__(
        self, data: Column, n: int, candidates: Candidates, granularity: Fraction | None, account: Account
    ) -> None:
        self.n, self._present = n, min(n, data.count())  # the public number of rows may be above the true one, or below
        self._data, self._cells, self._account = data, Cells(candidates, granularity), account
        self._shared: dict[int, Integers] = {}
        self._counted: dict[int, tuple[int, int]] = {}
        self._known: list[tuple[int, Integers]] = []

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return self._cells.candidates.size

    def reveal(self, windows: Sequence[tuple[int, int]]) -> None:
        """Look at the rows of these ranks, (first, last) with both ends. One selection, and one pass to count ties.

        Where that is most of the rows it is all of them: sorting is then no more work.
        """
        asked = self._unknown([(max(a, 1), min(b, self._present)) for a, b in windows])
        if 2 * sum(b - a + 1 for a, b in asked) > self._present:
            asked = self._unknown([(1, self._present)])
        if not asked:
            return
        selected = self._data.order(asked)
        keys = [self._cells.keys(selected.at(np.arange(a, b + 1))) for a, b in asked]
        self._count({int(k[end]) for k in keys for end in (0, -1)})
        self._known = _joined([*self._known, *((a, self._placed(a, k)) for (a, _), k in zip(asked, keys, strict=True))])

    def places(self, ranks: Integers) -> Integers:
        """The candidates at which rows of these ranks lie, each from 1 to n and inside the windows so far."""
        starts = np.array([a for a, _ in self._known], np.int64)
        out = np.full(ranks.size, self.size, np.int64)
        window = np.searchsorted(starts, ranks, side="right") - 1
        for k in np.unique(window[ranks <= self._present]).tolist():
            a, known = self._known[k]
            here = (window == k) & (ranks <= self._present)
            out[here] = known[ranks[here] - a]
        return out

    def up_to(self, candidate: int) -> int:
        """How many of the n rows lie at this candidate or below, wherever it is."""
        key = self._cells.key_of(candidate)
        self._count({key})
        before, inside = self._counted[key]
        ranks = (before + 1, min(before + inside, self._present))
        seen = key not in self._shared and not self._unknown([ranks])  # drawn where it is, in a window
        placed = self.places(np.arange(ranks[0], ranks[1] + 1)) if seen else self._placed_in(key)
        return min(before + int(np.searchsorted(placed, candidate, side="right")), self._present)

    def _unknown(self, windows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """What of these windows has not been looked at yet, in pieces that don't touch."""
        pieces: list[tuple[int, int]] = []
        for a, b in sorted(windows):
            start = a if not pieces else max(a, pieces[-1][1] + 1)
            for known, rows in self._known:
                if known <= start < known + rows.size:
                    start = known + rows.size
                elif start < known <= b:
                    pieces.append((start, known - 1))
                    start = known + rows.size
            if start <= b:
                pieces.append((start, b))
        return _merged(pieces)

    def _count(self, keys: set[int]) -> None:
        """How many rows of the column lie in cells below each of these, and how many in it: one pass."""
        ordered = np.array(sorted(keys - self._counted.keys()), np.int64)
        if not ordered.size:
            return
        bounds = np.concatenate((self._cells.bounds(ordered), self._cells.bounds(ordered + 1)))
        order = np.argsort(bounds, kind="stable")
        found = np.empty(bounds.size, np.int64)
        found[order] = self._data.sum(functools.partial(below, bounds=bounds[order].tolist()))
        pairs = zip(ordered.tolist(), found[: ordered.size].tolist(), found[ordered.size :].tolist(), strict=True)
        self._counted |= {key: (before, up_to - before) for key, before, up_to in pairs}

    def _placed(self, first: int, keys: Integers) -> Integers:
        """The rows from this rank on, with their cells, as candidates in their order."""
        digits, own = np.zeros(keys.size, np.int64), np.ones(keys.size, bool)
        for key in {int(keys[0]), int(keys[-1])} | self._shared.keys():  # rows in this cell may lie outside the window
            low, high = (int(np.searchsorted(keys, key, side)) for side in ("left", "right"))
            start = first - 1 + low - self._counted[key][0]
            if low < high:
                digits[low:high], own[low:high] = self._digits(key)[start : start + high - low], False
        digits[own] = self._drawn(keys[own])
        return np.sort(self._candidates(keys, digits))

    def _placed_in(self, key: int) -> Integers:
        """All rows of a cell as candidates in their order."""
        digits = self._digits(key)
        return self._candidates(np.full(digits.size, key, np.int64), digits)

    def _candidates(self, keys: Integers, digits: Integers) -> Integers:
        """Cells don't overlap, so sorting these sorts rows by their cells and then by their digits."""
        cells, which = np.unique(keys, return_inverse=True)
        starts = self._cells.starts(cells)
        return starts[which] + _share(digits, (self._cells.starts(cells + 1) - starts)[which])

    def _digits(self, key: int) -> Integers:
        """The digits of all rows in a cell, in their order; drawn once."""
        if key not in self._shared:
            self._shared[key] = np.sort(self._drawn(np.full(self._counted[key][1], key)))
        return self._shared[key]

    def _drawn(self, keys: Integers) -> Integers:
        """New digits for rows in these cells, whichever they are."""
        return self._account.toss(lambda entropy: entropy.digits(1 << BITS, keys))


def _merged(pieces: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for a, b in pieces:
        out[-1:] = [(out[-1][0], b)] if out and out[-1][1] + 1 == a else [*out[-1:], (a, b)]
    return out


def _joined(known: list[tuple[int, Integers]]) -> list[tuple[int, Integers]]:
    """Windows in their order, those that touch as one."""
    groups: list[list[tuple[int, Integers]]] = []
    for a, rows in sorted(known, key=lambda window: window[0]):
        if groups and groups[-1][-1][0] + groups[-1][-1][1].size == a:
            groups[-1].append((a, rows))
        else:
            groups.append([(a, rows)])
    return [group[0] if len(group) == 1 else (group[0][0], np.concatenate([r for _, r in group])) for group in groups]


def below(x: Floats, bounds: Sequence[float]) -> list[int]:
    """How many of these rows lie below each of some increasing bounds."""
    if len(bounds) <= FEW:
        return [int(np.count_nonzero(x < bound)) for bound in bounds]
    passed = np.bincount(np.searchsorted(np.array(bounds), x, side="right"), minlength=len(bounds) + 1)
    counts: list[int] = np.cumsum(passed)[:-1].tolist()
    return counts


def _share(digits: Integers, widths: Integers) -> Integers:
    """⌊digits·width/2^BITS⌋ for widths below 2^62: in three parts of the width, since the product may not fit."""
    half = BITS // 2
    low, middle, high = widths & ((1 << half) - 1), (widths >> half) & ((1 << half) - 1), widths >> BITS
    shares: Integers = digits * high + ((digits * middle + (digits * low >> half)) >> half)
    return shares
