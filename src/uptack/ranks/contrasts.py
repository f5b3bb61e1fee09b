"""Differences between two groups by inverse sensitivity: of quantiles, and Hodges and Lehmann's shift."""

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
from uptack.mechanisms.additive_noise import noisy_sums
from uptack.mechanisms.plausible_range import Lattice
from uptack.noise import IntegerLaplace
from uptack.ranks.rank_data import PUBLIC_LABELS, LabelOptions, Samples, labels_are_public, public_groups, samples
from uptack.ranks.superiority import MOVES, weight
from uptack.reach import Reach
from uptack.reach.group_difference import Difference, PairwiseShift
from uptack.reach.l_statistics import quantile_rank
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import COUNT_SHARE, Question, least_n, level, read_question
from uptack.statistics.quantile_intervals import (
    HALF,
    IntervalRanks,
    PopulationInterval,
    confidence_of,
    end_around,
)
from uptack.statistics.statistic import HOW, inverse_draw
from uptack.table.protocol import Column
from uptack.table.reads import LABELLED

Sizes = tuple[int, int]
EXAMPLE = {"groups": (1, 0)}


class ContrastOptions(LabelOptions, total=False):
    """Options of a difference between groups.

    - `granularity`: a public step that all values are multiples of, and the answer will be; integers have 1.
    """

    granularity: Rational | None


