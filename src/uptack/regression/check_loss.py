"""The check loss, whose minimum is a quantile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from uptack.regression.losses import RegressionLoss, ScatterMoments
from uptack.table.exact_sum import Floats


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
