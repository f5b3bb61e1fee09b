"""uptack: differentially private robust statistics without bounds on the data.

The answer is private and close, or it is ⊥ ("no reply").
"""

from typing import Any

from uptack import (
    aggregate,
    audit,
    discrete,
    engines,
    errors,
    influence,
    limits,
    noise,
    papers,
    privacy,
    random_dp,
    reach,
    regression,
    statistics,
)
from uptack.aggregate import stable_value, subsample_aggregate
from uptack.discrete import (
    Domain,
    count,
    histogram,
    margins,
    minimax_count_mechanism,
    optimal_count_mechanism,
    sparse_histogram,
)
from uptack.engines import release_if_stable
from uptack.errors import InvalidArgument, NoReplyError, UptackError
from uptack.noise import SeededEntropy, SystemEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy, RandomPrivacy
from uptack.regression import plot_coefficients, shortcut_regression
from uptack.release import Advice, NoReply, Release
from uptack.statistics import interquantile_range, iqr, mean, median, quantile, trimmed_mean, winsorized_mean

__version__ = "0.1.0"

__all__ = [
    "ADD_REMOVE",
    "SUBSTITUTE",
    "Advice",
    "Domain",
    "InvalidArgument",
    "NoReply",
    "NoReplyError",
    "Privacy",
    "RandomPrivacy",
    "Release",
    "SeededEntropy",
    "ShortcutRegression",
    "SystemEntropy",
    "UptackError",
    "aggregate",
    "audit",
    "count",
    "discrete",
    "engines",
    "errors",
    "histogram",
    "influence",
    "interquantile_range",
    "iqr",
    "limits",
    "margins",
    "mean",
    "median",
    "minimax_count_mechanism",
    "noise",
    "optimal_count_mechanism",
    "papers",
    "plot_coefficients",
    "privacy",
    "quantile",
    "random_dp",
    "reach",
    "regression",
    "release_if_stable",
    "shortcut_regression",
    "sparse_histogram",
    "stable_value",
    "statistics",
    "subsample_aggregate",
    "trimmed_mean",
    "winsorized_mean",
]


def __getattr__(name: str) -> Any:
    if name in __all__:  # estimators, which need scikit-learn
        return getattr(regression, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
