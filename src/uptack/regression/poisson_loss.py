"""Poisson's loss of counts and rates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from uptack.regression.link_functions import exponential
from uptack.regression.losses import RegressionLoss, ScatterMoments
from uptack.table.exact_sum import Floats

MOST = 1e150
"""Larger counts are none: so no product overflows."""

VARIED = 4.0
"""The largest variance of log-rates to start with."""


@dataclass(frozen=True)
class PoissonLoss(RegressionLoss):
    """ψ = y - e^η."""

    target = "the coefficients of the logarithm of the mean of y given x, by Poisson's likelihood"
    scaled, curved = False, True
    stride = 1.0

    def start(self, moments: ScatterMoments) -> Floats:
        """For normal x the covariance of x and y over the mean of y is that of x and η (Stein 1981)."""
        mean = max(moments.mean, 1e-3 * moments.unit)
        line = moments.slopes() / mean
        varied = moments.variance(line)
        line *= math.sqrt(min(1.0, VARIED / max(varied, 1e-300)))
        return moments.plane(math.log(mean) - min(varied, VARIED) / 2, line)

    def far_score(self, rest: float, s: float) -> float:
        """Twice the deviation that the model has."""
        return 2.0

    def information(self, eta: Floats) -> Floats:
        """μ."""
        return exponential(eta)

    def score(self, y: Floats, eta: Floats, s: float) -> Floats:
        """y - μ, for y of 0 or more."""
        return np.asarray(np.clip(y, 0.0, MOST) - exponential(eta), np.float64)
