"""Counts by two columns as a two-way table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from uptack.discrete.histograms import Histogram
from uptack.display.align import aligned
from uptack.labels import label
from uptack.release import NoReply, Release
from uptack.table.values.kinds import in_order


class Crosstab(Histogram):
    """Counts by pairs of values, which print as a table: a line for each value of the first column.

    It is a mapping from pairs to counts, as a histogram is. Pairs that were not listed are missing (⊥).
    """

    def levels(self, side: int) -> list[Any]:
        """The values of the first column (0), or of the second one (1), in their order."""
        return sorted({cell[side] for cell in self.cells}, key=in_order)  # type: ignore[index]

    def grid(self) -> list[list[Any]]:
        """The counts, a list for each value of the first column; None for a pair that was not listed."""
        known = dict(self.items())
        return [[known.get((row, column)) for column in self.levels(1)] for row in self.levels(0)]

    def __repr__(self) -> str:
        lines = [[label(row), *map(_text, counts)] for row, counts in zip(self.levels(0), self.grid(), strict=True)]
        return "\n".join(aligned([["", *map(label, self.levels(1))], *lines]))


def _text(count: Any) -> str:
    return "⊥" if count is None else f"{round(count):,}"


def as_crosstab(made: Release[Any] | NoReply) -> Release[Any] | NoReply:
    """Counts by pairs, shown as a two-way table: post-processing."""
    if isinstance(made, NoReply):
        return made
    return replace(made, value=Crosstab(made.value.cells, made.value.counts), mechanism=f"crosstab ({made.mechanism})")
