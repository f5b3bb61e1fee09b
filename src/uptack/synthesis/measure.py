"""What a synthetic table asks of the rows: the common values of each column, and three scans of all of them.

Everything that is seen of the answers passes through `RhoBudget`. The course of the rounds follows from what it has
released.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.synthesis import tuning
from uptack.synthesis.cells import (
    ColumnCells,
    Values,
    is_ordered,
    keys_of,
    multiples,
    numbers,
    numbers_of,
    row_numbers,
    steps,
)
from uptack.synthesis.fit import Margin, Pair, coarse, model_tables, rake, update
from uptack.synthesis.noisy_counts import KEYS, Counts, RhoBudget, short
from uptack.table.memory.counts import sum_units
from uptack.table.protocol import Column, Columns, Weights
from uptack.table.values.entrance import Field

LEVELS = range(12, 65, 2)
"""Leading bits of a float that may make a bucket: from sign and exponent alone to all of them."""

Keys = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class BucketCounts:
    """The units of buckets of `level` leading bits, each of them with some, in order.

    With S(level) = Σ min(units, least) over buckets, `level` is the finest with S < most, or the coarsest of all.
    **Lemma.** It does not depend on how rows come in batches. *Proof.* S does not grow where buckets are merged, since
    min(a + b, t) ≤ min(a, t) + min(b, t), and does not shrink where rows are added. So if some of the rows are too many
    at a level, all of them are; and a sum is merged until it is not too many. ∎
    A bucket of rows has at least one unit, so a sum has fewer than `most` of them.
    """

    keys: Keys
    units: Counts
    level: int
    least: int
    most: int | None

    @staticmethod
    def of(x: Values, units: Counts, level: int, least: int, most: int | None) -> BucketCounts:
        keys, sums = _runs(keys_of(x) >> np.uint64(64 - level), units)
        return BucketCounts(keys, sums, level, least, most).few()

    def __add__(self, other: BucketCounts) -> BucketCounts:
        level = min(self.level, other.level)
        (a, m), (b, k) = self.at(level), other.at(level)
        return BucketCounts(*_runs(np.r_[a, b], np.r_[m, k]), level, self.least, self.most).few()

    def at(self, level: int) -> tuple[Keys, Counts]:
        shift = np.uint64(self.level - level)
        return (self.keys, self.units) if not shift else _runs(self.keys >> shift, self.units)

    def few(self) -> BucketCounts:
        """The same at a level where they are not too many."""
        one = self
        while one.most is not None and one.level > LEVELS[0] and one.capped_sum(one.level) >= one.most:
            level = one.level - LEVELS.step
            one = BucketCounts(*one.at(level), level, one.least, one.most)
        return one

    def capped_sum(self, level: int) -> int:
        """min(S, most) at any level."""
        if level > self.level:
            assert self.most is not None, "finer buckets are known unless they were too many"
            return self.most
        found = int(np.minimum(self.at(level)[1], self.least).sum())
        return found if self.most is None else min(found, self.most)


def _runs(keys: Keys, units: Counts) -> tuple[Keys, Counts]:
    """The different ones of keys in order, and the units of each."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: keys.size])
    return ordered[starts], np.add.reduceat(units[order], starts) if starts.size else units[:0]


@dataclass(frozen=True)
class NumberScan:
    """What a scan finds of a column: for each of some steps the units of rows that are no multiples of it, and, given
    the cutoff of buckets, those of all numbers but the atoms."""

    atoms: Values
    steps: tuple[float | None, ...]
    least: int | None
    most: int | None
    finest: int = LEVELS[-1]

    def __call__(self, field: Field, weights: Weights) -> list[Any]:
        x, there = row_numbers(field)
        units = np.ones(x.size, np.int64) if weights is None else weights.astype(object)
        x, units = x[there], units[there]
        off = np.array([units[~multiples(x, step)].sum() for step in self.steps], units.dtype)
        if self.least is None:
            return [off, 0]
        others = ~np.isin(x, self.atoms)
        return [off, BucketCounts.of(x[others], units[others], self.finest, self.least, self.most)]


