"""Pseudo order statistics of rows in memory, by selection where only a few ranks are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns.selection import Floats, Window, exact_sum, merged
from uptack.columns.units import wide

Units = NDArray[np.int64]
SAMPLE = 1 << 12
"""Rows that are sorted to see about where ranks lie."""

FEW = 1 << 16
"""Up to so many rows all are sorted."""


class PeopleOrder:
    """z(1) ≤ ... ≤ z(n) of rows with units (`uptack.columns.people`), known inside windows of ranks.

    It holds the rows of some ranges of values, in order, and the units up to each of them. Every window lies in one
    range. What is asked for outside is found by sorting all rows, once.
    """

    def __init__(self, values: NDArray[Any], units: Units, unit: int, n: int, windows: Sequence[Window]) -> None:
        units = wide(units, (n + 1) * unit)
        self._rows, self._unit, self.n = (values, units), unit, n
        self._windows = merged([(max(a, 1), min(b, self.n)) for a, b in windows if a <= self.n and b >= 1])
        targets = [(self._target(a), self._target(b)) for a, b in self._windows]
        found = None if values.size <= FEW or not targets else _selected(values, units, targets)
        if found is None:
            self._windows, found = [(1, self.n)], _sorted(values, units)
        self._values, self._up_to = found

    def at(self, ranks: NDArray[np.int64]) -> Floats:
        """z(r) for ranks inside the windows; -inf for r < 1 and +inf for r > n."""
        inside = wide(np.clip(ranks, 0, self.n + 1), (self.n + 1) * self._unit)
        places = np.searchsorted(self._up_to, self._target(inside))
        ends = np.append(self._values, np.inf)
        return np.where(ranks < 1, -np.inf, np.where(ranks > self.n, np.inf, ends[places]))

    def total(self, first: int, last: int) -> int:
        """Σ of z(first), ..., z(last) in units of 2^-1074. Between windows that needs all rows."""
        if not any(a <= first and last <= b for a, b in self._windows):
            self._windows, (self._values, self._up_to) = [(1, self.n)], _sorted(*self._rows)
        return exact_sum(self.at(np.arange(first, last + 1)))

    def jumps(self, first: int, last: int) -> tuple[Floats, Units]:
        """The values from z(first) to z(last), each once, and the units up to each. Both ranks are in one window."""
        low, high = self.at(np.array([first, last]))
        a, b = np.searchsorted(self._values, low), np.searchsorted(self._values, high, side="right")
        values, up_to = self._values[a:b], self._up_to[a:b]
        ends = np.flatnonzero(np.append(values[1:] != values[:-1], np.ones(min(values.size, 1), bool)))
        return values[ends], up_to[ends]

    def _target(self, rank: Any) -> Any:
        """(r - 1/2)·U."""
        return (2 * rank - 1) * (self._unit // 2)


def _sorted(values: NDArray[Any], units: Units, below: int = 0) -> tuple[Floats, Units]:
    """Rows in order as floats, and the units up to each, with those of rows below all of them."""
    order = np.argsort(values)
    return values[order].astype(np.float64, copy=False), below + np.cumsum(units[order])


def _selected(values: NDArray[Any], units: Units, targets: Sequence[tuple[int, int]]) -> tuple[Floats, Units] | None:
    """The rows of ranges of values that hold F^-1 of all targets; None where the guess of the ranges was wrong.

    A range [lo, hi] holds F^-1(u) if fewer than u units are below lo and at least u are up to hi.
    """
    parts = []
    for low, high, least, most in _guessed(values, units, targets):
        inside, below = (values >= low) & (values <= high), int(units[values < low].sum())
        part = _sorted(values[inside], units[inside], below)
        if not (below < least and part[1].size and part[1][-1] >= most):
            return None
        parts.append(part)
    return np.concatenate([v for v, _ in parts]), np.concatenate([u for _, u in parts])


def _guessed(values: NDArray[Any], units: Units, targets: Sequence[tuple[int, int]]) -> list[tuple[Any, Any, int, int]]:
    """Ranges of values by a sample of rows, far enough around the targets that they mostly hold; apart from each other.

    A range comes with the least and the largest of its targets.
    """
    step = values.size // SAMPLE
    order = np.argsort(values[::step])
    sample, up_to = values[::step][order], np.cumsum(units[::step][order]) * step
    slack = int(up_to[-1]) // 16
    out: list[tuple[Any, Any, int, int]] = []
    for least, most in targets:
        low = sample[max(int(np.searchsorted(up_to, least - slack)) - 1, 0)] if least > slack else values.min()
        place = int(np.searchsorted(up_to, most + slack))
        high = sample[place] if place < sample.size else values.max()
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(high, out[-1][1]), out[-1][2], most)
        else:
            out.append((low, high, least, most))
    return out
