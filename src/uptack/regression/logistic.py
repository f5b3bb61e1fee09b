"""Logistic regression by bounded sums, without bounds on the data, for two declared classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from uptack.exact import Rational
from uptack.registry import release
from uptack.regression.fits import FIT, FitOptions, regress
from uptack.regression.formulas.category_levels import code_classes, two_classes
from uptack.regression.formulas.formula_designs import DesignColumns, enter_formula
from uptack.regression.losses import RegressionLoss, ScatterMoments, logistic
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats

SLACK, LONGEST = 2.45, 3.0
"""Linear discrimination has coefficients that are too small by √(1 - v/2.45) for its predictors of variance v, if those
of the model are normal (Stein's lemma). The start is longer by that, and at most by 3."""


@dataclass(frozen=True)
class LogisticLoss(RegressionLoss):
    """ψ = y - 1/(1 + e^-η)."""

    target = "the log-odds of the second class by maximum likelihood"
    scaled, binary, curved, likelihood = False, True, True, True
    stride = 1.5

    def start(self, moments: ScatterMoments) -> Floats:
        """Linear discrimination, made longer."""
        share = min(max(moments.mean, 0.01), 0.99)
        line = moments.slopes() / (share * (1 - share))
        variance = moments.variance(line)
        line *= 1 / math.sqrt(max(1 - variance / SLACK, LONGEST**-2))
        return moments.plane(math.log(share / (1 - share)), line)

    def far_score(self, rest: float, s: float) -> float:
        """Twice the deviation that the model has."""
        return 2.0

    def information(self, eta: Floats) -> Floats:
        """μ(1 - μ)."""
        mean = logistic(eta)
        return np.asarray(mean * (1 - mean), np.float64)

    def score(self, y: Floats, eta: Floats, s: float) -> Floats:
        """y - μ, for y from 0 to 1."""
        return np.asarray(np.clip(y, 0.0, 1.0) - logistic(eta), np.float64)


def enter_classes(given: dict[str, Any]) -> dict[str, Any]:
    """A call with 0 and 1 in place of the classes, of a formula or of y itself."""
    classes = two_classes(given.get("classes", (0, 1)))
    by_formula = given.get("formula") is not None and not isinstance(given["formula"], DesignColumns)
    entered = enter_formula(given, classes) | {"classes": (0, 1)}
    return entered if by_formula else entered | {"y": code_classes(entered["y"], classes)}


@release(
    **FIT,
    enter=enter_classes,
    examples=({}, {"fit_intercept": False}),
)
def logistic_regression(
    x: Any, y: Any = None, *, epsilon: Rational, classes: Any = (0, 1), **options: Unpack[FitOptions]
) -> Release[Floats] | NoReply:
    """Log-odds of the second of two classes, intercept first, with no bounds on the data: ε-differentially private.

    **Target.** The maximum likelihood estimate of the rows, without gross errors in x
    (`uptack.linear_regression`): also where log-odds are not linear in x.

    **Theorem.** Every step sums contributions of rows that are bounded by construction, or draws by inverse
    sensitivity, and is private for its part of ε whatever the rows: see `uptack.regression.solver`. The parts add up to
    at most ε on every path.

    `classes` are the two values that y may have, and never read off the rows: 0 and 1, which False and True are too, or
    others that you declare. A row with any other value is a missing one.

    `fit_intercept`, `binary`, `formula`, `delta`, `missing`, `person`, `result.interval()` and ⊥ are as in
    `linear_regression`. ⊥ is also the answer where a line separates the classes or nearly does: then coefficients run
    away, and the last step is a long one.

    >>> import numpy as np
    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2)) * [1, 1000] + [0, 5000]
    >>> sick = rng.random(20_000) < 1 / (1 + np.exp(-x @ [1.0, -0.002] - 9))
    >>> found = logistic_regression(x, sick, epsilon=1, entropy=SeededEntropy(1))
    >>> bool(np.abs((found.value - [9, 1, -0.002]) * [0.1, 1, 1000]).max() < 0.2), found.privacy
    (True, Privacy(epsilon=1.0))
    """
    return regress("logistic regression", LogisticLoss(), x, y, epsilon, options)
