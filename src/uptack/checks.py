"""Checks of arguments, with one form of message: what it must be, what it was, what to do.

A check never prints the content of an array, which may be data.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Sized
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.errors import InvalidArgument, WrongArguments
from uptack.exact import read

LARGEST, SMALLEST = Fraction(np.finfo(np.float64).max), Fraction(1, 1 << 1074)
"""Bounds of numbers in arguments, the second for those that must be positive: floats must hold them."""

LEAST_CHANCE = Fraction(1, 10**300)
"""The least positive probability that is accepted."""

MOST_CELLS = 1_000_000
"""Cells, or categories, that one request may list: each takes memory and gets noise of its own."""

LEAST_DELTA = Fraction(1, 10**200)
"""The least positive δ of a release. Stages get parts of it, and a part below `LEAST_CHANCE` would be refused after
rows have been read."""

NO_NUMBERS = (bool, np.bool_, np.timedelta64)
"""Types that are integers to Python or NumPy, but are not meant as numbers."""

LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, 1 << 40), Fraction(10**9)
"""Bounds of the ε of a release. Below, no table has enough rows; above, nothing is hidden."""


def rational(name: str, value: object, must: str = "a finite rational number") -> Fraction:
    """The argument as a rational that is not beyond the floats."""
    try:
        number = value if type(value) is Fraction else Fraction(value) if type(value) is int else read(value)
    except ValueError:
        raise InvalidArgument(name, must, describe(value)) from None
    long = number.numerator.bit_length() - number.denominator.bit_length() > 1000  # comparisons take long products
    if long and abs(number) > LARGEST:
        raise InvalidArgument(name, f"{must}, at most 1.8e308", describe(value))
    return number


def _rational_that(holds: Callable[[Fraction], bool], name: str, value: object, must: str, fix: str = "") -> Fraction:
    """The argument as a rational, for which something must hold."""
    number = rational(name, value, must)
    if not holds(number):
        raise InvalidArgument(name, must, describe(value), fix)
    return number


def positive(name: str, value: object, fix: str = "") -> Fraction:
    """A rational above 0, and not beyond the floats."""
    number = _rational_that(lambda x: x > 0, name, value, "a positive number", fix)
    if number < SMALLEST:
        raise InvalidArgument(name, "a positive number, at least 4.9e-324", describe(value), fix)
    return number


def epsilon(value: object, name: str = "epsilon", fix: str = "") -> Fraction:
    """The ε of a release: a rational between 2^-40 and 10^9. The bounds are public, so the error tells nothing."""
    number = _rational_that(lambda x: x > 0, name, value, "a positive number", fix)
    if not LEAST_EPSILON <= number <= LARGEST_EPSILON:
        raise InvalidArgument(name, "a number between 2^-40, about 1e-12, and 1e9", describe(value), fix)
    return number


def nonnegative(name: str, value: object) -> Fraction:
    """A rational of at least 0."""
    return _rational_that(lambda x: x.numerator >= 0, name, value, "a number of at least 0")


def probability(name: str, value: object) -> Fraction:
    """A rational in [0, 1]."""
    return _rational_that(lambda x: 0 <= x <= 1, name, value, "a number in [0, 1]")


def inside_unit(name: str, value: object, fix: str = "") -> Fraction:
    """A rational in (0, 1), at least 10^-300 and not next to 1: floats must tell it from both ends."""
    number = _rational_that(lambda x: 0 < x < 1, name, value, "a number strictly between 0 and 1", fix)
    if number < LEAST_CHANCE or float(number) == 1:
        raise InvalidArgument(name, "a number between 1e-300 and 1 - 1e-16", describe(value), fix)
    return number


def delta(name: str, value: object, least: Fraction = LEAST_CHANCE) -> Fraction:
    """A rational in [0, 1): 0, or not too small."""
    number = rational(name, value, "a number in [0, 1)")
    if number.numerator == 0:
        return number
    if not 0 <= number < 1 or float(number) == 1:
        fix = "δ is the chance that the guarantee fails: choose it far below one over the number of rows."
        raise InvalidArgument(name, "a number in [0, 1)", describe(value), fix)
    if 0 < number < least:
        raise InvalidArgument(name, f"0, or a number of at least {float(least):g}", describe(value))
    return number


def integer(name: str, value: object, least: int) -> int:
    """An integer of at least `least`."""
    if isinstance(value, NO_NUMBERS) or not isinstance(value, Integral) or int(value) < least:
        raise InvalidArgument(name, f"an integer of at least {least}", describe(value))
    return int(value)


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidArgument(name, " or ".join(map(repr, allowed)), describe(value))
    return str(value)


def positional(
    function: str,
    names: Sequence[str],
    values: Sequence[Any],
    given: Container[str],
    *,
    more: bool = False,
    fix: str = "",
) -> dict[str, Any]:
    """Positional arguments by their names. Too many are refused (unless `more`), and one that is also given by name."""
    placed = dict(zip(names, values, strict=False))
    for name in placed:
        if name in given:
            raise WrongArguments(function, f"{name} once", f"it by position and as {name}=", fix)
    if len(values) > len(names) and not more:
        number = f"{len(names) or 'no'} positional argument{'s' if len(names) != 1 else ''}"
        raise WrongArguments(function, f"{number} ({', '.join(names)})" if names else number, len(values), fix)
    return placed


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """A question with the closest known name; "" if none is close.

    >>> did_you_mean("mediam", ["mean", "median"])
    "Did you mean 'median'?"
    """
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f"Did you mean {near[0]!r}?" if near else ""


def few(name: str, value: object, most: int, what: str, fix: str = "") -> None:
    """Refuses a public list that is too long, or a number that is too large, before the list is read."""
    size = int(value) if isinstance(value, int | np.integer) else _length(value)
    if size > most:
        raise InvalidArgument(name, f"at most {most:,} {what}", f"{size:,}" if size < 10**30 else "far more", fix)


def _length(value: object) -> int:
    """The length of a list; 0 if it has none."""
    try:
        return len(value) if isinstance(value, Sized) else 0
    except TypeError:  # an array of no dimension
        return 0
    except OverflowError:  # a range
        return 1 << 100


def lasting(name: str, value: Any) -> Any:
    """A copy of the argument that gives the same values whenever it is read.

    A request is read before its debit and again after it. An iterator would be empty by then, and the request would be
    refused after it was paid for.

    >>> lasting("keys", iter("ab")), lasting("levels", {"ward": (ward for ward in "ab")})
    (['a', 'b'], {'ward': ['a', 'b']})
    """
    if isinstance(value, Iterator):
        value = list(islice(value, MOST_CELLS + 1))
        few(name, value, MOST_CELLS, "entries")
    if isinstance(value, list):
        return [lasting(name, part) for part in value]
    if type(value) is tuple:
        return tuple(lasting(name, part) for part in value)
    if isinstance(value, dict):
        return {key: lasting(name, part) for key, part in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


def single(name: str, value: object, must: str = "one value", fix: str = "") -> None:
    """Refuses a list, an array or a frame in place of one value: comparing it gives no truth value."""
    listed = isinstance(value, list | tuple | set | frozenset | dict)
    if listed or (hasattr(value, "__array__") and not isinstance(value, np.generic)):
        raise InvalidArgument(name, must, outline(value), fix)


def left_out(name: str, value: object, when: str, fix: str = "") -> None:
    """Refuses an option that does not apply."""
    if value is not None:
        raise InvalidArgument(name, f"left out {when}", describe(value), fix)


def truth(name: str, value: object) -> bool:
    """True or False; 1 and 0 stand for them."""
    plain = isinstance(value, bool | np.bool_) or (type(value) is int and value in (0, 1))
    if not plain:
        raise InvalidArgument(name, "True or False", describe(value))
    return bool(value)


def instance(name: str, value: object, kind: type, must: str, fix: str = "") -> Any:
    """An object of the given type."""
    if not isinstance(value, kind):
        raise InvalidArgument(name, must, describe(value), fix)
    return value


def numbers(name: str, value: object, dimensions: tuple[int, ...] = (0, 1)) -> NDArray[np.float64]:
    """Public real numbers as a float array of an allowed dimension; NaN is read as 0, ±inf as the largest float.

    For options, not for data: an entry that is no number is an error. Numbers that were computed from rows are read by
    `uptack.table.values.entrance.numbers`.
    """
    array = _entries(name, value, dimensions)
    if array.dtype.kind == "O":
        if not all(_is_number(entry) for entry in array.flat):
            raise InvalidArgument(name, f"{_shapes(dimensions)} of real numbers", "other objects")
        array = np.array([_as_float(entry) for entry in array.flat]).reshape(array.shape)
    return np.nan_to_num(array.astype(np.float64))


def exact_numbers(name: str, value: object, dimensions: tuple[int, ...] = (0, 1)) -> NDArray[Any]:
    """Numbers computed from rows, with integers as they are: no two different ones become equal.

    An error must not depend on the data, so each entry that is not a number is read as 0.
    """
    array = _entries(name, value, dimensions)
    if array.dtype.kind != "O":
        return np.nan_to_num(array.astype(np.float64)) if array.dtype.kind == "f" else array
    exact = [int(e) if isinstance(e, Integral) else float(np.nan_to_num(_as_float(e))) for e in array.flat]
    return np.array(exact, object).reshape(array.shape)


def _entries(name: str, value: object, dimensions: tuple[int, ...]) -> NDArray[Any]:
    array = _array(value)
    kinds = "fiubO" if array is not None and (array.ndim or _is_number(array[()])) else ""
    if array is None or array.dtype.kind not in kinds or array.ndim not in dimensions or array.size == 0:
        raise InvalidArgument(name, f"{_shapes(dimensions)} of real numbers", outline(value))
    return array


def _shapes(dimensions: tuple[int, ...]) -> str:
    names = {0: "a number", 1: "a one-dimensional array", 2: "a two-dimensional array"}
    return " or ".join(names[d] for d in dimensions)


def _array(value: object) -> NDArray[Any] | None:
    """An array as it is, or the entries of anything else as objects; None if it can't be read.

    NumPy would choose one type for all entries of a list: one large integer would change how the others are read.
    """
    try:
        array = np.asarray(value) if hasattr(value, "__array__") else np.asarray(value, object)
    except Exception:
        return None
    return None if array.dtype.kind != "O" and array.itemsize > 8 else array


def _is_number(entry: object) -> bool:
    return isinstance(entry, Real | Decimal | np.bool_) and not isinstance(entry, np.timedelta64)


def _as_float(entry: Any) -> float:
    """One entry as a float; NaN if it is not a number."""
    if not _is_number(entry):
        return float("nan")
    try:
        return float(entry)
    except OverflowError:
        return float("inf") if entry > 0 else float("-inf")
    except ValueError:
        return float("nan")


def describe(value: object) -> str:
    """A short description of a public argument: scalars as they are unless they are long, other objects by type."""
    if isinstance(value, int | Fraction) and max(abs(value.numerator), value.denominator) > 10**100:
        return f"a very long {type(value).__name__}"
    if isinstance(value, Fraction):
        short = float(value)
        return repr(short) if Fraction(str(short)) == value else str(value)
    if isinstance(value, str) and len(value) > 80:
        return repr(value[:60]) + "..."
    if isinstance(value, str | float | int | complex | np.generic) or value is None:
        return repr(value)
    return outline(value)


def outline(value: object) -> str:
    """A description of an argument that holds data: its type and width, never its content or number of rows.

    >>> import numpy as np
    >>> outline(np.ones((8, 2))), outline(np.ones(8)), outline([1, 2])
    ('ndarray of shape (rows, 2)', 'ndarray of shape (rows,)', 'list')
    """
    shape = getattr(value, "shape", None)
    if not isinstance(shape, tuple):
        return type(value).__name__
    sides = ["rows", *map(str, shape[1:])] if shape else []
    return f"{type(value).__name__} of shape ({', '.join(sides)}{',' if len(sides) == 1 else ''})"
