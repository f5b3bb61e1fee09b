"""Rows dealt to blocks, a linear fit in every block at once, and the medians of these fits with their errors.

**One row, one block.** A fit is a fixed function of the rows of its block and of the number of the block: products and
solutions are worked out block by block, in arrays whose shape is public, and nothing is raised or warned of whatever
the rows are. So one replaced row changes one line of the result, and no other by a single bit.

**Blocks without a fit.** A block with fewer rows than coefficients tells nothing, and one in which a column is
constant or a combination of others does not tell its coefficient. What it does not tell is -`BEYOND` if the number of
the block is even and +`BEYOND` if it is odd. So such blocks pull a median to neither side, and widen the spread of the
blocks, where a fixed value such as 0 would pull the median and narrow the spread.

**Least absolute deviations** in many blocks at once: from near a minimiser to a vertex that is one. Some minimiser of
Σ|y_i - x_i·β| passes through p independent rows exactly: a vertex. A step of the simplex method (in the form of
Barrodale and Roberts 1973) leaves one of these rows, in a direction along which the sum falls, and goes to the row
where it is least.

*Ties.* Where many rows meet in a point, as for exact data, steps may lead nowhere. So the search is made on responses
that are moved by public amounts of 2^-38, and the vertex is then worked out from the responses as they are.

*Singular blocks.* A row for each coefficient, which says that it is 0, and which counts for 2^-20, makes every block
regular.

The number of steps is fixed, so a block that needs more gets the best it came to. `uptack.papers.hampel_fit` has
the exact one, for a single table.

**Errors**, in units of the released spread. With m blocks, whose estimates of a coefficient β are normal with standard
deviation σ, the median of the estimates is normal around β with standard deviation sqrt(π/2m)·σ. The released
coefficient is off from that by noise, and the released interquartile range, over 1.349, is off from σ. Both draws have
weights e^(-ε·score/2), so their laws depend on public numbers alone: on m, on the number of coefficients, on the rows a
person has, and on ε.

**One coordinate of a draw.** Let W(k) be the length of the side of box k, the same for all p coordinates. The density
of one coordinate at a point of score s is proportional to the integral of e^(-ε·max(s, k)/2) over the scores k of the
p - 1 others, which are at most k in a volume of W(k)^(p-1):

    g(s) = e^(-εs/2)·W(s)^(p-1) + ∫ e^(-εk/2) dW^(p-1) over k > s.

Medians: side k reaches from Φ⁻¹(1/2 - κ) to Φ⁻¹(1/2 + κ), κ = gk/m. Ranges, measured by their logarithm, as candidates
are spaced: from 2·Φ⁻¹(3/4 - κ/2), both ends moved alike, to Φ⁻¹(3/4) + Φ⁻¹(3/4 + κ), one end moved.

So P(|error| > t·spread) is a sum over two grids of scores, and t is found for each confidence. What is left out: the
estimates of small blocks have longer tails than normal ones, which makes the spread larger in comparison, and skewed
errors shift the medians of small blocks by about a twelfth of their skewness times σ/sqrt(rows per block).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.account import Account, Outcome
from uptack.blocks.partition import chosen_blocks, equal_blocks, independent_blocks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, read
from uptack.mechanisms import inverse_sensitivity as inverse
from uptack.mechanisms.inverse_sensitivity import InverseDraw, Refusal
from uptack.mechanisms.plausible_range import Lattice
from uptack.multivariate.entrance import read_design
from uptack.noise import MachineNumbers
from uptack.progress import track
from uptack.reach import InterquantileRange, Reach
from uptack.reach.l_statistics import quartiles
from uptack.release import Advice, EachNoise
from uptack.statistics.column_options import Question
from uptack.statistics.quantiles import statistic as quantile_statistic
from uptack.statistics.statistic import outcome_for_size
from uptack.table.exact_sum import Floats
from uptack.table.memory.table import as_column
from uptack.table.protocol import Columns, Of, Rows


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """The design matrix, with a first column of ones if there is an intercept, the response, and which rows have both.

    Other rows are zeros, and take part in nothing.
    """

    x: Floats
    y: Floats
    complete: NDArray[np.bool_]


def finite(design: Floats, response: Floats, fit_intercept: bool) -> DesignMatrix:
    """The matrices, with rows that are not finite set to 0 and marked."""
    if fit_intercept:
        design = np.column_stack([np.ones(len(design)), design])
    broken = ~(np.isfinite(design).all(axis=1) & np.isfinite(response))
    if broken.any():
        design, response = np.where(broken[:, None], 0.0, design), np.where(broken, 0.0, response)
    return DesignMatrix(np.ascontiguousarray(design), response, ~broken)


Indices = NDArray[np.int64]

SHORT = 0.02
"""The share of blocks that may get fewer rows than coefficients, where rows are secret in number."""

CROWD = 16
"""Rows beyond twice the usual number that a block holds where rows choose their blocks; more are left out."""


TOGETHER = 1 << 21
"""Numbers in the rows of the blocks that are in memory together, of a table that is read in batches; more where there
would be too many parts."""

PARTS = 1 << 8
OFTEN = 16
"""Rows per person that are allowed for in this. How many there are is secret, and decides the room taken only."""


def rows_needed(p: int, question: Question) -> float:
    """Rows per block, in the mean, from which on hardly any block has fewer than p.

    Where rows may be missing, or come and go, the number in a block is like a Poisson number of mean λ, or varies less,
    and P(N < p) = P(χ² of 2p degrees > 2λ).
    """
    import scipy

    return float(scipy.special.gammainccinv(p, SHORT)) if question.size_is_secret else p + 1


def settle_rows(groups: Indices, data: DesignMatrix, rows: Indices) -> Indices:
    """The order of some rows by their groups, and in each group by the bits of y, then of x.

    So it does not depend on the order in which rows come, but for rows that are equal to the last bit.
    """
    y = data.y[rows].view(np.int64)
    order = np.lexsort((y, groups))
    alike = (groups[order][1:] == groups[order][:-1]) & (y[order][1:] == y[order][:-1])
    if not alike.any():
        return order
    return np.lexsort((*np.ascontiguousarray(data.x[rows].T).view(np.int64), y, groups))


def seat_rows(data: DesignMatrix, rows: Indices, chosen: Indices, blocks: int, room: int) -> Indices:
    """The rows of each block, which they chose, in the order of their bits, as many as there is room for."""
    order, counts = settle_rows(chosen, data, rows), np.bincount(chosen, minlength=blocks)
    place = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    members, inside = np.full((blocks, room), -1), place < room
    members[chosen[order][inside], place[inside]] = rows[order][inside]
    return members


@dataclass(frozen=True, eq=False)
class BlockedDesign:
    """X and y whose rows, or people, are dealt to blocks; `transform` gives the rows of a part other coordinates.

    Where an engine keeps the order of rows, blocks are those of the same rows in memory, to the last bit.
    """

    rows: Rows
    leading: bool
    missing: str
    transform: Callable[[DesignMatrix], DesignMatrix] | None = None

    @staticmethod
    def of(x: Any, y: Any, leading: bool, missing: str) -> BlockedDesign:
        design, response = read_design(x, y)
        return BlockedDesign(Columns([*design, response]).rows("drop"), leading, missing)

    @property
    def of_people(self) -> bool:
        return self.rows.unit.people

    @property
    def n(self) -> int:
        return self.rows.size

    @property
    def p(self) -> int:
        return self.rows.width - 1 + self.leading

    def count_complete(self) -> int:
        """How many rows are complete, or people have such a row. Where none may be missing, some are an error for the
        curator."""
        if self.missing == "error" and self.rows.lacking():
            fix = "Pass missing='drop' to leave each such row out of its fit."
            raise InvalidArgument("X and y", "free of NaN and infinities", "some", fix)
        return self.rows.n

    def in_memory(self) -> DesignMatrix:
        """All rows, where they are their own; those that are not complete are zeros."""
        held = self.rows.in_memory()
        lines: Floats = held.lines
        if lines.shape[1] < held.size:
            lines = np.full((len(lines), held.size), np.nan)
            lines[:, np.arange(held.lines.shape[1]) if held.kept is None else held.kept] = held.lines
        return self._matrix(lines)

    def _matrix(self, rows: Floats) -> DesignMatrix:
        data = finite(rows[:-1].T, rows[-1], self.leading)
        return data if self.transform is None else self.transform(data)

    def deal_rows(self, n: int, blocks: int, account: Account) -> Iterator[tuple[DesignMatrix, Indices]]:
        """Rows of some blocks, an even number of them at a time, and the complete rows of each of these in a line, -1
        where there is none; n is the public number of rows.

        **Lemma.** The number of blocks is fixed, and one row that is replaced, or one that comes or goes, changes the
        rows of one block, whatever the order of a scan is, and however it depends on the rows. Under SUBSTITUTE all
        rows are dealt, evenly, and those that are not complete are then left out of their blocks. Under ADD_REMOVE each
        complete row chooses its block by itself, and a line is a function of the set of rows that chose its block
        (`seat_rows`). *Proof.* All rows come from one scan, in which each has one place. Places are dealt by numbers
        that have nothing to do with rows. If every way to deal them is equally likely, so is every way to deal *rows*,
        and let two tables that differ in one row deal their common rows alike, to the same blocks and to the same
        places in them. If every place chooses its block by itself, so does every row, and let common rows choose alike.
        Then blocks but one have the same set of rows, in the order of `seat_rows`. ∎
        """
        if account.adjacency.size_is_public:
            slots, width = _slots(account.toss(lambda entropy: equal_blocks(self.n, blocks, entropy)), self.n)
            for here, at, data in self._parts(slots, blocks, width, width, "all"):
                members = np.full((here, width), -1)
                members.reshape(-1)[at] = np.arange(at.size)
                yield data, members
            return
        chosen = account.toss(lambda entropy: chosen_blocks(self.rows.n, blocks, entropy))
        usual = -(-n // blocks)
        for here, at, data in self._parts(chosen, blocks, usual, 1, "complete"):
            yield data, seat_rows(data, np.arange(at.size), at, here, 2 * usual + CROWD)

    def deal_people(self, blocks: int, account: Account) -> Iterator[tuple[DesignMatrix, list[Indices], Floats]]:
        """Rows of the people of some blocks, the complete rows of each block, and the weights of rows.

        **Lemma.** One person's rows are in one block, whichever they are and however many
        (`uptack.blocks.partition`), for any order of a scan. Under SUBSTITUTE all people are dealt, evenly, and
        rows that are not complete are then left out. Under ADD_REMOVE each person who has a complete row chooses her
        block by herself. People are numbered in the order of their ids, and the rows of a person are in the order of
        their bits: so nothing depends on the order in which they are read.
        """
        public = account.adjacency.size_is_public
        people, deal = (self.n, equal_blocks) if public else (self.rows.n, independent_blocks)
        slots, width = _slots(account.toss(lambda entropy: deal(people, blocks, entropy)), people)
        for here, at, data in self._parts(slots, blocks, width, width, "all" if public else "complete"):
            order = settle_rows(at, data, np.arange(at.size))
            ends = np.searchsorted(at[order] // width, np.arange(1, here))
            _, whose, counts = np.unique(at, return_inverse=True, return_counts=True)
            yield data, np.split(order, ends), 1.0 / counts[whose]

    def _parts(
        self, slots: Indices, blocks: int, width: int, places: int, of: Of
    ) -> Iterator[tuple[int, Indices, DesignMatrix]]:
        """How many blocks are in memory together, the slots of their rows among so many places a block, and the rows.

        It is an even number of blocks of about this width, so large that there are not too many parts.
        """
        together = TOGETHER // OFTEN if self.of_people else TOGETHER
        some = max(together // (width * self.rows.width), -(-blocks // PARTS), 1)
        some += some % 2
        for part, (at, rows) in enumerate(self.rows.deal(slots, some * places, -(-blocks // some), of)):
            first = part * some
            yield min(some, blocks - first), at - first * places, self._matrix(rows)


def _slots(members: Indices, size: int) -> tuple[Indices, int]:
    """The place of each of so many among the members of blocks, line after line, and the length of a line."""
    slots = np.empty(size, np.int64)
    slots[members[members >= 0]] = np.flatnonzero(members.reshape(-1) >= 0)
    return slots, members.shape[1]


# ------------------------------------------------------------------------------------------------------- fits of blocks


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
    basis = _independent_rows(rows, np.abs(y - np.einsum("mij,mj->mi", rows, start)), p)
    for _ in range(10 + 4 * p):
        basis = _simplex_step(rows, shaken, weights, basis)
    found = np.einsum("mjk,mk->mj", inverses(_at(rows, basis)), np.take_along_axis(y, basis, axis=1))
    away = [np.abs(y - np.einsum("mij,mj->mi", rows, beta)) for beta in (found, near)]
    sums = [np.nan_to_num((weights * each).sum(axis=1), nan=np.inf) for each in away]
    return np.where((sums[0] <= sums[1])[:, None] & np.isfinite(found).all(axis=1, keepdims=True), found, near)


def _at(rows: Floats, basis: NDArray[np.int64]) -> Floats:
    return np.take_along_axis(rows, basis[..., None], axis=1)


def _independent_rows(rows: Floats, away: Floats, p: int) -> NDArray[np.int64]:
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


def _simplex_step(rows: Floats, y: Floats, weights: Floats, basis: NDArray[np.int64]) -> NDArray[np.int64]:
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
    ones = (members >= 0).astype(np.float64)
    return _mark_untold(*_fit_side_by_side(x, y, members, ones, kind, progress, shortest=shortest))


def fit_people(x: Floats, y: Floats, blocks: Sequence[NDArray[np.int64]], weights: Floats, kind: str) -> Floats:
    """The same for blocks of people: the rows of each block, and a weight for every row of the table.

    **Lemma.** A fit is a function of the rows of its block, their weights and the number of the block, to the last bit.
    How many rows a block has is its own secret, so no shape may depend on other blocks: each block is padded to the
    power of two next to its own number of rows, and all products are worked out block by block. Blocks of one width
    are only put side by side, which the arithmetic of a block does not see (a test compares them with blocks alone).
    """
    widths = np.array([max(rows.size - 1, 1).bit_length() for rows in blocks], np.int64)
    beta, told = np.zeros((len(blocks), x.shape[1])), np.zeros((len(blocks), x.shape[1]), bool)
    padded = np.append(weights, 0.0)
    for width in np.unique(widths).tolist():
        alike = np.flatnonzero(widths == width)
        for some in np.split(alike, range(SIDE_BY_SIDE >> width or 1, alike.size, SIDE_BY_SIDE >> width or 1)):
            members = np.full((some.size, 1 << width), -1)
            for line, block in zip(members, some.tolist(), strict=True):
                line[: blocks[block].size] = blocks[block]
            beta[some], told[some] = _fit_side_by_side(x, y, members, padded[members], kind)
    return _mark_untold(beta, told)


def _mark_untold(beta: Floats, told: NDArray[np.bool_]) -> Floats:
    """The coefficients, with those that a block does not tell beyond all others, on the side of the block's number."""
    sides = np.where(np.arange(len(beta)) % 2 == 0, -BEYOND, BEYOND)
    return np.where(told, beta, sides[:, None])


