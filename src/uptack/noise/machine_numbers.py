"""The lattice of machine numbers: order-preserving integers for a small floating-point format."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.errors import InvalidArgument

Ordinals = NDArray[np.int64]


@lru_cache(maxsize=64)
def _binades(exponent_bits: int, mantissa_bits: int, tapered: bool) -> tuple[Ordinals, Ordinals]:
    """For each exponent field E: how many mantissa bits it has, and the ordinal at which it starts."""
    fields = range(1 << exponent_bits)
    away = [abs(max(field, 1) - _bias(exponent_bits)) for field in fields]
    lost = [(((e + 8) ** 2) // 64).bit_length() - 1 if tapered else 0 for e in away]
    bits = np.array([max(mantissa_bits - drop, 2) for drop in lost], np.int64)
    return bits, np.concatenate(([0], np.cumsum(1 << bits)))


def _bias(exponent_bits: int) -> int:
    return (1 << (exponent_bits - 1)) - 1


@dataclass(frozen=True)
class MachineNumbers:
    """The floating-point numbers with one sign bit and the given bits of exponent and mantissa, in order.

    Number o of the lattice, for -top ≤ o ≤ top, is ±(1 + f/2^M)·2^(E - bias) if |o| is the f-th ordinal of exponent
    field E, and ±f·2^(1 - bias - M) if E = 0, as in IEEE 754. There are no infinities and no NaN. The lattice is finite
    and roughly evenly spaced on the log scale, so it is a base measure that needs no bounds. Every point is a float64.

    `tapered=True` makes it sparser away from 1: the binade of 2^e has (1 + |e|/8)² times fewer points, rounded to a
    power of two. Half of the points of the plain lattice lie between -1 and 1, most of them very close to 0, where few
    answers are. In the tapered lattice the very small and the very large numbers together weigh no more than the 17
    binades around 1.

    >>> lattice = MachineNumbers()
    >>> lattice.size == 2**50 - 1, lattice.value(lattice.floor(0.5)), lattice.value(lattice.ceil(np.inf)) > 1e77
    (True, 0.5, True)
    """

    exponent_bits: int = 9
    mantissa_bits: int = 40
    tapered: bool = False

    def __post_init__(self) -> None:
        for name, most in (("exponent_bits", 10), ("mantissa_bits", 52)):
            if checks.integer(name, getattr(self, name), least=2) > most:
                raise InvalidArgument(name, f"an integer from 2 to {most}", getattr(self, name))

    @property
    def bias(self) -> int:
        """The exponent field of the number 1."""
        return _bias(self.exponent_bits)

    @property
    def _tables(self) -> tuple[Ordinals, Ordinals]:
        return _binades(self.exponent_bits, self.mantissa_bits, self.tapered)

    @property
    def top(self) -> int:
        """The ordinal of the largest number."""
        return int(self._tables[1][-1]) - 1

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return 2 * self.top + 1

    def _magnitude(self, a: NDArray[np.float64]) -> Ordinals:
        """Ordinal of the largest lattice number that is at most a, for a ≥ 0."""
        bits, starts = self._tables
        raw = a.view(np.int64)
        field = np.maximum((raw >> 52) - (1023 - self.bias), 0)
        too_large, field = field >= bits.size, np.minimum(field, bits.size - 1)
        normal = (raw & ((1 << 52) - 1)) >> (52 - bits[field])
        tiny = np.ldexp(np.where(field == 0, a, 0.0), self.bias - 1 + int(bits[0])).astype(np.int64)
        return np.where(too_large, self.top, starts[field] + np.where(field == 0, tiny, normal))

    def _round(self, x: ArrayLike, towards: int) -> Ordinals:
        x = np.atleast_1d(np.asarray(x, np.float64))
        if np.isnan(x).any():
            raise InvalidArgument("x", "free of NaN", "NaN", "Replace missing values first.")
        a = np.abs(x)
        ordinal = self._magnitude(a)
        away = (np.sign(x) == towards) & (self.values(ordinal) < a) & (ordinal < self.top)
        rounded: Ordinals = np.where(x < 0, -(ordinal + away), ordinal + away)
        return rounded

    def floors(self, x: ArrayLike) -> Ordinals:
        """Ordinals of the largest lattice numbers at most x; of the least number if x is below the lattice."""
        return self._round(x, -1)

    def ceils(self, x: ArrayLike) -> Ordinals:
        """Ordinals of the least lattice numbers at least x; of the largest number if x is above the lattice."""
        return self._round(x, 1)

    def values(self, ordinals: ArrayLike) -> NDArray[np.float64]:
        """The numbers with these ordinals."""
        ordinals = np.asarray(ordinals, np.int64)
        bits, starts = self._tables
        field = np.searchsorted(starts, np.abs(ordinals), side="right") - 1
        fraction, width = np.abs(ordinals) - starts[field], bits[field]
        mantissa = np.where(field > 0, fraction + (1 << width), fraction).astype(np.float64)
        scale = np.maximum(field, 1) - self.bias - width
        numbers: NDArray[np.float64] = np.sign(ordinals) * np.ldexp(mantissa, scale)
        return numbers

    def floor(self, x: float) -> int:
        """`floors` of one number."""
        return int(self.floors(x)[0])

    def ceil(self, x: float) -> int:
        """`ceils` of one number."""
        return int(self.ceils(x)[0])

    def value(self, ordinal: int) -> float:
        """`values` of one ordinal."""
        return float(self.values(ordinal))

    def coarse_from(self, step: Fraction) -> int:
        """The least ordinal, of 0 or more, from which on neighbours are further apart than a step; `top` if none is.

        Neighbours never come closer again further out: a binade is twice as wide as the one before, and has at most
        twice as many points.
        """
        bits, starts = self._tables
        above = step.numerator.bit_length() - step.denominator.bit_length()
        above += Fraction(2) ** above <= step  # the least power of two above the step
        gaps = np.maximum(np.arange(bits.size), 1) - self.bias - bits
        return min(int(starts[np.searchsorted(gaps, above)]), self.top)

    def count(self, low: float, high: float) -> int:
        """How many lattice numbers lie in [low, high]."""
        inside_low, inside_high = self.ceil(low), self.floor(high)
        beyond = self.value(inside_low) < low or self.value(inside_high) > high
        return 0 if beyond else max(0, inside_high - inside_low + 1)
