"""The regressions as scikit-learn estimators: clone them, put them into pipelines.

A search over parameters fits many times. Each fit spends its ε again, and scores on private rows are not private.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score, r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from uptack import checks
from uptack.errors import InvalidArgument, NoReplyError
from uptack.noise import SeededEntropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.regression.coefficients import RegressionRelease
from uptack.regression.formulas.category_levels import two_classes
from uptack.regression.formulas.formula_designs import check_response, frame_columns
from uptack.regression.linear import linear_regression
from uptack.regression.logistic import logistic_regression
from uptack.regression.losses import exponential, logistic
from uptack.regression.poisson import poisson_regression
from uptack.regression.quantile import quantile_regression
from uptack.table.exact_sum import Floats
from uptack.table.values.entrance import matrix

OWN = ("on_no_reply", "random_state", "adjacency")
"""Parameters of the estimators themselves. All others are options of the release function."""

REFUSED = {
    "could not convert": ("X and y", "numbers", "texts",
                          "Make dummies of categories, or take the function with a formula."),
    "Expected 2D array": ("X", "a table with rows and columns", "something else",
                          "Reshape your data: one column is x.reshape(-1, 1), and one row is x.reshape(1, -1)."),
    "Complex data not supported": ("X and y", "real numbers", "complex ones", "Complex data not supported."),
}  # fmt: skip
"""What is said in place of messages of scikit-learn's and NumPy's that show rows."""


def _validate(model: BaseEstimator, *data: Any, **how: Any) -> Any:
    """Data as scikit-learn checks them, in floats, but for a message that shows a row."""
    try:
        return validate_data(model, *data, dtype=np.float64, **how)
    except ValueError as error:
        refusal = next((ours for theirs, ours in REFUSED.items() if theirs in str(error)), None)
        if refusal is None:
            raise
    raise InvalidArgument(*refusal)


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """A model that is fitted by a release: `privacy_` is what the fit cost, and `release_` its result."""

    on_no_reply = "raise"

    def _fit(self, function: Any, x: Any, y: Any, person: Any, **options: Any) -> None:
        """Release the fit, and raise ⊥ if that is asked for."""
        if person is not None:
            options["person"] = person
        if self.random_state is not None:
            options["entropy"] = SeededEntropy(self.random_state)
        self.release_ = function(x, y, adjacency=self.adjacency or SUBSTITUTE, **options)
        self.privacy_ = self.release_.privacy
        if not self.release_ and self.on_no_reply == "raise":
            raise NoReplyError(self.release_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


@dataclass(eq=False, repr=False)
class PrivateLinearModel(PrivateEstimator):
    """What the private regressions have in common: fit by a release, predict from its coefficients.

    After `fit`: `coef_`, `intercept_`, `privacy_` (what the fit cost), `release_` (the result itself, an
    `uptack.Release` or `uptack.NoReply`), and of a frame `feature_names_in_`. A fit that gets ⊥ raises
    `uptack.NoReplyError`, or with `on_no_reply="nan"` has coefficients of NaN. `adjacency=None` is `uptack.SUBSTITUTE`.
    An integer `random_state` is for tests: the result is then not private.
    """

    epsilon: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    rows_per_person: int = 1
    adjacency: Adjacency | None = None
    missing: str = "error"
    on_no_reply: str = "raise"
    random_state: int | None = None

    function: ClassVar[Any]

    def fit(self, X: ArrayLike, y: ArrayLike, person: Any = None) -> Self:  # noqa: N803 - scikit-learn's name
        """Fit privately; every call spends ε again. `person` says whose rows they are: a column of ids."""
        checks.choice("on_no_reply", self.on_no_reply, ("raise", "nan"))
        self._check_kinds(X, y)
        if person is not None or self.missing != "error":  # some rows may hold what is not a number
            x, response = self._read_floats(X), y
        else:
            x, response = self._read_arrays(X, y)
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in OWN}
        self._fit(type(self).function, x, response, person, **options | self._declared_options(X))
        if self.release_:
            self.release_ = self.release_.named(*getattr(self, "feature_names_in_", ()))
        width = x.shape[1] + self.fit_intercept
        values = self.release_.value if self.release_ else np.full(width, np.nan)
        self._learn(float(values[0]) if self.fit_intercept else 0.0, np.array(values[int(self.fit_intercept) :]))
        return self

    def _learn(self, intercept: float, slopes: Floats) -> None:
        self.intercept_: Any = intercept
        self.coef_ = slopes

    def _declared_options(self, x: Any) -> dict[str, Any]:
        """What the types of columns say of them, which is lost where they are made floats."""
        return {}

    def _check_kinds(self, x: Any, y: Any) -> None:
        """Refuses columns of texts by their names: an error of NumPy's would show one of their rows."""
        frame_columns(x, None)
        check_response(y)

    def _read_arrays(self, x: ArrayLike, y: ArrayLike, **how: Any) -> tuple[Floats, Any]:
        """X and y as arrays, whose rows lack nothing."""
        arrays: tuple[Floats, Any] = _validate(self, x, y, ensure_all_finite=False, **{"y_numeric": True, **how})
        if not np.isfinite(arrays[0]).all():
            fix = "Pass missing='drop': such rows then contribute nothing."
            raise InvalidArgument("X", "free of NaN and infinities", "some", fix)
        return arrays

    def _read_floats(self, x: Any) -> Floats:
        """X as the functions read it: whatever is no number is NaN, row by row."""
        x = np.array(x, object) if isinstance(x, list | tuple) else x  # a list is one column there
        rows = matrix("X", x, "a table of numbers with at least one column")
        if rows.ndim != 2:
            raise InvalidArgument(*REFUSED["Expected 2D array"])
        validate_data(self, x, skip_check_array=True)  # which learns the names of columns
        self.n_features_in_ = rows.shape[1]
        return rows

    def _predictor(self, x: ArrayLike) -> Floats:
        """X·coef + intercept."""
        check_is_fitted(self)
        predicted: Floats = _validate(self, x, reset=False) @ np.ravel(self.coef_) + self.intercept_
        return predicted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


