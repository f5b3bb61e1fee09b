"""Arguments are checked in one place, with one form of message: what it must be, what it was, what to do.

A check never prints the content of an array: it may be data.
"""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.errors import InvalidArgument
from uptack.exact import read


def rational(name: str, value: object, must: str = "a finite rational number") -> Fraction:
    """The argument as a rational."""
    try:
        return read(value)
    except ValueError:
        raise InvalidArgument(name, must, describe(value)) from None


def positive(name: str, value: object, fix: str = "") -> Fraction:
    """A rational above 0."""
    number = rational(name, value, "a positive number")
    if number <= 0:
        raise InvalidArgument(name, "a positive number", describe(value), fix)
    return number


def nonnegative(name: str, value: object) -> Fraction:
    """A rational of at least 0."""
    number = rational(name, value, "a number of at least 0")
    if number < 0:
        raise InvalidArgument(name, "a number of at least 0", describe(value))
    return number


def probability(name: str, value: object) -> Fraction:
    """A rational in [0, 1]."""
    number = rational(name, value, "a number in [0, 1]")
    if not 0 <= number <= 1:
        raise InvalidArgument(name, "a number in [0, 1]", describe(value))
    return number


def inside_unit(name: str, value: object, fix: str = "") -> Fraction:
    """A rational in (0, 1), both ends left out."""
    number = rational(name, value, "a number strictly between 0 and 1")
    if not 0 < number < 1:
        raise InvalidArgument(name, "a number strictly between 0 and 1", describe(value), fix)
    return number


def delta(name: str, value: object) -> Fraction:
    """A rational in [0, 1)."""
    number = rational(name, value, "a number in [0, 1)")
    if not 0 <= number < 1:
        fix = "δ is the chance that the guarantee fails: choose it far below one over the number of rows."
        raise InvalidArgument(name, "a number in [0, 1)", describe(value), fix)
    return number


def integer(name: str, value: object, least: int) -> int:
    """An integer of at least `least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or int(value) < least:
        raise InvalidArgument(name, f"an integer of at least {least}", describe(value))
    return int(value)


def instance(name: str, value: object, kind: type, must: str, fix: str = "") -> Any:
    """An object of the given type."""
    if not isinstance(value, kind):
        raise InvalidArgument(name, must, describe(value), fix)
    return value


def numbers(name: str, value: object, dimensions: tuple[int, ...] = (0, 1)) -> NDArray[np.float64]:
    """Public real numbers as a float array of an allowed dimension; ±inf is read as the largest float.

    For options, not for data: what is no number is an error. Values that were computed from rows are read by
    `uptack.columns.entrance.numbers`.
    """
    words = {0: "a number", 1: "a one-dimensional array", 2: "a two-dimensional array"}
    must = " or ".join(words[d] for d in dimensions) + " of real numbers"
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or array.ndim not in dimensions or array.size == 0 or array.itemsize > 8:
            raise TypeError
    except (TypeError, ValueError):
        raise InvalidArgument(name, must, describe(value)) from None
    return np.nan_to_num(array.astype(np.float64))


def describe(value: object) -> str:
    """A short word on an argument: scalars as they are, arrays and other objects by their kind only."""
    try:
        if isinstance(value, Fraction):
            return str(value)
        if isinstance(value, str | float | int | complex | np.generic) or value is None:
            return repr(value)
    except ValueError:  # Python does not write integers of more than 4300 digits
        return f"a number of type {type(value).__name__} with thousands of digits"
    return outline(value)


def outline(value: object) -> str:
    """A word on an argument that holds data: its type and its shape, never its content."""
    shape = getattr(value, "shape", None)
    return type(value).__name__ + (f" of shape {tuple(shape)}" if isinstance(shape, tuple) else "")
