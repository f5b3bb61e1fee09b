"""The logistic loss of classes, and where a fit of them starts: an intercept alone, the log-odds of the second class.

**Theorem.** The share of the second class is ε'-differentially private for its part ε' of ε, whatever the rows.
*Proof.* A row adds an integer of [0, Λ], so one that is replaced, added or removed moves their sum by at most Λ, which
is what its noise is for (`uptack.regression.newton_steps.noisy_mean`). The log-odds, and whether there are any, follow
from the share as it was released, and from public numbers. ∎
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.signs import Shape
from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import Sample
from uptack.multivariate.terms import Vectors
from uptack.regression.curvature import hold_step, stretch_step
from uptack.regression.hessian import Hessian
from uptack.regression.link_functions import logistic
from uptack.regression.losses import FAR, START, RegressionLoss, Stage, wide_rows
from uptack.regression.newton_steps import NewtonStep, noisy_mean
from uptack.table.exact_sum import Floats

SEEN = 5
"""⊥ where a class has fewer rows than so many times the scale of noise in their number: it may have none."""

RUNAWAY, GROWN = 0.25, 0.06
"""⊥ where the last step made coefficients longer by the first times the mean curvature, and by the second, beyond
noise. Where a line separates classes, coefficients grow with every step, and few rows are left with any curvature."""


@dataclass(frozen=True)
class LogisticLoss(RegressionLoss):
    """ψ = w·(y - μ(η)) with μ(η) = 1/(1 + e^-η), and κ = μ·(1 - μ) ≤ 1/4: the model holds for rows of all weights."""

    stages = (
        Stage(Fraction(6, 100), leads=stretch_step),
        Stage(Fraction(9, 100), curved=True, leads=hold_step),
        Stage(Fraction(17, 100), curved=True, leads=hold_step),
        Stage(Fraction(68, 100), curved=True, reweighted=True),
    )
    ridge, response, far, limit, least, polish, bent = 0.5, False, FAR, 1.0, 0.01, 0.25, 0.6
    expected = (0.15, 0.15)
    assumed = "standard errors hold if log-odds are linear in x"

    def clipped(self, noise: float) -> tuple[LogisticLoss, float]:
        """Rows alone."""
        return self, wide_rows(noise, self.expected[1], self.limit)

    def parts(self, leading: bool) -> tuple[Fraction, Fraction]:
        """Without an intercept a fit starts at 0."""
        return START * leading, Fraction(0)

    def begun(
        self, rows: Sample, frame: Frame, shape: Shape, account: Account
    ) -> tuple[LogisticLoss, Floats, Floats] | None:
        """At an intercept alone; None where noise would explain all rows of a class."""
        odds = log_odds(rows, shape.rows, account) if frame.leading else 0.0
        return None if odds is None else (self, shape.coordinates, np.eye(frame.width)[0] * odds)

    def steep(self, s: float) -> float:
        """1/4."""
        return 0.25

    def score(self, y: Floats, eta: Floats, w: Floats, s: float, sharp: bool) -> Floats:
        """ψ."""
        return np.asarray(w * (y - logistic(eta)), np.float64)

    def bend(self, y: Floats, eta: Floats, w: Floats, s: float) -> Floats:
        """4·μ·(1 - μ)."""
        mu = logistic(eta)
        return np.asarray(4 * mu * (1 - mu), np.float64)

    def noise(self, slope: float) -> float:
        """E ψ² = E w²·μ·(1 - μ), which is at most E κ."""
        return slope / 4

    def astray(self, step: NewtonStep, before: float, curvature: Hessian) -> bool:
        """Where coefficients still grow, and few rows are left with any curvature."""
        return step.longer > max(RUNAWAY * step.slope, GROWN)


def log_odds(rows: Sample, n: float, account: Account) -> float | None:
    """log(π/(1 - π)) for the share π of the second class; None where noise would explain all rows of a class."""
    (total,) = rows.sums(lambda batch: [Vectors(np.rint(members(batch[-1]) * LENGTH))])
    least = SEEN * account.rows / (float(account.epsilon) * n)
    share = noisy_mean(total, n, account)
    return math.log(share / (1 - share)) if least < share < 1 - least else None


def members(y: Floats) -> Floats:
    """Whether rows are of the second class, in [0, 1] whatever y is."""
    return np.asarray(np.nan_to_num(np.clip(y, 0.0, 1.0)), np.float64)
