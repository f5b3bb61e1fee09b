"""Newton steps of a regression whose every step sums bounded contributions of rows: pure ε, without bounds on the data.

Rows a = (1, x, y) are standardised, and A are coordinates in which they are about round (`uptack.multivariate.signs`).
A is lower triangular. Its first p lines and columns are B, and z = B·(1, x) are about round coordinates of the
predictors. The last line of the same without gentleness is a start for the coefficients, β = -A_y/A_yy. A row is scaled
by w = min(1, R/|z|), for a radius R that comes from a private quantile of |z|. Then

    H = Σ (wz)(wz)ᵀ                       terms of nuclear norm at most R²: matrix Laplace noise
    g = Σ wz·ψ(w·r/s), |ψ| ≤ c            terms of length at most cR: Gamma noise
    n₁ = #{|w·r| < cs}                    terms of 0 or 1: integer Laplace noise

with r = y - (1, x)·β, s a private quantile of |w·r|, and Huber's ψ(t) = min(max(t, -c), c): Mallows' and Huber's
influence functions together, so that neither a row far away nor a far residual counts for much. The step is
(H + Q)⁻¹·(s·g/(n₁/n) - Q·b), with a small ridge Q, in the coordinates of z.

**Theorem.** Every one of these is ε'-differentially private for its part ε' of ε, whatever the rows, given what was
released before: rows enter as vectors of integers of certified length (`uptack.multivariate.bounded`), as counts on
public levels (`uptack.multivariate.levels`), or as 0 and 1. What is computed from released numbers is fixed before rows
are read again. The parts add up to at most ε on every path. ∎

Where rows belong to people, sums and counts are over people, each of whom adds the mean of what her rows would
(`uptack.multivariate.people`), and n is the number of people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.columns.table import Floats
from uptack.mechanisms.matrix_laplace import edge
from uptack.multivariate.bounded import LENGTH, bounded, moved, noisy_moments, noisy_total, second_moments
from uptack.multivariate.levels import private_size, size_counts
from uptack.multivariate.rows import Rows, Whole, lengths, products
from uptack.multivariate.signs import Shape, floored
from uptack.multivariate.standardise import Frame
from uptack.noise import IntegerLaplace
from uptack.privacy import loss
from uptack.statistics.arguments import noisy_size

QUARTILE = 0.6744897501960817
SAFE = 0.5
"""At the edge of its noise the Hessian is taken to be by this part larger, so that no step is much too long."""

RIDGE = 0.5
"""Times min(1, s)/sqrt(n): the penalty on the coefficients of standardised columns."""

LEAST_SLOPE = 0.3
FAR_OUT = Fraction(3, 4)
"""R comes from this quantile of |z|."""


@dataclass(frozen=True)
class Clip:
    """How wide rows and residuals are clipped: R over the quantile of |z|, and c."""

    radius: float
    residual: float


@dataclass(frozen=True, eq=False)
class Hessian:
    """Second moments of the scaled rows: eigenvalues, as used and as they came out, and the edge of their noise."""

    vectors: Floats
    values: Floats
    raw: Floats
    edge: float

    def solve(self, ridge: Floats, right: Floats) -> Floats:
        """(H + Q)⁻¹·right, in the coordinates of z."""
        matrix = (self.vectors * self.values) @ self.vectors.T + ridge
        return np.asarray(np.linalg.solve(matrix, right), np.float64)


@dataclass(frozen=True, eq=False)
class Model:
    """What is fixed of a fit before its steps: how rows are standardised and scaled, and the public number of rows."""

    frame: Frame
    whitening: Floats
    radius: float
    n: float

    @property
    def p(self) -> int:
        """The number of coefficients."""
        return len(self.whitening)

    def scaled(self, batch: Floats) -> tuple[Floats, Floats, Floats]:
        """(1, x) and y standardised, and z, with the weights w. All row by row."""
        a = self.frame.standardised(batch)
        z = products(self.whitening, a[: self.p])
        w = np.minimum(1.0, self.radius / np.maximum(lengths(z), 1e-300))
        return a, z * w, w

    def residuals(self, batch: Floats, beta: Floats) -> tuple[Floats, Floats]:
        """wz, and w·(y - (1, x)·β)."""
        a, z, w = self.scaled(batch)
        return z, w * (a[self.p] - products(beta[None], a[: self.p])[0])


@dataclass(frozen=True, eq=False)
class Step:
    """Where a step led to, and what is known of it. `noise` and `moved` are lengths in H, in spreads."""

    beta: Floats
    spread: float
    slope: float
    noise: float
    moved: float
    scale: float
    ridge: Floats


def start(shape: Shape) -> tuple[Floats, Floats]:
    """B and β, of the coordinates of (1, x, y)."""
    p = len(shape.coordinates) - 1
    return shape.coordinates[:p, :p], -shape.full[p, :p] / shape.full[p, p]


def far_out(rows: Rows, frame: Frame, whitening: Floats, account: Account) -> float:
    """A quantile of |z|."""
    p = len(whitening)
    (counts,) = rows.sums(lambda b: size_counts(lengths(products(whitening, frame.standardised(b)[:p]))))
    return private_size(counts, FAR_OUT, account)


def hessian(rows: Rows, model: Model, account: Account) -> Hessian:
    """H/n, with eigenvalues brought to at least the edge of their noise."""

    def step(batch: Floats) -> list[Whole]:
        return [bounded(model.scaled(batch)[1], model.radius)]

    (total,) = rows.sums(second_moments(step))
    each = model.radius**2 / model.n
    least = edge(model.p) * moved(account) / float(account.epsilon) * each
    values, vectors, raw = floored(noisy_moments(total, account) * each, least)
    return Hessian(vectors, values + SAFE * least**2 / values, raw, least)


def spread(rows: Rows, model: Model, beta: Floats, account: Account) -> float:
    """s: the median of |w·r|, as a normal law's standard deviation."""
    (counts,) = rows.sums(lambda batch: size_counts(np.abs(model.residuals(batch, beta)[1])))
    return private_size(counts, Fraction(1, 2), account) / QUARTILE


