"""R_S and R_H of Dwork and Lei: the short-cut regression, and the robust one."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms import dwork_lei
from uptack.mechanisms.additive_noise import GridMechanism, calibrated_laplace
from uptack.mechanisms.dwork_lei import Level
from uptack.noise import Entropy, IntegerLaplace
from uptack.papers.block_assignment import BlockedDesign
from uptack.papers.dwork_lei_estimates import HOW, LEAST_EPSILON, LEAST_N, noisy_median, spread, unfit
from uptack.papers.hampel import (
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
from uptack.privacy import loss
from uptack.reach.hampel_certificate import LARGEST
from uptack.reach.l_statistics import quartiles
from uptack.registry import release
from uptack.release import Advice, NoReply, Release
from uptack.table.exact_sum import Floats


@release(data=("D_x", "D_y"), page="papers")
def R_S(
    D_x: Any, D_y: Any, eps: Rational, *, delta: Rational | None = None, entropy: Entropy | None = None
) -> Release[Floats] | NoReply:
    """R_S: coefficients by the short cut, or ⊥ (report, section 7.1).

    The rows are put into m = ⌊n/p⌋ random blocks of p, or of p + 1 where p does not divide n. Each block gives its
    least squares estimate, a singular one the shortest; M is run on the m estimates of each coefficient.

    **Theorem.** (4pε, 4pδ')-differentially private under SUBSTITUTE, for any data, with M's δ'. (In print 6pε, and
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
        return account.close(Outcome.refusal(HOW, replace(advice, n=None if advice.n is None else p * advice.n)))
    estimates, values = least_squares_in_blocks(data, data.n, m, account), []
    for column in estimates.T:
        x, blocks = np.ascontiguousarray(column), account.through(loss.Partition)
        scale = spread(x, quartiles(m), dwork_lei.log_width(m), level, blocks)
        median = None if scale is None else noisy_median(x, scale.value, level, blocks)
        if median is None:
            return account.close(Outcome.refusal(HOW, _advice(data, level)))
        values += [median.value]
    return account.close(Outcome(np.array(values), HOW))


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
    `uptack.papers.hampel` proves the test, for each grid as for all. For more than 4 columns the reply is ⊥,
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
        return account.close(Outcome.refusal(HOW, SHORTCUT))
    test = _row_test(data, level)
    short = m < LEAST_N or 2 * p * level.delta + 2**p * Fraction(test.test.delta) >= 1
    if advice := unfit(m, level, tests=2 * p) or (_advice(data, level) if short else None):
        return account.close(Outcome.refusal(HOW, replace(advice, n=p * (advice.n or 0) or None)))
    blocks, estimates = account.through(loss.Partition), least_squares_in_blocks(data, data.n, m, account)
    scales = [spread(c, quartiles(m), dwork_lei.log_width(m), level, blocks) for c in estimates.T]
    values = [scale.value for scale in scales if scale is not None]
    if len(values) < p:
        return account.close(Outcome.refusal(HOW, _advice(data, level)))
    narrow = data.n ** (-1 / max(2 * p, 4))
    widths = np.array([s * narrow if s > dwork_lei.LEAST else data.n**-0.5 for s in values])
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
        return account.close(Outcome.refusal(HOW, _advice(data, level)))
    noisy = []
    for b, h in zip(rows.beta, widths, strict=True):  # each costs ε/p
        law, grid = calibrated_laplace(p * Fraction(h) * (1 + LONGER), level.epsilon, 1)
        noise = GridMechanism(loss.Pure(level.epsilon / p), law, grid)
        noisy.append(float(account.prepaid().draw(noise, np.array([_float(b)]))[0]))
    return account.close(Outcome(np.array(noisy), HOW))


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


def _read_arguments(
    name: str, D_x: Any, D_y: Any, eps: Rational, delta: Rational | None, entropy: Entropy | None
) -> tuple[BlockedDesign, Level, Account]:
    """The table, what each stage spends, and the account that it is written into."""
    epsilon = checks.epsilon(eps, "eps")
    if epsilon < LEAST_EPSILON:
        raise InvalidArgument("eps", "at least 1e-9", checks.describe(eps))
    false_pass = None if delta is None else checks.inside_unit("delta", delta)
    account = Account.open(name, epsilon, entropy=entropy, unit="eps")
    data = BlockedDesign.of(D_x, D_y, False, "drop")
    m = max(data.n // data.p, 1)
    return data, Level.printed(epsilon, m) if false_pass is None else Level(epsilon, false_pass), account


def _advice(data: BlockedDesign, level: Level) -> Advice:
    """Twice the rows, and at least as many as the scales need for their tests."""
    noise = IntegerLaplace(2 / level.epsilon)
    steps = noise.cutoff(level.delta) + 3 * float(noise.scale)
    return Advice(n=max(2 * data.n, math.ceil(40 * data.p * steps)))
