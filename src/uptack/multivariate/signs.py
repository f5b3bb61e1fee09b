"""Coordinates in which rows are about round, from the directions of rows alone.

With a = (1, x, ...) standardised and A a public lower triangular matrix, u = A·a/|A·a| has length 1 whatever the row.
So Σuuᵀ, the sign covariance of the rows in the coordinates of A, gets matrix Laplace noise and is ε-private
(`uptack.multivariate.bounded`). Its trace is the number of rows, which needs no count of its own where it is secret.
With the Cholesky factor LLᵀ of what comes out, A ← L⁻¹·A are rounder coordinates. The fixed point is Tyler's (1987)
scatter matrix, for which the tails of the rows do not matter. Directions show d/(d + 2) of what is not round, where
little is (for d = 2 the root of it, always), so eigenvalues are taken to the power of (d + 2)/d. Before, they are
brought to at least the noise's edge: so no direction is blown up by more than it should be, and the next round goes on
from there.

Triangular matrices do what symmetric ones would, as signs and noise have no preferred directions. They halve the work,
and the first coordinates are those of the first columns alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from uptack.account import Account
from uptack.mechanisms.matrix_laplace import EDGE
from uptack.multivariate.bounded import bounded, moved, noisy_moments, second_moments
from uptack.multivariate.rows import Floats, Rows, Whole, products
from uptack.multivariate.standardise import Frame

ROUND = 0.3
"""A least eigenvalue, of a mean of 1, from which on rows are round enough."""

SPREAD = 2.35
"""The noise's edge over the standard deviation of its eigenvalues."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Coordinates A, how many rounds led there, the rows that there are, and the last round's eigenvalues and edge."""

    coordinates: Floats
    rounds: int
    rows: float
    eigenvalues: Floats
    edge: float

    @property
    def scatter(self) -> Floats:
        """A⁻¹A⁻ᵀ, up to a factor: rows are round in the coordinates of A."""
        inverse = np.linalg.inv(self.coordinates)
        found: Floats = inverse @ inverse.T
        return found


def noise_edge(dimension: int, rows: float, account: Account, epsilon: float) -> float:
    """The largest eigenvalue of the noise in d/n·Σuuᵀ, whose eigenvalues have a mean of 1."""
    return EDGE * dimension**2 * moved(account) / (rows * epsilon)


def shrunk(values: Floats, deviation: float) -> Floats:
    """Eigenvalues drawn to their mean, by the part of their variance that is noise (Ledoit and Wolf 2004)."""
    part = min(1.0, deviation**2 / max(float(np.var(values)), 1e-300))
    return np.asarray((1 - part) * values + part * float(np.mean(values)), np.float64)


def factor(matrix: Floats) -> Floats:
    """The lower triangular L with LLᵀ = matrix, for one whose eigenvalues are above 0."""
    return np.asarray(np.linalg.cholesky((matrix + matrix.T) / 2), np.float64)


def floored(matrix: Floats, edge: float, power: float = 1.0) -> tuple[Floats, Floats]:
    """The matrix with its eigenvalues shrunk, brought to at least the edge of its noise, and taken to a power; and its
    eigenvalues as they were.
    """
    values, vectors = np.linalg.eigh(matrix)
    kept: Floats = np.maximum(shrunk(values, edge / SPREAD), edge) ** power
    return (vectors * kept) @ vectors.T, values


def whitened(rows: Rows, frame: Frame, n: float | None, rounds: int, account: Account, enough: float = ROUND) -> Shape:
    """Up to so many rounds, each with an equal part of the account; fewer where the least eigenvalue is `enough`.

    n is the number of rows where it is public, and else what the trace says.
    """
    d, part = frame.width, account.part(Fraction(1, rounds))
    coordinates, done = np.eye(d), 0
    while True:
        (total,) = rows.sums(second_moments(partial(_directions, frame, coordinates)))
        found, done = noisy_moments(total, part), done + 1
        size = max(float(np.trace(found)), 1.0) if n is None else n
        edge = noise_edge(d, size, account, float(part.epsilon))
        matrix, values = floored(found * d / size, edge, (d + 2) / d)
        coordinates = np.tril(np.linalg.solve(factor(matrix), coordinates))
        if done == rounds or values[0] > max(enough, edge):
            return Shape(coordinates, done, size, values, edge)


def _directions(frame: Frame, coordinates: Floats, batch: Floats) -> list[Whole]:
    """u of every row, in integers."""
    return [bounded(products(coordinates, frame.standardised(batch)))]
