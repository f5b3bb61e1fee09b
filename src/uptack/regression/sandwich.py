"""Standard errors for residuals that spread unevenly: what a gradient's variance and its slope are, measured.

With ψ the score and κ the curvature of a loss (`uptack.regression.losses`), at the coefficients of a fit,

    V = A⁻¹·M·A⁻¹/n,   M = Σ ψ²·(wz)(wz)ᵀ/n,   A = Σ κ·wv·zzᵀ/n

is the variance of the coefficients, whatever the law of residuals is for each x (Huber 1967, White 1980). Of Huber's
loss a residual is near, |t| < c, and has κ = 1/s, or it is far, and has κ = 0 and |ψ| = c. Rows are in one of the sums

    N = Σ near ψ²/c²·(wz)(wz)ᵀ/R²,   F = Σ far wv·zzᵀ/(ρR²),   M ≼ (cR)²·(N + ρF)/n,   A = (H - ρR²·F/n)/s.

The third is an equation but for rows with w below v, those farther out than R, for which it is on the safe side.

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

**Noise.** In coordinates in which H is 1, eigenvalues of N and of F are drawn to their mean by the part of their
variance that is noise, since residuals that spread alike have equal ones.

**The last step.** It was made with k·H for A, k the mean curvature. Where the two differ, a part E = 1 - A/(k·H) of the
noise of the steps before is left, which no standard error would show. So the step is made again, with the same gradient
and the A that noise can't explain, but no more than twice as long: an A that is nearly 0 in a direction is likelier its
noise, and a step for it would be as wild.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from uptack.account import Account
from uptack.mechanisms.matrix_laplace import deviation, edge
from uptack.multivariate.bounded import moved, noisy_blocks
from uptack.multivariate.steps import Sample
from uptack.multivariate.terms import Squares
from uptack.regression.fit_model import Model
from uptack.regression.hessian import Hessian
from uptack.regression.newton_steps import NewtonStep
from uptack.table.exact_sum import Floats

MOST, GRAIN = Fraction(1, 10), 100
"""The most that is taken for it, over what gradients get; parts of ε are multiples of one over the second."""

LOUDER = tuple(1.5**k for k in range(5))
"""How many times louder a gradient's noise may be taken to be for it: rows are clipped less wide then."""

SURE, UNSURE, COARSE, COVERS, NARROW = 0.3, 0.6, 1.0, 1.5, 2.0
"""The deviation of a coefficient's variance for noise, over that variance. The first is as good as none. For the second
rows are clipped less wide, until R is as many times the quantile of |z| as the last says; from there on for the third.
Beyond the fourth it is not measured."""

FAR = 0.9
"""No direction has more far residuals than this part: beyond, the Hessian would say nothing."""

TWICE = 2.0
"""The last step is made so many times as long at most: where A would be still smaller, that is likelier its noise."""

SAFE = 1.2
"""An interval for a variance v that is known to a deviation τ covers as it should if v is taken to be by 1.2·τ²/v
larger: 95% intervals cover 0.277·τ²/2 less for an uncertain variance of mean 1, and 0.1145 more by what it is larger.
"""


@dataclass(frozen=True, eq=False)
class Sandwich:
    """The least that A may be, A as it likely is, M/n, and the deviation of aᵀMa/n for the noise of both over |a|²."""

    least: Floats
    bread: Floats
    meat: Floats
    noise: float

    def variances(self, lines: Floats) -> tuple[Floats, Floats, Floats]:
        """Those of linear forms in b, one per line, for sampling, with more at the edge of noise, τ²/v of them, and
        what a gradient's noise of variance 1 in all directions would add.
        """
        turned = np.linalg.solve(self.least, lines.T)
        found, size = np.einsum("ji,jk,ki->i", turned, self.meat, turned), (turned**2).sum(axis=0)
        sure = np.maximum(found, math.sqrt(SAFE) * self.noise * size)
        return sure, np.asarray((self.noise * size) ** 2 / sure, np.float64), size

    def remade(self, step: NewtonStep, model: Model, curvature: Hessian) -> NewtonStep:
        """The last step with A in place of k·H: what it was made from has been released, so this costs nothing."""
        penalty = step.bend * step.ridge
        right = (step.bend * curvature.matrix + penalty) @ step.change
        change = np.asarray(np.linalg.solve(self.bread + penalty, right), np.float64)
        return replace(step, change=change, beta=step.beta + model.whitening.T @ (change - step.change))


