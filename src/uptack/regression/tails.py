"""What the tails of residuals and of rows say about a fit: two shares of rows with noise, and nothing else.

Contributions of rows are integers of an interval of length Λ with 0 in it (`uptack.regression.newton.noisy_mean`), so
each of the two is ε'-differentially private for its part ε' of ε, whatever the rows.

**One tail.** Where the tails of residuals are alike, a clipped fit estimates what least squares do, with less noise.
Else it is drawn away from the longer one, to where most rows are. Then it is better to clip few of them, as far as
noise allows. Residuals beyond 15 spreads, and rows that are far out, are not a tail but outliers, and do not count.

**Worth.** A fit gains (y - m)² - r² over the constant m, per row and in squared spreads, cut to ±4. It is hardly the
fit of rows that are far out, with v below 1/2: of those the worst is taken, a loss of 10, as if it were off by three
spreads at all of them. A fit whose gain does not make up for that may be worse than none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from uptack.account import Account
from uptack.columns.table import Floats
from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.rows import Rows, Whole
from uptack.regression.newton import Model, noisy_mean

TAIL, GONE, NEAR = 3.0, 15.0, 0.5
"""A residual of the first to the second many spreads is in the tail, of rows with at least the third as v."""

LOPSIDED, DOUBT = 0.04, 2
"""One tail is longer if it holds a share of the rows by this larger than that of the other one, and so many times the
scale of the noise. A fit is not worth it if it loses that many."""

GAIN, LOSS = 4.0, 10.0
"""The most that a row can show in squared spreads for a fit or against it, and what one far out does."""


def widened(rows: Rows, model: Model, beta: Floats, s: float, times: float, account: Account) -> Model:
    """The model, with residuals clipped wider if one of their tails is longer: up to so many times."""

    def step(batch: Floats) -> list[Whole]:
        _, y, eta, w = model.at(batch, beta)
        away = np.abs(y - eta)
        tail = (away > TAIL * s) & (away <= GONE * s) & (model.near(w) >= NEAR)
        return [np.where(tail, np.copysign(LENGTH / 2, y - eta), 0.0).sum(axis=-1)]

    (total,) = rows.sums(step)
    share = abs(2 * noisy_mean(total, model.n, account))
    least = LOPSIDED + DOUBT * 2 * account.rows / (model.n * float(account.epsilon))
    return replace(model, loss=model.loss.wider(times)) if share > least else model


def worthless(rows: Rows, model: Model, at: tuple[Floats, float], constant: float, account: Account) -> bool:
    """Whether the fit β with a spread s may be worse than a constant, beyond noise."""
    (beta, s), whole = at, GAIN + LOSS

    def step(batch: Floats) -> list[Whole]:
        _, y, eta, w = model.at(batch, beta)
        gain = np.clip(((y - constant) / s) ** 2 - ((y - eta) / s) ** 2, -GAIN, GAIN)
        shown = np.where(model.near(w) >= NEAR, np.where(np.isnan(gain), -GAIN, gain), -LOSS)
        return [np.trunc(shown * (LENGTH / whole)).sum(axis=-1)]

    (total,) = rows.sums(step)
    noise = whole * account.rows / (model.n * float(account.epsilon))
    return whole * noisy_mean(total, model.n, account) < -DOUBT * noise
