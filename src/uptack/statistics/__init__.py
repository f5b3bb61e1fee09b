"""Statistics of one column without bounds on the data: each a reach, a mechanism, and a docstring with its theorem.

The release functions of every file in this folder are public by their declarations.
"""

import importlib
import pkgutil

from uptack.registry.names import functions_of
from uptack.statistics.column_options import Options
from uptack.statistics.means import mean
from uptack.statistics.order_statistics import interquantile_range, iqr, trimmed_mean, winsorized_mean
from uptack.statistics.quantiles import median, quantile

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
globals().update(functions_of(__name__))

__all__ = ["Options", "interquantile_range", "iqr", "mean", "median", "quantile", "trimmed_mean", "winsorized_mean"]
__all__ += sorted(
    functions_of(__name__).keys() - set(__all__) - {"sum"}
)  # which `import *` would put over Python's own
