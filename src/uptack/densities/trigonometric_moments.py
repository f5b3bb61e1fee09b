"""Trigonometric moments of rows in cells, as exact sums of integers."""

from __future__ import annotations

import functools
import itertools

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

CELLS = 1 << 16
"""Cells that a row may be in: 64 or more to a wave of the highest frequency."""

UNIT = 1 << 24
"""Steps to 1 in which moments are counted."""

PIECE = 1 << 16
"""Cells whose units are added up at a time: 2^16 products of 16 bits with a cosine of 24 bits stay below 2^63."""


@functools.lru_cache(maxsize=1)
def cosines() -> Integers:
    """The integers nearest to 2^24·cos(2πk/2^16), for k = 0, ..., 2^16 - 1.

    Floats have them to within 1e-8, and none of them is within 1e-6 of a half: the tests look at all, with balls.
    """
    quarter = np.floor(UNIT * np.cos(np.arange(CELLS // 4 + 1) * (2 * np.pi / CELLS)) + 0.5).astype(np.int64)
    half = np.concatenate([quarter, -quarter[-2::-1]])
    table = np.concatenate([half, half[-2:0:-1]])
    table.setflags(write=False)
    return table


def half_lattice(degree: int, dimension: int) -> Integers:
    """The frequencies k in {-m, ..., m}^d whose first entry that is not 0 is above it: of k and -k one."""
    span = range(-degree, degree + 1)
    zero = (0,) * dimension
    return np.array([k for k in itertools.product(span, repeat=dimension) if k > zero], np.int64)


def moment_sums(cells: Integers, counts: Integers, frequencies: Integers, unit: int = 1) -> Integers:
    """Σ over rows of the integers nearest to 2^24·e^(2πi k·cell/2^16), in two parts for each frequency k.

    Where counts are in units, of which so many count for one, the exact sum over `unit` is rounded to an integer.
    """
    table = cosines()
    sums = np.empty((len(frequencies), 2), np.int64)
    for i, k in enumerate(frequencies):
        angle = cells @ k
        parts = table[angle & (CELLS - 1)], table[(angle - CELLS // 4) & (CELLS - 1)]  # CELLS is a power of 2
        sums[i] = [counts @ part if unit == 1 else (2 * _exact(counts, part) + unit) // (2 * unit) for part in parts]
    return sums


def _exact(units: Integers, table: Integers) -> int:
    """Σ units·table, exactly: halves of the units, and pieces of the sum, that 64 bits hold."""
    total = 0
    for start in range(0, units.size, PIECE):
        some, part = units[start : start + PIECE], table[start : start + PIECE]
        total += (int((some >> 32) @ part) << 32) + (int((some >> 16 & 0xFFFF) @ part) << 16)
        total += int((some & 0xFFFF) @ part)
    return total
