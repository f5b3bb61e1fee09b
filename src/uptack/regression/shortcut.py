"""Short-cut regression (R_S of Dwork and Lei): a fit in each of many random blocks, and the medians of the fits.

**Reach.** Given the partition, one person's rows are in at most g blocks, so the vector of coordinate medians of the m
block estimates has as its reach the product of the coordinates' intervals [β(r - gk), β(r + gk)]: each axiom holds
coordinate by coordinate, and no coordinate pays for another.

**No silent failure.** Blocks without enough rows, and coefficients that a block does not tell, lie beyond all others,
on both sides alike (`uptack.regression.fits`). ⊥ is a candidate of the draw (`Boxes.draw_or_refuse`). So the chance of
a reply from beyond the blocks that do tell each coefficient is at most one in a million, whatever the data.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from uptack import checks
from uptack.columns import ArrayColumn
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.inverse import VECTOR_LATTICES, decay, median_boxes, slack_needed, steps_needed
from uptack.noise import IntegerLaplace, MachineNumbers
from uptack.privacy import loss
from uptack.registry import release
from uptack.registry.reads import DESIGN
from uptack.regression import spreads
from uptack.regression.arguments import Floats, RegressionOptions, Table, choice, options_of, table
from uptack.regression.dealing import dealt, rows_needed
from uptack.regression.fits import fit_blocks
from uptack.regression.intervals import QUARTILE, CoefficientErrors, Draw
from uptack.release import Advice, EachNoise, NoReply, Release
from uptack.statistics.arguments import COUNT_SHARE, Call, call, public_size
from uptack.statistics.methods import answered, refused, run
from uptack.statistics.quantiles import statistic as quantile_statistic

HOW = "inverse sensitivity"
FITS = ("huber", "lad", "ols")
ROWS_PER_COEFFICIENT = 8
"""Rows a block for each coefficient: the fits of smaller blocks are noisier, and fewer blocks give a noisier median."""

SPREAD_SHARE = Fraction(1, 3)
"""The part of the budget that standard errors get, where they are asked for."""

SPREAD_LATTICES = tuple(MachineNumbers(exponent_bits=9, mantissa_bits=bits, tapered=True) for bits in range(20, 5, -1))
"""Candidates for a standard error: one part in a hundred is precise enough."""


RARE = Fraction(1, 1000)
"""How often a table of the advised size may be counted as too small."""

TELLING = "columns that are neither rare nor constant nor nearly combinations of others"


@release(reads=DESIGN, data=("x", "y"), missing="ignore", also="regression", examples=({}, {"standard_errors": True}))
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
    `"ptr"` and `"dwork-lei"` (R_S as printed: one M a coefficient) are (ε, δ)-differentially private. Given the random
    partition neighbours stay neighbours (`uptack.privacy.loss.Partition`); under ADD_REMOVE each row goes to a block of
    its own random choice, and the number of blocks comes from a private count.

    `block_fit` is "huber" (default), "lad" or "ols"; the robust ones survive gross errors in single rows, of which one
    percent reaches a good part of all blocks. `blocks` is chosen from n, the number of coefficients and ε if left out.

    `missing` may be "error" or "ignore". With "ignore" a row without all its values takes part in nothing: a tenth of ε
    goes into a noisy number of the complete rows, from which the number of blocks comes.

    ⊥, at the full price, is also the answer where too few blocks tell some coefficient: because its column is constant,
    rare, or nearly a combination of others.

    `standard_errors=True` (for `method="inverse"`) spends a third of the budget on the spread of the block estimates;
    `result.interval()` is then an interval for the population's coefficients that allows for sampling and for the
    privacy noise. `progress=True` shows how far a long fit is.
    """
    told = options_of("shortcut_regression", options)
    missing = choice("missing", told.pop("missing", "error"), ("error", "ignore"))
    told["missing"] = "drop" if missing == "ignore" else "error"
    request = call("short-cut regression", epsilon, told)
    kind = choice("block_fit", block_fit, FITS)
    wanted = None if blocks is None else checks.integer("blocks", blocks, least=1)
    if standard_errors and request.method != "inverse":
        raise InvalidArgument("standard_errors", "False for this method", True, "Take method='inverse'.")
    data = table(x, y, fit_intercept=fit_intercept, missing=missing)
    if wanted and request.adjacency.size_is_public and data.n < wanted * data.p:
        raise InvalidArgument("blocks", f"at most {data.n // data.p}, so that each has {data.p} rows", wanted)
    early = _too_small(data, request, standard_errors) if wanted is None else None
    if early is not None:
        return early
    n, request = public_size(int(data.complete.sum()), request)
    m, advice = _plan(n, data.p, request, standard_errors)
    if wanted and request.size_is_secret and n < wanted * data.p:
        return refused(request, None, "block medians", Advice(other="fewer blocks"))
    m = wanted or m
    if m < 1:
        return refused(request, None, "block medians", advice)
    estimates = fit_blocks(data.x, data.y, dealt(data, n, m, request), kind, progress)
    return (_with_errors if standard_errors else _medians)(estimates, request, advice)


