"""Rank statistics and contrasts of groups: bounded by nature, so they need no bounds on the data."""

from uptack.ranks.contrasts import median_difference, quantile_difference
from uptack.ranks.kruskal import kruskal_wallis
from uptack.ranks.mean_differences import mean_difference
from uptack.ranks.pairwise_correlations import correlation_matrix
from uptack.ranks.rank_tests import mann_whitney, signed_rank
from uptack.ranks.superiority import rank_biserial, superiority
from uptack.ranks.tau import correlation, kendall_tau
from uptack.ranks.two_sample_shift import hodges_lehmann

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
