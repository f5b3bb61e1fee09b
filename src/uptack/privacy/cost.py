"""The cost of a loss tree: one theorem per kind of node. Unknown kinds are refused.

References are to Dwork and Lei's report of 2008, with the repairs that `docs/theorems.md` proves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import singledispatch

from flint import arb

from uptack import checks
from uptack.errors import UnknownLoss
from uptack.exact import Real, ball
from uptack.privacy import loss
from uptack.privacy.calibration import excess
from uptack.privacy.guarantee import LARGEST_EXPONENT, SUBSTITUTE, Adjacency, Privacy, total, total_of


def cost(tree: loss.Loss, adjacency: Adjacency = SUBSTITUTE) -> Privacy:
    """(ε, δ) of everything in the tree together, by the composition theorems.

    The adjacency is the one that the parameters of the nodes refer to.

    >>> from uptack.privacy.loss import Answer, Cascade, Test, Unit
    >>> unit = Unit(Test(1, 1e-6), Answer(1))
    >>> cost(Cascade((unit, unit)))
    Privacy(epsilon=3.0, delta=2e-06)
    >>> cost(Cascade((unit, unit), same_answer=True))
    Privacy(epsilon=2.0, delta=2e-06)
    """
    return _cost(tree, checks.instance("adjacency", adjacency, Adjacency, "SUBSTITUTE or ADD_REMOVE"))


def within(tree: loss.Loss, planned: loss.Loss, adjacency: Adjacency = SUBSTITUTE) -> bool:
    """Whether every guarantee that holds for what was planned holds for the tree, by a rule for each kind of node.

    A node that states its (ε, δ) has room for whatever costs no more. A range has room for a shorter one. Parts that
    compose have room for those of them, in their order, that have been made.

    >>> within(loss.BoundedRange(1), loss.BoundedRange(2)), within(loss.Pure(1), loss.BoundedRange(2))
    (True, False)
    """
    if isinstance(planned, loss.Composed):
        left = iter(planned.parts)
        parts = tree.parts if isinstance(tree, loss.Composed) else (tree,)
        return all(any(within(part, room, adjacency) for room in left) for part in parts)
    if isinstance(planned, loss.Approximate | loss.Pure):
        return cost(tree, adjacency) <= cost(planned, adjacency)
    if isinstance(planned, loss.BoundedRange) and isinstance(tree, loss.BoundedRange):
        return Fraction(tree.epsilon) <= Fraction(planned.epsilon)
    return tree == planned


@singledispatch
def _cost(node: object, adjacency: Adjacency) -> Privacy:
    raise UnknownLoss(f"no theorem is known for the cost of a {type(node).__name__}; it can't be accounted for")


@_cost.register(loss.Pure)
@_cost.register(loss.BoundedRange)
@_cost.register(loss.Test)
def _(node: loss.Pure | loss.BoundedRange | loss.Test, adjacency: Adjacency) -> Privacy:
    """(ε, 0).

    Of a bounded range, the interval of log-ratios has length ε and holds 0. A mixture keeps P(S) ≤ e^ε·P'(S). A test
    alone reveals pass or fail, which is ε-private (Definition 24.2). Its δ counts if a release follows.
    """
    return Privacy.implied(Fraction(node.epsilon), Fraction(0), adjacency)


@_cost.register(loss.Approximate)
@_cost.register(loss.Gaussian)
def _(node: loss.Approximate | loss.Gaussian, adjacency: Adjacency) -> Privacy:
    return Privacy.implied(Fraction(node.epsilon), Fraction(node.delta), adjacency)


@_cost.register(loss.Unit)
def _(node: loss.Unit, adjacency: Adjacency) -> Privacy:
    """(ε_test + ε_answer, δ): Definition 24. Without an answer (ε_test, δ): a wrong proposal might have passed."""
    return _cost(loss.Cascade((node,)), adjacency)


@_cost.register(loss.Cascade)
def _(node: loss.Cascade, adjacency: Adjacency) -> Privacy:
    """Theorem 29 at one level: the sum of all tests plus the largest answer, and the sum of all δ.

    With `same_answer`: max(Σ tests, largest test + largest answer). ⊥ means that all tests fail, which costs their sum.
    Some test passes with probability 1 - Π(1 - p_j). That is concave along rays from 0, so it costs the largest test
    only, whichever passed.
    """
    tests = [Fraction(unit.test.epsilon) for unit in node.units]
    answer = max(Fraction(unit.answer.epsilon) if unit.answer else Fraction(0) for unit in node.units)
    epsilon = max(sum(tests), max(tests) + answer) if node.same_answer else sum(tests) + answer
    delta = sum((Fraction(unit.test.delta) for unit in node.units), Fraction(0))
    return Privacy.implied(Fraction(epsilon), delta, adjacency)


@_cost.register(loss.Composed)
def _(node: loss.Composed, adjacency: Adjacency) -> Privacy:
    """The costs add: levels by Theorem 29, several components by Corollaries 32 and 35, nested calls by Theorem 37.

    All three follow from general composition, Theorem 27, where each part may depend on earlier answers. Parts that are
    ρ-zCDP, at one δ, count as one of Σρ.

    **Theorem.** Let parts of ε_j, and parts of ρ_i, follow each other in any order, and let Σρ_i-zCDP imply (ε, δ) by
    `concentrated_epsilon`. Then all together are (Σε_j + ε, δ)-private. *Proof.* Let L = A + B be the log-ratio of both
    laws at what came out under the first, A that of the ε_j and B that of the ρ_i. A ≤ Σε_j. Given all that came
    before, E e^((α-1)·B_i) ≤ e^((α-1)·α·ρ_i) for a part of ρ_i, so E e^((α-1)·B) ≤ e^((α-1)·α·Σρ_i). The conversion
    uses no more than that to show E max(0, 1 - e^(ε-B)) ≤ δ. Put L - Σε_j ≤ B in place of B. ∎ Parts of (ε_j, δ_j) are
    mixtures of ε_j-private laws and others, of weight δ_j (Kairouz, Oh and Viswanath 2015), so δ_j adds.
    """
    together: dict[Fraction, Fraction] = {}
    others: list[loss.Loss] = []
    for part in node.parts:
        if isinstance(part, loss.Zcdp) and not part.failure and not part.epsilon:
            at = Fraction(part.delta)
            together[at] = together.get(at, Fraction(0)) + Fraction(part.rho)
        else:
            others.append(part)
    merged = [loss.Zcdp(rho, delta) for delta, rho in together.items()]
    return total((_cost(part, adjacency) for part in (*others, *merged)), adjacency)


@_cost.register(loss.Disjoint)
def _(node: loss.Disjoint, adjacency: Adjacency) -> Privacy:
    """The largest ε and the largest δ of the parts for one added or removed row, then group privacy for several.

    **Theorem.** Let mechanisms with independent randomness each be (ε, δ)-private for an added or removed row, and run
    each on the rows of one group. Together they are (ε, δ)-private for an added or removed row, and
    (gε, δ·(1 + e^ε + ... + e^((g-1)ε)))-private for g rows. Replaced rows take twice as many steps.

    *Proof.* An added or removed row changes at most one group j. The answers for all others have the same law for both
    tables, and are independent of the answer for j. Given them, the answer for j is (ε, δ)-private; average over them.
    g rows are g such steps, whichever groups they are in. A replaced row is a removed row and an added one. ∎ The same
    holds for people in place of rows, where each is in one group.

    **People in up to k groups.** Together they are (kε, kδ)-private for one added or removed person, and for a replaced
    one k times what `under` makes of (ε, δ). *Proof.* Her rows are in up to k groups, and in each of them she is one
    person added or removed. The answers of these groups are independent, so the losses of k of them add up, and those
    of all others have the same law. A replaced person is in up to k groups before and in up to k after: in each of 2k
    places a person is added or removed, at most twice in one group. k groups in which she is both cost k times (2ε,
    δ + e^ε·δ); 2k different ones cost (2kε, 2kδ), which is no more. ∎
    """
    one = adjacency.one_added
    parts = [_cost(part, one) for part in node.parts]
    worst = max(parts, key=lambda part: part.exact_delta)
    missing = max(part.exact_epsilon for part in parts) - worst.exact_epsilon
    each, k = (worst + Privacy(missing, 0, one)).under(adjacency), node.groups_per_person
    return Privacy.implied(k * each.exact_epsilon, min(k * each.exact_delta, Fraction(1)), adjacency)


@_cost.register(loss.Partition)
def _(node: loss.Partition, adjacency: Adjacency) -> Privacy:
    """Corollary 35, given the partition: a changed row changes the results of the blocks that it is in."""
    return _cost(node.part, adjacency).group(node.blocks_per_row)


@_cost.register(loss.Subsample)
def _(node: loss.Subsample, adjacency: Adjacency) -> Privacy:
    """Neighbours stay neighbours; with a rate q also (ln(1 + q(e^ε - 1)), qδ), Balle, Barthe and Gaboardi (2018)."""
    full = _cost(node.part, adjacency)
    if node.rate is None or adjacency.rows_per_person > 1 or full.exact_epsilon > LARGEST_EXPONENT:
        return full
    rate = Fraction(node.rate)

    def amplified() -> arb:
        return (ball(rate) * ball(full.exact_epsilon).expm1()).log1p()

    return Privacy.implied(Real(amplified).bounds()[1], rate * full.exact_delta, adjacency)


def over(price: Privacy, budget: Privacy) -> float:
    """At most 0 where a price is within a budget: the logarithm of the ratio of both ε."""
    return excess(price.exact_epsilon, budget.exact_epsilon) if price.exact_delta <= budget.exact_delta else math.inf


def multiplicities(trees: Iterable[loss.Loss]) -> list[tuple[loss.Loss, int]]:
    """Each tree, and how often it is there. A plan for many columns holds the same few objects many times."""
    every = list(trees)
    by_id = {id(tree): tree for tree in every}
    return [(by_id[which], times) for which, times in Counter(map(id, every)).items()]


def basic_total(trees: Iterable[loss.Loss], adjacency: Adjacency) -> Privacy:
    """What trees cost together by basic composition."""
    return total_of(((cost(tree, adjacency), times) for tree, times in multiplicities(trees)), adjacency)