def _fit_side_by_side(
    x: Floats,
    y: Floats,
    members: NDArray[np.int64],
    weights: Floats,
    kind: str,
    progress: bool | None = False,
    *,
    shortest: bool = False,
) -> tuple[Floats, NDArray[np.bool_]]:
    """The coefficients of each block, and which of them it tells. `weights` are those of the members.

    Columns are in units of powers of two of their own, so that no square of theirs overflows.
    """
    x, y = np.vstack([x, np.zeros((1, x.shape[1]))]), np.append(y, 0.0)  # -1, where there is no row, reads this one
    present = members >= 0
    with np.errstate(all="ignore"):
        xs, ys = x[members], y[members]
        typical = _median(np.abs(ys), present & (ys != 0))
        columns, response = _exponents(np.abs(xs).max(axis=1, initial=0.0)), _exponents(typical)[:, None]
        xs, ys = np.ldexp(xs, -columns[:, None, :]), np.clip(np.ldexp(ys, -response), -FAR, FAR)
        beta = np.clip(np.ldexp(_fit(xs, ys, weights, kind, progress), response - columns), -BEYOND, BEYOND)
        told = np.isfinite(beta) & (present.sum(axis=1, keepdims=True) >= x.shape[1])
        if not shortest:  # up to an inflation of 1e10, which the ridge sees to
            told &= np.einsum("mjj->mj", inverses(_gram(xs, xs)[0])) <= INFLATION
    return beta, told


