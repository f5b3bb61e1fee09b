"""The short cut and Hampel's estimator as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from uptack.papers.hampel import hampel_regression
from uptack.papers.shortcut import shortcut_regression
from uptack.regression.estimators import PrivateLinearRegression


@dataclass(eq=False, repr=False)
class ShortcutRegression(PrivateLinearRegression):
    """Private linear regression by the medians of many block fits: see `uptack.shortcut_regression` for the theorem."""

    delta: float = 0.0
    _: KW_ONLY
    method: str = "inverse"
    blocks: int | None = None
    block_fit: str = "huber"
    coordinates: str = "columns"
    standard_errors: bool = False
    progress: bool | None = False

    function = staticmethod(shortcut_regression)


@dataclass(eq=False, repr=False)
class HampelRegression(PrivateLinearRegression):
    """Private linear regression by Hampel's estimator, for up to 4 coefficients: see `uptack.hampel_regression`."""

    delta: float = 1e-6

    function = staticmethod(hampel_regression)
