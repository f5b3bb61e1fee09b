"""A frame for a column: an interval [a, b] that holds all rows but a handful, found privately without any bounds.

It takes two draws by `uptack.mechanisms.inverse_sensitivity`. Counts are exact, and each moves by at most 1 if a row is
replaced, added or removed. N is the public number of rows: the true one, or a noisy one if that is secret.

**Anchor.** Candidates are the cells [i·w, (i + 2)·w), w = 2^j for j from -256 to 256, with the public weight

    p(i, j) = 1/((β + 1)(β + 2)·2^β·(1 or 2)) · 1/((|j| + 1)(|j| + 2)·(1 or 2)),   k = |i + 1|, β = ⌊log2(k + 1)⌋,

(1 for k = 0 and for j = 0, 2 otherwise; j = 0 has 1/2), which adds up to 1 over all i and j. With out(c) = N - #rows
in c, the score of a cell is

    max(0, out(c) - T, T + 1 - min of out over the three cells of half its size inside), at most K = T:

a smallest cell that leaves out T rows at most. If c ends at 0, [-w/2, w/2) is a fourth: otherwise, with about T rows
below 0, cells [0, 2w) of all sizes would have a score near 0. A smallest cell of all that leave out T rows at most has
score 0, so there is one. The score is a maximum of numbers that move by at most 1, so it moves by at most 1. Cells of
score T count as ⊥. A cell of a lower score has at least q = N - 2T + 1 rows, so it holds one of the order statistics
of ranks q, 2q, 3q, ...: only cells around these are examined. Cells whose middle is beyond 2^512 have score T. If a
cell of the least w is drawn, that is ⊥ too, by post-processing: all its rows have one value, such as 0.

**Sides.** Given the cell's middle m and w, a = m - w·2^(k/2) and b = m + w·2^(l/2) have the public weight
(2^(k/2) + 2^(l/2))^-λ, and the score min(2T, #rows below a) + min(2T, #rows above b). A row that moves from one side to
the other or inside moves it by at most 1. The penalty on width, a power, leaves about 2λ/(αε) rows outside at an end
with a tail of index α, and hardly any if there is no tail.

**People** (`uptack.table.unit`): counts are in units of people, and scores are rounded down to whole people. What
moves by at most 1 moves by at most 1 when it is rounded down.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.mechanisms.inverse_sensitivity import InverseDraw, WeightedCandidates
from uptack.reach.l_statistics import Floats
from uptack.release import Advice
from uptack.statistics.column_options import Question, least_n
from uptack.table.protocol import Column
from uptack.table.unit import U, wide


@dataclass(frozen=True)
class Tails:
    """How many rows are below and from any number on, as far as both ends of the column tell; in parts of `unit`.

    Counts above what the ends hold come out as what they hold. `centre` is the row of the public rank ⌊(N + 1)/2⌋.
    """

    lows: Floats
    below_lows: NDArray[np.int64]
    highs: Floats
    from_highs: NDArray[np.int64]
    ranks: tuple[float, ...]
    size: int
    centre: float = math.nan
    unit: int = 1

    @staticmethod
    def read(data: Column, least: int, depth: int, rank: int) -> Tails:
        """The `depth` rows at each end, and the order statistics of ranks `least`, 2·least, ..., and of one more."""
        if data.unit.weighted:
            return Tails._of_people(data, least)
        n = data.count()
        deep = min(depth, n)
        ranks = np.arange(least, n + 1, least)
        order = data.order([(1, deep), (n - deep + 1, n), *((int(r), int(r)) for r in (*ranks, rank))])
        lows, highs = order.at(np.arange(1, deep + 1)), order.at(np.arange(n - deep + 1, n + 1))
        steps = np.arange(deep + 1)
        centre = float(order.at(np.array([rank]))[0])
        return Tails(lows, steps, highs, deep - steps, tuple(order.at(ranks).tolist()), n, centre)

    @staticmethod
    def _of_people(data: Any, least: int) -> Tails:
        values, up_to = data.distribution
        total, apart = int(up_to[-1]) if up_to.size else 0, max(least - 1, 1) * U
        below = np.append(0, up_to)
        ranks = np.searchsorted(up_to, wide(np.arange(1, total // apart + 1), total) * apart)
        return Tails(values, below, values, total - below, tuple(values[ranks].tolist()), total, unit=U)

    def below(self, edges: Floats) -> NDArray[np.int64]:
        """Rows below each edge."""
        return self.below_lows[np.searchsorted(self.lows, edges, "left")]

    def outside(self, low: float, high: float) -> int:
        """Rows below the one, or at or above the other."""
        below, beyond = bisect_left(self.lows, low), bisect_left(self.highs, high)
        return int(self.below_lows[below] + self.from_highs[beyond])

    def above(self, edges: Floats) -> NDArray[np.int64]:
        """Rows above each edge."""
        return self.from_highs[np.searchsorted(self.highs, edges, "right")]


EXPONENTS = (-256, 256)
"""The least and the most power of two that a cell is wide."""

FURTHEST = 512
"""Cells further from 0 than this power of two are no candidates, so that no frame leaves the floats."""

DOWN, UP = -6, 80
"""Sides are 2^(-6/2) to 2^(80/2) times as far from the anchor's middle as the anchor's ends."""

NATS = 70
"""ε·T of the anchor is at most this: the weight of the best cell may be e^(NATS/2) times less than 1. With half or
twice as much, errors change by 1% (`benchmarks/constants.py`)."""

MOST_PER_ROW = 200
"""An ε beyond it is not spent: noise is nothing there, and the anchor leaves some rows out at least."""

LEAST_NATS = 20
"""With a smaller ε·T the answer is ⊥, which is public and free. At 10 there would be replies at n = 300 and ε = 1, but
most of their intervals would have no end (`benchmarks/constants.py`)."""

Cell = tuple[int, int]


@dataclass(frozen=True)
class FramePlan:
    """The public decisions: shares of ε for the anchor, the sides, a check and the sums, which add up to 1, and T.

    `per_row` is ε over the rows of a person: the budget of one row.
    """

    anchor: Fraction
    sides: Fraction
    check: Fraction
    sums: Fraction
    left_out: int
    per_row: Fraction

    @staticmethod
    def of(n: int, epsilon: Fraction) -> FramePlan:
        """For n rows and an ε for each of them."""
        size = max(n, 1) * epsilon
        anchor = min(max(Fraction(math.ceil(420_000 / size), 1000), Fraction(8, 100)), Fraction(3, 10))
        check = Fraction(1, 10)
        sides = (1 - anchor - check) * Fraction(2, 5)
        left_out = min(int(NATS / (anchor * epsilon)), n // 6)
        return FramePlan(anchor, sides, check, 1 - anchor - check - sides, left_out, epsilon)


@dataclass(frozen=True)
class ColumnFrame:
    """A released frame: the anchor's middle and half-width, and how far the sides are from that middle."""

    middle: float
    width: float
    down: float
    up: float

    @property
    def low(self) -> float:
        """Its lower end."""
        return self.middle - self.down

    @property
    def high(self) -> float:
        """Its upper end."""
        return self.middle + self.up

    @property
    def centre(self) -> float:
        """c of u = (x - c)/h."""
        return self.middle + (self.up - self.down) / 2

    @property
    def half(self) -> float:
        """h of u = (x - c)/h."""
        return (self.up + self.down) / 2


