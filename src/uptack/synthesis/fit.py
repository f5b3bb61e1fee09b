"""Tables that fit noisy ones, and rows that have them: arithmetic on released numbers. Nothing here sees data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

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
