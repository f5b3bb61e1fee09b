"""Trees over rows with random digits, and the counts between their knots: whole laws, digits integrated out."""

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

from tests.exhaustive.test_tree import at, tree, whole
from tests.helpers import FALSE_ALARM
from uptack.account import Account
from uptack.mechanisms.quantile_chain import Tree
from uptack.noise import SeededEntropy
from uptack.statistics.ecdf import RunningCounts, _counts_between
from uptack.statistics.quantile_trees import BITS, Cells, WindowRows
from uptack.table.memory.table import as_column


@dataclass(frozen=True)
class Line:
    """A lattice of the integers from -top to top."""

    top: int = 1

    @property
    def size(self):
        return 2 * self.top + 1

    def value(self, ordinal):
        return float(ordinal)

    def values(self, ordinals):
        return np.asarray(ordinals, np.float64)

    def floors(self, x):
        return np.clip(np.floor(x), -self.top, self.top).astype(np.int64)

    def ceils(self, x):
        return np.clip(np.ceil(x), -self.top, self.top).astype(np.int64)


class Narrow(Tree):
    """Windows of a row or so, so that most knots are drawn among all candidates alike: any public K is private."""

    def steps(self, tier, targets, candidates):
        return 1


class Told(SeededEntropy):
    """Binary digits that are given."""

    def __init__(self, digits):
        super().__init__(0)
        self.left = list(digits)

    def integers(self, bound, size):
        assert bound == 1 << BITS
        digits, self.left = self.left[:size], self.left[size:]
        assert len(digits) == size, "every row gets digits once"
        return np.array(digits, np.int64) << (BITS - 1)


CANDIDATES = Cells(Line(), 1)
ENDS = {0: 0, 4: CANDIDATES.size}
VALUES = (-1.0, 0.0, 1.0)


def narrow(epsilon):
    """One knot of four rows, then one on both sides of it."""
    made = at(epsilon, tree((1, 2, 4), 4, CANDIDATES.size, [(0, (2,), 4)], [(0, (1,), 2), (2, (3,), 4)]))
    return Narrow(*(getattr(made, name) for name in made.__dataclass_fields__))


def digits_of(table):
    return itertools.product((0, 1), repeat=len(table))


def placed(table, n, digits):
    """The n least rows as candidates by the definition; the last candidate of all where there are fewer."""
    rows = sorted(2 * (int(v) + 1) + d for v, d in zip(table, digits, strict=True))[:n]
    return (*rows, *(CANDIDATES.size,) * (n - len(rows)))


def tables(sizes):
    return [t for n in sizes for t in itertools.combinations_with_replacement(VALUES, n)]


def replaced(sizes):
    for table in tables(sizes):
        for i, v in itertools.product(range(len(table)), VALUES):
            if v != table[i]:
                yield table, (*table[:i], v, *table[i + 1 :])


def removed(sizes):
    for table in tables(sizes):
        for i in range(len(table)):
            yield table, (*table[:i], *table[i + 1 :])
            yield (*table[:i], *table[i + 1 :]), table


@cache
def law(made, rows):
    return {y: float(p) for y, p in whole(made, rows, ENDS).items()}


@cache
def mixed(made, table):
    """The law of a tree, digits integrated out."""
    out = Counter()
    for digits in digits_of(table):
        for y, p in law(made, placed(table, made.n, digits)).items():
            out[y] += p / 2 ** len(table)
    return out


def knots_and_counts(epsilon, mine, theirs, moved):
    """The largest log-ratio of what `ecdf` releases: the knots as numbers, and noisy counts between them."""
    laws = []
    for table in (mine, theirs):
        out = Counter()
        for y, p in mixed(MADE[epsilon], tuple(sorted(table))).items():
            out[tuple(sorted(set(CANDIDATES.values(y).tolist())))] += p
        laws.append(out)
    largest = 0.0
    for knots, p in laws[0].items():
        noise = RunningCounts.of(len(knots) + 1, Fraction(epsilon), moved)
        parts = [np.concatenate(noise.parts(np.array(_counts_between(np.array(t), knots)))) for t in (mine, theirs)]
        counts = float(np.abs(parts[0] - parts[1]).sum() / noise.scale)
        largest = max(largest, math.log(p / laws[1][knots]) + counts)
    return largest


MADE = {epsilon: narrow(epsilon) for epsilon in (1, 50)}


@pytest.mark.parametrize("windows", [[(1, 4)], [(2, 2), (4, 4), (1, 3)], [(3, 3), (2, 2)]])
@pytest.mark.parametrize("size", [3, 5])
def test_rows_have_places_by_digits_of_their_own(windows, size):
    """Whichever windows are looked at first, and wherever rows are counted in between."""
    for table in tables([size]):
        seen, exact = Counter(), Counter()
        for digits in digits_of(table):
            rows = WindowRows(as_column("x", np.array(table)), 4, CANDIDATES, Account.elsewhere("rows", Told(digits)))
            for k, window in enumerate(windows):
                rows.reveal([window])
                rows.up_to(2 * k + 1)
            counts = [rows.up_to(v) for v in range(CANDIDATES.size)]
            rows.reveal([(1, 4)])
            found = rows.places(np.arange(1, 5)).tolist()
            assert counts == [sum(r <= v for r in found) for v in range(CANDIDATES.size)]
            seen[tuple(found)] += 1
            exact[placed(table, 4, digits)] += 1
        assert seen == exact


@pytest.mark.parametrize("epsilon", MADE)
@pytest.mark.parametrize(
    ("neighbours", "sizes", "moved"),
    [(replaced, [4], 2), (replaced, [3], 2), (removed, [4, 5], 1)],
    ids=["replaced", "replaced, another n", "removed"],
)
def test_knots_and_counts_are_private(epsilon, neighbours, sizes, moved):
    """Every table with ties, all neighbours, every output: ε for the knots, and as much for the counts."""
    most = max(knots_and_counts(epsilon, *pair, moved) for pair in neighbours(sizes))
    assert 1.05 * epsilon < most <= 2 * epsilon + 1e-9


@pytest.mark.parametrize("epsilon", MADE)
def test_counts_for_half_the_moves_are_caught(epsilon):
    assert max(knots_and_counts(epsilon, *pair, 1) for pair in replaced([4])) > 2 * epsilon


def test_draws_with_digits_have_the_law():
    made, table, entropy, runs = MADE[1], (-1.0, -1.0, 0.0, 1.0), SeededEntropy(8), 1500
    account = Account.elsewhere("tree", entropy)
    columns = (WindowRows(as_column("x", np.array(table)), 4, CANDIDATES, account) for _ in range(runs))
    seen = Counter(tuple(made.draw(rows, account)) for rows in columns)
    exact, wrong = mixed(made, table), mixed(at(8, made), table)
    assert set(seen) <= set(exact)
    assert min(exact.values()) * runs > 5
    observed = [seen[y] for y in exact]
    assert stats.chisquare(observed, [runs * exact[y] for y in exact]).pvalue > FALSE_ALARM
    assert stats.chisquare(observed, [runs * wrong[y] for y in exact]).pvalue < FALSE_ALARM
