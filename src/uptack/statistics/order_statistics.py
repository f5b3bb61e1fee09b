"""Statistics made of order statistics: trimmed and Winsorized means, midhinge, trimean, ranges, median deviation.

**Theorem.** `method="inverse"` is ε-differentially private (`uptack.mechanisms.inverse_sensitivity`) for every reach of
this file: that of a sum of order statistics with weights of at least 0 (`uptack.reach.LStatistic`), of a range
(`uptack.reach.differences`) and of the median deviation (`uptack.reach.l_statistics`). `"ptr"` tests the
diameter of the reach, or for a scale the ratio of its ends, on the logarithm; `"dwork-lei"` uses the grids of the
papers. Both are (ε, δ)-differentially private.
"""

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
from uptack.reach import Segment, l_statistics
from uptack.reach.differences import range_reach
from uptack.reach.l_statistics import MedianDeviation, quantile_rank, spread_ranks
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.column_options import Options, check_share, level
from uptack.statistics.statistic import Functional, Statistic, one_draw, ranks, release_statistic
from uptack.table.reads import MOMENTS

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
order_statistic = partial(release, reads=MOMENTS, by=per_group, plan=ranks)

# ----------------------------------------------------------------------------------------------------------- locations


def _cut(value: Rational) -> Fraction:
    cut = checks.rational("cut", value, "a number strictly between 0 and 1/2")
    if not 0 < cut < HALF:
        fix = "It is the share of rows taken off at each end; for no cut at all use mean."
        raise InvalidArgument("cut", "a number strictly between 0 and 1/2", checks.describe(value), fix)
    check_share("cut", value, min(2 * cut, 1 - 2 * cut) / 2)
    return cut


def _trimmed(cut: Rational = 0.1) -> Statistic:
    share = _cut(cut)
    return Statistic(
        "trimmed mean",
        partial(l_statistics.trimmed_mean, share),
        Functional(weight=1 / (1 - 2 * share), between=(share, 1 - share)),
        spread=lambda n: (int(share * n), n - int(share * n) + 1),
        slope=4.0 / float(1 - 2 * share),
        averaged=lambda n: max(n - 2 * int(share * n), 1),
        follows=True,
    )


