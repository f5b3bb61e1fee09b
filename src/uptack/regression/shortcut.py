"""Short-cut regression (R_S of Dwork and Lei): a fit in each of many random blocks, and the medians of the fits.

**Reach.** Given the partition, one person's rows are in at most g blocks, so the vector of coordinate medians of the m
block estimates has as its reach the product of the coordinates' intervals [β(r - gk), β(r + gk)]: each axiom holds
coordinate by coordinate, and no coordinate pays for another.

**No silent failure.** Blocks without enough rows, and coefficients that a block does not tell, lie beyond all others,
on both sides alike (`uptack.regression.block_fits`). ⊥ is a candidate of the draw
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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.account import Account, Outcome
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.grouping import per_group
from uptack.mechanisms.inverse_sensitivity import VECTOR_LATTICES, slack_needed, steps_needed
from uptack.multivariate.entrance import Sized, framed
from uptack.multivariate.row_sums import Sample, products
from uptack.multivariate.scatter import SHARES, rounds_for, rows_advised, whitened
from uptack.multivariate.standardise import Frame
from uptack.noise import IntegerLaplace, MachineNumbers
from uptack.privacy import loss
from uptack.registry import release
from uptack.registry.options import Grouping
from uptack.regression.block_assignment import BlockedDesign, DesignMatrix, rows_needed
from uptack.regression.block_fits import fit_blocks, fit_people
from uptack.regression.block_medians import (
    HOW,
    ROWS_PER_COEFFICIENT,
    SPREAD_LATTICES,
    SPREAD_SHARE,
    TELLING,
    medians,
    medians_with_errors,
)
from uptack.regression.coefficients import coefficient_names
from uptack.regression.hampel_fit import normalised
from uptack.release import Advice, NoReply, Release
from uptack.statistics.column_options import COUNT_SHARE, Promises, Question, public_size, read_question
from uptack.table.exact_sum import Floats
from uptack.table.reads import DESIGN


class RegressionOptions(Promises, Grouping, total=False):
    """Options of a regression.

    - `method`: "inverse" (default), "ptr" or "dwork-lei".
    - `missing`: "error" (default) tells the curator of rows without all their values, "ignore" leaves them out.
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

    def of(self, data: BlockedDesign) -> BlockedDesign:
        """The rows with z as their design."""
        return replace(data, turn=self.turned)

    def turned(self, data: DesignMatrix) -> DesignMatrix:
        """The same of a part of the rows; those that are not complete are zeros as before."""
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
    rows = Sample.of(data.rows).first(
        data.p - leading
    )  # beside y, which has a say in which row of a person is in a pair
    rounds = rounds_for(n, data.p - leading, account)
    for_scales, for_centres, for_signs = account.split(*SHARES)
    frame = framed(rows, Sized(n, True, account), (), (for_scales, for_centres), leading)
    if len(frame.kept) < rows.width:
        return None
    try:
        shape = whitened(rows, frame, float(n), rounds, for_signs, gentle=GENTLE)
    except np.linalg.LinAlgError:  # of released numbers, which are no use then
        return None
    return Coordinates(frame, shape.coordinates, for_signs.epsilon * (1 - Fraction(shape.rounds, rounds)))


FITS = ("huber", "lad", "hampel", "ols")


RARE = Fraction(1, 1000)
"""How often a table of the advised size may be counted as too small."""


