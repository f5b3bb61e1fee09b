"""Short-cut regression (R_S of Dwork and Lei): a fit in each of many random blocks, and the medians of the fits.

**Reach.** Given the partition, one person's rows are in at most g blocks, so the vector of coordinate medians of the m
block estimates has as its reach the product of the coordinates' intervals [β(r - gk), β(r + gk)]: each axiom holds
coordinate by coordinate, and no coordinate pays for another.

**No silent failure.** Blocks without enough rows, and coefficients that a block does not tell, lie beyond all others,
on both sides alike (`uptack.papers.block_fits`). ⊥ is a candidate of the draw
(`uptack.mechanisms.inverse_sensitivity`). So the chance of a reply from beyond the blocks that do tell each coefficient
is at most one in a million, whatever the data.

**Round coordinates.** The short cut takes a median per coefficient, so it depends on the coordinates: where columns are
nearly combinations of others, block fits lie along a thin slant ellipse, and the vector of their medians may be far
outside of it. In round coordinates z = A·(1, x) it is not. Fits b of y on z are coefficients β = Aᵀb of the
standardised columns.

**Theorem.** Let A, the scales and the centres be ε₁-private (`uptack.multivariate.scatter`), and the short cut
ε₂-private for any table and any choice of options. Then both are (ε₁ + ε₂)-private. For given A, scales and centres, z
is a function of its row alone, to the last bit: elementwise operations in a fixed order. So tables that differ in the
rows of one person still do so in z, and the short cut is ε₂-private for every outcome of what was released before. That
is adaptive composition. What is done to b afterwards, Aᵀb and the change of units, is a function of released numbers.
Rounds that were not needed leave their ε to the short cut, by a rule of released numbers: all parts together are at
most ε on every path. ∎
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.account import Account, Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.mechanisms.inverse_sensitivity import VECTOR_LATTICES, slack_needed, steps_needed
from uptack.multivariate.entrance import Sized, estimate_frame
from uptack.multivariate.row_sums import Sample, products
from uptack.multivariate.scatter import SHARES, rounds_for, rows_advised, whiten
from uptack.multivariate.standardise import Frame
from uptack.noise import IntegerLaplace, MachineNumbers
from uptack.papers import block_fits
from uptack.papers.block_fits import BlockedDesign, DesignMatrix
from uptack.papers.hampel_fit import normalise
from uptack.privacy import loss
from uptack.registry import release
from uptack.registry.options import Grouping
from uptack.regression.coefficients import coefficient_names
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import COUNT_SHARE, Promises, Question, public_size, read_question
from uptack.table.exact_sum import Floats
from uptack.table.reads import DESIGN


class RegressionOptions(Promises, Grouping, total=False):
    """Options of a regression.

    - `method`: "inverse" (default), "ptr" or "dwork-lei".
    - `missing`: "error" (default) tells the curator of rows without all their values, "drop" leaves them out.
    """

    method: str
    missing: str


KINDS = ("columns", "scatter")
SHARE = Fraction(1, 4)
"""The part of ε that coordinates get."""

GENTLE = 0.2
"""Coordinates need not be rounder: dummies of rare categories have no round ones (`uptack.multivariate.scatter`)."""

LARGEST = 2.0**1023
"""Coefficients in the units of the table are cut to this."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """z = A·(1, (x - centre)/scale, ...), all of it released, and the part of their ε that rounds did not use."""

    frame: Frame
    matrix: Floats
    saved: Fraction

    def transform(self, data: DesignMatrix) -> DesignMatrix:
        """Rows with z as their design; those that are not complete are zeros as before."""
        columns = data.x[:, int(self.frame.leading) :].T
        with np.errstate(all="ignore"):
            z = products(self.matrix, self.frame.standardised(columns)).T
        return replace(data, x=np.where(data.complete[:, None], z, 0.0))

    def back(self, fit: Floats) -> Floats:
        """Coefficients of the columns in their own units, from those of z."""
        frame, lead = self.frame, int(self.frame.leading)
        with np.errstate(all="ignore"):
            beta = self.matrix.T @ fit
            out = np.append(beta[:lead] - beta[lead:] @ frame.centres, beta[lead:] / frame.units)
        return np.clip(np.nan_to_num(out), -LARGEST, LARGEST)


def round_coordinates(data: BlockedDesign, n: int, leading: bool, account: Account) -> Coordinates | None:
    """Private coordinates of the predictors, for a public n; None where a column rarely varies.

    ε-private: scales and centres by inverse sensitivity, directions of rows with matrix Laplace noise.
    """
    # y is beside them: it has a say in which row of a person is in a pair
    rows = Sample.of(data.rows).first(data.p - leading)
    rounds = rounds_for(n, data.p - leading, account)
    for_scales, for_centres, for_signs = account.split(*SHARES)
    frame = estimate_frame(rows, Sized(n, True, account), (), (for_scales, for_centres), leading)
    if len(frame.kept) < rows.width:
        return None
    try:
        shape = whiten(rows, frame, float(n), rounds, for_signs, gentle=GENTLE)
    except np.linalg.LinAlgError:  # of released numbers, which are no use then
        return None
    return Coordinates(frame, shape.coordinates, for_signs.epsilon * (1 - Fraction(shape.rounds, rounds)))


FITS = ("huber", "lad", "hampel", "ols")
MEDIANS = "block medians"

RARE = Fraction(1, 1000)
"""How often a table of the advised size may be counted as too small."""


@release(
    reads=DESIGN,
    by=per_group,
    people=True,
    data=("x", "y"),
    missing="drop",
    examples=({}, {"standard_errors": True}, {"coordinates": "scatter", "block_fit": "hampel"}),
)
def shortcut_regression(
    x: Any,
    y: Any,
    *,
    epsilon: Rational,
    blocks: int | None = None,
    block_fit: str = "huber",
    coordinates: str = "columns",
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

    `block_fit` is "huber" (default), "lad", "hampel" or "ols"; the robust ones survive gross errors in single rows, of
    which one percent reaches a good part of all blocks. "hampel" minimises Σ|y - x·β|/|x| in each block, so also gross
    errors in x count for little; it depends on units unless `coordinates="scatter"`. `blocks` is chosen from n, the
    number of coefficients and ε if left out.

    `coordinates="scatter"` spends a quarter of ε on coordinates in which the predictors are about round, takes medians
    there, and turns them back: for columns of unlike scales, and correlated ones
    (`uptack.papers.shortcut` has the theorem). ⊥ is then also the answer where a column rarely
    varies.

    `missing` may be "error" or "drop". With "drop" a row without all its values takes part in nothing: a tenth of ε
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
    missing = checks.choice("missing", options.get("missing", "error"), ("error", "drop"))
    question = read_question("short-cut regression", epsilon, options)
    request = _Request(
        checks.choice("block_fit", block_fit, FITS),
        None if blocks is None else checks.integer("blocks", blocks, least=1),
        checks.truth("standard_errors", standard_errors),
        checks.truth("fit_intercept", fit_intercept),
        checks.choice("coordinates", coordinates, KINDS) == "scatter",
        None if progress is None else checks.truth("progress", progress),
    )
    if request.errors and question.method != "inverse":
        raise InvalidArgument("standard_errors", "False for this method", True, "Take method='inverse'.")
    if request.errors and request.round:
        fix = "Use linear_regression, which has standard errors and handles correlated columns."
        raise InvalidArgument("standard_errors", "False with coordinates='scatter'", True, fix)
    data = BlockedDesign.of(x, y, request.leading, missing)
    if request.blocks and question.adjacency.size_is_public and data.n < request.blocks * data.p:
        must = f"at most {data.n // data.p}, so that each has {data.p} {question.adjacency.unit}"
        raise InvalidArgument("blocks", must, request.blocks)
    outcome, labels = _estimate(data, request, question), coefficient_names(data.p, request.leading, x)
    return question.close(replace(outcome, labels=labels))


@dataclass(frozen=True)
class _Request:
    """What is asked of the blocks: their fit and number, standard errors, an intercept, and round coordinates."""

    kind: str
    blocks: int | None
    errors: bool
    leading: bool
    round: bool
    progress: bool | None

    def fit(self, data: BlockedDesign, n: int, blocks: int, account: Account) -> Floats:
        """The fits of so many blocks of rows, or of people, each of whom weighs one."""
        kind = "lad" if self.kind == "hampel" else self.kind
        if data.of_people:
            people = data.deal_people(blocks, account)
            fits = [block_fits.fit_people(*self._rows(part), rows, weights, kind) for part, rows, weights in people]
            return np.vstack(fits)
        parts = data.deal_rows(n, blocks, account)
        fits = [block_fits.fit_blocks(*self._rows(part), members, kind, self.progress) for part, members in parts]
        return np.vstack(fits)

    def _rows(self, data: DesignMatrix) -> tuple[Floats, Floats]:
        """X and y. Hampel's estimator has absolute deviations of rows that are made shorter, each by itself."""
        return normalise(data.x, data.y) if self.kind == "hampel" else (data.x, data.y)


