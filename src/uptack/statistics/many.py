"""Several quantiles for one ε.

Where n allows it, they are drawn by a chain, or if there are many by a tree of chains (`uptack.mechanisms.tree`): each
quantile is nearly as close as if it alone had all of ε, since a changed row moves them all together.

Otherwise by nested boxes. **Theorem.** The product of the quantiles' intervals is a reach of their vector: each of the
three axioms holds coordinate by coordinate. So one draw over nested boxes (`uptack.mechanisms.inverse`) is ε-private.
The score of a draw is about 2m/ε and each of m coordinates lies anywhere within that many ranks: an error of about m/ε
ranks, half of that of m releases with ε/m each. Sorting is post-processing. Which of the two ways is taken depends on
n, ε and the levels alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from uptack.mechanisms.inverse import VECTOR_LATTICES, boxes, decay, finest, round_to
from uptack.privacy import loss
from uptack.reach import LStatistic, Reach, Segment
from uptack.reach.order import quantile_rank
from uptack.reach.protocol import Floats
from uptack.release import EachNoise, NoReply, Release
from uptack.statistics import trees
from uptack.statistics.arguments import Call
from uptack.statistics.methods import Data, Statistic, answered, inverse_advice, refused, run

def quantiles(
    data: Data, n: int, levels: tuple[Fraction, ...], request: Call, statistic: Callable[[Fraction], Statistic]
) -> Release[Floats] | NoReply:
    """All the quantiles at once by the inverse method; one after the other, with equal parts, by the others."""
    if request.method != "inverse":
        return _in_turn(data, n, levels, request, statistic)

    def fits(size: int, moves: int) -> bool:
        ranks = [quantile_rank(p, size) for p in levels]
        return min(ranks) - moves >= 1 and max(ranks) + moves <= size

    dimension, ranks = len(levels), [quantile_rank(p, n) for p in levels]
    given = (request.epsilon, request.granularity, request.rows, request.entropy)
    if dimension > 1 and (found := trees.tree_quantiles(data, n, ranks, *given)) is not None:
        return answered(request, found, loss.Pure(request.epsilon), "inverse sensitivity")
    chosen = finest(lambda steps: fits(n, steps * request.rows), request.epsilon, dimension, VECTOR_LATTICES)
    if chosen is None:
        advice = inverse_advice(fits, n, request, dimension, VECTOR_LATTICES[-1])
        if dimension > 1:
            advice = trees.advice(advice, n, levels, request.epsilon, request.rows)
        return refused(request, None, "inverse sensitivity", advice)
    lattice, steps = chosen
    segments = [(Segment(rank, rank),) for rank in ranks]
    windows = [w for s in segments for w in LStatistic.windows(s, steps, request.rows)]
    selected = data.ordered(windows)
    reaches: list[Reach] = [LStatistic(selected, s, request.rows) for s in segments]
    widen = float(request.granularity / 2) if request.granularity is not None else 0.0
    drawn = boxes(reaches, steps, lattice, widen=widen).draw(decay(request.epsilon), request.entropy)
    values = np.sort([round_to(lattice.value(o), request.granularity) for o in drawn])
    return answered(request, values, loss.Pure(request.epsilon), "inverse sensitivity")


def least_rank(n: int, dimension: int, request: Call) -> int:
    """The least rank that a chain of so many quantiles of n rows can aim at; n where there is no chain."""
    return trees.least_rank(n, dimension, request.epsilon, request.rows)


def _in_turn(
    data: Data, n: int, levels: tuple[Fraction, ...], request: Call, statistic: Callable[[Fraction], Statistic]
) -> Release[Floats] | NoReply:
    values, noises, part = [], [], request.share(Fraction(1, len(levels)))
    for p in levels:
        found = run(statistic(p), data, n, part)
        if not found:
            return found
        values.append(found.value)
        noises.append(found.noise)
        part = replace(part, spent=_parts(found.loss))
    how = found.mechanism.split(" by ")[1]
    order = np.argsort(values)
    noise = EachNoise(tuple(noises[i] for i in order))
    return answered(replace(request, spent=part.spent[:-1]), np.array(values)[order], part.spent[-1], how, noise)


def _parts(tree: loss.Loss) -> tuple[loss.Loss, ...]:
    return tree.parts if isinstance(tree, loss.Composed) else (tree,)
