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
(`uptack.multivariate.people`), and n is the number of people.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.columns.table import Floats
from uptack.mechanisms.matrix_laplace import deviation, edge
from uptack.multivariate.bounded import LENGTH, bounded, moved, noisy_moments, noisy_total, second_moments
from uptack.multivariate.levels import private_size, size_counts
from uptack.multivariate.rows import Rows, Whole, lengths, products
from uptack.multivariate.signs import Shape, drawn, floored
from uptack.multivariate.standardise import Frame
from uptack.multivariate.terms import Tally, Vectors
from uptack.noise import Entropy, IntegerLaplace
from uptack.privacy import loss
from uptack.regression.losses import Loss

Contributions = Callable[[Floats], list[Whole]]
SAFE = 0.5
"""At the edge of its noise the Hessian is taken to be by this part larger, so that no step is much too long."""

CERTAIN = 2.33
"""Deviations of a normal law, which it passes with a chance of 1%. Noise of a matrix in one direction is the difference
of two Gamma variables of shape (p + 1)/2, and passes by 0.6·θ more."""

FAR_OUT = Fraction(3, 4)
"""R comes from this quantile of |z|."""


def covering(p: int) -> float:
    """Times the edge of the noise: below that, noise may cover a direction."""
    return max(1.0, (CERTAIN * math.sqrt(p + 1) + 0.6) / edge(p))


