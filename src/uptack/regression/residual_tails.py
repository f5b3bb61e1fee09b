"""What the tails of residuals and of rows say about a fit: three shares of rows with noise, and nothing else.

**Theorem.** Each of them is ε'-differentially private for its part ε' of ε, whatever the rows, given what was released
before. *Proof.* Contributions of rows are integers of an interval of length Λ with 0 in it, so a row that is replaced,
added or removed moves their sum by at most Λ, for which `uptack.regression.newton_steps.noisy_mean` has its noise. ∎

**Rows far out.** They have little weight, since a few wrong ones could turn a fit. But where most of them lie where the
other rows say, within four spreads or nearer to that by half than to a constant, they are right, and say more about the
slopes than any others (Rousseeuw and van Zomeren 1990). Then R is wider, as far as noise allows.

**One tail.** Where the tails of residuals are alike, a clipped fit estimates what least squares do, with less noise.
Else it is drawn away from the longer one, to where most rows are. Then it is better to clip few of them, as far as
noise allows. Residuals beyond 30 spreads, and rows that are far out, are not a tail but outliers, and do not count. It
is asked before the first step and the last. Before the last it takes 1.2 times as long a tail: a step to another fit is
no polish.

**Worth.** A fit gains (y - m)² - r² over the constant m, per row and in squared spreads, cut to ±4. It is hardly the
fit of rows that are far out, with w below 1/4 and some column at more than four scales, which no 0 or 1 is: of those
the worst is taken, a loss of 16, as if it were off by four spreads at all of them. Not so of those that are off from
the constant by more than four spreads and nearer to the fit by half; nor of those for which the fit is within a spread
of the constant: where there is no slope, it can't be much worse. A fit whose gain does not make up for that may be
worse than none. (Rows a hundred times as far are outliers again.) Weights are those before R was wider, since a little
more weight does not make it theirs. Where R is no longer small for noise, and rows far out are none or as often wrong
as right, they are outliers, and no measure of a fit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.steps import Sample, products
from uptack.multivariate.terms import Vectors
from uptack.regression.fit_model import Model
from uptack.regression.newton_steps import noisy_mean
from uptack.table.exact_sum import Floats

TAIL, GONE = 2.5, 30.0
"""A residual of so many spreads up to so many is in the tail."""

NEAR, OUT = 0.25, 0.0025
"""Rows with a w below the first are far out, and with one below the second outliers."""

LONG = 7.0
"""Where one tail is longer, residuals are clipped at so many spreads, as far as noise allows."""

LOPSIDED, LATE, DOUBT = 0.05, 1.2, 2
"""One tail is longer if it holds a share of the rows by this larger than that of the other one, before the last step by
so many times as much, and so many times the scale of the noise. A fit is not worth it if it loses that many."""

LEVER = 0.02
"""Rows far out are right if the share of those that are exceeds that of others by this, and by so many scales of noise
as above. Some may be if it exceeds half of this."""

GAIN, LOSS, FAR = 4.0, 16.0, 4.0
"""The most that a row can show in squared spreads for a fit or against it, what one far out does, and how many scales
from its centre a column is then."""


def one_sided(model: Model, batch: Floats, beta: Floats, s: float) -> Floats:
    """Λ/2 for residuals in the upper tail, -Λ/2 for those in the lower one, else 0."""
    _, y, eta, w = model.at(batch, beta)
    away = np.abs(y - eta)
    tail = (away > TAIL * s) & (away <= GONE * s) & (w >= NEAR)
    return np.where(tail, np.copysign(LENGTH / 2, y - eta), 0.0)


def longer(rows: Sample, model: Model, at: tuple[Floats, float], account: Account, *, late: bool = False) -> bool:
    """Whether one tail of residuals is longer. It has to be so by 1.2 times as much if the next step is the last."""
    beta, s = at
    (total,) = rows.sums(lambda batch: [Vectors(one_sided(model, batch, beta, s))])
    share = abs(2 * noisy_mean(total, model.n, account))
    least = LOPSIDED * (LATE if late else 1) + DOUBT * 2 * account.rows / (model.n * float(account.epsilon))
    return share > least


def far_out(model: Model, a: Floats, w: Floats) -> NDArray[np.bool_]:
    """Rows of little weight for the sake of some column that is no 0 or 1, and no outliers."""
    x = a[int(model.frame.leading) : model.p]
    return (w < NEAR) & (w >= OUT) & (np.abs(x) > FAR).any(axis=0)


def on_line(model: Model, batch: Floats, beta: Floats, s: float, constant: float) -> Floats:
    """Λ/2 for rows far out that are right, -Λ/2 for those that are not, else 0."""
    a, _, w = model.scaled(batch)
    y = a[model.p]
    away = np.abs(y - products(beta[None], a[: model.p])[0])
    right = (away <= FAR * s) | (away <= np.abs(y - constant) / 2)
    return np.where((w < NEAR) & (w >= OUT), np.where(right, LENGTH / 2, -LENGTH / 2), 0.0)


def farther(
    rows: Sample, model: Model, at: tuple[Floats, float], constant: float, times: float, account: Account
) -> tuple[Model, bool]:
    """The model, with an R of so many times if rows far out are right, by the fit β with a spread s, and whether some
    may be.
    """
    beta, s = at
    (total,) = rows.sums(lambda batch: [Vectors(on_line(model, batch, beta, s, constant))])
    share = 2 * noisy_mean(total, model.n, account)
    least = LEVER + DOUBT * 2 * account.rows / (model.n * float(account.epsilon))
    return replace(model, radius=times * model.radius) if share > least else model, share > LEVER / 2


def shown(model: Model, batch: Floats, beta: Floats, s: float, constant: float) -> Floats:
    """What rows show for a fit, as integers from -Λ·16/20 to Λ·4/20."""
    a, _, w = model.scaled(batch)
    y, eta = a[model.p], products(beta[None], a[: model.p])[0]
    away, other = np.abs(y - eta) / s, np.abs(y - constant) / s
    gain = np.clip(other**2 - away**2, -GAIN, GAIN)
    right = ((away <= other / 2) & (other > FAR)) | (np.abs(eta - constant) <= s)
    lost = far_out(model, a, w) & ~right
    found = np.where(lost, -LOSS, np.where(np.isnan(gain), -GAIN, gain))
    return np.trunc(found * (LENGTH / (GAIN + LOSS)))


def worthless(rows: Sample, model: Model, at: tuple[Floats, float], constant: float, account: Account) -> bool:
    """Whether the fit β with a spread s may be worse than a constant, beyond noise."""
    (beta, s), whole = at, GAIN + LOSS
    (total,) = rows.sums(lambda batch: [Vectors(shown(model, batch, beta, s, constant))])
    noise = whole * account.rows / (model.n * float(account.epsilon))
    return whole * noisy_mean(total, model.n, account) < -DOUBT * noise
