"""Concordant and discordant pairs of rows, counted exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def places(x: NDArray[np.generic]) -> Integers:
    """0, 1, 2, ... in the order of the values; equal values have equal places, -0.0 and 0.0 too."""
    return np.asarray(np.unique(x, return_inverse=True)[1], np.int64).reshape(-1)


def smaller_before(r: Integers) -> Integers:
    """For each i the number of j < i with r_j < r_i, for r_i ≥ 0: the digits of r are looked at from the highest on.

    Rows are kept in the order of the digits seen so far, and otherwise in their own. Among rows that agree in these, a
    row with a 1 next is above those before it with a 0; and the zeros go first. Each digit takes O(n).

    >>> smaller_before(np.array([2, 1, 2, 0, 3])).tolist()
    [0, 0, 1, 0, 4]
    """
    keys, total, here = r, np.zeros(r.size, np.int64), np.arange(r.size)
    for bit in reversed(range(int(r.max(initial=0)).bit_length())):
        high, zero = keys >> (bit + 1), 1 - ((keys >> bit) & 1)
        first = np.flatnonzero(np.diff(high, prepend=-1))  # where each run of equal high digits begins
        lengths = np.diff(first, append=keys.size)
        zeros = np.cumsum(zero)
        before = zeros[first] - zero[first]
        seen = zeros - zero - np.repeat(before, lengths)
        start = np.repeat(first, lengths)
        inside = np.repeat(np.add.reduceat(zero, first), lengths)
        total = total + np.where(zero == 0, seen, 0)
        place = np.where(zero == 1, start + seen, here + inside - seen)
        moved = np.empty((2, r.size), np.int64)
        moved[:, place] = keys, total
        keys, total = moved
    out = np.empty(r.size, np.int64)
    out[np.argsort(r, kind="stable")] = total
    return out


def concordance(x: NDArray[np.generic], y: NDArray[np.generic]) -> Integers:
    """s_i = Σ over j of sgn(x_i - x_j)·sgn(y_i - y_j): concordant less discordant partners of each row.

    With strictly smaller partners in both (`both`) counted by `smaller_before`, all else are counts in one column, and
    counts of rows that tie in the other.

    >>> concordance(np.array([1, 2, 3, 3]), np.array([1, 3, 2, 2])).tolist()
    [3, -1, 0, 0]
    """
    a, b = places(x), places(y)
    order = np.lexsort((-b, a))
    both: Integers = np.zeros(a.size, np.int64)
    both[order] = smaller_before(b[order])
    (below, above), (under, _) = _beside(a), _beside(b)
    (tied_below, tied_above), (tied_under, _) = _beside_among(a, b), _beside_among(b, a)
    mixed_low = below - both - tied_below  # smaller x, larger y
    mixed_high = under - both - tied_under  # larger x, smaller y
    return np.asarray(both + (above - mixed_high - tied_above) - mixed_low - mixed_high, np.int64)


def _beside(a: Integers) -> tuple[Integers, Integers]:
    """How many values are smaller, and how many are larger."""
    counts = np.bincount(a)
    upto: Integers = np.cumsum(counts, dtype=np.int64)
    below: Integers = (upto - counts)[a]
    return below, a.size - upto[a]


def _beside_among(a: Integers, b: Integers) -> tuple[Integers, Integers]:
    """How many rows with an equal b have a smaller a, and how many a larger one."""
    order = np.lexsort((a, b))
    rows, runs = _runs(b[order]), _runs(b[order] * (int(a.max(initial=0)) + 1) + a[order])
    below, above = np.zeros(a.size, np.int64), np.zeros(a.size, np.int64)
    below[order], above[order] = runs[0] - rows[0], rows[1] - runs[1]
    return below, above


def _runs(keys: Integers) -> tuple[Integers, Integers]:
    """Where the run of equal keys of each place begins and ends."""
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    lengths = np.diff(first, append=keys.size)
    begins = np.repeat(first, lengths)
    return begins, begins + np.repeat(lengths, lengths)


def exceedance(x: NDArray[np.generic], y: NDArray[np.generic]) -> int:
    """Σ over all i, j of sgn(x_i - y_j): Mann and Whitney's 2U - n₁n₀."""
    ordered = np.sort(y)
    below = np.searchsorted(ordered, x, side="left").astype(np.int64)
    upto = np.searchsorted(ordered, x, side="right").astype(np.int64)
    return int(below.sum()) + int(upto.sum()) - x.size * y.size


def square_sum(s: Integers) -> int:
    """Σ s_i², which may leave 64 bits where no s_i² does."""
    squares = s * s
    return (int((squares >> 32).sum()) << 32) + int((squares & 0xFFFFFFFF).sum())


MOST_ROWS = 1 << 24
"""Up to so many rows the roundings of τ-b move the count of pairs by less than a half."""


def net_counts(values: Floats) -> Iterator[int]:
    """S = Σ over pairs of rows i < j of sgn(x_i - x_j)·sgn(y_i - y_j) for every two columns x, y, in order.

    SciPy's τ-b is S/(√a·√b), where a pairs do not tie in x, and b in y. It and the product have eight roundings of
    2^-53 together, and |S| < 2^47: so S is the nearest integer. With more rows, or two, S is Σ s_i/2.

    >>> list(net_counts(np.array([[1.0, 1.0, 0.0], [2.0, 3.0, 0.0], [3.0, 2.0, 1.0]])))
    [1, 2, 0]
    """
    import scipy

    roots = [math.sqrt(_untied_pairs(x)) for x in values.T]
    for (x, a), (y, b) in combinations(zip(values.T, roots, strict=True), 2):
        if not 3 <= len(x) <= MOST_ROWS:
            yield int(concordance(x, y).sum()) // 2
        elif a == 0 or b == 0:
            yield 0
        else:
            yield round(scipy.stats.kendalltau(x, y, method="asymptotic").statistic * a * b)


def _untied_pairs(x: Floats) -> int:
    counts = np.unique(x, return_counts=True)[1]
    return (x.size * (x.size - 1) - int((counts * (counts - 1)).sum())) // 2