def scan_numbers(fields: Sequence[Field], weights: Weights, scans: Sequence[NumberScan]) -> list[Any]:
    """What one scan finds of several columns, of a batch of rows."""
    return [sums for one, field in zip(scans, fields, strict=True) for sums in one(field, weights)]


Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Shares:
    """The ρ of each step for one column, and the failure of each list of frequent keys."""

    values: Fraction
    level: Fraction
    buckets: Fraction
    cells: Fraction
    failure: Fraction


def tally(codes: Codes, weights: Weights, size: int) -> Counts:
    """The units in each of so many cells, of one batch. With weights they are integers without a largest."""
    counts = sum_units(codes, weights, size)
    return counts if weights is None else counts.astype(object)


# -------------------------------------------------------------------------------------------------------------- columns


def measure_columns(
    columns: Columns, levels: Mapping[str, Sequence[Hashable]], total: float, budget: RhoBudget, shares: Shares
) -> list[Margin]:
    """The one-way tables of columns of about `total` rows. Listed levels are public.

    One query per column asks for its common values, one scan for decimals and buckets of all columns of numbers, and
    one for the cells of all columns.
    """
    table, floor = columns.table, budget.floor(total)
    found: list[CellPartition | None] = []
    for column in columns:
        if column.name in levels:
            found.append(CellPartition(ColumnCells.of_categories(column.kind, levels[column.name])))
        elif is_ordered(column.kind):
            found.append(None)
        else:
            labels, units = table.common(column, floor)
            there = [i for i, label in enumerate(labels) if label is not None]
            atoms, first = budget.frequent(
                [labels[i] for i in there], units[there], shares.values, shares.failure, floor
            )
            found.append(CellPartition(ColumnCells.of_categories(column.kind, atoms), first))
    ordered = Columns(column for column, one in zip(columns, found, strict=True) if one is None)
    made = iter(_partitions(ordered, total, floor, budget, shares))
    partitions = [next(made) if one is None else one for one in found]
    counted = table.field_sums(columns, partial(count_cells, cells=[one.cells for one in partitions]))
    margins = []
    for column, one, units in zip(columns, partitions, counted, strict=True):
        noisy = budget.counts(units, shares.cells)
        variance = np.full(units.size, budget.sigma(shares.cells) ** 2)
        if one.first is not None:  # an atom was counted twice; near the cutoff the first count is biased
            cutoff = budget.cutoff(shares.values, shares.failure, floor) / budget.step
            far = cutoff + tuning.UNBIASED * budget.sigma(shares.values)
            sure, weight = np.flatnonzero(one.first > far), float(shares.values / (shares.values + shares.cells))
            noisy[sure] += weight * (one.first[sure] - noisy[sure])
            variance[sure] *= 1 - weight
        margins.append(Margin(column.name, one.cells, noisy, variance, total, one.cells.inner + one.solid))
    return margins


@dataclass(frozen=True, eq=False)
class CellPartition:
    """The cells of a column, noisy counts of its atoms, and which intervals are known to hold rows."""

    cells: ColumnCells
    first: Floats | None = None
    solid: Codes = field(default_factory=lambda: np.empty(0, np.int64))


def count_cells(fields: Sequence[Field], weights: Weights, cells: Sequence[ColumnCells]) -> list[Any]:
    """The units in each cell of each column, of a batch of rows."""
    return [tally(one.encode(rows), weights, one.size) for one, rows in zip(cells, fields, strict=True)]


