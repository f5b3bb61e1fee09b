"""Locations that rest on quartiles: the midhinge and the trimean."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Unpack

from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.reach import l_statistics
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.column_options import Options
from uptack.statistics.statistic import Functional, Statistic, ranks, released
from uptack.table.reads import MOMENTS

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def _midhinge() -> Statistic:
    levels = ((HALF, QUARTER), (HALF, 1 - QUARTER))
    return Statistic("midhinge", l_statistics.midhinge, Functional(levels), slope=8.0, follows=True)


@release(reads=MOMENTS, by=per_group, plan=ranks, statistic=_midhinge, people=True)
def midhinge(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply:
    """The midhinge, the mean of the lower and the upper quartile, with no bounds on the data.

    **Theorem.** It is a sum of order statistics with weights of at least 0, so its reach is that of
    `uptack.reach.LStatistic`. `method="inverse"` is ε-differentially private; `"ptr"` and `"dwork-lei"` are
    (ε, δ)-differentially private. The options are listed in `uptack.statistics.Options`.

    It tells where the middle half of the rows is, and how skewed they are if it is set beside the median.

    >>> from uptack import SeededEntropy
    >>> midhinge(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    500...
    """
    return released(_midhinge(), x, epsilon, options)


def _trimean() -> Statistic:
    levels = ((QUARTER, QUARTER), (HALF, HALF), (QUARTER, 1 - QUARTER))
    return Statistic("trimean", l_statistics.trimean, Functional(levels), slope=8.0, follows=True)


@release(reads=MOMENTS, by=per_group, plan=ranks, statistic=_trimean, people=True)
def trimean(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply:
    """Tukey's trimean, a quarter of each quartile and half of the median, with no bounds on the data.

    **Theorem.** It is a sum of order statistics with weights of at least 0, so its reach is that of
    `uptack.reach.LStatistic`. `method="inverse"` is ε-differentially private; `"ptr"` and `"dwork-lei"` are
    (ε, δ)-differentially private. The options are listed in `uptack.statistics.Options`.

    It is nearly as robust as the median and nearly as precise as the mean on normal data.

    >>> from uptack import SeededEntropy
    >>> trimean(range(10_001), epsilon=1, entropy=SeededEntropy(4)).value
    500...
    """
    return released(_trimean(), x, epsilon, options)
