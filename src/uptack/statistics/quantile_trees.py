"""Several or many quantiles of a column, by a chain or by a tree of chains: `uptack.mechanisms.quantile_chain`.

Rows become candidates without ties: each row by itself falls into a public cell of candidates (`Cells`), and random
digits of its own give it a place there (`WindowRows`). Only rows near the ranks are read; other rows of the same cell
are only counted.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.exact import bisect
from uptack.mechanisms.inverse_sensitivity import VECTOR_LATTICES, round_to
from uptack.mechanisms.quantile_chain import FEW, Tree
from uptack.noise import MachineNumbers
from uptack.privacy import loss
from uptack.reach.l_statistics import Floats, quantile_rank
from uptack.release import Advice
from uptack.statistics.column_options import Question, least_n
from uptack.table.memory.rows import merge_windows
from uptack.table.protocol import Column

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """Candidates, cut into public cells that are numbered by integers: a float has no successor (2^53 + 1 is 2^53).

    Candidates are lattice points with so many binary digits behind them.

    Cell k holds the numbers from `bounds(k)` to below `bounds(k + 1)`, and as many candidates as lie between.

    Without a granularity there is one cell a lattice point: from its own number to below the next one.

    With a granularity g cell k holds what is nearest to k·g, as long as the lattice has two points or more to g. From
    some public magnitude on it has not; there, on both sides, each lattice point has its cell again. So a cell always
    has all candidates of a lattice point or more, and tied rows can be distinguished.

    **Theorem.** Each row's cell is a function of its own value that keeps order: k is the largest with bounds(k) ≤ x,
    and bounds rise. *Proof.* (k - 1/2)·g is computed in floats for |k| < 2^50 only, since a lattice of 2^54 points or
    fewer has no more than 2^50 between 0 and the turn: an error below g/8. ∎ Numbers beyond the lattice are in its
    first or last cell, the largest floats and ±inf among them.
    """

    lattice: MachineNumbers
    digits: int
    granularity: Fraction | None = None

    @staticmethod
    def offered(n: int, fewer: int = 0) -> list[Cells]:
        """From fine to coarse, with enough digits to distinguish n tied rows, or so many fewer, within 62 bits.

        n must be public. With d digits fewer up to about 2^(d + 1) tied rows share a candidate.
        """
        digits = max(8, min(n.bit_length() - 1, 40) - fewer)
        return [cells for lattice in VECTOR_LATTICES if (cells := Cells(lattice, digits)).size < 1 << 62]

    @property
    def size(self) -> int:
        return self.lattice.size << self.digits

    def values(self, candidates: Sequence[int]) -> Floats:
        return self.lattice.values((np.array(candidates) >> self.digits) - self.lattice.top)

    @cached_property
    def _step(self) -> float:
        return 0.0 if self.granularity is None else float(self.granularity)

    @cached_property
    def _turn(self) -> int:
        """The ordinal of the lattice from which on cells are those of lattice points."""
        return 0 if self.granularity is None else self.lattice.coarse_from(self.granularity / 2)

    @cached_property
    def _last(self) -> int | None:
        """The last cell of the granularity; None where there is none. It reaches up to the turn, and is a wide one."""
        if self.granularity is None:
            return None
        last = math.floor(Fraction(self.lattice.value(self._turn)) / self.granularity) - 1
        return last if last >= 1 else None

    def keys(self, x: Floats) -> Integers:
        ordinals = self.lattice.floors(x)
        if self._last is None:
            return ordinals
        largest = self.lattice.value(self._turn)
        near = np.rint(np.clip(x, -largest, largest) / self._step)  # off by at most one
        near += (self._middle(near + 1) <= x).astype(np.float64) - (self._middle(near) > x)
        inner = np.clip(near, -self._last, self._last).astype(np.int64)
        below, above = ordinals + self._turn - self._last, ordinals - self._turn + self._last + 1
        return np.where(ordinals < -self._turn, below, np.where(ordinals >= self._turn, above, inner))

    def key_of(self, candidate: int) -> int:
        """The cell that a candidate belongs to: that of its own number, since cells start at lattice points."""
        return int(self.keys(self.values([candidate]))[0])

    def bounds(self, keys: Integers) -> Floats:
        """The least number of each cell: -inf for the first of all, and +inf past the last."""
        top, (inner, ordinals) = self.lattice.top, self._outer(keys)
        values = self.lattice.values(np.clip(ordinals, -top, top))
        outer = np.where(ordinals <= -top, -np.inf, np.where(ordinals > top, np.inf, values))
        return np.where(inner, self._middle(keys), outer)

    def starts(self, keys: Integers) -> Integers:
        inner, ordinals = self._outer(keys)
        own = self.lattice.ceils(np.where(inner, self._middle(keys), 0.0))
        starts: Integers = (np.where(inner, own, ordinals) + self.lattice.top) << self.digits
        return starts

    def _middle(self, keys: NDArray[Any]) -> Floats:
        """(k - 1/2)·g: halfway between two multiples of the granularity."""
        halves: Floats = (keys - 0.5) * self._step
        return halves

    def _outer(self, keys: Integers) -> tuple[NDArray[np.bool_], Integers]:
        """Whether cells start at a multiple of the granularity and a half; and where not, at which lattice point."""
        if self._last is None:
            return np.zeros(keys.shape, bool), keys
        inner = (keys > -self._last) & (keys <= self._last)
        return inner, np.where(keys > 0, keys - self._last - 1 + self._turn, keys + self._last - self._turn)


BITS = 40
"""Random bits per row."""


class WindowRows:
    """The n least rows of a column as candidates, in their order, around the ranks revealed so far.

    If there are fewer rows, the others are at the end of all candidates. A row keeps its place in all windows: a row
    that two windows placed differently would move the counts of one and not of the other, and the theorem of
    `uptack.mechanisms.quantile_chain` needs one table.

    **Theorem.** The places have the law of this: put each row into its cell, at the place that random digits of its own
    choose among the cell's candidates; sort. *Proof.* A row's cell keeps the order of rows, and cells don't overlap, so
    the rows of one cell have consecutive ranks. Their digits are independent of everything else, so it is the same to
    draw the digits of all rows of a cell and sort them. A cell that may reach beyond a window is counted, by comparing
    rows with the two bounds of the cell, and its digits are drawn once for all windows; any other cell is drawn where
    it is, in the one window that has it. ∎
    """

    def __init__(self, data: Column, n: int, cells: Cells, account: Account) -> None:
        self.n, self._rows = n, min(n, data.count())  # the public number of rows may be above the true one, or below
        self._data, self._cells, self._account = data, cells, account
        self._cell_digits: dict[int, Integers] = {}
        self._cell_counts: dict[int, tuple[int, int]] = {}
        self._windows: list[tuple[int, Integers]] = []

    @property
    def size(self) -> int:
        return self._cells.size

    def reveal(self, windows: Sequence[tuple[int, int]]) -> None:
        """Read the rows of these ranks, (first, last) with both ends: one selection, and one pass to count ties.

        If that is most of the rows, all are read: sorting is then no more work.
        """
        new = self._unread([(max(a, 1), min(b, self._rows)) for a, b in windows])
        if 2 * sum(b - a + 1 for a, b in new) > self._rows:
            new = self._unread([(1, self._rows)])
        if not new:
            return
        selected = self._data.order(new)
        keys = [self._cells.keys(selected.at(np.arange(a, b + 1))) for a, b in new]
        self._count({int(k[end]) for k in keys for end in (0, -1)})
        read = [(a, self._window_candidates(a, k)) for (a, _), k in zip(new, keys, strict=True)]
        self._windows = _join_windows([*self._windows, *read])

    def places(self, ranks: Integers) -> Integers:
        """The candidates at which rows of these ranks lie, each from 1 to n and inside the windows so far."""
        starts = np.array([a for a, _ in self._windows], np.int64)
        out = np.full(ranks.size, self.size, np.int64)
        window = np.searchsorted(starts, ranks, side="right") - 1
        for k in np.unique(window[ranks <= self._rows]).tolist():
            a, known = self._windows[k]
            here = (window == k) & (ranks <= self._rows)
            out[here] = known[ranks[here] - a]
        return out

    def up_to(self, candidate: int) -> int:
        """The number of the n rows at this candidate or below."""
        key = self._cells.key_of(candidate)
        self._count({key})
        before, inside = self._cell_counts[key]
        ranks = (before + 1, min(before + inside, self._rows))
        seen = key not in self._cell_digits and not self._unread([ranks])  # drawn where it is, in a window
        if seen:
            placed = self.places(np.arange(ranks[0], ranks[1] + 1))
        else:
            digits = self._digits(key)
            placed = self._candidates(np.full(digits.size, key, np.int64), digits)
        return min(before + int(np.searchsorted(placed, candidate, side="right")), self._rows)

    def _unread(self, windows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """The parts of these windows that have not been read yet, in pieces that don't touch."""
        pieces: list[tuple[int, int]] = []
        for a, b in sorted(windows):
            start = a if not pieces else max(a, pieces[-1][1] + 1)
            for known, rows in self._windows:
                if known <= start < known + rows.size:
                    start = known + rows.size
                elif start < known <= b:
                    pieces.append((start, known - 1))
                    start = known + rows.size
            if start <= b:
                pieces.append((start, b))
        return merge_windows(pieces)

    def _count(self, keys: set[int]) -> None:
        """Count the rows in cells below each of these, and in it: one pass."""
        ordered = np.array(sorted(keys - self._cell_counts.keys()), np.int64)
        if not ordered.size:
            return
        bounds = np.concatenate((self._cells.bounds(ordered), self._cells.bounds(ordered + 1)))
        order = np.argsort(bounds, kind="stable")
        counts = np.empty(bounds.size, np.int64)
        counts[order] = self._data.sum(functools.partial(below, bounds=bounds[order].tolist()))
        pairs = zip(ordered.tolist(), counts[: ordered.size].tolist(), counts[ordered.size :].tolist(), strict=True)
        self._cell_counts |= {key: (before, up_to - before) for key, before, up_to in pairs}

    def _window_candidates(self, first: int, keys: Integers) -> Integers:
        """The rows from this rank on, with their cells, as candidates in their order."""
        digits, own = np.zeros(keys.size, np.int64), np.ones(keys.size, bool)
        for key in {int(keys[0]), int(keys[-1])} | self._cell_digits.keys():  # which may reach beyond the window
            low, high = (int(np.searchsorted(keys, key, side)) for side in ("left", "right"))
            start = first - 1 + low - self._cell_counts[key][0]
            if low < high:
                digits[low:high], own[low:high] = self._digits(key)[start : start + high - low], False
        digits[own] = self._new_digits(keys[own])
        return np.sort(self._candidates(keys, digits))

    def _candidates(self, keys: Integers, digits: Integers) -> Integers:
        """Cells don't overlap, so sorting these sorts rows by their cells and then by their digits."""
        cells, which = np.unique(keys, return_inverse=True)
        starts = self._cells.starts(cells)
        return starts[which] + _share(digits, (self._cells.starts(cells + 1) - starts)[which])

    def _digits(self, key: int) -> Integers:
        """The digits of all rows in a cell, in their order; drawn once."""
        if key not in self._cell_digits:
            self._cell_digits[key] = np.sort(self._new_digits(np.full(self._cell_counts[key][1], key)))
        return self._cell_digits[key]

    def _new_digits(self, keys: Integers) -> Integers:
        return self._account.toss(lambda entropy: entropy.digits(1 << BITS, keys))


