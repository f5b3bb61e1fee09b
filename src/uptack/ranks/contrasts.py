"""Differences between two groups: of quantiles, of means, and the Hodges-Lehmann shift."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Unpack

from uptack import checks
from uptack.account import Outcome
from uptack.exact import Rational
from uptack.labels import label
from uptack.mechanisms.additive_noise import noisy_sums
from uptack.mechanisms.plausible_range import Lattice
from uptack.noise import IntegerLaplace
from uptack.ranks.rank_data import (
    EXAMPLE,
    PUBLIC_LABELS,
    LabelOptions,
    Samples,
    labels_are_public,
    public_groups,
    samples,
    sampling_note,
    two_samples,
)
from uptack.ranks.superiority import MOVES, weight
from uptack.reach import Reach
from uptack.reach.differences import Difference, PairwiseShift
from uptack.reach.l_statistics import quantile_rank
from uptack.release import Advice, NoReply, Release
from uptack.statistics import moments
from uptack.statistics.column_options import COUNT_SHARE, Question, least_n, level, read_question
from uptack.statistics.means import DOUBT, RECIPES, MeanInterval
from uptack.statistics.moments import enough_rows
from uptack.statistics.quantiles import HALF, IntervalRanks, PopulationInterval, confidence_of, end_around
from uptack.statistics.statistic import HOW, inverse_draw
from uptack.table.protocol import Column

Sizes = tuple[int, int]


class ContrastOptions(LabelOptions, total=False):
    """Options of a difference between groups.

    - `granularity`: a public step that all values are multiples of, and the answer will be; integers have 1.
    """

    granularity: Rational | None


@dataclass(frozen=True, eq=False)
class Contrast:
    """A request about two groups: a question to pay from, their values, and the public numbers of labels, if any."""

    question: Question
    samples: Samples
    labelled: Sizes | None

    @cached_property
    def groups(self) -> tuple[Column, Column]:
        """The values of both. A dry run stops here."""
        one, other = self.samples.parts
        return one, other

    @property
    def sizes(self) -> Sizes:
        """The number of values in each group: secret, unless the question says otherwise."""
        return self.groups[0].count(), self.groups[1].count()

    @property
    def known(self) -> Sizes | None:
        """The sizes of both groups if they are public; else the largest equal sizes that are possible, if known."""
        if not self.question.size_is_secret:
            return self.labelled
        most = self.question.at_most
        return None if most is None else ((most + 1) // 2, (most + 1) // 2)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on public labels."""
        return () if self.labelled is None else (PUBLIC_LABELS,)

    @property
    def together(self) -> bool:
        """Whether one row may move both groups: a replaced row may change its group."""
        return self.labelled is None and self.question.adjacency.size_is_public


def read_contrast(
    name: str, x: Any, labels: Any, groups: Any, epsilon: Rational, options: Mapping[str, Any]
) -> Contrast:
    """The checked arguments, and the values by group."""
    rest = {key: value for key, value in options.items() if key not in ("missing", "public_labels")}
    question = read_question(name, epsilon, rest)
    missing = checks.choice("missing", options.get("missing", "error"), ("error", "drop"))
    data = samples(x, labels, public_groups(groups, 2, 2), missing)
    public = labels_are_public(question, options, data.in_table)
    secret = missing == "drop" or not public
    most = data.size if secret and question.adjacency.size_is_public else None
    question = replace(question, missing="drop" if secret else None, at_most=most)
    if data.x.integers:
        question = replace(question, granularity=question.granularity or Fraction(1))
    return Contrast(question, data, (data.sizes[0], data.sizes[1]) if public else None)


