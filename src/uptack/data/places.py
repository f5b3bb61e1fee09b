"""Where rows are in their order, as far as it is known: counts at pivots, gaps between them, and rows that were read.

Places are counted in units, which a row may have several of: see `uptack.data.ordering`. Those of many people are
integers of Python (`uptack.columns.units`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from uptack.columns.selection import Floats, Window, exact_sum
from uptack.columns.units import ROOM, Integers, roomy, wide

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


@dataclass(frozen=True)
class Weighed:
    """Rows that were read: values, and their weights in units; None for one unit each."""

    values: Floats
    weights: Integers | None = None

    @staticmethod
    def joined(parts: Sequence[Weighed], weighed: bool) -> Weighed:
        """Rows of all parts; whether they have weights, which no part says where there is none."""
        values = np.concatenate([np.empty(0), *(part.values for part in parts)])
        weights = [part.weights for part in parts if part.weights is not None]
        return Weighed(values, np.concatenate([np.empty(0, np.int64), *weights]) if weighed else None)

    def sorted(self) -> Weighed:
        """In the order of their values."""
        if self.weights is None:
            return Weighed(np.sort(self.values))
        order = np.argsort(self.values)
        return Weighed(self.values[order], self.weights[order])


@dataclass(frozen=True)
class Counted:
    """Units of the rows below each pivot and up to it, and how many rows these are; None where a row is a unit."""

    below: list[int]
    up_to: list[int]
    rows_below: list[int] | None = None
    rows_up_to: list[int] | None = None

    def cut(self, start: int, end: int) -> Counted:
        """That of some of the pivots."""
        parts = (self.below, self.up_to, self.rows_below, self.rows_up_to)
        return Counted(*(part if part is None else part[start:end] for part in parts))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Gap:
    """The rows strictly between two values, whose units are those from first to last. None: no bound on that side."""

    low: float | None
    high: float | None
    first: int
    last: int
    rows: int
    before: int
    """How many rows there are up to `low`."""

    @property
    def units(self) -> int:
        """How many units its rows have."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class Known:
    """Units first, first + 1, ... of known values; a single value stands for all of them.

    `ends` has the last unit of each value; None where each has one unit.
    """

    first: int
    last: int
    values: Floats
    ends: Integers | None = None

    def at(self, places: Integers) -> Floats:
        """Their values by place."""
        if self.ends is not None:
            return self.values[np.searchsorted(self.ends, places)]
        return self.values[np.minimum(places - self.first, self.values.size - 1).astype(np.int64, copy=False)]

    def ties(self, value: float) -> Window:
        """The first and the last place of a value among them."""
        if self.values.size == 1:
            return self.first, self.last
        below, up_to = (int(np.searchsorted(self.values, value, side)) for side in SIDES)
        if self.ends is None:
            return self.first + below, self.first + up_to - 1
        return int(self.ends[below - 1]) + 1 if below else self.first, int(self.ends[up_to - 1])

    def jumps(self) -> tuple[Floats, Integers]:
        """Its values, each once, and the last place of each."""
        if self.values.size == 1:
            return self.values, np.array([self.last], np.int64 if self.last < ROOM else object)
        ends = np.arange(self.first, self.last + 1) if self.ends is None else self.ends
        lasts = np.flatnonzero(np.append(self.values[1:] != self.values[:-1], True))
        return self.values[lasts], ends[lasts]


@dataclass(frozen=True)
class Scale:
    """How places in units belong to ranks: U units each, even or 1."""

    unit: int = 1

    def places(self, ranks: Integers) -> Integers:
        """(r - 1/2)·U, rounded up."""
        return wide(ranks, int(ranks.max(initial=0)) * self.unit) * self.unit - self.unit // 2

    def place(self, rank: int) -> int:
        """The same of one rank, however large."""
        return rank * self.unit - self.unit // 2

    def ranks(self, units: Any) -> Any:
        """How many ranks have their place within so many units."""
        return (units + self.unit // 2) // self.unit


def crossed(rows: Weighed, before: int, scale: Scale) -> int:
    """Σ of x(r) over the ranks whose place lies in sorted rows, after so many units, in units of 2^-1074."""
    assert rows.weights is not None
    ends = before + np.cumsum(roomy(rows.weights, before))
    times = scale.ranks(ends) - scale.ranks(ends - rows.weights)
    return exact_sum(np.repeat(rows.values, times.astype(np.int64, copy=False)))
