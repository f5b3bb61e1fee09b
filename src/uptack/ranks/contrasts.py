"""Differences between groups: of their medians, and of any quantile, by inverse sensitivity on the pair's reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Unpack

from uptack import checks
from uptack.account import Outcome
from uptack.columns import ArrayColumn
from uptack.columns.samples import Samples, public_groups, samples
from uptack.columns.unread import UnreadRows
from uptack.exact import Rational
from uptack.mechanisms.inverse import (
    LATTICES,
    Refusal,
    boxes,
    decay,
    inverse_loss,
    inverse_sensitivity,
    steps_needed,
    worth_asking,
)
from uptack.noise import IntegerLaplace
from uptack.privacy import loss
from uptack.ranks.arguments import PUBLIC_LABELS, LabelOptions, labels_are_public, sampled, with_noise
from uptack.reach.difference import Difference
from uptack.reach.order import quantile_rank
from uptack.registry import release
from uptack.registry.reads import LABELLED
from uptack.release import Advice, NoReply, Release
from uptack.statistics.arguments import Question, asked, level
from uptack.statistics.methods import inverse_advice, sight
from uptack.statistics.quantile_ends import HALF, NEAR, OFFSETS, PopulationInterval, Shifted, confidence_of, rank_bounds
from uptack.statistics.sizes import COUNT_SHARE
from uptack.statistics.statistic import least_n

HOW = "inverse sensitivity"
Sizes = tuple[int, int]
EXAMPLE = {"groups": (1, 0)}
END_SHARE = Fraction(3, 8)
"""The part of ε that each end of an interval gets, where one is asked for: ends are what is far off."""


class ContrastOptions(LabelOptions, total=False):
    """What a difference between groups can be told beside.

    - `granularity`: a public step that all values are multiples of, and the answer will be; integers have 1.
    """

    granularity: Rational | None


@dataclass(frozen=True, eq=False)
class Contrast:
    """What was asked of two groups: a question to pay from, their values, and who knows their sizes.

    `together` says that one row may move both groups: it is replaced, and its label is part of it.
    """

    question: Question
    rows: Samples | UnreadRows
    labelled: Sizes | None

    @cached_property
    def groups(self) -> tuple[ArrayColumn, ArrayColumn]:
        """The values of both. In a rehearsal this is where it ends."""
        one, other = self.rows.values
        return ArrayColumn(one), ArrayColumn(other)

    @property
    def sizes(self) -> Sizes:
        """How many values each group has: secret, unless the question says otherwise."""
        return self.groups[0].size, self.groups[1].size

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


def contrast(name: str, x: Any, labels: Any, groups: Any, epsilon: Rational, options: Mapping[str, Any]) -> Contrast:
    """The checked arguments, and the values by group."""
    told = {key: value for key, value in options.items() if key not in ("missing", "public_labels")}
    question = asked(name, epsilon, told)
    missing = checks.choice("missing", options.get("missing", "error"), ("error", "ignore"))
    found = samples(x, labels, public_groups(groups, 2, 2), missing)
    public = labels_are_public(question.account, options, found.in_table)
    secret = missing == "ignore" or not public
    most = found.size if secret and question.adjacency.size_is_public else None
    question = replace(question, missing="drop" if secret else None, at_most=most)
    if found.whole:
        question = replace(question, granularity=question.granularity or Fraction(1))
    return Contrast(question, found, (found.sizes[0], found.sizes[1]) if public else None)


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
    (`uptack.mechanisms.inverse`) on the reach of a difference (`uptack.reach.difference`). Where labels are public, and
    where rows come and go, a row is in one group, and k changes are split over both. Where a label is part of a row
    that is replaced, one row can move both groups, and both get k. The sizes of the groups are secret then; ranks
    follow them.

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
    drawn = _drawn(found, p) if confidence is None else _with_interval(found, p, confidence)
    return found.question.account.close(drawn)


def _ranks(p: Fraction, sizes: Sizes) -> Sizes:
    return quantile_rank(p, sizes[0]), quantile_rank(p, sizes[1])


def _room(p: Fraction, sizes: Sizes, rows: int) -> int:
    """For how many steps both ends of the intervals are inside the data: it moves by at most one per person."""
    return min(min(r - 1, n - r) for r, n in zip(_ranks(p, sizes), sizes, strict=True)) // rows


def _drawn(found: Contrast, p: Fraction) -> Outcome[float]:
    """The difference by one draw; ⊥ is free where public numbers decide it, and a candidate otherwise."""
    question, known = found.question, found.known

    def room(_: int) -> int:  # groups of one size have the most room
        return _room(p, known or (0, 0), question.rows)

    def fits(size: int, moves: int) -> bool:
        return _room(p, (size // 2, size // 2), 1) >= moves

    rows = sum(known or (0, 0))
    advice = partial(inverse_advice, fits, rows, question)
    seen = sight(room, rows, question, 1, LATTICES)
    if seen is None:
        return question.refuse(HOW, advice())
    sizes = found.sizes
    lattice, steps = seen[0], min(seen[1], sum(sizes) + 1)
    reach = Difference(*found.groups, _ranks(p, sizes), steps, question.rows, found.together)
    refusal, spent = Refusal(_room(p, sizes, question.rows), question.size_is_secret), inverse_loss(question.epsilon)
    value = inverse_sensitivity(
        reach,
        steps,
        question.epsilon,
        question.entropy,
        refusal,
        granularity=question.granularity,
        lattice=lattice,
    )
    if value is None:
        return question.refuse(HOW, advice(), spent)
    return replace(question.answer(value, spent, HOW), notes=found.notes)


# ------------------------------------------------------------------------------------- intervals for the population


@dataclass(frozen=True)
class _Ends:
    """The ranks (low, high) of each group that both ends aim at, and the steps that each may miss by.

    **Theorem.** Let α = 1 - confidence, and Q₁, Q₂ the populations' quantiles. But for α/10 the sizes lie in their
    ranges (where they are public there is nothing to fail). But for 7α/10, a quarter of it for each of four events,
    a(l₁) ≤ Q₁ ≤ a(u₁) and b(l₂) ≤ Q₂ ≤ b(u₂), by the binomial laws of the rows up to the quantiles. Then
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
        aimed = [rank_bounds(least, most, p, failing * Fraction(7, 40), False) for least, most in bounds]
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
    drawn = _drawn(replace(found, question=half), p)
    if drawn.value is None:
        return drawn
    values = [_end(found, ends, drawn.value, side, up) for side, up in ((low, False), (high, True))]
    if values[0] is None or values[1] is None:
        return question.refuse(HOW, advice)
    note = f"three quarters of ε paid for a {float(confidence):.3g} interval of the populations' difference"
    noise = PopulationInterval(confidence, min(values[0], values[1]), max(values[0], values[1]))
    return replace(drawn, noise=noise, notes=(*found.notes, *sampled(question.account), note))


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
    noisy = [with_noise(n, law, question.entropy) for n in found.sizes]
    question.account.spend(loss.Pure(question.epsilon * share))
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
    drawn = boxes([reach], ends.steps, OFFSETS).draw(decay(side.epsilon), side.entropy, refusal)
    side.account.spend(inverse_loss(side.epsilon))
    if drawn is None:
        return None
    return around + OFFSETS.value(min(max(drawn[0] + outward, -OFFSETS.top), OFFSETS.top))