@dataclass(frozen=True, eq=False)
class Contrast:
    """What was asked of two groups: a question to pay from, their values, and who knows their sizes.

    `together` says that one row may move both groups: it is replaced, and its label is part of it.
    """

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
        """How many values each group has: secret, unless the question says otherwise."""
        return self.groups[0].count(), self.groups[1].count()

    @property
    def known(self) -> Sizes | None:
        """The sizes of both groups where they are public; the largest that both can have where only that is known."""
        if not self.question.size_is_secret:
            return self.labelled
        most = self.question.at_most
        return None if most is None else ((most + 1) // 2, (most + 1) // 2)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of the labels."""
        return () if self.labelled is None else (PUBLIC_LABELS,)

    @property
    def together(self) -> bool:
        """Whether a replaced row may go over to the other group."""
        return self.labelled is None and self.question.adjacency.size_is_public


def read_contrast(
    name: str, x: Any, labels: Any, groups: Any, epsilon: Rational, options: Mapping[str, Any]
) -> Contrast:
    """The checked arguments, and the values by group."""
    rest = {key: value for key, value in options.items() if key not in ("missing", "public_labels")}
    question = read_question(name, epsilon, rest)
    missing = checks.choice("missing", options.get("missing", "error"), ("error", "ignore"))
    data = samples(x, labels, public_groups(groups, 2, 2), missing)
    public = labels_are_public(question.account, options, data.in_table)
    secret = missing == "ignore" or not public
    most = data.size if secret and question.adjacency.size_is_public else None
    question = replace(question, missing="drop" if secret else None, at_most=most)
    if data.x.integers:
        question = replace(question, granularity=question.granularity or Fraction(1))
    return Contrast(question, data, (data.sizes[0], data.sizes[1]) if public else None)


def _drawn(contrast: Contrast, bears: Callable[[Sizes], int], reach: Callable[[int, Lattice], Reach]) -> Outcome[float]:
    """A shift by one draw. `bears` is for how many steps groups of such sizes bear: one person moves it by at most one.

    Groups of one size bear the most.
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

    return _drawn(contrast, bears, reach)


END_SHARE = Fraction(3, 8)
"""The part of ε that each end of an interval gets, where one is asked for: ends are what is far off."""


@release(
    reads=LABELLED,
    people="each",
    data=("x", "labels"),
    missing="ignore",
    examples=(EXAMPLE, {**EXAMPLE, "interval": 0.9}),
    page="median_difference",
)
def median_difference(
    x: Any,
    labels: Any,
    *,
    groups: Sequence[Any],
    epsilon: Rational,
    interval: Rational | None = None,
    **options: Unpack[ContrastOptions],
) -> Release[float] | NoReply:
    """The median of the first group less that of the second, with no bounds: `quantile_difference` at 1/2, which see.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> x, ward = np.arange(4000) % 1000 + np.repeat([0, 70], 2000), np.repeat(["a", "b"], 2000)
    >>> median_difference(x, ward, groups=("b", "a"), epsilon=1, entropy=SeededEntropy(5)).value
    7...
    """
    return _released("median difference", x, labels, groups, HALF, epsilon, interval, options)


@release(
    reads=LABELLED,
    people="each",
    data=("x", "labels"),
    missing="ignore",
    examples=({**EXAMPLE, "p": 0.25}, {**EXAMPLE, "p": 0.6, "interval": 0.9}),
    page="median_difference",
)
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
    """The p-quantile of the first group less that of the second, with no bounds on the data.

    `groups` are two public labels. A row with another label, or with none, takes part in nothing, and so does a row
    without a value (`missing="ignore"`).

    **Theorem.** The release is ε-differentially private: it is one draw by inverse sensitivity
    (`uptack.mechanisms.inverse_sensitivity`) on the reach of a difference (`uptack.reach.group_difference`). Where
    labels are public, and where rows come and go, a row is in one group, and k changes are split over both. Where a
    label is part of a row that is replaced, one row can move both groups, and both get k. The sizes of the groups are
    secret then; ranks follow them.

    `interval=0.95` gives three quarters of ε to an interval for the difference of the *population's* quantiles;
    `result.interval(0.95)` returns it. It covers with at least that probability, for any two populations.
    """
    return _released("quantile difference", x, labels, groups, level("p", p), epsilon, interval, options)


def _released(
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
    return contrast.question.account.close(drawn)


# ------------------------------------------------------------------------------------- intervals for the population


def _with_interval(contrast: Contrast, p: Fraction, confidence: Fraction) -> Outcome[float]:
    """A quarter of ε for the difference, the rest for the ends; a tenth of all for secret sizes first.

    **Theorem.** Let α = 1 - confidence, and Q₁, Q₂ the populations' quantiles. But for α/10 the sizes lie in their
    ranges (where they are public there is nothing to fail). But for 7α/10, a quarter of it for each of four events,
    a(l₁) ≤ Q₁ ≤ a(u₁) and b(l₂) ≤ Q₂ ≤ b(u₂), by the laws of the rows up to the quantiles (`rank_bounds`). Then
    a(l₁) - b(u₂) ≤ Q₁ - Q₂ ≤ a(u₁) - b(l₂). Each end aims a number of ranks further out in both groups, and misses by
    more, not being ⊥, with a chance of α/10 (`uptack.statistics.quantile_intervals.IntervalRanks`). ∎
    """
    question = contrast.question
    share = COUNT_SHARE if question.size_is_secret else Fraction(0)
    each = question.epsilon * (1 - share) * END_SHARE
    law, off = None, 0
    if share:  # noise on both sizes: a row that goes over moves both by one
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
        sizes = noisy_sums(contrast.sizes, law, question.account.allot(question.epsilon * share))
        question.account.bought(sum(sizes), law, times=2)
        question = question.worth(question.epsilon * (1 - share), question.delta)
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
    """What both sizes lie between, if each is off by at most so much."""
    one, other = ((max(n - off, 0), max(n + off, 0)) for n in sizes)
    return one, other


# ------------------------------------------------------------------------------------------- Hodges and Lehmann's shift

COMES = Fraction(3, 2)
"""What h·S moves by where a row comes or goes: `uptack.ranks.superiority`."""


@release(
    reads=LABELLED, people="each", data=("x", "labels"), missing="ignore", examples=(EXAMPLE,), page="median_difference"
)
def hodges_lehmann(
    x: Any, labels: Any, *, groups: Sequence[Any], epsilon: Rational, **options: Unpack[ContrastOptions]
) -> Release[float] | NoReply:
    """How far the first group lies above the second: the median of all differences between their rows. No bounds.

    Where one group is the other one moved, it estimates by how much, better than the difference of the medians does.
    `groups` are two public labels. A row with another label, with none, or without a value takes part in nothing.

    **Theorem.** The release is ε-differentially private: one draw by inverse sensitivity
    (`uptack.mechanisms.inverse_sensitivity`) on the reach of `uptack.reach.group_difference`. A candidate's sum of ±1
    over pairs, S(y), moves by at most 2·max(n₁, n₀) with public labels. Where labels are part of the rows, h·S(y) moves
    by at most 2 if a row is replaced and by 3/2 if one comes or goes, with the h of `uptack.ranks.superiority`.
    Both bounds are for any sums of numbers from -1 to 1 over pairs. With all signs alike they say that the number κ of
    steps that the data bear moves by at most one, as ⊥ needs.

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

    return contrast.question.account.close(_drawn(contrast, bears, reach))


def step(contrast: Contrast, sizes: Sizes) -> Fraction | None:
    """How far S(y) may move per person, on the scale of the sizes as they are; None without rows."""
    rows = contrast.question.rows
    if contrast.labelled is not None:
        large = max(contrast.labelled) or max(sizes)  # advice is about other sizes, also where nobody has a label
        return Fraction(2 * large * rows) if large else None
    h = weight(*sizes)
    moves = MOVES if contrast.question.adjacency.size_is_public else COMES
    return Fraction(moves) * rows / h if h else None
