"""Variances and standard deviations over a private frame."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Unpack

import numpy as np

from uptack.account import Outcome
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.mechanisms.additive_noise import noisy_sums
from uptack.noise import IntegerLaplace
from uptack.reach.protocol import Floats
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.column_options import MeanOptions, Question, column, read_question
from uptack.statistics.means import laplace_quantile, normal_quantile
from uptack.statistics.moments import HOW, ONE, MomentRecipe, Moments, clipping, framed
from uptack.table.protocol import Column
from uptack.table.reads import COLUMN, MOMENTS

RECIPES = (MomentRecipe(kappa=1, width=8, of_rows=True), MomentRecipe(kappa=1, width=8, of_rows=True))
"""κ = 2: here the second moment is what counts."""

DOUBT = 0.9
"""How much heavier a variance takes tails for than they look."""

FOURTH = Fraction(8, 100)
"""The part of ε that goes into the fourth moment, for the interval alone."""


def powers(x: Floats, low: float, high: float, centre: float, reach: float) -> Floats:
    """((x - centre)/reach)⁴ of rows brought to [low, high], each from 0 to 1.

    Products alone: they are the same to the last bit in batches of any shape, which a library's powers need not be.
    """
    away = (np.clip(x, low, high) - centre) / reach
    square = away * away
    share: Floats = np.minimum(square * square, 1.0)
    return share


def added(shares: Floats) -> list[int]:
    """Σ⌊2^24·share⌋, each from 0 to 2^24."""
    return [int(np.floor(np.minimum(shares, 1.0) * ONE).astype(np.int64).sum())]


def fourth_powers(x: Floats, low: float, high: float, centre: float, reach: float) -> list[int]:
    """The same of the fourth powers of rows."""
    return added(powers(x, low, high, centre, reach))


@dataclass(frozen=True)
class VarianceInterval:
    """The interval of a variance s²: z·sqrt(g·(m₄ - s⁴)/n) for sampling, with up to g rows per person, the noise of
    both moments, and at the upper end what rows beyond the frame may add. `fourth` is m₄ in units of h⁴, h half the
    frame's width, with its noise added on top: h⁴ itself may be beyond all floats. `root` for a standard deviation.

    *People* add the means d̄ of their rows' d = (x - mean)², and are independent. By Jensen's inequality the variance of
    d̄ is at most m₄ - s⁴, with the mean of d² over a random row of a random person: so the formula holds for n people,
    however the rows of one person depend on each other, and is sharp if they are copies of each other.
    """

    made: Moments
    variance: float
    fourth: float
    root: bool

    @property
    def frame(self) -> tuple[float, float]:
        """The released frame that rows are clipped to."""
        return self.made.frame.low, self.made.frame.high

    def around(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """For the population; infinite where no more can be said."""
        made, q = self.made, laplace_quantile(confidence)
        counted = q * made.count / made.rows * (made.second - 2 * made.first**2)
        first = q * made.first_scale
        noise = math.hypot(q * made.second_scale, 2 * made.first * first, counted) + first**2 + 4 / ONE
        spread = max(self.fourth - made.variance**2, self.fourth / 3, 0.0)
        drawn = normal_quantile(confidence) * math.sqrt(spread / made.independent)
        half = made.frame.half**2 * math.hypot(drawn, noise)
        ends = max(self.variance - half, 0.0), self.variance + half + math.fsum(made.tails(DOUBT, 2))
        return (math.sqrt(ends[0]), math.sqrt(ends[1])) if self.root else ends


def _fourth(data: Column, made: Moments, question: Question) -> float:
    """The fourth moment about the released mean over h⁴, at its upper end: the noise's scale is added."""
    frame = made.frame
    far = 1 + abs(made.first)
    centre, reach = frame.centre + frame.half * made.first, frame.half * far
    law = IntegerLaplace(ONE * question.rows / question.epsilon)
    place: dict[str, Any] = {"low": frame.low, "high": frame.high, "centre": centre, "reach": reach}
    if data.unit.weighted:
        exact = added(data.person_means(partial(powers, **place)))
    else:
        exact = data.sum(partial(fourth_powers, **place))
    (noisy,) = noisy_sums(exact, law, question.account)
    return min(max(noisy + float(Fraction(law.scale)), 0.0) / ONE / made.rows, 1.0) * far**4


def _measured(name: str, x: Any, epsilon: Rational, options: MeanOptions, root: bool) -> Release[float] | NoReply:
    question = read_question(name, epsilon, options)
    data, question = column(x, question, floats=True, times="spread" if root else "")
    made, _, refused = framed(data, question.part(1 - FOURTH), RECIPES)
    if made is None:
        return question.account.close(refused)
    fourth = _fourth(data, made, question.part(FOURTH))
    variance = made.frame.half**2 * made.variance
    noise = None if question.capped else VarianceInterval(made, variance, fourth, root)
    value = math.sqrt(variance) if root else variance
    return question.account.close(Outcome(value, HOW, noise, notes=(clipping(made),)))


@release(reads=COLUMN, by=per_group, people=True)
def variance(x: Any, *, epsilon: Rational, **options: Unpack[MeanOptions]) -> Release[float] | NoReply:
    """The variance, with an interval for that of the population and no bounds on the data.

    **Theorem.** ε-differentially private. The frame and the first two moments are those of `mean`, with κ = 2
    (`uptack.statistics.moments`) and another weight of width. Given them, 8% of ε goes into the fourth moment: a
    row has a whole number from 0 to 2^24, so the sum moves by at most 2^24 when one is replaced, comes or goes. It is
    used for the interval alone.

    With `person=` it is the variance of a random row of a random person: a person adds the means of her rows' moments,
    which move the sums as one row's do (`uptack.statistics.moments`); her fourth power is from 0 to 2^24 too.

    Rows outside the frame count as its ends, which makes the variance smaller; the interval's upper end allows for
    that, and is infinite where the tails look too heavy for a variance.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> x = np.random.default_rng(1).normal(0, 3, 20_000)
    >>> found = variance(x, epsilon=1, entropy=SeededEntropy(1))
    >>> low, high = found.interval(0.95)
    >>> bool(low < 9 < high), bool(abs(found.value - 9) < 0.5)
    (True, True)
    """
    return _measured("variance", x, epsilon, options, root=False)


@release(reads=MOMENTS, by=per_group, page="variance", people=True)
def std(x: Any, *, epsilon: Rational, **options: Unpack[MeanOptions]) -> Release[float] | NoReply:
    """The standard deviation, the root of `variance`, with an interval for that of the population.

    **Theorem.** ε-differentially private: it is worked out from a private variance.
    """
    return _measured("standard deviation", x, epsilon, options, root=True)