def _partitions(
    columns: Columns, total: float, floor: int, budget: RhoBudget, shares: Shares
) -> Iterator[CellPartition]:
    """Cells of numbers: frequent values, then buckets of leading bits for the rest."""
    if not columns:
        return
    atoms, first, scans = [], [], []
    least, most = budget.cutoff(shares.buckets, shares.failure), KEYS * budget.step
    rests = []
    for column in columns:
        labels, units = columns.table.common(column, floor)
        known, noisy = budget.frequent(labels, units, shares.values, shares.failure, floor)
        values, there = numbers(known, column.kind)
        distinct, places = np.unique(values[there], return_inverse=True)
        atoms.append(distinct)
        first.append(np.bincount(places, noisy[there], distinct.size).astype(np.float64))
        rests.append(total - float(noisy.sum()))
        seen = rests[-1] * budget.step >= least  # else no bucket would pass
        scans.append(NumberScan(distinct, steps(column.kind, column.form), least if seen else None, most))
    counted = iter(columns.table.field_sums(columns, partial(scan_numbers, scans=scans)))
    for column, one, many, rest, scan in zip(columns, atoms, first, rests, scans, strict=True):
        off, buckets = next(counted), next(counted)
        step = _step(scan.steps, off, total, budget, shares.level / 2)
        edges, shift, prefixes = np.empty(0), 0, list[int]()
        if scan.least is not None:
            edges, shift, prefixes = _buckets(column, scan, buckets, rest, budget, shares)
        cells = ColumnCells.of_numbers(column.kind, one, edges, step)
        inside = np.isin(keys_of(cells.edges[:-1]) >> np.uint64(shift), np.array(prefixes, np.uint64))
        yield CellPartition(cells, many, 1 + np.flatnonzero(inside) if prefixes else np.empty(0, np.int64))


def _step(choices: Sequence[float | None], off: Counts, total: float, budget: RhoBudget, rho: Fraction) -> float | None:
    """The step that nearly all values are multiples of. The units that are not move by at most those of a person."""
    if len(choices) == 1:
        return choices[0]
    finer = math.floor(tuning.COARSER * total * budget.step)
    scores = [-int(units) - finer * place for place, units in enumerate(off)]
    return choices[budget.choose(scores, budget.most, rho)]


def _buckets(
    column: Column, scan: NumberScan, counted: BucketCounts, rest: float, budget: RhoBudget, shares: Shares
) -> tuple[Floats, int, list[int]]:
    """Edges of frequent buckets and of their parts, how many bits are cut off, and the buckets.

    At the right level half of the units are among the first of their bucket that the cutoff takes, or half of `most` if
    there are more of them; of levels that are as good, a coarse one. min(Σ min(c, cutoff), most) over buckets moves by
    at most the units of a person who is added, removed or replaced.
    """
    half = math.floor(min(rest, KEYS) * budget.step / 2)
    finer = tuning.FINER * budget.odds(budget.most, shares.level / 2)
    scores = [-abs(counted.capped_sum(level) - half) - math.floor(finer * place) for place, level in enumerate(LEVELS)]
    level = LEVELS[budget.choose(scores, budget.most, shares.level / 2)]
    if level > counted.level:  # with a probability of e^-(some hundred): such fine buckets were not held
        _, counted = column.table.field_sums(
            Columns([column]), partial(scan_numbers, scans=[replace(scan, finest=level, most=None)])
        )
    shift, (prefixes, units) = 64 - level, counted.at(level)
    shown, noisy = budget.frequent([int(p) for p in prefixes], units, shares.buckets, shares.failure)
    ends, sigma = set[int](), budget.sigma(shares.cells)
    for prefix, count in zip(shown, noisy, strict=True):
        bits = min(shift, tuning.PARTS, max(0, int(math.log2(max(count / (tuning.PART * sigma), 1)))))
        ends |= {(prefix << shift) + (i << shift - bits) for i in range(2**bits + 1)}
    edges = numbers_of(np.array(sorted(end for end in ends if end < 1 << 64), np.uint64))
    return edges[np.isfinite(edges)], shift, shown


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


def count_pairs(
    fields: Sequence[Field], weights: Weights, sides: Sequence[tuple[ColumnCells, Codes, int]]
) -> list[Any]:
    """The two-way tables of all pairs of columns, of a batch. A side: cells, their groups, how many these are."""
    codes = [(group[cells.encode(rows)], many) for (cells, group, many), rows in zip(sides, fields, strict=True)]
    pairs = itertools.combinations(codes, 2)
    return [tally(a * m + b, weights, k * m).reshape(k, m) for (a, k), (b, m) in pairs]


def _pair_tables(columns: Columns, margins: Sequence[Margin]) -> dict[Pair, Counts]:
    """The two-way tables of all pairs, in units, by one scan."""
    sides = [(margin.cells, margin.group, margin.count) for margin in margins]
    tables = columns.table.field_sums(columns, partial(count_pairs, sides=sides))
    return dict(zip(itertools.combinations(range(len(margins)), 2), tables, strict=True))


