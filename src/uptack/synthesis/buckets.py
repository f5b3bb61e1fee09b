"""Numbers by their leading bits, counted in one scan and bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.synthesis.cells import Values, keys_of, multiples, row_numbers
from uptack.synthesis.noisy_counts import Counts
from uptack.table.protocol import Weights
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
        """Of some numbers."""
        keys, sums = _runs(keys_of(x) >> np.uint64(64 - level), units)
        return BucketCounts(keys, sums, level, least, most).few()

    def __add__(self, other: BucketCounts) -> BucketCounts:
        level = min(self.level, other.level)
        (a, m), (b, k) = self.at(level), other.at(level)
        return BucketCounts(*_runs(np.r_[a, b], np.r_[m, k]), level, self.least, self.most).few()

    def at(self, level: int) -> tuple[Keys, Counts]:
        """Buckets of fewer bits, and their units."""
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
        """Of a batch of rows. With weights, units are integers without a largest."""
        x, there = row_numbers(field)
        units = np.ones(x.size, np.int64) if weights is None else weights.astype(object)
        x, units = x[there], units[there]
        off = np.array([units[~multiples(x, step)].sum() for step in self.steps], units.dtype)
        if self.least is None:
            return [off, 0]
        others = ~np.isin(x, self.atoms)
        return [off, BucketCounts.of(x[others], units[others], self.finest, self.least, self.most)]


@dataclass(frozen=True)
class NumberScans:
    """One scan for several columns."""

    columns: tuple[NumberScan, ...]

    def __call__(self, fields: Sequence[Field], weights: Weights) -> list[Any]:
        """Of a batch of rows."""
        return [found for one, field in zip(self.columns, fields, strict=True) for found in one(field, weights)]