@order_statistic(examples=({"cut": 0.2},), statistic=_trimmed, spends=one_draw, people=True)
def trimmed_mean(
    x: Any, cut: Rational = 0.1, *, epsilon: Rational, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """The trimmed mean: the mean of the rows without the share `cut` of smallest and of largest values. No bounds.

    **Theorem.** ε-differentially private for `method="inverse"`; `"ptr"` and `"dwork-lei"` (the papers' TM, as
    repaired) are (ε, δ)-differentially private.

    The sum is exact, in one pass over the rows, without sorting them. The answer for a column of integers need not be
    an integer. With a `granularity` (`method="inverse"` only) it is a multiple of that, and ties do no harm.

    >>> from uptack import SeededEntropy
    >>> trimmed_mean(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    5001.1...
    """
    return release_statistic(_trimmed(cut), x, epsilon, options)


def _winsorized(cut: Rational = 0.1) -> Statistic:
    share = _cut(cut)
    return Statistic(
        "Winsorized mean",
        partial(l_statistics.winsorized_mean, share),
        Functional(((share, share), (share, 1 - share)), weight=Fraction(1), between=(share, 1 - share)),
        spread=lambda n: (int(share * n), n - int(share * n) + 1),
        slope=4.0 / float(1 - 2 * share),
        follows=True,
    )


@order_statistic(examples=({"cut": 0.2},), page="trimmed_mean", statistic=_winsorized, people=True)
def winsorized_mean(
    x: Any, cut: Rational = 0.1, *, epsilon: Rational, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """The Winsorized mean: the mean after the share `cut` of rows at each end is set to the nearest row that is left.

    **Theorem.** As for `trimmed_mean`; `"dwork-lei"` uses the grids of the papers' S and M.
    """
    return release_statistic(_winsorized(cut), x, epsilon, options)


def _midhinge() -> Statistic:
    levels = ((HALF, QUARTER), (HALF, 1 - QUARTER))
    return Statistic("midhinge", l_statistics.midhinge, Functional(levels), slope=8.0, follows=True)


@order_statistic(statistic=_midhinge, people=True)
def midhinge(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply:
    """The midhinge: the mean of the lower and the upper quartile, with no bounds on the data.

    **Theorem.** ε-differentially private for `method="inverse"`, (ε, δ) for `"ptr"` and `"dwork-lei"`: it is a sum of
    order statistics with weights of at least 0.

    Its difference from the median shows how skewed the middle half of the rows is.

    >>> from uptack import SeededEntropy
    >>> midhinge(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    500...
    """
    return release_statistic(_midhinge(), x, epsilon, options)


def _trimean() -> Statistic:
    levels = ((QUARTER, QUARTER), (HALF, HALF), (QUARTER, 1 - QUARTER))
    return Statistic("trimean", l_statistics.trimean, Functional(levels), slope=8.0, follows=True)


@order_statistic(statistic=_trimean, people=True)
def trimean(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply:
    """Tukey's trimean: a quarter of each quartile and half of the median, with no bounds on the data.

    **Theorem.** ε-differentially private for `method="inverse"`, (ε, δ) for `"ptr"` and `"dwork-lei"`: it is a sum of
    order statistics with weights of at least 0.

    It is nearly as robust as the median, and for normal data nearly as precise as the mean.

    >>> from uptack import SeededEntropy
    >>> trimean(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    500...
    """
    return release_statistic(_trimean(), x, epsilon, options)


# -------------------------------------------------------------------------------------------------------------- scales


def steady_ranks(low: Fraction, high: Fraction, n: int) -> tuple[int, int]:
    """The ranks a = ⌊low·n⌋ + 1 and b = a + ⌊t·(n - a) + 1/2⌋, t = (high - low)/(1 - low), for a secret n.

    b is within a rank of ⌈high·n⌉. **Theorem.** With these ranks the reach of x(b) - x(a) moves by at most one step if
    a row is added or removed, and a - 1 and n - b by at most 1. *Proof.* With one row more, a stays or rises by 1;
    n - a rises by 1 if a stays, and stays if a rises. So b rises by 1 if a does, else by 0 or 1: da ≤ db. The row at
    rank b + j of the smaller table is at b + j + β of the larger one, and that at rank a - i at a - i + α, α ≤ β in
    {0, 1}. So the larger table reaches as far apart with j + β - db steps at the upper end and i - α + da at the lower
    one: i + j + (β - α) - (db - da) ≤ i + j + 1 together. The other three cases (the lower end; a row removed) are the
    same with signs changed, and at most i + j + 1 for the same reason. ∎ (⌊n/4⌋ + 1 and ⌈3n/4⌉ do not have this
    property: from three rows to four a rises and b does not, and a row between them moves the reach by two steps.)
    """
    a = min(int(low * n) + 1, max(n, 1))
    return a, a + max(math.floor((high - low) / (1 - low) * (n - a) + HALF), 0)


def range_between(low: Fraction, high: Fraction) -> Statistic:
    """The range between two quantiles."""

    def between(ends: Callable[[int], tuple[int, int]]) -> Statistic:
        def segments(n: int) -> tuple[Segment, ...]:
            a, b = ends(n)
            return Segment(b, b), Segment(a, a, Fraction(-1))

        return Statistic(
            "interquartile range" if (low, high) == (QUARTER, 1 - QUARTER) else "interquantile range",
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
    return range_between(below, above)


@order_statistic(examples=({"low": 0.1, "high": 0.9},), page="iqr", statistic=_between, people=True)
def interquantile_range(
    x: Any, low: Rational, high: Rational, *, epsilon: Rational, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """The interquantile range x(⌈high·n⌉) - x(⌊low·n⌋ + 1), with no bounds on the data.

    **Theorem.** ε-differentially private for `method="inverse"`. `"ptr"` works on the logarithm with the ratio of the
    reach's ends, and `"dwork-lei"` is the papers' S with two shifted grids; both are (ε, δ)-differentially private.
    """
    return release_statistic(_between(low, high), x, epsilon, options)


@order_statistic(statistic=partial(range_between, QUARTER, 1 - QUARTER), people=True)
def iqr(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply:
    """The interquartile range x(⌈3n/4⌉) - x(⌊n/4⌋ + 1), with no bounds on the data.

    **Theorem.** As for `interquantile_range`.

    >>> from uptack import SeededEntropy
    >>> iqr(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    5001.0
    """
    return release_statistic(range_between(QUARTER, 1 - QUARTER), x, epsilon, options)


def _deviation() -> Statistic:
    return Statistic(
        "median absolute deviation",
        partial(l_statistics.quantile, HALF),
        build=lambda x, n, steps, rows: MedianDeviation(x, quantile_rank(HALF, n), steps, rows),
        scale=True,
        whole=True,
        follows=True,
    )


@order_statistic(statistic=_deviation, people="each")
def mad(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply:
    """The median absolute deviation: the median distance of the rows from their median, with no bounds on the data.

    **Theorem.** ε-differentially private for `method="inverse"`. `"ptr"` works on the logarithm with the ratio of the
    reach's ends, and `"dwork-lei"` is the papers' S with the reach of this scale; both are (ε, δ)-differentially
    private.

    No scale tolerates more gross errors: nearly half of the rows. For normal data 1.4826·mad estimates the standard
    deviation.

    >>> from uptack import SeededEntropy
    >>> mad(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    250...
    """
    return release_statistic(_deviation(), x, epsilon, options)
