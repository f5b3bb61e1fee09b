"""Interquartile and other interquantile ranges."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Unpack

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.reach import InterquantileRange, Segment
from uptack.reach.order import spread_ranks
from uptack.registry import release
from uptack.registry.reads import COLUMN
from uptack.release import NoReply, Release
from uptack.statistics.arguments import Options, level
from uptack.statistics.methods import released
from uptack.statistics.planning import ranks
from uptack.statistics.statistic import Functional, Statistic


def statistic(low: Fraction, high: Fraction) -> Statistic:
    """The range between two quantiles."""

    def segments(n: int) -> tuple[Segment, ...]:
        a, b = spread_ranks(low, high, n)
        return Segment(b, b), Segment(a, a, Fraction(-1))

    quarters = (low, high) == (Fraction(1, 4), Fraction(3, 4))
    return Statistic(
        "interquartile range" if quarters else "interquantile range",
        segments,
        Functional(levels=((Fraction(1), high), (Fraction(-1), low))),
        build=lambda x, n, steps, rows: InterquantileRange(x, spread_ranks(low, high, n), steps, rows),
        spread=lambda n: spread_ranks(low, high, n),
        scale=True,
        whole=True,
    )


def _between(low: Rational, high: Rational) -> Statistic:
    below, above = level("low", low), level("high", high)
    if not below < above:
        raise InvalidArgument("high", "above low", checks.describe(high))
    return statistic(below, above)


def _quarters() -> Statistic:
    return statistic(Fraction(1, 4), Fraction(3, 4))


@release(reads=COLUMN, by=True, plan=ranks, examples=({"low": 0.1, "high": 0.9},), page="iqr", statistic=_between)
def interquantile_range(
    x: Any, low: Rational, high: Rational, *, epsilon: Rational, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """x(⌈high·n⌉) - x(⌊low·n⌋ + 1), with no bounds on the data.

    **Theorem.** `method="inverse"` is ε-differentially private (`uptack.mechanisms.inverse`). `"ptr"` works on the
    logarithm with the ratio of the reach's ends, and `"dwork-lei"` is the papers' S with two shifted grids; both are
    (ε, δ)-differentially private. The options are listed in `uptack.statistics.Options`.
    """
    return released(_between(low, high), x, epsilon, options)


@release(reads=COLUMN, by=True, plan=ranks, statistic=_quarters)
def iqr(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply:
    """The interquartile range x(⌈3n/4⌉) - x(⌊n/4⌋ + 1): see `interquantile_range`.

    >>> from uptack import SeededEntropy
    >>> iqr(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    5001.0
    """
    return released(_quarters(), x, epsilon, options)
