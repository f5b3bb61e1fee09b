"""The logistic loss of two classes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from uptack.regression.link_functions import logistic
from uptack.regression.losses import RegressionLoss, ScatterMoments
from uptack.table.exact_sum import Floats

SLACK, LONGEST = 2.45, 3.0
"""Linear discrimination has coefficients that are too small by √(1 - v/2.45) for its predictors of variance v, if those
of the model are normal. The start is longer by that, and at most by 3."""


@dataclass(frozen=True)
class LogisticLoss(RegressionLoss):
    """ψ = y - 1/(1 + e^-η)."""

    target = "the log-odds of the second class by maximum likelihood"
    scaled, binary, curved = False, True, True
    stride = 1.5

    def start(self, moments: ScatterMoments) -> Floats:
        """Linear discrimination, made longer."""
        share = min(max(moments.mean, 0.01), 0.99)
        line = moments.slopes() / (share * (1 - share))
        varied = moments.variance(line)
        line *= 1 / math.sqrt(max(1 - varied / SLACK, LONGEST**-2))
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