def newton(
    rows: Rows, model: Model, curvature: Hessian, beta: Floats, clip: float, parts: tuple[Account, Account, Account]
) -> Step:
    """One step from β: parts of the account for the spread, the slope and the gradient."""
    for_spread, for_slope, for_gradient = parts
    s, limit = spread(rows, model, beta, for_spread), clip * model.radius

    def step(batch: Floats) -> list[Whole]:
        z, r = model.residuals(batch, beta)
        inside = np.abs(r) < clip * s
        return [bounded(z * (np.clip(r / s, -clip, clip) / limit), 1.0).sum(axis=1), np.count_nonzero(inside)]

    total, inside = rows.sums(step)
    law = IntegerLaplace(for_slope.rows / for_slope.epsilon)
    slope = min(max(noisy_size(int(inside), law, for_slope.entropy) / model.n, LEAST_SLOPE), 1.0)
    for_slope.spend(loss.Pure(for_slope.epsilon))
    gradient = noisy_total(total, for_gradient) * limit / model.n
    scale = moved(for_gradient) * limit / (model.n * float(for_gradient.epsilon))
    ridge = min(1.0, s) * RIDGE / math.sqrt(model.n) * _penalised(model)
    b = np.linalg.solve(model.whitening.T, beta)
    change = curvature.solve(ridge, s * gradient / slope - ridge @ b)
    across = curvature.vectors.T @ change
    noise = scale * math.sqrt((model.p + 1) * float(np.sum(1 / curvature.values))) / slope
    length = math.sqrt(float(across @ (curvature.values * across))) / s
    return Step(beta + model.whitening.T @ change, s, slope, noise, length, scale, ridge)


def _penalised(model: Model) -> Floats:
    """BBᵀ without the intercept's column: |β|² of the others, as a form in b."""
    columns = model.whitening[:, int(model.frame.leading) :]
    found: Floats = columns @ columns.T
    return found


__all__ = ["LENGTH", "Clip", "Hessian", "Model", "Step", "far_out", "hessian", "newton", "spread", "start"]
