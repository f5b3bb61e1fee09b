"""The median absolute deviation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Unpack

from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.reach import Segment
from uptack.reach.l_statistics import quantile_rank
from uptack.reach.median_deviation import MedianDeviation
from uptack.registry import release
from uptack.release import NoReply, Release
from uptack.statistics.column_options import Options
from uptack.statistics.order_statistic_errors import ranks
from uptack.statistics.release_methods import released
from uptack.statistics.statistic import Statistic
from uptack.table.reads import MOMENTS


def _rank(n: int) -> int:
    return quantile_rank(Fraction(1, 2), n)


def _deviation() -> Statistic:
    return Statistic(
        "median absolute deviation",
        lambda n: (Segment(_rank(n), _rank(n)),),
        build=lambda x, n, steps, rows: MedianDeviation(x, _rank(n), steps, rows),
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
