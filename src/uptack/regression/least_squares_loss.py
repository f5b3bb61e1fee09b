"""The loss of least squares."""

from __future__ import annotations

from dataclasses import dataclass

from uptack.regression.losses import RegressionLoss
from uptack.table.exact_sum import Floats


@dataclass(frozen=True)
class LeastSquaresLoss(RegressionLoss):
    """ψ = y - η, of curvature 1."""

    target = "the least-squares coefficients of the rows, without gross errors"

    def far_score(self, rest: float, s: float) -> float:
        """That deviation."""
        return rest

    def score(self, y: Floats, eta: Floats, s: float) -> Floats:
        """The residual."""
        return y - eta
