"""The regressions as scikit-learn estimators: clone them, put them into pipelines.

A search over parameters fits many times. Each fit spends its ε again, and scores on private rows are not private.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from uptack import checks
from uptack.columns.table import Floats
from uptack.errors import NoReplyError
from uptack.noise import SeededEntropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.regression.hampel import hampel_regression
from uptack.regression.linear import linear_regression
from uptack.regression.shortcut import shortcut_regression
from uptack.regression.summary import RegressionRelease
from uptack.release import NoReply, Release


class PrivateLinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What the private linear regressions have in common: fit by a release, predict from its coefficients.

    After `fit`: `coef_`, `intercept_`, `privacy_` (what the fit cost), `release_` (the result itself, an
    `uptack.Release` or `uptack.NoReply`). A fit that gets ⊥ raises `uptack.NoReplyError`, or with `on_no_reply="nan"`
    has coefficients of NaN. `adjacency=None` is `uptack.SUBSTITUTE`. An integer `random_state` is for tests: the result
    is then not private.
    """

    fit_intercept: bool
    on_no_reply: str
    random_state: int | None

    def _release(self, x: Floats, y: Any, entropy: SeededEntropy | None, **whose: Any) -> Release[Floats] | NoReply:
        raise NotImplementedError

    def fit(self, X: ArrayLike, y: ArrayLike, person: Any = None) -> Self:  # noqa: N803 - scikit-learn's name
        """Fit privately; every call spends ε again. `person` says whose rows they are: a column of ids."""
        checks.choice("on_no_reply", self.on_no_reply, ("raise", "nan"))
        whose = {} if person is None else {"person": person}
        if whose or getattr(self, "missing", "error") != "error":  # y too may hold what is not a number
            x, response = validate_data(self, X, dtype=np.float64, ensure_all_finite=False), y
        else:
            x, response = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        entropy = None if self.random_state is None else SeededEntropy(self.random_state)
        self.release_ = self._release(x, response, entropy, **whose)
        self.privacy_ = self.release_.privacy
        if not self.release_ and self.on_no_reply == "raise":
            raise NoReplyError(self.release_)
        width = x.shape[1] + self.fit_intercept
        values = self.release_.value if self.release_ else np.full(width, np.nan)
        self.intercept_ = float(values[0]) if self.fit_intercept else 0.0
        self.coef_ = np.array(values[1:] if self.fit_intercept else values)
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803 - scikit-learn's name
        """X·coef + intercept."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        predicted: Floats = x @ self.coef_ + self.intercept_
        return predicted

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803
        """R² of the predictions, without privacy; NaN after a fit that got ⊥, as a search of parameters reads it."""
        predicted = self.predict(X)
        return float(r2_score(y, predicted, sample_weight=sample_weight)) if self.release_ else float("nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a private fit of a few rows says ⊥
        tags.non_deterministic = self.random_state is None
        return tags


class LinearRegression(PrivateLinearRegression):
    """Private linear regression by bounded sums, with standard errors: see `uptack.linear_regression` for the theorem.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2)); y = X @ [1.0, -2.0] + 3 + rng.normal(size=20_000)
    >>> model = LinearRegression(epsilon=1.0, random_state=1).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1, -2]).max() < 0.1), model.privacy_
    (True, Privacy(epsilon=1.0))
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        fit_intercept: bool = True,
        binary: Any = None,
        rows_per_person: int = 1,
        adjacency: Adjacency | None = None,
        missing: str = "error",
        on_no_reply: str = "raise",
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.binary = binary
        self.rows_per_person = rows_per_person
        self.adjacency = adjacency
        self.missing = missing
        self.on_no_reply = on_no_reply
        self.random_state = random_state

    def _release(self, x: Floats, y: Any, entropy: SeededEntropy | None, **whose: Any) -> Release[Floats] | NoReply:
        return linear_regression(
            x,
            y,
            epsilon=self.epsilon,
            fit_intercept=self.fit_intercept,
            binary=self.binary,
            missing=self.missing,
            rows_per_person=self.rows_per_person,
            adjacency=self.adjacency or SUBSTITUTE,
            entropy=entropy,
            **whose,
        )

    def summary(self) -> str:
        """A table of estimates, standard errors and intervals, by the names of the columns where they have some."""
        check_is_fitted(self)
        if not isinstance(self.release_, RegressionRelease):
            raise NoReplyError(self.release_)
        return self.release_.summary(getattr(self, "feature_names_in_", None))


class ShortcutRegression(PrivateLinearRegression):
    """Private linear regression by the medians of many block fits: see `uptack.shortcut_regression` for the theorem.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2)); y = X @ [1.0, -2.0] + 3 + rng.normal(size=20_000)
    >>> model = ShortcutRegression(epsilon=1.0, random_state=1).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1, -2]).max() < 0.1), model.privacy_
    (True, Privacy(epsilon=1.0))
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        *,
        method: str = "inverse",
        blocks: int | None = None,
        block_fit: str = "huber",
        coordinates: str = "columns",
        fit_intercept: bool = True,
        standard_errors: bool = False,
        rows_per_person: int = 1,
        adjacency: Adjacency | None = None,
        missing: str = "error",
        on_no_reply: str = "raise",
        progress: bool | None = False,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.blocks = blocks
        self.block_fit = block_fit
        self.coordinates = coordinates
        self.fit_intercept = fit_intercept
        self.standard_errors = standard_errors
        self.rows_per_person = rows_per_person
        self.adjacency = adjacency
        self.missing = missing
        self.on_no_reply = on_no_reply
        self.progress = progress
        self.random_state = random_state

    def _release(self, x: Floats, y: Any, entropy: SeededEntropy | None, **whose: Any) -> Release[Floats] | NoReply:
        return shortcut_regression(
            x,
            y,
            epsilon=self.epsilon,
            delta=self.delta,
            method=self.method,
            blocks=self.blocks,
            block_fit=self.block_fit,
            coordinates=self.coordinates,
            fit_intercept=self.fit_intercept,
            standard_errors=self.standard_errors,
            rows_per_person=self.rows_per_person,
            adjacency=self.adjacency or SUBSTITUTE,
            missing=self.missing,
            progress=self.progress,
            entropy=entropy,
            **whose,
        )


class HampelRegression(PrivateLinearRegression):
    """Private linear regression by Hampel's estimator, for up to 4 coefficients: see `uptack.hampel_regression`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 1)); y = 2 * X[:, 0] + 3 + rng.normal(size=20_000)
    >>> model = HampelRegression(epsilon=1.0, delta=1e-6, random_state=1).fit(X, y)
    >>> bool(np.abs(model.coef_ - 2).max() < 0.5), model.privacy_
    (True, Privacy(epsilon=1.0, delta=1e-06))
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        fit_intercept: bool = True,
        rows_per_person: int = 1,
        adjacency: Adjacency | None = None,
        missing: str = "error",
        on_no_reply: str = "raise",
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.fit_intercept = fit_intercept
        self.rows_per_person = rows_per_person
        self.adjacency = adjacency
        self.missing = missing
        self.on_no_reply = on_no_reply
        self.random_state = random_state

    def _release(self, x: Floats, y: Any, entropy: SeededEntropy | None, **whose: Any) -> Release[Floats] | NoReply:
        return hampel_regression(
            x,
            y,
            epsilon=self.epsilon,
            delta=self.delta,
            fit_intercept=self.fit_intercept,
            missing=self.missing,
            rows_per_person=self.rows_per_person,
            adjacency=self.adjacency or SUBSTITUTE,
            entropy=entropy,
            **whose,
        )