def _exponents(sizes: Floats) -> NDArray[np.int32]:
    """The powers of two next to positive numbers; that of 1 for 0."""
    exponents: NDArray[np.int32] = np.frexp(np.where(sizes > 0, sizes, 1.0))[1]
    return exponents


def _fit(xs: Floats, ys: Floats, weights: Floats, kind: str, progress: bool | None) -> Floats:
    """The coefficients, by least squares with weights that are chosen anew a fixed number of times."""
    beta = _least_squares(xs, ys, weights)
    for _ in track(range(0 if kind == "ols" else ITERATIONS), "fitting blocks", show=progress):
        away = np.abs(ys - np.einsum("mij,mj->mi", xs, beta))
        rounding = ROUNDING * (1 + np.abs(beta).max(axis=1))
        spread = np.maximum(_median(away, weights), rounding)[:, None] / 0.6745
        if kind == "huber":
            weight = weights * np.minimum(1.0, HUBER * spread / np.maximum(away, 2.0**-1000))
        else:
            weight = weights * 1e-6 * spread / np.maximum(away, 1e-6 * spread)
        beta = _least_squares(xs, ys, weight)
    return vertices(xs, ys, weights, beta) if kind == "lad" else beta


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


def _median(values: Floats, weights: NDArray[Any]) -> Floats:
    """The least value of each line up to which half of the weight lies, the lower median for weights of 0 and 1; 0 for
    a line without any weight.
    """
    present = weights > 0
    order = np.argsort(np.where(present, values, np.inf), axis=1, kind="stable")
    reached = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    middle = (reached >= reached[:, -1:] / 2).argmax(axis=1)
    median: Floats = np.take_along_axis(values, np.take_along_axis(order, middle[:, None], axis=1), axis=1)[:, 0]
    return np.where(present.any(axis=1) & np.isfinite(median), median, 0.0)


