"""Poisson's score with a bound, for regressions of counts by bounded sums: how wide it is clipped, where it starts, and
how much counts vary.

With rates μ = e^η, a knee k and a limit L, both released before, rows have

    ψ = min(max(h·(y - μ), -L), L),   h = min(1, k/μ),   κ = h·μ = min(μ, k).

h is a function of x alone. So without the limit the fit estimates the rates whatever the law of the counts is, if
log-rates are linear in x: Σ wz·h·(y - μ) has a mean of 0 at the truth, and its slope is Σ κ·wv·zzᵀ in the mean. Poisson
counts have a variance of μ, and others more. The limit is a multiple of a private quantile of |h·(y - μ)|, so wide that
few rows are beyond it. It draws rates down by what these have beyond it, and is the only thing that does: how many they
are is released with the fit.

**Theorem.** The mean count, the limits, and what is known at the end are each ε'-differentially private for their part
ε' of ε, whatever the rows, given what was released before. *Proof.* They are quantiles of counts on public levels
(`uptack.multivariate.levels`), and sums of integers of an interval of length Λ with 0 in it, with noise for Λ
(`uptack.regression.newton.noisy_mean`). The knee is worked out from released numbers. ∎ The steps are those of
`uptack.regression.newton`, with |ψ| ≤ L and κ ≤ k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.columns.table import Floats
from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.levels import private_size, size_counts
from uptack.multivariate.rows import Rows
from uptack.multivariate.terms import Tally, Vectors
from uptack.regression.curve import exponential
from uptack.regression.curved import Predictor
from uptack.regression.hessian import Hessian
from uptack.regression.losses import BENT, FAR, LOUD, NARROW, UNKNOWN, Stage, within
from uptack.regression.model import Model
from uptack.regression.newton import Step, noisy_mean

NARROWEST, WIDEST, ROOMY = 1.5, 3.0, 0.4
"""The least and the most that L is, over the quantile of |h·(y - μ)|, and what it is at a noise of 1 of the last
gradient, in sampling errors if ψ and R were 1."""

BEYOND, RANKS = 0.01, 20.0
"""The quantile has this share of the rows beyond it, or as many as this over its part of ε: by so many noise may miss
it. It would find the end of the list with a chance of about 8·e^(-20/2)."""

LEAST, GROWTH = 2.0, 4.0
"""L is at least the first, so that a count of 1 is none that is clipped, and at most so many times the last one."""

KNEE, LOWEST, HIGHEST = 1.0, 0.25, 2.0
"""Deviations of η above its mean, at which rates count as if they were no higher; and the least and the most that this
rate is, over the mean count. For a normal η with a deviation σ it is e^(σ - σ²/2) times the mean rate, at most 1.65."""

LONGEST = 0.5
"""The longest mean of a step, and its largest variance, that it is shortened for."""

MOST = 1e150
"""Larger counts are none: so no quotient overflows."""

SEEN = 5
"""⊥ where the sum of all counts is not so many times the scale of its noise."""

FARTHEST = 2.0
"""The largest deviation of η that the intercept is brought down for."""

OFF, UNSURE, CUT = 0.06, 0.05, 0.03
"""⊥ where mean counts and rates differ by the first beyond noise, or where that noise is above the second; a note where
clipped counts lack more than the third."""

RATES, STRIDE = 0.3, 0.4
"""⊥ for counts where the noise of the last gradient, or of the one before, moves predictors by more than the first: the
mean of e^η would be too large by half of its square. And where the last step is longer than the second: e^η is no
parabola that far, so it may not have arrived."""

USUAL, SHARP, EDGE, FAR_OFF = 2.6, 0.7, 0.92, 0.4
"""What L is, over its multiple of the quantile and the mean of κ, for rates of 1 to 5 and normal predictors. L is so
wide at most as leaves the noise of mean counts at the second part of what would be ⊥. By public numbers it is ⊥ where
noise would be above the third part of that: about there one fit in three has a reply. It is loud above the last."""

PARTS = Fraction(3, 5), Fraction(1, 5), Fraction(1, 5)
"""Of what is spent at the end: for the mean of residuals, their variance, and how many are clipped."""

SAFE = 1.2
"""As in `uptack.regression.sandwich`."""


def _stages(*shares: Fraction) -> tuple[Stage, ...]:
    """Four steps with these parts of what gradients get."""
    first, second, third, last = shares
    return (
        Stage(first, stretched=True),
        Stage(second, curved=True),
        Stage(third, tails=True, curved=True),
        Stage(last, tails=True, curved=True, reweighted=True),
    )


CALM = _stages(Fraction(5, 100), Fraction(8, 100), Fraction(17, 100), Fraction(70, 100))
LOUDER = _stages(Fraction(7, 100), Fraction(10, 100), Fraction(27, 100), Fraction(56, 100))
"""The steps, and those where noise is loud. The noise of the last step but one is what leads to ⊥ then, so it gets
more, and the noise of the last gradient is 1.25 times as large."""


@dataclass(frozen=True)
class Poisson:
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

    ridge, response, counts, flat, far, least, polish, bent = 0.5, False, True, False, FAR, 0.02, 0.25, 0.5
    usual = UNKNOWN
    expected = (1.0, 1.0)
    assumed = "standard errors hold if the logarithms of rates are linear in x"
    near = Fraction(1, 2), 1.0

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Those for how loud noise is."""
        return LOUDER if self.loud else CALM

    def clipped(self, noise: float) -> tuple[Poisson, float]:
        """Residuals as wide as noise allows, and rows."""
        times = min(max(ROOMY / noise, NARROWEST), self.widest)
        return replace(self, times=times), min(max(LOUD / (2 * times * noise), NARROW), BENT)

    def wider(self, times: float) -> Poisson:
        """The same: quantiles of residuals say how wide."""
        return self

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


