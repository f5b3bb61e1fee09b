"""uptack: differentially private robust statistics without bounds on the data.

The answer is private and close, or it is ⊥ ("no reply").
"""

from uptack import engines, errors, noise, privacy, reach, statistics
from uptack.errors import InvalidArgument, NoReplyError, UptackError
from uptack.noise import SeededEntropy, SystemEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy, RandomPrivacy
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
    "SystemEntropy",
    "UptackError",
    "engines",
    "errors",
    "interquantile_range",
    "iqr",
    "mean",
    "median",
    "noise",
    "privacy",
    "quantile",
    "reach",
    "statistics",
    "trimmed_mean",
    "winsorized_mean",
]
