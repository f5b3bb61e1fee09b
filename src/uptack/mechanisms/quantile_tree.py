"""Many quantiles for one ε: a tree of chains.

A chain of m quantiles (`uptack.mechanisms.quantile_chain`) is a random walk from one to the next, so its error grows
like the root of m. A tree has two or more tiers, each with an equal part of ε. The first draws a few knots among all
rows. They cut the rows into bins, and the next draws a few more in every bin, and so on: a walk is never longer than a
node has targets.

**Theorem.** If tier t draws every node by the law of a chain at ε_t, in bins that earlier tiers released, with public
gaps, then the whole is Σε_t-differentially private, under every adjacency of `uptack.mechanisms.quantile_chain`.
*Proof.* Fix the knots that earlier tiers released. The bins of a tier are disjoint and the gaps are public *numbers of
rows*, not shares of a bin's rows, which are secret. So the theorem of the chain holds for all nodes of a tier together,
at ε_t: a row that is replaced within a bin, or leaves one bin for another, costs no more than ε_t in all. Tiers are
adaptive compositions of such draws. Rows keep their random digits from tier to tier: fix the digits of the common rows,
and neighbours stay neighbours. ∎

**How far off.** A chain of J targets among L candidates has P(V' ≥ 4k) ≤ L^J·e^(-ε_t·k/2g): otherwise the number of
rows up to each target is off by at most k more than at the two ends of its bin, so what tiers are off by adds up. Bins
between two knots have an end on both sides, so nothing drawn there can leave them. At the two ends of the table the b
outermost targets of a node leave the rows altogether with a probability of at most L^b·e^(-ε_t(R - h)/2g), where R is
how many rows lie beyond the innermost of the b, given that the next target is not more than h rows too far out.
*Proof.* Compare each such vector with one that has these b where they would be h rows too far out. It is a vector of
the same chain, it has a V that is less by 4(R - h), and fewer than L^b vectors are compared with it. ∎ So every node
at an end keeps R above what makes this one in a million for h = 0; `Tree.fits` says so by public numbers. With few
quantiles R is enough for b = J: then the first bound alone keeps them all among the rows, whatever the data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from uptack.account import Account
from uptack.mechanisms.inverse_sensitivity import FAILURE, steps_needed
from uptack.mechanisms.quantile_chain import Bin, Chain, ChainDraw, Integers, chain_decay
from uptack.privacy import loss

FEW = 14
"""Up to this many quantiles a single chain is best."""

WIDEST = 17
"""The most bins that a node splits its bin into."""


class RankedRows(Protocol):
    """n rows as candidates, looked at around some ranks only: `uptack.statistics.quantile_trees.WindowRows`."""

    n: int

    @property
    def size(self) -> int:
        """How many candidates there are."""
        ...

    def reveal(self, windows: Sequence[tuple[int, int]]) -> None:
        """Look at the rows of these ranks."""
        ...

    def places(self, ranks: Integers) -> Integers:
        """The candidates at which rows lie that have been looked at."""
        ...

    def up_to(self, candidate: int) -> int:
        """How many rows lie at this candidate or below."""
        ...


@dataclass(frozen=True)
class Node:
    """A bin between two targets, by their numbers from 0 to m + 1, and the targets in it that are drawn together."""

    low: int
    high: int
    chosen: tuple[int, ...]


@dataclass(frozen=True)
class Tier:
    """Nodes that are drawn together, and the ε that they cost."""

    epsilon: Fraction
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Tree:
    """What is drawn when, for increasing ranks of n rows among `size` candidates: made from public numbers alone.

    `slack` are the rows that the nearest candidate to a rank may be off, where digits don't tell tied rows apart.
    """

    ranks: tuple[int, ...]
    n: int
    size: int
    rows_per_person: int
    slack: int
    tiers: tuple[Tier, ...]

    @staticmethod
    def of(
        ranks: Sequence[int],
        n: int,
        size: int,
        epsilon: Fraction,
        rows_per_person: int = 1,
        slack: int = 0,
        depth: int | None = None,
    ) -> Tree:
        """So many tiers, or as many as keep nodes narrow, with about as many targets in each node."""
        if depth is None:
            first = depth_for(len(ranks))
            trees = (Tree.of(ranks, n, size, epsilon, rows_per_person, slack, d) for d in itertools.count(first))
            return next(tree for tree in trees if tree.widest <= 2 * WIDEST)
        tiers, known = list[Tier](), [0, len(ranks) + 1]
        width, part = (len(ranks) + 1) ** (1 / depth), epsilon / depth
        least = rows_per_person * steps_needed(part, size, FAILURE)
        for tier in range(depth):
            nodes = []
            for low, high in itertools.pairwise(known):
                chosen = _between(low, high, high - low if tier + 1 == depth else width)
                if tier == 0 and depth > 1:
                    chosen = _root(ranks, n, chosen, least)
                if chosen:
                    nodes.append(Node(low, high, chosen))
            tiers.append(Tier(part, tuple(nodes)))
            known = sorted({*known, *(j for node in nodes for j in node.chosen)})
        return Tree(tuple(ranks), n, size, rows_per_person, slack, tuple(tiers))

    @property
    def widest(self) -> int:
        """The most targets that a node has: more than planned where the root had to leave out some that were close."""
        return max(len(node.chosen) for tier in self.tiers for node in tier.nodes)

    @property
    def failure(self) -> Fraction:
        """What each node may fail with."""
        return FAILURE / sum(len(tier.nodes) for tier in self.tiers)

    @property
    def targets(self) -> list[int]:
        """The ranks in half rows, and both ends of the table."""
        return [0, *(2 * rank - 1 for rank in self.ranks), 2 * self.n]

    def steps(self, tier: Tier, targets: int, candidates: int) -> int:
        """K of a node with these numbers of targets and candidates, in rows."""
        needed = steps_needed(tier.epsilon, max(candidates, 1) ** targets, self.failure)
        return self.rows_per_person * needed + self.slack * targets

    def fits(self, strict: bool = False) -> bool:
        """Whether enough rows lie beyond the outermost targets of every node that has an end of the table.

        Strictly, the outermost one must have enough rows beyond it for all targets of its node, whatever the data.
        """
        return all(self._inside(tier, node, strict) for tier in self.tiers for node in tier.nodes)

    def _inside(self, tier: Tier, node: Node, strict: bool) -> bool:
        at, count = (0, *self.ranks, self.n), len(node.chosen)
        needed = [self.steps(tier, count if strict else b, self.size) for b in range(1, count + 1)]
        low = node.low > 0 or all(at[j] > k for j, k in zip(node.chosen, needed, strict=True))
        last = node.high <= len(self.ranks)
        return low and (last or all(self.n - at[j] > k for j, k in zip(node.chosen[::-1], needed, strict=True)))

    def draw(self, rows: RankedRows, account: Account) -> list[int]:
        """A candidate for each rank, by the theorem above. The account has paid for all nodes together."""
        knots = {0: (0, 0), len(self.ranks) + 1: (self.size, self.n)}
        for tier in self.tiers:
            chain = ChainDraw(loss.BoundedRange(tier.epsilon), chain_decay(tier.epsilon, self.rows_per_person))
            bins = [(node, self._bin(node, knots), knots[node.low][1]) for node in tier.nodes]
            looked = [self.steps(tier, len(node.chosen), one_bin.size) for node, one_bin, _ in bins]
            windows = (
                (start + a, start + b)
                for (_, one_bin, start), steps in zip(bins, looked, strict=True)
                for a, b in one_bin.ranks(steps)
            )
            rows.reveal([(a, b) for a, b in windows if a <= b])
            for (node, one_bin, start), steps in zip(bins, looked, strict=True):
                drawn = _draw_knots(one_bin, steps, chain, rows, start, account)
                knots |= dict(zip(node.chosen, drawn, strict=True))
        return [knots[j][0] for j in range(1, len(self.ranks) + 1)]

    def _bin(self, node: Node, knots: dict[int, tuple[int, int]]) -> Bin:
        (low, before), (high, up_to), at = knots[node.low], knots[node.high], self.targets
        targets = tuple(at[j] - at[node.low] for j in node.chosen)
        return Bin(low, high, up_to - before, targets, at[node.high] - at[node.low])


def _draw_knots(
    one_bin: Bin, steps: int, chain: ChainDraw, rows: RankedRows, start: int, account: Account
) -> list[tuple[int, int]]:
    """Candidates of one bin, each with how many rows of the table there are up to it."""
    if one_bin.size == 0:  # two knots at one candidate
        return [(one_bin.low, start)] * len(one_bin.targets)
    drawn, inside = account.draw(chain, Chain.of(one_bin, steps, chain.q, lambda i: rows.places(start + i)))
    counts = [rows.up_to(v) for v in drawn] if inside is None else [start + i for i in inside]
    return list(zip(drawn, counts, strict=True))


def depth_for(ranks: int) -> int:
    """As many tiers as keep nodes narrow."""
    return 1 if ranks <= FEW else max(2, math.ceil(math.log(ranks + 1) / math.log(WIDEST) - 1e-9))


def _between(low: int, high: int, parts: float) -> tuple[int, ...]:
    """Targets that split those between two others evenly."""
    count = min(max(round(parts), 2), high - low)
    return tuple(sorted({low + round(t * (high - low) / count) for t in range(1, count)}))


def _root(ranks: Sequence[int], n: int, wanted: Sequence[int], least: int) -> tuple[int, ...]:
    """Those of the wanted targets that are at least this many rows from each other and from the ends; at least one."""
    apart: list[int] = []
    for j in wanted:
        before = ranks[apart[-1] - 1] if apart else 0
        if ranks[j - 1] - before >= least and n - ranks[j - 1] >= least:
            apart.append(j)
    return tuple(apart) or ((len(ranks) + 1) // 2,)
