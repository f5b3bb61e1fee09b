"""Several quantiles for one ε.

Where n allows it, they are drawn by a chain, or if there are many by a tree of chains
(`uptack.mechanisms.quantile_tree`): each quantile is nearly as close as if it alone had all of ε, since a changed row
moves them all together.

Otherwise by nested boxes. **Theorem.** The product of the quantiles' intervals is a reach of their vector: each of the
three axioms holds coordinate by coordinate. So one draw over nested boxes (`uptack.mechanisms.inverse_sensitivity`) is
ε-private. The score of a draw is about 2m/ε and each of m coordinates lies anywhere within that many ranks: an error of
about m/ε ranks, half of that of m releases with ε/m each. Sorting is post-processing. Which of the two ways is taken
depends on n, ε and the levels alone. Chains count rows, so people's weighted rows have boxes.

**Theorem.** Boxes at ranks worked out from the true number of rows are ε-private where it is secret, with ⊥ as a
candidate. *Proof.* The score of a vector is the largest of its coordinates' scores, and κ the least of theirs. Each
moves by at most one step where a row comes, goes or is replaced (`uptack.statistics.statistic`), and so do these.
∎ A chain would first have to buy a noisy number of rows, whose noise moves all its targets: up to `FOLLOWED` quantiles
are closer by boxes.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from uptack.account import Outcome
from uptack.mechanisms.inverse_sensitivity import VECTOR_LATTICES, InverseDraw, Refusal, ScoredBoxes, boxes, round_to
from uptack.reach import LStatistic, Reach, Segment
from uptack.reach.l_statistics import quantile_rank
from uptack.reach.protocol import Floats
from uptack.release import EachNoise
from uptack.statistics import quantile_trees
from uptack.statistics.column_options import FOLLOWED, Question
from uptack.statistics.release_methods import inverse_advice, run, saturated, sight, undecided
from uptack.statistics.statistic import Data, Statistic

HOW = "inverse sensitivity"

CANDIDATES = VECTOR_LATTICES[:-8]
"""Of 24 bits and more: with fewer, 10,001 and 10,002 are hardly told apart."""


def followed(levels: int, question: Question) -> bool:
    """Whether ranks follow the true number of rows, which is secret."""
    return question.follows and levels <= FOLLOWED


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
    bought = not question.size_is_secret or question.count is not None
    chained = dimension > 1 and bought and not data.unit.weighted
    if chained and (found := quantile_trees.tree_quantiles(data, n, ranks, question)) is not None:
        return Outcome(found, HOW)
    lattices = question.guessed(CANDIDATES)
    advice = partial(inverse_advice, fits, n, question, dimension, lattices[-1])

    def room(size: int) -> int:
        return min(quantile_rank(levels[0], size) - 1, size - quantile_rank(levels[-1], size)) // question.rows

    bears = min(ranks[0] - 1, data.count() - ranks[-1]) // question.rows
    seen = sight(room, n, question, dimension, lattices)
    if seen is None:
        found_advice = advice()
        if chained:
            found_advice = quantile_trees.advice(found_advice, n, levels, question.epsilon, question.rows)
        return question.refuse(HOW, found_advice)
    lattice, steps = seen[0], saturated(seen[1], data.count(), question.rows)
    segments = [(Segment(rank, rank),) for rank in ranks]
    windows = [w for s in segments for w in LStatistic.windows(s, steps, question.rows)]
    selected = data.order(windows)
    reaches: list[Reach] = [LStatistic(selected, s, question.rows) for s in segments]
    widen = float(question.granularity / 2) if question.granularity is not None else 0.0
    nested = boxes(reaches, steps, lattice, widen=widen)
    drawn = question.account.draw(
        InverseDraw.of(question.epsilon), ScoredBoxes(nested, Refusal(bears, question.size_is_secret))
    )
    if drawn is None:
        return question.refuse(HOW, advice(), undecided(n, question, "set of quantiles"))
    values = np.sort([round_to(lattice.value(o), question.granularity) for o in drawn])
    return Outcome(values, HOW)


def least_rank(n: int, dimension: int, question: Question) -> int:
    """The least rank that a chain of so many quantiles of n rows can aim at; n where there is no chain."""
    return quantile_trees.least_rank(n, dimension, question.epsilon, question.rows)


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
