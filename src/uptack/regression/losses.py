"""Losses whose score is bounded: all that a fit by bounded sums needs of one.

A loss has a score ψ and a curvature κ = -dψ/dη of the predictor η = (1, x)·β. Both are bounded, so a row w·z of length
at most R adds a vector of length at most R·limit to the gradient, and a matrix of trace at most R²·steep to the
Hessian. Rows come with their weights w = min(1, R/|z|); a loss says how its score shrinks with them, such that

    d/db Σ wz·ψ = -Σ κ·(wz)(wz)ᵀ.

Everything here is computed row by row, by operations that IEEE 754 defines to the last bit. So the logistic curve is a
polynomial and a power of two, and not a library's: one row's contribution can't depend on where in a batch it stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from uptack.columns.table import Floats
from uptack.regression.curve import logistic


@dataclass(frozen=True)
class Stage:
    """One Newton step: its part of what gradients get, whether the Hessian is measured anew with the curvatures at
    its start, whether the loss has its corners, whether the step is stretched (`stretch`), whether the tails of the
    residuals decide how wide they are clipped from here on (`uptack.regression.tails`), and whether the Hessian is
    first what normal predictors would have (`uptack.regression.curved`).
    """

    share: Fraction
    reweighted: bool = False
    sharp: bool = True
    stretched: bool = False
    tails: bool = False
    curved: bool = False


class Loss(Protocol):
    """ψ and κ of rows with response y, predictor η and weight w, at a spread s of residuals.

    `response` says whether y is standardised, gets a scale, and is a line of the scatter matrix. `curvature` is what is
    expected of κ·s, and `variance` of ψ², for plans from public numbers.
    """

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The steps."""
        ...

    @property
    def response(self) -> bool:
        """Whether y is a number with a scale of its own."""
        ...

    @property
    def counts(self) -> bool:
        """Whether y is a number of events, and the response of a rate (`uptack.regression.counts`)."""
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
    def usual(self) -> tuple[float, float]:
        """What the mean of κ/steep is for most tables, and by how much it differs."""
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
    def bent(self) -> float:
        """What κ/steep is about, where no fit arrives without it in the Hessian; else infinite."""
        ...

    @property
    def polish(self) -> float:
        """The longest last step, in spreads or logits, beside what is noise: a longer one may not have arrived."""
        ...

    @property
    def near(self) -> tuple[Fraction, float]:
        """Which quantile of |w·r| a spread is found by, and what it is of a standard normal law."""
        ...

    @property
    def ridge(self) -> float:
        """Times min(1, s)/sqrt(n): the penalty on the coefficients of standardised columns."""
        ...

    @property
    def far(self) -> float:
        """How many times R a row is away from where on its residual is smaller, too."""
        ...

    def clipped(self, noise: float) -> tuple[Loss, float]:
        """The loss, and R over the quantile of |z|, for a noise of the last gradient of so many sampling errors if
        both were 1.
        """
        ...

    def wider(self, times: float) -> Loss:
        """The loss for residuals with a long tail to one side, at most so many times as wide."""
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

    @property
    def flat(self) -> bool:
        """Whether the variance of ψ is the same for all rows, and not a multiple of κ."""
        ...


HUBER = 1.345
QUARTILE = 0.6744897501960817
NARROW, WIDE, BENT = 0.8, 3.0, 1.5
"""The least and the most that R is, over the quantile of |z|; the most where Hessians have curvatures: their noise is
larger by R², and by the curvature's mean."""

LOUD = 0.4
"""Rows of such a loss are clipped as wide as leaves the last gradient's noise at so many sampling errors."""

RESIDUALS, ROWS = (0.45, 0.57), (0.45, 0.25)
"""What Huber's c and R are, over the quantile of |z|: a + b·log(1/t), at a noise t."""

FAR = 1.5
"""Times R: up to there rows count with their whole residual."""

HALF = 0.45
"""The least share of residuals within c: half of them are within 0.67 spreads, or a little less for the spread's noise,
and c is never less than 0.8. A smaller one is noise, and would make a step too long."""

LEAST, MOST, LONG = (0.8, 0.5), (4.0, 3.0), 7.0
"""The least and the most that c and R are, and c with a long tail to one side."""


APART = 0.06
"""By which the share of residuals inside differs between tables, in deviations."""

UNKNOWN = (0.0, math.inf)
"""Where a curvature is not known before."""

CALMER = 1.3
CALM = (Stage(Fraction(1, 10), tails=True), Stage(Fraction(3, 10)), Stage(Fraction(6, 10), tails=True))
LOUDER = (Stage(Fraction(2, 10), tails=True), Stage(Fraction(8, 10), tails=True))
"""The steps of Huber's loss for a c above the first of these, and below."""


def within(wide: float, least: float, most: float) -> float:
    """As wide as that, but no less and no more than these."""
    return min(max(wide, least), most)


@dataclass(frozen=True)
class Huber:
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

    ridge, response, flat, far, least, polish, bent = 0.2, True, False, FAR, HALF, 0.3, math.inf
    counts = False
    expected = (1.0, 1.0)
    assumed = "standard errors hold if residuals spread alike for all x"
    near = Fraction(1, 2), QUARTILE

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

    def clipped(self, noise: float) -> tuple[Huber, float]:
        """Rows and residuals both."""
        found = (within(a - b * math.log(noise), least, most)
                 for (a, b), least, most in zip((RESIDUALS, ROWS), LEAST, MOST, strict=True))  # fmt: skip
        cutoff, wide = found
        return Huber(cutoff), wide

    def wider(self, times: float) -> Huber:
        """c of up to 7."""
        return Huber(max(self.cutoff, min(LONG, times * self.cutoff)))

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


@dataclass(frozen=True)
class Logistic:
    """ψ = w·(y - μ(η)) with μ(η) = 1/(1 + e^-η), and κ = μ·(1 - μ) ≤ 1/4: the model holds for rows of all weights."""

    stages = (
        Stage(Fraction(6, 100), stretched=True),
        Stage(Fraction(9, 100), curved=True),
        Stage(Fraction(17, 100), curved=True),
        Stage(Fraction(68, 100), curved=True, reweighted=True),
    )
    ridge, response, flat, far, limit, least, polish, bent = 0.5, False, False, FAR, 1.0, 0.01, 0.25, 0.6
    counts = False
    usual = UNKNOWN
    expected = (0.15, 0.15)
    assumed = "standard errors hold if log-odds are linear in x"
    near = Fraction(1, 2), QUARTILE

    def clipped(self, noise: float) -> tuple[Logistic, float]:
        """Rows alone."""
        return self, within(LOUD * math.sqrt(self.expected[1]) / (noise * self.limit), NARROW, BENT)

    def wider(self, times: float) -> Logistic:
        """The same: classes have no tails."""
        return self

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
