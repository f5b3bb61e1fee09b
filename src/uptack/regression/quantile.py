"""Quantile regression by bounded sums, without bounds on the data. The median is least absolute deviations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.registry import release
from uptack.regression.fits import FIT, FitOptions, regress
from uptack.regression.formulas.formula_designs import enter_formula
from uptack.regression.losses import RegressionLoss, ScatterMoments
from uptack.release import NoReply, Release
from uptack.table.exact_sum import Floats

LEAST = 0.02
"""Quantiles nearer to 0 or 1 have too few rows beyond them for a density that the noise would not cover."""


@dataclass(frozen=True)
class CheckLoss(RegressionLoss):
    """ψ = 2h·(q - 1[y < η]) for a quantile q.

    Its slope is the density of residuals at 0, from those within h: 1[|y - η| < h]. h is so wide that a share
    √(q(1 - q))/2 of the rows is that near: a quarter at the median, fewer towards the ends of the residuals.
    """

    quantile: float

    curved = True

    @property
    def target(self) -> str:  # type: ignore[override]
        """With the quantile's name."""
        return f"the coefficients of the {self.quantile:g}-quantile of y given x (the check loss)"

    @property
    def near(self) -> Fraction:  # type: ignore[override]
        """The share of rows within h."""
        return Fraction(self.typical).limit_denominator(1000)

    @property
    def typical(self) -> float:  # type: ignore[override]
        """The same: the curvature is 1 for these rows."""
        return math.sqrt(self.quantile * (1 - self.quantile)) / 2

    def start(self, moments: ScatterMoments) -> Floats:
        """The line of least squares, raised to where the quantile of normal residuals is."""
        line = moments.line()
        if moments.first == 0:
            line[0] += NormalDist().inv_cdf(self.quantile) * moments.rest
        return line

    def far_score(self, rest: float, s: float) -> float:
        """The largest."""
        return 2 * s * max(self.quantile, 1 - self.quantile)

    def score(self, y: Floats, eta: Floats, s: float) -> Floats:
        """2h·(q - 1) below the plane, 2h·q above."""
        return np.asarray(2 * s * (self.quantile - (y < eta)), np.float64)

    def curvature(self, y: Floats, eta: Floats, s: float) -> Floats:
        """1 for residuals within h."""
        return (np.abs(y - eta) < s).astype(np.float64)


@release(
    **FIT,
    enter=enter_formula,
    examples=({}, {"quantile": 0.9}),
)
def quantile_regression(
    x: Any, y: Any = None, *, epsilon: Rational, quantile: float = 0.5, **options: Unpack[FitOptions]
) -> Release[Floats] | NoReply:
    """Coefficients of a conditional quantile, intercept first, without bounds on the data: ε-differentially private.

    **Target.** The coefficients that minimise the check loss of the rows, without gross errors
    (`uptack.linear_regression`): those of the conditional quantile where it is linear in x. `quantile` is from 0.02 to
    0.98. 0.5 is the median: least absolute deviations.

    **Theorem.** Every step sums contributions of rows that are bounded by construction, or draws by inverse
    sensitivity, and is private for its part of ε whatever the rows: see `uptack.regression.solver`. The parts add up to
    at most ε on every path.

    `result.interval()` and `result.summary()` allow for sampling, also where residuals spread differently for
    different x, for privacy noise, and for what clipping may lose. `fit_intercept`, `binary`, `formula`, `delta`,
    `missing`, `person` and ⊥ are as in `linear_regression`.

    >>> import numpy as np
    >>> from uptack.noise import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20_000, 2)) * [1, 1000] + [0, 5000]
    >>> y = 3 + x @ [1.0, -0.002] + rng.standard_cauchy(size=20_000)
    >>> found = quantile_regression(x, y, epsilon=1, entropy=SeededEntropy(1))
    >>> bool(np.abs((found.value - [3, 1, -0.002]) * [0.1, 1, 1000]).max() < 0.1), found.privacy
    (True, Privacy(epsilon=1.0))
    """
    level = float(checks.probability("quantile", quantile))
    if not LEAST <= level <= 1 - LEAST:
        raise InvalidArgument("quantile", f"from {LEAST} to {1 - LEAST}", level)
    return regress("quantile regression", CheckLoss(level), x, y, epsilon, options)
