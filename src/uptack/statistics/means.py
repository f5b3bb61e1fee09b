"""Means, sums, variances and standard deviations: moments of the rows that lie in a private frame.

(`sum` is the name of a release function, so the builtin is not used in this file.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Any, Unpack

import numpy as np

from uptack.account import Outcome
from uptack.exact import Rational, read
from uptack.grouping import per_group
from uptack.mechanisms.additive_noise import noisy_sums
from uptack.noise import IntegerLaplace
from uptack.reach import Segment
from uptack.reach.l_statistics import Floats
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.column_options import MeanOptions, Question, column, read_question
from uptack.statistics.moments import HOW, ONE, MomentRecipe, Moments, clipping_note, frame_moments, open_ends
from uptack.statistics.statistic import Functional, Statistic
from uptack.table.protocol import Column
from uptack.table.reads import COLUMN, MOMENTS


def normal_quantile(confidence: Rational) -> float:
    """z with P(|Z| ≤ z) = confidence."""
    return NormalDist().inv_cdf(float(1 + read(confidence)) / 2)


def laplace_quantile(confidence: Rational) -> float:
    """q with P(|L| ≤ q) = confidence, for Laplace noise of scale 1."""
    return -math.log(float(1 - read(confidence)))


DOUBT = 0.8
"""The interval of a mean assumes tails heavier than they look: their index is multiplied by this factor. At n = 3,000 a
factor of 1 makes intervals a tenth shorter, one of 0.6 half as long again (`benchmarks/constants.py`)."""


@dataclass(frozen=True)
class MeanInterval:
    """The interval of a mean: z·sqrt(g·variance/n) for sampling, with up to g rows per person, and q·b for the noise,
    added in squares; then what rows beyond the ends may add, by the tails' indices."""

    moments: Moments
    times: int = 1

    @property
    def frame(self) -> tuple[float, float]:
        """The released frame that rows are clipped to."""
        return self.moments.frame.low, self.moments.frame.high

    def half(self, confidence: Rational, sampling: bool) -> float:
        """Half the width without tails."""
        moments, q = self.moments, laplace_quantile(confidence)
        noise = math.hypot(q * moments.first_scale, q * moments.count * moments.first / moments.rows)
        return moments.frame.half * (math.hypot(noise, sampling * self._sampling_error(confidence)) + 1 / ONE)

    def _sampling_error(self, confidence: Rational) -> float:
        variance = min(self.moments.variance + self.moments.second_scale, 1.0)
        return normal_quantile(confidence) * math.sqrt(variance / self.moments.independent)

    def around(self, value: Any, confidence: Rational, sampling: bool = True) -> tuple[float, float]:
        """For the population; infinite on a side whose tail is too heavy."""
        (below, above), half = self.moments.tails(DOUBT), self.half(confidence, sampling)
        return value - half - self.times * below, value + half + self.times * above

    def of_rows(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """For the statistic of the rows themselves: without sampling."""
        return self.around(value, confidence, sampling=False)


@dataclass(frozen=True)
class SumInterval(MeanInterval):
    """The interval of a sum: that of the mean `times` the number of rows, with the noise of both sums."""

    def half(self, confidence: Rational, sampling: bool) -> float:
        moments, q, h = self.moments, laplace_quantile(confidence), self.moments.frame.half
        noise = math.hypot(q * moments.first_scale * moments.rows * h, q * moments.total_scale * moments.frame.centre)
        sampled = sampling * self._sampling_error(confidence) * moments.rows * h
        return math.hypot(noise, sampled) + moments.rows * h / ONE


def _notes(moments: Moments, question: Question, tails: Sequence[float], of: str = "mean") -> tuple[str, ...]:
    """On what was clipped, and on an interval without an end; without tails there is no interval."""
    return (clipping_note(moments, unit=question.adjacency.unit), *open_ends(*tails, of=of))


def _mean() -> Statistic:
    return Statistic("mean", lambda n: (Segment(1, n, Fraction(1, n)),), Functional(weight=Fraction(1)))


RECIPES = (MomentRecipe(kappa=-1, width=5), MomentRecipe(kappa=-2, width=5))
"""At κ = 1/2 the second moment is free if a row is replaced. If one is added or removed it costs κ. With a power of
2 in place of 5 errors are 38% larger, with 10 intervals 25% longer (`benchmarks/constants.py`)."""


@release(reads=MOMENTS, by=per_group, statistic=_mean, people=True)
def mean(x: Any, *, epsilon: Rational, **options: Unpack[MeanOptions]) -> Release[float] | NoReply:
    """The arithmetic mean, with an interval for the mean of the population and no bounds on the data.

    **Theorem.** ε-differentially private: two draws find a frame that holds all rows but a handful,
    and the mean and the second moment of the rows clipped to it get exact integer noise
    (`uptack.statistics.moments`). A noisy count checks that the frame holds most rows. If the number of rows is
    secret, a tenth of ε goes into a noisy one. All of this holds for people with up to `rows_per_person` rows, and with
    `person=` for people with all their rows: each person then counts with the mean of theirs.

    Rows outside the frame are clipped to it. `result.interval(0.95)` is for the mean of the population: it allows for
    sampling (by the central limit theorem), for the noise, and for what lies beyond the frame, by how heavy the tails
    look and how many rows the check saw there. It is infinite on a side whose tail is too heavy. The reply is ⊥ if
    nearly all rows seem to have one value, or many seem to lie outside. A few gross errors, fewer than the noise, go
    unnoticed: the interval is then for the mean without them. `result.noise.frame` is the frame, and
    `result.noise.of_rows(result.value, 0.95)` an interval for the mean of the rows themselves.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> x = np.random.default_rng(1).lognormal(0, 1, 10_000)
    >>> result = mean(x, epsilon=1, entropy=SeededEntropy(1))
    >>> low, high = result.interval(0.95)
    >>> bool(low < np.exp(0.5) < high), bool(abs(result.value - x.mean()) < 0.05)
    (True, True)
    """
    data, question = column(x, read_question("mean", epsilon, options), floats=True, times="place")
    moments, question = frame_moments(data, question, RECIPES)
    if isinstance(moments, Outcome):
        return question.close(moments)
    value = moments.frame.centre + moments.frame.half * moments.first
    noise = None if question.capped else MeanInterval(moments)  # rows that weigh alike have no theorem
    notes = _notes(moments, question, () if noise is None else moments.tails(DOUBT))
    return question.close(Outcome(value, HOW, noise, notes=notes))


@release(reads=COLUMN, by=per_group, page="mean", people="each")
def sum(x: Any, *, epsilon: Rational, **options: Unpack[MeanOptions]) -> Release[float] | NoReply:
    """The sum of a column, with an interval and no bounds on the data.

    **Theorem.** ε-differentially private, as `mean`. If the number of rows n is public, it is n times the mean. If it
    is secret, it is released with the sums of u = (x - c)/h over the frame: a row of (A, Q, E) is at most
    (1 + κ)·2^24 + E long (`uptack.statistics.moments`), E is a function of the released frame, and the sum is
    c·n + h·Σu. A tenth of ε goes into a noisy number of rows before.

    `result.interval(0.95)` is for the sum of a new sample of the same size from the population: it allows for sampling,
    noise and what lies beyond the frame. `result.noise.of_rows(result.value, 0.95)` is for the sum of the rows.
    For people use `person=` with `per_person="sum"`.

    >>> import numpy as np
    >>> from uptack import ADD_REMOVE, SeededEntropy
    >>> x = np.random.default_rng(1).gamma(2, 50, 20_000)
    >>> result = sum(x, epsilon=1, adjacency=ADD_REMOVE, entropy=SeededEntropy(1))
    >>> low, high = result.noise.of_rows(result.value, 0.95)
    >>> bool(low < x.sum() < high), bool(abs(result.value / x.sum() - 1) < 0.01)
    (True, True)
    """
    data, question = column(x, read_question("sum", epsilon, options), floats=True)
    moments, question = frame_moments(data, question, RECIPES, counted=True)
    if isinstance(moments, Outcome):
        return question.close(moments)
    value = moments.frame.centre * moments.total + moments.frame.half * moments.added
    notes = _notes(moments, question, moments.tails(DOUBT))
    return question.close(Outcome(value, HOW, SumInterval(moments, moments.rows), notes=notes))


# ----------------------------------------------------------------------------------------------------------- variances

VARIANCE_RECIPES = (MomentRecipe(kappa=1, width=8, of_rows=True), MomentRecipe(kappa=1, width=8, of_rows=True))
"""κ = 2: here the second moment is what counts. With a power of 4 in place of 8 errors are 42% larger,
with 16 13% (`benchmarks/constants.py`)."""

VARIANCE_DOUBT = 0.9
"""The same for the interval of a variance: at 0.7 most intervals have no upper end (`benchmarks/constants.py`)."""

FOURTH = Fraction(8, 100)
"""The part of ε that goes into the fourth moment, for the interval alone. Half or twice as much changes the error of a
variance by 1% (`benchmarks/constants.py`)."""


def powers(x: Floats, low: float, high: float, centre: float, reach: float) -> Floats:
    """((x - centre)/reach)⁴ of rows clipped to [low, high], each from 0 to 1.

    By products: they are the same to the last bit in batches of any shape, which a library's powers need not be.
    """
    away = (np.clip(x, low, high) - centre) / reach
    square = away * away
    share: Floats = np.minimum(square * square, 1.0)
    return share


def integer_sum(shares: Floats) -> list[int]:
    """Σ⌊2^24·share⌋, each from 0 to 2^24."""
    return [int(np.floor(np.minimum(shares, 1.0) * ONE).astype(np.int64).sum())]


def fourth_powers(x: Floats, low: float, high: float, centre: float, reach: float) -> list[int]:
    """Σ⌊2^24·share⌋ of the fourth powers of rows."""
    return integer_sum(powers(x, low, high, centre, reach))


@dataclass(frozen=True)
class VarianceInterval:
    """The interval of a variance s²: z·sqrt(g·(m₄ - s⁴)/n) for sampling, with up to g rows per person, the noise of
    both moments, and at the upper end what rows beyond the frame may add. `fourth` is m₄ in units of h⁴, h half the
    width of the frame, plus the scale of its noise: h⁴ itself may overflow. `root` is for a standard deviation.

    *People* add the means d̄ of their rows' d = (x - mean)², and are independent. By Jensen's inequality the variance of
    d̄ is at most m₄ - s⁴, with the mean of d² over a random row of a random person: so the formula holds for n people,
    however the rows of one person depend on each other, and is sharp if they are copies of each other.
    """

    moments: Moments
    variance: float
    fourth: float
    root: bool

    @property
    def frame(self) -> tuple[float, float]:
        return self.moments.frame.low, self.moments.frame.high

    def around(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """For the population; the upper end is infinite if a tail is too heavy."""
        moments, q = self.moments, laplace_quantile(confidence)
        counted = q * moments.count / moments.rows * (moments.second - 2 * moments.first**2)
        first = q * moments.first_scale
        noise = math.hypot(q * moments.second_scale, 2 * moments.first * first, counted) + first**2 + 4 / ONE
        spread = max(self.fourth - moments.variance**2, self.fourth / 3, 0.0)
        sampling = normal_quantile(confidence) * math.sqrt(spread / moments.independent)
        half = moments.frame.half**2 * math.hypot(sampling, noise)
        ends = max(self.variance - half, 0.0), self.variance + half + math.fsum(moments.tails(VARIANCE_DOUBT, 2))
        return (math.sqrt(ends[0]), math.sqrt(ends[1])) if self.root else ends


def _fourth_moment(data: Column, moments: Moments, question: Question) -> float:
    """The fourth moment about the released mean over h⁴, at its upper end: the noise's scale is added."""
    frame = moments.frame
    far = 1 + abs(moments.first)
    law = IntegerLaplace(ONE * question.rows / question.epsilon)
    place: dict[str, Any] = {"low": frame.low, "high": frame.high}
    place |= {"centre": frame.centre + frame.half * moments.first, "reach": frame.half * far}
    if data.unit.weighted:
        exact = integer_sum(data.person_means(partial(powers, **place)))
    else:
        exact = data.sum(partial(fourth_powers, **place))
    (noisy,) = noisy_sums(exact, law, question)
    return min(max(noisy + float(Fraction(law.scale)), 0.0) / ONE / moments.rows, 1.0) * far**4


def _variance(name: str, x: Any, epsilon: Rational, options: MeanOptions, root: bool) -> Release[float] | NoReply:
    data, question = column(x, read_question(name, epsilon, options), floats=True, times="spread" if root else "")
    moments, _ = frame_moments(data, question.part(1 - FOURTH), VARIANCE_RECIPES)
    if isinstance(moments, Outcome):
        return question.close(moments)
    fourth = _fourth_moment(data, moments, question.part(FOURTH))
    variance = moments.frame.half**2 * moments.variance
    noise = None if question.capped else VarianceInterval(moments, variance, fourth, root)
    value = math.sqrt(variance) if root else variance
    tails = () if noise is None else moments.tails(VARIANCE_DOUBT, 2)
    notes = _notes(moments, question, tails, of="standard deviation" if root else "variance")
    return question.close(Outcome(value, HOW, noise, notes=notes))


@release(reads=COLUMN, by=per_group, people=True)
def variance(x: Any, *, epsilon: Rational, **options: Unpack[MeanOptions]) -> Release[float] | NoReply:
    """The variance, with an interval for the variance of the population and no bounds on the data.

    **Theorem.** ε-differentially private. The frame and the first two moments are those of `mean`, with κ = 2
    (`uptack.statistics.moments`) and another weight of width. Given them, 8% of ε goes into the fourth moment, for the
    interval alone: each row adds an integer from 0 to 2^24, so the sum moves by at most 2^24 if a row is replaced,
    added or removed.

    With `person=` it is the variance of a random row of a random person: a person adds the means of her rows' moments,
    which move the sums as one row's do (`uptack.statistics.moments`); her fourth power is from 0 to 2^24 too.

    Rows outside the frame are clipped to it, which makes the variance smaller. The upper end of the interval allows for
    that, and is infinite if the tails look too heavy for a variance.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> x = np.random.default_rng(1).normal(0, 3, 20_000)
    >>> result = variance(x, epsilon=1, entropy=SeededEntropy(1))
    >>> low, high = result.interval(0.95)
    >>> bool(low < 9 < high), bool(abs(result.value - 9) < 0.5)
    (True, True)
    """
    return _variance("variance", x, epsilon, options, root=False)


@release(reads=MOMENTS, by=per_group, page="variance", people=True)
def std(x: Any, *, epsilon: Rational, **options: Unpack[MeanOptions]) -> Release[float] | NoReply:
    """The standard deviation, with an interval for that of the population and no bounds on the data.

    **Theorem.** ε-differentially private: it is the square root of a private `variance`.
    """
    return _variance("standard deviation", x, epsilon, options, root=True)
