"""Huber's loss: quadratic for residuals within a cutoff, linear beyond."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.regression.losses import RegressionLoss
from uptack.table.exact_sum import Floats

CUTOFF = 1.345 / 0.6744897501960817
"""In medians of |residual|: 1.345 spreads of normal ones, for 95% of the efficiency of least squares (Huber 1964)."""


@dataclass(frozen=True)
class HuberLoss(RegressionLoss):
    """ψ = y - η, brought to within ±1.345/0.6745·s."""

    target = (
        "the coefficients of Huber's loss, with a cutoff of 1.345 spreads of the residuals (median |residual|/0.6745)"
    )
    curved, near, typical = True, Fraction(1, 2), 0.8

    def far_score(self, rest: float, s: float) -> float:
        """The largest."""
        return CUTOFF * s

    def score(self, y: Floats, eta: Floats, s: float) -> Floats:
        """The residual, clipped."""
        return np.clip(y - eta, -CUTOFF * s, CUTOFF * s)

    def curvature(self, y: Floats, eta: Floats, s: float) -> Floats:
        """1 for residuals inside."""
        return (np.abs(y - eta) < CUTOFF * s).astype(np.float64)
