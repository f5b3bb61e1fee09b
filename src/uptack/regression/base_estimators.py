"""What the estimators of regressions have in common: a fit by a release, predictions from its coefficients."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from uptack import checks
from uptack.errors import InvalidArgument, NoReplyError
from uptack.noise import SeededEntropy
from uptack.privacy import SUBSTITUTE, Adjacency
from uptack.regression.coefficient_summary import RegressionRelease
from uptack.regression.formulas.plain_designs import check_response, named
from uptack.table.exact_sum import Floats
from uptack.table.values.entrance import matrix

OWN = ("on_no_reply", "random_state")
"""Parameters of the estimators themselves. All others are told to the release function."""

REFUSED = {
    "could not convert": ("X and y", "numbers", "texts",
                          "Make dummies of categories, or take the function with a formula."),
    "Expected 2D array": ("X", "a table with rows and columns", "something else",
                          "Reshape your data: one column is x.reshape(-1, 1), and one row is x.reshape(1, -1)."),
    "Complex data not supported": ("X and y", "real numbers", "complex ones", "Complex data not supported."),
}  # fmt: skip
"""What is said in place of messages of scikit-learn's and NumPy's that show rows."""


def _validated(model: BaseEstimator, *data: Any, **how: Any) -> Any:
    """Data as scikit-learn checks them, in floats, but for a message that shows a row."""
    try:
        return validate_data(model, *data, dtype=np.float64, **how)
    except ValueError as error:
        found = next((one for said, one in REFUSED.items() if said in str(error)), None)
        if found is None:
            raise
    raise InvalidArgument(*found)


@dataclass(eq=False, repr=False)
class PrivateLinearModel(BaseEstimator):  # type: ignore[misc]
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
        whose = {} if person is None else {"person": person}
        self._check_kinds(X, y)
        if whose or self.missing != "error":  # some rows may hold what is not a number
            x, response = self._floats(X), y
        else:
            x, response = self._checked(X, y)
        entropy = None if self.random_state is None else SeededEntropy(self.random_state)
        told = {name: value for name, value in self.get_params(deep=False).items() if name not in OWN}
        told |= {"adjacency": self.adjacency or SUBSTITUTE, "entropy": entropy, **self._declared(X)}
        made = type(self).function(x, response, **told, **whose)
        self.release_ = made.named(*getattr(self, "feature_names_in_", ())) if made else made
        self.privacy_ = self.release_.privacy
        if not self.release_ and self.on_no_reply == "raise":
            raise NoReplyError(self.release_)
        width = x.shape[1] + self.fit_intercept
        values = self.release_.value if self.release_ else np.full(width, np.nan)
        self._learn(float(values[0]) if self.fit_intercept else 0.0, np.array(values[int(self.fit_intercept) :]))
        return self

    def _learn(self, intercept: float, slopes: Floats) -> None:
        self.intercept_: Any = intercept
        self.coef_ = slopes

    def _declared(self, x: Any) -> dict[str, Any]:
        """What the types of columns say of them, which is lost where they are made floats."""
        return {}

    def _check_kinds(self, x: Any, y: Any) -> None:
        """Refuses columns of texts by their names: an error of NumPy's would show one of their rows."""
        named(x, None)
        check_response(y)

    def _checked(self, x: ArrayLike, y: ArrayLike, **how: Any) -> tuple[Floats, Any]:
        """X and y as arrays, whose rows lack nothing."""
        found: tuple[Floats, Any] = _validated(self, x, y, ensure_all_finite=False, **{"y_numeric": True, **how})
        if not np.isfinite(found[0]).all():
            fix = "Pass missing='drop': such rows then contribute nothing."
            raise InvalidArgument("X", "free of NaN and infinities", "some", fix)
        return found

    def _floats(self, x: Any) -> Floats:
        """X as the functions read it: whatever is no number is NaN, row by row."""
        x = np.array(x, object) if isinstance(x, list | tuple) else x  # a list is one column there
        found = matrix("X", x, "a table of numbers with at least one column")
        if found.ndim != 2:
            raise InvalidArgument(*REFUSED["Expected 2D array"])
        validate_data(self, x, skip_check_array=True)  # which learns the names of columns
        self.n_features_in_ = found.shape[1]
        return found

    def _predictor(self, x: ArrayLike) -> Floats:
        """X·coef + intercept."""
        check_is_fitted(self)
        predicted: Floats = _validated(self, x, reset=False) @ np.ravel(self.coef_) + self.intercept_
        return predicted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
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

    def _declared(self, x: Any) -> dict[str, Any]:
        known = named(x, self.binary)
        return {} if known is None else {"binary": known[1]}

    def summary(self) -> str:
        """A table of estimates, standard errors and intervals, by the names of the columns where they have some."""
        check_is_fitted(self)
        if not isinstance(self.release_, RegressionRelease):
            raise NoReplyError(self.release_)
        return self.release_.summary(getattr(self, "feature_names_in_", None))
