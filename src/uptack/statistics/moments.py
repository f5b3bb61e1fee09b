"""Means and second moments in one release: sums over a private frame, with exact integer noise.

A frame is an interval [a, b] that holds all rows but a handful, found privately without any bounds. A noisy count
checks that it does. Then exact sums over the frame get noise for what one row, or one person, moves them by.

**The frame.** It takes two draws by `uptack.mechanisms.inverse_sensitivity`. Counts are exact, and each moves by at
most 1 if a row is replaced, added or removed. N is the public number of rows: the true one, or a noisy one if that is
secret.

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

**The sums.** Let [a, b] be a released frame with centre c and half-width h. A row has u = (x - c)/h, clipped to [-1, 1]
and rounded to a multiple of 2^-24. This depends on that row alone. Its integers are

    (A, Q),   A = 2^24·u,   Q = ⌊A²·κ/2^24⌋,   κ a power of two.

**Theorem.** Two rows are at most D·2^24 + 1 apart in ℓ1, D = max over s of s·(1 + κ(2 - s)): 2 for κ ≤ 1/2, and
(1 + 2κ)²/(4κ) for larger κ. One row alone is at most (1 + κ)·2^24 long. *Proof.* With s = |u - v| ≤ 2 and
|u + v| ≤ 2 - s, |u - v| + κ|u² - v²| ≤ s·(1 + κ(2 - s)). Rounding down adds less than 1 to the distance of two Q's.
The length is largest at u = ±1. ∎ So at κ = 1/2 **the second moment costs nothing** beside the mean.

**People** have the mean of their rows' u (with `weights="rows"` what is left of it), which is in [-1, 1] as well. So
the same holds for people with one u each. People are independent of each other, rows of one person need not be, and
the second moment is that of people's means: so the interval is about people.

For a variance the second moment is that of rows (`of_rows`): a person's point is the mean of her rows' (u, κu²).
**Theorem.** Two people are at most D·2^24 + 1 apart as well, and one is at most (1 + κ)·2^24 long. *Proof.* Her point,
rounded, is clipped to ⌊A²·κ/2^24⌋ ≤ Q ≤ κ·2^24, where it lies anyway up to rounding, since a mean of squares is at
least the square of the mean. Up to less than 1 in Q, downwards, that is the convex hull of the curve of rows,
(A, A²·κ/2^24); and the diameter of a hull, and its longest vector, are those of the curve. ∎
"""

from __future__ import annotations

import itertools
import math
import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.account import Outcome
from uptack.display.numbers import number
from uptack.mechanisms.additive_noise import noisy_integer, noisy_sums
from uptack.mechanisms.inverse_sensitivity import InverseDraw, WeightedCandidates
from uptack.noise import IntegerLaplace
from uptack.reach.l_statistics import Floats
from uptack.release import Advice
from uptack.statistics.column_options import Question, least_n, public_size
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
        return self.below_lows[np.searchsorted(self.lows, edges, "left")]

    def outside(self, low: float, high: float) -> int:
        """Rows below the one, or at or above the other."""
        below, beyond = bisect_left(self.lows, low), bisect_left(self.highs, high)
        return int(self.below_lows[below] + self.from_highs[beyond])

    def above(self, edges: Floats) -> NDArray[np.int64]:
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
        return self.middle - self.down

    @property
    def high(self) -> float:
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
    place = (block + 1) * (block + 2) << block + (k > 0)
    return Fraction(1, place * (abs(j) + 1) * (abs(j) + 2) << (j != 0))


def _edge(i: int, j: int) -> float:
    """The least float that is not below i·2^j: x < i·2^j for floats x just where x is below it."""
    beyond = max(i.bit_length() - 53, 0)
    try:
        return math.ldexp(-(-i >> beyond), j + beyond)
    except OverflowError:
        return math.inf if i > 0 else -sys.float_info.max