def foreseen(loss: Poisson, n: float, account: Account) -> Poisson | None:
    """The loss with L no wider than the account leaves room for, by public numbers, where it is for what is known at
    the end: whether mean counts and rates differ. None where that would be lost in noise for ordinary counts.
    """
    off = 2 * USUAL * account.rows / (n * float(account.epsilon * PARTS[0]))
    if NARROWEST * off > EDGE * UNSURE:
        return None
    return replace(loss, widest=within(SHARP * UNSURE / off, NARROWEST, WIDEST))


def loudest(loss: Poisson) -> float:
    """How far the noise of the last gradient may move predictors, by that of the one before, which is at the edge of ⊥
    then. For steps that are not for loud noise it is to be far from there.
    """
    return (EDGE if loss.loud else FAR_OFF) * RATES * float(loss.stages[-2].share / loss.stages[-1].share)


def level(rows: Rows, n: float, account: Account) -> tuple[float, float] | None:
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


def kneed(loss: Poisson, model: Model, first: Hessian, beta: Floats) -> Poisson:
    """The loss with a knee by what η is for normal predictors, which costs nothing.

    The mean count keeps it in place where noise has led β astray. Else a knee far above all counts would make mean
    curvatures so large that no step and no residual looks like much.
    """
    eta = Predictor.of(first, model, beta)
    beyond = eta.mean + KNEE * eta.spread - math.log(loss.rate)
    return replace(loss, knee=loss.rate * math.exp(min(max(beyond, math.log(LOWEST)), math.log(HIGHEST))))


def counted(rows: Rows, model: Model, loss: Poisson, beta: Floats, account: Account) -> Model:
    """The model with this loss, and a limit by a private quantile of |h·(y - μ)|."""

    def step(batch: Floats) -> list[Tally]:
        _, y, eta, _ = model.at(batch, beta)
        return size_counts(np.abs(loss.residuals(y, eta)))

    (sizes,) = rows.sums(step)
    share = _share(model.n, account)
    times = loss.times * math.log(BEYOND) / math.log(1 - share)  # as of an exponential law
    found = times * private_size(sizes, share, account)
    return replace(model, loss=replace(loss, limit=min(max(found, LEAST), GROWTH * loss.limit)))


