"""Residuals y - u·b at a rational point b, for rows of floats: in floats where that is enough, and exactly elsewhere.

A sign is read off the float where that exceeds a bound of its error, then off one of twice the digits, and else it is
worked out in integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack.table.exact_sum import Floats

Vector = list[Fraction]
ERROR, TINY = 2.0**-48, 2.0**-1000
"""The error of y - u·b for a rational b, over |y| + |u|·|b|: (p + 3)·2^-53 for p ≤ 8 with some room; and underflow."""

FINE = 2.0**-92
"""The same in twice the digits: about 8·p roundings of 2^-106."""


def exact(row: Floats) -> Vector:
    """Floats as rationals."""
    return [Fraction(float(v)) for v in row]


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """Σ a_j·b_j."""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def inverted(matrix: list[Vector]) -> list[Vector]:
    """The inverse, by Gauss and Jordan; the matrix is regular."""
    p = len(matrix)
    work = [[*row, *(Fraction(int(i == j)) for j in range(p))] for i, row in enumerate(matrix)]
    for c in range(p):
        pivot = next(i for i in range(c, p) if work[i][c] != 0)
        work[c], work[pivot] = work[pivot], work[c]
        work[c] = [v / work[c][c] for v in work[c]]
        for i in range(p):
            if i != c and work[i][c] != 0:
                work[i] = [v - work[i][c] * w for v, w in zip(work[i], work[c], strict=True)]
    return [row[p:] for row in work]


def nearest(x: Fraction) -> float:
    """The nearest float; NaN beyond the largest, which no filter believes."""
    try:
        return float(x)
    except OverflowError:
        return float("nan")


@dataclass(frozen=True)
class Residuals:
    """c_i - u_i·b for all rows: floats, a bound of their error, and exact values where asked for."""

    u: Floats
    c: Floats
    b: Vector
    floats: Floats
    error: Floats

    @staticmethod
    def of(u: Floats, c: Floats, b: Vector) -> Residuals:
        """In floats, and in twice the digits where these are in doubt."""
        near = np.array([nearest(v) for v in b])
        with np.errstate(all="ignore"):
            size = np.abs(c) + np.abs(u) @ np.abs(near)
            floats, error = c - u @ near, ERROR * size + TINY
            doubt = ~(np.abs(floats) > error)
            rest = np.array([nearest(v - Fraction(h)) if h == h else h for v, h in zip(b, near.tolist(), strict=True)])
            floats[doubt] = _twofold(u[doubt], c[doubt], near, rest)
            error[doubt] = FINE * size[doubt] + 2.0**-50 * np.abs(floats[doubt]) + TINY
            return Residuals(u, c, b, floats, error)

    def exact(self, i: int) -> Fraction:
        """The residual of one row."""
        return Fraction(float(self.c[i])) - dot(exact(self.u[i]), self.b)

    def signs(self) -> Floats:
        """-1, 0 or 1, exactly."""
        with np.errstate(all="ignore"):
            doubt = ~(np.abs(self.floats) > self.error)
        out = np.where(doubt, 0.0, np.sign(self.floats))
        whole, common = _common(self.b)
        touched = (self.c != 0) | self.u[:, [v != 0 for v in self.b]].any(axis=1)
        rows = np.flatnonzero(doubt & touched)
        out[rows] = _signs(np.column_stack([self.c[rows], self.u[rows]]), whole, common)
        return out


def _twofold(u: Floats, c: Floats, b: Floats, rest: Floats) -> Floats:
    """c - u·(b + rest) in twice the digits: sums and products with their rounding errors (Dekker 1971)."""
    high, low = c.copy(), np.zeros(len(c))
    for column, h, r in zip(u.T, b, rest, strict=True):
        product = column * h
        a, d = _split(column), _split(np.full(1, h))
        error = ((a * d - product) + a * (h - d) + (column - a) * d) + (column - a) * (h - d)
        total = high - product
        back = total - high
        low += (high - (total - back)) - (product + back) - error - column * r
        high = total
    return high + low


def _split(x: Floats) -> Floats:
    """The upper half of the digits."""
    large: Floats = x * (2.0**27 + 1)
    return large - (large - x)


def _common(b: Vector) -> tuple[list[int], int]:
    """Numerators over a common denominator."""
    common = math.lcm(*(v.denominator for v in b))
    return [int(v * common) for v in b], common


def _signs(rows: Floats, whole: list[int], common: int) -> NDArray[np.int64]:
    """The signs of c - u·whole/common for rows (c, u) of floats, in integers as long as they need to be."""
    mantissa, power = np.frexp(rows)
    power = np.where(rows == 0, power.max(axis=1, keepdims=True), power)
    shift = (power - power.min(axis=1, keepdims=True)).astype(object)
    c, *u = ((mantissa * 2.0**53).astype(np.int64).astype(object) << shift).T
    value: NDArray[np.object_] = c * common - sum(column * b for column, b in zip(u, whole, strict=True))
    signs: NDArray[np.int64] = (value > 0).astype(np.int64) - (value < 0).astype(np.int64)
    return signs
