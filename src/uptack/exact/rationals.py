"""Rationals inside, floats at the rim.

A float speaks decimal here, in both directions: `0.1` is read as 1/10, and 1/10 is shown as `0.1`. So three
releases at ε = 0.1 cost exactly 0.3, which with the binary value of the float they would not.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Rational as AnyRational
from typing import SupportsFloat, TypeAlias

import numpy as np

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


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def round_up(value: Fraction | SupportsFloat) -> float:
    """The least float that reads as at least this rational.

    >>> round_up(Fraction(3, 10)), round_up(Fraction(1, 3)) > 1 / 3
    (0.3, True)
    """
    value = Fraction(value)  # type: ignore[arg-type]
    nearest = _nearest(value)
    if math.isinf(nearest):
        return nearest if nearest > 0 else -math.nextafter(math.inf, 0)
    return nearest if read(nearest) >= value else math.nextafter(nearest, math.inf)


def round_down(value: Fraction) -> float:
    """The greatest float that reads as at most this rational."""
    return -round_up(-value)