def _estimate(data: BlockedDesign, request: _Request, question: Question) -> Outcome[Floats]:
    """The number of rows, round coordinates where they are asked for, and the medians of blocks."""
    if advice := _public_advice(data, request, question):
        return Outcome.refusal(MEDIANS, advice)
    n, question = public_size(data.count_complete(), question)
    if not request.round:
        return _block_medians(data, n, request, question)
    if advice := _advice_on_coordinates(n, data.p, request, question):
        return question.refuse(MEDIANS, advice)
    part, rest = _shares(question)
    coordinates = round_coordinates(data, n, request.leading, part)
    if coordinates is None:
        return question.refuse(block_fits.HOW, Advice(other=block_fits.TELLING))
    rest = question.allot(rest.epsilon + coordinates.saved, question.delta)
    outcome = _block_medians(replace(data, transform=coordinates.transform), n, request, rest)
    return outcome if outcome.value is None else replace(outcome, value=coordinates.back(outcome.value), noise=None)


def _public_advice(data: BlockedDesign, request: _Request, question: Question) -> Advice | None:
    """How many rows would do, where a public n does not: what all rows can't do, those that are complete can't."""
    if not question.adjacency.size_is_public or (request.blocks and not request.round):
        return None
    room = 0
    if question.size_is_secret:
        share = question.epsilon * COUNT_SHARE
        question, room = question.part(1 - COUNT_SHARE), IntegerLaplace(question.rows / share).cutoff(RARE)
    if request.round:
        advice = _advice_on_coordinates(data.n, data.p, request, question)
    else:
        blocks, needed = _plan(data.n, data.p, question, request.errors)
        advice = None if blocks else needed
    return None if advice is None else Advice(n=(advice.n or 0) + room)


