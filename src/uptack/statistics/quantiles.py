"""Medians and other quantiles, one or several, with an optional interval for the population."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.account import Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.mechanisms.inverse_sensitivity import VECTOR_LATTICES
from uptack.mechanisms.plausible_range import Lattice
from uptack.reach import LStatistic, Reach, l_statistics
from uptack.reach.l_statistics import Floats, quantile_rank
from uptack.registry import release
from uptack.release import Advice, EachNoise, NoReply, Release
from uptack.statistics import quantile_intervals as intervals
from uptack.statistics import quantile_trees
from uptack.statistics.column_options import MOST_FOLLOWED, Options, Question, column, level, public_size, read_question
from uptack.statistics.quantile_intervals import HALF, PopulationInterval, ranks_follow_size
from uptack.statistics.statistic import (
    HOW,
    Functional,
    Statistic,
    inverse_draw,
    one_draw,
    outcome,
    outcome_for_size,
    ranks,
)
from uptack.table.protocol import Column
from uptack.table.reads import MOMENTS

MOST_LEVELS = 1000
"""Quantiles of one request."""


def statistic(p: Fraction) -> Statistic:
    """The p-quantile. In the tails the density is lower, and the slope higher."""
    name, at = "median" if p == HALF else "quantile", Functional(levels=((Fraction(1), p),))
    segments = partial(l_statistics.quantile, p)
    return Statistic(name, segments, at, slope=1.75 / float(p * (1 - p)), whole=True, follows=True)


@release(
    reads=MOMENTS,
    by=per_group,
    plan=ranks,
    examples=({}, {"interval": 0.9}),
    statistic=lambda: statistic(HALF),
    spends=one_draw,
    people=True,
)
def median(
    x: Any, *, epsilon: Rational, interval: Rational | None = None, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """The median x(⌊(n+1)/2⌋), with no bounds on the data: `quantile(x, 1/2, ...)`.

    **Theorem.** As for `quantile`.

    >>> from uptack import SeededEntropy
    >>> median(range(1001), epsilon=1, entropy=SeededEntropy(4))
    Release(501.0, median by inverse sensitivity, ε = 1.0 (substitute), NOT PRIVATE: seeded randomness)
    """
    return _one("median", x, HALF, interval, epsilon, options)


@release(
    reads=MOMENTS,
    by=per_group,
    plan=ranks,
    examples=({"p": 0.3}, {"p": [0.25, 0.75]}, {"p": 0.4, "interval": 0.9}),
    statistic=lambda p: statistic(level("p", p)),
    spends=one_draw,
    people=True,
)
def quantile(
    x: Any, p: Any, *, epsilon: Rational, interval: Rational | None = None, **options: Unpack[Options]
) -> Release[Any] | NoReply:
    """The p-quantile x(⌈pn⌉), or several at once for one ε, with no bounds on the data.

    **Theorem.** `method="inverse"` is ε-differentially private (`uptack.mechanisms.inverse_sensitivity`). `"ptr"` and
    `"dwork-lei"` are (ε, δ)-differentially private (`uptack.mechanisms.ptr`). If the
    number of rows is secret, up to eleven quantiles by the inverse method do without it
    (`uptack.statistics.statistic.outcome`), and so does an interval of one row per person. For more quantiles and for
    the other methods, a tenth of ε goes into a noisy one. All of this holds for people with up to `rows_per_person`
    rows.

    For an increasing list of p the inverse method draws all quantiles at once: nine of them have a third of the error
    of nine releases with an equal part of ε each.

    `interval=0.95` gives two thirds of ε to an interval for the quantile of the *population* that the rows are a sample
    of; `result.interval(0.95)` returns it. It covers with at least that probability, for any population of numbers up
    to 1e77, also if the number of rows is secret. The confidence can be up to 1 - 1e-12. With `person=` it is for the
    population of people, and their rows need not be independent.

    The options are listed in `uptack.statistics.Options`.

    >>> from uptack import SeededEntropy
    >>> quantile(np.arange(10_001), [0.25, 0.75], epsilon=1, entropy=SeededEntropy(4)).value
    array([2497., 7501.])
    """
    fix = "For the whole distribution use uptack.ecdf."
    if not isinstance(p, int | np.ndarray | str):
        checks.few("p", p, MOST_LEVELS, "levels", fix)
    if np.ndim(p) == 0:
        return _one("quantile", x, level("p", p), interval, epsilon, options)
    checks.few("p", len(p), MOST_LEVELS, "levels", fix)
    levels = tuple(level(f"p[{i}]", q) for i, q in enumerate(p))
    if not levels or list(levels) != sorted(set(levels)):
        must = "a number, or an increasing list of numbers, between 0 and 1"
        raise InvalidArgument("p", must, list(map(float, levels)))
    if interval is not None:
        fix = "Ask for the quantiles one by one."
        raise InvalidArgument("interval", "None for several quantiles", checks.describe(interval), fix)
    data, question = column(x, read_question("quantiles", epsilon, options), times="place")
    n = data.count()
    if not question.follows or len(levels) > MOST_FOLLOWED:
        n, question = public_size(n, question)
    return question.close(replace(quantiles(data, n, levels, question), labels=tuple(map(float, levels))))


def _one(
    name: str, x: Any, p: Fraction, interval: Rational | None, epsilon: Rational, options: Options
) -> Release[float] | NoReply:
    confidence = None if interval is None else intervals.confidence_of(interval)
    data, question = column(x, read_question(name, epsilon, options), times="place")
    if confidence is None:
        return question.close(outcome(statistic(p), data, question))
    intervals.no_interval_of_rows("interval", interval, question)
    n, question = (data.count(), question) if ranks_follow_size(p, question) else public_size(data.count(), question)
    return question.close(_with_interval(data, n, p, confidence, question))


def _with_interval(data: Column, n: int, p: Fraction, confidence: Fraction, question: Question) -> Outcome[float]:
    """A third of ε for the quantile, and a third for each end."""
    point, ends_part = question.split(1 - 2 * intervals.END_SHARE, 2 * intervals.END_SHARE)
    if (
        refused := intervals.public_refusal(intervals.rank_rule(p, confidence, ends_part, data), n, ends_part)
    ) is not None:
        return refused
    middle = (
        outcome(statistic(p), data, point)
        if ranks_follow_size(p, point)
        else outcome_for_size(statistic(p), data, n, point)
    )
    if middle.value is None:
        return middle
    ends = intervals.ends_around(data, n, p, confidence, middle.value, ends_part)
    if ends.value is None:
        return replace(middle, value=None, advice=ends.advice)
    note = f"Two thirds of ε were spent on the {float(100 * confidence):g}% interval for the population's quantile."
    return replace(middle, noise=PopulationInterval(confidence, *ends.value), notes=(note,))


# --------------------------------------------------------------------------------------------- several for one ε

CANDIDATES = VECTOR_LATTICES[:-8]
"""Lattices of 24 bits and more: with fewer, 10,001 and 10,002 are hardly distinguished."""


def quantiles(data: Column, n: int, levels: tuple[Fraction, ...], question: Question) -> Outcome[Floats]:
    """All quantiles at once by the inverse method; one after the other, with equal parts of ε, by the others.

    If n allows it, they are drawn by a chain, or if there are many by a tree of chains
    (`uptack.mechanisms.quantile_chain`): each quantile is nearly as close as if it alone had all of ε, since a changed
    row moves them all together.

    Otherwise by nested boxes. **Theorem.** The product of the quantiles' intervals is a reach of their vector: each of
    the three axioms holds coordinate by coordinate. So one draw over nested boxes
    (`uptack.mechanisms.inverse_sensitivity`) is ε-private. The score of a draw is about 2m/ε and each of m coordinates
    lies anywhere within that many ranks: an error of about m/ε ranks, half of that of m releases with ε/m each. Sorting
    is post-processing. The choice between the two depends on n, ε and the levels alone. Chains count rows, so boxes are
    used for people's weighted rows.

    **Theorem.** Boxes at ranks computed from the true number of rows are ε-private if it is secret, with ⊥ as a
    candidate. *Proof.* The score of a vector is the largest of its coordinates' scores, and κ the least of theirs. Each
    moves by at most one step if a row is added, removed or replaced (`uptack.statistics.statistic.outcome`), and so do
    these. ∎ A chain would first have to buy a noisy number of rows, whose noise moves all its targets: up to
    `MOST_FOLLOWED` quantiles have less error by boxes.
    """
    if question.method != "inverse":
        each: list[Outcome[float]] = []
        for p, part in zip(levels, question.split(*[Fraction(1, len(levels))] * len(levels)), strict=True):
            each.append(outcome_for_size(statistic(p), data, n, part))
            if not each[-1]:
                return Outcome(None, each[-1].how, advice=each[-1].advice)
        drawn_values = np.array([one.value for one in each])
        order = np.argsort(drawn_values)
        return Outcome(drawn_values[order], each[0].how, EachNoise(tuple(each[i].noise for i in order)))
    ranks, g = [quantile_rank(p, n) for p in levels], question.rows
    bought = not question.size_is_secret or question.count is not None
    chained = len(levels) > 1 and bought and not data.unit.weighted
    if chained and (values := quantile_trees.tree_quantiles(data, n, ranks, question)) is not None:
        return Outcome(values, HOW)

    def room(size: int) -> int:
        return min(quantile_rank(levels[0], size) - 1, size - quantile_rank(levels[-1], size)) // g

    def reaches(steps: int, _: Lattice) -> list[Reach]:
        segments = [l_statistics.quantile(p, n) for p in levels]
        selected = data.order([window for s in segments for window in LStatistic.windows(s, steps, g)])
        return [LStatistic(selected, s, g) for s in segments]

    def advise(advice: Advice) -> Advice:
        return quantile_trees.advice(advice, n, levels, question.epsilon, g) if chained else advice

    def secret_room() -> tuple[int, int]:
        return data.count(), min(ranks[0] - 1, data.count() - ranks[-1]) // g

    vector = inverse_draw(
        question, n, room, secret_room, reaches, dimension=len(levels), lattices=CANDIDATES, advise=advise
    )
    return vector if vector.value is None else replace(vector, value=np.sort(np.atleast_1d(vector.value)))