def expected(p: int, n: float, account: Account, part: Fraction, clip: tuple[float, float]) -> float:
    """The deviation of a coefficient's variance for the noise of both matrices, over that variance, by public numbers.

    An entry of the diagonal of each matrix has a deviation of sqrt(p + 1)·θ. With c and R over the quantile of |z|, for
    normal rows and residuals, c² is about 1 + 0.85·c² times the mean of ψ², and R² 0.4 + 1.2·R² times that of |wz|².
    """
    theta, (cutoff, wide) = moved(account) / (float(account.epsilon * part) * n), clip
    return math.sqrt(2 * (p + 1)) * theta * p * (1 + 0.85 * cutoff**2) * max(0.4 + 1.2 * wide**2, 1.0)


def tries(left: Fraction) -> list[tuple[Fraction, float]]:
    """What may be taken, the least first: a part of ε, of what gradients get, and one of `LOUDER`."""
    parts = [Fraction(k, GRAIN) for k in range(1, max(math.ceil(left * MOST * GRAIN), 2))]
    return [*((part, 1.0) for part in parts), *((parts[-1], louder) for louder in LOUDER[1:])]


def enough(off: float, wide: float, most: bool) -> bool:
    """Whether no more is to be taken, where there is more, and rows need not be clipped less wide."""
    return off < SURE or (most and off < (UNSURE if wide > NARROW else COARSE))


def sandwich(rows: Sample, model: Model, first: Hessian, step: NewtonStep, account: Account) -> Sandwich:
    """A and M at the coefficients that a step led to, in the coordinates of z. H is the one without curvatures."""
    near, far = noisy_blocks(rows.sums(blocks(model, step.beta, step.spread)), account)
    p, bound, steep = model.p, model.loss.limit**2, model.loss.steep(step.spread)
    theta, (one, other) = moved(account) / float(account.epsilon), (r**2 / model.n for r in (model.radius, model.reach))
    inside, outside = (
        ShrunkSpectrum.of(first, near * one, theta * one),
        ShrunkSpectrum.of(first, far * other, theta * other),
    )
    meat = bound * (inside.matrix(inside.values) + outside.matrix(outside.values))
    share = float(np.mean(np.clip(outside.values, 0.0, FAR)))
    tilt = 1 + 2 * (max(float(np.mean(inside.values)), 0.0) + share) / (1 - share)
    noise = math.sqrt((p + 1) * (outside.kept * (tilt * other) ** 2 + inside.kept * one**2)) * theta * bound
    least = outside.matrix(1 - np.clip(outside.values, 0.0, FAR)) * steep
    bread = outside.matrix(np.clip(step.slope - outside.apart, step.slope / TWICE, 1.0)) * steep
    return Sandwich(least, bread, meat / model.n, noise / model.n)


def blocks(model: Model, beta: Floats, s: float) -> Callable[[Floats], list[Squares]]:
    """What rows add to Λ²·N and Λ²·F, of vectors of integers of length at most Λ. Rows without a curvature are far."""

    def squares(batch: Floats) -> list[Squares]:
        (scores, bends), (rows,) = model.slopes(batch, beta, s, True), model.even(batch)
        near, far = np.where(bends > 0, scores, 0.0), np.where(bends > 0, 0.0, rows)
        return [Squares(near), Squares(far)]

    return squares


@dataclass(frozen=True, eq=False)
class ShrunkSpectrum:
    """Eigenvalues in the coordinates in which H is 1, the axes, and the part of the variance of noise that is left.

    They are drawn to their mean by the part of their variance that is noise (Ledoit and Wolf 2004); those above it
    less, and not at all beyond the edge of noise. `apart` is what noise can't explain of how they differ:
    sqrt(λ² - e²), for the edge e in the direction where it is farthest (Gavish and Donoho 2017).
    """

    values: Floats
    apart: Floats
    axes: Floats
    kept: float

    @staticmethod
    def of(first: Hessian, matrix: Floats, theta: float) -> ShrunkSpectrum:
        """Of a matrix with noise of this θ."""
        p, roots = len(matrix), np.sqrt(first.values)
        inverse = first.vectors / roots
        raw, vectors = np.linalg.eigh(inverse.T @ matrix @ inverse)
        away, wide = raw - float(np.mean(raw)), theta * float(np.mean(1 / first.values))
        part = min(1.0, (wide * deviation(p)) ** 2 / max(float(np.var(raw)), 1e-300))
        values = np.where(away < 0, raw - part * away, np.where(away > wide * edge(p), raw, raw - part**2 * away))
        apart = np.sign(away) * np.sqrt(np.maximum(away**2 - (theta * edge(p) / float(roots.min()) ** 2) ** 2, 0.0))
        return ShrunkSpectrum(values, apart, (first.vectors * roots) @ vectors, 1 - part**2 + part**2 / p)

    def matrix(self, values: Floats) -> Floats:
        """That with these eigenvalues, none below 0."""
        return np.asarray((self.axes * np.maximum(values, 0.0)) @ self.axes.T, np.float64)
