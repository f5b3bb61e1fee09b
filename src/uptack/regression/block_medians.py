"""Medians of the fits of blocks, all coefficients at once or one by one, and how far the fits spread."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from uptack.account import Outcome
from uptack.mechanisms.inverse_sensitivity import (
    VECTOR_LATTICES,
    InverseDraw,
    Refusal,
    ScoredBoxes,
    finest,
    slack_needed,
)
from uptack.mechanisms.vector_medians import median_boxes, median_room
from uptack.noise import MachineNumbers
from uptack.regression import block_ranges
from uptack.regression.block_median_errors import QUARTILE, CoefficientErrors, ScoreDraw
from uptack.release import Advice, EachNoise
from uptack.statistics.column_options import Question
from uptack.statistics.quantiles import statistic as quantile_statistic
from uptack.statistics.release_methods import run
from uptack.table.arguments import as_column
from uptack.table.exact_sum import Floats

HOW = "inverse sensitivity"
ROWS_PER_COEFFICIENT = 8
"""Rows per block for each coefficient: fits of smaller blocks are noisier, and fewer blocks give a noisier median."""

SPREAD_SHARE = Fraction(1, 3)
"""The part of the budget that standard errors get, where they are asked for."""

SPREAD_LATTICES = tuple(MachineNumbers(exponent_bits=9, mantissa_bits=bits, tapered=True) for bits in range(20, 5, -1))
"""ScoredBoxes for a standard error: one part in a hundred is precise enough."""

TELLING = "columns that are neither rare nor constant nor nearly combinations of others"


def medians_with_errors(estimates: Floats, question: Question, advice: Advice) -> Outcome[Floats]:
    """The medians of block estimates, and their spreads."""
    (m, p), (part, rest) = estimates.shape, question.split(1 - SPREAD_SHARE, SPREAD_SHARE)
    room = block_ranges.room(m, p, rest.rows, rest.epsilon, SPREAD_LATTICES)
    if room is None:
        return question.refuse(HOW, advice)
    found = medians(estimates, part, advice)
    if found.value is None:
        return found
    ranges = block_ranges.draw(estimates, room, rest.account)
    if ranges is None:
        return question.refuse(HOW, replace(advice, other=TELLING))
    draws = (ScoreDraw(m, p, question.rows, float(share.epsilon)) for share in (part, rest))
    return replace(found, noise=CoefficientErrors(tuple((ranges / (2 * QUARTILE)).tolist()), *draws))


def medians(estimates: Floats, question: Question, advice: Advice) -> Outcome[Floats]:
    """The median of every coefficient over blocks, by one draw where the method is inverse sensitivity."""
    if question.method != "inverse":
        return _in_turn(estimates, question)
    (m, p), slack = estimates.shape, slack_needed(question.epsilon)
    room = finest(median_room(m, question.rows) - slack, question.epsilon, p, VECTOR_LATTICES)
    if room is None:
        return question.refuse(HOW, advice)
    nested, rank = median_boxes(estimates, room, question.rows), (m + 1) // 2
    told = block_ranges.usable_blocks(estimates, (rank, rank), question.rows)
    drawn = question.account.draw(InverseDraw.of(question.epsilon), ScoredBoxes(nested, Refusal(told, secret=True)))
    if drawn is None:
        return question.refuse(HOW, replace(advice, other=TELLING))
    return Outcome(room[0].values(drawn), HOW)


def _in_turn(estimates: Floats, question: Question) -> Outcome[Floats]:
    """One median after the other, each with an equal part of the budget."""
    found: list[Outcome[float]] = []
    (m, p), median = estimates.shape, quantile_statistic(Fraction(1, 2))
    for column, part in zip(estimates.T, question.split(*[Fraction(1, p)] * p), strict=True):
        one = run(median, as_column("estimates", np.ascontiguousarray(column)), m, part)
        if one.value is None:  # what it says of n is about blocks
            rows = ((one.advice and one.advice.n) or m) * ROWS_PER_COEFFICIENT * p
            return Outcome.refusal(one.how, Advice(n=rows, other=one.advice.other if one.advice else ""))
        found.append(one)
    values = np.array([one.value for one in found])
    return Outcome(values, found[0].how, EachNoise(tuple(one.noise for one in found)))
