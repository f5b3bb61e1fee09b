"""Concordant and discordant pairs of rows, counted exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

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
        keys, total = _inverse(place, keys), _inverse(place, total)
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


Whole = NDArray[Any]
"""Integers of as few bits as they need."""
CELLS = 1 << 18
"""Numbers that are processed at once, so that they fit into the cache."""
WIDTH = 3
"""A block has about WIDTH·n^(1/3) rows: comparing then takes about as long as counting."""


@dataclass(frozen=True, eq=False)
class OrderedColumn:
    """A sorted column: its rows by their values, in a stable order; their places; and the number of tied pairs.

    Equal values have equal places, -0.0 and 0.0 too.
    """

    rows: Whole
    places: Whole
    ties: int

    @classmethod
    def of(cls, x: Floats) -> OrderedColumn:
        """A column without NaN."""
        rows = np.argsort(x, kind="stable").astype(np.uint32)
        values = x[rows]
        first = np.r_[True, values[1:] != values[:-1]][: x.size]
        at = _inverse(rows, np.cumsum(first, dtype=np.uint32) - np.uint32(1))
        return cls(rows, at, _tied(first))

    def then(self, other: OrderedColumn) -> Whole:
        """The rows in order of this column, of the other where this one ties, and else as they stand."""
        return other.rows[_stable(self.places[other.rows])] if self.ties else self.rows


def net_counts(values: Floats) -> Iterator[int]:
    """S = Σ over pairs of rows i < j of sgn(x_i - x_j)·sgn(y_i - y_j) for every two columns x, y, in order.

    >>> list(net_counts(np.array([[1.0, 1.0, 0.0], [2.0, 3.0, 0.0], [3.0, 2.0, 1.0]])))
    [1, 2, 0]
    """
    columns = [OrderedColumn.of(np.ascontiguousarray(x)) for x in values.T]
    return (net_count(x, y) for x, y in combinations(columns, 2))


def net_count(x: OrderedColumn, y: OrderedColumn) -> int:
    """S of two columns: all pairs, less those that tie, less twice those that are discordant.

    Let p be the place of a row by (x, y, row), and q that by (y, x, row). A pair that ties in x or in y has the same
    order in both. So a pair is discordant exactly where p and q put it the other way round: an inversion.
    """
    n, by_x, by_y = x.rows.size, x.then(y), y.then(x)
    p = x.places if not x.ties else _inverse(by_x)
    q = y.places if not y.ties else _inverse(by_y)
    both = 0
    if x.ties and y.ties:
        sides = x.places[by_x], y.places[by_x]
        both = _tied(np.r_[True, (sides[0][1:] != sides[0][:-1]) | (sides[1][1:] != sides[1][:-1])])
    return n * (n - 1) // 2 - x.ties - y.ties + both - 2 * inversions(q[by_x], p[by_y])


def inversions(q: Whole, p: Whole) -> int:
    """Pairs i < j with q_i > q_j, of a permutation q of 0, 1, ..., n - 1 whose inverse is p.

    Cut 0, 1, ..., n - 1 into blocks. A pair i < j is inverted in one of three ways. (1) i and j are in one block:
    these are compared. (2) q_i and q_j are in one block, i and j are not: the same, with the blocks of p for p. (3)
    Neither: rows are counted by the blocks of i and of q_i, and pairs of cells of that table by its sums. With n^(1/3)
    rows in a block all of it takes O(n^(4/3)), most of it comparisons of many numbers at once: for tables that fit
    into memory this is faster than what takes O(n log n).

    >>> inversions(np.array([2, 0, 1]), np.array([1, 2, 0]))
    2
    """
    n = q.size
    bits = max(round(np.log2(WIDTH * max(n, 1) ** (1 / 3))), 1)
    return _compared(q, bits) + _compared(p >> bits, bits) + _counted(q >> bits, bits)


def _compared(values: Whole, bits: int) -> int:
    """Pairs i < j of one block of 2^bits places with values_i > values_j."""
    size, most = 1 << bits, int(values.max(initial=0))
    kind = np.uint16 if most < 1 << 16 else np.uint32
    blocks = -(-values.size // size)
    padded = np.full(blocks * size, most, kind)  # what comes last and is not smaller makes no pair
    padded[: values.size] = values
    found, step = 0, max(CELLS >> bits, 1)
    for start in range(0, blocks, step):
        lines = np.ascontiguousarray(padded.reshape(blocks, size)[start : start + step].T)
        found += sum(int(np.count_nonzero(lines[i] > lines[i + 1 :])) for i in range(size - 1))
    return found


def _counted(block: Whole, bits: int) -> int:
    """Pairs of places i < j in different blocks of 2^bits with block_i > block_j.

    Line l of a table says how many rows of the blocks up to the l-th have a larger block than each. Lines are made a
    few at a time.
    """
    wide, size = int(block.max(initial=0)) + 1, 1 << bits
    step = max(CELLS // wide, 1) << bits
    found, before = 0, np.zeros(wide, np.uint32)
    for start in range(0, block.size, step):
        some = block[start : start + step]
        cells = (np.arange(some.size) >> bits) * wide + some
        lines = ((some.size - 1) >> bits) + 1
        larger = np.cumsum(np.bincount(cells, minlength=lines * wide), dtype=np.uint32).reshape(lines, wide)
        np.subtract(larger[:, -1:].copy(), larger, out=larger)
        found += int(before[some[:size]].sum(dtype=np.int64))
        for line in larger:
            line += before
            before = line
        found += int(larger.ravel()[cells[size:] - wide].sum(dtype=np.int64))
    return found


def _inverse(rows: Whole, values: Whole | None = None) -> Whole:
    """The place of each row, or the values of these places."""
    out = np.empty_like(rows)
    out[rows] = np.arange(rows.size, dtype=rows.dtype) if values is None else values
    return out


def _stable(keys: Whole) -> Whole:
    """The order of integers of 32 bits, equal ones as they stand: 16 bits at once, which NumPy sorts in O(n)."""
    order: Whole = np.argsort(keys.astype(np.uint16), kind="stable")
    if int(keys.max(initial=0)) >> 16:
        order = order[np.argsort((keys[order] >> 16).astype(np.uint16), kind="stable")]
    return order


def _tied(first: NDArray[np.bool_]) -> int:
    """Pairs within runs, by where these begin."""
    lengths = np.diff(np.flatnonzero(first), append=first.size)
    return int((lengths * (lengths - 1) // 2).sum())
