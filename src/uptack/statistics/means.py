"""Means and sums that a single row can't carry away: trimmed and Winsorized means, and those over a private frame.

(`sum` is the name of a release function, so the builtin is not used in this file.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Any, Unpack

from uptack import checks
from uptack.account import Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational, read
from uptack.grouping import per_group
from uptack.reach import Segment, l_statistics
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.column_options import MeanOptions, Options, column, read_question, resolved
from uptack.statistics.moments import HOW, ONE, MomentRecipe, Moments, clipping, framed
from uptack.statistics.statistic import Functional, Statistic, one_draw, ranks, released
from uptack.table.reads import COLUMN, MOMENTS


def normal_quantile(confidence: Rational) -> float:
    """z with P(|Z| ≤ z) = confidence."""
    return NormalDist().inv_cdf(float(1 + read(confidence)) / 2)


def laplace_quantile(confidence: Rational) -> float:
    """q with P(|L| ≤ q) = confidence, for Laplace noise of scale 1."""
    return -math.log(float(1 - read(confidence)))


DOUBT = 0.8
"""How much heavier a mean takes tails for than they look."""


@dataclass(frozen=True)
class MeanInterval:
    """The interval of a mean: z·sqrt(g·variance/n) for sampling, with up to g rows per person, and q·b for the noise,
    put together as √(…² + …²); then what rows beyond the ends may add, by the tails' indices."""

    made: Moments

    @property
    def frame(self) -> tuple[float, float]:
        """The released frame that rows are clipped to."""
        return self.made.frame.low, self.made.frame.high

    def half(self, confidence: Rational, sampling: bool) -> float:
        """Half the width without tails."""
        made, q = self.made, laplace_quantile(confidence)
        noise = math.hypot(q * made.first_scale, q * made.count * made.first / made.rows)
        return made.frame.half * (math.hypot(noise, sampling * self._drawn(confidence)) + 1 / ONE)

    def _drawn(self, confidence: Rational) -> float:
        made = self.made
        return normal_quantile(confidence) * math.sqrt(min(made.variance + made.second_scale, 1.0) / made.independent)

    def around(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """For the mean of the population; infinite where no more can be said."""
        return self._around(value, confidence, sampling=True)

    def of_rows(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """For the statistic of the rows themselves: without the sampling."""
        return self._around(value, confidence, sampling=False)

    def _around(self, value: Any, confidence: Rational, sampling: bool) -> tuple[float, float]:
        below, above = self.made.tails(DOUBT)
        half = self.half(confidence, sampling)
        return value - half - below, value + half + above


@dataclass(frozen=True)
class SumInterval(MeanInterval):
    """The interval of a sum: that of the mean times the number of rows, with the noise of both as they were added."""

    def half(self, confidence: Rational, sampling: bool) -> float:
        """Half the width without tails."""
        made, q, h = self.made, laplace_quantile(confidence), self.made.frame.half
        noise = math.hypot(q * made.first_scale * made.rows * h, q * made.total_scale * made.frame.centre)
        return math.hypot(noise, sampling * self._drawn(confidence) * made.rows * h) + made.rows * h / ONE

    def _around(self, value: Any, confidence: Rational, sampling: bool) -> tuple[float, float]:
        (below, above), rows = self.made.tails(DOUBT), self.made.rows
        half = self.half(confidence, sampling)
        return value - half - rows * below, value + half + rows * above


def _trimmed(cut: Rational = 0.1) -> Statistic:
    share = _cut(cut)
    kept = 1 - 2 * share
    return Statistic(
        "trimmed mean",
        partial(l_statistics.trimmed_mean, share),
        Functional(weight=1 / kept, between=(share, 1 - share)),
        spread=lambda n: (int(share * n), n - int(share * n) + 1),
        slope=4.0 / float(kept),
        averaged=lambda n: max(n - 2 * int(share * n), 1),
        follows=True,
    )


def _winsorized(cut: Rational = 0.1) -> Statistic:
    share = _cut(cut)
    ends = ((share, share), (share, 1 - share))
    return Statistic(
        "Winsorized mean",
        partial(l_statistics.winsorized_mean, share),
        Functional(ends, weight=Fraction(1), between=(share, 1 - share)),
        spread=lambda n: (int(share * n), n - int(share * n) + 1),
        slope=4.0 / float(1 - 2 * share),
        follows=True,
    )


def _mean() -> Statistic:
    return Statistic("mean", lambda n: (Segment(1, n, Fraction(1, n)),), Functional(weight=Fraction(1)))


def _cut(value: Rational) -> Fraction:
    cut = checks.rational("cut", value, "a number strictly between 0 and 1/2")
    if not 0 < cut < Fraction(1, 2):
        fix = "It is the share of rows taken off at each end; for no cut at all use mean."
        raise InvalidArgument("cut", "a number strictly between 0 and 1/2", checks.describe(value), fix)
    resolved("cut", value, min(2 * cut, 1 - 2 * cut) / 2)
    return cut


@release(
    reads=MOMENTS,
    by=per_group,
    plan=ranks,
    examples=({"cut": 0.2},),
    statistic=_trimmed,
    spends=one_draw,
    people=True,
)
def trimmed_mean(
    x: Any, cut: Rational = 0.1, *, epsilon: Rational, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """The mean of the rows that are left when a share `cut` is taken off each end, with no bounds on the data.

    **Theorem.** `method="inverse"` is ε-differentially private; `"ptr"` and `"dwork-lei"` (the papers' TM, as repaired)
    are (ε, δ)-differentially private. The options are listed in `uptack.statistics.Options`.

    The sum is exact, from one pass over rows that are selected and not sorted. Integers have no granularity of their
    own here; with one (`method="inverse"`) the answer is a multiple of it, and ties do no harm.

    >>> from uptack import SeededEntropy
    >>> trimmed_mean(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    5001.1...
    """
    return released(_trimmed(cut), x, epsilon, options)


@release(
    reads=MOMENTS,
    by=per_group,
    plan=ranks,
    examples=({"cut": 0.2},),
    page="trimmed_mean",
    statistic=_winsorized,
    people=True,
)
def winsorized_mean(
    x: Any, cut: Rational = 0.1, *, epsilon: Rational, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """The mean where a share `cut` of rows at each end is set to the nearest row that is left.

    **Theorem.** As for `trimmed_mean`; `"dwork-lei"` uses the papers' S and M's grids.
    """
    return released(_winsorized(cut), x, epsilon, options)


RECIPES = (MomentRecipe(kappa=-1, width=5), MomentRecipe(kappa=-2, width=5))
"""At κ = 1/2 the second moment is free where a row is replaced. Where one comes or goes it costs κ."""


@release(reads=MOMENTS, by=per_group, statistic=_mean, people=True)
def mean(x: Any, *, epsilon: Rational, **options: Unpack[MeanOptions]) -> Release[float] | NoReply:
    """The mean, with an interval for the mean of the population and no bounds on the data.

    **Theorem.** ε-differentially private: two draws find a frame that holds all rows but a handful
    (`uptack.statistics.frames`), and the mean and the second moment of the rows brought into it get exact integer noise
    (`uptack.statistics.moments`). A noisy count checks that the frame holds most rows. Where the number of rows is
    secret, a tenth of ε goes into a noisy one. All hold for people with up to `rows_per_person` rows, and with
    `person=` for people with all their rows, who then count with the mean of theirs.

    Rows outside the frame count as its ends. `result.interval(0.95)` is for the mean of the population: it allows for
    sampling (by the central limit theorem), for the noise, and for what lies beyond the frame, by how heavy the tails
    look and how many rows the check saw there. It has no end on a side whose tail is so heavy that no more can be said.
    The reply is ⊥ where nearly all rows seem to be one value, or many to be outside. A few gross errors, fewer than the
    noise, can't be told from none: then it is for the mean without them. `result.noise.frame` is the frame, and
    `result.noise.of_rows(result.value, 0.95)` an interval for the rows' own mean.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> x = np.random.default_rng(1).lognormal(0, 1, 10_000)
    >>> found = mean(x, epsilon=1, entropy=SeededEntropy(1))
    >>> low, high = found.interval(0.95)
    >>> bool(low < np.exp(0.5) < high), bool(abs(found.value - x.mean()) < 0.05)
    (True, True)
    """
    question = read_question("mean", epsilon, options)
    data, question = column(x, question, floats=True, times="place")
    made, question, refused = framed(data, question, RECIPES)
    if made is None:
        return question.account.close(refused)
    value = made.frame.centre + made.frame.half * made.first
    noise = None if question.capped else MeanInterval(made)  # rows that weigh alike have no theorem
    return question.account.close(Outcome(value, HOW, noise, notes=(clipping(made),)))


@release(reads=COLUMN, by=per_group, page="mean", people="each")
def sum(x: Any, *, epsilon: Rational, **options: Unpack[MeanOptions]) -> Release[float] | NoReply:
    """The sum of a column, with an interval and no bounds on the data.

    **Theorem.** ε-differentially private, as `mean`. With a public number of rows n it is n times the mean. Where that
    number is secret, it comes with the sums of u = (x - c)/h over the frame: a row of (A, Q, E) is at most
    (1 + κ)·2^24 + E long (`uptack.statistics.moments`), E is worked out from the released frame, and the sum is
    c·n + h·Σu. A tenth of ε goes into a noisy number of rows before.

    `result.interval(0.95)` is for as many rows as there are, drawn from the population: it allows for sampling, noise
    and what lies beyond the frame. `result.noise.of_rows(result.value, 0.95)` is for the sum of the rows themselves.
    For people use `person=` with `per_person="sum"`.

    >>> import numpy as np
    >>> from uptack import ADD_REMOVE, SeededEntropy
    >>> x = np.random.default_rng(1).gamma(2, 50, 20_000)
    >>> found = sum(x, epsilon=1, adjacency=ADD_REMOVE, entropy=SeededEntropy(1))
    >>> low, high = found.noise.of_rows(found.value, 0.95)
    >>> bool(low < x.sum() < high), bool(abs(found.value / x.sum() - 1) < 0.01)
    (True, True)
    """
    question = read_question("sum", epsilon, options)
    data, question = column(x, question, floats=True)
    made, question, refused = framed(data, question, RECIPES, counted=True)
    if made is None:
        return question.account.close(refused)
    value = made.frame.centre * made.total + made.frame.half * made.added
    return question.account.close(Outcome(value, HOW, SumInterval(made), notes=(clipping(made),)))
