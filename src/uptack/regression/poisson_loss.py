"""Poisson's score with a bound, for regressions of counts by bounded sums: how wide it is clipped, and where it starts.

With rates μ = e^η, a knee k and a limit L, both released before, rows have

    ψ = min(max(h·(y - μ), -L), L),   h = min(1, k/μ),   κ = h·μ = min(μ, k).

h is a function of x alone. So without the limit the fit estimates the rates whatever the law of the counts is, if
log-rates are linear in x: Σ wz·h·(y - μ) has a mean of 0 at the truth, and its slope is Σ κ·wv·zzᵀ in the mean. Poisson
counts have a variance of μ, and others more. The limit is a multiple of a private quantile of |h·(y - μ)|, so wide that
few rows are beyond it. It draws rates down by what these have beyond it, and is the only thing that does: how many they
are is released with the fit.

**Theorem.** The mean count and the limits are each ε'-differentially private for their part ε' of ε, whatever the rows,
given what was released before. *Proof.* They are quantiles of counts on public levels (`uptack.multivariate.levels`),
and a sum of integers of an interval of length Λ with 0 in it, with noise for Λ
(`uptack.regression.newton_steps.noisy_mean`). The knee is worked out from released numbers. ∎ The steps are those of
`uptack.regression.newton_steps`, with |ψ| ≤ L and κ ≤ k. What is known at the end is in
`uptack.regression.poisson_diagnostics`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.levels import private_size, size_counts
from uptack.multivariate.signs import Shape
from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import Sample
from uptack.multivariate.terms import Tally, Vectors
from uptack.regression.curvature import Predictor
from uptack.regression.fit_model import Model
from uptack.regression.fit_state import FitState
from uptack.regression.hessian import Hessian
from uptack.regression.link_functions import exponential
from uptack.regression.losses import BENT, FAR, LOUD, NARROW, START, RegressionLoss, Stage, within
from uptack.regression.newton_steps import NewtonStep, noisy_mean
from uptack.regression.poisson_diagnostics import PARTS, UNSURE, known_ends
from uptack.regression.poisson_steps import knee, lower_step, shorten_step
from uptack.table.exact_sum import Floats

NARROWEST, WIDEST, ROOMY = 1.5, 3.0, 0.4
"""The least and the most that L is, over the quantile of |h·(y - μ)|, and what it is at a noise of 1 of the last
gradient, in sampling errors if ψ and R were 1."""

BEYOND, RANKS = 0.01, 20.0
"""The quantile has this share of the rows beyond it, or as many as this over its part of ε: by so many noise may miss
it. It would find the end of the list with a chance of about 8·e^(-20/2)."""

LEAST, GROWTH = 2.0, 4.0
"""L is at least the first, so that a count of 1 is none that is clipped, and at most so many times the last one."""

MOST = 1e150
"""Larger counts are none: so no quotient overflows."""

SEEN = 5
"""⊥ where the sum of all counts is not so many times the scale of its noise."""

RATES, STRIDE = 0.3, 0.4
"""⊥ for counts where the noise of the last gradient, or of the one before, moves predictors by more than the first: the
mean of e^η would be too large by half of its square. And where the last step is longer than the second: e^η is no
parabola that far, so it may not have arrived."""

USUAL, SHARP, EDGE, FAR_OFF = 2.6, 0.7, 0.92, 0.4
"""What L is, over its multiple of the quantile and the mean of κ, for rates of 1 to 5 and normal predictors. L is so
wide at most as leaves the noise of mean counts at the second part of what would be ⊥. By public numbers it is ⊥ where
noise would be above the third part of that: about there one fit in three has a reply. It is loud above the last."""

VARIED = Fraction(8, 100)
"""The part of ε for what is known of counts at the end."""


def _stages(*shares: Fraction) -> tuple[Stage, ...]:
    """Four steps with these parts of what gradients get."""
    first, second, third, last = shares
    return (
        Stage(first, leads=lower_step),
        Stage(second, curved=True, leads=shorten_step),
        Stage(third, tails=True, curved=True, leads=shorten_step),
        Stage(last, tails=True, curved=True, reweighted=True, leads=shorten_step),
    )


CALM = _stages(Fraction(5, 100), Fraction(8, 100), Fraction(17, 100), Fraction(70, 100))
LOUDER = _stages(Fraction(7, 100), Fraction(10, 100), Fraction(27, 100), Fraction(56, 100))
"""The steps, and those where noise is loud. The noise of the last step but one is what leads to ⊥ then, so it gets
more, and the noise of the last gradient is 1.25 times as large."""


@dataclass(frozen=True)
class PoissonLoss(RegressionLoss):
    """ψ and κ at a knee k and a limit L, with the variance of ψ where it has been measured, L over the quantile, and
    the mean count as it was released first.
    """

    limit: float = 5.0
    knee: float = 1.0
    variance: float = 1.0
    times: float = NARROWEST
    rate: float = 1.0
    widest: float = WIDEST
    loud: bool = False

    ridge, response, far, least, polish, bent = 0.5, False, FAR, 0.02, 0.25, 0.5
    expected = (1.0, 1.0)
    assumed = "standard errors hold if the logarithms of rates are linear in x"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Those for how loud noise is."""
        return LOUDER if self.loud else CALM

    def clipped(self, noise: float) -> tuple[PoissonLoss, float]:
        """Residuals as wide as noise allows, and rows."""
        times = within(ROOMY / noise, NARROWEST, self.widest)
        return replace(self, times=times), within(LOUD / (2 * times * noise), NARROW, BENT)

    @property
    def room(self) -> float:
        """By the noise of the last gradient but one, which is at the edge of ⊥ then. For steps that are not for loud
        noise it is to be far from there.
        """
        return (EDGE if self.loud else FAR_OFF) * RATES * float(self.stages[-2].share / self.stages[-1].share)

    def parts(self, leading: bool) -> tuple[Fraction, Fraction]:
        """For the mean count, which says also where it is clipped first, and for the ends of counts."""
        return START, VARIED

    def ways(self, n: float, account: Account) -> tuple[PoissonLoss, ...]:
        """Steps for low noise, then for loud noise, with L no wider than leaves room to see whether mean counts and
        rates differ; none where that would be lost in noise for ordinary counts.
        """
        off = 2 * USUAL * account.rows / (n * float(account.epsilon * PARTS[0]))
        if NARROWEST * off > EDGE * UNSURE:
            return ()
        widest = within(SHARP * UNSURE / off, NARROWEST, WIDEST)
        return replace(self, widest=widest), replace(self, widest=widest, loud=True)

    def steep(self, s: float) -> float:
        """k."""
        return self.knee

    def residuals(self, y: Floats, eta: Floats) -> Floats:
        """h·(y - μ)."""
        mu, counts = exponential(eta), np.clip(y, 0.0, MOST)
        high = self.knee * (counts / np.maximum(mu, self.knee) - 1)
        return np.asarray(np.where(mu > self.knee, high, counts - mu), np.float64)

    def score(self, y: Floats, eta: Floats, w: Floats, s: float, sharp: bool) -> Floats:
        """ψ/L."""
        return np.asarray(w * np.clip(self.residuals(y, eta) / self.limit, -1.0, 1.0), np.float64)

    def bend(self, y: Floats, eta: Floats, w: Floats, s: float) -> Floats:
        """κ/k."""
        return np.asarray(np.minimum(exponential(eta), self.knee) / self.knee, np.float64)

    def noise(self, slope: float) -> float:
        """E ψ²."""
        return self.variance

    def ends(self, y: Floats, eta: Floats, w: Floats) -> tuple[Floats, Floats, Floats]:
        """What rows say at the end: (y - μ)/(2L) within [-1/2, 1/2], (ψ/L)², and 1 where a residual is beyond L."""
        plain = np.clip((np.clip(y, 0.0, MOST) - exponential(eta)) / self.limit, -1.0, 1.0)
        beyond = np.where(self.residuals(y, eta) >= self.limit, 1.0, 0.0)
        return plain / 2, self.score(y, eta, w, 1.0, True) ** 2, beyond

    def begun(
        self, rows: Sample, frame: Frame, shape: Shape, account: Account
    ) -> tuple[PoissonLoss, Floats, Floats] | None:
        """At the mean count; None where that may be 0 for all that noise says."""
        found = level(rows, shape.rows, account)
        if found is None:
            return None
        rate, top = found
        beta = np.eye(frame.width)[0] * math.log(rate) * frame.leading
        return replace(self, limit=top, rate=rate), shape.coordinates, beta

    def known(self, model: Model, first: Hessian, beta: Floats) -> PoissonLoss:
        """With a knee by what η is for normal predictors."""
        return replace(self, knee=knee(self.rate, Predictor.of(first, model, beta)))

    def widened(
        self,
        rows: Sample,
        model: Model,
        at: tuple[Floats, float],
        times: float,
        account: Account,
        *,
        late: bool = False,
    ) -> PoissonLoss:
        """With a limit by a private quantile of |h·(y - μ)|, which says how wide."""

        def step(batch: Floats) -> list[Tally]:
            _, y, eta, _ = model.at(batch, at[0])
            return size_counts(np.abs(self.residuals(y, eta)))

        (sizes,) = rows.sums(step)
        share = _share(model.n, account)
        wide = self.times * math.log(BEYOND) / math.log(1 - share)  # as of an exponential law
        found = wide * private_size(sizes, share, account)
        return replace(self, limit=min(max(found, LEAST), GROWTH * self.limit))

    def ended(self, rows: Sample, fit: FitState, account: Account) -> FitState | None:
        """With the variance of ψ; None where rates are not those of the counts."""
        ends = known_ends(rows, fit, self, account)
        if ends.wrong:
            return None
        model = replace(fit.model, loss=replace(self, variance=ends.variance))
        return replace(fit, model=model, notes=(*fit.notes, *ends.notes()))

    def astray(self, step: NewtonStep, before: float, curvature: Hessian) -> bool:
        """Where e^η is no parabola as far as noise, or the last step, moves predictors."""
        return max(step.noise, before) > RATES or step.moved > STRIDE


def level(rows: Sample, n: float, account: Account) -> tuple[float, float] | None:
    """The mean count, cut at twice a high quantile, and where it was cut; None where the mean may be 0 for all that
    noise says.

    Both are private for half of the account: a quantile from counts on public levels, and a sum of integers of [0, Λ].
    """
    half = account.part(Fraction(1, 2))
    (counts,) = rows.sums(lambda batch: size_counts(batch[-1]))
    top = 2 * max(private_size(counts, _share(n, half), half), LEAST / 2)
    (total,) = rows.sums(lambda batch: [Vectors(np.rint(np.clip(batch[-1] / top, 0.0, 1.0) * LENGTH))])
    found = noisy_mean(total, n, half)
    return (found * top, top) if found * n * float(half.epsilon) > SEEN * half.rows else None


def _share(n: float, account: Account) -> Fraction:
    """Which quantile noise would not miss."""
    beyond = max(BEYOND, RANKS * account.rows / (n * float(account.epsilon)))
    return Fraction(1 - min(beyond, 0.5)).limit_denominator(1000)
