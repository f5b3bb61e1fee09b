"""Robust regression (R_H of Dwork and Lei): Hampel's estimator H, a cell around it, a test, and noise of that size.

1. *Scales*, ε/5: the interquartile ranges of the fits in random blocks of p rows, drawn together by inverse
   sensitivity.
2. *Tests*, 2ε/5 and δ: a cell of widths h, in proportion to the scales, holds H and would hold it if a person's rows
   were others. That is the theorem of `uptack.regression.hampel_test`, for what is computed in floats. Where it fails,
   one wider proposal is tested.
3. *Answer*, 2ε/5: H with noise of the K-norm mechanism over the box of half-widths h. Where the test is right, H moves
   by at most h_d in each coordinate, so this costs ε once for all coordinates.

Propose-test-release: (ε_test + ε_answer, δ) for one proposal, and a cascade of two costs both tests and one answer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks
from uptack.account import Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.additive_noise import NormMechanism, NormNoise
from uptack.mechanisms.inverse_sensitivity import VECTOR_LATTICES, slack_needed, steps_needed
from uptack.noise import Box, Entropy, Grid
from uptack.privacy import SUBSTITUTE, Adjacency, loss
from uptack.reach.hampel_certificate import LARGEST
from uptack.registry import release
from uptack.regression import block_ranges
from uptack.regression.block_assignment import BlockedDesign, rows_needed
from uptack.regression.block_fits import fit_blocks
from uptack.regression.design_matrix import check_complete, in_memory
from uptack.regression.hampel_fit import minimiser, normalised
from uptack.regression.hampel_test import LONGER, CellProposal, CellTest, FittedRows, RowTest
from uptack.regression.regression_options import coefficient_names
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import Question, public_size, read_question
from uptack.table.exact_sum import Floats
from uptack.table.reads import DESIGN

HOW = "propose-test-release"
MOST = 4
"""Coefficients: facets and shifts grow exponentially in them."""

UNITS = "columns of similar size, centred near 0 by public numbers"
"""What helps where rows are not too few: the estimate hangs on units."""

SHORTCUT = Advice(other=f"at most {MOST} coefficients, or short-cut regression, which has no such limit")

SHIFTS = {1: 8, 2: 8, 3: 4, 4: 3}
"""Grids to a coordinate, by p. The papers have 2; with more, some cell has the fit nearer its middle."""

YIELD = {1: 0.3, 2: 0.25, 3: 0.13, 4: 0.06}
"""Rows that a cell of widths s·k/n certifies, over k: about two thirds of what normal errors and regressors give."""

SCALES, RUNGS = Fraction(1, 5), ((Fraction(8, 25), 1.0), (Fraction(2, 25), 6.0))
"""The parts of ε that the scales, and the tests of two proposals get, with how much wider the second is. The rest, 2/5,
is for the answer."""

WIDTHS = 1e-100, 1e100
"""Cells are neither narrower nor wider: squares of such widths are floats."""

LARGER = {1: 2.2, 2: 2.7, 3: 3.0, 4: 3.2}
"""Scales of fits to p rows over those of fits to the larger blocks where the number of rows is secret, by p."""


@release(reads=DESIGN, data=("x", "y"), missing="ignore", also="robust_regression", examples=({"delta": 1e-6},))
def hampel_regression(
    x: Any,
    y: Any,
    *,
    epsilon: Rational,
    delta: Rational,
    fit_intercept: bool = True,
    missing: str = "error",
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
) -> Release[Floats] | NoReply:
    """The β that minimises Σ|y_i - x_i·β|/‖x_i‖, with noise, or ⊥; the intercept first, if there is one.

    No row counts for more than its distance to β, so neither a gross error in y nor one in x carries the fit away.

    **Theorem.** (ε, δ)-differentially private for any data: ε/5 for scales, 2ε/5 and δ for the tests of two proposals,
    2ε/5 for the answer (`uptack.regression.hampel_test` has the proof). Under ADD_REMOVE, and with `missing="ignore"`,
    a tenth of ε is for the number of rows first.

    It is for up to 4 coefficients: for more the reply is ⊥, and costs nothing. H is not free of units: give columns of
    like size, centred near 0 where there is an intercept. With `missing="ignore"` rows that are not finite take part in
    nothing. `result.interval()` is about H of these rows, for all coefficients at once.

    >>> from uptack import SeededEntropy
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 1)); y = 1 + 2 * X[:, 0] + rng.normal(size=20_000)
    >>> y[:1000] = 1e9
    >>> fit = hampel_regression(X, y, epsilon=1, delta=1e-6, entropy=SeededEntropy(1))
    >>> bool(np.abs(fit.value - [1, 2]).max() < 0.5), fit.privacy
    (True, Privacy(epsilon=1.0, delta=1e-06))
    """
    kind = checks.choice("missing", missing, ("error", "ignore"))
    promised = {"delta": delta, "rows_per_person": rows_per_person, "adjacency": adjacency, "entropy": entropy}
    how = {"method": "ptr", "missing": "drop" if kind == "ignore" else "error"}
    question = read_question("robust regression", epsilon, {**promised, **how})
    data = BlockedDesign.of(x, y, bool(fit_intercept), kind)
    if data.n > LARGEST and not question.size_is_secret:
        raise InvalidArgument("X", f"a table of at most {LARGEST} rows", data.n)
    found, labels = _found(data, question), coefficient_names(data.p, bool(fit_intercept), x)
    return question.account.close(replace(found, labels=labels))


def _found(data: BlockedDesign, question: Question) -> Outcome[Floats]:
    """The scales of block fits, then the tests and the answer."""
    if data.p > MOST:
        return question.refuse(HOW, SHORTCUT)
    n, question = public_size(data.complete_units if question.size_is_secret else data.n, question)
    if n > LARGEST // 2 and question.size_is_secret:  # with room for the noise: a table beyond LARGEST never gets here
        return question.refuse(HOW, SHORTCUT)
    scales = _scales(data, n, question)
    if scales is None:
        return question.refuse(HOW, Advice(n=_least_rows(data.p, question)))
    return _tested(data, n, scales, question)


def _scales(data: BlockedDesign, n: int, question: Question) -> Floats | None:
    """The interquartile ranges of block fits, private; None where there are too few blocks, or they tell too little."""
    epsilon, rows = question.epsilon * SCALES, rows_needed(data.p, question) if question.size_is_secret else data.p
    m = max(int(n / rows), 1)
    room = block_ranges.room(m, data.p, question.rows, epsilon, VECTOR_LATTICES)
    if room is None:
        return None
    check_complete(data.rows, data.missing)  # after ⊥ by public numbers
    parts = data.deal_rows(n, m, question.account)
    estimates = np.vstack([fit_blocks(one.x, one.y, members, "ols", shortest=True) for one, members in parts])
    account = question.account.allot(epsilon, question.delta).through(loss.Partition)
    ranges = block_ranges.draw(estimates, room, account)
    usual = LARGER[data.p] if question.size_is_secret else 1.0
    return None if ranges is None else ranges * usual


def _tested(data: BlockedDesign, n: int, scales: Floats, question: Question) -> Outcome[Floats]:
    """The proposals in turn, from narrow to wide."""
    tests = _tests(question)
    answer = loss.Answer(question.epsilon * (1 - SCALES - sum(part for part, _ in RUNGS)))
    proposals = tuple(
        CellProposal(tuple(proposed(scales, n, times * tests[0].typical() / YIELD[data.p])), SHIFTS[data.p], (test,))
        for test, (_, times) in zip(tests, RUNGS, strict=True)
    )
    cascade = loss.Cascade(tuple(loss.Unit(t.test, answer) for t in tests))
    rows = in_memory(data.rows, data.leading)
    u, y = normalised(rows.x, rows.y)
    beta = minimiser(u, y)
    passed = question.account.draw(CellTest(cascade, proposals), FittedRows(u, y, beta))
    if passed is None:
        return question.refuse(HOW, Advice(n=max(2 * n, _least_rows(data.p, question)), other=UNITS))
    box = Box(tuple(Fraction(float(h)) * (1 + LONGER) for h in proposals[passed].widths))
    noise = vertex_noise(box, Fraction(answer.epsilon))
    noisy = noise.grid.points(question.account.prepaid().draw(noise, beta))
    return Outcome(noisy, HOW, NormNoise(box, float(noise.scale), float(Fraction(noise.grid.step)) / 2))


def _tests(question: Question) -> list[RowTest]:
    """What each proposal is tested with."""
    rows = question.rows * question.adjacency.moves_per_row
    share = question.delta / len(RUNGS)
    return [RowTest(loss.Test(question.epsilon * part, share), rows) for part, _ in RUNGS]


def proposed(scales: Floats, n: int, k: float) -> Floats:
    """The widths h = s·k/n; for s = 0 the papers' n^(-1/2), where any fixed positive number will do."""
    return np.clip(np.where(scales > 0, scales * k / max(n, 1), max(n, 1) ** -0.5), *WIDTHS)


def vertex_noise(box: Box, epsilon: Fraction) -> NormMechanism:
    """K-norm noise over the box, of scale 1/ε, on a rational point: `k_norm`, without rounding the point first."""
    scale = 1 / epsilon
    grid = Grid.finer_than(scale * min(Fraction(w) for w in box.half_widths))
    return NormMechanism(loss.Pure(epsilon), box, scale, grid)


def _least_rows(p: int, question: Question) -> int:
    """From where on the scales have blocks enough and a cell of a quarter of the scale passes its test."""
    epsilon, rows = question.epsilon * SCALES, rows_needed(p, question) if question.size_is_secret else p
    steps = steps_needed(epsilon, VECTOR_LATTICES[-1].size ** p) + slack_needed(epsilon)
    typical = _tests(question)[0].typical()
    return math.ceil(max(4 * typical / YIELD[p], rows * (4 * question.rows * steps + 8)))
