"""Huber's loss: quadratic for residuals within a cutoff, linear beyond."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.regression.losses import Loss, Stage
from uptack.table.exact_sum import Floats

CUTOFF = 1.345
"""In spreads of the residuals: 95% of the efficiency of least squares for normal ones (Huber 1964)."""


@dataclass(frozen=True)
class HuberLoss(Loss):
    """ψ = y - η, brought to within ±1.345·s."""

    target = (
        "the coefficients of Huber's loss, with a cutoff of 1.345 spreads of the residuals (median |residual|/0.6745)"
    )
    stages = (
        Stage(Fraction(5, 100), hessian=Fraction(10, 100), clip=Fraction(1, 100), spread=Fraction(2, 100)),
        Stage(Fraction(10, 100), hessian=Fraction(10, 100), clip=Fraction(6, 100), spread=Fraction(3, 100)),
        Stage(Fraction(31, 100)),
    )

    def score(self, y: Floats, eta: Floats, s: float) -> Floats:
        """The residual, clipped."""
        return np.clip(y - eta, -CUTOFF * s, CUTOFF * s)

    def curvature(self, y: Floats, eta: Floats, s: float) -> Floats:
        """1 for residuals inside."""
        return (np.abs(y - eta) < CUTOFF * s).astype(np.float64)
