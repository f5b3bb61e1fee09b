"""Means and second moments in one release: sums over a private frame, with exact integer noise.

A private frame is drawn first (`uptack.statistics.frames`), and a noisy count checks that it holds most rows. Then
exact sums over the frame get noise for what one row, or one person, moves them by.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.account import Outcome
from uptack.display.numbers import number
from uptack.mechanisms.additive_noise import noisy_integer, noisy_sums
from uptack.noise import IntegerLaplace
from uptack.reach.protocol import Floats
from uptack.statistics.column_options import Question, public_size
from uptack.statistics.frames import MOST_PER_ROW, ColumnFrame, FramePlan, drawn_frame, enough, refusal, tails_of
from uptack.table.protocol import Column

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
    data: Column, frame: ColumnFrame, power: int, n: int, spare: int, centre: float, of_rows: bool = False
) -> FrameSums:
    """In one pass over the rows, wherever they are; of people's means where they have several rows.

    `of_rows` asks for the squares of their rows, and not of their means. `centre` is the order statistic of rank
    ⌊(n + 1)/2⌋.
    """
    if data.unit.weighted:
        return _sums_of_people(data, frame, power, spare, of_rows)
    first, second, rows, inside, tied = data.sum(partial(_added, frame=frame, power=power, tie=centre))
    return FrameSums(int(first), int(second), int(rows), shown_rows(rows, inside, tied, (n + 1) // 2, spare))


def _sums_of_people(data: Column, frame: ColumnFrame, power: int, spare: int, of_rows: bool) -> FrameSums:
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


HOW = "sums over a private frame"


@dataclass(frozen=True)
class MomentRecipe:
    """What a statistic asks of a frame: log2 of κ, the power λ by which width is punished, and whose squares."""

    kappa: int
    width: int
    of_rows: bool = False


@dataclass(frozen=True)
class Moments:
    """What was released: the frame, and the means of u and u² with the scales of their noise.

    `rows` is the public number of rows, `count` the scale of the noise in it, 0 where it is exact. `added` is Σu, and
    `total` the number of rows that came with it, if it was asked for; `total_scale` is the scale of its noise.
    `each` is how many rows one person may have.
    `clipped` is how many rows a tail of index 1 would have beyond an end, in expectation, and `outside` how many the
    check saw outside, with its noise; up to about `unseen` of them it can't tell from none. `index` are the indices of
    the tails as they look from the anchor, where T rows are outside, to the ends.
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
        """As many independent rows as there are for sure. With up to g rows per person, whatever these have to do with
        each other, Var Σx ≤ Σ over people of m·Σ Var x ≤ g·n·Var x, by Cauchy and Schwarz: so n/g.
        """
        return self.rows / self.each

    @property
    def variance(self) -> float:
        """That of u, as far as the noise allows: in [0, 1]."""
        return min(max(self.second - self.first**2, 0.0), 1.0)

    def tails(self, doubt: float, moment: int = 1) -> tuple[float, float]:
        """What rows beyond each end may add to the mean of |x - end|^moment; infinite for a tail that is too heavy.

        With r rows beyond an end at distance d, a tail of index α has r·d^k·k/(α - k) of it. r is what the draw of the
        sides leaves outside in expectation, or what the check saw, if that is more. An index is read off two counts, so
        tails are taken for heavier than they look, by the factor `doubt`.
        """

        def tail(far: float, index: float) -> float:
            if index <= 1.1 * moment:
                return math.inf
            rows = max(self.clipped / index, self.outside)
            return rows / self.rows * far**moment * moment / (index - moment)

        return tail(self.frame.down, doubt * self.index[0]), tail(self.frame.up, doubt * self.index[1])


STEEPEST = 6.0
"""Tails count as no lighter than this index."""


def tail_index(plan: FramePlan, far: float, width: float, clipped: float, outside: float) -> float:
    """ln(T/r)/ln(d/w): T rows beyond the anchor have become r at the frame's end.

    All of it is public by now: T, and r = λ/ε, which a tail of index 2 leaves outside. Where a draw of the sides left
    more there, the tail would look light; so r is what the check saw, if that is more. An end less than a factor of 2
    away from the anchor's tells nothing of the tail, and counts as that far: with few rows it often is as near.
    """
    fewer = math.log(max(plan.left_out / max(clipped / 2, outside, 1.0), 2.0))
    return min(fewer / max(math.log(far / width), math.log(2)), STEEPEST)


