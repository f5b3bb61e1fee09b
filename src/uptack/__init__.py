"""uptack: differentially private robust statistics without bounds on the data.

The answer is private and close, or it is ⊥ ("no reply").
"""

from typing import Any

from uptack import (
    aggregate,
    audit,
    data,
    discrete,
    engines,
    errors,
    functions,
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
from uptack.errors import BudgetExceeded, InvalidArgument, NoReplyError, UptackError
from uptack.functions import kde
from uptack.functions.fourier import fourier_density
from uptack.groups import per_group
from uptack.ledger import Ledger
from uptack.noise import SeededEntropy, SystemEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy, RandomPrivacy
from uptack.regression import hampel_regression, plot_coefficients, shortcut_regression
from uptack.release import Advice, NoReply, Release
from uptack.session import Request, Session, open
from uptack.statistics import interquantile_range, iqr, mean, median, quantile, trimmed_mean, winsorized_mean

__version__ = "0.1.0"

__all__ = [
    "ADD_REMOVE",
    "SUBSTITUTE",
    "Advice",
    "BudgetExceeded",
    "Domain",
    "HampelRegression",
    "InvalidArgument",
    "KernelRegressor",
    "KernelSVC",
    "Ledger",
    "NoReply",
    "NoReplyError",
    "Privacy",
    "RandomPrivacy",
    "Release",
    "Request",
    "SeededEntropy",
    "Session",
    "ShortcutRegression",
    "SystemEntropy",
    "UptackError",
    "aggregate",
    "audit",
    "count",
    "data",
    "discrete",
    "engines",
    "errors",
    "fourier_density",
    "functions",
    "hampel_regression",
    "histogram",
    "influence",
    "interquantile_range",
    "iqr",
    "kde",
    "limits",
    "margins",
    "mean",
    "median",
    "minimax_count_mechanism",
    "noise",
    "open",
    "optimal_count_mechanism",
    "papers",
    "per_group",
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
        return getattr(functions if name.startswith("Kernel") else regression, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
