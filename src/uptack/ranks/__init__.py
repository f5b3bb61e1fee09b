"""Rank statistics and contrasts of groups: bounded by nature, so they need no bounds on the data."""

from uptack.ranks.contrasts import median_difference, quantile_difference
from uptack.ranks.shift import hodges_lehmann
from uptack.ranks.superiority import rank_biserial, superiority
from uptack.ranks.tau import correlation, kendall_tau

__all__ = [
    "correlation",
    "hodges_lehmann",
    "kendall_tau",
    "median_difference",
    "quantile_difference",
    "rank_biserial",
    "superiority",
]
