"""Distances to instability against brute force, and the exact law of A_dist, on whole tiny universes."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

from tests.exhaustive.universe import substituted, tables
from uptack.account import AssumptionFailed
from uptack.blocks.partition import random_blocks
from uptack.exact import ball, upper
from uptack.mechanisms.stability import (
    StabilityTest,
    argmax_distance,
    gap_distance,
    median_distance,
    mode_distance,
    noise_law,
    winner,
)
from uptack.noise import SeededEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE
from uptack.privacy.loss import Answer, Test, Unit

EPSILON, DELTA = Fraction(1), Fraction(1, 20)
NAMES, NUMBERS = ("a", "b", "c"), (0, 1, 2, 3)
BALLOTS = tuple(sorted(itertools.chain.from_iterable(itertools.combinations(range(3), k) for k in range(4))))


def votes(table):
    return [sum(i in ballot for ballot in table) for i in range(3)]


def middle(table):
    return sorted(table)[(len(table) + 1) // 2 - 1] if table else None


CASES = {
    "mode": (NAMES, lambda t: winner(t).value if t else None, mode_distance),
    "median": (NUMBERS, middle, median_distance),
    "arg-max": (BALLOTS, lambda t: int(np.argmax(votes(t))), lambda t, *a: argmax_distance(votes(t), *a)),
}
RELATIONS = {relation.kind: relation for relation in (SUBSTITUTE, ADD_REMOVE)}
KINDS = tuple(RELATIONS)


def graph(kind, universe, n):
    """Every table and its neighbours: of n rows, or of up to n rows where rows come and go."""
    if kind == "substitute":
        return {t: substituted(t, universe) for t in tables(n, universe)}
    every = [t for size in range(n + 1) for t in tables(size, universe)]
    longer = {t: {tuple(sorted((*t, v))) for v in universe} if len(t) < n else set() for t in every}
    shorter = {t: {(*t[:i], *t[i + 1 :]) for i in range(len(t))} for t in every}
    return {t: longer[t] | shorter[t] for t in every}


def distances(neighbours, value):
    """Steps to the nearest table that has a neighbour with another value, by breadth-first search."""
    front = {t for t, near in neighbours.items() if any(value[u] != value[t] for u in near)}
    found, k = {}, 0
    while front:
        found |= dict.fromkeys(front, k)
        front = {u for t in front for u in neighbours[t]} - set(found)
        k += 1
    return found


def universe_of(name, kind):
    values, g, distance = CASES[name]
    n = {"substitute": 6, "add/remove": 7}[kind] if name != "arg-max" else 5
    near = graph(kind, values, n)
    value = {t: g(t) for t in near}
    claimed = {t: distance(t, RELATIONS[kind]) if t or name == "arg-max" else 0 for t in near}
    return n, near, value, claimed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_distances_are_what_privacy_needs(name, kind):
    n, near, value, claimed = universe_of(name, kind)
    true = distances(near, value)
    for table, others in near.items():
        assert all(abs(claimed[table] - claimed[other]) <= 1 for other in others)
        assert all(claimed[table] == 0 for other in others if value[other] != value[table])
        assert claimed[table] <= true.get(table, n) or len(table) == n  # beyond n rows nobody looked
    assert max(claimed.values()) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_distance_of_the_median_is_exact(kind):
    _, near, value, claimed = universe_of("median", kind)
    true = distances(near, value)
    inside = [t for t in near if t and set(t) <= {1, 2} and (kind == "substitute" or len(t) <= 4)]
    assert all(claimed[t] == true[t] for t in inside)
    assert len({true[t] for t in inside}) > 2


def test_the_distance_of_the_mode_is_exact_up_to_ties():
    for kind in KINDS:
        _, near, value, claimed = universe_of("mode", kind)
        true = distances(near, value)
        assert all(true[t] - claimed[t] in (0, 1) for t in true if (t and len(t) < 5) or kind == "substitute")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_several_rows_a_person(name, kind):
    _, near, value, _ = universe_of(name, kind)
    distance = CASES[name][2]
    far = {t: distance(t, RELATIONS[kind].per_person(2)) if t or name == "arg-max" else 0 for t in near}
    for table, others in near.items():
        for other in set().union(*(near[o] for o in others)):
            assert abs(far[table] - far[other]) <= 1
            assert far[table] == 0 or value[other] == value[table]


def excess(same, far, near, law, cutoff):
    """Σ(P - e^ε·P')₊ over the values and ⊥."""
    p, q = (law.exact_tail(cutoff - d).expression() for d in (far, near))
    rise = ball(EPSILON).exp()
    refused = ((1 - p) - rise * (1 - q)).nonnegative_part()
    return refused + ((p - rise * q).nonnegative_part() if same else p)


def worst(near, value, distance, law, delta):
    pairs = {(value[t] == value[u], distance[t], distance[u]) for t, others in near.items() for u in others}
    with ctx.workprec(80):
        return max(upper(excess(*pair, law, law.cutoff(delta))) for pair in pairs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_a_dist_is_private(name, kind):
    _, near, value, claimed = universe_of(name, kind)
    assert 0 < worst(near, value, claimed, noise_law(EPSILON), DELTA) <= DELTA


def test_the_gap_as_a_distance_is_caught():
    for kind in KINDS:
        _, near, value, _ = universe_of("mode", kind)
        gap = {t: winner(t).gap if t else 0 for t in near}
        assert worst(near, value, gap, noise_law(EPSILON), DELTA) > DELTA


@pytest.mark.parametrize(("blocks", "times"), [(3, 1), (6, 1), (6, 2), (6, 3)])
@pytest.mark.parametrize("f", [sum, max, lambda rows: rows[0]], ids=["sum", "max", "first"])
def test_the_mode_of_blocks_is_private(blocks, times, f):
    """Given the blocks: the gap less what a row can move it, with noise for that."""
    parts = random_blocks(6, blocks, SeededEntropy(3), times=times)
    every = list(itertools.product((0, 1), repeat=6))
    near = {t: {(*t[:i], 1 - t[i], *t[i + 1 :]) for i in range(6)} for t in every}
    top = {t: winner(f([t[i] for i in part]) for part in parts) for t in every}
    value = {t: w.value for t, w in top.items()}
    distance = {t: w.gap - 2 * times for t, w in top.items()}
    assert worst(near, value, distance, noise_law(EPSILON, 2 * times), DELTA) <= DELTA


def test_the_formulas():
    assert [gap_distance(g, ADD_REMOVE) for g in range(5)] == [0, 0, 1, 2, 3]
    assert [gap_distance(g) for g in range(6)] == [0, 0, 0, 1, 1, 2]


def test_values_that_a_reader_tells_apart_are_two_to_the_price():
    test = StabilityTest(Unit(Test(1, 1e-6), Answer(0)), 1)
    assert test.price(((0.0,), 5), ((0.0,), 4), None) == pytest.approx(1)
    for other in (-0.0, 0, False):
        with pytest.raises(AssumptionFailed):
            test.price(((0.0,), 5), ((other,), 4), None)
