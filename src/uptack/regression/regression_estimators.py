"""The regressions as scikit-learn estimators: clone them, put them into pipelines.

A search over parameters fits many times. Each fit spends its ε again, and scores on private rows are not private.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import d2_tweedie_score

from uptack.regression.base_estimators import BySums, PrivateLinearRegression
from uptack.regression.formulas.plain_designs import named
from uptack.regression.formulas.response_classes import two_classes
from uptack.regression.hampel import hampel_regression
from uptack.regression.linear import linear_regression
from uptack.regression.link_functions import exponential, logistic
from uptack.regression.logistic import logistic_regression
from uptack.regression.poisson import poisson_regression
from uptack.regression.quantile import quantile_regression
from uptack.regression.shortcut import shortcut_regression
from uptack.table.exact_sum import Floats


@dataclass(eq=False, repr=False)
class LinearRegression(PrivateLinearRegression, BySums):
    """Private linear regression by bounded sums, with standard errors: see `uptack.linear_regression` for the theorem.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2)); y = X @ [1.0, -2.0] + 3 + rng.normal(size=20_000)
    >>> model = LinearRegression(epsilon=1.0, random_state=1).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1, -2]).max() < 0.1), model.privacy_
    (True, Privacy(epsilon=1.0))
    """

    _: KW_ONLY
    loss: str = "squares"

    function = staticmethod(linear_regression)


@dataclass(eq=False, repr=False)
class QuantileRegressor(PrivateLinearRegression, BySums):
    """Private quantile regression by bounded sums: see `uptack.quantile_regression` for the theorem.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2)); y = X @ [1.0, -2.0] + 3 + rng.standard_cauchy(size=20_000)
    >>> model = QuantileRegressor(epsilon=1.0, quantile=0.5, random_state=1).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1, -2]).max() < 0.1), model.privacy_
    (True, Privacy(epsilon=1.0))
    """

    _: KW_ONLY
    quantile: float = 0.5

    function = staticmethod(quantile_regression)


@dataclass(eq=False, repr=False)
class PoissonRegressor(PrivateLinearRegression, BySums):
    """Private Poisson regression by bounded sums: see `uptack.poisson_regression` for the theorem.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2)); y = rng.poisson(np.exp(X @ [0.5, -0.3] + 1))
    >>> model = PoissonRegressor(epsilon=1.0, random_state=1).fit(X, y)
    >>> bool(np.abs(model.coef_ - [0.5, -0.3]).max() < 0.1), model.privacy_
    (True, Privacy(epsilon=1.0))
    """

    function = staticmethod(poisson_regression)

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803 - scikit-learn's name
        """The rate: e^(X·coef + intercept)."""
        return exponential(self._predictor(X))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803
        """D², the part of Poisson's deviance that is explained, without privacy; NaN after a fit that got ⊥, and where
        all y are equal: then there is none to explain.
        """
        predicted = np.maximum(self.predict(X), np.finfo(np.float64).tiny)
        if not self.release_ or np.ptp(np.asarray(y, np.float64)) == 0:
            return float("nan")
        return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@dataclass(eq=False, repr=False)
class LogisticRegression(ClassifierMixin, BySums):  # type: ignore[misc]
    """Private logistic regression of two classes, by bounded sums: see `uptack.logistic_regression` for the theorem.

    `classes` are declared and never read off y: 0 and 1, or False and True, if left alone. As in scikit-learn `coef_`
    has one line, for the second class, and `intercept_` one entry. After a fit that got ⊥ with
    `on_no_reply="nan"`, probabilities are NaN, and predictions are the first class.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2)); y = rng.random(20_000) < 1 / (1 + np.exp(-X @ [1.0, -2.0]))
    >>> model = LogisticRegression(epsilon=1.0, random_state=1).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1, -2]).max() < 0.2), bool(model.score(X, y) > 0.7), model.privacy_
    (True, True, Privacy(epsilon=1.0))
    """

    _: KW_ONLY
    classes: Any = (0, 1)

    function = staticmethod(logistic_regression)

    def _check_kinds(self, x: Any, y: Any) -> None:
        named(x, None)

    def _checked(self, x: ArrayLike, y: ArrayLike, **how: Any) -> tuple[Floats, Any]:
        return super()._checked(x, y, y_numeric=False)

    def _learn(self, intercept: float, slopes: Floats) -> None:
        self.intercept_, self.coef_ = np.array([intercept]), slopes[None, :]

    @property
    def classes_(self) -> NDArray[Any]:
        """The two classes."""
        return np.array(two_classes(self.classes))

    def decision_function(self, X: ArrayLike) -> Floats:  # noqa: N803 - scikit-learn's name
        """Log-odds of the second class."""
        return self._predictor(X)

    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803 - scikit-learn's name
        """The probability of each class."""
        second = logistic(self._predictor(X))
        return np.column_stack([1 - second, second])

    def predict_log_proba(self, X: ArrayLike) -> Floats:  # noqa: N803 - scikit-learn's name
        """The logarithm of the probability of each class."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803 - scikit-learn's name
        """The likelier class."""
        return np.asarray(self.classes_[(self._predictor(X) > 0).astype(int)])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803
        """The share of right predictions, without privacy; NaN after a fit that got ⊥."""
        found = float(super().score(X, y, sample_weight))
        return found if self.release_ else float("nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # a private fit of a few rows says ⊥
        return tags


@dataclass(eq=False, repr=False)
class ShortcutRegression(PrivateLinearRegression):
    """Private linear regression by the medians of many block fits: see `uptack.shortcut_regression` for the theorem.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2)); y = X @ [1.0, -2.0] + 3 + rng.normal(size=20_000)
    >>> model = ShortcutRegression(epsilon=1.0, random_state=1).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1, -2]).max() < 0.1), model.privacy_
    (True, Privacy(epsilon=1.0))
    """

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
    """Private linear regression by Hampel's estimator, for up to 4 coefficients: see `uptack.hampel_regression`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 1)); y = 2 * X[:, 0] + 3 + rng.normal(size=20_000)
    >>> model = HampelRegression(epsilon=1.0, delta=1e-6, random_state=1).fit(X, y)
    >>> bool(np.abs(model.coef_ - 2).max() < 0.5), model.privacy_
    (True, Privacy(epsilon=1.0, delta=1e-06))
    """

    delta: float = 1e-6

    function = staticmethod(hampel_regression)