@release(
    reads=DESIGN,
    by=per_group,
    people=True,
    data=("x", "y"),
    missing="ignore",
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
    (`uptack.regression.shortcut` has the theorem). ⊥ is then also the answer where a column rarely
    varies.

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
    question = read_question("short-cut regression", epsilon, told)
    wanted = None if blocks is None else checks.integer("blocks", blocks, least=1)
    kind, where = checks.choice("block_fit", block_fit, FITS), checks.choice("coordinates", coordinates, KINDS)
    errors, constant = checks.truth("standard_errors", standard_errors), checks.truth("fit_intercept", fit_intercept)
    shown = None if progress is None else checks.truth("progress", progress)
    ask = _ShortcutRequest(kind, wanted, errors, constant, where == "scatter", shown)
    _check_errors(ask, question)
    data = BlockedDesign.of(x, y, ask.leading, missing)
    if wanted and question.adjacency.size_is_public and data.n < wanted * data.p:
        must = f"at most {data.n // data.p}, so that each has {data.p} {question.adjacency.unit}"
        raise InvalidArgument("blocks", must, wanted)
    found, labels = _found(data, ask, question), coefficient_names(data.p, ask.leading, x)
    return question.account.close(replace(found, labels=labels))


@dataclass(frozen=True)
class _ShortcutRequest:
    """What is asked of the blocks."""

    kind: str
    blocks: int | None
    errors: bool
    leading: bool
    round: bool
    progress: bool | None

    def fitted(self, data: BlockedDesign, n: int, blocks: int, account: Account) -> Floats:
        """The fits of so many blocks of rows, or of people, each of whom weighs one."""
        if data.of_people:
            return np.vstack([self._of_people(*part) for part in data.deal_people(blocks, account)])
        return np.vstack([self._of_rows(*part) for part in data.deal_rows(n, blocks, account)])

    def _of_people(self, data: DesignMatrix, blocks: Sequence[NDArray[np.int64]], weights: Floats) -> Floats:
        x, y, kind = self._ready(data)
        return fit_people(x, y, blocks, weights, kind)

    def _of_rows(self, data: DesignMatrix, members: NDArray[np.int64]) -> Floats:
        x, y, kind = self._ready(data)
        return fit_blocks(x, y, members, kind=kind, progress=self.progress)

    def _ready(self, data: DesignMatrix) -> tuple[Floats, Floats, str]:
        if self.kind == "hampel":  # the rows become shorter, each by itself, and deviations are then absolute
            return *normalised(data.x, data.y), "lad"
        return data.x, data.y, self.kind


def _check_errors(ask: _ShortcutRequest, question: Question) -> None:
    """Standard errors are those of medians in the coordinates of the table."""
    if ask.errors and question.method != "inverse":
        raise InvalidArgument("standard_errors", "False for this method", True, "Take method='inverse'.")
    if ask.errors and ask.round:
        fix = "Use linear_regression, which has standard errors and handles correlated columns."
        raise InvalidArgument("standard_errors", "False with coordinates='scatter'", True, fix)


def _found(data: BlockedDesign, ask: _ShortcutRequest, question: Question) -> Outcome[Floats]:
    """The number of rows, round coordinates where they are asked for, and the medians of blocks."""
    early = _too_small(data, question, ask)
    if early is not None:
        return early
    n, question = public_size(data.complete_units, question)
    if not ask.round:
        return _of_blocks(data, n, ask, question)
    short = _not_round(n, data.p, ask, question)
    if short is not None:
        return question.refuse("block medians", short)
    part, rest = _shares(question)
    coordinates = round_coordinates(data, n, ask.leading, part)
    if coordinates is None:
        return question.refuse(HOW, Advice(other=TELLING))
    rest = question.worth(rest.epsilon + coordinates.saved, question.delta)
    found = _of_blocks(coordinates.of(data), n, ask, rest)
    return found if found.value is None else replace(found, value=coordinates.back(found.value), noise=None)


def _shares(question: Question) -> tuple[Account, Question]:
    """What pays for coordinates, which are pure, and the rest, with all of δ."""
    part = question.epsilon * SHARE
    return question.account.allot(part), question.worth(question.epsilon - part, question.delta)


def _not_round(n: int, p: int, ask: _ShortcutRequest, question: Question) -> Advice | None:
    """How many rows would do, where n does not allow for coordinates or for blocks."""
    part, rest = _shares(question)
    m, advice = _plan(n, p, rest, ask.errors)
    if rounds_for(n, p - ask.leading, part) and (m or ask.blocks):
        return None
    return Advice(n=max(advice.n or 0, rows_advised(p - ask.leading, part).n or 0))


def _of_blocks(data: BlockedDesign, n: int, ask: _ShortcutRequest, question: Question) -> Outcome[Floats]:
    """The number of blocks, the blocks and their fits, and the medians."""
    m, advice = _plan(n, data.p, question, ask.errors)
    if ask.blocks and question.size_is_secret and n < ask.blocks * data.p:
        return question.refuse("block medians", Advice(other="fewer blocks"))
    if ask.blocks:
        m, advice = ask.blocks, Advice(other=f"{least_blocks(data.p, question, ask.errors):,} blocks")
    if m < 1:
        return question.refuse("block medians", advice)
    estimates = ask.fitted(data, n, m, question.account)
    in_blocks = replace(question, account=question.account.through(loss.Partition))
    return (medians_with_errors if ask.errors else medians)(estimates, in_blocks, advice)


def _plan(n: int, p: int, question: Question, standard_errors: bool) -> tuple[int, Advice]:
    """The number of blocks, 0 where n does not allow for enough of them, and how many rows would do."""
    needed, rows = least_blocks(p, question, standard_errors), rows_needed(p, question)
    return default_blocks(n, p, needed, rows), Advice(n=math.ceil(max(2 * p, rows) * needed))


def _too_small(data: BlockedDesign, question: Question, ask: _ShortcutRequest) -> Outcome[Any] | None:
    """⊥ that costs nothing, where n is public: what all rows can't do, those that are complete can't."""
    if not question.adjacency.size_is_public or (ask.blocks and not ask.round):
        return None
    rest, room = question, 0
    if question.size_is_secret:
        share = question.epsilon * COUNT_SHARE
        rest, room = question.part(1 - COUNT_SHARE), IntegerLaplace(question.rows / share).cutoff(RARE)
    if ask.round:
        advice = _not_round(data.n, data.p, ask, rest)
    else:
        m, needed = _plan(data.n, data.p, rest, ask.errors)
        advice = None if m else needed
    return None if advice is None else Outcome.refusal("block medians", Advice(n=(advice.n or 0) + room))


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
    drawn = 2 * _steps(question.epsilon * (1 - share), lattice, p) + 2
    if not standard_errors:
        return question.rows * drawn
    return question.rows * max(drawn, 4 * _steps(question.epsilon * share, SPREAD_LATTICES[-1], p) + 4)


def _steps(epsilon: Fraction, lattice: MachineNumbers, p: int) -> int:
    """How many steps a draw of p numbers looks ahead, at most."""
    return steps_needed(epsilon, lattice.size**p) + slack_needed(epsilon)
