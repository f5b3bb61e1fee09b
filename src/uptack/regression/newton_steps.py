"""Newton steps of a regression whose every step sums bounded contributions of rows: pure ε, without bounds on the data.

Rows a = (1, x, y) are standardised, and A are coordinates in which they are about round (`uptack.multivariate.signs`).
A is lower triangular. Its first p lines and columns are B, and z = B·(1, x) are about round coordinates of the
predictors. The last line of the same without gentleness is a start for the coefficients, β = -A_y/A_yy. (Where y has no
scale, as a class, rows are (1, x).) A row is scaled by w = min(1, R/|z|), for a radius R that comes from a private
quantile of |z|, and its residual by v = min(1, ρR/|z|), with ρ of the loss. For a loss with |ψ| ≤ c and 0 ≤ κ ≤ k
(`uptack.regression.losses`) at η = (1, x)·β,

    H = Σ wv·zzᵀ or Σ κ/k·wv·zzᵀ    terms of nuclear norm at most ρR²: matrix Laplace noise
    g = Σ wz·ψ(v·r)                 terms of length at most cR: Gamma noise
    m = Σ κ/k                       terms in [0, 1]: integer Laplace noise

and s, where ψ has a unit, is a private quantile of |v·r|, r = y - η. So neither a row far away nor a far residual
counts for much. The first is the derivative of the second. With H over its weight, the step is
(H + Q)⁻¹·(g/(k·m) - Q·b), with a small ridge Q, in the coordinates of z. Standard errors need more:
see `uptack.regression.sandwich`.

**Theorem.** Every one of these is ε'-differentially private for its part ε' of ε, whatever the rows, given what was
released before: rows enter as vectors of integers of certified length (`uptack.multivariate.bounded`), as counts on
public levels (`uptack.multivariate.levels`), or as integers of [0, Λ] with noise for Λ. What is computed from released
numbers is fixed before rows are read again. The parts add up to at most ε on every path. ∎

Where rows belong to people, sums and counts are over people, each of whom adds the mean of what her rows would
(`uptack.multivariate.steps`), and n is the number of people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from uptack.account import Account
from uptack.mechanisms.integer_noise import noisy_integer
from uptack.multivariate.bounded import LENGTH, moved, noisy_total
from uptack.multivariate.levels import private_size, size_counts
from uptack.multivariate.steps import Sample, Whole
from uptack.multivariate.terms import Tally, Vectors
from uptack.noise import IntegerLaplace
from uptack.regression.fit_model import Model
from uptack.regression.hessian import Hessian, bent
from uptack.table.exact_sum import Floats


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """Where a step led to, and what is known of it. `bend` is the mean of κ. `noise` and `moved` are lengths in H, in
    spreads, and `even` that of the move if all directions of H counted alike. `longer` is by which part coefficients
    grew as a whole, beyond noise. `near` is the mean of κ/k as it was released, and `slope` what it likely is. `raised`
    are the variances, for sampling and for noise, of what the intercept was raised by.
    """

    beta: Floats
    change: Floats
    spread: float
    slope: float
    bend: float
    noise: float
    moved: float
    even: float
    longer: float
    scale: float
    ridge: Floats
    near: float = 1.0
    raised: tuple[float, float] = (0.0, 0.0)


def spread(rows: Sample, model: Model, beta: Floats, account: Account) -> float:
    """s: a quantile of |v·r|, as a normal law's standard deviation. A class has none."""
    if not model.loss.response:
        return 1.0

    def step(batch: Floats) -> list[Tally]:
        _, y, eta, w = model.at(batch, beta)
        return size_counts(np.abs(model.near(w) * (y - eta)))

    (counts,) = rows.sums(step)
    level, normal = model.loss.near
    return private_size(counts, level, account) / normal


def noisy_mean(total: Whole, n: float, account: Account) -> float:
    """The mean of integers of an interval of length Λ with 0 in it, over Λ. A row that is replaced, added or removed
    moves their sum by at most Λ.
    """
    law = IntegerLaplace(account.rows * LENGTH / account.epsilon)
    return noisy_integer(int(total), law, account) / LENGTH / n


@dataclass(frozen=True)
class StepAccounts:
    """Parts of the account for one step; the last one where the Hessian is measured anew."""

    slope: Account
    gradient: Account
    hessian: Account | None = None


def newton(
    rows: Sample, model: Model, curvature: Hessian, at: tuple[Floats, float], sharp: bool, parts: StepAccounts
) -> tuple[NewtonStep, Hessian]:
    """One step from β, at a spread s, and the Hessian that it was made with: the one given, or one with the curvatures
    at β.
    """
    (beta, s), limit = at, model.loss.limit * model.radius

    def step(batch: Floats) -> list[Vectors]:
        return [Vectors(found) for found in model.slopes(batch, beta, s, sharp)]

    total, bends = rows.sums(step)
    near = noisy_mean(bends, model.n, parts.slope)
    slope = _slope(near, model, parts.slope)
    gradient = noisy_total(total, parts.gradient) * limit / model.n
    scale = moved(parts.gradient) * limit / (model.n * float(parts.gradient.epsilon))
    if parts.hessian is not None:
        curvature = bent(rows, model, curvature, (beta, s, slope), parts.hessian)
    ridge = min(1.0, s) * model.loss.ridge / math.sqrt(model.n) * _penalised(model)
    b, bend = np.linalg.solve(model.whitening.T, beta), slope * model.loss.steep(s)
    change = curvature.solve(ridge, gradient / bend - ridge @ b)
    across = curvature.vectors.T @ change
    noise = scale * math.sqrt((model.p + 1) * float(np.sum(1 / curvature.values))) / (bend * s)
    length = math.sqrt(float(across @ (curvature.values * across))) / s
    even = math.sqrt(float(across @ across) * float(np.mean(curvature.values))) / s
    size = max(float(b @ curvature.matrix @ b), 1e-300)
    longer = float(change @ curvature.matrix @ b) / size - noise * s / math.sqrt(size)
    arrived = beta + model.whitening.T @ change
    return NewtonStep(arrived, change, s, slope, bend, noise, length, even, longer, scale, ridge, near), curvature


def _slope(found: float, model: Model, account: Account) -> float:
    """The mean of κ/k, drawn to what it usually is by the part of its variance that is noise: steps are as many times
    too long as it is too small.
    """
    usual, apart = model.loss.usual
    noise = account.rows / (model.n * float(account.epsilon))
    kept = 1 / (1 + 2 * (noise / apart) ** 2)
    return min(max(usual + kept * (found - usual), model.loss.least), 1.0)


def _penalised(model: Model) -> Floats:
    """BBᵀ without the intercept's column: |β|² of the others, as a form in b."""
    columns = model.whitening[:, int(model.frame.leading) :]
    found: Floats = columns @ columns.T
    return found
