"""Scales: interquantile ranges and the median absolute deviation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Unpack

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.reach import Segment
from uptack.reach.interquantile_range import range_reach
from uptack.reach.l_statistics import quantile, quantile_rank, spread_ranks
from uptack.reach.median_deviation import MedianDeviation
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.column_options import Options, level
from uptack.statistics.statistic import Functional, Statistic, ranks, released
from uptack.table.reads import MOMENTS


def steady_ranks(low: Fraction, high: Fraction, n: int) -> tuple[int, int]:
    """The ranks a = ⌊low·n⌋ + 1 and b = a + ⌊t·(n - a) + 1/2⌋, t = (high - low)/(1 - low), for a secret n.

    b is within a rank of ⌈high·n⌉. **Theorem.** With these the reach of x(b) - x(a) moves by one step at most where a
    row is added or removed, and a - 1 and n - b by at most 1. *Proof.* With one row more, a stays or rises by 1; n - a
    rises by 1 where a stays, and stays where a rises. So b rises by 1 where a does, else by 0 or 1: da ≤ db. The row at
    rank b + j of the smaller table is at b + j + β of the larger one, and that at rank a - i at a - i + α, α ≤ β in
    {0, 1}. So the larger table reaches as far apart with j + β - db steps at the upper end and i - α + da at the lower
    one: i + j + (β - α) - (db - da) ≤ i + j + 1 together. The other three cases (the lower end; a row removed) are the
    same with signs changed, and at most i + j + 1 for the same reason. ∎ (⌊n/4⌋ + 1 and ⌈3n/4⌉ won't do: from three
    rows to four a rises and b does not, and a row between them moves the reach by two steps.)
    """
    a = min(int(low * n) + 1, max(n, 1))
    return a, a + max(math.floor((high - low) / (1 - low) * (n - a) + Fraction(1, 2)), 0)


def statistic(low: Fraction, high: Fraction) -> Statistic:
    """The range between two quantiles."""

    def between(ends: Callable[[int], tuple[int, int]]) -> Statistic:
        def segments(n: int) -> tuple[Segment, ...]:
            a, b = ends(n)
            return Segment(b, b), Segment(a, a, Fraction(-1))

        quarters = (low, high) == (Fraction(1, 4), Fraction(3, 4))
        return Statistic(
            "interquartile range" if quarters else "interquantile range",
            segments,
            Functional(levels=((Fraction(1), high), (Fraction(-1), low))),
            build=lambda x, n, steps, rows: range_reach(x, ends(n), steps, rows),
            spread=ends,
            scale=True,
            whole=True,
        )

    near = replace(between(lambda n: steady_ranks(low, high, n)), follows=True)
    return replace(between(lambda n: spread_ranks(low, high, n)), near=near)


def _between(low: Rational, high: Rational) -> Statistic:
    below, above = level("low", low), level("high", high)
    if not below < above:
        raise InvalidArgument("high", "above low", checks.describe(high))
    return statistic(below, above)


def _quarters() -> Statistic:
    return statistic(Fraction(1, 4), Fraction(3, 4))


@release(
    reads=MOMENTS,
    by=per_group,
    plan=ranks,
    examples=({"low": 0.1, "high": 0.9},),
    page="iqr",
    statistic=_between,
    people=True,
)
def interquantile_range(
    x: Any, low: Rational, high: Rational, *, epsilon: Rational, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """x(⌈high·n⌉) - x(⌊low·n⌋ + 1), with no bounds on the data.

    **Theorem.** `method="inverse"` is ε-differentially private (`uptack.mechanisms.inverse_sensitivity`). `"ptr"` works
    on the logarithm with the ratio of the reach's ends, and `"dwork-lei"` is the papers' S with two shifted grids; both
    are (ε, δ)-differentially private. The options are listed in `uptack.statistics.Options`.
    """
    return released(_between(low, high), x, epsilon, options)


@release(reads=MOMENTS, by=per_group, plan=ranks, statistic=_quarters, people=True)
def iqr(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply:
    """The interquartile range x(⌈3n/4⌉) - x(⌊n/4⌋ + 1): see `interquantile_range`.

    >>> from uptack import SeededEntropy
    >>> iqr(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    5001.0
    """
    return released(_quarters(), x, epsilon, options)


def _deviation() -> Statistic:
    half = Fraction(1, 2)
    return Statistic(
        "median absolute deviation",
        partial(quantile, half),
        build=lambda x, n, steps, rows: MedianDeviation(x, quantile_rank(half, n), steps, rows),
        scale=True,
        whole=True,
        follows=True,
    )


@release(reads=MOMENTS, by=per_group, plan=ranks, statistic=_deviation, people="each")
def mad(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply:
    """The median absolute deviation: the median of the distances of all rows from their median.

    **Theorem.** Its reach is that of `uptack.reach.median_deviation.MedianDeviation`. `method="inverse"` is
    ε-differentially private. `"ptr"` works on the logarithm with the ratio of the reach's ends, and `"dwork-lei"` is
    the papers' S with the reach of this scale; both are (ε, δ)-differentially private. The options are in
    `uptack.statistics.Options`.

    No scale withstands more wrong rows: nearly half of them. Times 1.4826 it is the standard deviation of normal data.

    >>> from uptack import SeededEntropy
    >>> mad(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    250...
    """
    return released(_deviation(), x, epsilon, options)
