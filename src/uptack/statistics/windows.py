"""The rows around several ranks as candidates without ties: what a chain of quantiles looks at.

Each row is changed by itself, with randomness of its own: it falls into a cell (`uptack.statistics.cells`), and there
random digits give it a place among the cell's candidates. They tell tied rows apart. Only the rows near the ranks are
looked at; of others in the same cell it is enough to know how many there are.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from uptack.columns import Column
from uptack.noise import Entropy
from uptack.reach.protocol import Floats
from uptack.statistics.cells import Candidates, Cells, Integers

BITS = 40
"""Random bits a row."""


class Windows:
    """The rows around several ranks of one column, each row with the same digits in whichever window it is seen.

    That matters: a row that two windows placed differently would move the counts of one and not of the other, and the
    theorem of `uptack.mechanisms.joint` asks for a run of coordinates that move together.

    **Theorem.** The edges have the law of this: put each row into its cell, at the place that random digits of its own
    choose among the cell's candidates; sort; take the ranks of the windows. *Proof.* A row's cell keeps the order of
    rows, and cells don't overlap, so the rows of one cell have consecutive ranks. Their digits are independent of
    everything else, so it is the same to draw the digits of all rows of a cell and sort them. A cell that may reach
    beyond a window is counted, by comparing rows with the two bounds of the cell, and its digits are drawn once for all
    windows; any other cell is drawn where it is. ∎
    """

    def __init__(
        self,
        data: Column,
        windows: Sequence[range],
        candidates: Candidates,
        granularity: Fraction | None,
        entropy: Entropy,
    ) -> None:
        self._data, self._cells, self._entropy = data, Cells(candidates, granularity), entropy
        self._shared: dict[int, Integers] = {}
        selected, keys = data.ordered([(w.start, w.stop - 1) for w in windows]), []
        for ranks in windows:
            last = min(ranks.stop - 1, data.size)  # the public number of rows may be above the true one
            keys.append(self._cells.keys(selected.at(np.arange(ranks.start, last + 1))))
        self._counted = self._counts({int(k[end]) for k in keys if k.size for end in (0, -1)})
        self.edges = tuple(self._edges(w, k) for w, k in zip(windows, keys, strict=True))

    def _counts(self, keys: set[int]) -> dict[int, tuple[int, int]]:
        """How many rows of the column lie in cells below each of these, and how many in it: one pass."""
        ordered = np.array(sorted(keys), np.int64)
        bounds = [*self._cells.bounds(ordered).tolist(), *self._cells.bounds(ordered + 1).tolist()]
        found = self._data.sums(functools.partial(_below, bounds=bounds))
        pairs = zip(found[: ordered.size], found[ordered.size :], strict=True)
        return {key: (below, up_to - below) for key, (below, up_to) in zip(ordered.tolist(), pairs, strict=True)}

    def _edges(self, ranks: range, keys: Integers) -> tuple[int, ...]:
        """The rows of these ranks as candidates in their order; past the last row, the end of the candidates."""
        digits, ends = np.zeros(keys.size, np.int64), np.unique(keys[[0, -1]] if keys.size else keys)
        inside = ~np.isin(keys, ends)
        digits[inside] = self._drawn(keys[inside])
        for key in ends.tolist():  # rows in this cell may lie outside the window
            first, last = (int(np.searchsorted(keys, key, side)) for side in ("left", "right"))
            start = ranks.start - 1 + first - self._counted[key][0]
            digits[first:last] = self._digits(key)[start : start + last - first]
        digits = digits[np.lexsort((digits, keys))]
        starts = self._cells.starts(keys)
        places = starts + _share(digits, self._cells.starts(keys + 1) - starts)
        return (*places.tolist(), *[self._cells.candidates.size] * (len(ranks) - keys.size))

    def _digits(self, key: int) -> Integers:
        """The digits of all rows in a cell, in their order; drawn once."""
        if key not in self._shared:
            self._shared[key] = np.sort(self._drawn(np.full(self._counted[key][1], key)))
        return self._shared[key]

    def _drawn(self, keys: Integers) -> Integers:
        """New digits for rows in these cells, whichever they are."""
        return self._entropy.integers(1 << BITS, keys.size)


def _below(x: Floats, bounds: Sequence[float]) -> list[int]:
    """How many of these rows lie below each bound."""
    return [int(np.count_nonzero(x < bound)) for bound in bounds]


def _share(digits: Integers, widths: Integers) -> Integers:
    """⌊digits·width/2^BITS⌋ for widths below 2^62: in three parts of the width, since the product may not fit."""
    half = BITS // 2
    low, middle, high = widths & ((1 << half) - 1), (widths >> half) & ((1 << half) - 1), widths >> BITS
    shares: Integers = digits * high + ((digits * middle + (digits * low >> half)) >> half)
    return shares
