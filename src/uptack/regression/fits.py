"""A linear fit in every block of rows, all blocks at once: least squares, Huber's loss, or absolute deviations.

**One row, one block.** A fit is a fixed function of the rows of its block and of the number of the block: products and
solutions are worked out block by block, in arrays whose shape is public, and nothing is raised or warned of whatever
the rows are. So one replaced row changes one line of the result, and no other by a single bit.

**Blocks without a fit.** A block with fewer rows than coefficients tells nothing, and one in which a column is
constant or a combination of others does not tell its coefficient. What it does not tell is -`BEYOND` if the number of
the block is even and +`BEYOND` if it is odd. So such blocks pull a median to neither side, and widen the spread of the
blocks, where a fixed value such as 0 would pull the median and narrow the spread.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.columns.table import Floats
from uptack.progress import track
from uptack.regression.vertices import inverses, vertices

ITERATIONS = 30
HUBER = 1.345
"""Residuals beyond so many standard deviations count less: 95% efficient on normal errors."""

ROUNDING = 2.0**-26
"""Spreads of residuals below this part of the fit are taken to be as large: the ridge alone leaves about 1e-10."""

BEYOND = 2.0**300
"""The estimates of blocks without a fit, and the largest of others."""

INFLATION = 1e7
"""The variance of a coefficient over what it would be if its column were orthogonal to the others, beyond which a block
does not tell it: the ridge would move it by more than a part in a thousand."""

FAR = 2.0**400
"""Responses beyond so many times the typical one of their block are cut to this. No weight of theirs is felt, and no
sum overflows."""


def fit_blocks(
    x: Floats,
    y: Floats,
    members: NDArray[np.int64],
    kind: str,
    progress: bool | None = False,
    *,
    shortest: bool = False,
) -> Floats:
    """One line of coefficients a block: least squares ("ols"), Huber's loss ("huber") or absolute deviations ("lad").

    `members` has the rows of each block in a line, and -1 where there is none. With `shortest` the coefficients that a
    block does not tell are those of the shortest solution, unless it has too few rows.
    """
    present = members >= 0
    x, y = np.vstack([x, np.zeros((1, x.shape[1]))]), np.append(y, 0.0)  # -1, where there is no row, reads this one
    with np.errstate(all="ignore"):
        xs, ys = x[members], y[members]
        xs, columns = _in_units(xs, _exponents(np.abs(xs).max(axis=1, initial=0.0)))
        ys, response = _in_units(ys[..., None], _exponents(_typical(ys, present)[:, None]))
        responses = np.clip(ys[..., 0], -FAR, FAR)
        beta = _fitted(xs, responses, present.astype(np.float64), kind, progress)
        found = np.clip(np.ldexp(beta, response - columns), -BEYOND, BEYOND)
        told = np.isfinite(found) & (present.sum(axis=1, keepdims=True) >= x.shape[1])
        if not shortest:
            told &= _inflation(xs) <= INFLATION
    sides = np.where(np.arange(len(members)) % 2 == 0, -BEYOND, BEYOND)
    return np.where(told, found, sides[:, None])


def _inflation(xs: Floats) -> Floats:
    """The diagonal of the inverse of XᵀX, columns scaled to length 1: up to 1e10, which the ridge sees to."""
    gram, _ = _gram(xs, xs)
    diagonal: Floats = np.einsum("mjj->mj", inverses(gram))
    return diagonal


def _typical(ys: Floats, present: NDArray[np.bool_]) -> Floats:
    """The median of what is not 0 among |y|; 0 where all is."""
    return _masked_median(np.abs(ys), present & (ys != 0))


def _exponents(sizes: Floats) -> NDArray[np.int32]:
    """The powers of two next to positive numbers; that of 1 for 0."""
    exponents: NDArray[np.int32] = np.frexp(np.where(sizes > 0, sizes, 1.0))[1]
    return exponents


def _in_units(values: Floats, exponents: NDArray[np.int32]) -> tuple[Floats, NDArray[np.int32]]:
    """Columns in units of powers of two of their own, so that no square of theirs overflows, and these powers."""
    scaled: Floats = np.ldexp(values, -exponents[:, None, :])
    return scaled, exponents


def _fitted(xs: Floats, ys: Floats, present: Floats, kind: str, progress: bool | None) -> Floats:
    """The coefficients, by least squares with weights that are chosen anew a fixed number of times."""
    beta = _least_squares(xs, ys, present)
    for _ in track(range(0 if kind == "ols" else ITERATIONS), "fitting blocks", show=progress):
        away = np.abs(ys - np.einsum("mij,mj->mi", xs, beta))
        rounding = ROUNDING * (1 + np.abs(beta).max(axis=1))
        spread = np.maximum(_masked_median(away, present > 0), rounding)[:, None] / 0.6745
        if kind == "huber":
            weight = present * np.minimum(1.0, HUBER * spread / np.maximum(away, 2.0**-1000))
        else:
            weight = present * 1e-6 * spread / np.maximum(away, 1e-6 * spread)
        beta = _least_squares(xs, ys, weight)
    return vertices(xs, ys, present, beta) if kind == "lad" else beta


def _gram(weighted: Floats, xs: Floats) -> tuple[Floats, Floats]:
    """XᵀWX of every block, columns scaled to length 1, with a ridge of 1e-10 for singular blocks, and the lengths."""
    gram = np.matmul(weighted.transpose(0, 2, 1), xs)
    size = np.sqrt(np.maximum(np.einsum("mjj->mj", gram), 1e-300))
    return gram / size[:, :, None] / size[:, None, :] + 1e-10 * np.eye(xs.shape[2]), size


def _least_squares(xs: Floats, ys: Floats, weight: Floats) -> Floats:
    """Weighted least squares in every block."""
    weighted = xs * weight[..., None]
    gram, size = _gram(weighted, xs)
    moment = np.einsum("mij,mi->mj", weighted, ys) / size
    beta: Floats = np.einsum("mij,mj->mi", inverses(gram), moment) / size
    return beta


def _masked_median(values: Floats, present: NDArray[np.bool_]) -> Floats:
    """The lower median of each line, of the entries that are there; 0 for a line without any."""
    ordered = np.sort(np.where(present, values, np.inf), axis=1)
    middle = np.maximum(present.sum(axis=1) - 1, 0) // 2
    found: Floats = np.take_along_axis(ordered, middle[:, None], axis=1)[:, 0]
    return np.where(np.isfinite(found), found, 0.0)