# ---------------------------------------------------------------------------------------------------- medians of blocks


GRID, TINY, ENDS = 128, 1e-300, (-40.0, 20.0)
QUARTILE = 0.6744897501960817
RANGE_ERROR = 1.1664
"""The standard deviation of an interquartile range of m normal numbers, over the range, times sqrt(m)."""


@dataclass(frozen=True)
class ScoreDraw:
    """The scores of one coordinate out of p, drawn with ε, for people with up to g of m blocks."""

    blocks: int
    coordinates: int
    rows: int
    epsilon: float

    def scores(self, most: float) -> Floats:
        """A grid that is finer near 0, up to `most` shares of blocks, or where hardly any draw is."""
        end = min(2 / self.epsilon * (2 * self.coordinates + 60), most * self.blocks / self.rows)
        return end * np.linspace(0, 1, GRID + 1) ** 2

    def shares(self, sides: Floats, scores: Floats) -> Floats:
        """How likely each piece of the grid is, by the lengths of sides at its ends; in logarithms, p may be large."""
        with np.errstate(divide="ignore"):
            others, length = (self.coordinates - 1) * np.log(np.maximum(sides, TINY)), np.log(np.diff(sides))
            fall = -self.epsilon / 2 * (scores[1:] + scores[:-1]) / 2
            grown = others[1:] + np.log1p(-np.exp(np.minimum(others[:-1] - others[1:], 0)))
        above = np.append(np.logaddexp.accumulate((fall + grown)[::-1])[::-1][1:], -np.inf)
        weights = np.logaddexp(fall + others[1:], above) + length
        shares: Floats = np.exp(weights - np.logaddexp.reduce(weights))
        return shares