def cells(tails: Tails, n: int, left_out: int) -> WeightedCandidates[Cell]:
    """All cells of a score below T, and the weight of the rest.

    They are found from the widest down. A cell lies in one of twice its width, so where none is left there are no more.
    Where 2^(j - 1) is beyond all rows, cells around 0 leave out the same rows at each j: so one such j is enough.
    """
    least, most = EXPONENTS
    furthest = max(map(abs, (*tails.lows[:1].tolist(), *tails.highs[-1:].tolist())), default=0.0)
    widest = min(most, max(least, math.frexp(min(furthest, 2.0**most))[1]) + 1)
    scores: dict[Cell, int] = {}

    @cache
    def out(i: int, j: int) -> int:
        return (n * tails.unit - tails.size + tails.outside(_edge(i, j), _edge(i + 2, j))) // tails.unit

    for j in range(widest, least - 1, -1):
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
    wider = {(i, k): score for k in range(most, widest, -1) for (i, j), score in scores.items() if j == widest}
    scores = wider | scores
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
def _side_weights(power: int) -> tuple[Floats, tuple[tuple[int, int], ...], list[float], Floats]:
    """Distances as multiples of w, the pairs of them, and the weights of pairs with their logarithms."""
    far = 2.0 ** (np.arange(DOWN, UP + 1) / 2)
    weights = (far[:, None] + far[None, :]).ravel() ** -float(power)
    keys = tuple(itertools.product(range(far.size), range(far.size)))
    return far, keys, weights.tolist(), np.log(weights)


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


# ---------------------------------------------------------------------------------------------------- sums over a frame


BITS = 24
"""Binary digits of u: rounding moves each row, and so the mean, by 2^-25 of the half-width at most."""
ONE = 1 << BITS


def diameter(power: int) -> Fraction:
    """D for κ = 2^power."""
    kappa = Fraction(2) ** power
    return Fraction(2) if 2 * kappa <= 1 else (1 + 2 * kappa) ** 2 / (4 * kappa)


def sensitivity(power: int, replaced: bool, count: int = 0, one: int = ONE) -> int:
    """How far one row moves the sums of (A, Q), and of `count` for each row if their number is secret."""
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


def _batch_sums(x: Floats, frame: ColumnFrame, power: int, tie: float) -> list[int]:
    """ΣA, ΣQ, the number of rows, how many are inside, and how many of these equal a number."""
    a, q = whole_numbers(in_frame(x, frame), power)
    inside = (x >= frame.low) & (x <= frame.high)
    tied = inside & (x == tie)
    return [int(a.sum()), int(q.sum()), x.size, int(np.count_nonzero(inside)), int(np.count_nonzero(tied))]


@dataclass(frozen=True)
class FrameSums:
    """Exact sums of a column over a frame. `checked` is what the check compares: see `checked_rows`."""

    first: int
    second: int
    rows: int
    checked: int


