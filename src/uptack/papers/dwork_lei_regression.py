"""R_S and R_H of Dwork and Lei: the short-cut regression, and the robust one."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account
from uptack.account import Outcome as Found
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms import dwork_lei
from uptack.mechanisms.additive_noise import GridMechanism, calibrated_laplace
from uptack.mechanisms.dwork_lei import Level
from uptack.noise import Entropy, IntegerLaplace
from uptack.papers.dwork_lei_estimates import HOW, LEAST_EPSILON, LEAST_N, noisy_median, spread, unfit
from uptack.privacy import loss
from uptack.reach.hampel_certificate import LARGEST, GridCell
from uptack.reach.l_statistics import quartiles
from uptack.registry import release
from uptack.regression.block_assignment import BlockedDesign
from uptack.regression.hampel import (
    LONGER,
    MOST,
    SHORTCUT,
    STEPS,
    WIDTHS,
    CellProposal,
    CellTest,
    FittedRows,
    RowTest,
    least_squares_in_blocks,
)
from uptack.release import Advice, NoReply, Release
from uptack.table.exact_sum import Floats


@release(data=("D_x", "D_y"), page="papers")
def R_S(
    D_x: Any, D_y: Any, eps: Rational, *, delta: Rational | None = None, entropy: Entropy | None = None
) -> Release[Floats] | NoReply:
    """R_S: coefficients by the short cut, or ⊥ (report, section 7.1).

    The rows are put into m = ⌊n/p⌋ random blocks of p, or of p + 1 where p does not divide n. Each block gives its
    least squares estimate, a singular one the shortest; M is run on the m estimates of each coefficient.

    **Theorem.** (4pε, 4pδ')-differentially private under SUBSTITUTE, for any data, with M's δ'. (In print 6pε, and a
    singular blocks are not mentioned: leaving them out would make m depend on the data.)

    The design is D_x as it is: add a column of ones for an intercept.

    >>> from uptack import SeededEntropy
    >>> X = np.random.default_rng(0).normal(size=(40_000, 2))
    >>> R_S(X, X @ [1, 2], 1, delta=1e-6, entropy=SeededEntropy(1)).privacy
    Privacy(epsilon=8.0, delta=8e-06)
    """
    data, level, account = _read_arguments("R_S", D_x, D_y, eps, delta, entropy)
    m, p = data.n // data.p, data.p
    if advice := unfit(m, level, tests=4 * p):
        return account.close(Found.refusal(HOW, replace(advice, n=None if advice.n is None else p * advice.n)))
    estimates, values = least_squares_in_blocks(data, data.n, m, account), []
    for column in estimates.T:
        x, blocks = np.ascontiguousarray(column), account.through(loss.Partition)
        scale = spread(x, quartiles(m), dwork_lei.log_width(m), level, blocks)
        median = None if scale is None else noisy_median(x, scale.value, level, blocks)
        if median is None:
            return account.close(Found.refusal(HOW, _advice(data, level)))
        values += [median.value]
    return account.close(Found(np.array(values), HOW))


@release(data=("D_x", "D_y"), page="papers")
def R_H(
    D_x: Any, D_y: Any, eps: Rational, *, delta: Rational | None = None, entropy: Entropy | None = None
) -> Release[Floats] | NoReply:
    """R_H: the β that minimises Σ|y_i - x_i·β|/‖x_i‖, or ⊥ (report, section 7.2).

    The estimates of R_S's blocks give a scale s_d by S for each coefficient, and widths h_d = s_d·n^(-1/4), for p > 2
    s_d·n^(-1/2p), and n^(-1/2) for s_d = 0. In each of the 2^p grids of cells, moved by half a cell along some of the
    axes, A_2 is the number of rows to add or remove for a minimiser to leave its cell; reply with the first grid where
    A_2 + Lap(2/ε) is above ln²n + 2, with β_d + Lap(p·h_d/ε).

    **Theorem.** ((2p + max(2^p, 2))ε, 2pδ' + 2^p·δ'')-differentially private under SUBSTITUTE, for any data, with
    S's δ' and δ'' the chance that noise of scale 2/ε alone carries a test; both are `delta` if it is given. (In print
    11ε for p = 2, with Lap(1/ε), a threshold of ln(n²) + 2, and Lap(h_d/ε): none of them is enough.)

    A_2 is the lower bound of `uptack.reach.hampel_certificate`, which has the same constant;
    `uptack.regression.hampel` proves the test, for each grid as for all. For more than 4 columns the reply is ⊥,
    and costs nothing.

    >>> from uptack import SeededEntropy
    >>> X = np.random.default_rng(0).normal(size=(40_000, 2))
    >>> R_H(X, X @ [1, 2], 1, delta=1e-6, entropy=SeededEntropy(1)).privacy
    Privacy(epsilon=8.0, delta=8e-06)
    """
    data, level, account = _read_arguments("R_H", D_x, D_y, eps, delta, entropy)
    p, m = data.p, data.n // data.p
    if data.n > LARGEST:
        raise InvalidArgument("D_x", f"a table of at most {LARGEST} rows", data.n)
    if p > MOST:
        return account.close(Found.refusal(HOW, SHORTCUT))
    test = _row_test(data, level)
    short = m < LEAST_N or 2 * p * level.delta + 2**p * Fraction(test.test.delta) >= 1
    if advice := unfit(m, level, tests=2 * p) or (_advice(data, level) if short else None):
        return account.close(Found.refusal(HOW, replace(advice, n=p * (advice.n or 0) or None)))
    blocks, estimates = account.through(loss.Partition), least_squares_in_blocks(data, data.n, m, account)
    scales = [spread(c, quartiles(m), dwork_lei.log_width(m), level, blocks) for c in estimates.T]
    found = [s.value for s in scales if s is not None]
    if len(found) < p:
        return account.close(Found.refusal(HOW, _advice(data, level)))
    narrow = data.n ** (-1 / max(2 * p, 4))
    widths = np.array([s * narrow if s > dwork_lei.LEAST else data.n**-0.5 for s in found])
    return _cascade(data, np.clip(widths, *WIDTHS), test, account, level)


def _cascade(
    data: BlockedDesign, widths: Floats, test: RowTest, account: Account, level: Level
) -> Release[Floats] | NoReply:
    """One test for each of the 2^p grids, and the answer of the first that passes."""
    p, answer = data.p, loss.Answer(level.epsilon)
    grids = CellProposal(tuple(widths), 2, (test,) * 2**p)  # the noises are alike: it does not matter whose is whose
    cascade = loss.Cascade(tuple(loss.Unit(test.test, answer) for _ in grids.tests), same_answer=True)
    rows = FittedRows.of(data)
    if account.draw(CellTest(cascade, (grids,)), rows) is None:
        return account.close(Found.refusal(HOW, _advice(data, level)))
    noisy = []
    for b, h in zip(rows.beta, widths, strict=True):  # each costs ε/p
        law, grid = calibrated_laplace(p * Fraction(h) * (1 + LONGER), level.epsilon, 1)
        noise = GridMechanism(loss.Pure(level.epsilon / p), law, grid)
        noisy.append(float(account.prepaid().draw(noise, np.array([_float(b)]))[0]))
    return account.close(Found(np.array(noisy), HOW))


def _float(b: Fraction) -> float:
    """The nearest float, in its range. Where a cell holds β it is off by at most 2^-15·h, for which LONGER has room."""
    largest = Fraction(np.finfo(np.float64).max)
    return float(min(max(b, -largest), largest))


def _row_test(data: BlockedDesign, level: Level) -> RowTest:
    """The test on A_2. The papers' threshold of ln²n + 2 rows lets noise of more than ln²n rows through."""
    unset = RowTest(loss.Test(level.epsilon, 0), 2)
    if level.cutoff is None:
        return replace(unset, test=loss.Test(level.epsilon, level.delta))
    steps = math.floor(STEPS * math.log(max(data.n, 2)) ** 2) + 1
    false_pass = Fraction(math.ceil(unset.noise.exact_tail(steps).bounds()[1] * 10**40), 10**40)
    return replace(unset, test=loss.Test(level.epsilon, false_pass))


def Q_2(u: Floats, y: Floats, cell: GridCell) -> int:
    """The exact answer: rows to add or remove for some minimiser of Σ|y_i - u_i·β| to lie outside the cell, p ≤ 2.

    By Lemma 22 it is ⌈‖γ‖⌉ for the shortest subgradient γ at any point outside or on the boundary. The points to look
    at are, on each line u_i·β = y_i, where it meets others or the sides of the cell, and one between each two of those:
    O(n³) for p = 2.
    """
    there = u.any(axis=1)
    u, y = u[there], y[there]
    points = _corners(u, y, cell) if len(u) else cell.high[None, :]
    points = points[((points <= cell.low) | (points >= cell.high)).any(axis=1)]
    r = y - points @ u.T
    on = np.abs(r) <= 1e-9 * (1 + np.abs(y))
    gradient = -np.where(on, 0.0, np.sign(r)) @ u
    least, bound = np.inf, np.linalg.norm(gradient, axis=1) - on.sum(axis=1)
    for k in np.argsort(bound, kind="stable"):
        if bound[k] >= least:
            break
        least = min(least, _shortest(gradient[k], u[on[k]]))
    return math.ceil(least - 1e-7)


def _shortest(gradient: Floats, edges: Floats) -> float:
    """The least ‖gradient + Σ a_i·edge_i‖ over |a_i| ≤ 1 in the plane: the distance of 0 to a polygon."""
    flat = np.zeros((len(edges) + 1, 2))
    flat[:-1, : gradient.size] = edges
    centre = np.zeros(2)
    centre[: gradient.size] = gradient
    flat *= np.where((flat[:, 1] < 0) | ((flat[:, 1] == 0) & (flat[:, 0] < 0)), -1.0, 1.0)[:, None]
    flat = flat[np.argsort(np.arctan2(flat[:, 1], flat[:, 0]), kind="stable")]
    half = np.cumsum(np.vstack([-flat.sum(axis=0), 2 * flat]), axis=0)
    corners = centre + np.vstack([half, -half])
    sides = np.roll(corners, -1, axis=0) - corners
    left = sides[:, 1] * corners[:, 0] - sides[:, 0] * corners[:, 1]
    if (left > -1e-12).all() and left.sum() > 1e-9:  # 0 is to the left of every side
        return 0.0
    share = np.clip(-(corners * sides).sum(axis=1) / np.maximum((sides**2).sum(axis=1), 1e-300), 0.0, 1.0)
    return float(np.linalg.norm(corners + share[:, None] * sides, axis=1).min())


def _corners(u: Floats, y: Floats, cell: GridCell) -> Floats:
    """The points of `Q_2`: for p = 1 the data's own, and the ends of the cell."""
    if u.shape[1] == 1:
        own = np.unique(np.concatenate([y / u[:, 0], cell.low, cell.high]))
        return np.concatenate([own, (own[1:] + own[:-1]) / 2, [own[0] - 1, own[-1] + 1]])[:, None]
    across = np.concatenate([u, np.eye(2), np.eye(2)])
    at = np.concatenate([y, cell.low, cell.high])
    points = []
    for row, value in zip(across, at, strict=True):  # the cell's own sides too
        foot, along = row * value, np.array([-row[1], row[0]])
        slope = across @ along
        meets = np.abs(slope) > 1e-12
        t = np.unique((at[meets] - across[meets] @ foot) / slope[meets])
        t = np.concatenate([t, (t[1:] + t[:-1]) / 2, [t[0] - 1, t[-1] + 1]])
        points.append(foot + t[:, None] * along)
    return np.concatenate(points)


def _read_arguments(
    name: str, D_x: Any, D_y: Any, eps: Rational, delta: Rational | None, entropy: Entropy | None
) -> tuple[BlockedDesign, Level, Account]:
    """The table, what each stage spends, and the account that it is written into."""
    epsilon = checks.epsilon(eps, "eps")
    if epsilon < LEAST_EPSILON:
        raise InvalidArgument("eps", "at least 1e-9", checks.describe(eps))
    false_pass = None if delta is None else checks.inside_unit("delta", delta)
    account = Account.open(name, epsilon, entropy=entropy, unit="eps")
    data = BlockedDesign.of(D_x, D_y, False, "ignore")
    m = max(data.n // data.p, 1)
    return data, Level.printed(epsilon, m) if false_pass is None else Level(epsilon, false_pass), account


def _advice(data: BlockedDesign, level: Level) -> Advice:
    """Twice the rows, and at least as many as the scales need for their tests."""
    noise = IntegerLaplace(2 / level.epsilon)
    steps = noise.cutoff(level.delta) + 3 * float(noise.scale)
    return Advice(n=max(2 * data.n, math.ceil(40 * data.p * steps)))
