"""Several or many quantiles of a column, by a chain or by a tree of chains: `uptack.mechanisms.quantile_tree`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from uptack.mechanisms.inverse_sensitivity import inverse_loss, round_to
from uptack.mechanisms.quantile_tree import FEW, Tree
from uptack.privacy import loss
from uptack.reach.l_statistics import quantile_rank
from uptack.reach.protocol import Floats
from uptack.release import Advice
from uptack.statistics.column_options import Question
from uptack.statistics.quantile_cells import Candidates, choices
from uptack.statistics.rank_windows import WindowRows
from uptack.statistics.statistic import least_n
from uptack.table.protocol import Column

FEWER_DIGITS = 4
"""Digits that a tree leaves out: its values need the bits more, and its windows can take tied rows together."""

SLACK = 4
"""Rows that the nearest candidate to a rank may be off, where that many rows are tied that digits don't tell apart."""


def tree_quantiles(data: Column, n: int, ranks: Sequence[int], question: Question) -> Floats | None:
    """The order statistics of increasing ranks, for all the ε of a question.

    None where n is too small for them, which is public. Each tier has bounded range by itself; all together have not.
    """
    granularity = question.granularity
    chosen = planned(n, ranks, question.epsilon, question.rows)
    if chosen is None:
        return None
    candidates, tree = chosen
    paid = question.account.pay(tree_loss(tree))
    drawn = tree.draw(WindowRows(data, n, candidates, granularity, paid), paid)
    values = candidates.lattice.values((np.array(drawn) >> candidates.digits) - candidates.lattice.top)
    return np.array([round_to(v, granularity) for v in values.tolist()])


def tree_loss(tree: Tree) -> loss.Loss:
    """What the tiers of a tree do to the data, one after the other."""
    tiers = tuple(inverse_loss(tier.epsilon) for tier in tree.tiers)
    return tiers[0] if len(tiers) == 1 else loss.Composed(tiers)


def planned(n: int, ranks: Sequence[int], epsilon: Fraction, rows_per_person: int) -> tuple[Candidates, Tree] | None:
    """The finest candidates that n allows, and the tree over them; None where even the coarsest ask too much."""
    few = len(ranks) <= FEW
    offered = choices(n, 0 if few else FEWER_DIGITS)

    def over(candidates: Candidates, depth: int | None) -> Tree | None:
        slack = max(SLACK, 2 + 2 * (n >> candidates.digits))
        tree = Tree.of(ranks, n, candidates.size, epsilon, rows_per_person, slack, depth)
        return tree if tree.fits(strict=few) else None

    for depth in (1, 2) if few else (None,):
        if offered and over(offered[-1], depth) is not None:
            trees = ((candidates, over(candidates, depth)) for candidates in offered)
            return next((candidates, tree) for candidates, tree in trees if tree is not None)
    return None


def least_rank(n: int, count: int, epsilon: Fraction, rows_per_person: int) -> int:
    """The least rank that so few quantiles of n rows can aim at; n where there is none."""
    for candidates in reversed(choices(n)):
        tree = Tree.of(range(1, count + 1), n, candidates.size, epsilon, rows_per_person, SLACK)
        return tree.steps(tree.tiers[0], count, candidates.size) + 1
    return n


def advice(other: Advice, n: int, levels: Sequence[Fraction], epsilon: Fraction, rows_per_person: int) -> Advice:
    """The n, and the ε, from which on there is a reply, where boxes have an advice of their own."""

    def fits(size: int, eps: Fraction) -> bool:
        return planned(size, [quantile_rank(p, size) for p in levels], eps, rows_per_person) is not None

    enough = least_n(lambda size: fits(size, epsilon))
    if other.n is not None and other.n <= enough:
        return other
    factor = next((k for k in range(1, 41) if fits(n, epsilon * 2**k)), None)
    if factor is None:
        return replace(other, n=enough)
    low, high = epsilon * 2 ** (factor - 1), epsilon * 2**factor
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(n, middle) else (middle, high)
    return Advice(n=enough, epsilon=min(math.ceil(float(1000 * high)) / 1000, other.epsilon or math.inf))