def _draw_shift(
    contrast: Contrast, bears: Callable[[Sizes], int], reach: Callable[[int, Lattice], Reach]
) -> Outcome[float]:
    """A shift by one draw. `bears` is κ for groups of such sizes, which one person moves by at most one.

    It is largest for groups of equal size.
    """
    known = contrast.known or (0, 0)
    drawn = inverse_draw(
        contrast.question,
        sum(known),
        lambda size: bears((size // 2, size // 2)),
        lambda: (sum(contrast.sizes), bears(contrast.sizes)),
        lambda steps, lattice: [reach(steps, lattice)],
        known=bears(known),
    )
    return replace(drawn, notes=contrast.notes) if drawn else drawn


# ------------------------------------------------------------------------------------------- differences of quantiles


def difference(contrast: Contrast, p: Fraction) -> Outcome[float]:
    """The difference of two quantiles by one draw."""

    def ranks(sizes: Sizes) -> Sizes:
        return quantile_rank(p, sizes[0]), quantile_rank(p, sizes[1])

    def bears(sizes: Sizes) -> int:
        return min(min(r - 1, n - r) for r, n in zip(ranks(sizes), sizes, strict=True)) // contrast.question.rows

    def reach(steps: int, _: Lattice) -> Reach:
        return Difference(*contrast.groups, ranks(contrast.sizes), steps, contrast.question.rows, contrast.together)

    return _draw_shift(contrast, bears, reach)


END_SHARE = Fraction(3, 8)
"""The part of ε for each end of an interval, if one is requested: the ends have the largest error."""


@two_samples(examples=(EXAMPLE, {**EXAMPLE, "interval": 0.9}), page="median_difference")
def median_difference(
    x: Any,
    labels: Any,
    *,
    groups: Sequence[Any],
    epsilon: Rational,
    interval: Rational | None = None,
    **options: Unpack[ContrastOptions],
) -> Release[float] | NoReply:
    """The difference of two medians: that of the first group less that of the second. No bounds.

    **Theorem.** As for `quantile_difference`, at p = 1/2.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> x, ward = np.arange(4000) % 1000 + np.repeat([0, 70], 2000), np.repeat(["a", "b"], 2000)
    >>> median_difference(x, ward, groups=("b", "a"), epsilon=1, entropy=SeededEntropy(5)).value
    7...
    """
    return _release_difference("median difference", x, labels, groups, HALF, epsilon, interval, options)


@two_samples(examples=({**EXAMPLE, "p": 0.25}, {**EXAMPLE, "p": 0.6, "interval": 0.9}), page="median_difference")
def quantile_difference(
    x: Any,
    labels: Any,
    p: Rational,
    *,
    groups: Sequence[Any],
    epsilon: Rational,
    interval: Rational | None = None,
    **options: Unpack[ContrastOptions],
) -> Release[float] | NoReply:
    """The difference of two p-quantiles: that of the first group less that of the second. No bounds.

    `groups` are two public labels. Rows with another label, with none, or without a value (`missing="drop"`) are left
    out.

    **Theorem.** The release is ε-differentially private: it is one draw by inverse sensitivity
    (`uptack.mechanisms.inverse_sensitivity`) on the reach of a difference (`uptack.reach.differences`). If labels
    are public, or if rows are added and removed, a row is in one group, and k changes are split over both. If a label
    is part of a replaced row, one row can move both groups, and both get k. The sizes of the groups are secret then;
    ranks follow them.

    `interval=0.95` gives three quarters of ε to an interval for the difference of the *population's* quantiles;
    `result.interval(0.95)` returns it. It covers with at least that probability, for any two populations.
    """
    return _release_difference("quantile difference", x, labels, groups, level("p", p), epsilon, interval, options)


def _release_difference(
    name: str,
    x: Any,
    labels: Any,
    groups: Any,
    p: Fraction,
    epsilon: Rational,
    interval: Rational | None,
    options: Mapping[str, Any],
) -> Release[float] | NoReply:
    confidence = None if interval is None else confidence_of(interval)
    contrast = read_contrast(name, x, labels, groups, epsilon, options)
    drawn = difference(contrast, p) if confidence is None else _with_interval(contrast, p, confidence)
    return contrast.question.close(drawn)


# ------------------------------------------------------------------------------------- intervals for the population


def _with_interval(contrast: Contrast, p: Fraction, confidence: Fraction) -> Outcome[float]:
    """A quarter of ε for the difference, the rest for the ends; a tenth of all for secret sizes first.

    **Theorem.** Let α = 1 - confidence, and Q₁, Q₂ the populations' quantiles. But for α/10 the sizes lie in their
    ranges (if they are public this is certain). But for 7α/10, a quarter of it for each of four events,
    a(l₁) ≤ Q₁ ≤ a(u₁) and b(l₂) ≤ Q₂ ≤ b(u₂), by the laws of the rows up to the quantiles (`rank_bounds`). Then
    a(l₁) - b(u₂) ≤ Q₁ - Q₂ ≤ a(u₁) - b(l₂). Each end aims a number of ranks further out in both groups, and misses by
    more, not being ⊥, with a chance of α/10 (`uptack.statistics.quantiles.IntervalRanks`). ∎
    """
    question = contrast.question
    share = COUNT_SHARE if question.size_is_secret else Fraction(0)
    each = question.epsilon * (1 - share) * END_SHARE
    law, off = None, 0
    if share:  # noise on both sizes: a row that changes its group moves both by one
        law = IntegerLaplace((2 if contrast.together else 1) * question.rows / (question.epsilon * share))
        off = law.cutoff((1 - confidence) / 40) - 1

    def aim(bounds: tuple[Sizes, Sizes]) -> IntervalRanks:
        return IntervalRanks.among(bounds, p, confidence, Fraction(7, 40), each, question.rows)

    def sure(size: int) -> bool:
        return aim(((max(size // 2 - 2 * off, 0), size // 2),) * 2).sure

    advice = Advice(n=least_n(sure), other="groups with more rows")
    if contrast.known is not None and not aim(_ranges(contrast.known, 0)).worth:
        return question.refuse(HOW, advice)
    sizes: Sequence[int] = contrast.sizes
    if law is not None:
        sizes = noisy_sums(contrast.sizes, law, question.allot(question.epsilon * share))
        question.keep_size(sum(sizes), law, times=2)
        question = question.allot(question.epsilon * (1 - share), question.delta)
    ends = aim(_ranges(sizes, off))
    if not ends.worth:
        return question.refuse(HOW, advice)
    half, *sides = question.split(1 - 2 * END_SHARE, END_SHARE, END_SHARE)
    drawn = difference(replace(contrast, question=half), p)
    if drawn.value is None:
        return drawn
    ((low, high), (other_low, other_high)), values = ends.ranks, []
    for ranks, outward, side in zip(((low, other_high), (high, other_low)), (-1, 1), sides, strict=True):
        reach = Difference(*contrast.groups, ranks, ends.steps, side.rows, contrast.together)
        value = end_around(drawn.value, reach, ends.steps, ends.refusal(contrast.sizes, side), side, outward)
        values.append(value)
    if values[0] is None or values[1] is None:
        return question.refuse(HOW, advice)
    percent = f"{float(100 * confidence):g}%"
    note = f"Three quarters of ε were spent on the {percent} interval for the difference in the population."
    noise = PopulationInterval(confidence, min(values[0], values[1]), max(values[0], values[1]))
    return replace(drawn, noise=noise, notes=(*contrast.notes, note))


def _ranges(sizes: Sequence[int], off: int) -> tuple[Sizes, Sizes]:
    """The range of both sizes, if each is off by at most so much."""
    one, other = ((max(n - off, 0), max(n + off, 0)) for n in sizes)
    return one, other


# ------------------------------------------------------------------------------------------- Hodges and Lehmann's shift

COMES = Fraction(3, 2)
"""How far h·S moves if a row is added or removed: `uptack.ranks.superiority`."""


@two_samples(examples=(EXAMPLE,), page="median_difference")
def hodges_lehmann(
    x: Any, labels: Any, *, groups: Sequence[Any], epsilon: Rational, **options: Unpack[ContrastOptions]
) -> Release[float] | NoReply:
    """The Hodges-Lehmann shift of the first group above the second: the median of all pairwise differences. No bounds.

    If one population is the other one shifted, it estimates the shift, with less error than the difference of medians.
    `groups` are two public labels. Rows with another label, with none, or without a value are left out.

    **Theorem.** The release is ε-differentially private: one draw by inverse sensitivity
    (`uptack.mechanisms.inverse_sensitivity`) on the reach of `uptack.reach.differences`. A candidate's sum of ±1
    over pairs, S(y), moves by at most 2·max(n₁, n₀) with public labels. If labels are part of the rows, h·S(y) moves by
    at most 2 if a row is replaced and by 3/2 if one is added or removed, with the h of `uptack.ranks.superiority`.
    Both bounds hold for any sums of numbers from -1 to 1 over pairs. With all signs alike they say that κ moves by at
    most one, as ⊥ needs.

    It takes O(n log n) for each of some hundred candidates per digit: a few seconds for 10,000 rows.
    """
    contrast = read_contrast("Hodges-Lehmann shift", x, labels, groups, epsilon, options)

    def bears(sizes: Sizes) -> int:
        """κ: the last k with t_k < m, so that both ends are differences of rows."""
        each = step(contrast, sizes)
        return -1 if each is None else math.ceil(sizes[0] * sizes[1] / each) - 1

    def reach(steps: int, lattice: Lattice) -> Reach:
        one, other = contrast.samples.values
        return PairwiseShift(
            one, other, step(contrast, contrast.sizes) or Fraction(1), steps, lattice.values, lattice.top
        )

    return contrast.question.close(_draw_shift(contrast, bears, reach))


def step(contrast: Contrast, sizes: Sizes) -> Fraction | None:
    """How far one person may move S(y), for such sizes; None without rows."""
    rows = contrast.question.rows
    if contrast.labelled is not None:
        large = max(contrast.labelled) or max(sizes)  # advice is about other sizes, also where nobody has a label
        return Fraction(2 * large * rows) if large else None
    h = weight(*sizes)
    moves = MOVES if contrast.question.adjacency.size_is_public else COMES
    return Fraction(moves) * rows / h if h else None


# -------------------------------------------------------------------------------------------------- difference of means

LEAST_P = 1e-4
"""The least p-value: the normal approximation, and the bounds on the tails, are not more precise."""


@two_samples(examples=(EXAMPLE,), page="median_difference")
def mean_difference(
    x: Any, labels: Any, *, groups: Sequence[Any], epsilon: Rational, **options: Unpack[LabelOptions]
) -> Release[float] | NoReply:
    """The difference of two means, that of the first group less that of the second, with Welch's interval. No bounds.

    `groups` are two public labels. Rows with another label, with none, or without a value (`missing="drop"`) are left
    out.

    **Theorem.** The release is ε-differentially private. Each group's mean is released as `uptack.mean` releases it,
    with ε/2. If a row is replaced, added or removed, then in each group at most one row is. So each of the two releases
    is ε/2-differentially private for the whole table, and together they are ε-differentially private by composition.
    The difference, its interval and the p-value are computed from them.

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
    >>> result = mean_difference(days, ward, groups=("a", "b"), epsilon=2, entropy=SeededEntropy(1))
    >>> low, high = result.interval(0.95)
    >>> bool(low < 2 < high), bool(high - low < 2), result.noise.p_value
    (True, True, 0.0001)
    """
    contrast = read_contrast("mean difference", x, labels, groups, epsilon, options)
    question = contrast.question
    known, each = contrast.known, question.epsilon / 2 / question.rows
    if known is not None and not enough_rows(min(known), each):
        advice = Advice(n=2 * (least_n(lambda size: enough_rows(size, each)) or 1), other="groups with more rows")
        return question.close(question.refuse(moments.HOW, advice))
    both, law = list[moments.Moments](), question.count
    names = [label(group) for group in contrast.samples.groups]
    for name, part, half in zip(names, contrast.groups, question.split(HALF, HALF), strict=True):
        one, left = moments.frame_moments(part.floats(), half, RECIPES)
        if isinstance(one, Outcome):
            return question.close(_of_group(one, name))
        both.append(one)
        law = left.count
    if law is not None:
        question.keep_size(sum(one.rows for one in both), law, times=2)
    means = [one.frame.centre + one.frame.half * one.first for one in both]
    noise = WelchInterval(means[0] - means[1], MeanInterval(both[0]), MeanInterval(both[1]))
    clipped = moments.clipping_note(*both, unit=question.adjacency.unit, names=names)
    endless = moments.open_ends(*(tail for one in both for tail in one.tails(DOUBT)))
    notes = (*contrast.notes, clipped, *endless, *sampling_note(question), noise.sentence)
    return question.close(Outcome(noise.difference, moments.HOW, noise, notes=tuple(dict.fromkeys(notes))))


def _of_group(refused: Outcome[Any], name: str) -> Outcome[Any]:
    """A ⊥ for one group, which its reason and its advice name."""
    if (advice := refused.advice) is None:
        return refused
    why = f"group {name}: {advice.why}" if advice.why else ""
    return replace(refused, advice=replace(advice, why=why, unit=f"rows of group {name}"))


@dataclass(frozen=True)
class WelchInterval:
    """The interval of a difference between two means: half-widths add in squares, tails add."""

    difference: float
    first: MeanInterval
    second: MeanInterval

    def around(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """For the difference of the populations' means; infinite if a tail is too heavy."""
        half = math.hypot(self.first.half(confidence, True), self.second.half(confidence, True))
        (down, up), (other_down, other_up) = (one.moments.tails(DOUBT) for one in (self.first, self.second))
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