# ---------------------------------------------------------------------------------------------------------- anchor


def cell_weight(i: int, j: int) -> Fraction:
    """p(i, j), the public weight of a cell: over all of them it adds up to 1."""
    k = abs(i + 1)
    block = (k + 1).bit_length() - 1
    place = Fraction(1, (block + 1) * (block + 2) << block + (k > 0))
    return place / ((abs(j) + 1) * (abs(j) + 2) << (j != 0))


def _edge(i: int, j: int) -> float:
    """The least float that is not below i·2^j: x < i·2^j for floats x just where x is below it."""
    if abs(i) < 1 << 53:
        return math.ldexp(i, j)
    exact = Fraction(i) * Fraction(2) ** j
    try:
        near = float(exact)
    except OverflowError:
        return math.inf if i > 0 else -float(np.finfo(np.float64).max)
    return near if near >= exact else math.nextafter(near, math.inf)


def cells(tails: Tails, n: int, left_out: int) -> WeightedCandidates[Cell]:
    """All cells of a score below T, and the weight of the rest.

    They are found from the widest down. A cell lies in one of twice its width, so where none is left there are no more.
    """
    least, most = EXPONENTS
    scores: dict[Cell, int] = {}

    @cache
    def out(i: int, j: int) -> int:
        return (n * tails.unit - tails.size + tails.outside(_edge(i, j), _edge(i + 2, j))) // tails.unit

    for j in range(most, least - 1, -1):
        around = {i for x in tails.ranks for i in _around(x, j)}
        near = {i: missed for i in around if (missed := out(i, j)) < 2 * left_out}
        if not near:
            break
        for i, missed in sorted(near.items()):
            inside = (2 * i, 2 * i + 1, 2 * i + 2, *([-1] if i in (-2, 0) else []))
            halves = [left_out + 1] if j == least else [out(k, j - 1) for k in inside]
            score = max(0, missed - left_out, left_out + 1 - min(halves))
            if score < left_out and abs(i + 1) << j - least <= 1 << FURTHEST - least:
                scores[i, j] = score
    weights = [cell_weight(*cell) for cell in scores]
    rest = 1 - sum(weights, Fraction(0))
    return WeightedCandidates(list(scores), weights, np.array(list(scores.values()), np.int64), rest, left_out)


