"""Medians of several columns at once, as nested boxes of candidates: for results of blocks, and for their fits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.mechanisms.inverse_sensitivity import Boxes, boxes
from uptack.mechanisms.plausible_range import Lattice
from uptack.reach import LStatistic, Reach


def median_room(rows: int, moves: int = 1) -> int:
    """How many people may change before a median of so many rows comes to their end, m rows each: at least -1."""
    return ((rows + 1) // 2 - 1) // moves


def median_boxes(rows: NDArray[np.float64], given: tuple[Lattice, int], moves: int = 1) -> Boxes:
    """The boxes that the vector of the columns' medians is drawn from, on a lattice and with so many steps.

    **Reach.** Replacing one row moves each median by at most one rank, so the product of the columns' intervals
    [x(r - mk), x(r + mk)] is a reach of the vector, where one person replaces up to m rows: each axiom holds coordinate
    by coordinate, and no coordinate pays for another.
    """
    (lattice, steps), rank = given, (len(rows) + 1) // 2
    reaches: list[Reach] = [LStatistic.quantile(np.ascontiguousarray(c), rank, steps, moves) for c in rows.T]
    return boxes(reaches, steps, lattice)
