"""Order statistics by selection: one pass that puts a few ranks in place, never a full sort."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Window = tuple[int, int]

SCALE = 1074
"""Every finite float64 is an integer multiple of 2^-1074."""


_CHUNK = 1 << 15  # fits the cache
_HALF = 27


def exact_sum(x: NDArray[np.float64]) -> int:
    """Σx in units of 2^-1074, exactly.

    Each float is an integer of 53 bits times a power of two. The upper and lower halves of the integers are added up in
    a float of their own for each power: a sum of up to 2^26 halves stays below 2^53, and is exact.
    """
    total = 0
    for block in np.split(x, range(1 << 26, x.size, 1 << 26)):
        high, low = np.zeros(2047), np.zeros(2047)
        for start in range(0, block.size, _CHUNK):
            raw = block[start : start + _CHUNK].view(np.int64)
            power = (raw >> 52) & 2047
            whole = (raw & ((1 << 52) - 1)) | ((power > 0).astype(np.int64) << 52)
            signed = np.where(raw < 0, -whole, whole)
            high += np.bincount(power, weights=signed >> _HALF, minlength=2047)
            low += np.bincount(power, weights=signed & ((1 << _HALF) - 1), minlength=2047)
        for field in np.flatnonzero(high.astype(bool) | low.astype(bool)):
            total += ((int(high[field]) << _HALF) + int(low[field])) << max(int(field) - 1, 0)
    return total


class OrderStatistics:
    """x(1) ≤ ... ≤ x(n), known inside given windows of ranks, and infinite past the ends.

    The windows are asked for before the data are read. What lies between them is never sorted; only its exact sum is
    available.
    """

    def __init__(self, x: NDArray[np.generic], windows: Sequence[Window]) -> None:
        self.n, self._totals = x.size, dict[Window, int]()
        self._windows = merged([(max(a, 1), min(b, self.n)) for a, b in windows if a <= self.n and b >= 1])
        ends = sorted({rank - 1 for window in self._windows for rank in window})
        self._part = np.partition(x, ends) if ends else x
        for a, b in self._windows:
            self._part[a - 1 : b] = np.sort(self._part[a - 1 : b])

    def at(self, ranks: NDArray[np.int64]) -> Floats:
        """x(r) for ranks inside the windows; -inf for r < 1 and +inf for r > n."""
        inside = np.clip(ranks, 1, max(self.n, 1)) - 1
        found = self._part[inside].astype(np.float64) if self.n else np.zeros(len(ranks))
        return np.where(ranks < 1, -np.inf, np.where(ranks > self.n, np.inf, found))

    def total(self, first: int, last: int) -> int:
        """Σ of x(first), ..., x(last) in units of 2^-1074; both ends must lie in windows. Each is added up once."""
        if (first, last) not in self._totals:
            self._totals[first, last] = exact_sum(self._part[first - 1 : last].astype(np.float64, copy=False))
        return self._totals[first, last]


def merged(windows: Sequence[Window]) -> list[Window]:
    """Windows that overlap or touch joined into one."""
    out: list[Window] = []
    for a, b in sorted(windows):
        if out and a <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(b, out[-1][1]))
        else:
            out.append((a, b))
    return out


def as_integer(x: float) -> int:
    """A float in units of 2^-1074."""
    numerator, denominator = x.as_integer_ratio()
    return (numerator << SCALE) // denominator


def as_integers(x: Floats) -> list[int]:
    """Finite floats in units of 2^-1074: all at once, in a third of the time."""
    parts, powers = np.frexp(x)
    wholes, shifts = np.ldexp(parts, 53).astype(np.int64), powers.astype(np.int64) + (SCALE - 53)
    low = np.maximum(-shifts, 0)  # of subnormals, whose last bits are zeros
    return list(map(operator.lshift, (wholes >> low).tolist(), np.maximum(shifts, 0).tolist()))


def as_floats(units: Sequence[int], parts: int = 1) -> Floats:
    """`as_float` of each."""
    whole = parts << SCALE
    try:
        return np.array([each / whole for each in units], np.float64)
    except OverflowError:
        return np.array([as_float(each, parts) for each in units], np.float64)


def as_float(units: int, parts: int = 1) -> float:
    """The float nearest to so many units of 2^-1074, divided into parts; ±inf beyond the largest.

    Division of Python integers is rounded correctly, so it keeps order.
    """
    try:
        return units / (parts << SCALE)
    except OverflowError:
        return np.inf if units > 0 else -np.inf
