"""Poisson regression by bounded sums: rates of counts, without bounds on the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from uptack.exact import Rational
from uptack.registry import release
from uptack.regression.fits import FIT, FitOptions, regress
from uptack.regression.formulas.formula_designs import enter_formula
from uptack.regression.losses import RegressionLoss, ScatterMoments, exponential
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats

MOST = 1e150
"""Larger counts are none: so no product overflows."""

MOST_VARIANCE = 4.0
"""The largest variance of log-rates to start with."""


@dataclass(frozen=True)
class PoissonLoss(RegressionLoss):
    """ψ = y - e^η."""

    target = "the coefficients of the logarithm of the mean of y given x, by Poisson's likelihood"
    scaled, curved, likelihood = False, True, True
    stride = 1.0

    def start(self, moments: ScatterMoments) -> Floats:
        """For normal x the covariance of x and y over the mean of y is that of x and η (Stein 1981)."""
        mean = max(moments.mean, 1e-3 * moments.unit)
        line = moments.slopes() / mean
        variance = moments.variance(line)
        line *= math.sqrt(min(1.0, MOST_VARIANCE / max(variance, 1e-300)))
        return moments.plane(math.log(mean) - min(variance, MOST_VARIANCE) / 2, line)

    def far_score(self, rest: float, s: float) -> float:
        """Twice the deviation that the model has."""
        return 2.0

    def information(self, eta: Floats) -> Floats:
        """μ."""
        return exponential(eta)

    def score(self, y: Floats, eta: Floats, s: float) -> Floats:
        """y - μ, for y of 0 or more."""
        return np.asarray(np.clip(y, 0.0, MOST) - exponential(eta), np.float64)


@release(
    **FIT,
    enter=enter_formula,
    examples=({}, {"fit_intercept": False}),
)
def poisson_regression(
    x: Any, y: Any = None, *, epsilon: Rational, **options: Unpack[FitOptions]
) -> Release[Floats] | NoReply:
    """Coefficients of the logarithm of a rate, intercept first, without bounds on the data: ε-differentially private.

    **Target.** The maximum likelihood estimate of the rows, without gross errors (`uptack.linear_regression`). It is
    that of the mean, E[y|x] = e^η, also where y varies more than Poisson's law has it. y are counts, or other numbers
    of 0 or more; those below count as 0.

    **Theorem.** Every step sums contributions of rows that are bounded by construction, or draws by inverse
    sensitivity, and is private for its part of ε whatever the rows: see `uptack.regression.solver`. The parts add up to
    at most ε on every path.

    `fit_intercept`, `binary`, `formula`, `delta`, `missing`, `person`, `result.interval()` and ⊥ are as in
    `linear_regression`. ⊥ is also the answer where the last step is a long one.

    >>> import numpy as np
    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2)) * [1, 1000] + [0, 5000]
    >>> y = rng.poisson(np.exp(3 + x @ [0.5, -0.0004]))
    >>> found = poisson_regression(x, y, epsilon=1, entropy=SeededEntropy(1))
    >>> bool(np.abs((found.value - [3, 0.5, -0.0004]) * [0.1, 1, 1000]).max() < 0.1), found.privacy
    (True, Privacy(epsilon=1.0))
    """
    return regress("Poisson regression", PoissonLoss(), x, y, epsilon, options)
