"""Many quantiles by a tree of chains: the whole law on tiny universes, for every table and every changed row."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tests.exhaustive.chains import law
from tests.helpers import FALSE_ALARM
from uptack.account import Account
from uptack.mechanisms.quantile_chain import Bin, Node, Tier, Tree, chain_decay
from uptack.noise import SeededEntropy

HALF = Fraction(1, 2)


class Rows:
    """All rows of a tiny table at hand."""

    def __init__(self, rows, size):
        self.rows, self.size, self.n = np.array(sorted(rows)), size, len(rows)

    def reveal(self, windows):
        assert all(1 <= a <= b <= self.n for a, b in windows)

    def places(self, ranks):
        return self.rows[ranks - 1]

    def up_to(self, candidate):
        return int(np.count_nonzero(self.rows <= candidate))


def tree(ranks, n, size, *tiers):
    """Nodes given as (low, chosen, high), all tiers with the same ε, 1 in sum."""
    part = Fraction(1, len(tiers))
    nodes = (tuple(Node(low, high, chosen) for low, chosen, high in tier) for tier in tiers)
    return Tree(ranks, n, size, 1, 0, tuple(Tier(part, made) for made in nodes))


def bins(made, tier, table, found):
    """Each node of a tier as the theorem sees it: its rows and its bin."""
    for node in tier.nodes:
        low, high, at = found[node.low], found[node.high], made.targets
        rows = [r for r in sorted(table) if (low < r or node.low == 0) and r <= high]
        targets = tuple(at[j] - at[node.low] for j in node.chosen)
        yield node, rows, Bin(low, high, len(rows), targets, at[node.high] - at[node.low])


def laws(made, tier, table, found, factor=1):
    """For each node of a tier the law of what it draws, given what earlier tiers released."""
    out = []
    for node, rows, box in bins(made, tier, table, found):
        q = chain_decay(tier.epsilon * factor)
        steps = made.steps(tier, len(node.chosen), box.size)
        out.append((node, law(rows, box, steps, q) if box.size else {(box.low,) * len(node.chosen): Fraction(1)}))
    return out


def worst(made, mine, theirs, found, depth=0, factor=1):
    """The largest P/P' over all outputs, given what was released so far: the nodes of a tier are independent."""
    if depth == len(made.tiers):
        return 1
    pairs = list(zip(*(laws(made, made.tiers[depth], table, found, factor) for table in (mine, theirs)), strict=True))
    if depth + 1 == len(made.tiers):
        return math.prod(max(p / b[v] for v, p in a.items()) for (_, a), (_, b) in pairs)
    largest = 0
    for drawn in itertools.product(*(a for (_, a), _ in pairs)):
        ratio, known = 1, dict(found)
        for v, ((node, a), (_, b)) in zip(drawn, pairs, strict=True):
            ratio *= a[v] / b[v]
            known |= dict(zip(node.chosen, v, strict=True))
        largest = max(largest, ratio * worst(made, mine, theirs, known, depth + 1, factor))
    return largest


SHAPES = {
    "three ranks of four rows": tree((1, 2, 4), 4, 5, [(0, (2,), 4)], [(0, (1,), 2), (2, (3,), 4)]),
    "five ranks of five rows": tree((1, 2, 3, 4, 5), 5, 4, [(0, (3,), 6)], [(0, (1, 2), 3), (3, (4, 5), 6)]),
    "two knots, tied ranks": tree((1, 2, 2, 3), 3, 4, [(0, (2, 4), 5)], [(0, (1,), 2), (2, (3,), 4)]),
    "three tiers": tree((1, 2, 3), 3, 4, [(0, (2,), 4)], [(0, (1,), 2)], [(2, (3,), 4)]),
}


def at(epsilon, made):
    """The same tree at another ε."""
    return replace(made, tiers=tuple(Tier(Fraction(epsilon, len(made.tiers)), tier.nodes) for tier in made.tiers))


