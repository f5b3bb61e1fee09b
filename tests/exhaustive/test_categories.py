"""Unknown categories and disjoint groups: exact output laws, and the privacy inequality of each, on tiny universes."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from uptack.discrete.categories import Capped, Screen, capped_law
from uptack.exact import ball, upper
from uptack.noise import IntegerLaplace
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy, cost, loss, tight

EPSILONS = [Fraction(1, 2), Fraction(2)]
DELTAS = [Fraction(1, 5), Fraction(1, 100)]
RELATIONS = [relation.per_person(g) for relation in (SUBSTITUTE, ADD_REMOVE) for g in (1, 2)]
CELLS = 4
MOST = 4
"""Rows of the larger of two neighbours."""


def tables(n):
    """The counts of all tables of n rows over the categories."""
    return [c for c in itertools.product(range(n + 1), repeat=CELLS) if sum(c) == n]


def neighbours(relation):
    """All ordered pairs of tables of at most MOST rows that one person's change turns into each other."""
    g = relation.rows_per_person
    for a, b in itertools.product([t for n in range(MOST + 1) for t in tables(n)], repeat=2):
        risen = sum(max(y - x, 0) for x, y in zip(a, b, strict=True))
        fallen = sum(max(x - y, 0) for x, y in zip(a, b, strict=True))
        alike = risen == fallen if relation.size_is_public else 0 in (risen, fallen)
        if alike and 0 < max(risen, fallen) <= g:
            yield a, b


def cell_law(law, count, cutoff):
    """What is shown of a category: its noisy count from the cutoff on, else nothing; there is no noise without rows."""
    if count == 0:
        return {None: arb(1)}
    shown = {k: law.exact_pmf(k - count).expression() for k in range(cutoff, count + law.most + 1)}
    return {None: 1 - law.exact_tail(cutoff - count).expression(), **shown}


def table_law(law, counts, cutoff):
    cells = [cell_law(law, count, cutoff) for count in counts]
    outcomes = itertools.product(*cells)
    return {o: math.prod((c[s] for c, s in zip(cells, o, strict=True)), start=arb(1)) for o in outcomes}


def excess(p, q, factor):
    """The hockey-stick divergence Σ(P - e^ε·P')₊."""
    gaps = (chance - factor * q.get(outcome, 0) for outcome, chance in p.items())
    return sum((gap for gap in gaps if not gap <= 0), start=arb(0))


def worst(law, cutoff, epsilon, relation):
    laws = {counts: table_law(law, counts, cutoff) for n in range(MOST + 1) for counts in tables(n)}
    factor = ball(epsilon).exp()
    return max((excess(laws[a], laws[b], factor) for a, b in neighbours(relation)), key=upper)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_screen_is_private_and_no_lower_one_is(relation, epsilon, delta):
    """The largest divergence is at most δ, is what the theorem says, and with a lower cap or cutoff it is above δ."""
    screen = Screen.of(epsilon, delta, relation)
    most = screen.law.most
    with ctx.workprec(150):
        found = worst(screen.law, screen.cutoff, epsilon, relation)
        assert upper(found) <= delta
        said = screen.law.exact_tail(most - relation.rows_per_person + 1).expression()
        assert abs(float(found - said)) < 1e-30
        assert worst(Capped(screen.law.law, most - 1), screen.cutoff - 1, epsilon, relation) > ball(delta)
        assert worst(screen.law, screen.cutoff - 1, epsilon, relation) > ball(delta)


def test_the_universe_tries_cutoffs_below_and_above_its_counts():
    cutoffs = {Screen.of(e, d, r).cutoff for e in EPSILONS for d in DELTAS for r in RELATIONS}
    assert min(cutoffs) <= 2 < MOST < max(cutoffs)


def test_a_cap_for_one_row_is_caught_where_a_person_has_two():
    one, two = (ADD_REMOVE.per_person(g) for g in (1, 2))
    epsilon, delta = Fraction(2), Fraction(1, 100)
    law = capped_law(Screen.of(epsilon, delta, two).law.law, delta, 1)
    with ctx.workprec(150):
        assert worst(law, law.most + 1, epsilon, two) > ball(delta)
        assert upper(worst(law, law.most + 1, epsilon, one)) <= delta


