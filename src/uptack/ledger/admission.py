"""Which requests fit the budget: the privacy filter, and its theorem.

**Theorem (basic composition is a privacy filter).** Let requests be chosen one after the other, each mechanism *and its
parameters* (ε_i, δ_i) by any rule from the answers so far. Admit a request only if

    ε_1 + ... + ε_i ≤ ε   and   δ_1 + ... + δ_i ≤ δ.

Then all answers together are (ε, δ)-differentially private. (Rogers, Roth, Ullman and Vadhan 2016 introduced filters.)

*Proof.* Fix neighbours D, D' and a set S of transcripts. The analyst's coins may be fixed too, since the bound survives
averaging. Let P(S | h), P'(S | h) be the probabilities of ending in S after the answers h. Let e, d be what is left of
ε and δ after h. The claim for at most k further answers is P(S | h) ≤ exp(e)·P'(S | h) + d. For k = 0 both
probabilities are the same 0 or 1. For k > 0 let the next answer a cost (ε_1, δ_1) and have the laws μ, μ'. By induction

    P(S | h, a) ≤ min(1, exp(e - ε_1)·P'(S | h, a) + d - δ_1) ≤ g(a) + d - δ_1

with g(a) = min(1, exp(e - ε_1)·P'(S | h, a)). Since g has values in [0, 1], ∫ g dμ ≤ exp(ε_1)·∫ g dμ' + δ_1: integrate
the definition of (ε_1, δ_1)-privacy over the sets {g > t}, t in [0, 1]. Hence

    P(S | h) = ∫ P(S | h, a) dμ ≤ exp(ε_1)·∫ g dμ' + δ_1 + d - δ_1 ≤ exp(e)·∫ P'(S | h, a) dμ' + d.

For an unbounded number of answers the bound holds for every set that finitely many answers determine. Such sets
approximate all sets under both laws at once, so it holds for all sets. ∎

The proof makes these demands on the library:

- *A cost is known before its answer*, as a function of earlier answers. It is debited before data are read, and it is
  the most that the release can cost. (A test that fails costs less than one that passes. There is no refund, since a
  refund would make a cost depend on its own answer.)
- *A refusal is a function of earlier answers*, since it depends on costs only. It needs no budget.
- *Concurrent analysts.* The proof takes answers in the order in which they arrive. It needs only that along every path
  the costs of all answers stay within the budget. Costs that are debited and not yet answered count too. So any
  interleaving is covered, against all analysts in collusion.
- *Sums are exact rationals* (rounded up beyond 4,096 bits), so the filter is the inequality of the theorem.
- *One adjacency*: every cost is first converted to the ledger's adjacency.

**Allowances.** The answers to one analyst are (ε_a, δ_a)-private against her alone, where (ε_a, δ_a) is the largest
allowance she ever had, if her refusals depend on nothing but her own requests. For this, all allowances and the
curator's own debits must together stay within the budget, so that only her allowance can refuse her. And she must see
neither the entries of others nor their sums. Otherwise an allowance only rations the budget, and the guarantee is that
of the whole budget.

**Plans.** Several releases whose parameters are all fixed beforehand are one mechanism, with any guarantee that
composition gives them together: one request of the theorem. Tight composition (`uptack.privacy.tight`: the best of the
sum, of privacy loss distributions and of zCDP) is proved for such fixed lists and not for parameters chosen along the
way, so it is used for plans and for nothing else.

**Why the filter itself does not count in zCDP.** It could: with E[(P/P')^α] ≤ exp(α(α - 1)·r) in place of the claim
above, r what is left of ρ, the same induction makes "Σρ_i ≤ ρ" a filter for ρ-zCDP (Feldman and Zrnic 2021; Whitehouse
et al. 2023). A request that passes one of two filters, for (ε, δ₁) and for (ε, δ₂), could be admitted as well: the
transcripts that end within the first filter and all others are two sets, so everything is (ε, δ₁ + δ₂)-private. But
then what remains is not an (ε, δ), while entries, allowances and refusals are all stated as one; and an entry and its
hash would have to hold ρ. So the ledger counts in (ε, δ), and plans have the gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from uptack.errors import BudgetExceeded
from uptack.privacy import Privacy


@dataclass(frozen=True)
class Balance:
    """What an analyst may still spend: the budget of the data set, and the allowance within it if there is one."""

    budget: Privacy
    spent: Privacy
    own: Privacy
    allowance: Privacy | None = None

    @property
    def remaining(self) -> Privacy:
        """What is left of ε, and what is left of δ."""
        left = _less(self.budget, self.spent)
        return left if self.allowance is None else _least(left, _less(self.allowance, self.own))

    def after(self, cost: Privacy, whose: str = "the budget") -> Balance:
        """The balance after a debit. It is refused unless both sums stay within the budget and the allowance.

        >>> third = Privacy("1/3")
        >>> Balance(Privacy(1), Privacy("2/3"), Privacy(0)).after(third).remaining
        Privacy(epsilon=0.0)
        """
        later = Balance(self.budget, plus(self.spent, cost), plus(self.own, cost), self.allowance)
        if not later.within:
            raise BudgetExceeded(cost, self.remaining, whose)
        return later

    @property
    def within(self) -> bool:
        """Whether the spending stays within the budget and the allowance."""
        return self.spent <= self.budget and (self.allowance is None or self.own <= self.allowance)


def plus(spent: Privacy, cost: Privacy) -> Privacy:
    """The exact sum of what was spent and a cost, rounded up only if it would become very long."""
    return brief(spent + cost)


def brief(guarantee: Privacy) -> Privacy:
    """The guarantee with rationals of limited length, rounded up."""
    if guarantee.exact_delta == 1:
        return guarantee
    epsilon, delta = short(guarantee.exact_epsilon), short(guarantee.exact_delta)
    return guarantee + Privacy(epsilon - guarantee.exact_epsilon, delta - guarantee.exact_delta, guarantee.adjacency)


def short(value: Fraction, bits: int = 4096) -> Fraction:
    """The value, or the next multiple of 2^-bits above it if its denominator is longer than `bits`.

    Amounts are exact. This only keeps sums of thousands of unrelated denominators from growing without bound.
    """
    if value.denominator.bit_length() <= bits:
        return value
    return Fraction(-((-value.numerator << bits) // value.denominator), 1 << bits)


def _less(whole: Privacy, part: Privacy) -> Privacy:
    epsilon, delta = whole.exact_epsilon - part.exact_epsilon, whole.exact_delta - part.exact_delta
    return Privacy(max(epsilon, Fraction(0)), max(delta, Fraction(0)), whole.adjacency)


def _least(a: Privacy, b: Privacy) -> Privacy:
    return Privacy(min(a.exact_epsilon, b.exact_epsilon), min(a.exact_delta, b.exact_delta), a.adjacency)