def _plan(n: int, p: int, request: Call, standard_errors: bool) -> tuple[int, Advice]:
    """The number of blocks, 0 where n does not allow for enough of them, and how many rows would do."""
    needed, rows = least_blocks(p, request, standard_errors), rows_needed(p, request)
    return default_blocks(n, p, needed, rows), Advice(n=math.ceil(max(2 * p, rows) * needed))


def _too_small(data: Table, request: Call, standard_errors: bool) -> NoReply | None:
    """⊥ that costs nothing, where n is public: what all rows can't do, those that are complete can't."""
    if not request.adjacency.size_is_public:
        return None
    rest, room = request, 0
    if request.size_is_secret:
        share = request.epsilon * COUNT_SHARE
        rest, room = (
            replace(request, epsilon=request.epsilon - share),
            IntegerLaplace(request.rows / share).cutoff(RARE),
        )
    m, advice = _plan(data.n, data.p, rest, standard_errors)
    return None if m else refused(request, None, "block medians", Advice(n=(advice.n or 0) + room))


def _with_errors(estimates: Floats, request: Call, advice: Advice) -> Release[Floats] | NoReply:
    """The medians of block estimates, and their spreads."""
    (m, p), part = estimates.shape, request.share(1 - SPREAD_SHARE)
    rest = request.share(SPREAD_SHARE)
    room = spreads.room(m, p, rest.rows, rest.epsilon, SPREAD_LATTICES)
    if room is None:
        return refused(request, None, HOW, advice)
    found = _medians(estimates, part, advice)
    if not found:
        return found
    ranges = spreads.draw(estimates, room, rest.rows, rest.epsilon, rest.entropy)
    rest, tree = replace(rest, spent=(found.loss,)), loss.Partition(loss.Pure(rest.epsilon))
    if ranges is None:
        return refused(rest, tree, HOW, replace(advice, other=TELLING))
    draws = (Draw(m, p, request.rows, float(share.epsilon)) for share in (part, rest))
    errors = CoefficientErrors(tuple((ranges / (2 * QUARTILE)).tolist()), *draws)
    return answered(rest, found.value, tree, HOW, errors)


def _medians(estimates: Floats, request: Call, advice: Advice) -> Release[Floats] | NoReply:
    if request.method != "inverse":
        return _in_turn(estimates, request)
    slack = slack_needed(request.epsilon)
    made = median_boxes(estimates, request.epsilon, request.rows, slack)
    if made is None:
        return refused(request, None, HOW, advice)
    lattice, nested = made
    rank = (len(estimates) + 1) // 2
    told = spreads.told(estimates, (rank, rank), request.rows)
    drawn = nested.draw_or_refuse(decay(request.epsilon), told, slack, request.entropy)
    tree = loss.Partition(loss.Pure(request.epsilon))
    if drawn is None:
        return refused(request, tree, HOW, replace(advice, other=TELLING))
    return answered(request, lattice.values(drawn), tree, HOW)


def _in_turn(estimates: Floats, request: Call) -> Release[Floats] | NoReply:
    """One median after the other, each with an equal part of the budget."""
    values, noises, (m, p) = [], [], estimates.shape
    part = request.share(Fraction(1, p))
    median = quantile_statistic(Fraction(1, 2))
    spent: tuple[loss.Loss, ...] = request.spent
    for column in estimates.T:
        found = run(median, ArrayColumn(np.ascontiguousarray(column)), m, replace(part, spent=spent))
        if not found:  # what it says of n is about blocks
            advice = replace(found.advice, n=(found.advice.n or m) * ROWS_PER_COEFFICIENT * p)
            return replace(found, advice=advice)
        values.append(found.value)
        noises.append(found.noise)
        spent = found.loss.parts if isinstance(found.loss, loss.Composed) else (found.loss,)
    how = found.mechanism.split(" by ")[1]
    tree = loss.Partition(loss.Composed(spent[len(request.spent) :]))
    return answered(request, np.array(values), tree, how, EachNoise(tuple(noises)))


def default_blocks(n: int, p: int, needed: int, rows: float) -> int:
    """About 8 rows a coefficient in each block, or more blocks if so many are needed; 0 if n does not allow that."""
    m = max(min(n // (ROWS_PER_COEFFICIENT * p), int(n / rows)), needed)
    return m if n >= m * rows else 0


def least_blocks(p: int, request: Call, standard_errors: bool) -> int:
    """How many blocks a reply needs: medians on a lattice of 24 bits, and quartiles on the coarsest for the errors."""
    if request.method != "inverse":
        return 3
    share = SPREAD_SHARE if standard_errors else Fraction(0)
    lattice = next(candidate for candidate in VECTOR_LATTICES if candidate.mantissa_bits == 24)
    medians = 2 * _steps(request.epsilon * (1 - share), lattice, p) + 2
    if not standard_errors:
        return request.rows * medians
    return request.rows * max(medians, 4 * _steps(request.epsilon * share, SPREAD_LATTICES[-1], p) + 4)


def _steps(epsilon: Fraction, lattice: MachineNumbers, p: int) -> int:
    """How many steps a draw of p numbers looks ahead, at most."""
    return steps_needed(epsilon, lattice.size**p) + slack_needed(epsilon)