def partitions(n, largest=None):
    if n == 0:
        yield ()
    for first in range(min(n, largest or n), 0, -1):
        yield from ((first, *rest) for rest in partitions(n - first, first))


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1), Fraction(40)])
@pytest.mark.parametrize("rows", [1, 2, 3, 7])
@pytest.mark.parametrize("delta", [Fraction(7, 10), Fraction(1, 50), Fraction(1, 10**9)])
def test_the_worst_that_rows_can_do_is_to_be_of_one_category(scale, rows, delta):
    """Against all ways to spread the rows, also where most of them pass; and the cap is the least."""

    def seen(law):
        with ctx.workprec(150):
            silent = [[1 - law.exact_tail(law.most - a + 1).expression() for a in way] for way in partitions(rows)]
            return max(upper(1 - math.prod(chances, start=arb(1))) for chances in silent)

    law = capped_law(IntegerLaplace(scale), delta, rows)
    assert seen(law) <= delta
    assert law.most == 0 or seen(Capped(law.law, law.most - 1)) > delta


# ------------------------------------------------------------------------------------------------------ disjoint groups

FACTOR, DELTA = 2, Fraction(1, 20)  # e^ε and δ of the mechanism below, for one row
GROUPS = 3
ROWS = list(itertools.product(range(GROUPS), (-1, 1)))


def tiny(rows):
    """(ln 2, δ)-private for a row that comes or goes: odds of 2^Σ for a 1; with probability δ it gives Σ away."""
    total = sum(rows)
    one = Fraction(2) ** total / (1 + Fraction(2) ** total)
    return {1: (1 - DELTA) * one, 0: (1 - DELTA) * (1 - one), ("all", total): DELTA}


def joint(table):
    """The law of the mechanism on every group."""
    laws = [tiny([value for group, value in table if group == g]) for g in range(GROUPS)]
    return {o: math.prod(law[y] for law, y in zip(laws, o, strict=True)) for o in itertools.product(*laws)}


def gap(a, b, factor):
    return sum((max(p - factor * b.get(o, 0), Fraction(0)) for o, p in a.items()), start=Fraction(0))


def largest_gap(factor, changes):
    """Over all tables of up to two rows, and all changes of them, in both directions."""
    law = functools.cache(joint)
    starts = [t for n in range(3) for t in itertools.combinations_with_replacement(ROWS, n)]
    pairs = ((law(tuple(sorted(t))), law(tuple(sorted(s)))) for t in starts for s in changes(t))
    return max(max(gap(a, b, factor), gap(b, a, factor)) for a, b in pairs)


def added(rows):
    return lambda table: [(*table, *new) for new in itertools.combinations_with_replacement(ROWS, rows)]


def replaced(table):
    return [(*table[:i], new, *table[i + 1 :]) for i in range(len(table)) for new in ROWS]


def test_groups_together_cost_what_one_costs():
    assert largest_gap(FACTOR, added(1)) <= DELTA
    assert largest_gap(Fraction(3, 2), added(1)) > DELTA


def test_two_rows_cost_two_steps_in_whichever_groups():
    assert largest_gap(FACTOR**2, added(2)) <= DELTA * (1 + FACTOR)
    assert largest_gap(FACTOR, added(2)) > DELTA


def test_a_replaced_row_costs_two_steps_and_not_one():
    assert largest_gap(FACTOR**2, replaced) <= DELTA * (1 + FACTOR)
    assert largest_gap(FACTOR, replaced) > DELTA


def test_the_cost_of_disjoint_groups():
    tree = loss.Disjoint((loss.Approximate(1, 1e-6), loss.Pure(2), loss.Unit(loss.Test(1, 1e-5), None)))
    assert cost(tree, ADD_REMOVE) == Privacy(2, 1e-5, ADD_REMOVE)
    for relation, steps in ((ADD_REMOVE.per_person(3), 3), (SUBSTITUTE, 2), (SUBSTITUTE.per_person(2), 4)):
        price = cost(tree, relation)
        assert price.adjacency == relation
        assert price.exact_epsilon == 2 * steps
        assert np.isclose(price.delta, 1e-5 * sum(math.exp(2 * i) for i in range(steps)), rtol=1e-12)
    assert tight([tree], Fraction(1, 10**5), ADD_REMOVE) == Privacy(2, 1e-5, ADD_REMOVE)
    both = loss.Composed((loss.Pure(1), tree))
    assert cost(both, ADD_REMOVE) == Privacy(3, 1e-5, ADD_REMOVE)
    assert cost(both, SUBSTITUTE).exact_epsilon == 5
