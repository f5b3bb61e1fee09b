"""The lattice of machine numbers: order-preserving integers for a small floating-point format."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.errors import InvalidArgument

Ordinals = NDArray[np.int64]


@dataclass(frozen=True)
class MachineNumbers:
    """The floating-point numbers with one sign bit and so many bits of exponent and mantissa, in order.

    Number o of the lattice, for -top ≤ o ≤ top, is ±(1 + f/2^M)·2^(E - bias) where |o| = E·2^M + f, and
    ±f·2^(1 - bias - M) where E = 0, as in IEEE 754; but no pattern is spent on infinities or NaN. The lattice is finite
    and about evenly spaced in the logarithm: a base measure that needs no bounds. Every point of it is a float64.

    >>> lattice = MachineNumbers()
    >>> lattice.size == 2**50 - 1, lattice.value(lattice.floor(0.5)), lattice.value(lattice.ceil(np.inf)) > 1e77
    (True, 0.5, True)
    """

    exponent_bits: int = 9
    mantissa_bits: int = 40

    def __post_init__(self) -> None:
        for name, most in (("exponent_bits", 10), ("mantissa_bits", 52)):
            if checks.integer(name, getattr(self, name), least=2) > most:
                raise InvalidArgument(name, f"an integer from 2 to {most}", getattr(self, name))

    @property
    def bias(self) -> int:
        """The exponent field of the number 1."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def top(self) -> int:
        """The ordinal of the largest number."""
        return (1 << (self.exponent_bits + self.mantissa_bits)) - 1

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return 2 * self.top + 1

    def _magnitude(self, a: NDArray[np.float64]) -> Ordinals:
        """Ordinal of the largest lattice number that is at most a, for a ≥ 0."""
        shift, least_normal = 1023 - self.bias, 2.0 ** (1 - self.bias)
        normal = (a.view(np.int64) - (shift << 52)) >> (52 - self.mantissa_bits)
        small = np.ldexp(np.where(a < least_normal, a, 0.0), self.bias - 1 + self.mantissa_bits)
        return np.minimum(np.where(a < least_normal, small.astype(np.int64), normal), self.top)

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
        """Ordinals of the largest lattice numbers at most x; below the whole lattice, of its least."""
        return self._round(x, -1)

    def ceils(self, x: ArrayLike) -> Ordinals:
        """Ordinals of the least lattice numbers at least x; above the whole lattice, of its largest."""
        return self._round(x, 1)

    def values(self, ordinals: ArrayLike) -> NDArray[np.float64]:
        """The numbers with these ordinals."""
        ordinals = np.asarray(ordinals, np.int64)
        exponent, fraction = np.divmod(np.abs(ordinals), 1 << self.mantissa_bits)
        mantissa = np.where(exponent > 0, fraction + (1 << self.mantissa_bits), fraction).astype(np.float64)
        scale = np.maximum(exponent, 1) - self.bias - self.mantissa_bits
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

    def count(self, low: float, high: float) -> int:
        """How many lattice numbers lie in [low, high]."""
        inside_low, inside_high = self.ceil(low), self.floor(high)
        beyond = self.value(inside_low) < low or self.value(inside_high) > high
        return 0 if beyond else max(0, inside_high - inside_low + 1)
