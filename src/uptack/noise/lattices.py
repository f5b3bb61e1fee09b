"""Public lattices: grids that noise lives on, and the machine numbers that answers are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational

Floats = NDArray[np.float64]
Ordinals = NDArray[np.int64]
_EXACT = 2.0**62
LEAST_EXPONENT = -1200
"""2 to this power is far below the least float above 0: no finer grid is of any use."""


@dataclass(frozen=True)
class MachineNumbers:
    """Floating-point numbers with one sign bit and the given bits of exponent and mantissa, in order; fewer far from 1.

    Number o of the lattice, for -top ≤ o ≤ top, is ±(1 + f/2^M)·2^(E - bias) if |o| is the f-th ordinal of exponent
    field E, and ±f·2^(1 - bias - M) if E = 0, as in IEEE 754. There are no infinities and no NaN. The lattice is finite
    and roughly evenly spaced on the log scale, so it is a base measure that needs no bounds. Every point is a float64.

    M is `mantissa_bits` near 1. The binade of 2^e has (1 + |e|/8)² times fewer points, rounded to a power of two, but
    no fewer than 4. With as many everywhere, half of all points would lie between -1 and 1, most of them very close to
    0, where few answers are. Here the very small and the very large numbers together weigh no more than the 17 binades
    around 1.

    >>> lattice = MachineNumbers()
    >>> lattice.size < 2**46, lattice.value(lattice.floor(0.5)), lattice.value(lattice.ceil(np.inf)) > 1e77
    (True, 0.5, True)
    """

    exponent_bits: int = 9
    mantissa_bits: int = 40

    def __post_init__(self) -> None:
        for name, most in (("exponent_bits", 10), ("mantissa_bits", 52)):
            if checks.integer(name, getattr(self, name), least=2) > most:
                raise InvalidArgument(name, f"an integer from 2 to {most}", getattr(self, name))

    @cached_property
    def bias(self) -> int:
        """The exponent field of the number 1."""
        return (1 << (self.exponent_bits - 1)) - 1

    @cached_property
    def _tables(self) -> tuple[Ordinals, Ordinals]:
        """For each exponent field E: how many mantissa bits it has, and the ordinal at which it starts."""
        away = [abs(max(field, 1) - self.bias) for field in range(1 << self.exponent_bits)]
        lost = [(((e + 8) ** 2) // 64).bit_length() - 1 for e in away]
        bits = np.array([max(self.mantissa_bits - drop, 2) for drop in lost], np.int64)
        return bits, np.concatenate(([0], np.cumsum(1 << bits)))

    @cached_property
    def top(self) -> int:
        """The ordinal of the largest number."""
        return int(self._tables[1][-1]) - 1

    @cached_property
    def size(self) -> int:
        return 2 * self.top + 1

    def _magnitude(self, a: Floats) -> Ordinals:
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
        away = np.sign(x) == towards
        away[away] = (self.values(ordinal[away]) < a[away]) & (ordinal[away] < self.top)
        rounded: Ordinals = np.where(x < 0, -(ordinal + away), ordinal + away)
        return rounded

    def floors(self, x: ArrayLike) -> Ordinals:
        """Ordinals of the largest lattice numbers at most x; of the least number if x is below the lattice."""
        return self._round(x, -1)

    def ceils(self, x: ArrayLike) -> Ordinals:
        """Ordinals of the least lattice numbers at least x; of the largest number if x is above the lattice."""
        return self._round(x, 1)

    def values(self, ordinals: ArrayLike) -> Floats:
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
        return int(self.floors(x)[0])

    def ceil(self, x: float) -> int:
        return int(self.ceils(x)[0])

    def value(self, ordinal: int) -> float:
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


def _power_of_two(value: Fraction) -> int | None:
    """The exponent e with 2^e = value, if there is one."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if value == Fraction(2) ** exponent else None


@dataclass(frozen=True)
class Grid:
    """The multiples of a step. The step is a power of two, so floats are scaled to it without rounding.

    **Sensitivity.** Rounding to the nearest multiple changes the distance of two reals by at most one step. So if
    |a - b| ≤ Δ, their grid points are at most ⌈Δ/step⌉ + 1 steps apart. Over d coordinates, ‖a - b‖₁ ≤ Δ gives
    ⌈Δ/step⌉ + d, and ‖a - b‖₂ ≤ Δ gives Δ/step + sqrt(d).

    >>> Grid("1/4").move(np.array([0.3, 7.0]), np.array([1, -2]))
    array([0.5, 6.5])
    """

    step: Rational

    def __post_init__(self) -> None:
        step = checks.rational("step", self.step, "a power of two")
        exponent = _power_of_two(step) if step > 0 else None
        if exponent is None or exponent < LEAST_EXPONENT:
            must = "a power of two" + ("" if exponent is None else ", at least 2^-1200")
            raise InvalidArgument("step", must, checks.describe(self.step), "Try 2**-7 for 0.01.")
        object.__setattr__(self, "step", step)

    @staticmethod
    def finer_than(size: Fraction, bits: int = 16) -> Grid:
        """The grid with at least 2^bits steps to the given size, and less than four times as many."""
        exponent = size.numerator.bit_length() - size.denominator.bit_length() - 1
        return Grid(Fraction(2) ** (exponent - bits))

    @property
    def exponent(self) -> int:
        """The e with step = 2^e."""
        exponent = _power_of_two(Fraction(self.step))
        assert exponent is not None
        return exponent

    def steps(self, x: Floats) -> Floats:
        """The number of steps to the nearest grid point: integers, stored as floats."""
        with np.errstate(over="ignore"):
            return np.asarray(np.rint(np.nan_to_num(np.ldexp(x, -self.exponent))))

    def values(self, steps: Floats) -> Floats:
        """The floats nearest to these numbers of steps; the largest float if they are beyond it."""
        with np.errstate(over="ignore"):
            return np.asarray(np.nan_to_num(np.ldexp(steps, self.exponent)))

    def points(self, steps: Sequence[int]) -> Floats:
        """The same for integers of any size."""
        largest = Fraction(np.finfo(np.float64).max)
        exact = (k * Fraction(self.step) for k in steps)
        return np.array([float(min(max(point, -largest), largest)) for point in exact])

    def move(self, x: Floats, noise: NDArray[np.int64]) -> Floats:
        """The grid points nearest to x, moved by whole steps.

        The sum is exact before it is converted to a float, so the result depends on x only through that sum.
        """
        steps = self.steps(x)
        small = np.abs(steps) < _EXACT
        moved = self.values((np.where(small, steps, 0).astype(np.int64) + noise).astype(np.float64))
        for i in np.flatnonzero(~small):
            moved[i] = self.points([round(Fraction(float(x[i])) / Fraction(self.step)) + int(noise[i])])[0]
        return moved
