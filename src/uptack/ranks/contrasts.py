"""Differences between groups: of their medians, and of any quantile, by inverse sensitivity on the pair's reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

from uptack.account import Outcome
from uptack.exact import Rational
from uptack.mechanisms.additive_noise import noisy_sums
from uptack.mechanisms.inverse_sensitivity import InverseDraw, Refusal, ScoredBoxes, boxes, steps_needed, worth_asking
from uptack.noise import IntegerLaplace
from uptack.ranks.contrast_draws import EXAMPLE, HOW, Contrast, ContrastOptions, Sizes, contrast, difference
from uptack.reach.group_difference import Difference
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import COUNT_SHARE, Question, level
from uptack.statistics.quantile_intervals import (
    HALF,
    NEAR,
    OFFSETS,
    PopulationInterval,
    Shifted,
    confidence_of,
    rank_bounds,
)
from uptack.statistics.statistic import least_n
from uptack.table.reads import LABELLED

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
    found = contrast(name, x, labels, groups, epsilon, options)
    drawn = difference(found, p) if confidence is None else _with_interval(found, p, confidence)
    return found.question.account.close(drawn)


# ------------------------------------------------------------------------------------- intervals for the population


@dataclass(frozen=True)
class _Ends:
    """The ranks (low, high) of each group that both ends aim at, and the steps that each may miss by.

    **Theorem.** Let α = 1 - confidence, and Q₁, Q₂ the populations' quantiles. But for α/10 the sizes lie in their
    ranges (where they are public there is nothing to fail). But for 7α/10, a quarter of it for each of four events,
    a(l₁) ≤ Q₁ ≤ a(u₁) and b(l₂) ≤ Q₂ ≤ b(u₂), by the laws of the rows up to the quantiles (`rank_bounds`). Then
    a(l₁) - b(u₂) ≤ Q₁ - Q₂ ≤ a(u₁) - b(l₂). Each end aims a number of ranks further out in both groups, and misses by
    more, not being ⊥, with a chance of α/10. ∎ Where the groups do not bear the steps that a reply for `sure` needs,
    ends aim less far out, and ⊥ is a candidate (`uptack.statistics.quantiles`). It may not be `worth` trying.
    """

    ranks: tuple[Sizes, Sizes]
    steps: int
    missing: Fraction
    sure: bool
    worth: bool

    @classmethod
    def of(cls, bounds: tuple[Sizes, Sizes], p: Fraction, confidence: Fraction, epsilon: Fraction, rows: int) -> _Ends:
        """For ranges of both sizes, and an ε for each end."""
        failing = 1 - confidence
        aimed = [rank_bounds(least, most, p, failing * Fraction(7, 40), False, rows) for least, most in bounds]
        room = min(min(low - 1, least - high) for (low, high), (least, _) in zip(aimed, bounds, strict=True))
        needed = steps_needed(epsilon, OFFSETS.size, failing / 10)
        steps = min(max(room // (2 * rows), 0), needed)
        one, other = ((low - rows * steps, high + rows * steps) for low, high in aimed)
        sure = room // (2 * rows) >= needed
        worth = sure or worth_asking(room // (2 * rows), epsilon, failure=failing / 10, near=NEAR)
        return cls((one, other), steps, failing / 10, sure, worth)

    def bears(self, sizes: Sizes, rows: int) -> int:
        """For how many steps both ends are inside groups of such sizes."""
        return min(min(low - 1, n - high) for (low, high), n in zip(self.ranks, sizes, strict=True)) // rows


def _with_interval(found: Contrast, p: Fraction, confidence: Fraction) -> Outcome[float]:
    """A quarter of ε for the difference, the rest for the ends; a tenth of all for secret sizes first."""
    question = found.question
    share = COUNT_SHARE if question.size_is_secret else Fraction(0)
    each = question.epsilon * (1 - share) * END_SHARE

    def sure(size: int) -> bool:
        off = _sizes_law(found, share).cutoff((1 - confidence) / 40) - 1 if share else 0
        bounds = ((max(size // 2 - 2 * off, 0), size // 2),) * 2
        return _Ends.of(bounds, p, confidence, each, question.rows).sure

    advice = Advice(n=least_n(sure), other="groups with more rows")
    known = found.known
    if known is not None and not _Ends.of(_exactly(known), p, confidence, each, question.rows).worth:
        return question.refuse(HOW, advice)
    bounds, question = _bounds(found, share, confidence)
    ends = _Ends.of(bounds, p, confidence, each, question.rows)
    if not ends.worth:
        return question.refuse(HOW, advice)
    half, low, high = question.split(1 - 2 * END_SHARE, END_SHARE, END_SHARE)
    drawn = difference(replace(found, question=half), p)
    if drawn.value is None:
        return drawn
    values = [_end(found, ends, drawn.value, side, up) for side, up in ((low, False), (high, True))]
    if values[0] is None or values[1] is None:
        return question.refuse(HOW, advice)
    percent = f"{float(100 * confidence):g}%"
    note = f"Three quarters of ε were spent on the {percent} interval for the difference in the population."
    noise = PopulationInterval(confidence, min(values[0], values[1]), max(values[0], values[1]))
    return replace(drawn, noise=noise, notes=(*found.notes, note))


def _exactly(sizes: Sizes) -> tuple[Sizes, Sizes]:
    return (sizes[0], sizes[0]), (sizes[1], sizes[1])


def _sizes_law(found: Contrast, share: Fraction) -> IntegerLaplace:
    """Noise on both sizes: a row that goes over moves both by one."""
    return IntegerLaplace((2 if found.together else 1) * found.question.rows / (found.question.epsilon * share))


def _bounds(found: Contrast, share: Fraction, confidence: Fraction) -> tuple[tuple[Sizes, Sizes], Question]:
    """Ranges of both sizes that fail with a chance of α/10 in all, and what is left of the question."""
    question = found.question
    if not share:
        return _exactly(found.sizes), question
    law = _sizes_law(found, share)
    noisy = noisy_sums(found.sizes, law, question.account.allot(question.epsilon * share))
    question.account.bought(sum(noisy), law, times=2)
    off = law.cutoff((1 - confidence) / 40) - 1
    one, other = ((max(n - off, 0), max(n + off, 0)) for n in noisy)
    return (one, other), question.worth(question.epsilon * (1 - share), question.delta)


def _end(found: Contrast, ends: _Ends, around: float, side: Question, up: bool) -> float | None:
    """One end, drawn on a coarse lattice around the difference, which is public by now; None for ⊥."""
    (one, other), outward = ends.ranks, 1 if up else -1
    ranks = (one[1], other[0]) if up else (one[0], other[1])
    reach = Shifted(Difference(*found.groups, ranks, ends.steps, side.rows, found.together), around)
    refusal = Refusal(ends.bears(found.sizes, side.rows), side.size_is_secret, ends.missing)
    nested = boxes([reach], ends.steps, OFFSETS)
    drawn = side.account.draw(InverseDraw.of(side.epsilon), ScoredBoxes(nested, refusal))
    if drawn is None:
        return None
    return around + OFFSETS.value(min(max(drawn[0] + outward, -OFFSETS.top), OFFSETS.top))
