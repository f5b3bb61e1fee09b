"""Statistics without bounds on the data: each a reach, an engine, and a docstring with its theorem."""

from uptack.statistics.arguments import Options
from uptack.statistics.means import mean, trimmed_mean, winsorized_mean
from uptack.statistics.quantiles import median, quantile
from uptack.statistics.spreads import interquantile_range, iqr

__all__ = ["Options", "interquantile_range", "iqr", "mean", "median", "quantile", "trimmed_mean", "winsorized_mean"]