@pytest.mark.parametrize(
    ("epsilon", "name"), [*((1, name) for name in SHAPES), (50, "two knots, tied ranks"), (50, "three tiers")]
)
def test_the_tree_is_private(epsilon, name):
    """Every table, every replaced row, every output: P ≤ e^ε·P'."""
    made = at(epsilon, SHAPES[name])
    ends, most = {0: 0, len(made.ranks) + 1: made.size}, 0.0
    for table in itertools.combinations_with_replacement(range(made.size), made.n):
        for i, v in itertools.product(range(made.n), range(made.size)):
            other = tuple(sorted((*table[:i], v, *table[i + 1 :])))
            if other != table:
                most = max(most, math.log(worst(made, table, other, ends)))
    assert epsilon / 4 < most <= epsilon


def test_a_tier_that_decays_too_fast_is_caught():
    made = SHAPES["three ranks of four rows"]
    ends = {0: 0, 4: 5}
    tables = list(itertools.combinations_with_replacement(range(5), 4))
    changed = [(t, tuple(sorted((*t[1:], v)))) for t in tables for v in range(5)]
    assert max(math.log(worst(made, a, b, ends, factor=4)) for a, b in changed) > 1


@pytest.mark.parametrize("name", SHAPES)
def test_draws_have_the_law(name):
    made = SHAPES[name]
    table = (0, 1, 3, 3, 2)[: made.n]
    exact = whole(made, table, {0: 0, len(made.ranks) + 1: made.size})
    assert sum(exact.values()) == 1
    account, runs = Account.elsewhere("tree", SeededEntropy(4)), 1500
    seen = Counter(tuple(made.draw(Rows(table, made.size), account)) for _ in range(runs))
    kept = [y for y in exact if runs * exact[y] > 5]
    observed = np.array([seen[y] for y in kept], float)
    right = np.array([runs * float(exact[y]) for y in kept])
    assert abs(observed.sum() - right.sum()) < 6 * math.sqrt(runs)
    assert stats.chisquare(observed, right * observed.sum() / right.sum()).pvalue > FALSE_ALARM
    assert stats.chisquare(observed, np.full(len(kept), observed.sum() / len(kept))).pvalue < FALSE_ALARM


def whole(made, table, found, depth=0):
    """The probability of every output of the whole tree."""
    if depth == len(made.tiers):
        return {tuple(found[j] for j in range(1, len(made.ranks) + 1)): Fraction(1)}
    out = Counter()
    nodes = laws(made, made.tiers[depth], table, found)
    for drawn in itertools.product(*(a.items() for _, a in nodes)):
        known, weight = dict(found), math.prod(p for _, p in drawn)
        for (v, _), (node, _) in zip(drawn, nodes, strict=True):
            known |= dict(zip(node.chosen, v, strict=True))
        for y, p in whole(made, table, known, depth + 1).items():
            out[y] += weight * p
    return out


def test_every_rank_is_drawn_once_and_inside_its_neighbours():
    for count, n in ((15, 4000), (99, 50_000), (300, 500_000), (999, 500_000), (2000, 10**7)):
        ranks = [-(-j * n // (count + 1)) for j in range(1, count + 1)]
        made, known = Tree.of(ranks, n, 1 << 40, Fraction(1)), {0, count + 1}
        for tier in made.tiers:
            for node in tier.nodes:
                assert {node.low, node.high} <= known
                assert all(node.low < j < node.high for j in node.chosen)
            known |= {j for node in tier.nodes for j in node.chosen}
        assert known == set(range(count + 2))
        assert sum(len(node.chosen) for tier in made.tiers for node in tier.nodes) == count
        assert sum(tier.epsilon for tier in made.tiers) == 1
        assert made.widest <= 34


def test_ranks_next_to_each_other_still_make_narrow_nodes():
    made = Tree.of(range(5000, 5200), 10_000, 1 << 40, Fraction(1))
    assert made.widest <= 34
    assert sum(tier.epsilon for tier in made.tiers) == 1
