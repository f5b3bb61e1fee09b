"""Rounding of reals to a public grid, and the sensitivity after rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational

Floats = NDArray[np.float64]
_EXACT = 2.0**62
LEAST_EXPONENT = -1200
"""2 to this power is far below the least float above 0: no finer grid is of any use."""


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
            steps: Floats = np.rint(np.nan_to_num(np.ldexp(x, -self.exponent)))
        return steps

    def values(self, steps: Floats) -> Floats:
        """The floats nearest to so many steps; beyond the floats, the largest one."""
        with np.errstate(over="ignore"):
            values: Floats = np.nan_to_num(np.ldexp(steps, self.exponent))
        return values

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