def _join_windows(known: list[tuple[int, Integers]]) -> list[tuple[int, Integers]]:
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
    if len(bounds) <= 64:  # faster than a search
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


def tree_quantiles(data: Column, n: int, ranks: Sequence[int], question: Question) -> Floats | None:
    """The order statistics of increasing ranks, for all the ε of a question.

    None if n is too small for them, which is public. Each tier has bounded range; all together have not.
    """
    chosen = plan_tree(n, ranks, question.epsilon, question.rows)
    if chosen is None:
        return None
    cells, tree = replace(chosen[0], granularity=question.granularity), chosen[1]
    paid = question.pay(tree_loss(tree))
    values = cells.values(tree.draw(WindowRows(data, n, cells, paid), paid))
    return np.array([round_to(v, question.granularity) for v in values.tolist()])


def tree_loss(tree: Tree) -> loss.Loss:
    """The composed loss of the tiers of a tree."""
    tiers = tuple(loss.BoundedRange(tier.epsilon) for tier in tree.tiers)
    return tiers[0] if len(tiers) == 1 else loss.Composed(tiers)


def plan_tree(n: int, ranks: Sequence[int], epsilon: Fraction, rows_per_person: int) -> tuple[Cells, Tree] | None:
    """The finest candidates that n allows, and the tree over them; None if n is too small for the coarsest."""
    few = len(ranks) <= FEW  # windows of a tree can hold 2^5 tied rows, and its values need the bits
    offered = Cells.offered(n, 0 if few else 4)

    def over(cells: Cells, depth: int | None) -> Tree | None:
        slack = max(4, 2 + 2 * (n >> cells.digits))  # rows with the same digits, twice, and the two ends
        tree = Tree.of(ranks, n, cells.size, epsilon, rows_per_person, slack, depth)
        return tree if tree.fits(strict=few) else None

    for depth in (1, 2) if few else (None,):
        if offered and over(offered[-1], depth) is not None:
            trees = ((cells, over(cells, depth)) for cells in offered)
            return next((cells, tree) for cells, tree in trees if tree is not None)
    return None


def advice(other: Advice, n: int, levels: Sequence[Fraction], epsilon: Fraction, rows_per_person: int) -> Advice:
    """The n, and the ε, that guarantee a reply, unless the advice of boxes asks for less."""

    def fits(size: int, eps: Fraction) -> bool:
        return plan_tree(size, [quantile_rank(p, size) for p in levels], eps, rows_per_person) is not None

    enough = least_n(lambda size: fits(size, epsilon))
    if other.n is not None and other.n <= enough:
        return other
    factor = next((k for k in range(1, 41) if fits(n, epsilon * 2**k)), None)
    if factor is None:
        return replace(other, n=enough)
    _, more = bisect(lambda eps: fits(n, eps), epsilon * 2 ** (factor - 1), epsilon * 2**factor, halvings=10)
    return Advice(n=enough, epsilon=min(math.ceil(float(1000 * more)) / 1000, other.epsilon or math.inf))
