"""Several quantiles for one ε.

Where n allows windows around the ranks that don't overlap, they are drawn by a chain (`uptack.mechanisms.joint`): each
quantile is nearly as close as if it alone had all of ε, since a changed row moves them all together.

Otherwise by nested boxes. **Theorem.** The product of the quantiles' intervals is a reach of their vector: each of the
three axioms holds coordinate by coordinate. So one draw over nested boxes (`uptack.mechanisms.inverse`) is ε-private.
The score of a draw is about 2m/ε and each of m coordinates lies anywhere within that many ranks: an error of about m/ε
ranks, half of that of m releases with ε/m each. Sorting is post-processing. Which of the two ways is taken depends on
n, ε and the levels alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from uptack.account import Outcome
from uptack.mechanisms.inverse import VECTOR_LATTICES, Refusal, boxes, decay, round_to, steps_needed
from uptack.mechanisms.joint import Chain, chain_decay
from uptack.privacy import loss
from uptack.reach import LStatistic, Reach, Segment
from uptack.reach.order import quantile_rank
from uptack.reach.protocol import Floats
from uptack.release import EachNoise
from uptack.statistics.arguments import Question
from uptack.statistics.cells import Candidates, choices
from uptack.statistics.methods import inverse_advice, run, sight
from uptack.statistics.statistic import Data, Statistic
from uptack.statistics.windows import Windows

HOW = "inverse sensitivity"
SLACK = 4
"""Rows that the nearest candidate to a rank may be off, where that many rows are tied that digits don't tell apart."""


def quantiles(
    data: Data, n: int, levels: tuple[Fraction, ...], question: Question, statistic: Callable[[Fraction], Statistic]
) -> Outcome[Floats]:
    """All the quantiles at once by the inverse method; one after the other, with equal parts, by the others."""
    if question.method != "inverse":
        return _in_turn(data, n, levels, question, statistic)

    def fits(size: int, moves: int) -> bool:
        ranks = [quantile_rank(p, size) for p in levels]
        return min(ranks) - moves >= 1 and max(ranks) + moves <= size

    dimension, ranks = len(levels), [quantile_rank(p, n) for p in levels]
    if dimension > 1 and (found := _chained(data, n, ranks, question)) is not None:
        return question.answer(found, loss.Pure(question.epsilon), HOW)
    lattices = question.guessed(VECTOR_LATTICES)
    advice = partial(inverse_advice, fits, n, question, dimension, lattices[-1])
    room, bears = (min(ranks[0] - 1, size - ranks[-1]) // question.rows for size in (n, data.size))
    seen = sight(room, question, dimension, lattices)
    if seen is None:
        return question.refuse(HOW, advice())
    lattice, steps = seen
    segments = [(Segment(rank, rank),) for rank in ranks]
    windows = [w for s in segments for w in LStatistic.windows(s, steps, question.rows)]
    selected = data.ordered(windows)
    reaches: list[Reach] = [LStatistic(selected, s, question.rows) for s in segments]
    widen = float(question.granularity / 2) if question.granularity is not None else 0.0
    nested, spent = boxes(reaches, steps, lattice, widen=widen), loss.Pure(question.epsilon)
    drawn = nested.draw(decay(question.epsilon), question.entropy, Refusal(bears, question.size_is_secret))
    if drawn is None:
        return question.refuse(HOW, advice(), spent)
    values = np.sort([round_to(lattice.value(o), question.granularity) for o in drawn])
    return question.answer(values, spent, HOW)


def _chained(data: Data, n: int, ranks: list[int], question: Question) -> Floats | None:
    """All the quantiles by a chain; None where their windows would overlap or leave the table, which is public."""
    g, m = question.rows, len(ranks)
    for candidates in choices(n):
        reach = _looks(candidates, m, question)
        apart = all(b - a > 2 * reach + 1 for a, b in itertools.pairwise(ranks))
        if apart and ranks[0] - reach >= 1 and ranks[-1] + reach + 1 <= n:
            break
    else:
        return None
    around = [range(rank - reach, rank + reach + 2) for rank in ranks]
    edges = Windows(data, around, candidates, question.granularity, question.entropy).edges
    drawn = Chain(edges, candidates.size, chain_decay(question.epsilon, g)).draw(question.entropy)
    return np.sort([round_to(candidates.value(v), question.granularity) for v in drawn])


def _looks(candidates: Candidates, dimension: int, question: Question) -> int:
    """K, in rows: how far a chain of so many quantiles looks around each of them."""
    return question.rows * steps_needed(question.epsilon, candidates.size**dimension) + SLACK * dimension


def least_rank(n: int, dimension: int, question: Question) -> int:
    """The least rank that a chain of so many quantiles of n rows can aim at; n where there is no chain."""
    return min((_looks(candidates, dimension, question) + 1 for candidates in choices(n)), default=n)


def _in_turn(
    data: Data, n: int, levels: tuple[Fraction, ...], question: Question, statistic: Callable[[Fraction], Statistic]
) -> Outcome[Floats]:
    """One after the other, each with an equal part."""
    found: list[Outcome[float]] = []
    for p, part in zip(levels, question.split(*[Fraction(1, len(levels))] * len(levels)), strict=True):
        found.append(run(statistic(p), data, n, part))
        if not found[-1]:
            return Outcome(None, found[-1].how, advice=found[-1].advice)
    values = np.array([one.value for one in found])
    order = np.argsort(values)
    return Outcome(values[order], found[0].how, EachNoise(tuple(found[i].noise for i in order)))
