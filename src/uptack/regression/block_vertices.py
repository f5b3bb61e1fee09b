"""Least absolute deviations in many blocks of rows at once: from near a minimiser to a vertex that is one.

Some minimiser of Σ|y_i - x_i·β| passes through p independent rows exactly: a vertex. A step of the simplex method (in
the form of Barrodale and Roberts 1973) leaves one of these rows, in a direction along which the sum falls, and goes to
the row where it is least.

*Ties.* Where many rows meet in a point, as for exact data, steps may lead nowhere. So the search is made on responses
that are moved by public amounts of 2^-38, and the vertex is then worked out from the responses as they are.

*Singular blocks.* A row for each coefficient, which says that it is 0, and which counts for 2^-20, makes every block
regular.

The number of steps is fixed, so a block that needs more gets the best it came to. `uptack.regression.exact_vertex` is
the exact one, for a single table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.table.exact_sum import Floats

SLIGHT = 2.0**-20
"""What the row of a coefficient counts for."""

SHAKEN = 2.0**-38
"""By what part responses are moved apart; the responses are of about size 1."""

APART, TOLERANCE = 1e-5, 1e-9
"""Rows are independent if so much of them is left outside the others' span; multipliers exceed 1 if by so much."""


def vertices(xs: Floats, ys: Floats, counted: Floats, near: Floats) -> Floats:
    """One minimiser a block; `near` says where to start, and is what blocks get for which no vertex is better.

    `counted` is what each row counts for: 0 for one that is not there.
    """
    (m, _, p), start, present = xs.shape, np.nan_to_num(near), (counted > 0).astype(np.float64)
    rows = np.concatenate([xs * present[..., None], np.broadcast_to(np.eye(p), (m, p, p))], axis=1)
    y = np.concatenate([ys * present, np.zeros((m, p))], axis=1)
    weights = np.concatenate([counted, np.full((m, p), SLIGHT)], axis=1)
    moves = np.random.default_rng(0).uniform(-1, 1, y.shape[1])
    shaken = y + SHAKEN * (1 + np.abs(start).max(axis=1, keepdims=True)) * moves
    basis = _independent(rows, np.abs(y - np.einsum("mij,mj->mi", rows, start)), p)
    for _ in range(10 + 4 * p):
        basis = _stepped(rows, shaken, weights, basis)
    found = np.einsum("mjk,mk->mj", inverses(_at(rows, basis)), np.take_along_axis(y, basis, axis=1))
    sums = [np.nan_to_num(_sum(rows, y, weights, beta), nan=np.inf) for beta in (found, near)]
    return np.where((sums[0] <= sums[1])[:, None] & np.isfinite(found).all(axis=1, keepdims=True), found, near)


def _sum(rows: Floats, y: Floats, weights: Floats, beta: Floats) -> Floats:
    total: Floats = (weights * np.abs(y - np.einsum("mij,mj->mi", rows, beta))).sum(axis=1)
    return total


def _at(rows: Floats, basis: NDArray[np.int64]) -> Floats:
    return np.take_along_axis(rows, basis[..., None], axis=1)


def _independent(rows: Floats, away: Floats, p: int) -> NDArray[np.int64]:
    """In each block the nearest p rows that are independent; those of the coefficients come last."""
    rest, basis = rows.copy(), np.zeros((len(rows), p), dtype=np.int64)
    away = np.where(np.arange(away.shape[1]) < away.shape[1] - p, away, np.finfo(np.float64).max)
    for k in range(p):
        size = np.sqrt((rest**2).sum(axis=2))
        basis[:, k] = np.where(size > APART, away, np.inf).argmin(axis=1)
        chosen = _at(rest, basis[:, k : k + 1])
        unit = chosen / np.maximum(np.sqrt((chosen**2).sum(axis=2, keepdims=True)), APART)
        rest = rest - (rest * unit).sum(axis=2, keepdims=True) * unit
    return basis


def _stepped(rows: Floats, y: Floats, weights: Floats, basis: NDArray[np.int64]) -> NDArray[np.int64]:
    """One step in each block: U_B·β = y_B, U_Bᵀ·λ = Σ w_i·s_i·x_i, out with the row of the largest |λ_k| - w_k > 0."""
    inverse, here = inverses(_at(rows, basis)), np.arange(len(basis))
    beta = np.einsum("mjk,mk->mj", inverse, np.take_along_axis(y, basis, axis=1))
    residuals = y - np.einsum("mij,mj->mi", rows, beta)
    np.put_along_axis(residuals, basis, 0.0, axis=1)
    gradient = np.einsum("mij,mi->mj", rows, weights * np.sign(residuals))
    multipliers = np.einsum("mjk,mj->mk", inverse, gradient)
    excess = np.abs(multipliers) - np.take_along_axis(weights, basis, axis=1)
    k = np.nan_to_num(excess, nan=-np.inf).argmax(axis=1)
    direction = inverse[here, :, k] * np.sign(multipliers[here, k])[:, None]
    slopes = np.einsum("mij,mj->mi", rows, direction)
    at = residuals / slopes
    ahead = (at > 0) & np.isfinite(at) & (np.abs(slopes) > TOLERANCE * np.abs(direction).max(axis=1, keepdims=True))
    np.put_along_axis(ahead, basis, False, axis=1)
    order = np.argsort(np.where(ahead, at, np.inf), axis=1, kind="stable")
    gained = np.cumsum(np.take_along_axis(2 * weights * np.abs(slopes) * ahead, order, axis=1), axis=1)
    down = excess[here, k]
    reached = (gained >= down[:, None]) & np.take_along_axis(ahead, order, axis=1)
    entering = order[here, reached.argmax(axis=1)]
    falls = (down > TOLERANCE) & reached.any(axis=1)
    swapped = basis.copy()
    swapped[here, k] = np.where(falls, entering, basis[here, k])
    return swapped


def inverses(matrices: Floats) -> Floats:
    """The inverse of each matrix; NaN where it is singular or not finite, which is the affair of that block alone."""
    sound = np.isfinite(matrices).all(axis=(1, 2), keepdims=True)
    safe = np.where(sound, matrices, np.eye(matrices.shape[2]))
    try:
        found: Floats = np.linalg.inv(safe)
    except np.linalg.LinAlgError:
        found = np.array([_inverse(matrix) for matrix in safe]).reshape(safe.shape)
    return np.where(sound, found, np.nan)


def _inverse(matrix: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan)
