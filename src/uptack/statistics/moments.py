"""Means and second moments in one release: sums over a private frame, with exact integer noise.

A private frame is drawn first (`uptack.statistics.frames`), and a noisy count checks that it holds most rows. Then
exact sums over the frame get noise for what one row, or one person, moves them by.

Let [a, b] be a released frame with centre c and half-width h. A row has u = (x - c)/h, clipped to [-1, 1] and rounded
to a multiple of 2^-24. This depends on that row alone. Its integers are

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

import math
from collections.abc import Sequence
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
from uptack.reach.l_statistics import Floats
from uptack.statistics.column_options import Question, public_size
from uptack.statistics.frames import MOST_PER_ROW, ColumnFrame, FramePlan, draw_frame, enough_rows, refusal, tails_of
from uptack.table.protocol import Column

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
    of = [f" of {name}" for name in names] or [""]
    ends = " and ".join(
        f"{number(round(one.clipped / 2))} {unit}{which}" for one, which in zip(moments, of, strict=True)
    )
    unseen = number(float(f"{max(one.unseen for one in moments):.2g}"))
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
