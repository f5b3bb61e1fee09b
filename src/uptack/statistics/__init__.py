"""Statistics without bounds on the data: each a reach, a mechanism, and a docstring with its theorem.

A statistic is one file of this folder. Its release functions are found by their declarations, and are public by them.
"""

import importlib
import pkgutil

from uptack.registry.names import declared_in
from uptack.statistics.column_options import Options
from uptack.statistics.means import mean, trimmed_mean, winsorized_mean
from uptack.statistics.quantiles import median, quantile
from uptack.statistics.scales import interquantile_range, iqr

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
globals().update(declared_in(__name__))

__all__ = ["Options", "interquantile_range", "iqr", "mean", "median", "quantile", "trimmed_mean", "winsorized_mean"]
__all__ += sorted(declared_in(__name__).keys() - set(__all__) - {"sum"})  # which `import *` would put over Python's own
