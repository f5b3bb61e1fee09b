"""The loss of least squares."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.regression.losses import Loss, Stage
from uptack.table.exact_sum import Floats


@dataclass(frozen=True)
class LeastSquaresLoss(Loss):
    """ψ = y - η."""

    target = "the least-squares coefficients of the rows, without gross errors"
    stages = (
        Stage(Fraction(5, 100), hessian=Fraction(12, 100), clip=Fraction(1, 100)),
        Stage(Fraction(12, 100), clip=Fraction(8, 100)),
        Stage(Fraction(40, 100)),
    )

    def score(self, y: Floats, eta: Floats, s: float) -> Floats:
        """The residual."""
        return y - eta

    def curvature(self, y: Floats, eta: Floats, s: float) -> Floats:
        """1."""
        return np.ones_like(eta)
