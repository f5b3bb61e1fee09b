"""The sums behind a chain of quantiles (`uptack.mechanisms.quantile_chain`): in floats, and exactly.

For target l and cell t (base_l + t rows up to it) let

    arrivals_l(t) = Σ of q^(V' so far) over all ways of the coordinates before l, all in lower cells,
    sums_l(t)     = Σ_k volume^k/k!·(weight of k - 1 empty gaps)·arrivals_(l-k+1)(the same cell),

the second over the number k of coordinates that share the cell. A step from t' to t costs q^4 for each row that it
goes against the direction of E: down where there are rows enough, up where some are lacking. So, for a gap of d rows
and rows enough,

    arrivals_(l+1)(t) = Σ_(t' ≤ t) sums_l(t') + Σ_(t < t' < t + d) sums_l(t')·q^(4(t' - t)),

and the same the other way round where some are lacking. (t' < t + d says that the cell of t' is a lower one.)

**Floats.** Only numbers of one sign are added, so each sum is right to within a few units of 2^-53 for each term.
Windows are added up by doubling: of two rows, of four, of eight. With volumes as shares of all candidates no sum is
above e.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

if TYPE_CHECKING:
    from uptack.mechanisms.quantile_chain import Bin

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Number = TypeVar("Number", Fraction, arb)

VANISHES = 745.0
"""e to minus this power is 0 as a float."""


def runs(bases: Sequence[int], at: int, cells: int) -> Iterator[tuple[int, int]]:
    """For k = 1, 2, ...: the first of the k coordinates up to `at` that share a cell, and how far its base is."""
    for j in range(at, -1, -1):
        if (apart := bases[at] - bases[j]) >= cells:
            return
        yield j, apart


@dataclass(frozen=True)
class FloatSums:
    """The sums in floats, each row of cells divided by its largest, with logarithms of what it was divided by."""

    bin: Bin
    first: int
    volumes: Integers
    log_q: float

    @property
    def _up(self) -> bool:
        return self.bin.excess >= 0

    @cached_property
    def _shares(self) -> Floats:
        return self.volumes / float(self.bin.size)

    @cached_property
    def _away(self) -> Floats:
        """D in each cell."""
        cells = self.volumes.shape[1]
        return 2.0 * np.arange(self.first, self.first + cells) + self.bin.parity

    def _against(self, moved: Floats) -> Floats:
        """The logarithm of the weight of moves of D."""
        return 2 * self.log_q * np.maximum(-moved if self._up else moved, 0.0)

    def _empty(self, rows: int) -> float:
        """The logarithm of the weight of gaps without rows, where so many were aimed at: a move down by as many."""
        return 4 * self.log_q * rows if self._up else 0.0

    @cached_property
    def _found(self) -> tuple[list[Floats], list[float], list[Floats], list[float]]:
        """arrivals and sums, each with its logarithms."""
        arrivals, entered = [np.exp(self._against(self._away))], [0.0]
        sums, reached = list[Floats](), list[float]()
        bases = self.bin.bases
        for at in range(len(bases)):
            current, scale = _scaled(*self._shared_by(at, arrivals, entered))
            sums.append(current)
            reached.append(scale)
            if at + 1 < len(bases):
                moved = _moved(current, bases[at + 1] - bases[at], self._up, 4 * self.log_q)
                moved, more = _scaled(moved, scale)
                arrivals.append(moved)
                entered.append(more)
        return arrivals, entered, sums, reached

    def _shared_by(self, at: int, arrivals: list[Floats], entered: list[float]) -> tuple[Floats, float]:
        cells, share = self.volumes.shape[1], self._shares[at]
        terms = list(runs(self.bin.bases, at, cells))
        logs = [entered[j] + self._empty(apart) for j, apart in terms]
        top, out, power = max(logs), np.zeros(cells), np.ones(cells)
        for k, ((j, apart), log) in enumerate(zip(terms, logs, strict=True), 1):
            power = power * (share / k)
            if log - top > -VANISHES:
                out[: cells - apart] += power[: cells - apart] * arrivals[j][apart:] * math.exp(log - top)
        return out, top

    @cached_property
    def total(self) -> float:
        """The logarithm of the sum over all paths."""
        last = self.last()
        top = float(last.max())
        return -math.inf if top == -math.inf else top + math.log(np.exp(last - top).sum()) + self._found[3][-1]

    def last(self) -> Floats:
        """For each cell of the last coordinate the logarithm of the weight of all paths that end there."""
        return _logs(self._found[2][-1]) + self._against(self.bin.excess - self._away)

    def before(self, at: int, following: int) -> Floats:
        """The same for coordinate `at` where the next one's cell is known."""
        moved = self._away[0] + 2.0 * following - self._away
        logs = _logs(self._found[2][at]) + self._against(moved)
        logs[max(following + self.bin.bases[at + 1] - self.bin.bases[at], 0) :] = -np.inf
        return logs

    def shared(self, at: int, cell: int) -> Floats:
        """For k = 1, 2, ... the logarithm of the weight of k coordinates up to `at` in this cell."""
        arrivals, entered = self._found[:2]
        cells, share = self.volumes.shape[1], float(_logs(self._shares[at, cell : cell + 1])[0])
        return np.array(
            [
                entered[j] + self._empty(apart) + k * share - math.lgamma(k + 1) + _logs(arrivals[j])[cell + apart]
                for k, (j, apart) in enumerate(runs(self.bin.bases, at, cells), 1)
                if cell + apart < cells
            ]
        )


