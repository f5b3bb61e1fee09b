"""The rows around several ranks as lattice points without ties: what a chain of quantiles looks at.

Each row is changed by itself, with randomness of its own: rows of a column with a granularity are spread evenly over
their cell, and rows in one lattice cell get random digits behind it, which tell them apart. Only the rows near the
ranks are looked at; of others in the same cell it is enough to know how many there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.engines.inverse import VECTOR_LATTICES
from uptack.noise import Entropy, MachineNumbers
from uptack.reach import OrderStatistics

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


def window(
    data: NDArray[np.generic],
    selected: OrderStatistics,
    ranks: range,
    candidates: Candidates,
    granularity: Fraction | None,
    entropy: Entropy,
) -> tuple[int, ...]:
    """The rows of these ranks as candidates in their order; past the last row, the end of the candidates."""
    missing = max(ranks.stop - 1 - data.size, 0)  # where the public number of rows is above the true one
    if missing:
        inside = range(ranks.start, max(ranks.stop - missing, ranks.start))
        known = window(data, selected, inside, candidates, granularity, entropy) if inside else ()
        return known + (candidates.size,) * (len(ranks) - len(known))
    step, lattice = None if granularity is None else float(granularity), candidates.lattice
    keys = _keys(selected.at(np.arange(ranks.start, ranks.stop)), lattice, step)
    found: list[NDArray[np.int64]] = []
    for key, first, count in zip(*np.unique(keys, return_index=True, return_counts=True), strict=True):
        below, tied = ranks.start - 1 + int(first), int(count)
        if first == 0 or first + count == keys.size:  # rows with this key may lie outside the window
            below, tied = _below_and_tied(data, key, lattice, step)
        digits = np.sort(entropy.integers(1 << BITS, tied))
        start = ranks.start - 1 + int(first) - below
        found.append(_spread(key, digits[start : start + int(count)], candidates, step))
    return tuple(int(v) for v in np.concatenate(found))


def _keys(x: NDArray[np.float64], lattice: MachineNumbers, step: float | None) -> NDArray[np.float64 | np.int64]:
    """Which rows are to be told apart from each other: those in one lattice cell, or in one cell of the granularity."""
    return lattice.floors(x) if step is None else np.floor(x / step + 0.5)


def _below_and_tied(
    data: NDArray[np.generic], key: float, lattice: MachineNumbers, step: float | None, chunk: int = 1 << 16
) -> tuple[int, int]:
    """How many rows of the whole column have a smaller key, and how many this one."""
    below = tied = 0
    for start in range(0, data.size, chunk):
        keys = _keys(data[start : start + chunk].astype(np.float64), lattice, step)
        below += int(np.count_nonzero(keys < key))
        tied += int(np.count_nonzero(keys == key))
    return below, tied


def _spread(key: float, digits: NDArray[np.int64], candidates: Candidates, step: float | None) -> NDArray[np.int64]:
    """Rows with one key as candidates: their random bits, used up as far as the candidates go."""
    if step is None:
        behind: NDArray[np.int64] = candidates.first(int(key)) + (digits >> (BITS - candidates.digits))
        return behind
    places = (key - 0.5 + (digits + 0.5) * 2.0**-BITS) * step
    spread: NDArray[np.int64] = candidates.first(candidates.lattice.floors(places))
    return spread
