"""The difference of two groups' means, with Welch's interval and test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

from uptack.account import Outcome
from uptack.exact import Rational
from uptack.ranks.contrasts import EXAMPLE, Contrast, read_contrast
from uptack.ranks.rank_data import LabelOptions, sampling_note
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import least_n
from uptack.statistics.frames import enough
from uptack.statistics.means import DOUBT, RECIPES, MeanInterval
from uptack.statistics.moments import HOW, Moments, clipping, framed
from uptack.table.reads import LABELLED

HALF = Fraction(1, 2)
LEAST_P = 1e-4
"""No p-value is below it: the normal law of means, and what lies beyond a frame, are not known more precisely."""


@release(
    reads=LABELLED,
    people="each",
    data=("x", "labels"),
    missing="ignore",
    examples=(EXAMPLE,),
    page="median_difference",
)
def mean_difference(
    x: Any, labels: Any, *, groups: Sequence[Any], epsilon: Rational, **options: Unpack[LabelOptions]
) -> Release[float] | NoReply:
    """The mean of the first group less that of the second, with Welch's interval and no bounds on the data.

    `groups` are two public labels. A row with another label, or with none, takes part in nothing, and so does a row
    without a value (`missing="ignore"`).

    **Theorem.** The release is ε-differentially private. Each group's mean is released as `uptack.mean` releases it,
    with ε/2. If a row is replaced, comes or goes, then in each group one row at most is replaced, comes or goes. So
    each of the two releases is ε/2-differentially private for the whole table, and together they are
    ε-differentially private by composition. The difference, its interval and the p-value are computed from them.

    `result.interval(0.95)` is for the difference of the *populations'* means. The groups have variances of their own
    (Welch 1947): with half-widths h₁ and h₂ of the two means' intervals, which allow for sampling and for noise, it is
    the difference ± sqrt(h₁² + h₂²), and then what rows beyond the private ranges may add. `result.noise.p_value` is
    that of the test of equal means which the interval implies: the smallest α such that the interval at 1 - α does not
    hold 0. It is at least 0.0001. The test is approximate, by the central limit theorem.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> rng = np.random.default_rng(1)
    >>> ward = np.repeat(["a", "b"], [4000, 2000])
    >>> days = rng.normal(np.where(ward == "a", 12, 10), np.where(ward == "a", 2, 5))
    >>> found = mean_difference(days, ward, groups=("a", "b"), epsilon=2, entropy=SeededEntropy(1))
    >>> low, high = found.interval(0.95)
    >>> bool(low < 2 < high), bool(high - low < 2), found.noise.p_value
    (True, True, 0.0001)
    """
    contrast = read_contrast("mean difference", x, labels, groups, epsilon, options)
    question = contrast.question
    known, each = contrast.known, question.epsilon / 2 / question.rows
    if known is not None and not enough(min(known), each):
        advice = Advice(n=2 * (least_n(lambda size: enough(size, each)) or 1), other="groups with more rows")
        return question.account.close(question.refuse(HOW, advice))
    return question.account.close(_released(contrast))


def _released(contrast: Contrast) -> Outcome[float]:
    question = contrast.question
    made, law = list[Moments](), question.count
    for part, half in zip(contrast.groups, question.split(HALF, HALF), strict=True):
        moments, left, refused = framed(part.floats(), half, RECIPES)
        if moments is None:
            return refused
        made.append(moments)
        law = left.count
    if law is not None:
        question.account.bought(sum(one.rows for one in made), law, times=2)
    means = [one.frame.centre + one.frame.half * one.first for one in made]
    noise = WelchInterval(means[0] - means[1], MeanInterval(made[0]), MeanInterval(made[1]))
    notes = (*contrast.notes, *(clipping(one) for one in made), *sampling_note(question.account), noise.sentence)
    return Outcome(means[0] - means[1], HOW, noise, notes=tuple(dict.fromkeys(notes)))


@dataclass(frozen=True)
class WelchInterval:
    """The interval of a difference between two means: half-widths add in squares, tails add."""

    difference: float
    first: MeanInterval
    second: MeanInterval

    def around(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """For the difference of the populations' means; infinite if a tail is too heavy."""
        half = math.hypot(self.first.half(confidence, True), self.second.half(confidence, True))
        (down, up), (other_down, other_up) = (one.made.tails(DOUBT) for one in (self.first, self.second))
        return value - half - down - other_up, value + half + up + other_down

    @property
    def p_value(self) -> float:
        """The smallest α, from 0.0001 to 1, such that the interval at 1 - α does not hold 0."""
        low, high = LEAST_P, 1.0
        if self._excludes_zero(low):
            return low
        for _ in range(40):  # to a part in 10^12
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self._excludes_zero(middle) else (middle, high)
        return high

    def _excludes_zero(self, alpha: float) -> bool:
        low, high = self.around(self.difference, Fraction(1 - alpha))
        return low > 0 or high < 0

    @property
    def sentence(self) -> str:
        """The result of the test, in words."""
        sign = "≤" if self.p_value <= LEAST_P else "="
        return f"Welch's test of equal means: p {sign} {self.p_value:.2g}."
