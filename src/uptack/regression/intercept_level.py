"""The level of a line: where residuals have one long tail, and noise leaves no room to clip them wider.

A clipped fit is where most rows are, and least squares are where their mean is. With residuals that are skewed alike
for all x the slopes of both are the same, and only the intercept differs (Huber 1973). All of a fit can be clipped
wider for that (`uptack.regression.residual_tails`), but then each of its coefficients gets more noise. A mean is one
number: with t = r/s the residual in spreads,

    m = Σ min(max(t, -K), K)/n over rows with |t| ≤ 30 that are not far out, K = 4,

moves by at most 2K/n if a row is replaced, however many columns there are. The intercept is raised by the part of s·m
that noise can't explain: by s·m·(1 - (1.5·θ/m)²) for noise of scale θ (James and Stein 1961), and by nothing where
|m| ≤ 1.5·θ.

**Theorem.** m with integer Laplace noise is ε'-differentially private for its part ε' of ε, whatever the rows, given
what was released before. *Proof.* Contributions of rows are integers of [-Λ/2, Λ/2], so a row that is replaced, added
or removed moves their sum by at most Λ, for which `uptack.regression.newton_steps.noisy_mean` has its noise. ∎

**Error.** m has the variance of a clipped residual over n, which is at most (k + (1 - k)·K²)/n with the share k of
residuals that are near, and 2θ² of noise. What was not raised may be right, too. All three count for the intercept,
and the last one alone where nothing was raised.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from uptack.account import Account
from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.steps import Sample
from uptack.multivariate.terms import Vectors
from uptack.regression.fit_model import Model
from uptack.regression.huber_loss import HuberLoss
from uptack.regression.newton_steps import NewtonStep, noisy_mean
from uptack.regression.residual_tails import GONE, NEAR
from uptack.table.exact_sum import Floats

WIDE = 4.0
"""K: residuals are clipped at so many spreads for their mean."""

DOUBT = 1.5
"""Scales of the noise that a mean has to exceed."""

SKEWED = 0.35
"""⊥ beyond so many spreads: where residuals are as skewed as that, they hardly are alike for all x."""


def clipped_residuals(model: Model, batch: Floats, beta: Floats, s: float) -> Floats:
    """Residuals in spreads, from -K to K, as integers of [-Λ/2, Λ/2]; 0 for outliers."""
    _, y, eta, w = model.at(batch, beta)
    t = (y - eta) / s
    kept = (np.abs(t) <= GONE) & (w >= NEAR)
    return np.rint(np.where(kept, np.clip(t, -WIDE, WIDE), 0.0) * (LENGTH / (2 * WIDE)))


def raise_intercept(rows: Sample, model: Model, step: NewtonStep, account: Account) -> NewtonStep | None:
    """The last step, with the intercept at the mean of clipped residuals as far as noise does not explain it; None
    where that is too far.
    """
    (total,) = rows.sums(lambda batch: [Vectors(clipped_residuals(model, batch, step.beta, step.spread))])
    mean = 2 * WIDE * noisy_mean(total, model.n, account)
    noise = 2 * WIDE * account.rows / (model.n * float(account.epsilon))
    if abs(mean) > SKEWED:
        return None
    if abs(mean) <= DOUBT * noise:
        return replace(step, raised=((mean * step.spread) ** 2, 0.0))
    kept = 1 - (DOUBT * noise / mean) ** 2
    beta = step.beta.copy()
    beta[0] += kept * mean * step.spread
    sampled = HuberLoss(WIDE).noise(step.slope) / model.n + ((1 - kept) * mean) ** 2
    return replace(step, beta=beta, raised=(sampled * step.spread**2, 2 * (noise * step.spread) ** 2))
