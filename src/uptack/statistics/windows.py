"""The rows around several ranks as lattice points without ties: what a chain of quantiles looks at.

Each row is changed by itself, with randomness of its own: rows of a column with a granularity are spread evenly over
their cell, and rows in one lattice cell get random digits behind it, which tell them apart. Only the rows near the
ranks are looked at; of others in the same cell it is enough to know how many there are.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns import Column
from uptack.mechanisms.inverse import VECTOR_LATTICES
from uptack.noise import Entropy, MachineNumbers

BITS = 40
"""Random bits a row."""


@dataclass(frozen=True)
class Candidates:
    """Lattice points with so many binary digits behind them."""

    lattice: MachineNumbers
    digits: int

    @property
    def size(self) -> int:
        """How many there are."""
        return self.lattice.size << self.digits

    def value(self, candidate: int) -> float:
        """The lattice number that a candidate stands for."""
        return self.lattice.value((candidate >> self.digits) - self.lattice.top)

    def first(self, ordinals: NDArray[np.int64] | int) -> Any:
        """The first candidates of lattice points."""
        return (ordinals + self.lattice.top) << self.digits


def choices(n: int) -> list[Candidates]:
    """From fine to coarse, with digits enough to tell n tied rows apart, within 64 bits. n must be public."""
    digits = max(8, min(n.bit_length() - 1, BITS))
    made = (Candidates(lattice, digits) for lattice in VECTOR_LATTICES)
    return [candidates for candidates in made if candidates.size < 1 << 62]


class Windows:
    """The rows around several ranks of one column, each row with the same digits in whichever window it is seen.

    That matters: a row that two windows placed differently would move the counts of one and not of the other, and the
    theorem of `uptack.mechanisms.joint` asks for a run of coordinates that move together.
    """

    def __init__(
        self,
        data: Column,
        windows: Sequence[range],
        candidates: Candidates,
        granularity: Fraction | None,
        entropy: Entropy,
    ) -> None:
        self._data, self._candidates, self._entropy = data, candidates, entropy
        self._step = None if granularity is None else float(granularity)
        self._shared: dict[float, tuple[int, NDArray[np.int64]]] = {}
        selected, keys = data.ordered([(w.start, w.stop - 1) for w in windows]), []
        for ranks in windows:
            last = min(ranks.stop - 1, data.size)  # the public number of rows may be above the true one
            keys.append(_keys(selected.at(np.arange(ranks.start, last + 1)), candidates.lattice, self._step))
        self._counted = self._counts({float(k[end]) for k in keys if k.size for end in (0, -1)})
        self.edges = tuple(self._edges(w, k) for w, k in zip(windows, keys, strict=True))

    def _counts(self, keys: set[float]) -> dict[float, tuple[int, int]]:
        """How many rows of the column have a smaller key than each of these, and how many the same: one pass."""
        ordered = sorted(keys)
        f = functools.partial(_below_and_tied, keys=ordered, lattice=self._candidates.lattice, step=self._step)
        found = iter(self._data.sums(f))
        return dict(zip(ordered, zip(found, found, strict=True), strict=True))

    def _edges(self, ranks: range, keys: NDArray[np.float64 | np.int64]) -> tuple[int, ...]:
        """The rows of these ranks as candidates in their order; past the last row, the end of the candidates."""
        found: list[int] = []
        for key, first, count in zip(*np.unique(keys, return_index=True, return_counts=True), strict=True):
            below, digits = ranks.start - 1 + int(first), None
            if first == 0 or first + count == keys.size:  # rows with this key may lie outside the window
                below, digits = self._group(float(key))
            digits = self._digits(int(count)) if digits is None else digits
            start = ranks.start - 1 + int(first) - below
            found += _spread(key, digits[start : start + int(count)], self._candidates, self._step).tolist()
        return (*found, *[self._candidates.size] * (len(ranks) - len(found)))

    def _group(self, key: float) -> tuple[int, NDArray[np.int64]]:
        """How many rows of the column have a smaller key, and the digits of all that have this one; drawn once."""
        if key not in self._shared:
            below, tied = self._counted[key]
            self._shared[key] = below, self._digits(tied)
        return self._shared[key]

    def _digits(self, count: int) -> NDArray[np.int64]:
        """Random bits of so many rows, in their order."""
        return np.sort(self._entropy.integers(1 << BITS, count))


def _keys(x: NDArray[np.float64], lattice: MachineNumbers, step: float | None) -> NDArray[np.float64 | np.int64]:
    """Which rows are to be told apart from each other: those in one lattice cell, or in one cell of the granularity."""
    return lattice.floors(x) if step is None else np.floor(x / step + 0.5)


def _below_and_tied(
    x: NDArray[np.float64], keys: Sequence[float], lattice: MachineNumbers, step: float | None
) -> list[int]:
    """For each key how many of these rows have a smaller one, and how many the same, in turns.

    A lattice cell reaches from its own number to the next one, so rows need not be rounded to be counted.
    """
    counts: list[int] = []
    rounded = x if step is None else _keys(x, lattice, step)
    for key in keys:
        low, high = (key, key + 1) if step is not None else _cell(int(key), lattice)
        below = int(np.count_nonzero(rounded < low))
        counts += [below, int(np.count_nonzero(rounded < high)) - below]
    return counts


def _cell(ordinal: int, lattice: MachineNumbers) -> tuple[float, float]:
    """The numbers that are rounded down to this one of the lattice: from the first to before the last."""
    low = -np.inf if ordinal == -lattice.top else lattice.value(ordinal)
    return low, np.inf if ordinal == lattice.top else lattice.value(ordinal + 1)


def _spread(key: float, digits: NDArray[np.int64], candidates: Candidates, step: float | None) -> NDArray[np.int64]:
    """Rows with one key as candidates: their random bits, used up as far as the candidates go."""
    if step is None:
        behind: NDArray[np.int64] = candidates.first(int(key)) + (digits >> (BITS - candidates.digits))
        return behind
    places = (key - 0.5 + (digits + 0.5) * 2.0**-BITS) * step
    spread: NDArray[np.int64] = candidates.first(candidates.lattice.floors(places))
    return spread