def _share(n: float, account: Account) -> Fraction:
    """Which quantile noise would not miss."""
    beyond = max(BEYOND, RANKS * account.rows / (n * float(account.epsilon)))
    return Fraction(1 - min(beyond, 0.5)).limit_denominator(1000)


def lowered(step: Step, first: Hessian, model: Model, start: Floats) -> Floats:
    """β after the first step, with the intercept that leaves the mean rate as it is.

    From β = (log m, 0), the start, a step leads to E[y·x]/E[y] in coordinates in which x is round, and of normal x and
    E[y|x] = e^η these are the slopes themselves, by Stein's lemma, but for the intercept: E e^η = e^(mean + spread²/2).
    """
    if not model.frame.leading:
        return step.beta
    eta = Predictor.of(first, model, step.beta)
    spread = math.sqrt(max(min(eta.spread, FARTHEST) ** 2 - step.noise**2, 0.0))
    found = step.beta.copy()
    found[0] += start[0] - eta.mean - spread**2 / 2
    return found


def shortened(step: Step, curvature: Hessian, model: Model) -> Floats:
    """β after a later step, without what a step of e^η is too long by.

    A row for which the step is t should have had log(1 + t) = t - t²/2 + ..., or else what noise did to β before leads
    to rates that are too high. Let t be normal for rows weighed by κ, with mean m and variance v. The linear function
    next to t² is 2m·t + v - m². What is noise of this very step does not belong to v.
    """
    if not model.frame.leading:
        return step.beta
    change = model.whitening.T @ step.change
    t = Predictor.of(curvature, model, change)
    mean, variance = min(max(t.mean, -LONGEST), LONGEST), min(max(t.spread**2 - step.noise**2, 0.0), LONGEST)
    found = step.beta - mean * change
    found[0] -= (variance - mean**2) / 2
    return np.asarray(found, np.float64)


@dataclass(frozen=True)
class Ends:
    """What is known of counts at the end of a fit, over the mean of κ: how far the mean count is from the mean rate,
    the noise of that, and about how much counts beyond L have beyond it in all.
    """

    off: float
    noise: float
    beyond: float

    @property
    def wrong(self) -> bool:
        """Whether rates are not those of the counts."""
        return not (abs(self.off) <= OFF + self.noise and self.noise <= UNSURE)

    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        lost = f"the largest counts are clipped: rates may be too low, by about {self.beyond:.0%}"
        return (lost,) if self.beyond > CUT else ()


def ends(rows: Rows, model: Model, step: Step, account: Account) -> tuple[Model, Ends]:
    """The model with the variance of its ψ, and what else is known.

    They are three means over rows of integers of an interval of length Λ with 0 in it, each with its part of the
    account: y - μ cut to ±L, ψ², and whether a residual is beyond L. Of an exponential law those have a mean excess
    of L/4 where L is the 0.98-quantile, and less where it is a higher one.
    """
    loss = model.loss
    assert isinstance(loss, Poisson)

    def sums(batch: Floats) -> list[Vectors]:
        _, y, eta, w = model.at(batch, step.beta)
        weighted = loss.score(y, eta, model.near(w), 1.0, True)
        plain = np.clip((np.clip(y, 0.0, MOST) - exponential(eta)) / loss.limit, -1.0, 1.0)
        beyond = loss.residuals(y, eta) >= loss.limit
        found = plain / 2, weighted**2, np.where(beyond, 1.0, 0.0)
        return [Vectors(np.rint(np.nan_to_num(each) * LENGTH)) for each in found]

    parts = [account.part(part) for part in PARTS]
    off, square, beyond = (noisy_mean(total, model.n, own) for total, own in zip(rows.sums(sums), parts, strict=True))
    scales = [own.rows / (model.n * float(own.epsilon)) for own in parts]
    over = loss.limit / step.bend
    square = max(square, math.sqrt(2) * scales[1])
    variance = loss.limit**2 * (square + SAFE * 2 * scales[1] ** 2 / square)
    told = replace(model, loss=replace(loss, variance=variance))
    return told, Ends(2 * off * over, 2 * scales[0] * over, (beyond - 2 * scales[2]) * over / 4)