@dataclass(frozen=True)
class CoefficientErrors:
    """Standard errors of released coefficients, themselves private, with the privacy noise in them."""

    spreads: tuple[float, ...]
    medians: ScoreDraw
    ranges: ScoreDraw

    @property
    def standard_errors(self) -> tuple[float, ...]:
        """Of sampling and of the noise together."""
        noise, shares = self._noise
        deviation = math.sqrt(math.pi / 2 / self.medians.blocks + float((shares * noise**2).sum()))
        return tuple(deviation * spread for spread in self.spreads)

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """β ± t·spread, for the population's coefficients."""
        t = self.times(float(1 - read(confidence)))
        reach = np.array([t * spread if spread else 0.0 for spread in self.spreads])
        return value - reach, value + reach

    def times(self, outside: float) -> float:
        """t with P(|error| > t·spread) = `outside`; infinite where spreads of so few blocks may be too small for any t.

        Nearer to 0 than e^-40 it is that.
        """
        import scipy

        low, high = ENDS
        if self._beyond(math.exp(high)) >= outside:
            return math.inf
        if self._beyond(math.exp(low)) <= outside:
            return math.exp(low)
        return math.exp(scipy.optimize.brentq(lambda log: self._beyond(math.exp(log)) - outside, low, high, xtol=1e-6))

    @cached_property
    def _noise(self) -> tuple[Floats, Floats]:
        """How far the noise carries a median, one rank more for rounding outward, and with which chance."""
        import scipy

        scores, per_score = self.medians.scores(0.499), self.medians.rows / self.medians.blocks
        carried = scipy.special.ndtri(0.5 + np.minimum(((scores[1:] + scores[:-1]) / 2 + 1) * per_score, 0.4999))
        return carried, self.medians.shares(scipy.special.ndtri(0.5 + scores * per_score) * 2, scores)

    @cached_property
    def _spread(self) -> tuple[Floats, Floats]:
        """Released spreads over true ones, and with which chance: first the pieces below 1, then those above."""
        import scipy

        scores = self.ranges.scores(0.249)
        share = scores * self.ranges.rows / self.ranges.blocks
        low = np.log(scipy.special.ndtri(0.75 - share / 2) / QUARTILE)
        high = np.log((1 + scipy.special.ndtri(0.75 + share) / QUARTILE) / 2)
        shares = self.ranges.shares(high - low, scores)
        below = shares * np.diff(-low) / np.diff(high - low)
        ratios = np.concatenate([(low[1:] + low[:-1]) / 2, (high[1:] + high[:-1]) / 2])
        return np.exp(ratios), np.concatenate([below, shares - below])

    def _beyond(self, t: float) -> float:
        """P(|error| > t·spread): a normal number for both sampling errors, moved by the noise to either side."""
        import scipy

        (noise, chances), (ratios, likely) = self._noise, self._spread
        m = self.medians.blocks
        sampling = np.sqrt(math.pi / 2 / m + (RANGE_ERROR * t * ratios) ** 2 / m)
        ends = t * ratios[:, None] + np.array([-1, 1])[:, None, None] * noise
        return float(scipy.special.ndtr(-ends / sampling[:, None]).sum(axis=0) @ chances @ likely)


