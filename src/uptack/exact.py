"""Exact numbers: rationals in and out of floats, and reals known to any precision.

**Rationals.** A float speaks decimal here, in both directions: `0.1` is read as 1/10, and 1/10 is shown as `0.1`. So
three releases at ε = 0.1 cost exactly 0.3, which with the binary value of the float they would not.

**Reals.** The digits come from ball arithmetic (Arb, through python-flint): every result is an interval that is
guaranteed to hold the true number. A question that the interval can't decide is asked again at twice the precision, so
an answer is never a guess. The numbers asked about here (e^-x and rational functions of it, for rational x ≠ 0) are
transcendental: they differ from every rational, so the doubling ends.

**Threads.** python-flint has one working precision for the whole process (`ctx.prec`). A thread that changes it while
another computes makes the other's balls wider, or leaves it changed for good. So every computation with balls goes
through `working`, which lets one thread in at a time.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational as AnyRational
from typing import SupportsFloat, TypeAlias, TypeVar

import numpy as np
from flint import acb, arb, ctx, fmpq

Rational: TypeAlias = Fraction | Decimal | float | int | str

LARGEST_EXPONENT = 10_000
"""Decimal exponents beyond it are not read."""


def read(value: object) -> Fraction:
    """The rational that a number stands for; `ValueError` where it stands for none.

    >>> read(0.1), read("1/3"), read(2)
    (Fraction(1, 10), Fraction(1, 3), Fraction(2, 1))
    """
    if type(value) is Fraction:  # by far the most
        return value
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{value!r} is a truth value")
    if isinstance(value, np.timedelta64):  # which NumPy counts among the integers
        raise ValueError(f"{value!r} is a duration")
    if isinstance(value, AnyRational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, float | np.floating):
        value = str(value)
    if not isinstance(value, str | Decimal):
        raise ValueError(f"{type(value).__name__} is not a rational number")
    if (number := _decimal(str(value))) is None:
        raise ValueError("it is not a finite number, or one with a very large exponent")
    return number


def _decimal(text: str) -> Fraction | None:
    """A text as a rational. 1e1000000000 would fill the memory, so exponents are bounded."""
    _, _, exponent = text.lower().partition("e")
    try:
        if exponent and abs(int(exponent)) > LARGEST_EXPONENT:
            return None
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def round_up(value: Fraction | SupportsFloat) -> float:
    """The least float that reads as at least this rational.

    >>> round_up(Fraction(3, 10)), round_up(Fraction(1, 3)) > 1 / 3
    (0.3, True)
    """
    value = Fraction(value)  # type: ignore[arg-type]
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0)
    return nearest if read(nearest) >= value else math.nextafter(nearest, math.inf)


Number = TypeVar("Number", float, Fraction)


def least(holds: Callable[[int], bool], near: int = 0) -> int:
    """The least integer for which a monotone statement holds: false below it, true from it on. Probably next to `near`.

    >>> least(lambda k: k**3 >= 1000, near=7)
    10
    """
    low = high = near
    stride = 1
    if holds(near):
        while holds(low := high - stride):
            high, stride = low, 2 * stride
    else:
        while not holds(high := low + stride):
            low, stride = high, 2 * stride
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def bisect(holds: Callable[[Number], bool], low: Number, high: Number, halvings: int) -> tuple[Number, Number]:
    """A bracket that is halved so often, of a monotone statement that fails at its lower end and holds at its upper.

    >>> bisect(lambda x: x**2 >= 2, 1.0, 2.0, halvings=3)
    (1.375, 1.5)
    """
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


# ---------------------------------------- reals

Answer = TypeVar("Answer")

LIMIT = 1 << 20
"""Precision in bits at which a comparison gives up. Only two equal numbers ever come here."""

SMALLEST = 1 << 16
"""Numbers below 2^-SMALLEST are not written out as fractions: e^-1000000000 would fill the memory."""

_ARITHMETIC = threading.RLock()
"""Held by the thread that computes with balls."""

# A child process must not inherit a lock that a thread held which does not exist in it, nor that thread's precision.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_ARITHMETIC.acquire, after_in_parent=_ARITHMETIC.release, after_in_child=_ARITHMETIC.release
    )


@contextmanager
def working(bits: int) -> Iterator[None]:
    """The working precision, for this thread alone: others wait for their turn. It may be nested."""
    with _ARITHMETIC, ctx.workprec(bits):
        yield


def ball(value: Fraction | int) -> arb:
    """The rational as a ball at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


def theta(a: arb) -> arb:
    """Σ e^(-a·j²) over all integers j, for a > 0: Jacobi's θ₃(0 | ia/π), at the working precision.

    >>> with working(64):
    ...     float(theta(arb(1)))
    1.7726...
    """
    return acb.modular_theta(acb(0), acb(0, a / arb.pi()))[2].real


def logarithm(value: Fraction) -> float:
    """ln of a positive rational, to within rounding: also where it is next to 1, or far out of the floats' range."""
    return float(Real(lambda: ball(value).log()))


def exp_minus(x: Fraction) -> Real:
    """The real number e^-x."""
    return Real.of(1) if x == 0 else Real(lambda: (-ball(x)).exp())


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

    def complement(self) -> Real:
        """1 - x."""
        return Real(lambda: 1 - self.expression(), None if self.exact is None else 1 - self.exact)

    def at(self, bits: int) -> arb:
        """A ball around the number, computed with this many bits."""
        with working(bits):
            return self.expression()

    def _decide(self, bits: int, question: Callable[[arb], Answer | None]) -> Answer:
        """The answer to a question about balls at doubling precision, as soon as it is not None."""
        while bits <= LIMIT:
            with working(bits):
                answer = question(self.expression())
            if answer is not None:
                return answer
            bits *= 2
        raise ArithmeticError(f"a real could not be distinguished from its bound with {LIMIT} bits")

    def floor(self, bits: int = 0) -> int:
        """⌊x·2^bits⌋: the number's first binary digits, none of them approximate."""
        if self.exact is not None:
            return math.floor(self.exact * Fraction(2) ** bits)
        return int(self._decide(abs(bits) + 64, lambda value: (value * arb(2) ** bits).floor().unique_fmpz()))

    def __le__(self, bound: Fraction) -> bool:
        return self.exact <= bound if self.exact is not None else self._below(bound)

    def __lt__(self, bound: Fraction) -> bool:
        return self.exact < bound if self.exact is not None else self._below(bound)

    def _below(self, bound: Fraction) -> bool:
        def question(value: arb) -> bool | None:
            limit = ball(bound)
            return True if value < limit else False if value > limit else None

        return self._decide(64, question)

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
