"""Standard errors that hold however residuals spread: what a gradient's variance and its slope are, measured.

With ψ the score and κ the curvature of a loss (`uptack.regression.losses`), at the coefficients of a fit,

    V = A⁻¹·M·A⁻¹/n,   M = Σ ψ²·(wz)(wz)ᵀ/n,   A = Σ κ·(wz)(wz)ᵀ/n

is the variance of the coefficients, whatever the law of residuals is for each x (Huber 1967, White 1980). Of Huber's
loss a residual is near, |t| < c, and has κ = 1/s, or it is far, and has κ = 0 and |ψ| = c. Rows are in one of the sums

    N = Σ near ψ²/c²·(wz)(wz)ᵀ/R²,   F = Σ far (wz)(wz)ᵀ/R²,   M = (cR)²·(N + F)/n,   A = (H - R²·F/n)/s.

**Theorem.** N and F, with matrix Laplace noise for ε' each, are ε'-differentially private together. *Proof.* A row adds
uuᵀ with |u| ≤ Λ, in integers, to one of them and nothing to the other. So a row that is replaced moves the nuclear norm
of both together, the sum of the two, by at most 2Λ², and one that is added or removed by at most Λ²: the lemma of
`uptack.multivariate.bounded` for the matrix that has N and F as its blocks. By the lemma of
`uptack.mechanisms.matrix_laplace` the densities of the two noises change by factors whose logarithms add up to at most
that over θ. Of people's rows each is in a sum with its units, and units add up to at most U. ∎

**People.** A person adds the mean g of what her rows would to a gradient. By Jensen's inequality ggᵀ is at most the
mean of ψ²·(wz)(wz)ᵀ over her rows, however they hang together, also if slopes differ between people. So M is at least
what it should be: as large as that if the rows of one person are copies of each other, else intervals are wider than
they need be.

**Noise.** In coordinates in which H is 1, eigenvalues of M and of F are drawn to their mean by the part of their
variance that is noise: residuals that spread alike have equal ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.columns.table import Floats
from uptack.mechanisms.matrix_laplace import deviation, edge
from uptack.multivariate.bounded import bounded, moved, noisy_blocks
from uptack.multivariate.rows import Rows, Whole
from uptack.multivariate.signs import shrunk
from uptack.regression.newton import Hessian, Model, Step

MOST = Fraction(4, 100)
TRIES = (*((MOST * k / 4, 1.0) for k in (1, 2, 3)), *((MOST, 1.5**k) for k in range(5)))
"""What may be taken for it, the least first: a part of ε, and how many times louder a gradient's noise is taken to be:
rows are clipped less wide then."""

SURE, UNSURE, COVERS, NARROW = 0.3, 0.6, 1.0, 1.6
"""The deviation of a coefficient's variance for noise, over that variance. The first is as good as none. For the second
rows are clipped less wide, until R is as many times the quantile of |z| as the last says. Beyond the third it is not
measured."""

FULL = 1.5
"""R² over the mean of |wz|²·ψ², for rows and a cutoff that are clipped at 1: about that of normal ones."""

FAR = 0.9
"""No direction has more far residuals than this part: beyond, the Hessian would say nothing."""

SAFE = 1.2
"""An interval for a variance v that is known to a deviation τ covers as it should if v is taken to be by 1.2·τ²/v
larger: 95% intervals cover 0.277·τ²/2 less for an uncertain variance of mean 1, and 0.1145 more by what it is larger.
"""


@dataclass(frozen=True, eq=False)
class Sandwich:
    """A and M/n, and the deviation of aᵀMa/n for noise over |a|²."""

    bread: Floats
    meat: Floats
    noise: float

    def variances(self, lines: Floats) -> Floats:
        """Those of linear forms in b, one per line; more at the edge of noise."""
        turned = np.linalg.solve(self.bread, lines.T)
        found = np.einsum("ji,jk,ki->i", turned, self.meat, turned)
        off = self.noise * (turned**2).sum(axis=0)
        sure = np.maximum(found, math.sqrt(SAFE) * off)
        return np.asarray(sure + SAFE * off**2 / sure, np.float64)

    def late(self, curvature: Floats) -> Floats:
        """E·B⁻¹ for the B of steps and E = 1 - B⁻¹A: what the last step leaves of the noise of the one before."""
        inverse = np.linalg.inv(curvature)
        return np.asarray((np.eye(len(inverse)) - inverse @ self.bread) @ inverse, np.float64)


def expected(p: int, n: float, account: Account, part: Fraction, clip: float) -> float:
    """The deviation of a coefficient's variance for the noise of both matrices, over that variance, by public numbers.

    `clip` is the largest |ψ| times the radius, over a typical |z|. An entry of the diagonal of each matrix has a
    deviation of sqrt(p + 1)·θ.
    """
    theta = moved(account) / (float(account.epsilon * part) * n)
    return math.sqrt(2 * (p + 1)) * theta * p * FULL * clip**2


def enough(off: float, part: Fraction, wide: float) -> bool:
    """Whether no more is to be taken for it."""
    return off < SURE or (part == MOST and off < (UNSURE if wide > NARROW else COVERS))


def sandwich(rows: Rows, model: Model, curvature: Hessian, step: Step, account: Account) -> Sandwich:
    """A and M at the coefficients that a step led to, in the coordinates of z."""

    def sums(batch: Floats) -> list[Whole]:
        u, far = scores(model, batch, step.beta, step.spread)
        outside = u[:, far]
        beyond = outside @ outside.T
        return [u @ u.T - beyond, beyond]

    near, far = noisy_blocks(rows.sums(sums), account)
    p, each, bound = model.p, model.radius**2 / model.n, model.loss.limit**2
    theta = each * moved(account) / float(account.epsilon)
    factor = np.asarray(np.linalg.cholesky(curvature.matrix), np.float64)
    wide = theta * deviation(p) * float(np.mean(1 / curvature.values))
    outside, axes, _ = _drawn(factor, far * each, wide)
    bread = (axes * (1 - np.clip(outside, 0.0, FAR))) @ axes.T * model.loss.steep(step.spread)
    both, axes, kept = _drawn(factor, (near + far) * each * bound, math.sqrt(2) * wide * bound)
    meat = (axes * np.maximum(both, 0.0)) @ axes.T
    noise = math.sqrt(2 * (p + 1) * (kept + (1 - kept) / p)) * theta * bound
    return Sandwich(bread, meat / model.n, noise / model.n)


def scores(model: Model, batch: Floats, beta: Floats, s: float) -> tuple[Floats, NDArray[np.bool_]]:
    """wz·ψ/(cR) as integers of length at most Λ, and which rows are far: those without a curvature."""
    z, y, eta, w = model.at(batch, beta)
    score = model.loss.score(y, eta, w, s, True)
    return bounded(z * (score / model.radius), 1.0), ~(model.loss.bend(y, eta, w, s) > 0)


def _drawn(factor: Floats, matrix: Floats, noise: float) -> tuple[Floats, Floats, float]:
    """Eigenvalues in the coordinates in which LLᵀ is 1, drawn to their mean; the axes L·U; and which part of what they
    differ by was kept.
    """
    left = np.linalg.solve(factor, matrix)
    values, vectors = np.linalg.eigh(np.linalg.solve(factor, left.T))
    above, beyond = values - float(np.mean(values)), noise * edge(len(matrix)) / deviation(len(matrix))
    signal = np.where(above > 0, np.sqrt(np.maximum(above**2 - beyond**2, 0.0)), 0.0)
    found = np.maximum(shrunk(values, noise), values - above + signal)
    return found, factor @ vectors, float(np.ptp(found) / max(float(np.ptp(values)), 1e-300))