Room = tuple[Lattice, int]
"""The lattice of candidates, and how many people may change before the draw sees the end of the data."""


def range_room(
    blocks: int, dimension: int, rows: int, epsilon: Fraction, lattices: tuple[MachineNumbers, ...]
) -> Room | None:
    """What so many blocks allow for; None where they are too few, which is public."""
    (low, high), slack = quartiles(blocks), inverse.slack_needed(epsilon)
    return inverse.finest(min(low - 1, blocks - high) // rows - slack, epsilon, dimension, lattices)


def draw_ranges(estimates: Floats, given: Room, account: Account) -> Floats | None:
    """One interquartile range a column, or ⊥, for all ε of the account. A person's rows are in as many blocks as it
    says that she has rows."""
    (lattice, steps), rows = given, account.rows
    ranks = quartiles(len(estimates))
    reaches: list[Reach] = [InterquantileRange(column, ranks, steps, rows) for column in estimates.T]
    refusal = Refusal(usable_blocks(estimates, ranks, rows), secret=True)
    nested = replace(inverse.boxes(reaches, steps, lattice, nonnegative=True), refusal=refusal)
    drawn = account.draw(InverseDraw.of(account.epsilon), nested)
    return None if drawn is None else np.array([lattice.value(place) for place in drawn])


def usable_blocks(estimates: Floats, ranks: tuple[int, int], rows: int) -> int:
    """How many people may change before some coefficient's rank comes to a block without a fit; -1 if it is at one.

    One person changes up to `rows` blocks, and each of them moves the numbers of blocks without a fit at both ends by
    at most one: so this moves by at most one.
    """
    below, above = (estimates <= -BEYOND).sum(axis=0), (estimates >= BEYOND).sum(axis=0)
    free = np.minimum(ranks[0] - 1 - below, len(estimates) - ranks[1] - above)
    return max(int(free.min()) // rows, -1)


HOW = "inverse sensitivity"
ROWS_PER_COEFFICIENT = 8
"""Rows per block for each coefficient: fits of smaller blocks are noisier, and fewer blocks give a noisier median."""

SPREAD_SHARE = Fraction(1, 3)
"""The part of the budget that standard errors get, where they are asked for."""

SPREAD_LATTICES = tuple(MachineNumbers(mantissa_bits=bits) for bits in range(20, 5, -1))
"""Candidates for a standard error: one part in a hundred is precise enough."""

TELLING = "columns that vary in more rows and are less collinear"


def medians_with_errors(estimates: Floats, question: Question, advice: Advice) -> Outcome[Floats]:
    """The medians of block estimates, and their spreads."""
    (m, p), (part, rest) = estimates.shape, question.split(1 - SPREAD_SHARE, SPREAD_SHARE)
    room = range_room(m, p, rest.rows, rest.epsilon, SPREAD_LATTICES)
    if room is None:
        return question.refuse(HOW, advice)
    found = medians(estimates, part, advice)
    if found.value is None:
        return found
    ranges = draw_ranges(estimates, room, rest)
    if ranges is None:
        return question.refuse(HOW, replace(advice, other=TELLING))
    draws = (ScoreDraw(m, p, question.rows, float(share.epsilon)) for share in (part, rest))
    return replace(found, noise=CoefficientErrors(tuple((ranges / (2 * QUARTILE)).tolist()), *draws))


def medians(estimates: Floats, question: Question, advice: Advice) -> Outcome[Floats]:
    """The median of every coefficient over blocks, by one draw where the method is inverse sensitivity."""
    if question.method != "inverse":
        return _in_turn(estimates, question)
    (m, p), slack = estimates.shape, inverse.slack_needed(question.epsilon)
    room = inverse.finest(inverse.median_room(m, question.rows) - slack, question.epsilon, p, inverse.VECTOR_LATTICES)
    if room is None:
        return question.refuse(HOW, advice)
    rank = (m + 1) // 2
    refusal = Refusal(usable_blocks(estimates, (rank, rank), question.rows), secret=True)
    nested = replace(inverse.median_boxes(estimates, room, question.rows), refusal=refusal)
    drawn = question.draw(InverseDraw.of(question.epsilon), nested)
    if drawn is None:
        return question.refuse(HOW, replace(advice, other=TELLING))
    return Outcome(room[0].values(drawn), HOW)


def _in_turn(estimates: Floats, question: Question) -> Outcome[Floats]:
    """One median after the other, each with an equal part of the budget."""
    found: list[Outcome[float]] = []
    (m, p), median = estimates.shape, quantile_statistic(Fraction(1, 2))
    for column, part in zip(estimates.T, question.split(*[Fraction(1, p)] * p), strict=True):
        one = outcome_for_size(median, as_column("estimates", np.ascontiguousarray(column)), m, part)
        if one.value is None:  # what it says of n is about blocks
            rows = ((one.advice and one.advice.n) or m) * ROWS_PER_COEFFICIENT * p
            return Outcome.refusal(one.how, Advice(n=rows, other=one.advice.other if one.advice else ""))
        found.append(one)
    values = np.array([one.value for one in found])
    return Outcome(values, found[0].how, EachNoise(tuple(one.noise for one in found)))