def _advice_on_coordinates(n: int, p: int, request: _Request, question: Question) -> Advice | None:
    """How many rows would do, where n does not allow for round coordinates, or for blocks with what these leave."""
    part, rest = _shares(question)
    blocks, advice = _plan(n, p, rest, request.errors)
    if rounds_for(n, p - request.leading, part) and (blocks or request.blocks):
        return None
    return Advice(n=max(advice.n or 0, rows_advised(p - request.leading, part).n or 0))


def _shares(question: Question) -> tuple[Account, Question]:
    """What pays for coordinates, which are pure, and the rest, with all of δ."""
    part = question.epsilon * SHARE
    return question.allot(part), question.allot(question.epsilon - part, question.delta)


def _block_medians(data: BlockedDesign, n: int, request: _Request, question: Question) -> Outcome[Floats]:
    """The number of blocks, the blocks and their fits, and the medians."""
    blocks, advice = _plan(n, data.p, question, request.errors)
    if request.blocks:
        blocks, advice = request.blocks, Advice(other=f"{least_blocks(data.p, question, request.errors):,} blocks")
        if question.size_is_secret and n < blocks * data.p:
            return question.refuse(MEDIANS, Advice(other="fewer blocks"))
    if blocks < 1:
        return question.refuse(MEDIANS, advice)
    estimates = request.fit(data, n, blocks, question)
    in_blocks = question.through(loss.Partition)
    return (block_fits.medians_with_errors if request.errors else block_fits.medians)(estimates, in_blocks, advice)


def _plan(n: int, p: int, question: Question, standard_errors: bool) -> tuple[int, Advice]:
    """The number of blocks, and how many rows would do.

    There are about 8 rows a coefficient in each block, or more blocks if so many are needed; 0 if n does not allow it.
    """
    least, rows = least_blocks(p, question, standard_errors), block_fits.rows_needed(p, question)
    blocks = max(min(n // (block_fits.ROWS_PER_COEFFICIENT * p), int(n / rows)), least)
    return blocks if n >= blocks * rows else 0, Advice(n=math.ceil(max(2 * p, rows) * least))


def least_blocks(p: int, question: Question, standard_errors: bool) -> int:
    """How many blocks a reply needs: medians on a lattice of 24 bits, and quartiles on the coarsest for the errors."""
    if question.method != "inverse":
        return 3

    def steps(share: Fraction, lattice: MachineNumbers) -> int:
        """How many steps a draw of p numbers looks ahead, at most."""
        epsilon = question.epsilon * share
        return steps_needed(epsilon, lattice.size**p) + slack_needed(epsilon)

    share = block_fits.SPREAD_SHARE if standard_errors else Fraction(0)
    lattice = next(candidate for candidate in VECTOR_LATTICES if candidate.mantissa_bits == 24)
    ends = 4 * steps(share, block_fits.SPREAD_LATTICES[-1]) + 4 if standard_errors else 0
    return question.rows * max(2 * steps(1 - share, lattice) + 2, ends)
