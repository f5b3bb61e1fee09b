"""Regression without bounds on the data.

The estimators need scikit-learn (`pip install "uptack[sklearn]"`) and are loaded when they are first used.
"""

from typing import Any

from uptack.regression.coefficients import plot_coefficients
from uptack.regression.hampel import hampel_regression
from uptack.regression.linear import linear_regression
from uptack.regression.logistic import logistic_regression
from uptack.regression.poisson import poisson_regression
from uptack.regression.quantile import quantile_regression
from uptack.regression.shortcut import shortcut_regression

__all__ = [
    "HampelRegression",
    "LinearRegression",
    "LogisticRegression",
    "PoissonRegressor",
    "QuantileRegressor",
    "ShortcutRegression",
    "hampel_regression",
    "linear_regression",
    "logistic_regression",
    "plot_coefficients",
    "poisson_regression",
    "quantile_regression",
    "shortcut_regression",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from uptack.regression import estimators
    except ImportError as error:
        raise ImportError(f'{name} needs scikit-learn: pip install "uptack[sklearn]"') from error
    return getattr(estimators, name)