def _around(x: float, j: int) -> tuple[int, int]:
    """The two cells of width 2^(j + 1) that hold x."""
    numerator, denominator = x.as_integer_ratio()
    at = numerator // (denominator << j) if j >= 0 else (numerator << -j) // denominator
    return at - 1, at


# ----------------------------------------------------------------------------------------------------------- sides


@lru_cache(maxsize=4)
def _side_weights(power: int) -> tuple[Floats, tuple[tuple[int, int], ...], tuple[Fraction, ...], Floats]:
    """Distances as multiples of w, the pairs of them, and the weights of pairs with their logarithms."""
    far = 2.0 ** (np.arange(DOWN, UP + 1) / 2)
    weights = (far[:, None] + far[None, :]).ravel() ** -float(power)
    keys = tuple(itertools.product(range(far.size), range(far.size)))
    return far, keys, tuple(map(Fraction, weights.tolist())), np.log(weights)


def sides(tails: Tails, middle: float, width: float, left_out: int, power: int) -> WeightedCandidates[tuple[int, int]]:
    """All pairs of sides, and how many rows are outside each."""
    far, keys, weights, logs = _side_weights(power)
    most = 2 * left_out * tails.unit
    below = np.minimum(tails.below(middle - far * width), most)
    above = np.minimum(tails.above(middle + far * width), most)
    outside = ((below[:, None] + above[None, :]) // tails.unit).astype(np.int64)  # people, where units have no largest
    return WeightedCandidates(keys, weights, outside.ravel(), logs=logs)


# ----------------------------------------------------------------------------------------------------------- frames


def enough_rows(n: int, epsilon: Fraction) -> bool:
    """Whether n rows are enough to find an anchor, by its ε·T: public."""
    plan = FramePlan.of(n, epsilon)
    return plan.anchor * plan.per_row * plan.left_out >= LEAST_NATS


MOST_TIMES = 64
"""Half the largest multiple of ε that advice looks at: a table that needs more than 32 times ε needs rows."""

OTHER = (
    "another statistic: a median, a trimmed mean or, if most values are 0, a proportion with above=0 (nearly all "
    "values may be tied, or many may be gross errors)"
)


def refusal(n: int, question: Question, looked: bool) -> Advice:
    """Advice: more rows, if they make the anchor surer; else another statistic."""
    each = question.epsilon / question.rows
    if not looked:
        times = next((k for k in range(2, MOST_TIMES) if enough_rows(n, each * k / 2)), None)
        more = None if times is None else float(question.promised * times / 2)
        return Advice(n=least_n(lambda size: enough_rows(size, each)), epsilon=more)

    def surest(size: int) -> bool:  # more rows would make the anchor no surer
        plan = FramePlan.of(size, each)
        return plan.left_out >= int(NATS / (plan.anchor * plan.per_row))

    sure = least_n(surest)
    return Advice(n=None if n >= sure else sure, other=OTHER)  # n is public, or a noisy one that was released


def draw_frame(
    tails: Tails, n: int, plan: FramePlan, power: int, anchor: Question, rest: Question
) -> ColumnFrame | None:
    """The anchor and then the sides; None for ⊥. What is spent is written down."""
    cell = anchor.draw(InverseDraw.of(anchor.epsilon, anchor.rows), cells(tails, n, plan.left_out))
    if cell is None or cell[1] == EXPONENTS[0]:
        return None
    (i, j), width = cell, math.ldexp(1.0, cell[1])
    middle = float(Fraction(i + 1) * Fraction(2) ** j)
    listed = sides(tails, middle, width, plan.left_out, power)
    pair = rest.draw(InverseDraw.of(rest.epsilon, rest.rows), listed)
    assert pair is not None, "all pairs are listed"
    far = _side_weights(power)[0]
    return ColumnFrame(middle, width, float(far[pair[0]]) * width, float(far[pair[1]]) * width)


def tails_of(data: Column, n: int, plan: FramePlan) -> Tails:
    """As much of both ends as the theorem of the module needs, where there may be more rows than n."""
    least = max(n - 2 * plan.left_out + 1, 1)
    return Tails.read(data, least, 2 * plan.left_out + 1 + max(data.count() - n, 0), (n + 1) // 2)