@dataclass(eq=False, repr=False)
class PrivateLinearRegression(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """A regression whose predictions are linear in X."""

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803 - scikit-learn's name
        """X·coef + intercept."""
        return self._predictor(X)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803
        """R² of the predictions, without privacy; NaN after a fit that got ⊥, as a search of parameters reads it."""
        predicted = self.predict(X)
        return float(r2_score(y, predicted, sample_weight=sample_weight)) if self.release_ else float("nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a private fit of a few rows says ⊥
        return tags


@dataclass(eq=False, repr=False)
class BySums(PrivateLinearModel):
    """A fit by bounded sums, which has standard errors.

    `binary` are the columns that are 0 or 1, by their numbers, or by their names in a frame. Those of truth values in a
    frame are known to be.
    """

    _: KW_ONLY
    binary: Any = None
    delta: float = 0.0

    def _declared_options(self, x: Any) -> dict[str, Any]:
        named = frame_columns(x, self.binary)
        return {} if named is None else {"binary": named[1]}

    def summary(self) -> str:
        """A table of estimates, standard errors and intervals, by the names of the columns where they have some."""
        check_is_fitted(self)
        if not isinstance(self.release_, RegressionRelease):
            raise NoReplyError(self.release_)
        return self.release_.summary(getattr(self, "feature_names_in_", None))


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
    """Private quantile regression by bounded sums: see `uptack.quantile_regression` for the theorem."""

    _: KW_ONLY
    quantile: float = 0.5

    function = staticmethod(quantile_regression)


@dataclass(eq=False, repr=False)
class PoissonRegressor(PrivateLinearRegression, BySums):
    """Private Poisson regression by bounded sums: see `uptack.poisson_regression` for the theorem."""

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
        frame_columns(x, None)

    def _read_arrays(self, x: ArrayLike, y: ArrayLike, **how: Any) -> tuple[Floats, Any]:
        return super()._read_arrays(x, y, y_numeric=False)

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
        accuracy = float(super().score(X, y, sample_weight))
        return accuracy if self.release_ else float("nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # a private fit of a few rows says ⊥
        return tags
