"""The Hessian of a fit by bounded sums: second moments of scaled rows with matrix Laplace noise, and which of their
directions noise covers.

Why it is private is said in `uptack.regression.newton_steps`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account
from uptack.mechanisms.matrix_laplace import deviation, edge
from uptack.multivariate.bounded import moved, noisy_moments, second_moments
from uptack.multivariate.signs import drawn, floored
from uptack.multivariate.steps import Sample, Whole
from uptack.regression.fit_model import Model
from uptack.table.exact_sum import Floats

Contributions = Callable[[Floats], list[Whole]]
SAFE = 0.5
"""At the edge of its noise the Hessian is taken to be by this part larger, so that no step is much too long."""

CERTAIN = 2.33
"""Deviations of a normal law, which it passes with a chance of 1%. Noise of a matrix in one direction is the difference
of two Gamma variables of shape (p + 1)/2, and passes by 0.6·θ more."""

FAINT = 1.5
"""Times what noise may cover: smaller eigenvalues may be off by half."""

COVERED = 1 / 3
"""⊥ where noise covers more than this part of the directions of (1, x), or where several slopes of a line, and more
than this part of them, are faint: too much of the fit could lie there."""


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
    def faint(self) -> NDArray[np.bool_]:
        """Which directions noise covers, or nearly so."""
        return self.raw < FAINT * self.edge * covering(len(self.raw))

    @property
    def matrix(self) -> Floats:
        """H."""
        return np.asarray((self.vectors * self.values) @ self.vectors.T, np.float64)

    def solve(self, ridge: Floats, right: Floats) -> Floats:
        """(H + Q)⁻¹·right, in the coordinates of z."""
        return np.asarray(np.linalg.solve(self.matrix + ridge, right), np.float64)


def hessian(rows: Sample, model: Model, account: Account) -> Hessian:
    """H/n, with eigenvalues brought to at least the edge of their noise."""
    found, least = _moments(rows, model, 1.0, account, model.even)
    values, vectors, raw = floored(found, least)
    noise = least * deviation(model.p) / edge(model.p)
    left = least if model.loss.response else least * (1 - drawn(raw, noise))
    return Hessian(vectors, values + SAFE * left**2 / values, raw, least, noise, left)


def bent(rows: Sample, model: Model, before: Hessian, at: tuple[Floats, float, float], account: Account) -> Hessian:
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


def _moments(rows: Sample, model: Model, mean: float, account: Account, of_rows: Contributions) -> tuple[Floats, float]:
    """Second moments over n times a mean, and the edge of their noise."""
    (total,) = rows.sums(second_moments(of_rows))
    each = model.reach**2 / (model.n * mean)
    return noisy_moments(total, account) * each, edge(model.p) * moved(account) / float(account.epsilon) * each
