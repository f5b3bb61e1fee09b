"""Tables that fit noisy ones, one-way and two-way, and rows that have them. Nothing here sees data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from uptack.synthesis import tuning
from uptack.synthesis.cells import ColumnCells

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Pair = tuple[int, int]

CHUNK = 20_000
"""Rows that are drawn at once. Conditional laws are fitted to as many of them."""
GOLDEN = (5**0.5 - 1) / 2
TINY = 1e-300


def simplex(x: Floats, total: Floats) -> Floats:
    """For each row of x the nearest non-negative one, in least squares, with the given sum."""
    ordered = -np.sort(-x, axis=1)
    excess = (np.cumsum(ordered, axis=1) - total[:, None]) / np.arange(1, x.shape[1] + 1)
    last = np.maximum(np.sum(ordered > excess, axis=1), 1) - 1
    nearest: Floats = np.maximum(x - excess[np.arange(len(x)), last][:, None], 0)
    return nearest


def transport(x: Floats, rows: Floats, columns: Floats, sweeps: int = 40) -> Floats:
    """The nearest non-negative table with both margins: dual ascent, one side at a time."""
    v = np.zeros(len(columns))
    t = x
    for _ in range(sweeps):
        t = simplex(x - v, rows)
        u = np.max(np.where(t > 0, x - v - t, -np.inf), axis=1, initial=-1e300)
        t = simplex((x - u[:, None]).T, columns).T
        v = np.max(np.where(t > 0, x - u[:, None] - t, -np.inf), axis=0, initial=-1e300)
    return t


def rake(t: Floats, rows: Floats, columns: Floats, sweeps: int = 30) -> Floats:
    """The table with these margins that has the odds ratios of t: iterative proportional fitting."""
    for _ in range(sweeps):
        t = t * (rows / np.maximum(t.sum(1), TINY))[:, None]
        t = t * (columns / np.maximum(t.sum(0), TINY))
    return t


def coarse(t: Floats, f: Codes, g: Codes) -> Floats:
    """The table of merged cells: those of one row group, and of one column group, added up."""
    merged: Floats = np.eye(f.max() + 1)[f].T @ t @ np.eye(g.max() + 1)[g]
    return merged


def update(noisy: Floats, sigma: float, model: Floats, f: Codes, g: Codes) -> Floats:
    """The model's table after a noisy measurement of its merged cells; its margins stay.

    The interactions are shrunk to the model's as far as noise explains the difference (James and Stein 1961), and
    projected onto non-negative tables with the model's margins.
    """
    rows, columns, prior = model.sum(1), model.sum(0), coarse(model, f, g)
    gap = noisy - prior
    gap = gap - gap.mean(1)[:, None] - gap.mean(0) + gap.mean()
    free = (gap.shape[0] - 1) * (gap.shape[1] - 1)
    gap *= max(0.0, 1 - free * sigma**2 / max(np.sum(gap**2), 1e-12))
    target = transport(prior + gap, prior.sum(1), prior.sum(0))
    shape = model + 1e-3 * np.outer(rows, columns) / rows.sum()
    fine = shape * (1e-12 + target / np.maximum(coarse(shape, f, g), 1e-12))[np.ix_(f, g)]
    return rake(fine, rows, columns)


def model_tables(margins: Sequence[Floats], tree: Sequence[Pair], tables: Mapping[Pair, Floats]) -> dict[Pair, Floats]:
    """The table of every pair: as measured, or as the tree of measured pairs implies it, or of independent columns."""
    near: dict[int, list[tuple[int, Floats]]] = {a: [] for a in range(len(margins))}
    for a, b in tree:
        near[a].append((b, tables[a, b]))
        near[b].append((a, tables[a, b].T))
    model = {}
    for a in near:
        joint, stack = {a: np.diag(margins[a])}, [a]
        for b in stack:
            for c, t in near[b]:
                if c not in joint:
                    joint[c] = (joint[b] / margins[b]) @ t
                    stack.append(c)
        for b in range(a + 1, len(margins)):
            model[a, b] = joint.get(b, np.outer(margins[a], margins[b]) / margins[b].sum())
    return model | dict(tables)


# ----------------------------------------------------------------------------------------------------------------- rows


def spread(weight: Floats, size: int, rng: np.random.Generator) -> Codes:
    """So many draws with frequencies as even as possible, in random order."""
    bounds = np.cumsum(weight)[:-1] / np.sum(weight)
    even = np.searchsorted(bounds, (np.arange(size) + rng.random()) / max(size, 1), side="right")
    return rng.permutation(even)


def _laws(margin: Floats, factors: Sequence[Floats], codes: Sequence[Codes]) -> Floats:
    """The law of a column given others, for each row: its margin times one factor per parent."""
    out = np.tile(margin, (len(codes[0]), 1))
    for factor, code in zip(factors, codes, strict=True):
        out *= factor[code]
    laws: Floats = out / np.maximum(out.sum(1, keepdims=True), TINY)
    return laws


def _factors(
    margin: Floats, goals: Sequence[Floats], codes: Sequence[Codes], rng: np.random.Generator, sweeps: int = 12
) -> list[Floats]:
    """One factor per parent such that the column has every measured table, given the rows so far: iterative fitting."""
    from scipy import sparse

    some = rng.permutation(len(codes[0]))[:CHUNK]
    distinct, size = np.unique(np.stack([code[some] for code in codes]), axis=1, return_counts=True)
    combinations = list(distinct)
    factors = [np.ones_like(goal) for goal in goals]
    laws = _laws(margin, factors, combinations)
    for _ in range(sweeps if len(goals) > 1 else 1):
        for goal, factor, code in zip(goals, factors, combinations, strict=True):
            here = sparse.csr_matrix((size, (code, np.arange(len(code)))), shape=(len(goal), len(code)))
            wanted = goal * np.bincount(code, size, len(goal))[:, None]
            change = np.clip(wanted / np.maximum(here @ laws, 1e-12), 1e-6, 1e6)
            factor *= change
            laws *= change[code]
            laws /= np.maximum(laws.sum(1, keepdims=True), TINY)
    return factors


def draw(
    margins: Sequence[Floats],
    tree: Sequence[Pair],
    tables: Mapping[Pair, Floats],
    rows: int,
    rng: np.random.Generator,
) -> list[Codes]:
    """Groups of so many rows: along the tree, each column given all earlier ones that it was measured with."""
    near: dict[int, dict[int, Floats]] = {c: {} for c in range(len(margins))}
    for (a, b), t in tables.items():
        near[a][b], near[b][a] = t.T, t
    out: dict[int, Codes] = {}
    while len(out) < len(margins):
        linked = [q if p in out else p for p, q in tree if (p in out) != (q in out)]
        c = linked[0] if linked else min(set(near) - set(out), key=lambda c: (-sum(c in edge for edge in tree), c))
        parents = sorted((p for p in near[c] if p in out), key=lambda p: ((min(c, p), max(c, p)) not in tree, p))
        margin = margins[c] / margins[c].sum()
        if not parents or not rows:
            out[c] = spread(margin, rows, rng)
            continue
        goals = [near[c][p] / np.maximum(near[c][p].sum(1, keepdims=True), TINY) for p in parents]
        factors = _factors(margin, goals, [out[p] for p in parents], rng)
        order = np.lexsort([rng.random(rows), *(out[p] for p in parents[::-1])])
        u = (rng.random() + np.arange(rows) * GOLDEN) % 1  # even over every stretch of similar rows
        drawn = np.empty(rows, np.int64)
        for start in range(0, rows, CHUNK):
            some = order[start : start + CHUNK]
            bounds = np.cumsum(_laws(margin, factors, [out[p][some] for p in parents]), axis=1)
            drawn[some] = np.sum(bounds[:, :-1] <= (u[start : start + CHUNK] * bounds[:, -1])[:, None], axis=1)
        out[c] = drawn
    return [out[c] for c in range(len(margins))]


# ------------------------------------------------------------------------------------------------------- one-way tables


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
