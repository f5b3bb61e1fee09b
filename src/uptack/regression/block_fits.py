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

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.progress import track
from uptack.regression.block_vertices import inverses, vertices
from uptack.table.exact_sum import Floats

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

SIDE_BY_SIDE = 1 << 18
"""Rows of blocks of people that are fitted at a time."""


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
    found, told = _fits(x, y, members, None, kind, progress, shortest=shortest)
    return _sided(found, told)


def fit_people(x: Floats, y: Floats, blocks: Sequence[NDArray[np.int64]], weights: Floats, kind: str) -> Floats:
    """The same for blocks of people: the rows of each block, and a weight for every row of the table.

    **Lemma.** A fit is a function of the rows of its block, their weights and the number of the block, to the last bit.
    How many rows a block has is its own secret, so no shape may depend on other blocks: each block is padded to the
    power of two next to its own number of rows, and all products are worked out block by block. Blocks of one width
    are only put side by side, which the arithmetic of a block does not see (a test compares them with blocks alone).
    """
    widths = np.array([max(rows.size - 1, 1).bit_length() for rows in blocks], np.int64)
    found, told = np.zeros((len(blocks), x.shape[1])), np.zeros((len(blocks), x.shape[1]), bool)
    padded = np.append(weights, 0.0)
    for width in np.unique(widths).tolist():
        alike = np.flatnonzero(widths == width)
        for some in np.split(alike, range(SIDE_BY_SIDE >> width or 1, alike.size, SIDE_BY_SIDE >> width or 1)):
            members = np.full((some.size, 1 << width), -1)
            for line, block in zip(members, some.tolist(), strict=True):
                line[: blocks[block].size] = blocks[block]
            found[some], told[some] = _fits(x, y, members, padded[members], kind)
    return _sided(found, told)


def _sided(found: Floats, told: NDArray[np.bool_]) -> Floats:
    """The coefficients that blocks tell, and those beyond all others, on the side of the block's number."""
    sides = np.where(np.arange(len(found)) % 2 == 0, -BEYOND, BEYOND)
    return np.where(told, found, sides[:, None])


def _fits(
    x: Floats,
    y: Floats,
    members: NDArray[np.int64],
    weights: Floats | None,
    kind: str,
    progress: bool | None = False,
    *,
    shortest: bool = False,
) -> tuple[Floats, NDArray[np.bool_]]:
    """The coefficients of each block, and which of them it tells. `weights` are those of the members, None for ones."""
    x, y = np.vstack([x, np.zeros((1, x.shape[1]))]), np.append(y, 0.0)  # -1, where there is no row, reads this one
    present = members >= 0
    with np.errstate(all="ignore"):
        xs, ys = x[members], y[members]
        xs, columns = _in_units(xs, _exponents(np.abs(xs).max(axis=1, initial=0.0)))
        ys, response = _in_units(ys[..., None], _exponents(_typical(ys, present)[:, None]))
        responses = np.clip(ys[..., 0], -FAR, FAR)
        median = _masked_median if weights is None else _weighted_median
        beta = _fitted(
            xs, responses, present.astype(np.float64) if weights is None else weights, kind, progress, median
        )
        found = np.clip(np.ldexp(beta, response - columns), -BEYOND, BEYOND)
        told = np.isfinite(found) & (present.sum(axis=1, keepdims=True) >= x.shape[1])
        if not shortest:
            told &= _inflation(xs) <= INFLATION
    return found, told


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


def _fitted(
    xs: Floats, ys: Floats, counted: Floats, kind: str, progress: bool | None, median: Callable[[Floats, Any], Floats]
) -> Floats:
    """The coefficients, by least squares with weights that are chosen anew a fixed number of times."""
    beta = _least_squares(xs, ys, counted)
    for _ in track(range(0 if kind == "ols" else ITERATIONS), "fitting blocks", show=progress):
        away = np.abs(ys - np.einsum("mij,mj->mi", xs, beta))
        rounding = ROUNDING * (1 + np.abs(beta).max(axis=1))
        spread = np.maximum(median(away, counted), rounding)[:, None] / 0.6745
        if kind == "huber":
            weight = counted * np.minimum(1.0, HUBER * spread / np.maximum(away, 2.0**-1000))
        else:
            weight = counted * 1e-6 * spread / np.maximum(away, 1e-6 * spread)
        beta = _least_squares(xs, ys, weight)
    return vertices(xs, ys, counted, beta) if kind == "lad" else beta


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


def _masked_median(values: Floats, counted: NDArray[Any]) -> Floats:
    """The lower median of each line, of the entries that count; 0 for a line without any."""
    present = counted > 0
    ordered = np.sort(np.where(present, values, np.inf), axis=1)
    middle = np.maximum(present.sum(axis=1) - 1, 0) // 2
    found: Floats = np.take_along_axis(ordered, middle[:, None], axis=1)[:, 0]
    return np.where(np.isfinite(found), found, 0.0)


def _weighted_median(values: Floats, weights: Floats) -> Floats:
    """The least value of each line up to which half of the weight lies; for weights of 0 and 1 the lower median."""
    present = weights > 0
    order = np.argsort(np.where(present, values, np.inf), axis=1, kind="stable")
    reached = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    middle = (reached >= reached[:, -1:] / 2).argmax(axis=1)
    found: Floats = np.take_along_axis(values, np.take_along_axis(order, middle[:, None], axis=1), axis=1)[:, 0]
    return np.where(present.any(axis=1) & np.isfinite(found), found, 0.0)
