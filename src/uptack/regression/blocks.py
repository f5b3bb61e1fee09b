"""A random partition of the rows into blocks, and a fit in every block, all blocks at once.

A fit looks at the rows of its block alone, so one replaced row changes one block's estimate: neighbours stay so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.noise import Entropy
from uptack.progress import track

Floats = NDArray[np.float64]

ITERATIONS = 30
HUBER = 1.345
"""Residuals beyond so many standard deviations count less: 95% efficient on normal errors."""


def equal_blocks(n: int, blocks: int, entropy: Entropy) -> NDArray[np.int64]:
    """Rows in random order, one line a block; -1 fills the lines of blocks that are one row shorter."""
    order = _shuffled(n, entropy)
    size = -(-n // blocks)
    filled = np.full(blocks * size, -1)
    filled[:n] = order
    return filled.reshape(size, blocks).T.copy()


def independent_blocks(n: int, blocks: int, entropy: Entropy) -> NDArray[np.int64]:
    """Each row in a block of its own choice, as added and removed rows need it; one line a block, filled with -1."""
    chosen = entropy.integers(blocks, n)
    order = np.argsort(chosen, kind="stable")
    counts = np.bincount(chosen, minlength=blocks)
    place = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    filled = np.full((blocks, max(int(counts.max(initial=0)), 1)), -1)
    filled[chosen[order], place] = order
    return filled


def of_width(members: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Blocks of a public width: one row more then can't change how the sums of all other blocks are rounded."""
    filled, kept = np.full((len(members), width), -1), members[:, :width]
    filled[:, : kept.shape[1]] = kept
    return filled


def _shuffled(n: int, entropy: Entropy) -> NDArray[np.int64]:
    """A uniform permutation: the order of random keys, drawn again in the one case in 10^6 (n = 10^6) of a tie."""
    while True:
        keys = entropy.integers(1 << 63, n)
        order = np.argsort(keys)
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order


def fit_blocks(x: Floats, y: Floats, members: NDArray[np.int64], kind: str, progress: bool | None = False) -> Floats:
    """One line of coefficients a block: least squares ("ols"), Huber's loss ("huber") or absolute deviations ("lad").

    Singular blocks get the shortest solution, blocks without rows and fits that are not finite get 0: fixed functions
    of the block.
    """
    present = (members >= 0).astype(np.float64)
    x, y = np.vstack([x, np.zeros((1, x.shape[1]))]), np.append(y, 0.0)  # -1, where there is no row, reads this one
    xs, ys = x[members], y[members]
    weight = present
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        beta = _least_squares(xs, ys, weight)
        for _ in track(range(0 if kind == "ols" else ITERATIONS), "fitting blocks", show=progress):
            away = np.abs(ys - np.einsum("mij,mj->mi", xs, beta))
            spread = _masked_median(away, present)[:, None] / 0.6745
            if kind == "huber":
                weight = present * np.minimum(1.0, HUBER * spread / np.maximum(away, 1e-300))
            else:
                weight = present / np.maximum(away, 1e-6 * spread + 1e-300)
                weight /= np.maximum(weight.max(axis=1, keepdims=True), 1e-300)
            beta = _least_squares(xs, ys, weight)
    return np.where(np.isfinite(beta).all(axis=1, keepdims=True), beta, 0.0)


def _least_squares(xs: Floats, ys: Floats, weight: Floats) -> Floats:
    """Weighted least squares in every block, columns scaled to length 1, with a ridge of 1e-10 for singular blocks."""
    weighted = xs * weight[..., None]
    gram = np.matmul(weighted.transpose(0, 2, 1), xs)
    size = np.sqrt(np.maximum(np.einsum("mjj->mj", gram), 1e-300))
    gram = gram / size[:, :, None] / size[:, None, :]
    gram = np.nan_to_num(gram, posinf=0.0, neginf=0.0) + 1e-10 * np.eye(xs.shape[2])
    moment = np.einsum("mij,mi->mj", weighted, ys) / size
    solved: Floats = np.linalg.solve(gram, moment[..., None])[..., 0] / size
    return solved


def _masked_median(values: Floats, present: Floats) -> Floats:
    """The median of each line, of the entries that are there; 0 for a line without any."""
    ordered = np.sort(np.where(present > 0, values, np.inf), axis=1)
    middle = np.maximum(present.sum(axis=1).astype(np.int64) - 1, 0) // 2
    found: Floats = np.take_along_axis(ordered, middle[:, None], axis=1)[:, 0]
    return np.where(np.isfinite(found), found, 0.0)
