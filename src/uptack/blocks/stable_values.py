"""Values that most blocks of the rows agree on: A_samp of Dwork and Roth, made affordable.

**Theorem.** Let f be computed on each of m disjoint random blocks, and let `gap` be how many more blocks say the most
frequent value than the second. A person with up to g rows changes at most g results, so the gap moves by at most 2g,
and where a neighbour has another winner it is at most 2g. With d = gap - 2g and s = 2g, A_dist
(`uptack.mechanisms.stability`) is (ε, δ)-differentially private, under SUBSTITUTE and ADD_REMOVE alike, for any f and
any range of f: the number of possible values does not matter.

The printed A_samp takes about 1/q² overlapping subsamples, q = ε/(64·ln(1/δ)), some ten million of them at ε = 1 and
δ = 1e-6. Disjoint blocks need no more than a multiple of ln(1/δ)/ε of them: 68.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, Unpack

from uptack import checks
from uptack.account import Account
from uptack.blocks.block_evaluation import EvaluationOptions, Functions, accepting, evaluate, functions
from uptack.blocks.partition import random_blocks, units
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.mechanisms.stability import Winner, distance_needed, release_if_stable, winner
from uptack.noise import Entropy
from uptack.noise.entropy import source
from uptack.privacy import SUBSTITUTE, Adjacency, Privacy, cost, loss
from uptack.privacy.guarantee import adjacency as check_adjacency
from uptack.registry import release
from uptack.release import Advice, Noise, NoReply, Release
from uptack.table.reads import OwnedData

NAME = "stable value"


@dataclass(frozen=True, repr=False)
class BlockPlan:
    """The blocks and the agreement of a stable value, from public numbers alone; `advice` if a reply is impossible."""

    rows: int
    blocks: int
    agreement: int
    privacy: Privacy
    advice: Advice | None = None

    @property
    def block_size(self) -> int:
        """Rows, or people, in a block, rounded down."""
        return self.rows // self.blocks

    def __repr__(self) -> str:
        unit = self.privacy.adjacency.unit
        share = f" ({self.agreement / self.blocks:.0%})" if self.agreement <= self.blocks else ", more than there are,"
        lines = [
            f"{self.blocks:,} blocks of {self.block_size:,} {unit}, f runs {self.blocks:,} times",
            f"a reply 19 times in 20 needs {self.agreement:,} blocks{share} that agree",
            f"cost: {self.privacy}",
        ]
        return "\n".join([*lines, *([f"⊥, free of charge; a reply needs {self.advice}"] if self.advice else [])])


def lead_needed(epsilon: Rational, delta: Rational, moves: int = 1) -> int:
    """The lead over the second at which a reply comes 19 times in 20, where a person moves so many results."""
    return 2 * moves + distance_needed(epsilon, delta, 2 * moves)


def plan(
    n: int,
    *,
    epsilon: Rational,
    delta: Rational,
    blocks: int | None = None,
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
) -> BlockPlan:
    """The plan of `stable_value` for n rows: blocks, their size, the agreement that a reply needs, and the cost.

    It reads no data and spends nothing. Without `blocks` their number is the least that gets a reply if three quarters
    of them agree and all others agree on one other value.

    >>> plan(10_000, epsilon=1, delta=1e-6)
    68 blocks of 147 rows, f runs 68 times
    a reply 19 times in 20 needs 51 blocks (75%) that agree
    cost: ε = 1.0, δ = 1e-06 (substitute)
    >>> print(plan(500, epsilon=1, delta=1e-6, blocks=20).advice)
    ε ≥ 1.77, or at least 34 blocks
    """
    eps, dlt = checks.epsilon(epsilon), checks.inside_unit("delta", delta, "Choose one such as 1e-6.")
    rows, relation = checks.integer("n", n, least=0), check_adjacency(adjacency, rows_per_person)
    given = None if blocks is None else checks.integer("blocks", blocks, least=1)
    g = relation.rows_per_person
    lead = lead_needed(eps, dlt, g)
    m = 2 * lead if given is None else given
    if given and relation.size_is_public and given > rows:
        raise InvalidArgument("blocks", f"at most the number of {relation.unit}, {rows}", given)
    advice = None
    if m < lead:
        tried = (eps * Fraction(11, 10) ** k for k in range(60))  # at which unanimous blocks get a reply
        enough = next((float(one) for one in tried if lead_needed(one, dlt, g) <= m), None)
        advice = Advice(epsilon=enough, other=f"at least {lead:,} blocks")
    elif relation.size_is_public and m > rows:
        advice = Advice(n=m, unit=relation.unit)
    tree = loss.Partition(loss.Unit(loss.Test(eps, dlt), loss.Answer(0)))
    price = Privacy(0, 0, relation) if advice else cost(tree, relation)
    return BlockPlan(rows, m, -(-(m + lead) // 2), price, advice)


@release(data=("f", "data"), people=OwnedData(("data",)), examples=({"delta": 1e-6},))
def stable_value(
    f: Functions,
    data: Any,
    *,
    epsilon: Rational,
    delta: Rational,
    blocks: int | None = None,
    fallback: Any = None,
    rows_per_person: int = 1,
    adjacency: Adjacency = SUBSTITUTE,
    entropy: Entropy | None = None,
    **options: Unpack[EvaluationOptions],
) -> Release[Any] | NoReply:
    """The most frequent value of f on many disjoint random blocks, without noise, or ⊥: (ε, δ)-differentially private.

    f takes the rows of a block (in the form of the data) and returns a plain hashable value: a name, a number, a tuple,
    a frozenset of columns. The theorem is in `uptack.blocks.stable_values`. `uptack.blocks.block_evaluation` says what
    f sees, what it must not do, and what happens if it fails (the `fallback` takes its place); it also explains
    `trusted` and `timeout`. `plan(n, ...)` shows the numbers beforehand. With `person=` people are assigned to blocks,
    each with all her rows (`uptack.blocks.partition`), and n is the number of people.

    >>> import numpy as np
    >>> from uptack import SeededEntropy
    >>> x = np.random.default_rng(0).normal(10, 1, size=10_000)
    >>> stable_value(lambda rows: round(rows.mean()), x, epsilon=1, delta=1e-6, entropy=SeededEntropy(1))
    Release(10, stable value by 68 blocks, ε = 1.0, δ = 1e-06 (substitute), NOT PRIVATE: seeded randomness)
    """
    bits, analysts = source(entropy), functions(f, **options)
    relation = check_adjacency(adjacency, rows_per_person)
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    scheme = plan(units(data), blocks=blocks, rows_per_person=rows_per_person, adjacency=adjacency, **budget)
    accept, fixed = accepting("outcome", fallback)
    if scheme.advice:
        return NoReply(scheme.privacy, NAME, None, scheme.advice, bits.private)
    deal = partial(random_blocks, scheme.rows, scheme.blocks, substitute=relation.size_is_public)
    assigned = Account.elsewhere(NAME, bits).toss(deal)
    results = evaluate(analysts, data, assigned, accept, fixed, **options)
    reply, _ = release_mode(results, relation.rows_per_person, adjacency=relation, entropy=bits, **budget)
    assert reply.loss is not None
    return replace(reply, mechanism=f"{NAME} by {scheme.blocks} blocks", loss=loss.Partition(reply.loss))


def release_mode(
    results: Sequence[Any], moves: int, *, epsilon: Rational, delta: Rational, adjacency: Adjacency, entropy: Entropy
) -> tuple[Release[Any] | NoReply, Winner]:
    """The most frequent result by A_dist, where a person moves so many; and the winner itself, which is not private."""
    top = winner(results)
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency, "entropy": entropy}
    reply = release_if_stable(top.value, top.gap - 2 * moves, sensitivity=2 * moves, **budget)
    if not reply:
        needed = -(-(len(results) + lead_needed(epsilon, delta, moves)) // 2)
        way = f"agreement of {needed:,} of {len(results):,} blocks (use larger blocks, or a more stable f)"
        reply = replace(reply, advice=Advice(other=way))
    return reply, top


class Vote(NamedTuple):
    """The outcome of most blocks, and an estimate of the share of blocks that have it."""

    winner: Any
    share: float


@dataclass(frozen=True)
class ShareNoise:
    """The noise of a winner's share: that of a count, divided by the number of blocks."""

    count: Noise
    blocks: int

    def around(self, value: Vote, confidence: Rational) -> tuple[float, float]:
        low, high = self.count.around(value.share * self.blocks, confidence)
        return max(low / self.blocks, 0.0), min(high / self.blocks, 1.0)
