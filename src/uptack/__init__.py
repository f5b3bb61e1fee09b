"""uptack: differentially private robust statistics without bounds on the data.

The answer is private and close, or it is ⊥ ("no reply").
"""

from typing import Any

from uptack import aggregate, audit, engines, errors, influence, noise, papers, privacy, reach, regression, statistics
from uptack.aggregate import stable_value, subsample_aggregate
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
    "engines",
    "errors",
    "influence",
    "interquantile_range",
    "iqr",
    "mean",
    "median",
    "noise",
    "papers",
    "plot_coefficients",
    "privacy",
    "quantile",
    "reach",
    "regression",
    "release_if_stable",
    "shortcut_regression",
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
