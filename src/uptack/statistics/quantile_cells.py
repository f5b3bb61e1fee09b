"""The candidates of a chain of quantiles, cut into public cells, and the cell of each row.

A cell is a stretch of the number line together with a run of candidates. Cells are numbered by integers, which have
successors whatever their size; a float has none (2^53 + 1 is 2^53). Every row has one cell, by comparing its value with
public bounds. Where a row is divided, it has been brought inside the lattice before, so that nothing can overflow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.mechanisms.inverse_sensitivity import VECTOR_LATTICES
from uptack.noise import MachineNumbers
from uptack.reach.protocol import Floats

Integers = NDArray[np.int64]
MOST_DIGITS = 40


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

    def first(self, ordinals: Integers | int) -> Any:
        """The first candidates of lattice points."""
        return (ordinals + self.lattice.top) << self.digits


def choices(n: int, fewer: int = 0) -> list[Candidates]:
    """From fine to coarse, with digits enough to tell n tied rows apart, or so many fewer, within 62 bits.

    n must be public. With d digits fewer up to about 2^(d + 1) tied rows share a candidate.
    """
    digits = max(8, min(n.bit_length() - 1, MOST_DIGITS) - fewer)
    made = (Candidates(lattice, digits) for lattice in VECTOR_LATTICES)
    return [candidates for candidates in made if candidates.size < 1 << 62]


@dataclass(frozen=True)
class Cells:
    """Cell k holds the numbers from `bounds(k)` to below `bounds(k + 1)`, and as many candidates as lie between.

    Without a granularity there is one cell a lattice point: from its own number to below the next one.

    With a granularity g cell k holds what is nearest to k·g, as long as the lattice has two points or more to g. From
    some public magnitude on it has not; there, on both sides, each lattice point has its cell again. So a cell always
    has all candidates of a lattice point or more, and tied rows can be told apart.

    **Theorem.** Each row's cell is a function of its own value that keeps order: k is the largest with bounds(k) ≤ x,
    and bounds rise. *Proof.* (k - 1/2)·g is computed in floats for |k| < 2^50 only, since a lattice of 2^54 points or
    fewer has no more than 2^50 between 0 and the turn: an error below g/8. ∎ Numbers beyond the lattice are in its
    first or last cell, the largest floats and ±inf among them.
    """

    candidates: Candidates
    granularity: Fraction | None

    @cached_property
    def _step(self) -> float:
        return 0.0 if self.granularity is None else float(self.granularity)

    @cached_property
    def _turn(self) -> int:
        """The ordinal of the lattice from which on cells are those of lattice points."""
        return 0 if self.granularity is None else self.candidates.lattice.coarse_from(self.granularity / 2)

    @cached_property
    def _last(self) -> int | None:
        """The last cell of the granularity; None where there is none. It reaches up to the turn, and is a wide one."""
        if self.granularity is None:
            return None
        last = math.floor(Fraction(self.candidates.lattice.value(self._turn)) / self.granularity) - 1
        return last if last >= 1 else None

    def keys(self, x: Floats) -> Integers:
        """The cells of rows."""
        lattice = self.candidates.lattice
        ordinals = lattice.floors(x)
        if self._last is None:
            return ordinals
        largest = lattice.value(self._turn)
        near = np.rint(np.clip(x, -largest, largest) / self._step)  # off by at most one
        near += (self._middle(near + 1) <= x).astype(np.float64) - (self._middle(near) > x)
        inner = np.clip(near, -self._last, self._last).astype(np.int64)
        below, above = ordinals + self._turn - self._last, ordinals - self._turn + self._last + 1
        return np.where(ordinals < -self._turn, below, np.where(ordinals >= self._turn, above, inner))

    def key_of(self, candidate: int) -> int:
        """The cell that a candidate belongs to: that of its own number, since cells start at lattice points."""
        return int(self.keys(np.array([self.candidates.value(candidate)]))[0])

    def bounds(self, keys: Integers) -> Floats:
        """The least number of each cell: -inf for the first of all, and +inf past the last."""
        top, (inner, ordinals) = self.candidates.lattice.top, self._outer(keys)
        values = self.candidates.lattice.values(np.clip(ordinals, -top, top))
        outer = np.where(ordinals <= -top, -np.inf, np.where(ordinals > top, np.inf, values))
        return np.where(inner, self._middle(keys), outer)

    def starts(self, keys: Integers) -> Integers:
        """The first candidate of each cell."""
        inner, ordinals = self._outer(keys)
        own = self.candidates.lattice.ceils(np.where(inner, self._middle(keys), 0.0))
        starts: Integers = self.candidates.first(np.where(inner, own, ordinals))
        return starts

    def _middle(self, keys: NDArray[Any]) -> Floats:
        """(k - 1/2)·g: halfway between two multiples of the granularity."""
        halves: Floats = (keys - 0.5) * self._step
        return halves

    def _outer(self, keys: Integers) -> tuple[NDArray[np.bool_], Integers]:
        """Whether cells start at a multiple of the granularity and a half; and where not, at which lattice point."""
        if self._last is None:
            return np.zeros(keys.shape, bool), keys
        inner = (keys > -self._last) & (keys <= self._last)
        return inner, np.where(keys > 0, keys - self._last - 1 + self._turn, keys + self._last - self._turn)
