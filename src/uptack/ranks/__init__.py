"""Rank statistics and contrasts of groups: bounded by nature, so they need no bounds on the data."""

from uptack.ranks.contrasts import hodges_lehmann, mean_difference, median_difference, quantile_difference
from uptack.ranks.correlations import correlation, correlation_matrix, kendall_tau
from uptack.ranks.rank_tests import kruskal_wallis, mann_whitney, signed_rank
from uptack.ranks.superiority import rank_biserial, superiority

__all__ = [
    "correlation",
    "correlation_matrix",
    "hodges_lehmann",
    "kendall_tau",
    "kruskal_wallis",
    "mann_whitney",
    "mean_difference",
    "median_difference",
    "quantile_difference",
    "rank_biserial",
    "signed_rank",
    "superiority",
]
