"""Short-cut regression (R_S of Dwork and Lei): a fit in each of many random blocks, and the medians of the fits.

**Reach.** Given the partition, one person's rows are in at most g blocks, so the vector of coordinate medians of the m
block estimates has as its reach the product of the coordinates' intervals [β(r - gk), β(r + gk)]: each axiom holds
coordinate by coordinate, and no coordinate pays for another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from scipy.stats import norm

from uptack import checks
from uptack.columns import ArrayColumn
from uptack.errors import InvalidArgument
from uptack.exact import Rational, read
from uptack.mechanisms.inverse import VECTOR_LATTICES, coordinate_medians, steps_needed
from uptack.noise import MachineNumbers
from uptack.privacy import loss
from uptack.registry import release
from uptack.registry.reads import DESIGN
from uptack.regression import spreads
from uptack.regression.arguments import Floats, choice, table
from uptack.regression.blocks import equal_blocks, fit_blocks, independent_blocks, of_width
from uptack.release import Advice, EachNoise, NoReply, Release
from uptack.statistics.arguments import Call, Options, call, public_size
from uptack.statistics.methods import answered, refused, run
from uptack.statistics.quantiles import statistic as quantile_statistic

FITS = ("huber", "lad", "ols")
ROWS_PER_COEFFICIENT = 8
"""Rows a block for each coefficient: the fits of smaller blocks are noisier, and fewer blocks give a noisier median."""

CROWD = 16
"""Rows beyond twice the usual number that a block holds where rows choose their blocks; more are left out."""

SPREAD_SHARE = Fraction(1, 3)
"""The part of the budget that standard errors get, where they are asked for."""

SPREAD_LATTICES = tuple(MachineNumbers(exponent_bits=9, mantissa_bits=bits, tapered=True) for bits in range(20, 5, -1))
"""Candidates for a standard error: one part in a hundred is precise enough."""


@dataclass(frozen=True)
class CoefficientErrors:
    """Standard errors of released coefficients, themselves private."""

    standard_errors: tuple[float, ...]

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """β ± z·se, for the population's coefficients."""
        reach = norm.ppf(0.5 + float(read(confidence)) / 2) * np.array(self.standard_errors)
        return value - reach, value + reach


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
    **options: Unpack[Options],
) -> Release[Floats] | NoReply:
    """Coefficients of a linear regression with no bounds on the data: intercept first, if there is one.

    **Theorem.** `method="inverse"` draws all coefficients at once from nested boxes and is ε-differentially private.
    `"ptr"` and `"dwork-lei"` (R_S as printed: one M a coefficient) are (ε, δ)-differentially private. Given the random
    partition neighbours stay neighbours (`uptack.privacy.loss.Partition`); under ADD_REMOVE each row goes to a block of
    its own random choice, and the number of blocks comes from a private count.

    `block_fit` is "huber" (default), "lad" or "ols"; the robust ones survive gross errors in single rows, of which one
    percent reaches a good part of all blocks. `blocks` is chosen from n, the number of coefficients and ε if left out.
    `standard_errors=True` spends a third of the budget on the spread of the block estimates; `result.interval()` is
    then an interval for the population's coefficients. `missing` may be "error" or "ignore"; `granularity` does not
    apply. `progress=True` shows how far a long fit is.
    """
    missing = choice("missing", options.get("missing", "error"), ("error", "ignore"))
    request = call("short-cut regression", epsilon, {**options, "missing": "error", "granularity": None})
    kind = choice("block_fit", block_fit, FITS)
    wanted = None if blocks is None else checks.integer("blocks", blocks, least=1)
    data = table(x, y, fit_intercept=fit_intercept, missing=missing)
    n, request = public_size(data.n, request)
    needed = least_blocks(data.p, request, standard_errors)
    m = wanted or default_blocks(n, data.p, needed)
    if wanted and n < m * data.p and request.size_is_secret:
        return refused(request, None, "block medians", Advice(other="fewer blocks"))
    if wanted and n < m * data.p:
        raise InvalidArgument("blocks", f"at most {n // data.p}, so that each has {data.p} rows", wanted)
    if m < 1:
        return refused(request, None, "block medians", Advice(n=2 * data.p * needed))
    if request.adjacency.size_is_public:
        members = equal_blocks(data.n, m, request.entropy)
    else:
        members = of_width(independent_blocks(data.n, m, request.entropy), 2 * -(-n // m) + CROWD)
    estimates = fit_blocks(data.x, data.y, members, kind, progress)
    advice = Advice(n=2 * data.p * needed)
    if not standard_errors:
        return _medians(estimates, request, advice)
    return _with_errors(estimates, request, advice)


def _with_errors(estimates: Floats, request: Call, advice: Advice) -> Release[Floats] | NoReply:
    """The medians of block estimates, and their spreads. The standard error of a median is sqrt(π/2)·σ/sqrt(m)."""
    rest = request.share(SPREAD_SHARE)
    room = spreads.room(len(estimates), estimates.shape[1], rest.rows, rest.epsilon, SPREAD_LATTICES)
    found = _medians(estimates, request.share(1 - SPREAD_SHARE), advice) if room else None
    if room is None or not found:
        return found or refused(request, None, "inverse sensitivity", advice)
    ranges = spreads.draw(estimates, room, rest.rows, rest.epsilon, rest.entropy)
    rest = replace(rest, spent=(found.loss,))
    errors = tuple(math.sqrt(math.pi / 2) * s / 1.349 / math.sqrt(len(estimates)) for s in ranges.tolist())
    tree = loss.Partition(loss.Pure(rest.epsilon))
    return answered(rest, found.value, tree, found.mechanism.split(" by ")[1], CoefficientErrors(errors))


def _medians(estimates: Floats, request: Call, advice: Advice) -> Release[Floats] | NoReply:
    if request.method != "inverse":
        return _in_turn(estimates, request)
    values = coordinate_medians(estimates, request.epsilon, request.entropy, request.rows)
    if values is None:
        return refused(request, None, "inverse sensitivity", advice)
    return answered(request, values, loss.Partition(loss.Pure(request.epsilon)), "inverse sensitivity")


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


def default_blocks(n: int, p: int, needed: int) -> int:
    """About 8 rows a coefficient in each block, or more blocks if so many are needed; 0 if n does not allow that."""
    m = max(n // (ROWS_PER_COEFFICIENT * p), needed)
    return m if n >= m * (p + 1) else 0


def least_blocks(p: int, request: Call, standard_errors: bool) -> int:
    """How many blocks a reply needs: medians on a lattice of 24 bits, and quartiles on the coarsest for the errors."""
    if request.method != "inverse":
        return 3
    share = 1 - SPREAD_SHARE if standard_errors else Fraction(1)
    lattice = next(candidate for candidate in VECTOR_LATTICES if candidate.mantissa_bits == 24)
    medians = 2 * steps_needed(request.epsilon * share, lattice.size**p) + 2
    if not standard_errors:
        return request.rows * medians
    quarters = 4 * steps_needed(request.epsilon * SPREAD_SHARE, SPREAD_LATTICES[-1].size ** p) + 4
    return request.rows * max(medians, quarters)
