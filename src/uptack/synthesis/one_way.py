"""The one-way table of a column, fitted to noisy counts of its cells, and groups of cells for two-way tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.synthesis import tuning
from uptack.synthesis.cells import ColumnCells
from uptack.synthesis.fit import simplex, spread

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

LEAST = 1e-6
"""Rows that a group has at least, so that nothing is divided by 0."""


class Margin:
    """How many rows each cell has (`mass`), as far as noise lets one tell.

    Cells that need not exist (tails, gaps, other categories, missing values) are empty unless their counts stand out,
    or those of a run of a tail do. The others are the nearest counts of at least 0 that add up to the number of rows.
    `margin` and `variance` are those of up to 32 groups of cells; pairs improve them (`learn`).
    """

    def __init__(
        self, name: str, cells: ColumnCells, noisy: Floats, variance: Floats, total: float, solid: Codes
    ) -> None:
        """`solid` are cells, beside those of atoms, that are known to hold rows."""
        self.name, self.cells, self.noisy, self.total = name, cells, noisy, total
        self.sigma = float(np.sqrt(variance.max()))
        self.live = self._live(noisy, np.sqrt(variance), solid)
        self.mass = np.zeros(cells.size)
        self.mass[self.live] = simplex(noisy[None, self.live], np.array([total]))[0]
        self._maps = self._groups()
        self.group = self._maps[tuning.SIZES[0]]
        """The group of each cell."""
        self.count = int(self.group.max()) + 1
        first = np.unique(self.group, return_index=True)[1]
        self.coarser = {size: code[first] for size, code in self._maps.items()}
        """Of each group the one that it is merged into, for each number of groups."""
        self.margin = np.maximum(np.bincount(self.group, self.mass, self.count), LEAST)
        self.variance = np.bincount(self.group, np.where(self.live, variance, 0.0), self.count)

    @property
    def empty(self) -> bool:
        """Whether nothing is known of the values of the column: ⊥."""
        return not self.live[: self.cells.inner].any() and (not self.cells.ordered or not self.live[:-1].any())

    def _live(self, noisy: Floats, sigma: Floats, solid: Codes) -> Mask:
        cells = self.cells
        live = (np.arange(cells.size) < cells.inner) | (noisy > tuning.SURE * sigma)
        live[-1] = noisy[-1] > tuning.FAR * sigma[-1]
        possible = cells.possible()
        for tail in cells.tails():
            live[tail] = noisy[tail] > tuning.FAR * sigma[tail]
            tail = tail[possible[tail]]
            run = np.cumsum(noisy[tail]) / np.sqrt(np.cumsum(sigma[tail] ** 2))
            live[tail[: 1 + np.argmax(run)] if run.size else tail] |= bool(run.max(initial=0) > tuning.RUN)
        live[solid] = True
        live &= possible
        if not live.any():  # all rows are others, or missing
            live[cells.inner if possible[cells.inner] and not cells.ordered else -1] = True
        return live

    def _groups(self) -> dict[int, Codes]:
        """Nested groups: the two lightest merge until few are left. Where there is an order, neighbours merge."""
        cells, order = self.cells, self.cells.order()
        absent = [[cells.size - 1]] if self.live[-1] else []
        items = [[int(c)] for c in order if self.live[c]]
        weight = [float(self.mass[item].sum()) for item in items]
        maps = {}
        for groups in tuning.SIZES:
            while len(items) > max(1, groups - len(absent)):
                if cells.ordered:
                    i = int(np.argmin(np.add(weight[:-1], weight[1:])))
                    j = i + 1
                else:
                    i, j = sorted(np.argsort(weight, kind="stable")[:2].tolist())
                items[i] = items[i] + items.pop(j)
                weight[i] += weight.pop(j)
            code = np.full(cells.size, -1)
            for group, members in enumerate(items + absent):
                code[members] = group
            code[order] = _fill_gaps(code[order])  # an empty cell goes with a neighbour
            code[-1] = code[-1] if code[-1] >= 0 else code[np.argmax(self.mass)]
            maps[groups] = np.maximum(code, 0)
        return maps

    def learn(self, f: Codes, sums: Floats, variance: float) -> None:
        """Take the sums of a two-way table, which measure groups of this column too."""
        old, known = np.bincount(f, self.margin), np.bincount(f, self.variance)
        better = old + known / (known + variance) * (sums - old)
        ratio = np.maximum(simplex(better[None], self.margin.sum(keepdims=True))[0], LEAST) / old
        self.margin = self.margin * ratio[f]
        self.variance = self.variance * (1 - self.variance / (known + variance)[f])
        self.mass = self.mass * ratio[f][self.group]

    def spread(self, groups: Codes, rng: np.random.Generator) -> Codes:
        """A cell for each row from its group, with frequencies as even as possible."""
        cells = np.zeros(groups.size, np.int64)
        for group in range(self.count):
            rows, inside = np.flatnonzero(groups == group), np.flatnonzero((self.group == group) & self.live)
            if rows.size:
                cells[rows] = inside[spread(self.mass[inside] + 1e-9, rows.size, rng)]
        return cells


def _fill_gaps(codes: Codes) -> Codes:
    """Codes in their order, with the last one before, or else the first one, in place of -1."""
    at = np.maximum.accumulate(np.where(codes >= 0, np.arange(codes.size), -1))
    first = codes[codes >= 0][:1]
    return np.where(at >= 0, codes[at], first[0] if first.size else -1)
