"""Rows of a table that is never in memory as a whole: see `uptack.columns.batched`.

Sums are sums of integers, so they are those of the same rows in memory, to the last bit, in whatever batches and
partitions rows come. So are order statistics. Pairs are drawn by the places of rows in a scan: where an engine has an
order of rows (files, a frame of Spark that has not been shuffled) they are those of the same rows in memory, to the
last bit for the same randomness; elsewhere they are equal in law, which is what privacy needs
(`uptack.multivariate.pairs`). A release reads the table a public number of times, up to the selection of medians.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from uptack.columns.batched import Batched, BatchedRows
from uptack.columns.numeric import Ordered
from uptack.multivariate.pairs import MOST, chosen, equal
from uptack.multivariate.rows import PairStep, Step, Whole, around_median, paired, summed
from uptack.noise import Entropy


@dataclass(frozen=True, eq=False)
class Streamed:
    """What rows and people of a table that is read in batches have in common."""

    table: Batched

    @property
    def size(self) -> int:
        """How many rows there are, or people."""
        return self.table.size

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.table.width

    def count(self) -> int:
        """How many rows are complete, or people have a complete row."""
        return self.table.count()

    def ordered(self, column: int, reach: int) -> Ordered:
        """By selection where the rows are."""
        return self.table.ordered(column, [around_median(self.count(), reach)])


@dataclass(frozen=True, eq=False)
class StreamedRows(Streamed):
    """The rows of a table, one batch at a time."""

    table: BatchedRows

    def sums(self, step: Step) -> list[Whole]:
        """One scan."""
        return self.table.sums(partial(summed, step))

    def pairs(self, step: PairStep, slots: int | None, entropy: Entropy, most: int = MOST) -> list[Whole]:
        """The rows of all pairs are gathered in one scan, twice `most` of them at most."""
        places = equal(self.size, most, entropy) if slots is None else chosen(self.count(), slots, most, entropy)[1]
        rows = self.table.taken(places.reshape(-1), complete=slots is not None).reshape(self.width, *places.shape)
        return paired(step, rows[:, :, np.isfinite(rows).all(axis=(0, 1))])
