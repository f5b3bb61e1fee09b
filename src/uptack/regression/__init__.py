"""Regression without bounds on the data.

The release functions of every file in this folder are public by their declarations. The estimators need scikit-learn
(`pip install "uptack[sklearn]"`) and are loaded when they are first used.
"""

import importlib
import pkgutil
from typing import Any

from uptack.registry.names import functions_of
from uptack.regression.coefficients import plot_coefficients
from uptack.regression.linear import linear_regression
from uptack.regression.logistic import logistic_regression
from uptack.regression.poisson import poisson_regression
from uptack.regression.quantile import quantile_regression

for _module in pkgutil.iter_modules(__path__):
    if _module.name != "estimators":
        importlib.import_module(f"{__name__}.{_module.name}")
globals().update(functions_of(__name__))

__all__ = [
    "LinearRegression",
    "LogisticRegression",
    "PoissonRegressor",
    "QuantileRegressor",
    "linear_regression",
    "logistic_regression",
    "plot_coefficients",
    "poisson_regression",
    "quantile_regression",
]
__all__ += sorted(functions_of(__name__).keys() - set(__all__))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from uptack.regression import estimators
    except ImportError as error:
        raise ImportError(f'{name} needs scikit-learn: pip install "uptack[sklearn]"') from error
    return getattr(estimators, name)
