"""Steps of a fit whose curvature is a rate, μ = e^η: where they should have led to, by released numbers alone.

With H of the curvatures at β (`uptack.regression.curvature`), a Newton step of e^η is too long where it leads up, and
too short where it leads down. If predictors are about normal, so is η, and its mean and deviation follow from β and H.
That says by how much.
"""

from __future__ import annotations

import math

import numpy as np

from uptack.regression.curvature import Predictor
from uptack.regression.fit_state import FitState
from uptack.regression.losses import within
from uptack.table.exact_sum import Floats

KNEE, LOWEST, HIGHEST = 1.0, 0.25, 2.0
"""Deviations of η above its mean, at which rates count as if they were no higher; and the least and the most that this
rate is, over the mean count. For a normal η with a deviation σ it is e^(σ - σ²/2) times the mean rate, at most 1.65."""

FARTHEST = 2.0
"""The largest deviation of η that the intercept is brought down for."""

LONGEST = 0.5
"""The longest mean of a step, and its largest variance, that it is shortened for."""


def knee(rate: float, eta: Predictor) -> float:
    """The rate from which on others count as if they were no higher.

    The mean count keeps it in place where noise has led β astray. Else a knee far above all counts would make mean
    curvatures so large that no step and no residual looks like much.
    """
    beyond = eta.mean + KNEE * eta.spread - math.log(rate)
    return rate * math.exp(within(beyond, math.log(LOWEST), math.log(HIGHEST)))


def lower_step(fit: FitState, start: Floats) -> Floats:
    """β after the first step, with the intercept that leaves the mean rate as it is.

    From β = (log m, 0), the start, a step leads to E[y·x]/E[y] in coordinates in which x is round, and of normal x and
    E[y|x] = e^η these are the slopes themselves, by Stein's lemma, but for the intercept: E e^η = e^(mean + spread²/2).
    """
    step = fit.step
    if not fit.model.frame.leading:
        return step.beta
    eta = Predictor.of(fit.first, fit.model, step.beta)
    spread = math.sqrt(max(min(eta.spread, FARTHEST) ** 2 - step.noise**2, 0.0))
    found = step.beta.copy()
    found[0] += start[0] - eta.mean - spread**2 / 2
    return found


def shorten_step(fit: FitState, _: Floats) -> Floats:
    """β after a later step, without what a step of e^η is too long by.

    A row for which the step is t should have had log(1 + t) = t - t²/2 + ..., or else what noise did to β before leads
    to rates that are too high. Let t be normal for rows weighed by κ, with mean m and variance v. The linear function
    next to t² is 2m·t + v - m². What is noise of this very step does not belong to v.
    """
    step = fit.step
    if not fit.model.frame.leading:
        return step.beta
    change = fit.model.whitening.T @ step.change
    t = Predictor.of(fit.curvature, fit.model, change)
    mean, variance = within(t.mean, -LONGEST, LONGEST), within(t.spread**2 - step.noise**2, 0.0, LONGEST)
    found = step.beta - mean * change
    found[0] -= (variance - mean**2) / 2
    return np.asarray(found, np.float64)
