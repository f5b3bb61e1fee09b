"""Real numbers known to as many digits as anyone asks for.

The digits come from ball arithmetic (Arb, through python-flint): every result is an interval that is guaranteed to
hold the true number. A question that the interval can't decide is asked again at twice the precision, so an answer
is never a guess. The numbers asked about here (e^-x and rational functions of it, for rational x ≠ 0) are
transcendental: they differ from every rational, so the doubling ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx, fmpq

LIMIT = 1 << 20
"""Precision in bits at which a comparison gives up. Only two equal numbers ever come here."""


SMALLEST = 1 << 16
"""Numbers below 2^-SMALLEST are not written out as fractions: e^-1000000000 would fill the memory."""


def ball(value: Fraction | int) -> arb:
    """The rational as a ball at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


def _dyadic(point: arb) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def lower(value: arb) -> Fraction:
    """The lower end of a ball, exactly. (Arb's own `lower()` rounds to the working precision.)"""
    return _dyadic(value.mid()) - _dyadic(value.rad())


def upper(value: arb) -> Fraction:
    """The upper end of a ball, exactly."""
    return _dyadic(value.mid()) + _dyadic(value.rad())


@dataclass(frozen=True, eq=False)
class Real:
    """A real number: an expression that gives a ball around it at whatever the working precision is.

    `exact` is set where the number is a known rational; then nothing needs refining.

    >>> third = Real.of(Fraction(1, 3))
    >>> third <= Fraction(1, 3), third < Fraction(1, 3)
    (True, False)
    >>> e = Real(lambda: arb(1).exp())
    >>> e.floor(bits=10), e <= Fraction(271828, 100000)
    (2783, False)
    """

    expression: Callable[[], arb]
    exact: Fraction | None = None

    @staticmethod
    def of(value: Fraction | int) -> Real:
        """A rational as a real."""
        return Real(lambda: ball(value), Fraction(value))

    def at(self, bits: int) -> arb:
        """A ball around the number, computed with so many bits."""
        with ctx.workprec(bits):
            return self.expression()

    def _refine(self, bits: int) -> Iterator[arb]:
        """Balls at doubling precision, each of them the working precision while the caller looks at it."""
        while bits <= LIMIT:
            with ctx.workprec(bits):
                yield self.expression()
            bits *= 2
        raise ArithmeticError(f"a real could not be told from its bound with {LIMIT} bits")

    def floor(self, bits: int = 0) -> int:
        """⌊x·2^bits⌋: the number's first binary digits, none of them approximate."""
        if self.exact is not None:
            return math.floor(self.exact * Fraction(2) ** bits)
        for value in self._refine(abs(bits) + 64):
            if (floor := (value * arb(2) ** bits).floor().unique_fmpz()) is not None:
                return int(floor)
        raise AssertionError("unreachable")

    def __le__(self, bound: Fraction) -> bool:
        return self.exact <= bound if self.exact is not None else self._below(bound)

    def __lt__(self, bound: Fraction) -> bool:
        return self.exact < bound if self.exact is not None else self._below(bound)

    def _below(self, bound: Fraction) -> bool:
        for value in self._refine(64):
            limit = ball(bound)
            if value < limit:
                return True
            if value > limit:
                return False
        raise AssertionError("unreachable")

    def bounds(self, bits: int = 96) -> tuple[Fraction, Fraction]:
        """Rationals on both sides of the number, about 2^-bits apart relative to its size."""
        if self.exact is not None:
            return self.exact, self.exact
        value = self.at(bits)
        if 0 < value < arb(2) ** -SMALLEST:
            return Fraction(0), Fraction(1, 1 << SMALLEST)
        return lower(value), upper(value)

    def __float__(self) -> float:
        return float(self.at(96).mid() if self.exact is None else self.exact)
