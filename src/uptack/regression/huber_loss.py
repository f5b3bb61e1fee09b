"""Huber's loss, whose residuals are near or far: that of lines."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.multivariate.signs import Shape
from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import Sample
from uptack.regression.fit_model import Model, start
from uptack.regression.fit_state import FitState
from uptack.regression.hessian import COVERED, Hessian
from uptack.regression.losses import FAR, RegressionLoss, Stage, within
from uptack.regression.newton_steps import NewtonStep
from uptack.regression.residual_tails import LONG, longer
from uptack.regression.sandwich import sandwich
from uptack.table.exact_sum import Floats

HUBER = 1.345
RESIDUALS, ROWS = (0.45, 0.57), (0.45, 0.25)
"""What c and R are, over the quantile of |z|: a + b·log(1/t), at a noise t."""

HALF = 0.45
"""The least share of residuals within c: half of them are within 0.67 spreads, or a little less for the spread's noise,
and c is never less than 0.8. A smaller one is noise, and would make a step too long."""

LEAST, MOST = (0.8, 0.5), (4.0, 3.0)
"""The least and the most that c and R are."""

APART = 0.06
"""By which the share of residuals inside differs between tables, in deviations."""

CALMER = 1.3
CALM = (Stage(Fraction(1, 10), tails=True), Stage(Fraction(3, 10)), Stage(Fraction(6, 10), tails=True))
LOUDER = (Stage(Fraction(2, 10), tails=True), Stage(Fraction(8, 10), tails=True))
"""The steps for a c above the first of these, and below."""

STRAY = 0.25
"""⊥ where fewer residuals than this share are near, by the number that was released: the last spread is far too small
then, and with it all standard errors. Of a right one no fewer than half are."""

PART = 2 / 3
"""Times as long may a last step be in which noise covers directions, and one deviation of its noise longer, not two. It
goes only a part of its way there."""

EVEN = 1.1
"""Times as long may the last step be if all directions count alike. Rows far out have little weight in H, and are the
ones that tell a faint direction: a step there may be short in H and change what is said of them by spreads."""


@dataclass(frozen=True)
class HuberLoss(RegressionLoss):
    """Huber's ψ(t) = min(max(t, -c), c) of t = r/s, with r = y - η: κ = 1/s where |t| < c.

    Rows count with w = min(1, R/|z|), and their residuals as they are up to |z| = ρR (Mallows 1975), from there on with
    v = ρw. For ρ = 1 both would shrink alike, for ρ = ∞ residuals never. The bound on what a row adds is the same; but
    rows a little far out say more, and Hessians still have a bound, ρR².

    **How wide.** With t = m·p/(ε'·sqrt(n)) for the part ε' of the last gradient, of which a person moves m rows, noise
    has (p + 1)/p²·(t·c·R)² times the sampling variance of a residual. Let rows and residuals be normal, A the mean of
    w·κ·|z|²/p, B that of w²·ψ²·|z|²/p. Then the error of the fit is (B + noise)/A² times that of least squares, squared
    both. Its least is about at c = 0.45 + 0.57·log(1/t), R = (0.45 + 0.25·log(1/t)) times the upper quartile of |z|,
    for p from 2 to 40 and t from 0.03 to 0.5.
    """

    cutoff: float = HUBER

    ridge, response, splits, far, least, polish = 0.2, True, True, FAR, HALF, 0.3
    expected = (1.0, 1.0)
    assumed = "standard errors hold if residuals spread alike for all x"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Two steps. Where noise is low, and c large, three, and those before the last get more: a part of what they
        are off is left where residuals spread unevenly, since the Hessian is not quite the slope of the gradient then.
        """
        return CALM if self.cutoff > CALMER else LOUDER

    @property
    def limit(self) -> float:
        """c."""
        return self.cutoff

    @property
    def usual(self) -> tuple[float, float]:
        """The share of normal residuals that are inside. Half of all are within 0.67 spreads, whatever their law: that
        is what a spread is.
        """
        return math.erf(self.cutoff / math.sqrt(2)), APART

    def clipped(self, noise: float) -> tuple[HuberLoss, float]:
        """Rows and residuals both."""
        found = (within(a - b * math.log(noise), least, most)
                 for (a, b), least, most in zip((RESIDUALS, ROWS), LEAST, MOST, strict=True))  # fmt: skip
        cutoff, wide = found
        return HuberLoss(cutoff), wide

    def begun(self, rows: Sample, frame: Frame, shape: Shape, account: Account) -> tuple[HuberLoss, Floats, Floats]:
        """At what the scatter matrix says."""
        return self, *start(shape)

    def widened(
        self,
        rows: Sample,
        model: Model,
        at: tuple[Floats, float],
        times: float,
        account: Account,
        *,
        late: bool = False,
    ) -> HuberLoss:
        """c of up to 7 for residuals with a long tail to one side."""
        wide = HuberLoss(max(self.cutoff, min(LONG, times * self.cutoff)))
        return wide if longer(rows, model, at, account, late=late) else self

    def steep(self, s: float) -> float:
        """1/s."""
        return 1 / s

    def score(self, y: Floats, eta: Floats, w: Floats, s: float, sharp: bool) -> Floats:
        """ψ/c."""
        return np.clip(w * (y - eta) / s, -self.cutoff, self.cutoff) / self.cutoff

    def bend(self, y: Floats, eta: Floats, w: Floats, s: float) -> Floats:
        """1 where the residual is inside."""
        return (np.abs(w * (y - eta)) < self.cutoff * s).astype(np.float64)

    def noise(self, slope: float) -> float:
        """E ψ² ≤ slope + (1 - slope)·c²."""
        return slope + (1 - slope) * self.cutoff**2

    def ended(self, rows: Sample, fit: FitState, account: Account) -> FitState:
        """With the variance of gradients, and the last step made again by it."""
        measured = sandwich(rows, fit.model, fit.first, fit.step, account)
        return replace(fit, step=measured.remade(fit.step, fit.model, fit.curvature), measured=measured)

    def astray(self, step: NewtonStep, before: float, curvature: Hessian) -> bool:
        """Where few residuals are near, a step is long in a faint direction, or several slopes, and more than a third
        of them, are faint; or where a step with directions that noise covers is not short.
        """
        faint = int(np.count_nonzero(curvature.faint))
        return (
            step.near < STRAY
            or step.even > EVEN * self.polish
            or (faint > 1 and faint > COVERED * (curvature.raw.size - 1))
            or (bool(curvature.lost.any()) and step.moved > PART * self.polish + step.noise)
        )
