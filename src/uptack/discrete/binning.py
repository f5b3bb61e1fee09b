"""Public cells of a histogram: between edges, one per key, or by the calendar."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.discrete.domains import Domain
from uptack.discrete.time_binning import TimeEdges, time_edges
from uptack.errors import InvalidArgument
from uptack.noise.integer_laws import Integers
from uptack.table.names import distinct
from uptack.table.protocol import Column
from uptack.table.values.entrance import HELD, column
from uptack.table.values.kinds import NUMERIC


@dataclass(frozen=True)
class Edges:
    """Cells [e₀, e₁), [e₁, e₂), …, the last one with its right end, as in NumPy."""

    edges: NDArray[np.float64]
    clamp: bool

    @property
    def cells(self) -> tuple[Hashable, ...]:
        """Pairs of edges."""
        return tuple(itertools.pairwise(self.edges.tolist()))

    def places(self, x: Any) -> Integers:
        """The number of the cell that each row is in; -1 for none."""
        array = column("x", x).floats()
        place = np.searchsorted(self.edges, array, side="right") - 1
        place[array == self.edges[-1]] = len(self.edges) - 2
        inside = (place >= 0) & (place < len(self.edges) - 1)
        return np.clip(place, 0, len(self.edges) - 2) if self.clamp else np.where(inside, place, -1)


@dataclass(frozen=True)
class KeyCells:
    """One cell for each key."""

    domain: Domain

    @property
    def cells(self) -> tuple[Hashable, ...]:
        """The keys."""
        levels = self.domain.columns["x"]
        return tuple(range(levels) if isinstance(levels, int) else levels)

    def places(self, x: Any) -> Integers:
        """The number of the cell that each row is in; -1 for none."""
        return self.domain.encode({"x": x})


def binning_of(x: Column, edges: Any, keys: Any, every: str | None, outside: str) -> Edges | KeyCells | TimeEdges:
    """The cells that edges, keys or units of the calendar say, checked by the kind of the column alone."""
    if outside not in ("drop", "clamp"):
        raise InvalidArgument("outside", "'drop' or 'clamp'", checks.describe(outside))
    if edges is not None and keys is not None:
        raise InvalidArgument("edges", "given, or keys, but not both", "both")
    fix = "A sparse histogram (uptack.sparse_histogram) can have more."
    checks.few("keys", keys, checks.MOST_CELLS, "cells", fix)
    checks.few("edges", edges, checks.MOST_CELLS + 1, "edges", "Make the cells wider.")
    if keys is not None:
        if outside == "clamp":
            raise InvalidArgument("outside", "'drop' where cells are given by keys", "'clamp'")
        if isinstance(keys, int) and x.kind not in NUMERIC:
            fix = "keys=k stands for the integers from 0 to k - 1."
            raise InvalidArgument("x", "a one-dimensional column of keys", x.kind, fix)
        try:
            cells = KeyCells(Domain({"x": keys}))
        except InvalidArgument as error:
            raise InvalidArgument("keys", error.must, error.got) from None
        listed = () if isinstance(cells.domain.columns["x"], int) else cells.cells
        distinct("keys", listed, [x.kind], "keys that rows of the column can tell apart")
        return cells
    times = time_edges(x.form, edges, every, outside == "clamp")
    if times is not None:
        return times
    if x.kind not in NUMERIC:
        what, fix = HELD[x.kind]
        raise InvalidArgument("x", "a one-dimensional column of numbers", f"a column of {what}", fix)
    ends = checks.numbers("edges", edges, (1,))
    if ends.size < 2 or not (np.diff(ends) > 0).all():
        raise InvalidArgument("edges", "two or more rising numbers", checks.describe(ends))
    return Edges(ends, outside == "clamp")
