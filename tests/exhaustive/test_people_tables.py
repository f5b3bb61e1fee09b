"""Tables of people's units, unknown categories, groups and blocks: every tiny table, every neighbour, exact laws."""

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb, ctx

import uptack as ut
from tests.exhaustive.panels import MOST_ROWS, added, bags, rows, substituted, tables
from tests.exhaustive.test_categories import excess, table_law
from uptack.account import AssumptionFailed
from uptack.blocks.partition import random_blocks, rows_of
from uptack.discrete.categories import Capped, CellLimit, Screen, cell_noise
from uptack.exact import ball, upper
from uptack.mechanisms.inverse_sensitivity import decay
from uptack.noise import SeededEntropy
from uptack.table import unit
from uptack.table.memory import counts
from uptack.table.memory.counts import favourites
from uptack.table.memory.table import MemoryTable
from uptack.table.unit import PrivacyUnit, U
from uptack.table.values.entrance import column_field

CELLS = (0, 1, 2)
IDS = ("id",)
WEIGHTS = [
    PrivacyUnit.of_people(IDS, *share)
    for share in (("people",), ("any", 1), ("any", 2), ("rows", 1), ("rows", 2), ("rows", 7))
]


@cache
def units(people, weights):
    places, codes = rows(people)
    return counts.units(places.astype(np.int64), len(CELLS), weights, codes, len(people))