SURE, BEYOND = 3.5, 3.5
"""Scales of the check's noise: what must be seen for a reply, and what it may be off on good data without a refusal."""

COUNTED = 64
"""The most that the number of rows weighs in the sums, in units of h: from there on it is as good as it gets."""


def count_weight(frame: ColumnFrame, kappa: int) -> int:
    """2^24·η: what the number of rows weighs beside (A, Q) where Σx = c·n + h·Σu is wanted and n is secret.

    The noise of c·n + h·Σu has a variance proportional to (1 + κ + η)²·(h² + c²/η²), which is least for
    η³ = (1 + κ)·(c/h)².
    """
    ratio = min(abs(frame.centre) / frame.half, 1e9)
    best = float(np.cbrt((1 + 2.0**kappa) * ratio**2))
    return math.ceil(min(max(best, 2.0**-8), COUNTED) * ONE)


def moments(data: Column, n: int, recipe: MomentRecipe, question: Question, counted: bool = False) -> Moments | None:
    """The frame, the check and the sums, for all of the question's ε; None for ⊥.

    ⊥ is drawn in place of an anchor, or it comes from the check: where so few rows are inside the frame beside those of
    one value, or so many outside, that the frame may be a trap. `counted` asks for the number of rows with the sums.
    """
    plan = FramePlan.of(n, question.epsilon / question.rows)
    anchor, sides, check, rest = question.split(*plan.shares)

    def noise(weight: int) -> IntegerLaplace:
        moved = sensitivity(recipe.kappa, rest.adjacency.size_is_public, weight)
        return IntegerLaplace(moved * rest.rows / rest.epsilon)

    noise(COUNTED * ONE)  # refuses a tiny ε before any row is read
    tails = tails_of(data, n, plan)
    frame = drawn_frame(tails, n, plan, recipe.width, anchor, sides)
    if frame is None:
        return None
    clipped, doubt = 2 * recipe.width * question.rows / float(sides.epsilon), check.rows / float(check.epsilon)
    spare = math.ceil(clipped + (SURE + BEYOND) * doubt)
    sums = exact_sums(data, frame, recipe.kappa, n, spare, tails.centre, recipe.of_rows)
    shown = noisy_integer(sums.shown, IntegerLaplace(check.rows / check.epsilon), check.account)
    if shown <= SURE * doubt:
        return None
    weight = count_weight(frame, recipe.kappa) if counted else 0
    law = noise(weight)
    noisy = noisy_sums([sums.first, sums.second, *([weight * sums.rows] if counted else [])], law, rest.account)
    outside, rows, kappa = max(float(spare - shown), 0.0), max(n, 1), 2.0**recipe.kappa
    scale = float(Fraction(law.scale))
    down, up = (tail_index(plan, far, frame.width, clipped, outside) for far in (frame.down, frame.up))
    return Moments(
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


def framed(
    data: Column, question: Question, recipes: tuple[MomentRecipe, MomentRecipe], counted: bool = False
) -> tuple[Moments | None, Question, Outcome[Any]]:
    """Moments of a column that has been read, what is left of the question, and ⊥ in case there are none.

    The first recipe is for a row that is replaced, the second for one that comes or goes. `counted` asks for the number
    of rows where it is secret.
    """
    n, question = public_size(data.count(), question)
    question = question.worth(min(question.epsilon, Fraction(MOST_PER_ROW * question.rows)), question.delta)
    if not enough(n, question.epsilon / question.rows):
        return None, question, question.refuse(HOW, refusal(n, question, looked=False))
    recipe = recipes[0] if question.adjacency.size_is_public else recipes[1]
    made = moments(data, n, recipe, question, counted and question.size_is_secret)
    why = f"no range was found that holds all but a few of about {n:,} {question.adjacency.unit}"
    return made, question, question.refuse(HOW, refusal(n, question, looked=True), why=why)


def clipping(made: Moments) -> str:
    """What was clipped, as far as public numbers tell."""
    ends, unseen = number(round(made.clipped / 2)), number(float(f"{made.unseen:.2g}"))
    clipped = f"Values outside a privately chosen range were clipped to it (about {ends} rows at each end)."
    gross = f"Up to about {unseen} gross errors could go unnoticed, or codes such as 999."
    return f"{clipped} {gross} The interval does not allow for them."