def merge_counts(table: Counts, f: Codes, g: Codes) -> Counts:
    """The counts of merged cells, exactly, one after the other."""
    total = np.zeros((f.max() + 1) * (g.max() + 1), table.dtype)
    np.add.at(total, (f[:, None] * (g.max() + 1) + g).ravel(), table.ravel())
    return total


def _candidates(margins: Sequence[Margin]) -> list[tuple[Pair, Codes, Codes]]:
    """Every pair at every resolution, each once."""
    found = {}
    for a, b in itertools.combinations(range(len(margins)), 2):
        for size in tuning.SIZES:
            f, g = margins[a].coarser[size], margins[b].coarser[size]
            if f.max() > 0 and g.max() > 0:
                found[a, b, int(f.max()), int(g.max())] = (a, b), f, g
    return list(found.values())


def round_price(total: float, candidates: int, budget: RhoBudget) -> Fraction:
    """The least ρ of a round that could see anything in a table of about so many rows.

    Two columns of two values each, equally frequent, that determine each other have a table whose ℓ1 distance from
    that of independent columns is the number of rows. A choice that could not tell this from 0, among so many
    candidates, would measure noise.
    """
    return budget.telling(max(total, 1.0) * budget.step, candidates, budget.distance) / tuning.PICK


def measure_pairs(columns: Columns, margins: Sequence[Margin], total: float, budget: RhoBudget) -> TwoWay:
    """Rounds until ρ is spent: choose the pair and the resolution that the model misses most, measure, fit.

    A candidate's score is the ℓ1 distance of its true table from the model's, which is public and rounded to units,
    less what noise would add. It moves as the true table does. To stop has the score 0; it makes the next rounds four
    times as dear, so that nothing is measured that noise would drown.
    """
    d = len(margins)
    fit, part = TwoWay({}, [], []), list(range(d))
    candidates = _candidates(margins)
    price = round_price(total, len(candidates), budget)
    if not candidates or price > budget.left:
        return fit
    true = _pair_tables(columns, margins)
    truths = [merge_counts(true[pair], f, g) for pair, f, g in candidates]
    price = max(price, budget.left / Fraction(tuning.ROUNDS * (d - 1)))
    while budget.left > budget.rho / 10**9:
        last = price > Fraction(3, 5) * budget.left
        price = budget.left if last else short(price)
        pick = short(price * tuning.PICK)
        sigma = budget.sigma(price - pick)
        model = model_tables([margin.margin for margin in margins], fit.tree, fit.tables)
        tax = tuning.TAX * math.sqrt(2 / math.pi) * sigma * budget.step
        scores = []
        for (pair, f, g), truth in zip(candidates, truths, strict=True):
            expected = np.rint(coarse(model[pair], f, g) * budget.step).astype(np.int64).ravel()
            scores.append(int(np.abs(truth - expected).sum()) - math.ceil(tax * truth.size))
        best = budget.choose([*scores, 0], budget.distance, pick)
        if best == len(candidates):
            if last:
                break
            price *= tuning.DEARER
            continue
        (a, b), f, g = candidates[best]
        shape = int(f.max()) + 1, int(g.max()) + 1
        noisy = budget.counts(truths[best].reshape(shape), price - pick)
        fit.measured.append(MeasuredPair((a, b), f, g, noisy, sigma))
        margins[a].learn(f, noisy.sum(1), sigma**2 * shape[1])
        margins[b].learn(g, noisy.sum(0), sigma**2 * shape[0])
        prior = rake(model[a, b], margins[a].margin, margins[b].margin)
        fit.tables[a, b] = update(noisy, sigma, prior, f, g)
        for p, q in fit.tables:
            if {a, b} & {p, q}:
                fit.tables[p, q] = rake(fit.tables[p, q], margins[p].margin, margins[q].margin)
        if part[a] != part[b]:
            fit.tree.append((a, b))
            part = [part[a] if one == part[b] else one for one in part]
    return fit
