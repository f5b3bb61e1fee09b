"""Logarithms, exponentials and powers, to the last bit the same in every batch and on every machine.

They are made of sums, products, quotients, roots and powers of two, which IEEE 754 defines to the last bit. Those of
NumPy and of C libraries are not: they differ from processor to processor, and may differ with where a row stands. With
these, what a row becomes depends on that row alone, on whichever executor it is.

Errors are up to three units in the last place, of x^y up to |y| + 2·|y ln x| + 2 units, where that is a normal float.
What is not defined is NaN. Overflows are infinite, and callers see to it that nothing warns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.table.exact_sum import Floats

LN2 = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
"""ln 2 in two parts. The first has 32 bits, so whole numbers up to 2^20 times it are exact."""
LOG2E, LOG10E = float.fromhex("0x1.71547652b82fep+0"), float.fromhex("0x1.bcb7b1526e50ep-2")
"""1/ln 2 and 1/ln 10, as the floats next to them."""

TANH = tuple(2 / (2 * k + 1) for k in range(13, 0, -1))
"""ln((1 + s)/(1 - s)) = 2s + s·Σ 2/(2k + 1)·s^2k: for |s| up to 0.172 the next term is below 2^-70."""
TAYLOR = tuple(1 / math.factorial(k) for k in range(18, 0, -1))
"""e^r = 1 + r·Σ r^(k-1)/k!: for |r| up to 1/2 the next term is below 2^-75."""

BEYOND = 800.0
"""e to this is infinite, and to its negative 0."""
WHOLE = 64
"""Powers up to this that are whole numbers are products."""
STEP = 1 << 14
"""Rows at a time, so that what is worked out on the way is small."""


def _in_steps(f: Callable[..., Floats]) -> Callable[..., Any]:
    """The same function of numbers, or of arrays of one dimension, some rows at a time."""

    @wraps(f)
    def stepped(*arguments: Any) -> Any:
        given = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in arguments))
        rows = [np.atleast_1d(one) for one in given]
        out = np.empty(rows[0].size)
        for start in range(0, out.size, STEP):
            out[start : start + STEP] = f(*(one[start : start + STEP] for one in rows))
        return out.reshape(given[0].shape)

    return stepped


def _series(terms: tuple[float, ...], t: Floats) -> Floats:
    """Σ terms·t^k, the highest power first."""
    total = np.full_like(t, terms[0])
    for term in terms[1:]:
        total = total * t + term
    return total


def _near_one(f: Floats) -> Floats:
    """ln(1 + f) for f between sqrt(1/2) - 1 and sqrt(2) - 1.

    With s = f/(2 + f) and R the series without its first term it is f - (f²/2 - s·(f²/2 + R)).
    """
    s, half = f / (2 + f), 0.5 * f * f
    square = s * s
    return np.asarray(f - (half - s * (half + square * _series(TANH, square))), np.float64)


def _split_powers(x: Floats) -> tuple[Floats, Floats]:
    """Of positive finite numbers k and f, with x = 2^k·(1 + f) and f as `_near_one` takes it; of others 0."""
    mantissa, exponent = np.frexp(np.where((x > 0) & (x < np.inf), x, 1.0))
    small = mantissa < math.sqrt(0.5)
    return (exponent - small).astype(np.float64), np.where(small, 2 * mantissa, mantissa) - 1


def _extend(x: Floats, inside: Floats) -> Floats:
    """A logarithm of positive finite numbers, with what it is for others."""
    beyond = np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, np.nan))
    return np.where((x > 0) & (x < np.inf), inside, beyond)


@_in_steps
def log(x: Floats) -> Floats:
    """ln x = k·ln 2 + ln(1 + f)."""
    k, f = _split_powers(x)
    return _extend(x, k * LN2[0] + (_near_one(f) + k * LN2[1]))


@_in_steps
def log2(x: Floats) -> Floats:
    """k + ln(1 + f)/ln 2, which is exact for powers of two."""
    k, f = _split_powers(x)
    return _extend(x, k + _near_one(f) * LOG2E)


def log10(x: Any) -> Any:
    """ln x/ln 10."""
    return log(x) * LOG10E


@_in_steps
def log1p(x: Floats) -> Floats:
    """ln(1 + x). Where 1 + x is rounded, what was lost is added in proportion."""
    near = (x > -0.29) & (x < 0.41)
    u = 1 + x
    lost = np.where(np.abs(x) < 1, x - (u - 1), 1 - (u - x)) / u
    far = log(u) + np.where(np.isfinite(lost), lost, 0.0)
    return np.where(near, _near_one(np.where(near, x, 0.0)), far)


@_in_steps
def exp(x: Floats) -> Floats:
    """e^x = 2^k·e^r with k the whole number next to x/ln 2."""
    known = ~np.isnan(x)
    inside = np.where(known, np.clip(x, -BEYOND, BEYOND), 0.0)
    k = np.rint(inside * LOG2E)
    r = (inside - k * LN2[0]) - k * LN2[1]
    return np.where(known, np.ldexp(1 + r * _series(TAYLOR, r), k.astype(np.intc)), np.nan)


@_in_steps
def expm1(x: Floats) -> Floats:
    """e^x - 1, by its series where that is small."""
    near = np.abs(x) < 0.5
    inside = np.where(near, x, 0.0)
    return np.where(near, inside * _series(TAYLOR, inside), exp(x) - 1)


@_in_steps
def power(x: Floats, y: Floats) -> Floats:
    """x^y: products for whole numbers up to 64, roots for 1/2, and else e^(y·ln x) with the sign of x if y is odd."""
    whole, half = y == np.rint(y), np.abs(y) == 0.5
    short = whole & (np.abs(y) <= WHOLE)
    found = _invert_negative(_product(x, np.where(short, np.abs(y), 0.0).astype(np.int64)), y)
    if not short.all():
        odd = whole & (np.abs(np.remainder(y, 2)) == 1)
        sign = np.where(x < 0, np.where(whole, np.where(odd, -1.0, 1.0), np.nan), 1.0)
        curved = np.where(x == 1, 1.0, sign * exp(y * log(np.abs(x))))
        found = np.where(short, found, np.where(half, _invert_negative(np.sqrt(x), y), curved))
    return found


def _invert_negative(value: Floats, y: Floats) -> Floats:
    """1 over it for negative powers."""
    return np.where(y < 0, 1 / value, value)


def _product(x: Floats, times: NDArray[np.int64]) -> Floats:
    """x·x·…·x, by squares."""
    found, square = np.ones_like(x), x
    for bit in range(WHOLE.bit_length()):
        found = np.where(times >> bit & 1, found * square, found)
        square = square * square
    return found
