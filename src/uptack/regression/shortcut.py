"""Short-cut regression (R_S of Dwork and Lei): a fit in each of many random blocks, and the medians of the fits.

**Reach.** Given the partition, one person's rows are in at most g blocks, so the vector of coordinate medians of the m
block estimates has as its reach the product of the coordinates' intervals [β(r - gk), β(r + gk)]: each axiom holds
coordinate by coordinate, and no coordinate pays for another.

**No silent failure.** Blocks without enough rows, and coefficients that a block does not tell, lie beyond all others,
on both sides alike (`uptack.regression.fits`). ⊥ is a candidate of the draw (`uptack.mechanisms.inverse`). So the
chance of a reply from beyond the blocks that do tell each coefficient is at most one in a million, whatever the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.columns import ArrayColumn
from uptack.columns.table import Floats, Table, table
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.inverse import (
    VECTOR_LATTICES,
    Refusal,
    decay,
    finest,
    inverse_loss,
    median_boxes,
    median_room,
    slack_needed,
    steps_needed,
)
from uptack.noise import IntegerLaplace, MachineNumbers
from uptack.privacy import loss
from uptack.registry import release
from uptack.registry.reads import DESIGN
from uptack.regression import spreads
from uptack.regression.arguments import RegressionOptions, coefficient_names
from uptack.regression.dealing import dealt, dealt_people, rows_needed
from uptack.regression.fits import fit_blocks, fit_people
from uptack.regression.intervals import QUARTILE, CoefficientErrors, Draw
from uptack.release import Advice, EachNoise, NoReply, Release
from uptack.statistics.arguments import COUNT_SHARE, Question, asked, public_size
from uptack.statistics.methods import run
from uptack.statistics.quantiles import statistic as quantile_statistic

HOW = "inverse sensitivity"
FITS = ("huber", "lad", "ols")
ROWS_PER_COEFFICIENT = 8
"""Rows per block for each coefficient: fits of smaller blocks are noisier, and fewer blocks give a noisier median."""

SPREAD_SHARE = Fraction(1, 3)
"""The part of the budget that standard errors get, where they are asked for."""

SPREAD_LATTICES = tuple(MachineNumbers(exponent_bits=9, mantissa_bits=bits, tapered=True) for bits in range(20, 5, -1))
"""Candidates for a standard error: one part in a hundred is precise enough."""


RARE = Fraction(1, 1000)
"""How often a table of the advised size may be counted as too small."""

TELLING = "columns that are neither rare nor constant nor nearly combinations of others"


@release(
    reads=DESIGN,
    by=True,
    people=True,
    data=("x", "y"),
    missing="ignore",
    examples=({}, {"standard_errors": True}),
)
def shortcut_regression(
    x: Any,
    y: Any,
    *,
    epsilon: Rational,
    blocks: int | None = None,
    block_fit: str = "huber",
    fit_intercept: bool = True,
    standard_errors: bool = False,
    progress: bool | None = False,
    **options: Unpack[RegressionOptions],
) -> Release[Floats] | NoReply:
    """Coefficients of a linear regression with no bounds on the data: intercept first, if there is one.

    **Theorem.** `method="inverse"` draws all coefficients at once from nested boxes and is ε-differentially private.
    `"ptr"` and `"dwork-lei"` (R_S as printed: one M per coefficient) are (ε, δ)-differentially private. Given the
    random partition neighbours stay neighbours (`uptack.privacy.loss.Partition`); under ADD_REMOVE each row goes to a
    block of its own random choice, and the number of blocks comes from a private count.

    `block_fit` is "huber" (default), "lad" or "ols"; the robust ones survive gross errors in single rows, of which one
    percent reaches a good part of all blocks. `blocks` is chosen from n, the number of coefficients and ε if left out.

    `missing` may be "error" or "ignore". With "ignore" a row without all its values takes part in nothing: a tenth of ε
    goes into a noisy number of the complete rows, from which the number of blocks comes.

    ⊥, at the full price, is also the answer where too few blocks tell some coefficient: because its column is constant,
    rare, or nearly a combination of others.

    `standard_errors=True` (for `method="inverse"`) spends a third of the budget on the spread of the block estimates;
    `result.interval()` is then an interval for the population's coefficients that allows for sampling and for the
    privacy noise. `progress=True` shows how far a long fit is.

    With `person=` people are dealt to blocks, each with all her rows, and weigh one in the fit of their block: the
    coefficients are those of a random row of a random person. Blocks are then independent samples of people, so that
    standard errors are right for panels, whatever the rows of one person have in common. Numbers of rows in what is
    said here are numbers of people, and `progress` shows nothing.
    """
    missing = checks.choice("missing", options.get("missing", "error"), ("error", "ignore"))
    told = {**options, "missing": "drop" if missing == "ignore" else "error"}
    question = asked("short-cut regression", epsilon, told)
    kind = checks.choice("block_fit", block_fit, FITS)
    wanted = None if blocks is None else checks.integer("blocks", blocks, least=1)
    if standard_errors and question.method != "inverse":
        raise InvalidArgument("standard_errors", "False for this method", True, "Take method='inverse'.")
    data = table(x, y, fit_intercept=fit_intercept, missing=missing)
    if wanted and question.adjacency.size_is_public and data.n < wanted * data.p:
        must = f"at most {data.n // data.p}, so that each has {data.p} {question.adjacency.unit}"
        raise InvalidArgument("blocks", must, wanted)
    fit = partial(_fitted, data, kind, progress)
    found, labels = _found(data, fit, wanted, standard_errors, question), coefficient_names(data.p, bool(fit_intercept))
    return question.account.close(replace(found, labels=labels))


def _fitted(data: Table, kind: str, progress: bool | None, n: int, blocks: int, account: Account) -> Floats:
    """The fits of so many blocks of rows, or of people, each of whom weighs one."""
    if data.whose is None:
        return fit_blocks(data.x, data.y, dealt(data, n, blocks, account), kind=kind, progress=progress)
    return fit_people(data.x, data.y, dealt_people(data, blocks, account), data.weights, kind)


def _found(
    data: Table,
    fit: Callable[[int, int, Account], Floats],
    wanted: int | None,
    standard_errors: bool,
    question: Question,
) -> Outcome[Floats]:
    """The number of blocks, the blocks and their fits, and the medians."""
    early = _too_small(data, question, standard_errors) if wanted is None else None
    if early is not None:
        return early
    n, question = public_size(data.complete_units, question)
    m, advice = _plan(n, data.p, question, standard_errors)
    if wanted and question.size_is_secret and n < wanted * data.p:
        return question.refuse("block medians", Advice(other="fewer blocks"))
    m = wanted or m
    if m < 1:
        return question.refuse("block medians", advice)
    estimates = fit(n, m, question.account)
    in_blocks = replace(question, account=question.account.through(loss.Partition))
    return (_with_errors if standard_errors else _medians)(estimates, in_blocks, advice)


def _plan(n: int, p: int, question: Question, standard_errors: bool) -> tuple[int, Advice]:
    """The number of blocks, 0 where n does not allow for enough of them, and how many rows would do."""
    needed, rows = least_blocks(p, question, standard_errors), rows_needed(p, question)
    return default_blocks(n, p, needed, rows), Advice(n=math.ceil(max(2 * p, rows) * needed))


def _too_small(data: Table, question: Question, standard_errors: bool) -> Outcome[Any] | None:
    """⊥ that costs nothing, where n is public: what all rows can't do, those that are complete can't."""
    if not question.adjacency.size_is_public:
        return None
    rest, room = question, 0
    if question.size_is_secret:
        share = question.epsilon * COUNT_SHARE
        rest, room = question.part(1 - COUNT_SHARE), IntegerLaplace(question.rows / share).cutoff(RARE)
    m, advice = _plan(data.n, data.p, rest, standard_errors)
    return None if m else Outcome.refusal("block medians", Advice(n=(advice.n or 0) + room))


def _with_errors(estimates: Floats, question: Question, advice: Advice) -> Outcome[Floats]:
    """The medians of block estimates, and their spreads."""
    (m, p), (part, rest) = estimates.shape, question.split(1 - SPREAD_SHARE, SPREAD_SHARE)
    room = spreads.room(m, p, rest.rows, rest.epsilon, SPREAD_LATTICES)
    if room is None:
        return question.refuse(HOW, advice)
    found = _medians(estimates, part, advice)
    if found.value is None:
        return found
    ranges = spreads.draw(estimates, room, rest.rows, rest.epsilon, rest.entropy)
    rest.account.spend(inverse_loss(rest.epsilon))
    if ranges is None:
        return question.refuse(HOW, replace(advice, other=TELLING))
    draws = (Draw(m, p, question.rows, float(share.epsilon)) for share in (part, rest))
    return replace(found, noise=CoefficientErrors(tuple((ranges / (2 * QUARTILE)).tolist()), *draws))


def _medians(estimates: Floats, question: Question, advice: Advice) -> Outcome[Floats]:
    if question.method != "inverse":
        return _in_turn(estimates, question)
    (m, p), slack = estimates.shape, slack_needed(question.epsilon)
    room = finest(median_room(m, question.rows) - slack, question.epsilon, p, VECTOR_LATTICES)
    if room is None:
        return question.refuse(HOW, advice)
    nested, rank = median_boxes(estimates, room, question.rows), (m + 1) // 2
    told = spreads.told(estimates, (rank, rank), question.rows)
    drawn = nested.draw(decay(question.epsilon), question.entropy, Refusal(told, secret=True))
    tree = inverse_loss(question.epsilon)
    if drawn is None:
        return question.refuse(HOW, replace(advice, other=TELLING), tree)
    return question.answer(room[0].values(drawn), tree, HOW)


def _in_turn(estimates: Floats, question: Question) -> Outcome[Floats]:
    """One median after the other, each with an equal part of the budget."""
    found: list[Outcome[float]] = []
    (m, p), median = estimates.shape, quantile_statistic(Fraction(1, 2))
    for column, part in zip(estimates.T, question.split(*[Fraction(1, p)] * p), strict=True):
        one = run(median, ArrayColumn(np.ascontiguousarray(column)), m, part)
        if one.value is None:  # what it says of n is about blocks
            rows = ((one.advice and one.advice.n) or m) * ROWS_PER_COEFFICIENT * p
            return Outcome.refusal(one.how, Advice(n=rows, other=one.advice.other if one.advice else ""))
        found.append(one)
    values = np.array([one.value for one in found])
    return Outcome(values, found[0].how, EachNoise(tuple(one.noise for one in found)))


def default_blocks(n: int, p: int, needed: int, rows: float) -> int:
    """About 8 rows a coefficient in each block, or more blocks if so many are needed; 0 if n does not allow that."""
    m = max(min(n // (ROWS_PER_COEFFICIENT * p), int(n / rows)), needed)
    return m if n >= m * rows else 0


def least_blocks(p: int, question: Question, standard_errors: bool) -> int:
    """How many blocks a reply needs: medians on a lattice of 24 bits, and quartiles on the coarsest for the errors."""
    if question.method != "inverse":
        return 3
    share = SPREAD_SHARE if standard_errors else Fraction(0)
    lattice = next(candidate for candidate in VECTOR_LATTICES if candidate.mantissa_bits == 24)
    medians = 2 * _steps(question.epsilon * (1 - share), lattice, p) + 2
    if not standard_errors:
        return question.rows * medians
    return question.rows * max(medians, 4 * _steps(question.epsilon * share, SPREAD_LATTICES[-1], p) + 4)


def _steps(epsilon: Fraction, lattice: MachineNumbers, p: int) -> int:
    """How many steps a draw of p numbers looks ahead, at most."""
    return steps_needed(epsilon, lattice.size**p) + slack_needed(epsilon)
