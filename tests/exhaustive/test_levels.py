"""Levels that are found privately: their exact law on all tables of a tiny universe."""

import itertools
import math
from fractions import Fraction

import pytest

import uptack as ut
from uptack.account import Account
from uptack.discrete.categories import Capped
from uptack.noise import IntegerLaplace, SeededEntropy
from uptack.regression.formulas import category_levels
from uptack.table.memory.table import as_column

EPSILON, DELTA = Fraction(4), Fraction(1, 5)
VALUES = ("a", "b", None)
FAR = 1000


class Noise:
    """Draws that are set beforehand, and how likely they are by the law that the code asks for them.

    A law is drawn as the few numbers that make a difference to counts of up to two rows; `FAR` stands for the others.
    """

    def __init__(self, plan):
        self.plan, self.chance, self.cutoff = iter(plan), 1.0, 0

    def __call__(self, law, size, entropy):
        self.cutoff = law.most + 1 if isinstance(law, Capped) else max(self.cutoff, law.cutoff(category_levels.IDLE))
        drawn = [next(self.plan) for _ in range(size)]
        for place in drawn:
            self.chance *= self._mass(law, place)
        return category_levels.np.array([self.cutoff - place if place < FAR else -FAR for place in drawn])

    def _mass(self, law, place):
        top = self.cutoff - place
        if place == FAR:
            return 1.0 - law.tail(self.cutoff - 2)
        return law.tail(top) if place == 0 else law.tail(top) - law.tail(top + 1)


def law_of(rows, relation, monkeypatch):
    """The probability of every outcome of the code itself."""
    found = {}
    for plan in itertools.product((0, 1, 2, FAR), repeat=len(set(rows) - {None}) + 1):
        noise = Noise(plan)
        with monkeypatch.context() as patch:
            patch.setattr(Capped, "draw", lambda law, *more, noise=noise: noise(law, *more))
            patch.setattr(IntegerLaplace, "draw", lambda law, *more, noise=noise: noise(law, *more))
            account = Account.open("fit", EPSILON, DELTA, adjacency=relation, entropy=SeededEntropy(1))
            column = as_column("x", list(rows), None)
            outcome = category_levels.find_levels("x", column.table.counts([column]), column.kind, account)
            spent = ut.privacy.cost(ut.privacy.loss.Composed(account.spent), relation)
            assert (spent.exact_epsilon, spent.exact_delta) == (EPSILON, DELTA)
        found[outcome] = found.get(outcome, 0.0) + noise.chance
    assert math.isclose(sum(found.values()), 1.0)
    return found


def excess(one, other, epsilon):
    return sum(max(p - math.exp(epsilon) * other.get(outcome, 0.0), 0.0) for outcome, p in one.items())


@pytest.mark.parametrize("relation", [ut.SUBSTITUTE, ut.ADD_REMOVE])
def test_found_levels_are_private_on_all_neighbours(relation, monkeypatch):
    monkeypatch.setattr(category_levels, "IDLE", Fraction(1, 2))  # public: so low that others are often a level
    tables = [t for n in (1, 2) for t in itertools.combinations_with_replacement(VALUES, n)]
    laws = {table: law_of(table, relation, monkeypatch) for table in tables}

    def neighbours(a, b):
        rows = [sum(x != y for x, y in zip(order, b, strict=False)) for order in itertools.permutations(a)]
        added = len(a) == len(b) + 1 and any(a[:i] + a[i + 1 :] == b for i in range(len(a)))
        return min(rows) <= 1 and len(a) == len(b) if relation is ut.SUBSTITUTE else added

    pairs = [(a, b) for a, b in itertools.product(tables, repeat=2) if neighbours(a, b)]
    both = [(laws[a], laws[b]) for a, b in pairs] + [(laws[b], laws[a]) for a, b in pairs]
    worst = max(excess(one, other, float(EPSILON)) for one, other in both)
    assert worst <= float(DELTA) * (1 + 1e-9)
    assert worst > float(DELTA) / 10  # the bound is not idle
    assert max(excess(one, other, 0.0) for one, other in both) > 2 * float(DELTA)
