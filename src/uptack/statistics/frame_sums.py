"""Exact sums of a column over a frame, as integers: what one row, or one person, moves them by.

Let [a, b] be a released frame with centre c and half-width h. A row has u = (x - c)/h, brought to [-1, 1] and rounded
to a multiple A of 2^-24, all of it from that row alone. Its whole numbers are

    (A, Q),   A = 2^24·u,   Q = ⌊A²·κ/2^24⌋,   κ a power of two.

**Theorem.** Two rows are at most D·2^24 + 1 apart in ℓ1, D = max over s of s·(1 + κ(2 - s)): 2 for κ ≤ 1/2, and
(1 + 2κ)²/(4κ) for larger κ. One row alone is at most (1 + κ)·2^24 long. *Proof.* With s = |u - v| ≤ 2 and
|u + v| ≤ 2 - s, |u - v| + κ|u² - v²| ≤ s·(1 + κ(2 - s)). Rounding down adds less than 1 to the distance of two Q's.
The length is largest at u = ±1. ∎ So at κ = 1/2 **the second moment costs nothing** beside the mean.

**People** have the mean of their rows' u (with `weights="rows"` what is left of it), which is in [-1, 1] as well. So
the same holds for people with one u each. They are independent of each other where rows of one person are not, and the
second moment is that of people's means: so the interval is about people.

For a variance the second moment is that of rows (`of_rows`): a person's point is the mean of her rows' (u, κu²).
**Theorem.** Two people are at most D·2^24 + 1 apart as well, and one is at most (1 + κ)·2^24 long. *Proof.* Her point,
rounded, is brought to where ⌊A²·κ/2^24⌋ ≤ Q ≤ κ·2^24; there it is anyway but for roundings, since a mean of squares is
at least the square of the mean. But for less than 1 in Q, downwards, that is the convex hull of the curve of rows,
(A, A²·κ/2^24); and the diameter of a hull, and its longest vector, are those of the curve. ∎
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from uptack.reach.protocol import Floats
from uptack.statistics.frames import ColumnFrame
from uptack.statistics.statistic import Data

BITS = 24
ONE = 1 << BITS


def diameter(power: int) -> Fraction:
    """D for κ = 2^power."""
    kappa = Fraction(2) ** power
    return Fraction(2) if 2 * kappa <= 1 else (1 + 2 * kappa) ** 2 / (4 * kappa)


def sensitivity(power: int, replaced: bool, count: int = 0, one: int = ONE) -> int:
    """How far one row moves the sums of (A, Q), and of `count` for each row where their number is secret."""
    length = math.ceil((1 + Fraction(2) ** power) * one) + count
    return max(math.ceil(diameter(power) * one) + 1, length) if replaced else length


def whole_numbers(u: Floats, power: int, bits: int = BITS) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A and Q of every row."""
    a = np.rint(np.clip(u, -1.0, 1.0) * float(1 << bits)).astype(np.int64)
    return a, (a * a) >> (bits - power)


def in_frame(x: Floats, frame: ColumnFrame) -> Floats:
    """u of every row."""
    u: Floats = (np.clip(x, frame.low, frame.high) - frame.centre) / frame.half
    return u


def _added(x: Floats, frame: ColumnFrame, power: int, tie: float) -> list[int]:
    """ΣA, ΣQ, how many rows there are, how many are inside, and how many of these are tied with a number."""
    a, q = whole_numbers(in_frame(x, frame), power)
    inside = (x >= frame.low) & (x <= frame.high)
    tied = inside & (x == tie)
    return [int(a.sum()), int(q.sum()), x.size, int(np.count_nonzero(inside)), int(np.count_nonzero(tied))]


@dataclass(frozen=True)
class FrameSums:
    """Exact sums of a column over a frame. `shown` is how many rows a check would like to see: see `shown_rows`."""

    first: int
    second: int
    rows: int
    shown: int


def shown_rows(rows: int, inside: int, tied: int, rank: int, spare: int) -> int:
    """min(V, rank - outside, inside - rank + 1, spare - outside), V the fewest rows inside beside those of one value.

    `tied` are the rows inside that have the value of the order statistic of this public rank. **Theorem.** It moves by
    at most 1 between neighbours. *Proof.* V is a minimum over all values of counts that do, and so are the others. It
    remains that `tied` finds V where it matters. Let inside - V rows have the value v. If V is less than the second and
    the third number, v has more than rows - rank and more than rank - 1 rows, so it is the value of that rank. If not,
    the other values' counts are not less than V either, and the minimum is the same. ∎
    """
    outside = rows - inside
    return min(inside - tied, rank - outside, inside - rank + 1, spare - outside)


def exact_sums(
    data: Data, frame: ColumnFrame, power: int, n: int, spare: int, centre: float, of_rows: bool = False
) -> FrameSums:
    """In one pass over the rows, wherever they are; of people's means where they have several rows.

    `of_rows` asks for the squares of their rows, and not of their means. `centre` is the order statistic of rank
    ⌊(n + 1)/2⌋.
    """
    if data.unit.weighted:
        return _sums_of_people(data, frame, power, spare, of_rows)
    first, second, rows, inside, tied = data.sum(partial(_added, frame=frame, power=power, tie=centre))
    return FrameSums(int(first), int(second), int(rows), shown_rows(rows, inside, tied, (n + 1) // 2, spare))


def _sums_of_people(data: Data, frame: ColumnFrame, power: int, spare: int, of_rows: bool) -> FrameSums:
    """The same in units of people, where V is counted for all values."""
    a, q = whole_numbers(data.person_means(partial(in_frame, frame=frame)), power)
    if of_rows:
        most = 1 << (BITS + power)
        squares = data.person_means(lambda x: in_frame(x, frame) ** 2)
        q = np.clip(np.floor(squares * most).astype(np.int64), q, most)
    unit = data.unit.most
    inside, outside, largest = data.mass(frame.low, frame.high)
    shown = min(inside - largest, spare * unit - outside) // unit
    return FrameSums(int(a.sum()), int(q.sum()), data.count(), int(shown))
