"""Kernel machines as scikit-learn estimators: clone them, put them into pipelines.

A search over parameters fits many times. Each fit spends its ε again, and scores on private rows are not private.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.kernels.kernel import Floats, Kernel
from uptack.kernels.machine_minimisers import Penalty
from uptack.kernels.machine_release import kernel_machine
from uptack.privacy import Adjacency
from uptack.regression.estimators import OWN, PrivateEstimator


@dataclass(eq=False, repr=False)
class PrivateKernelMachine(PrivateEstimator):
    """The part that both estimators share: fit by a release, predict from the released function.

    After `fit`: `privacy_` (what the fit cost) and `release_`, an `uptack.Release` whose `value` is the function, or an
    `uptack.NoReply`. Neither holds data. A fit that gets ⊥ raises `uptack.NoReplyError`. `adjacency=None` is
    `uptack.SUBSTITUTE`. An integer `random_state` is for tests: the result is then not private.
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    kernel: Kernel | None = None
    bandwidth: float | None = 1.0
    regularization: float | None = None
    frequencies: int = 256
    rows_per_person: int = 1
    adjacency: Adjacency | None = None
    random_state: int | None = None

    def _read(self, x: ArrayLike, y: ArrayLike, person: Any, **how: Any) -> tuple[Floats, NDArray[Any]]:
        """X and y as arrays. With people the number of rows is secret, so the release itself checks them."""
        if person is None:
            read: tuple[Floats, NDArray[Any]] = validate_data(self, x, y, dtype=np.float64, **how)
            return read
        return validate_data(self, x, dtype=np.float64, ensure_all_finite=False), np.asarray(y)

    def _fit_machine(self, x: Floats, y: Any, person: Any) -> Self:
        own = (*OWN, "classes")
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in own}
        self._fit(kernel_machine, x, y, person, **options)
        return self

    def _values(self, x: ArrayLike) -> Floats:
        check_is_fitted(self, "release_")
        where = validate_data(self, x, dtype=np.float64, reset=False)
        return self.release_.value.at(where) if self.release_ else np.full(len(where), np.nan)


@dataclass(eq=False, repr=False)
class KernelSVC(ClassifierMixin, PrivateKernelMachine):  # type: ignore[misc]
    """A private support vector machine (`loss="hinge"`) or logistic one, of two classes.

    See `uptack.kernels.kernel_machine`.

    The names of the classes are assumed to be public: they are read off y unless `classes` lists both, and then y may
    hold only one of them. Without `classes`, it is assumed public that y holds two. The number of rows of each class
    stays private.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2)); y = np.where((X**2).sum(axis=1) < 1.4, "in", "out")
    >>> model = KernelSVC(epsilon=1.0, random_state=1).fit(X, y)
    >>> model.predict([[0, 0], [1.5, 1.5]]), model.privacy_
    (array(['in', 'out'], dtype='<U3'), Privacy(epsilon=1.0, delta=1e-06))
    """

    _: KW_ONLY
    loss: str = "hinge"
    classes: ArrayLike | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, person: Any = None) -> Self:  # noqa: N803 - scikit-learn's name
        """Fit privately; every call spends ε again. `person` says whose rows they are: a column of ids."""
        checks.choice("loss", self.loss, ("hinge", "logistic"))
        x, labels = self._read(X, y, person)
        check_classification_targets(labels)
        self.classes_ = np.unique(labels if self.classes is None else np.asarray(self.classes))
        if len(self.classes_) != 2:
            binary = "Only binary classification is supported. The type of the target is multiclass."
            fix = binary if len(self.classes_) > 2 else "If all rows are of one class, name both with classes=."
            raise InvalidArgument("y", "of two classes", f"{len(self.classes_)} class(es)", fix)
        if not np.isin(labels, self.classes_).all():
            raise InvalidArgument("y", "one of classes in every row", "others")
        return self._fit_machine(x, np.where(labels == self.classes_[1], 1.0, -1.0), person)

    def decision_function(self, X: ArrayLike) -> Floats:  # noqa: N803 - scikit-learn's name
        """The private function, above 0 for `classes_[1]`. A point always has the same value."""
        return self._values(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803 - scikit-learn's name
        """The class on whose side each row is."""
        upper = self._values(X) > 0  # which checks that the model is fitted
        return np.asarray(self.classes_[upper.astype(int)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(eq=False, repr=False)
class KernelRegressor(RegressorMixin, PrivateKernelMachine):  # type: ignore[misc]
    """A private robust regression in a space of functions: see `uptack.kernels.kernel_machine`.

    `loss` is "huber" or "insensitive", or `Huber(cutoff)` or `Insensitive(width)` in units of the scale of y.
    `centre` and `scale` are public numbers; without them they come from private quartiles, for a fifth of ε. With
    `on_no_reply="nan"` a fit that gets ⊥ does not raise, and predicts NaN.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(5000, 1)); y = 1000 + 50 * np.sin(X[:, 0]) + rng.normal(size=5000)
    >>> model = KernelRegressor(epsilon=1.0, random_state=2).fit(X, y)
    >>> bool(abs(model.predict([[1.5]])[0] - 1050) < 20), model.privacy_
    (True, Privacy(epsilon=1.0, delta=1e-06))
    """

    _: KW_ONLY
    loss: str | Penalty = "huber"
    centre: float | None = None
    scale: float | None = None
    on_no_reply: str = "raise"

    def fit(self, X: ArrayLike, y: ArrayLike, person: Any = None) -> Self:  # noqa: N803 - scikit-learn's name
        """Fit privately; every call spends ε again. `person` says whose rows they are: a column of ids."""
        if not isinstance(self.loss, Penalty) or self.loss.labels:
            checks.choice("loss", self.loss, ("huber", "insensitive"))
        checks.choice("on_no_reply", self.on_no_reply, ("raise", "nan"))
        x, response = self._read(X, y, person, y_numeric=True)
        return self._fit_machine(x, response, person)

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803 - scikit-learn's name
        """The private function."""
        return self._values(X)