def _logs(x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(x)


def _scaled(x: Floats, scale: float) -> tuple[Floats, float]:
    largest = float(x.max()) or 1.0
    return x / largest, scale + math.log(largest)


def _moved(sums: Floats, gap: int, up: bool, log_decay: float) -> Floats:
    """arrivals from sums, by the formulas of the module."""
    out = np.zeros(sums.size)
    if up:
        reached = np.cumsum(sums)
        out[:] = reached if gap else np.append(0.0, reached[:-1])
        if gap > 1:
            out[:-1] += math.exp(log_decay) * windowed(sums, gap - 1, log_decay)[1:]
    else:
        out[1:] = math.exp(log_decay) * windowed(sums[::-1], sums.size, log_decay)[::-1][:-1]
        if gap:
            out += windowed(sums, gap, 0.0)
    return out


def windowed(x: Floats, width: int, log_decay: float) -> Floats:
    """Σ_(j < width) x(t + j)·e^(j·log_decay) for each t: the sums of 1, 2, 4, ... terms that make up the width."""
    width = min(width, x.size, math.ceil(VANISHES / -log_decay) + 1 if log_decay else x.size)
    out, block, size, offset = np.zeros(x.size), x, 1, 0
    while True:
        if width & size:
            out[: x.size - offset] += math.exp(log_decay * offset) * block[offset:]
            offset += size
        if 2 * size > width:
            return out
        doubled = block.copy()
        doubled[:-size] += math.exp(log_decay * size) * block[size:]
        block, size = doubled, 2 * size


@dataclass(frozen=True)
class ExactSums(Generic[Number]):
    """The same sums for a rational q, without rounding; for a ball q, balls around them. Volumes are whole numbers."""

    bin: Bin
    first: int
    volumes: list[list[int]]
    q: Number

    @property
    def _up(self) -> bool:
        return self.bin.excess >= 0

    def _against(self, moved: int) -> Number:
        return self.q ** (2 * max(-moved if self._up else moved, 0))

    def _empty(self, rows: int) -> Number:
        return self.q ** (4 * rows if self._up else 0)

    def _away(self, cell: int) -> int:
        return 2 * (self.first + cell) + self.bin.parity

    @cached_property
    def _found(self) -> tuple[list[list[Number]], list[list[Number]]]:
        cells, bases = range(len(self.volumes[0])), self.bin.bases
        arrivals = [[self._against(self._away(c)) for c in cells]]
        sums: list[list[Number]] = []
        for at in range(len(bases)):
            sums.append([sum(self._shared_by(at, c, arrivals), self.q * 0) for c in cells])
            if at + 1 < len(bases):
                arrivals.append(self._moved(sums[at], bases[at + 1] - bases[at]))
        return arrivals, sums

    def _shared_by(self, at: int, cell: int, arrivals: list[list[Number]]) -> list[Number]:
        cells, volume = len(self.volumes[at]), self.volumes[at][cell]
        return [
            arrivals[j][cell + apart] * self._empty(apart) * volume**k / math.factorial(k)
            for k, (j, apart) in enumerate(runs(self.bin.bases, at, cells), 1)
            if cell + apart < cells
        ]

    def _moved(self, sums: list[Number], gap: int) -> list[Number]:
        cells, q, zero = len(sums), self.q**4, self.q * 0
        below, after, before = [zero] * (cells + 1), [zero] * (cells + 1), [zero] * (cells + 1)
        for c in range(cells):  # Σ of all before c; Σ q^(4(t' - c)) from c on; Σ q^(4(c - t')) before c
            below[c + 1] = below[c] + sums[c]
            before[c + 1] = q * (before[c] + sums[c])
            after[cells - c - 1] = sums[cells - c - 1] + q * after[cells - c]
        ends = [min(c + gap, cells) for c in range(cells)]
        if self._up:
            decayed = (
                after[c + 1] * q - after[end] * q ** (end - c) if end > c else zero for c, end in enumerate(ends)
            )
            return [below[min(c + 1, end)] + more for c, (end, more) in enumerate(zip(ends, decayed, strict=True))]
        return [before[c] + below[end] - below[c] for c, end in enumerate(ends)]

    def last(self) -> list[Number]:
        """For each cell of the last coordinate the weight of all paths that end there."""
        return [s * self._against(self.bin.excess - self._away(c)) for c, s in enumerate(self._found[1][-1])]

    def before(self, at: int, following: int) -> list[Number]:
        """The same for coordinate `at` where the next one's cell is known."""
        end = following + self.bin.bases[at + 1] - self.bin.bases[at]
        return [
            s * self._against(2 * (following - c)) if c < end else self.q * 0 for c, s in enumerate(self._found[1][at])
        ]

    def shared(self, at: int, cell: int) -> list[Number]:
        """For k = 1, 2, ... the weight of k coordinates up to `at` in this cell."""
        return self._shared_by(at, cell, self._found[0])
