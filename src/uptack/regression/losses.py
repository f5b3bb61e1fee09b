"""What a fit by bounded sums needs of a loss: a score that is bounded, and what is special about its plan and steps.

A loss has a score ψ and a curvature κ = -dψ/dη of the predictor η = (1, x)·β. Both are bounded, so a row w·z of length
at most R adds a vector of length at most R·limit to the gradient, and a matrix of trace at most R²·steep to the
Hessian. Rows come with their weights w = min(1, R/|z|); a loss says how its score shrinks with them, such that

    d/db Σ wz·ψ = -Σ κ·(wz)(wz)ᵀ.

Scores and curvatures are computed row by row, by operations that IEEE 754 defines to the last bit. So the logistic
curve is a polynomial and a power of two, and not a library's: one row's contribution can't depend on where in a batch
it stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from uptack.account import Account
from uptack.multivariate.signs import Shape
from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import Sample
from uptack.table.exact_sum import Floats

if TYPE_CHECKING:
    from uptack.regression.fit_model import Model
    from uptack.regression.fit_state import FitState
    from uptack.regression.hessian import Hessian
    from uptack.regression.newton_steps import NewtonStep

QUARTILE = 0.6744897501960817
NARROW, BENT = 0.8, 1.5
"""The least that R is, over the quantile of |z|, and the most where Hessians have curvatures: their noise is larger by
R², and by the curvature's mean."""

LOUD = 0.4
"""Rows of such a loss are clipped as wide as leaves the last gradient's noise at so many sampling errors."""

FAR = 1.5
"""Times R: up to there rows count with their whole residual."""

ROOM = 0.5
"""⊥ where the last gradient's noise would move predictions by more than this part of a spread."""

UNKNOWN = (0.0, math.inf)
"""Where a curvature is not known before."""

START = Fraction(2, 100)
"""The part of ε for the mean response, where a fit starts from that."""


def within(wide: float, least: float, most: float) -> float:
    """As wide as that, but no less and no more than these."""
    return min(max(wide, least), most)


def wide_rows(noise: float, expected: float, limit: float) -> float:
    """R over the quantile of |z|, where rows alone are clipped: for a noise of the last gradient of so many sampling
    errors if ψ and R were 1, and about so large a ψ².
    """
    return within(LOUD * math.sqrt(expected) / (noise * limit), NARROW, BENT)


@dataclass(frozen=True)
class Stage:
    """One Newton step: its part of what gradients get, whether the Hessian is measured anew with the curvatures at
    its start, whether the loss has its corners, whether the tails of the residuals decide how wide they are clipped
    from here on (`RegressionLoss.widened`), whether the Hessian is first what normal predictors would have
    (`uptack.regression.curvature`), and where the step leads to from β, if not to where it ends.
    """

    share: Fraction
    reweighted: bool = False
    sharp: bool = True
    tails: bool = False
    curved: bool = False
    leads: Callable[[FitState, Floats], Floats] | None = None


class RegressionLoss(Protocol):
    """ψ and κ of rows with response y, predictor η and weight w, at a spread s of residuals; and what a plan and a fit
    ask beyond that. Most losses have nothing to say to most of those questions, and have the answers that are here.

    `response` says whether y is standardised, gets a scale, and is a line of the scatter matrix.
    """

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The steps."""
        ...

    @property
    def response(self) -> bool:
        """Whether y is a number with a scale of its own. Then residuals are taken to spread alike for all x, and else
        in proportion to κ.
        """
        ...

    @property
    def limit(self) -> float:
        """The largest |ψ|."""
        ...

    @property
    def least(self) -> float:
        """The mean of κ/steep is taken to be at least this."""
        ...

    @property
    def expected(self) -> tuple[float, float]:
        """What κ·s and ψ² are about, for plans."""
        ...

    @property
    def assumed(self) -> str:
        """When standard errors hold. Said of every fit: where it is not so, intervals are too short."""
        ...

    @property
    def polish(self) -> float:
        """The longest last step, in spreads or logits, beside what is noise: a longer one may not have arrived."""
        ...

    @property
    def ridge(self) -> float:
        """Times min(1, s)/sqrt(n): the penalty on the coefficients of standardised columns."""
        ...

    @property
    def far(self) -> float:
        """How many times R a row is away from where on its residual is smaller, too."""
        ...

    def steep(self, s: float) -> float:
        """The largest κ."""
        ...

    def score(self, y: Floats, eta: Floats, w: Floats, s: float, sharp: bool) -> Floats:
        """ψ/limit, within [-1, 1]."""
        ...

    def bend(self, y: Floats, eta: Floats, w: Floats, s: float) -> Floats:
        """κ/steep, within [0, 1]."""
        ...

    def noise(self, slope: float) -> float:
        """The variance of ψ, by the mean of κ/steep."""
        ...

    def clipped(self, noise: float) -> tuple[RegressionLoss, float]:
        """The loss, and R over the quantile of |z|, for a noise of the last gradient of so many sampling errors if
        both were 1.
        """
        ...

    def begun(
        self, rows: Sample, frame: Frame, shape: Shape, account: Account
    ) -> tuple[RegressionLoss, Floats, Floats] | None:
        """The loss, B and β that a fit starts with, given the coordinates of (1, x), or of (1, x, y); None where it
        can't.
        """
        ...

    @property
    def usual(self) -> tuple[float, float]:
        """What the mean of κ/steep is for most tables, and by how much it differs."""
        return UNKNOWN

    @property
    def bent(self) -> float:
        """What κ/steep is about, where no fit arrives without it in the Hessian; else infinite."""
        return math.inf

    @property
    def near(self) -> tuple[Fraction, float]:
        """Which quantile of |w·r| a spread is found by, and what it is of a standard normal law."""
        return Fraction(1, 2), QUARTILE

    @property
    def room(self) -> float:
        """How far the last gradient's noise may move predictions, by public numbers: in spreads, or in logits."""
        return ROOM

    @property
    def splits(self) -> bool:
        """Whether residuals are near or far, as of Huber's loss. Then standard errors can be measured
        (`uptack.regression.sandwich`), and rows far out and the tails of residuals say more about a fit
        (`uptack.regression.residual_tails`, `uptack.regression.intercept_level`).
        """
        return False

    def parts(self, leading: bool) -> tuple[Fraction, Fraction]:
        """The parts of ε for where a fit starts, with an intercept or without, and for what it has to know of y at its
        end.
        """
        return Fraction(0), Fraction(0)

    def ways(self, n: float, account: Account) -> tuple[RegressionLoss, ...]:
        """The losses to try by public numbers, the best first, if this account is for the end of a fit; none where
        noise would cover that.
        """
        return (self,)

    def known(self, model: Model, first: Hessian, beta: Floats) -> RegressionLoss:
        """The loss for a step from β, by what has been released: that costs nothing."""
        return self

    def widened(
        self,
        rows: Sample,
        model: Model,
        at: tuple[Floats, float],
        times: float,
        account: Account,
        *,
        late: bool = False,
    ) -> RegressionLoss:
        """The loss with residuals at β and s clipped as their tails say, at most so many times as wide. It is late if
        there was a step before.
        """
        return self

    def ended(self, rows: Sample, fit: FitState, account: Account) -> FitState | None:
        """The fit, and what is known of it at its end; None where it can't be stood behind for that."""
        return fit

    def astray(self, step: NewtonStep, before: float, curvature: Hessian) -> bool:
        """Whether the last step says that a fit of this loss can't be stood behind, by released numbers; with the noise
        of the step before.
        """
        return False