def checked_rows(rows: int, inside: int, tied: int, rank: int, spare: int) -> int:
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
    data: Column, frame: ColumnFrame, power: int, n: int, spare: int, centre: float, of_rows: bool = False
) -> FrameSums:
    """The sums in one pass over the rows; of people's means, in units of people, if they have several rows.

    `of_rows` asks for the mean squares of their rows, not the squares of their means. `centre` is the order statistic
    of rank ⌊(n + 1)/2⌋. For people V is counted for all values.
    """
    if not data.unit.weighted:
        first, second, rows, inside, tied = data.sum(partial(_batch_sums, frame=frame, power=power, tie=centre))
        return FrameSums(int(first), int(second), int(rows), checked_rows(rows, inside, tied, (n + 1) // 2, spare))
    a, q = whole_numbers(data.person_means(partial(in_frame, frame=frame)), power)
    if of_rows:
        most = 1 << (BITS + power)
        squares = data.person_means(lambda x: in_frame(x, frame) ** 2)
        q = np.clip(np.floor(squares * most).astype(np.int64), q, most)
    unit = data.unit.most
    inside, outside, largest = data.mass(frame.low, frame.high)
    checked = min(inside - largest, spare * unit - outside) // unit
    return FrameSums(int(a.sum()), int(q.sum()), data.count(), int(checked))


HOW = "sums over a private range"


@dataclass(frozen=True)
class MomentRecipe:
    """What a statistic asks of a frame: log2 of κ, the power λ of the penalty on width, and whose squares."""

    kappa: int
    width: int
    of_rows: bool = False


@dataclass(frozen=True)
class Moments:
    """What was released: the frame, and the means of u and u² with the scales of their noise.

    `rows` is the public number of rows, `count` the scale of the noise in it, 0 if it is exact. `added` is Σu, and
    `total` the number of rows released with it, if requested; `total_scale` is the scale of its noise. `each` is how
    many rows one person may have. `clipped` is the expected number of rows beyond an end for a tail of index 1, and
    `outside` how many the check saw outside, with its noise; up to about `unseen` of them go unnoticed. `index` are
    the estimated indices of the tails, from the anchor, where T rows are outside, to the ends.
    """

    frame: ColumnFrame
    first: float
    second: float
    first_scale: float
    second_scale: float
    rows: int
    count: float
    clipped: float
    outside: float
    unseen: float
    index: tuple[float, float]
    added: float
    total: float
    total_scale: float
    each: int = 1

    @property
    def independent(self) -> float:
        """The effective number of independent rows, n/g: with up to g rows per person, however dependent,
        Var Σx ≤ Σ over people of m·Σ Var x ≤ g·n·Var x, by Cauchy and Schwarz.
        """
        return self.rows / self.each

    @property
    def variance(self) -> float:
        """The variance of u, clipped to [0, 1]."""
        return min(max(self.second - self.first**2, 0.0), 1.0)

    def tails(self, doubt: float, moment: int = 1) -> tuple[float, float]:
        """What rows beyond each end may add to the mean of |x - end|^moment; infinite for a tail that is too heavy.

        With r rows beyond an end at distance d, a tail of index α contributes r·d^k·k/(α - k). r is what the draw of
        the sides leaves outside in expectation, or what the check saw, if that is more. The index is estimated from two
        counts, so tails are assumed heavier than they look: it is multiplied by `doubt`.
        """

        def tail(far: float, index: float) -> float:
            if index <= 1.1 * moment:
                return math.inf
            rows = max(self.clipped / index, self.outside)
            return rows / self.rows * far**moment * moment / (index - moment)

        return tail(self.frame.down, doubt * self.index[0]), tail(self.frame.up, doubt * self.index[1])


STEEPEST = 6.0
"""The largest index that a tail is estimated to have. Twice as much changes nothing (`benchmarks/constants.py`)."""


def tail_index(plan: FramePlan, far: float, width: float, clipped: float, outside: float) -> float:
    """ln(T/r)/ln(d/w): T rows beyond the anchor have become r at the frame's end.

    All of it is public by now: T, and r = λ/ε, which a tail of index 2 leaves outside. If the draw of the sides left
    more there, the tail would look light; so r is what the check saw, if that is more. An end less than a factor of 2
    away from the anchor's says nothing about the tail, and counts as a factor of 2: with few rows it is often so near.
    """
    fewer = math.log(max(plan.left_out / max(clipped / 2, outside, 1.0), 2.0))
    return min(fewer / max(math.log(far / width), math.log(2)), STEEPEST)


SURE, BEYOND = 3.5, 3.5
"""In scales of the check's noise: what the check must see for a reply, and the error that good data tolerate."""

COUNTED = 64
"""The largest weight of the number of rows in the sums, in units of h: larger ones bring nothing."""


def count_weight(frame: ColumnFrame, kappa: int) -> int:
    """2^24·η: the weight of the number of rows beside (A, Q) if Σx = c·n + h·Σu is wanted and n is secret.

    The noise of c·n + h·Σu has a variance proportional to (1 + κ + η)²·(h² + c²/η²), which is least for
    η³ = (1 + κ)·(c/h)².
    """
    ratio = min(abs(frame.centre) / frame.half, 1e9)
    best = float(np.cbrt((1 + 2.0**kappa) * ratio**2))
    return math.ceil(min(max(best, 2.0**-8), COUNTED) * ONE)


def frame_moments(
    data: Column, question: Question, recipes: tuple[MomentRecipe, MomentRecipe], counted: bool = False
) -> tuple[Moments | Outcome[Any], Question]:
    """The frame, the check and the sums of a column, or ⊥; and what is left of the question.

    The first recipe is for replaced rows, the second for rows that are added or removed. `counted` asks for the number
    of rows with the sums, if it is secret. ⊥ is drawn in place of an anchor, or the check fails: too few rows in the
    frame beside those of one value, or too many outside.
    """
    n, question = public_size(data.count(), question)
    question = question.allot(min(question.epsilon, Fraction(MOST_PER_ROW * question.rows)), question.delta)
    if not enough_rows(n, question.epsilon / question.rows):
        return question.refuse(HOW, refusal(n, question, looked=False)), question
    recipe = recipes[0] if question.adjacency.size_is_public else recipes[1]
    plan = FramePlan.of(n, question.epsilon / question.rows)
    anchor, sides, check, rest = question.split(plan.anchor, plan.sides, plan.check, plan.sums)

    def noise(weight: int) -> IntegerLaplace:
        moved = sensitivity(recipe.kappa, rest.adjacency.size_is_public, weight)
        return IntegerLaplace(moved * rest.rows / rest.epsilon)

    def refuse() -> tuple[Outcome[Any], Question]:
        why = f"no range was found that holds all but a few of about {n:,} {question.adjacency.unit}"
        return question.refuse(HOW, refusal(n, question, looked=True), why=why), question

    noise(COUNTED * ONE)  # refuses a tiny ε before any row is read
    tails = tails_of(data, n, plan)
    frame = draw_frame(tails, n, plan, recipe.width, anchor, sides)
    if frame is None:
        return refuse()
    clipped, doubt = 2 * recipe.width * question.rows / float(sides.epsilon), check.rows / float(check.epsilon)
    spare = math.ceil(clipped + (SURE + BEYOND) * doubt)
    sums = exact_sums(data, frame, recipe.kappa, n, spare, tails.centre, recipe.of_rows)
    seen = noisy_integer(sums.checked, IntegerLaplace(check.rows / check.epsilon), check)
    if seen <= SURE * doubt:
        return refuse()
    weight = count_weight(frame, recipe.kappa) if counted and question.size_is_secret else 0
    law = noise(weight)
    noisy = noisy_sums([sums.first, sums.second, *([weight * sums.rows] if weight else [])], law, rest)
    outside, rows, kappa = max(float(spare - seen), 0.0), max(n, 1), 2.0**recipe.kappa
    scale = float(Fraction(law.scale))
    down, up = (tail_index(plan, far, frame.width, clipped, outside) for far in (frame.down, frame.up))
    moments = Moments(
        frame,
        first=min(max(noisy[0] / ONE / rows, -1.0), 1.0),
        second=noisy[1] / ONE / rows / kappa,
        first_scale=scale / ONE / rows,
        second_scale=scale / ONE / rows / kappa,
        rows=rows,
        count=0.0 if rest.count is None else float(Fraction(rest.count.scale)),
        clipped=clipped,
        outside=outside,
        unseen=clipped + BEYOND * doubt,
        index=(down, up),
        added=noisy[0] / ONE,
        total=noisy[2] / weight if weight else float(rows),
        total_scale=scale / weight if weight else 0.0,
        each=rest.rows,
    )
    return moments, question


def clipping_note(*moments: Moments, unit: str = "rows", names: Sequence[str] = ()) -> str:
    """A note on clipped values, from public numbers: of one column, or of groups with these names."""
    of = zip(moments, [f" of {name}" for name in names] or [""], strict=True)
    ends = " and ".join(f"{number(round(one.clipped / 2))} {unit}{which}" for one, which in of)
    unseen = number(float(f"{math.ceil(max(one.unseen for one in moments)):.2g}"))
    clipped = f"Values outside a privately chosen range were clipped to it (about {ends} at each end)."
    each = " in each group" if names else ""
    gross = f"Up to about {unseen} gross errors{each} could go unnoticed, and the interval does not allow for them."
    return f"{clipped} {gross} Set codes for missing values, such as 999, to missing first."


def open_ends(*tails: float, of: str = "mean") -> tuple[str, ...]:
    """A note on an interval without an end, which a reader would take for an error; none where all tails are finite.

    >>> open_ends(0.5, 2.0)
    ()
    >>> open_ends(0.5, math.inf)[0].partition(".")[0]
    'The interval is infinite on a side where the tail beyond that range may be too heavy for a mean'
    """
    if not any(map(math.isinf, tails)):
        return ()
    cause = f"The interval is infinite on a side where the tail beyond that range may be too heavy for a {of}."
    return (f"{cause} More rows or a larger ε help. Medians and interquartile ranges do not depend on the tail.",)
