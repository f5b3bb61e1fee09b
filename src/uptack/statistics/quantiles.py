"""Medians and other quantiles, one or many, with an interval for the population if asked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.account import Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.reach import Segment
from uptack.reach.l_statistics import quantile_rank
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import Options, Question, column, level, public_size, read_question
from uptack.statistics.joint_quantiles import HOW, followed, quantiles
from uptack.statistics.order_statistic_errors import one_draw, ranks
from uptack.statistics.quantile_intervals import (
    HALF,
    PopulationInterval,
    aiming,
    confidence_of,
    ends_around,
    no_interval_of_rows,
)
from uptack.statistics.release_methods import measured, run
from uptack.statistics.statistic import Data, Functional, Statistic, least_n
from uptack.table.reads import MOMENTS

MOST_LEVELS = 1000
"""Quantiles of one request."""

WHOLE = "The whole distribution is uptack.ecdf."


def statistic(p: Fraction) -> Statistic:
    """The p-quantile. In the tails the density is lower, and the slope higher."""

    def segments(n: int) -> tuple[Segment, ...]:
        rank = quantile_rank(p, n)
        return (Segment(rank, rank),)

    name, at = "median" if p == HALF else "quantile", Functional(levels=((Fraction(1), p),))
    return Statistic(name, segments, at, slope=1.75 / float(p * (1 - p)), whole=True, follows=True)


def _of_level(p: Rational) -> Statistic:
    return statistic(level("p", p))


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
    """The median x(⌊(n+1)/2⌋), with no bounds on the data: `quantile(x, 1/2, ...)`, which see.

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
    statistic=_of_level,
    spends=one_draw,
    people=True,
)
def quantile(
    x: Any, p: Any, *, epsilon: Rational, interval: Rational | None = None, **options: Unpack[Options]
) -> Release[Any] | NoReply:
    """The quantile x(⌈pn⌉), or several at once for one ε, with no bounds on the data.

    **Theorem.** `method="inverse"` is ε-differentially private (`uptack.mechanisms.inverse_sensitivity`). `"ptr"` and
    `"dwork-lei"` are (ε, δ)-differentially private (`uptack.mechanisms.ptr`, `uptack.mechanisms.dwork_lei`). Where the
    number of rows is secret, up to eleven quantiles by the inverse method do without it
    (`uptack.statistics.statistic`). For more, for an interval and for the other methods, a tenth of ε goes into a
    noisy one. All hold for people with up to `rows_per_person` rows.

    With an increasing list of p the inverse method draws all quantiles at once: with nine of them, a third of the error
    of one release for each with an equal part of ε (`uptack.statistics.joint_quantiles`).

    `interval=0.95` gives half of ε to an interval for the quantile of the *population* that the rows are a sample of;
    `result.interval(0.95)` returns it. It covers with at least that probability, for any population of numbers up to
    1e77, also where the number of rows is secret. The confidence can be up to 1 - 1e-12. With `person=` it is for the
    population of people, and their rows need not be independent.

    The options are listed in `uptack.statistics.Options`.

    >>> from uptack import SeededEntropy
    >>> quantile(np.arange(10_001), [0.25, 0.75], epsilon=1, entropy=SeededEntropy(4)).value
    array([2497., 7501.])
    """
    if not isinstance(p, int | np.ndarray | str):
        checks.few("p", p, MOST_LEVELS, "levels", WHOLE)
    if np.ndim(p) == 0:
        return _one("quantile", x, level("p", p), interval, epsilon, options)
    checks.few("p", len(p), MOST_LEVELS, "levels", WHOLE)
    levels = tuple(level(f"p[{i}]", q) for i, q in enumerate(p))
    if not levels or list(levels) != sorted(set(levels)):
        must = "a number, or an increasing list of numbers, between 0 and 1"
        raise InvalidArgument("p", must, list(map(float, levels)))
    if interval is not None:
        fix = "Ask for the quantiles one by one."
        raise InvalidArgument("interval", "None for several quantiles", checks.describe(interval), fix)
    question = read_question("quantiles", epsilon, options)
    data, question = column(x, question, times="place")
    if followed(len(levels), question):
        found = quantiles(data, data.count(), levels, question, statistic)
    else:
        n, question = public_size(data.count(), question)
        found = quantiles(data, n, levels, question, statistic)
    return question.account.close(replace(found, labels=tuple(map(float, levels))))


def _one(
    name: str, x: Any, p: Fraction, interval: Rational | None, epsilon: Rational, options: Options
) -> Release[float] | NoReply:
    question = read_question(name, epsilon, options)
    confidence = None if interval is None else confidence_of(interval)
    data, question = column(x, question, times="place")
    if confidence is not None:
        no_interval_of_rows("interval", interval, question)
    if confidence is None:
        return question.account.close(measured(statistic(p), data, question))
    n, question = public_size(data.count(), question)
    return question.account.close(_with_interval(data, n, p, confidence, question))


def _with_interval(data: Data, n: int, p: Fraction, confidence: Fraction, question: Question) -> Outcome[float]:
    """Half of ε for the quantile, a quarter for each end."""
    half, rest = question.split(HALF, HALF)
    aim = aiming(p, confidence, rest, data.unit.weighted)
    if not aim(n).worth:
        return question.refuse(HOW, Advice(n=least_n(lambda size: aim(size).sure)))
    found = run(statistic(p), data, n, half)
    if found.value is None:
        return found
    drawn = ends_around(data, n, p, confidence, found.value, rest)
    if drawn.value is None:
        return replace(found, value=None, advice=drawn.advice)
    note = f"Half of ε was spent on the {float(100 * confidence):g}% interval for the quantile of the population."
    return replace(found, noise=PopulationInterval(confidence, *drawn.value), notes=(note,))