def brute(people, weights):
    """The units by the words of the module, person by person."""
    out = [0] * len(CELLS)
    for own in people:
        times_in = Counter(own)
        if weights.share == "any":
            for cell in sorted(times_in, key=lambda cell: (-times_in[cell], cell))[: weights.at_most]:
                out[cell] += 1
        else:
            each = min(U // len(own), U // (weights.at_most or 1))
            for cell, times in times_in.items():
                out[cell] += each * times
    return out


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_one_person_moves_a_table_by_what_the_theorem_says(weights):
    """Up by at most `most` and down by at most `most`; a person who comes moves it up alone. Both are reached."""
    rises = set()
    for people in tables(2, CELLS):
        here = units(people, weights)
        assert here.tolist() == brute(people, weights)
        for other in substituted(people, CELLS):
            move = units(other, weights) - here
            rise, fall = int(move[move > 0].sum()), int(-move[move < 0].sum())
            assert max(rise, fall) <= weights.most
            rises.add((rise, fall))
        for other in added(people, CELLS):
            move = units(other, weights) - here
            assert (move >= 0).all()
            assert move.sum() <= weights.most
    reached = (2, 1) if weights.most == 2 else (weights.most, weights.most)  # of three cells two and two overlap
    assert reached in rises or (weights.at_most or 1) > MOST_ROWS


@pytest.mark.parametrize("relation", [ut.SUBSTITUTE, ut.ADD_REMOVE], ids=str)
@pytest.mark.parametrize("weights", [WEIGHTS[0], WEIGHTS[1], WEIGHTS[2], WEIGHTS[4]], ids=str)
def test_the_noise_of_a_table_costs_epsilon_and_no_less(relation, weights):
    """The exact log-ratio of the noisy table, Σ rise/up + Σ fall/down, over all neighbours."""
    epsilon = Fraction(3, 4)
    law = cell_noise(epsilon, relation.by_person("id"), most=weights.most)
    worst = Fraction(0)
    for people in tables(2, CELLS):
        here = units(people, weights)
        for other in (substituted if relation.size_is_public else added)(people, CELLS):
            move = units(other, weights) - here
            rise, fall = int(move[move > 0].sum()), int(-move[move < 0].sum())
            paid = max(rise / law.up + fall / law.down, fall / law.up + rise / law.down)
            assert paid <= epsilon
            worst = max(worst, paid)
    overlap = Fraction(3, 4) if weights.most == 2 and relation.size_is_public else 1  # of two and two of three cells
    assert worst >= epsilon * overlap * Fraction(99, 100)


@pytest.fixture
def six(monkeypatch):
    """People of 6 units, so that exact laws can be written down."""
    monkeypatch.setattr(unit, "U", 6)


@pytest.mark.usefixtures("six")
@pytest.mark.parametrize("relation", [ut.SUBSTITUTE, ut.ADD_REMOVE], ids=str)
@pytest.mark.parametrize("delta", [Fraction(1, 5), Fraction(1, 50)])
def test_unknown_categories_of_people_are_private_and_no_lower_cap_is(relation, delta):
    """The screen on units: its exact hockey-stick divergence over all neighbours is at most δ, and what is said."""
    epsilon, weights = Fraction(2), PrivacyUnit.of_people(IDS)
    screen = Screen.of(epsilon, delta, relation.by_person("id"), weights)
    assert (weights.most, screen.step) == (6, 6)
    with ctx.workprec(150):
        found = worst_screen(screen.law, screen.cutoff, epsilon, relation)
        assert upper(found) <= delta
        said = screen.law.exact_tail(screen.law.most - 6 + 1).expression()
        assert abs(float(found - said)) < 1e-30
        lower = Capped(screen.law.law, screen.law.most - 1)
        assert worst_screen(lower, screen.cutoff - 1, epsilon, relation) > ball(delta)


def worst_screen(law, cutoff, epsilon, relation):
    factor, worst = ball(epsilon).exp(), arb(0)
    laws = {}

    def law_of(people):
        key = tuple(brute_six(people))
        if key not in laws:
            laws[key] = table_law(law, key, cutoff)
        return laws[key]

    for people in tables(1, (0, 1), 2):
        for other in (substituted if relation.size_is_public else added)(people, (0, 1), 2):
            for a, b in ((people, other), (other, people)):
                worst = max(worst, excess(law_of(a), law_of(b), factor), key=upper)
    return worst


def brute_six(people):
    out = [0, 0]
    for own in people:
        for cell in own:
            out[cell] += 6 // len(own)
    return out


# --------------------------------------------------------------------------------------------------- groups of people


def test_favourites_are_the_first_of_the_most_frequent():
    for people in tables(2, CELLS):
        places, codes = rows(people)
        who, where = favourites(places.astype(np.int64), codes, 1)
        expected = [min(own, key=lambda cell, own=own: (-own.count(cell), cell)) for own in people]
        assert (who.tolist(), where.tolist()) == ([0, 1], expected)


def grouped(people, at_most=1):
    """Groups of (group, value) rows: how many people, and whose values, are in each, whatever the order of people."""
    return _grouped(tuple(sorted(people)), at_most)


@cache
def _grouped(people, at_most):
    pairs, codes = rows(people)
    fields = {"group": column_field("group", pairs[:, 0].astype(np.int64)), "x": column_field("x", pairs[:, 1] + 0.0)}
    made = MemoryTable(fields, WEIGHTS[0], codes, len(people)).groups(["group"]).within(at_most)
    names, sizes = made.sizes()
    held = {}
    for name, size in zip(names, sizes.tolist(), strict=True):
        part = made.part(name).column("x").rows
        assert part.n == part.size == size
        held[name] = sorted((tuple(part.lines[0][part.codes == c].tolist())) for c in range(part.size))
    return held


def test_a_person_is_in_one_group_and_moves_that_group_alone():
    """A person who comes changes one group, by her rows in that group; all other groups stay as they are."""
    rows_of_one = bags([(0, 1.0), (1, 1.0), (1, 2.0)])
    for people in itertools.combinations_with_replacement(rows_of_one, 2):
        here = grouped(people)
        assert sum(map(len, here.values())) == 2
        for own in rows_of_one:
            there = grouped((*people, own))
            changed = [name for name in there if there[name] != here.get(name, [])]
            often = Counter(group for group, _ in own)
            group = min(often, key=lambda name: (-often[name], name))
            assert changed == [group]
            mine = tuple(value for name, value in own if name == group)
            assert sorted([*here.get(group, []), mine]) == there[group]


@pytest.mark.parametrize("g", [1, 2])
def test_a_person_is_in_g_groups_and_moves_those_alone(g):
    """A person who comes changes up to g groups, each by one person, by her rows in that group."""
    rows_of_one = bags([(0, 1.0), (1, 1.0), (2, 2.0)])
    moved = set()
    for people in itertools.combinations_with_replacement(rows_of_one, 2):
        here = grouped(people, g)
        for own in rows_of_one:
            there = grouped((*people, own), g)
            changed = {name for name in there if there[name] != here.get(name, [])}
            often = Counter(group for group, _ in own)
            assert changed == set(sorted(often, key=lambda name: (-often[name], name))[:g])
            for group in changed:
                mine = tuple(value for name, value in own if name == group)
                assert sorted([*here.get(group, []), mine]) == there[group]
            moved.add(len(changed))
    assert max(moved) == g


def limit_law(people, epsilon, most):
    """The exact weights of g, in rationals: 4^-g/g⁴·ρ^(people with more than g cells)."""
    places, codes = rows(people)
    numbers = counts.cells_per_person(places.astype(np.int64), codes)
    limit, rho = CellLimit.of(epsilon, most), decay(2 * epsilon)
    weights = [Fraction(1, 4**g * g**4) * rho ** int(numbers[g + 1 :].sum()) for g in limit.limits]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_the_choice_of_g_costs_epsilon(epsilon):
    """The exact law of g over all neighbours, and that half of the ε would not do."""
    law = cache(lambda people: limit_law(people, epsilon, 3))
    pairs = ((p, other) for p in tables(2, CELLS) for other in (*substituted(p, CELLS), *added(p, CELLS)))
    ratios = {max(a / b, b / a) for p, other in pairs for a, b in zip(law(p), law(other), strict=True)}
    worst = ball(max(ratios)).log()
    assert upper(worst) <= epsilon
    assert worst > ball(epsilon / 2)
    places, codes = rows(((0, 1, 2), (0,)))
    some, fewer = (counts.cells_per_person(places[:k].astype(np.int64), codes[:k]) for k in (4, 1))
    assert CellLimit.of(epsilon, 3).price(some, fewer, 1) <= float(epsilon)
    with pytest.raises(AssumptionFailed):
        CellLimit.of(epsilon, 3).price(np.array([0, 0, 2, 0]), np.array([0, 1, 0, 1]), 1)


def test_the_choice_of_g_is_the_law():
    people = np.array([0, 30, 20, 10])
    limit, rho = CellLimit.of(Fraction(1, 4)), decay(Fraction(1, 2))
    weights = [float(Fraction(1, 4**g * g**4) * rho ** int(people[g + 1 :].sum())) for g in limit.limits]
    entropy = SeededEntropy(1)
    drawn = Counter(limit.draw(people, entropy) for _ in range(4000))
    for g, weight in zip(limit.limits, weights, strict=True):
        share = weight / sum(weights)
        assert abs(drawn[g] / 4000 - share) < 6 * (share * (1 - share) / 4000) ** 0.5 + 1e-3
    assert CellLimit.of(Fraction(1), 1).free
    assert CellLimit.of(Fraction(1), 5).limits == (1, 2, 3, 4, 5)


# --------------------------------------------------------------------------------------------------- blocks of people


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("substitute", [True, False])
def test_a_person_is_in_her_blocks_and_nowhere_else(times, substitute):
    """With the same randomness a replaced person changes the rows of `times` blocks, whoever has how many rows."""
    for people in tables(3, (0, 1)):
        dealt = random_blocks(3, 2 * times, SeededEntropy(1), times=times, substitute=substitute)
        here = contents(people, dealt)
        assert sum(map(len, here)) == times * sum(map(len, people))
        for other in substituted(people, (0, 1)):
            there = contents(other, dealt)
            assert sum(a != b for a, b in zip(here, there, strict=True)) <= times


def contents(people, dealt):
    values, codes = rows(people)
    found = rows_of(dealt, codes)
    for block, rows_in in zip(dealt, found, strict=True):
        assert sorted(rows_in.tolist()) == [i for i, c in enumerate(codes) if c in block.tolist()]
    return [[(int(codes[i]), int(values[i])) for i in rows_in] for rows_in in found]
