"""Means and second moments in one release: sums over a frame, with exact integer noise.

A private frame is drawn first (`uptack.statistics.frames`), and a noisy count checks that it holds most rows. Then
exact sums of what rows add (`uptack.statistics.frame_sums`) get noise for what one row moves them by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from uptack.account import Outcome
from uptack.display.numbers import number
from uptack.mechanisms.additive_noise import noisy_integer, noisy_sums
from uptack.noise import IntegerLaplace
from uptack.statistics.column_options import Question, public_size
from uptack.statistics.frame_sums import ONE, exact_sums, sensitivity
from uptack.statistics.frames import MOST_PER_ROW, ColumnFrame, FramePlan, drawn_frame, enough, refusal, tails_of
from uptack.statistics.statistic import Data

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
        down, up = (self._tail(far, doubt * seen, moment) for far, seen in zip(self._far, self.index, strict=True))
        return down, up

    @property
    def _far(self) -> tuple[float, float]:
        return self.frame.down, self.frame.up

    def _tail(self, far: float, index: float, moment: int) -> float:
        if index <= 1.1 * moment:
            return math.inf
        rows = max(self.clipped / index, self.outside)
        return rows / self.rows * far**moment * moment / (index - moment)


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


@dataclass(frozen=True)
class _Stages:
    """The question in parts, and the laws of its noise. Made before any row is read, so a tiny ε is refused there."""

    plan: FramePlan
    anchor: Question
    side: Question
    check: Question
    rest: Question

    @staticmethod
    def of(n: int, recipe: MomentRecipe, question: Question) -> _Stages:
        plan = FramePlan.of(n, question.epsilon / question.rows)
        stages = _Stages(plan, *question.split(*plan.shares))
        stages.law(recipe, COUNTED * ONE)
        return stages

    def law(self, recipe: MomentRecipe, count: int) -> IntegerLaplace:
        """The noise of the sums."""
        moved = sensitivity(recipe.kappa, self.rest.adjacency.size_is_public, count)
        return IntegerLaplace(moved * self.rest.rows / self.rest.epsilon)

    @property
    def seeing(self) -> IntegerLaplace:
        """The noise of the check."""
        return IntegerLaplace(self.check.rows / self.check.epsilon)


def moments(data: Data, n: int, recipe: MomentRecipe, question: Question, counted: bool = False) -> Moments | None:
    """The frame, the check and the sums, for all of the question's ε; None for ⊥.

    ⊥ is drawn in place of an anchor, or it comes from the check: where so few rows are inside the frame beside those of
    one value, or so many outside, that the frame may be a trap. `counted` asks for the number of rows with the sums.
    """
    stages = _Stages.of(n, recipe, question)
    plan, check, rest = stages.plan, stages.check, stages.rest
    tails = tails_of(data, n, plan)
    frame = drawn_frame(tails, n, plan, recipe.width, stages.anchor, stages.side)
    if frame is None:
        return None
    clipped, doubt = 2 * recipe.width * question.rows / float(stages.side.epsilon), check.rows / float(check.epsilon)
    spare = math.ceil(clipped + (SURE + BEYOND) * doubt)
    sums = exact_sums(data, frame, recipe.kappa, n, spare, tails.centre, recipe.of_rows)
    shown = noisy_integer(sums.shown, stages.seeing, check.account)
    if shown <= SURE * doubt:
        return None
    weight = count_weight(frame, recipe.kappa) if counted else 0
    law, wanted = stages.law(recipe, weight), [sums.first, sums.second, *([weight * sums.rows] if counted else [])]
    noisy = noisy_sums(wanted, law, rest.account)
    seen = _OutsideRows(clipped, max(float(spare - shown), 0.0), clipped + BEYOND * doubt)
    return _made(stages, recipe, frame, n, seen, noisy, float(Fraction(law.scale)), weight)


@dataclass(frozen=True)
class _OutsideRows:
    """What is known of the rows outside: see `Moments`."""

    clipped: float
    outside: float
    unseen: float


def _made(
    stages: _Stages,
    recipe: MomentRecipe,
    frame: ColumnFrame,
    n: int,
    seen: _OutsideRows,
    noisy: list[int],
    scale: float,
    weight: int,
) -> Moments:
    rows, kappa, count = max(n, 1), 2.0**recipe.kappa, stages.rest.count
    ends = (frame.down, frame.up)
    down, up = (tail_index(stages.plan, far, frame.width, seen.clipped, seen.outside) for far in ends)
    return Moments(
        frame,
        first=min(max(noisy[0] / ONE / rows, -1.0), 1.0),
        second=noisy[1] / ONE / rows / kappa,
        first_scale=scale / ONE / rows,
        second_scale=scale / ONE / rows / kappa,
        rows=rows,
        count=0.0 if count is None else float(Fraction(count.scale)),
        clipped=seen.clipped,
        outside=seen.outside,
        unseen=seen.unseen,
        index=(down, up),
        added=noisy[0] / ONE,
        total=noisy[2] / weight if weight else float(rows),
        total_scale=scale / weight if weight else 0.0,
        each=stages.rest.rows,
    )


def framed(
    data: Data, question: Question, recipes: tuple[MomentRecipe, MomentRecipe], counted: bool = False
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
    ends = f"about {number(round(made.clipped / 2))} rows at each end"
    gross = f"Up to about {number(float(f'{made.unseen:.2g}'))} gross errors could go unnoticed."
    return f"Values outside a privately chosen range were clipped to it ({ends}). {gross}"
