"""The check loss, whose minimum is a quantile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.multivariate.signs import Shape
from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import Sample
from uptack.regression.fit_model import start
from uptack.regression.losses import RegressionLoss, Stage, wide_rows
from uptack.table.exact_sum import Floats

WINDOW = 0.31863936396437514
"""A quarter of normal residuals is within so many standard deviations of their median."""


@dataclass(frozen=True)
class Check(RegressionLoss):
    """The check loss of a quantile q: ψ = q - 1 for residuals below 0, else q.

    Its curvature is that of residuals t = w·r near 0: 1/(2h) for |t| < h, a density. h is so wide that a share
    sqrt(q·(1 - q))/2 of the rows is that near: a quarter at the median, fewer where a quantile may be near an end of
    the residuals. The first steps have a ψ that rises from q - 1 to q over [-h, h], so that they are Newton steps of a
    loss without corners. The last one has ψ itself.
    """

    quantile: float

    stages = (
        Stage(Fraction(10, 100), sharp=False),
        Stage(Fraction(10, 100), sharp=False),
        Stage(Fraction(15, 100), sharp=False),
        Stage(Fraction(65, 100), reweighted=True),
    )
    ridge, response, far, least, polish = 0.5, True, 1.0, 0.02, 0.5
    assumed = "standard errors hold if the quantile is linear in x"

    @property
    def near(self) -> tuple[Fraction, float]:
        """A quarter of normal residuals is within 0.32 standard deviations of their median."""
        return Fraction(self._share).limit_denominator(1000), WINDOW

    @property
    def _share(self) -> float:
        return math.sqrt(self.quantile * (1 - self.quantile)) / 2

    @property
    def limit(self) -> float:
        """max(q, 1 - q)."""
        return max(self.quantile, 1 - self.quantile)

    @property
    def expected(self) -> tuple[float, float]:
        """A density at 0 in spreads, and q·(1 - q)."""
        return self._share / (2 * WINDOW), self.quantile * (1 - self.quantile)

    def clipped(self, noise: float) -> tuple[Check, float]:
        """Rows alone."""
        return self, wide_rows(noise, self.expected[1], self.limit)

    def begun(self, rows: Sample, frame: Frame, shape: Shape, account: Account) -> tuple[Check, Floats, Floats]:
        """At what the scatter matrix says."""
        return self, *start(shape)

    def steep(self, s: float) -> float:
        """1/(2h)."""
        return 1 / (2 * WINDOW * s)

    def score(self, y: Floats, eta: Floats, w: Floats, s: float, sharp: bool) -> Floats:
        """ψ/limit. Steep enough, a slope is the step itself."""
        t = w * (y - eta)
        rise = np.where(t < 0, 0.0, 1.0) if sharp else np.clip(t / (2 * WINDOW * s) + 0.5, 0.0, 1.0)
        return np.asarray((rise - (1 - self.quantile)) / self.limit, np.float64)

    def bend(self, y: Floats, eta: Floats, w: Floats, s: float) -> Floats:
        """1 for residuals within h."""
        return (np.abs(w * (y - eta)) < WINDOW * s).astype(np.float64)

    def noise(self, slope: float) -> float:
        """q·(1 - q)."""
        return self.quantile * (1 - self.quantile)
