"""The cost of a loss tree, in (ε, δ) and in ρ: one theorem per kind of node for each. Unknown kinds are refused.

References are to Dwork and Lei's report of 2008, with the repairs that `docs/theorems.md` proves.

**Concentrated privacy.** A mechanism is *ρ-zCDP* if D_α(P‖P') ≤ αρ for all α > 1 and all neighbours, where P and P' are
the laws of its answer and D_α(P‖P') = ln E_{y ~ P'}[(P(y)/P'(y))^α]/(α - 1) is Rényi's divergence. It is
*δ-approximately ρ-zCDP* if for all neighbours P = (1 - δ)·A + δ·B and P' = (1 - δ)·A' + δ·B' with laws such that
D_α(A‖A') ≤ αρ (Bun and Steinke 2016).

Many small losses add up in ρ, which is quadratic in ε, and are turned into (ε, δ) once. That holds for releases whose
parameters are fixed beforehand; what is asked may depend on the answers so far.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import singledispatch
from typing import NamedTuple

from flint import arb

from uptack import checks
from uptack.errors import InvalidArgument, UnknownLoss
from uptack.exact import Rational, Real, ball, bisect, logarithm
from uptack.privacy import loss
from uptack.privacy.calibration import excess, largest
from uptack.privacy.guarantee import LARGEST_EXPONENT, SUBSTITUTE, Adjacency, Privacy, shorter, total, total_of


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


# ------------------------------------------------------------------------------------------------- concentrated privacy


LARGEST_RHO = 10**18
"""A larger ρ promises nothing of use."""

LARGEST_ORDER = 1e150
"""The largest order α in the search. Any α gives a valid bound."""

LONG = 512
"""Bits of a denominator above which ρ is rounded up to a shorter rational."""


class Concentrated(NamedTuple):
    """δ-approximate ρ-zCDP; with δ = 0 plain ρ-zCDP."""

    rho: Fraction
    delta: Fraction = Fraction(0)

    def steps(self, count: int, guarantee: Privacy) -> Concentrated:
        """The guarantee between tables `count` steps apart, where `guarantee` is the (ε, δ) of one step.

        k²ρ for δ = 0 (Bun and Steinke 2016, group privacy). For δ > 0 it is what group privacy of (ε, δ) gives.
        """
        if count == 1:
            return self
        if self.delta == 0:
            return Concentrated(count**2 * self.rho)
        return _of_guarantee(guarantee.group(count))


def zcdp(tree: loss.Loss, adjacency: Adjacency = SUBSTITUTE) -> Concentrated:
    """(ρ, δ) of everything in the tree together: δ-approximate ρ-zCDP.

    As for `cost`, the adjacency is the one that the parameters of the nodes refer to.

    >>> zcdp(loss.Composed((loss.BoundedRange(1), loss.BoundedRange(1), loss.Pure(1))))
    Concentrated(rho=Fraction(3, 4), delta=Fraction(0, 1))
    """
    return _zcdp(tree, checks.instance("adjacency", adjacency, Adjacency, "SUBSTITUTE or ADD_REMOVE"))


@singledispatch
def _zcdp(node: loss.Loss, adjacency: Adjacency) -> Concentrated:
    """ε²/2, and δ as it is, for any node whose (ε, δ) is known (Bun and Steinke 2016); any other is refused.

    ε-private laws have D_α ≤ αε²/2. Two (ε, δ)-private laws are mixtures as in the definition above, where A and A' are
    ε-private (Kairouz, Oh and Viswanath 2015). Nothing better is claimed for tests, units and cascades.
    """
    return _of_guarantee(cost(node, adjacency))


def _of_guarantee(guarantee: Privacy) -> Concentrated:
    return Concentrated(guarantee.exact_epsilon**2 / 2, guarantee.exact_delta)


@_zcdp.register(loss.BoundedRange)
def _(node: loss.BoundedRange, adjacency: Adjacency) -> Concentrated:
    """ε²/8 (Cesar and Rogers 2021, after Dong, Durfee and Rogers 2020).

    *Proof.* Let Z = ln(P(y)/P'(y)) for y ~ P, with values in an interval of length ε. Hoeffding's lemma says
    ln E e^(sZ) ≤ s·E Z + s²ε²/8 for every s. With s = -1 the left side is ln 1 = 0, so E Z ≤ ε²/8. With s = α - 1 it is
    (α - 1)·D_α(P‖P'), so D_α ≤ E Z + (α - 1)·ε²/8 ≤ αε²/8. A mixture over randomness that both laws share has a
    divergence of at most the largest in it, since D_α is quasi-convex in both laws together. ∎
    """
    return Concentrated(Fraction(node.epsilon) ** 2 / 8)


@_zcdp.register(loss.Gaussian)
def _(node: loss.Gaussian, adjacency: Adjacency) -> Concentrated:
    """1/(2σ²), σ the noise multiplier: D_α(N(0, σ²)‖N(1, σ²)) = α/(2σ²) (Bun and Steinke 2016).

    Integer Gaussian noise of the same variance on integers has at most that (Canonne, Kamath and Steinke 2020), and
    what the library draws has more variance than that.
    """
    return Concentrated(1 / (2 * Fraction(node.noise_multiplier) ** 2))


@_zcdp.register(loss.Zcdp)
def _(node: loss.Zcdp, adjacency: Adjacency) -> Concentrated:
    """As it states."""
    return Concentrated(Fraction(node.rho), Fraction(node.failure))


@_zcdp.register(loss.Composed)
def _(node: loss.Composed, adjacency: Adjacency) -> Concentrated:
    """ρ adds and δ adds, also where a part depends on the answers before it (Bun and Steinke 2016).

    *Proof for δ = 0.* E[(P/P')^α] of two parts is that of the first times a mean of those of the second given the
    first's answer, each at most e^(α(α-1)ρ₂). ∎ With δ's, each part is in its good mixture with probability 1 - δ_i.
    """
    return _sum(node.parts, adjacency)


def _sum(trees: Iterable[loss.Loss], adjacency: Adjacency) -> Concentrated:
    rho, delta = Fraction(0), Fraction(0)
    for tree, times in multiplicities(trees):
        part = _zcdp(tree, adjacency)
        rho, delta = rho + times * part.rho, min(delta + times * part.delta, Fraction(1))
        rho = shorter(rho) if rho.denominator.bit_length() > LONG else rho
    return Concentrated(rho, delta)


@_zcdp.register(loss.Disjoint)
def _(node: loss.Disjoint, adjacency: Adjacency) -> Concentrated:
    """The largest ρ and the largest δ of the parts, for one row that is added or removed, and then for several.

    *Proof.* The row changes the rows of one group. The answers of all other groups have the same law on both sides and
    are independent of that group's, so they add nothing to a divergence. A person in k groups changes k of them, whose
    answers are independent: divergences add up. ∎
    """
    one, k = adjacency.one_added, node.groups_per_person
    parts = [_zcdp(part, one) for part in node.parts]
    one_row = Concentrated(max(part.rho for part in parts), max(part.delta for part in parts))
    each = one_row.steps(one.steps_to(adjacency), cost(loss.Disjoint(node.parts), one))
    return Concentrated(k * each.rho, min(k * each.delta, Fraction(1)))


@_zcdp.register(loss.Partition)
def _(node: loss.Partition, adjacency: Adjacency) -> Concentrated:
    """As many steps as a row has blocks: given the partition, and so for the mixture over partitions."""
    return _zcdp(node.part, adjacency).steps(node.blocks_per_row, cost(node.part, adjacency))


@_zcdp.register(loss.Subsample)
def _(node: loss.Subsample, adjacency: Adjacency) -> Concentrated:
    """That of the part, since neighbours stay neighbours; or of the amplified (ε, δ), where that is better in both.

    No theorem is used here that would amplify ρ itself.
    """
    plain, amplified = _zcdp(node.part, adjacency), _of_guarantee(cost(node, adjacency))
    return amplified if amplified.rho <= plain.rho and amplified.delta <= plain.delta else plain


def concentrated_epsilon(rho: Rational, delta: Rational) -> Fraction:
    """An ε such that every ρ-zCDP mechanism is (ε, δ)-private, rounded up (Canonne, Kamath and Steinke 2020).

    **Theorem.** For every α > 1, with u = α - 1, ρ-zCDP implies (ε, δ)-privacy for

        ε = αρ + (ln(1/δ) - ln α)/u - ln(1 + 1/u).

    Its derivative in u is ρ - (ln(1/δ) - ln(1 + u))/u², so it is least where ρu² + ln(1 + u) = ln(1/δ). That u is found
    in floats. The bound is valid for any u, and is computed in balls and rounded up.

    >>> round(float(concentrated_epsilon(0.1, 1e-6)), 3)
    2.142
    """
    total, bound = checks.nonnegative("rho", rho), checks.inside_unit("delta", delta)
    if total > LARGEST_RHO:
        raise InvalidArgument("rho", "at most 1e18", checks.describe(rho))
    return _epsilon(total, bound)


def _epsilon(total: Fraction, bound: Fraction) -> Fraction:
    if total == 0:
        return Fraction(0)
    rho, needed, low, high = float(total), -logarithm(bound), 0.0, 1.0

    def past(u: float) -> bool:
        return rho * u * u + math.log1p(u) >= needed

    while high < LARGEST_ORDER and not past(high):
        low, high = high, 2 * high
    u = Fraction(bisect(past, low, high, halvings=64)[1])

    def bound_at() -> arb:
        alpha = ball(1 + u)
        return alpha * ball(total) - (ball(bound).log() + alpha.log()) / ball(u) - (1 / ball(u)).log1p()

    return max(Real(bound_at).bounds()[1], Fraction(0))


def concentrated_rho(epsilon: Rational, delta: Rational) -> Fraction:
    """The largest ρ that `concentrated_epsilon` turns into at most (ε, δ), rounded down by less than a 2^-40 part.

    >>> round(float(concentrated_rho(2, 1e-6)), 4)
    0.0882
    """
    eps, bound = checks.epsilon(epsilon), checks.inside_unit("delta", delta)
    needed = -logarithm(bound)
    guess = Fraction((float(eps) / (math.sqrt(needed + float(eps)) + math.sqrt(needed))) ** 2)
    return largest(lambda rho: excess(concentrated_epsilon(rho, bound), eps), guess)


def zcdp_total(trees: Iterable[loss.Loss], delta: Rational, adjacency: Adjacency = SUBSTITUTE) -> Privacy | None:
    """The guarantee at this δ of trees that are fixed beforehand, by zCDP; None if their own δ uses it up.

    δ₀-approximate ρ-zCDP is (ε, δ₀ + (1 - δ₀)·δ')-private where ρ-zCDP is (ε, δ'): P(S) ≤ (1 - δ₀)·A(S) + δ₀ and
    P'(S) ≥ (1 - δ₀)·A'(S). So the conversion is made at δ' = (δ - δ₀)/(1 - δ₀).
    """
    bound = checks.delta("delta", delta)
    rho, taken = _sum(trees, checks.instance("adjacency", adjacency, Adjacency, "SUBSTITUTE or ADD_REMOVE"))
    if bound - taken < checks.LEAST_CHANCE or rho > LARGEST_RHO:
        return None
    return Privacy(_epsilon(rho, (bound - taken) / (1 - taken)), bound, adjacency)


@_cost.register(loss.Zcdp)
def _(node: loss.Zcdp, adjacency: Adjacency) -> Privacy:
    """The (ε, δ) of `concentrated`, or a larger ε that is stated."""
    rho, taken, delta = Fraction(node.rho), Fraction(node.failure), Fraction(node.delta)
    return Privacy(max(_epsilon(rho, (delta - taken) / (1 - taken)), Fraction(node.epsilon)), delta, adjacency)
