"""What a synthetic table asks of the rows: one count of values per column, and one of all pairs of columns.

Everything that is seen of the answers passes through `RhoBudget`. The course of the rounds follows from what it has
released.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.synthesis.cells import ColumnCells, Values, is_ordered, keys_of, multiples, numbers, numbers_of, steps
from uptack.synthesis.fit import Pair, coarse, implied, rake, updated
from uptack.synthesis.noisy_counts import Counts, RhoBudget, short
from uptack.synthesis.one_way import SIZES, Margin
from uptack.table.protocol import Column, Columns

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

COARSER = 0.05
"""The share of rows that a finer step must explain to be chosen."""
LEVELS = range(12, 65, 2)
"""Leading bits of a float that may make a bucket."""
PARTS = 4
"""Bits by which a frequent bucket is split, at most, into parts of at least so many standard deviations."""
ROUNDS = 4
"""Rounds that are planned, per edge of a tree."""
PICK = Fraction(1, 10)
"""The share of a round that chooses the pair, as in AIM (McKenna, Mullins, Sheldon and Miklau 2022)."""
TAX = 0.4
"""What a measured cell costs, in expected absolute errors: shrinkage and projection remove the rest."""


@dataclass(frozen=True)
class Shares:
    """The ρ of each step for one column, and the failure of each list of frequent keys."""

    values: Fraction
    level: Fraction
    buckets: Fraction
    cells: Fraction
    failure: Fraction


def summed(codes: Codes, units: Counts, size: int) -> Counts:
    """The units in each of so many cells."""
    total = np.zeros(size, units.dtype)
    np.add.at(total, codes, units)
    return total


# ----------------------------------------------------------------------------------------------------------- one column


def measured_column(
    column: Column, levels: Sequence[Hashable] | None, total: float, budget: RhoBudget, shares: Shares
) -> Margin:
    """The one-way table of a column of about `total` rows. Listed levels are public."""
    counted = column.table.counts([column])
    labels, units = [key for (key,) in counted.keys], counted.units
    solid, first = np.empty(0, np.int64), None
    if levels is not None:
        cells = ColumnCells.of_categories(column.kind, levels)
    elif is_ordered(column.kind):
        cells, solid, first = _partition(column, labels, units, total, budget, shares)
    else:
        there = [i for i, label in enumerate(labels) if label is not None]
        atoms, first = budget.frequent([labels[i] for i in there], units[there], shares.values, shares.failure)
        cells = ColumnCells.of_categories(column.kind, atoms)
    noisy = budget.counts(summed(cells.encode(labels), units, cells.size), shares.cells)
    variance = np.full(cells.size, budget.sigma(shares.cells) ** 2)
    if first is not None:  # an atom was counted twice; near the cutoff the first count is biased
        far = budget.cutoff(shares.values, shares.failure) / budget.step + 2 * budget.sigma(shares.values)
        sure, weight = np.flatnonzero(first > far), float(shares.values / (shares.values + shares.cells))
        noisy[sure] += weight * (first[sure] - noisy[sure])
        variance[sure] *= 1 - weight
    return Margin(column.name, cells, noisy, variance, total, cells.inner + solid)


def _partition(
    column: Column, labels: Sequence[Hashable], units: Counts, total: float, budget: RhoBudget, shares: Shares
) -> tuple[ColumnCells, Codes, Floats]:
    """Cells of numbers: frequent values, then buckets of leading bits for the rest. Also the intervals that are known
    to hold rows, and the noisy counts of the atoms."""
    every, there = numbers(labels, column.kind)
    x, places = np.unique(every[there], return_inverse=True)
    units, gone = summed(places, units[there], x.size), units[~there].sum()
    known: tuple[list[Any], Floats] = budget.frequent(
        [*x.tolist(), None], np.append(units, gone), shares.values, shares.failure
    )
    present = [i for i, key in enumerate(known[0]) if key is not None]
    atoms = np.array([known[0][i] for i in present], x.dtype)
    first, rest = known[1][present], total - float(known[1].sum())
    step = _step(column, x, units, total, budget, shares.level / 2)
    edges, shift, prefixes = np.empty(0), 0, list[int]()
    if rest * budget.step >= budget.cutoff(shares.buckets, shares.failure):  # else no bucket would pass
        others = ~np.isin(x, atoms)
        edges, shift, prefixes = _buckets(x[others], units[others], rest, budget, shares)
    cells = ColumnCells.of_numbers(column.kind, atoms, edges, step)
    if not prefixes:
        return cells, np.empty(0, np.int64), first
    inside = np.isin(keys_of(cells.edges[:-1]) >> np.uint64(shift), np.array(prefixes, np.uint64))
    return cells, 1 + np.flatnonzero(inside), first


def _step(column: Column, x: Values, units: Counts, total: float, budget: RhoBudget, rho: Fraction) -> float | None:
    """The step that nearly all values are multiples of. The units that are not move by at most those of a person."""
    choices = steps(column.kind, column.form)
    if len(choices) == 1:
        return choices[0]
    finer = math.floor(COARSER * total * budget.step)
    scores = [-int(units[~multiples(x, step)].sum()) - finer * place for place, step in enumerate(choices)]
    return choices[budget.choose(scores, budget.most, rho)]


def _buckets(x: Values, units: Counts, rest: float, budget: RhoBudget, shares: Shares) -> tuple[Floats, int, list[int]]:
    """Edges of frequent buckets and of their parts, how many bits are cut off, and the buckets.

    At the right level half of the units are among the first of their bucket that the cutoff takes. Σ min(c, cutoff)
    over buckets moves by at most the units of a person who is added, removed or replaced.
    """
    keys, least = keys_of(x), budget.cutoff(shares.buckets, shares.failure)
    half, scores = math.floor(rest * budget.step / 2), []
    for level in LEVELS:
        counts = _runs(keys >> np.uint64(64 - level), units)[1]
        scores.append(-abs(int(np.minimum(counts, least).sum()) - half))
    shift = 64 - LEVELS[budget.choose(scores, budget.most, shares.level / 2)]
    prefixes, counts = _runs(keys >> np.uint64(shift), units)
    shown, noisy = budget.frequent([int(p) for p in prefixes], counts, shares.buckets, shares.failure)
    ends, sigma = set[int](), budget.sigma(shares.cells)
    for prefix, count in zip(shown, noisy, strict=True):
        bits = min(shift, PARTS, max(0, int(math.log2(max(count / (4 * sigma), 1)))))
        ends |= {(prefix << shift) + (i << shift - bits) for i in range(2**bits + 1)}
    edges = numbers_of(np.array(sorted(end for end in ends if end < 1 << 64), np.uint64))
    return edges[np.isfinite(edges)], shift, shown


def _runs(keys: NDArray[np.uint64], units: Counts) -> tuple[NDArray[np.uint64], Counts]:
    """The different ones of keys in order, and the units of each."""
    distinct, starts = np.unique(keys, return_index=True)
    return distinct, np.add.reduceat(units, starts) if starts.size else units


# --------------------------------------------------------------------------------------------------------------- pairs


@dataclass(frozen=True, eq=False)
class MeasuredPair:
    """A noisy two-way table of two columns, whose groups were merged by f and g."""

    pair: Pair
    f: Codes
    g: Codes
    noisy: Floats
    sigma: float


@dataclass(frozen=True, eq=False)
class TwoWay:
    """Fitted tables of the measured pairs, the tree of those that first linked two columns, and the measurements."""

    tables: dict[Pair, Floats]
    tree: list[Pair]
    measured: list[MeasuredPair]


def _pair_tables(columns: Columns, margins: Sequence[Margin]) -> dict[Pair, Counts]:
    """The two-way tables of all pairs, in units, by one question."""
    pairs = list(itertools.combinations(range(len(margins)), 2))
    shapes = {(a, b): (margins[a].count, margins[b].count) for a, b in pairs}

    def place(*fields: Any) -> Iterator[Codes]:
        codes = []
        for margin, field in zip(margins, fields, strict=True):
            labels, rows = field.codes()
            codes.append(margin.group[margin.cells.encode(labels)][rows])
        return (codes[a] * margins[b].count + codes[b] for a, b in pairs)

    size = max(math.prod(shape) for shape in shapes.values())
    found = columns.table.cells(columns, place, size)  # type: ignore[arg-type]
    return {pair: found[i, : math.prod(shape)].reshape(shape) for i, (pair, shape) in enumerate(shapes.items())}


def _candidates(margins: Sequence[Margin]) -> list[tuple[Pair, Codes, Codes]]:
    """Every pair at every resolution, each once."""
    found = {}
    for a, b in itertools.combinations(range(len(margins)), 2):
        for size in SIZES:
            f, g = margins[a].coarser[size], margins[b].coarser[size]
            if f.max() > 0 and g.max() > 0:
                found[a, b, int(f.max()), int(g.max())] = (a, b), f, g
    return list(found.values())


def measured_pairs(columns: Columns, margins: Sequence[Margin], budget: RhoBudget) -> TwoWay:
    """Rounds until ρ is spent: choose the pair and the resolution that the model misses most, measure, fit.

    A candidate's score is the ℓ1 distance of its true table from the model's, which is public and rounded to units,
    less what noise would add. It moves as the true table does. To stop has the score 0; it makes the next rounds four
    times as dear, so that nothing is measured that noise would drown.
    """
    d = len(margins)
    fit, part = TwoWay({}, [], []), list(range(d))
    candidates = _candidates(margins)
    if not candidates or not budget.left:
        return fit
    true = _pair_tables(columns, margins)
    truths = [
        summed((f[:, None] * (g.max() + 1) + g).ravel(), true[pair].ravel(), int((f.max() + 1) * (g.max() + 1)))
        for pair, f, g in candidates
    ]
    price = budget.left / (ROUNDS * max(d - 1, 1))
    while budget.left > budget.rho / 10**9:
        last = price > Fraction(3, 5) * budget.left
        price = budget.left if last else short(price)
        pick = short(price * PICK)
        sigma = budget.sigma(price - pick)
        model = implied([margin.margin for margin in margins], fit.tree, fit.tables)
        tax = TAX * math.sqrt(2 / math.pi) * sigma * budget.step
        scores = []
        for (pair, f, g), truth in zip(candidates, truths, strict=True):
            expected = np.rint(coarse(model[pair], f, g) * budget.step).astype(np.int64).ravel()
            scores.append(int(np.abs(truth - expected).sum()) - math.ceil(tax * truth.size))
        best = budget.choose([*scores, 0], budget.distance, pick)
        if best == len(candidates):
            if last:
                break
            price *= 4
            continue
        (a, b), f, g = candidates[best]
        shape = int(f.max()) + 1, int(g.max()) + 1
        noisy = budget.counts(truths[best].reshape(shape), price - pick)
        fit.measured.append(MeasuredPair((a, b), f, g, noisy, sigma))
        margins[a].learn(f, noisy.sum(1), sigma**2 * shape[1])
        margins[b].learn(g, noisy.sum(0), sigma**2 * shape[0])
        prior = rake(model[a, b], margins[a].margin, margins[b].margin)
        fit.tables[a, b] = updated(noisy, sigma, prior, f, g)
        for p, q in fit.tables:
            if {a, b} & {p, q}:
                fit.tables[p, q] = rake(fit.tables[p, q], margins[p].margin, margins[q].margin)
        if part[a] != part[b]:
            fit.tree.append((a, b))
            part = [part[a] if one == part[b] else one for one in part]
    return fit
