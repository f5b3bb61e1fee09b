"""Coordinates in which rows are about round, from the directions of rows alone.

With a = (1, x, ...) standardised and A a public lower triangular matrix, u = A·a/|A·a| has length 1 whatever the row.
So Σuuᵀ, the sign covariance of the rows in the coordinates of A, gets matrix Laplace noise and is ε-private
(`uptack.multivariate.bounded`). Its trace is the number of rows, which needs no count of its own where it is secret.
With the Cholesky factor LLᵀ of what comes out, A ← L⁻¹·A are rounder coordinates. The fixed point is Tyler's (1987)
scatter matrix, for which the tails of the rows do not matter. Directions show d/(d + 2) of what is not round, where
little is (for d = 2 the root of it, always), so eigenvalues are taken to the power of (d + 2)/d. Before, they are
brought to at least the noise's edge: so no direction is blown up by more than it should be, and the next round goes on
from there.

*Lumps.* Of a column that is 0 in all rows but a share f of them, directions never show more than f·d, however far it is
blown up, and Tyler's matrix has no room for it. A fit only needs coordinates that are round to a small factor. So
`gentle` coordinates leave a direction as it is, from that eigenvalue on, and blow up others by so much less.

Triangular matrices do what symmetric ones would, as signs and noise have no preferred directions. They halve the work,
and the first coordinates are those of the first columns alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from uptack.account import Account
from uptack.mechanisms.matrix_laplace import TraceNoise, deviation, edge
from uptack.multivariate.bounded import LENGTH, bounded, moved, noisy_moments, second_moments
from uptack.multivariate.standardise import Frame
from uptack.multivariate.steps import Sample, Whole, products
from uptack.progress import Step, steps
from uptack.table.exact_sum import Floats


@dataclass(frozen=True, eq=False)
class Shape:
    """Coordinates A, A without gentleness, how many rounds led there, the rows that there are, and the last round's
    eigenvalues and edge.
    """

    coordinates: Floats
    full: Floats
    rounds: int
    rows: float
    eigenvalues: Floats
    edge: float

    @property
    def scatter(self) -> Floats:
        """A⁻¹A⁻ᵀ, up to a factor: rows are round in the coordinates of A."""
        inverse = np.linalg.inv(self.full)
        found: Floats = inverse @ inverse.T
        return found


def noise_edge(dimension: int, rows: float, account: Account, epsilon: float) -> float:
    """The largest eigenvalue of the noise in d/n·Σuuᵀ, whose eigenvalues have a mean of 1."""
    return edge(dimension) * dimension * moved(account) / (rows * epsilon)


def shrunk(values: Floats, noise: float) -> Floats:
    """Eigenvalues drawn to their mean, by the part of their variance that is noise (Ledoit and Wolf 2004)."""
    part = drawn(values, noise)
    return np.asarray((1 - part) * values + part * float(np.mean(values)), np.float64)


def drawn(values: Floats, noise: float) -> float:
    """The part of the variance of eigenvalues that is noise."""
    return min(1.0, noise**2 / max(float(np.var(values)), 1e-300))


def factor(matrix: Floats) -> Floats:
    """The lower triangular L with LLᵀ = matrix, for one whose eigenvalues are above 0."""
    return np.asarray(np.linalg.cholesky((matrix + matrix.T) / 2), np.float64)


def floored(matrix: Floats, least: float) -> tuple[Floats, Floats, Floats]:
    """Eigenvalues that are shrunk and brought to at least the edge of their noise, the vectors, and the eigenvalues as
    they were.
    """
    values, vectors = np.linalg.eigh(matrix)
    noise = least * deviation(len(matrix)) / edge(len(matrix))
    return np.maximum(shrunk(values, noise), least), vectors, values


def _gentle(values: Floats, gentle: float, least: float) -> Floats:
    """Eigenvalues from `gentle` to 1 as 1, smaller ones over it; those at the edge of the noise as they are."""
    held = np.where(values > 1, values, np.minimum(values / gentle, 1.0))
    return np.asarray(np.where(values <= 1.2 * least, np.minimum(values, held), held), np.float64)


def whitened(
    rows: Sample, frame: Frame, n: float | None, rounds: int, account: Account, *, gentle: float = 1.0
) -> Shape:
    """Up to so many rounds, each with an equal part of the account; fewer where all eigenvalues are above `gentle`.

    n is the number of rows where it is public, and else what the trace says.
    """
    with steps("round", rounds, inner=True) as show:
        return _whitened(rows, frame, n, rounds, account, gentle, show)


def _whitened(
    rows: Sample, frame: Frame, n: float | None, rounds: int, account: Account, gentle: float, show: Step
) -> Shape:
    d, part = frame.width, account.part(Fraction(1, rounds))
    coordinates, done = np.eye(d), 0
    while True:
        show()
        (total,) = rows.sums(second_moments(partial(_directions, frame, coordinates)))
        found, done = noisy_moments(total, part), done + 1
        size = max(float(np.trace(found)), 1.0) if n is None else n
        least = noise_edge(d, size, account, float(part.epsilon))
        values, vectors, raw = floored(found * d / size, least)
        power = (d + 2) / d
        full = _rounder(coordinates, values**power, vectors)
        coordinates = _rounder(coordinates, _gentle(values, gentle, least) ** power, vectors)
        if done == rounds or raw[0] > max(gentle, least):
            if n is None and frame.leading:
                counted(size, d, part)
            return Shape(coordinates, full, done, size, raw, least)


def counted(trace: float, dimension: int, part: Account) -> None:
    """The number of complete rows, which the trace of a released matrix tells: it comes with the answer.

    With an intercept every row has a direction u, of length (Λ - d)/Λ but for the rounding of its entries
    (`uptack.multivariate.bounded`), which moves the number by less than one row in 50,000 and is left out.
    """
    rows = round(trace * (LENGTH / (LENGTH - dimension)) ** 2)
    part.bought(rows, TraceNoise(dimension, float(moved(part) / part.epsilon)))


def _rounder(coordinates: Floats, values: Floats, vectors: Floats) -> Floats:
    """L⁻¹·A for LLᵀ with these eigenvalues."""
    return np.tril(np.linalg.solve(factor((vectors * values) @ vectors.T), coordinates))


def _directions(frame: Frame, coordinates: Floats, batch: Floats) -> list[Whole]:
    """u of every row, in integers."""
    return [bounded(products(coordinates, frame.standardised(batch)))]