@dataclass(frozen=True, eq=False)
class Hessian:
    """Second moments of the scaled rows: eigenvalues, as used and as they came out, the edge of their noise, and how
    far off a step for this may be, over its length. `left` is what is left of the edge where eigenvalues were drawn to
    their mean.
    """

    vectors: Floats
    values: Floats
    raw: Floats
    edge: float
    noise: float
    left: float

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Which directions noise may cover: with eigenvalues below its edge, or, of few columns, for which the edge is
        often passed, below what noise in one direction is with a chance of 1%.
        """
        return self.raw < self.edge * covering(len(self.raw))

    @property
    def matrix(self) -> Floats:
        """H."""
        return np.asarray((self.vectors * self.values) @ self.vectors.T, np.float64)

    def solve(self, ridge: Floats, right: Floats) -> Floats:
        """(H + Q)⁻¹·right, in the coordinates of z."""
        return np.asarray(np.linalg.solve(self.matrix + ridge, right), np.float64)


@dataclass(frozen=True, eq=False)
class Model:
    """What is fixed of a fit before its steps: how rows are standardised and scaled, the public number of rows, and
    the loss.
    """

    frame: Frame
    whitening: Floats
    radius: float
    n: float
    loss: Loss

    @property
    def p(self) -> int:
        """The number of coefficients."""
        return len(self.whitening)

    @property
    def predictors(self) -> tuple[int, ...]:
        """The columns with a scale."""
        return self.frame.kept[: self.p - self.frame.leading]

    @property
    def response(self) -> tuple[float, float]:
        """The unit and the centre of y, which is standardised or not."""
        if not self.loss.response:
            return 1.0, 0.0
        return float(self.frame.units[-1]), float(self.frame.centres[-1])

    @property
    def reach(self) -> float:
        """The longest row of the Hessian, which is the square root of w·v times z."""
        return math.sqrt(self.loss.far) * self.radius

    def scaled(self, batch: Floats) -> tuple[Floats, Floats, Floats]:
        """(1, x) and y standardised, and wz, with the weights w. All row by row."""
        a = self.frame.standardised(batch)
        z = products(self.whitening, a[: self.p])
        w = np.minimum(1.0, self.radius / np.maximum(lengths(z), 1e-300))
        return a, z * w, w

    def at(self, batch: Floats, beta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """wz, y, η and w."""
        a, z, w = self.scaled(batch)
        return z, a[self.p] if self.loss.response else batch[-1], products(beta[None], a[: self.p])[0], w

    def near(self, w: Floats) -> Floats:
        """v."""
        return np.minimum(1.0, self.loss.far * w)

    def slopes(self, batch: Floats, beta: Floats, s: float, sharp: bool) -> list[Whole]:
        """wz·ψ/(cR) as integers of length at most Λ, and κ/k as integers of [0, Λ]; 0 where η is no number."""
        z, y, eta, w = self.at(batch, beta)
        v = self.near(w)
        bend = np.nan_to_num(np.clip(self.loss.bend(y, eta, v, s), 0.0, 1.0))
        return [bounded(z * (self.loss.score(y, eta, v, s, sharp) / self.radius), 1.0), np.rint(bend * LENGTH)]

    def even(self, batch: Floats) -> list[Whole]:
        """The square root of w·v times z, over the longest of those, as integers of length at most Λ."""
        _, z, w = self.scaled(batch)
        return [bounded(z * np.sqrt(np.minimum(1 / np.maximum(w, 1e-300), self.loss.far)), self.reach)]

    def bent(self, batch: Floats, beta: Floats, s: float) -> list[Whole]:
        """The same times the square root of κ/k."""
        z, y, eta, w = self.at(batch, beta)
        bend = np.clip(self.loss.bend(y, eta, self.near(w), s), 0.0, 1.0)
        return [bounded(z * np.sqrt(bend * np.minimum(1 / np.maximum(w, 1e-300), self.loss.far)), self.reach)]


@dataclass(frozen=True, eq=False)
class Step:
    """Where a step led to, and what is known of it. `bend` is the mean of κ. `noise` and `moved` are lengths in H, in
    spreads. `longer` is by which part coefficients grew as a whole, beyond noise. `near` is the mean of κ/k as it was
    released, which `slope` is where that can be.
    """

    beta: Floats
    change: Floats
    spread: float
    slope: float
    bend: float
    noise: float
    moved: float
    longer: float
    scale: float
    ridge: Floats
    near: float = 1.0


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
    found, least = _moments(rows, model, 1.0, account, model.even)
    values, vectors, raw = floored(found, least)
    noise = least * deviation(model.p) / edge(model.p)
    left = least if model.loss.response else least * (1 - drawn(raw, noise))
    return Hessian(vectors, values + SAFE * left**2 / values, raw, least, noise, left)


def bent(rows: Rows, model: Model, before: Hessian, at: tuple[Floats, float, float], account: Account) -> Hessian:
    """H with the curvatures at β and s, over their mean, and what noise can't explain of its difference to the one
    before: eigenvalues λ of that beyond the edge e of the noise, as sqrt(λ² - e²) (Gavish and Donoho 2017).
    """
    beta, s, mean = at
    found, least = _moments(rows, model, mean, account, lambda batch: model.bent(batch, beta, s))
    apart, turned = np.linalg.eigh(found - before.matrix)
    kept = np.sign(apart) * np.sqrt(np.maximum(apart**2 - least**2, 0.0))
    raw, vectors = np.linalg.eigh(before.matrix + (turned * kept) @ turned.T)
    values = np.maximum(raw, before.edge)
    noise = least * deviation(model.p) / edge(model.p)
    return Hessian(vectors, values + SAFE * before.left**2 / values, raw, before.edge, noise, before.left)


def _moments(rows: Rows, model: Model, mean: float, account: Account, of_rows: Contributions) -> tuple[Floats, float]:
    """Second moments over n times a mean, and the edge of their noise."""
    (total,) = rows.sums(second_moments(of_rows))
    each = model.reach**2 / (model.n * mean)
    return noisy_moments(total, account) * each, edge(model.p) * moved(account) / float(account.epsilon) * each


def spread(rows: Rows, model: Model, beta: Floats, account: Account) -> float:
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
    found = noisy_whole(int(total), law, account.entropy) / LENGTH
    account.spend(loss.Pure(account.epsilon))
    return found / n


def noisy_whole(value: int, law: IntegerLaplace, entropy: Entropy) -> int:
    """An integer with noise of this law, below 0 or not. The audit looks in here."""
    return value + law.sample(entropy=entropy)


@dataclass(frozen=True)
class Parts:
    """Parts of the account for one step; the last one where the Hessian is measured anew."""

    slope: Account
    gradient: Account
    hessian: Account | None = None


def newton(
    rows: Rows, model: Model, curvature: Hessian, at: tuple[Floats, float], sharp: bool, parts: Parts
) -> tuple[Step, Hessian]:
    """One step from β, at a spread s, and the Hessian that it was made with: the one given, or one with the curvatures
    at β.
    """
    (beta, s), limit = at, model.loss.limit * model.radius

    def step(batch: Floats) -> list[Vectors]:
        return [Vectors(found) for found in model.slopes(batch, beta, s, sharp)]

    total, bends = rows.sums(step)
    near = noisy_mean(bends, model.n, parts.slope)
    slope = min(max(near, model.loss.least), 1.0)
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
    size = max(float(b @ curvature.matrix @ b), 1e-300)
    longer = float(change @ curvature.matrix @ b) / size - noise * s / math.sqrt(size)
    arrived = beta + model.whitening.T @ change
    return Step(arrived, change, s, slope, bend, noise, length, longer, scale, ridge, near), curvature


def _penalised(model: Model) -> Floats:
    """BBᵀ without the intercept's column: |β|² of the others, as a form in b."""
    columns = model.whitening[:, int(model.frame.leading) :]
    found: Floats = columns @ columns.T
    return found


__all__ = [
    "LENGTH",
    "Hessian",
    "Model",
    "Parts",
    "Step",
    "covering",
    "far_out",
    "hessian",
    "newton",
    "noisy_mean",
    "spread",
    "start",
]
