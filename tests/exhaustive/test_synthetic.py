"""Synthetic tables: the cutoff by exact tails, and a whole tiny release by the exact cost of each of its draws."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import uptack as ut
from uptack.account import AssumptionFailed, observed_by
from uptack.audit.price import CoupledTape, Recorder, fingerprint
from uptack.exact import ball, upper
from uptack.mechanisms.additive_noise import IntegerNoise
from uptack.noise import IntegerGaussian
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, cost
from uptack.privacy.loss import Zcdp
from uptack.synthesis import noisy_counts
from uptack.synthesis.noisy_counts import FrequentKeys, ScoredChoice, cutoff

FAILURE = Fraction(1, 50)
FAR = 9
"""Noisy counts are told apart up to here; those beyond are one outcome, which is post-processing."""


def splits(units, most):
    """All ways to have up to so many units, at least one in each of some keys."""
    yield ()
    for first in range(1, min(units, most) + 1):
        for rest in splits(units - first, first):
            yield (first, *rest)


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(4), Fraction(90)])
@pytest.mark.parametrize("most", [1, 2, 5, 8])
def test_keys_of_one_person_pass_with_at_most_the_failure(variance, most):
    law = IntegerGaussian(variance)
    t = cutoff(law, most, FAILURE)

    def passing(t):
        with ctx.workprec(120):
            return max(
                upper(sum((law.exact_tail(t - w).expression() for w in one), arb(0))) for one in splits(most, most)
            )

    assert passing(t) <= FAILURE
    all_ones = law.exact_tail(t - 1 - most).expression() + (most - 1) * law.exact_tail(t - 1).expression()
    assert t - 1 <= most or not all_ones < ball(FAILURE), "the bound of the theorem is not met any earlier"


def test_the_cutoff_for_the_units_of_people_has_room_for_all_their_keys():
    unit = ut.table.MemoryTable({}).unit
    assert unit.most == 1
    law = IntegerGaussian(Fraction(10) ** 22)
    few, many = (cutoff(law, most, Fraction(1, 10**8)) for most in (1, 5_354_228_880))
    assert few < many < 2 * few


# -------------------------------------------------------------------------------- frequent keys: laws and divergences


def key_law(law, units, t):
    """What is shown of a key: nothing, or its noisy count, at most FAR."""
    shown = {k: law.exact_pmf(k - units).expression() for k in range(t, FAR)}
    shown[FAR] = law.exact_tail(max(t, FAR) - units).expression()
    return {None: 1 - law.exact_tail(t - units).expression(), **shown}


def table_law(law, table, t, keys, floor):
    cells = [key_law(law, table.count(key), t) if table.count(key) >= floor else {None: arb(1)} for key in keys]
    found = {}
    for outcome in itertools.product(*cells):
        chance = arb(1)
        for cell, shown in zip(cells, outcome, strict=True):
            chance *= cell[shown]
        found[outcome] = chance
    return found


@pytest.mark.parametrize(("adjacency", "squared"), [(SUBSTITUTE, 2), (ADD_REMOVE, 1)])
@pytest.mark.parametrize(("rho", "floor"), [(Fraction(1, 4), 1), (Fraction(2), 1), (Fraction(2), 2), (Fraction(2), 3)])
def test_frequent_keys_are_private_on_every_tiny_table(adjacency, squared, rho, floor):
    """Σ max(P - e^ε·P', 0) ≤ δ, from exact laws, for all tables of up to four rows over three values."""
    assert worst_excess(adjacency, squared, rho, floor, floor - 1) <= float(Fraction(1, 20)) + 1e-12


def test_a_floor_needs_a_higher_cutoff():
    """With the cutoff of keys without a floor, one row that makes a key reach it is seen too often."""
    assert worst_excess(ADD_REMOVE, 1, Fraction(2), 3, 0) > 1 / 20


def worst_excess(adjacency, squared, rho, floor, raised):
    law = IntegerGaussian(Fraction(squared) / (2 * rho))
    t, delta = cutoff(law, 1, FAILURE) + raised, Fraction(1, 20)
    epsilon = cost(Zcdp(rho, delta, FAILURE)).exact_epsilon
    universe = [one for n in range(5) for one in itertools.combinations_with_replacement("abc", n)]
    with ctx.workprec(100):
        laws = {one: table_law(law, one, t, "abc", floor) for one in universe}
        factor = ball(epsilon).exp()
        return max(
            sum((max(float(p - factor * laws[other].get(o, arb(0))), 0.0) for o, p in laws[one].items()), 0.0)
            for one, other in itertools.permutations(universe, 2)
            if neighbours(one, other, adjacency)
        )


def neighbours(one, other, adjacency):
    if adjacency is ADD_REMOVE:
        short, long = sorted((one, other), key=len)
        return len(long) == len(short) + 1 and any(tuple(long[:i] + long[i + 1 :]) == short for i in range(len(long)))
    moved = sum(abs(one.count(key) - other.count(key)) for key in "abc")
    return len(one) == len(other) and moved == 2


# ---------------------------------------------------------------------------------------------------- a whole release

VALUES = list(itertools.product((0, 1, 2), ("a", "b", "c")))
EPSILON, DELTA = 20_000, Fraction(1, 5)


def run(rows, tape, recorder, **options):
    table = {"x": np.array([x for x, _ in rows], np.int64), "y": np.array([y for _, y in rows], object)}
    tape.rewind()
    with observed_by(recorder):
        return ut.synthetic(table, epsilon=EPSILON, delta=DELTA, entropy=tape, **options)


def exact_cost(draw, other):
    """ρ and the failure of one draw between two inputs, from its exact law."""
    mechanism = draw.mechanism
    if isinstance(mechanism, ScoredChoice):
        moves = [b - a for a, b in zip(draw.value, other.value, strict=True)]
        return (mechanism.rate * (max(moves) - min(moves))) ** 2 / 8, Fraction(0)
    if isinstance(mechanism, IntegerNoise):
        square = sum((int(b) - int(a)) ** 2 for a, b in zip(draw.value.flat, other.value.flat, strict=True))
        return square / (2 * Fraction(mechanism.law.variance)), Fraction(0)
    assert isinstance(mechanism, FrequentKeys)
    one, two = (dict(zip(*side.value, strict=True)) for side in (draw, other))
    square = sum((int(two[key]) - int(one[key])) ** 2 for key in one.keys() & two.keys())
    lone = [
        sum(upper(mechanism.law.exact_tail(mechanism.cutoff - int(a[key])).expression()) for key in a.keys() - b.keys())
        for a, b in ((one, two), (two, one))
    ]
    return square / (2 * Fraction(mechanism.law.variance)), max(lone)


def check(one, other, seed, **options):
    """Run on both, with the same outputs; add up what the inputs cost, and compare with what is claimed."""
    tape = CoupledTape(seed)
    first = Recorder(tape)
    second = Recorder(tape, repeats=first.draws)
    made, again = run(one, tape, first, **options), run(other, tape, second, **options)
    assert not second.diverged
    assert len(first.draws) == len(second.draws)
    assert fingerprint(made) == fingerprint(again), "something reached the rows past the mechanisms"
    costs = [exact_cost(*both) for both in zip(first.draws, second.draws, strict=True)]
    rho, failure = sum(rho for rho, _ in costs), sum(failure for _, failure in costs)
    whole = made.loss
    assert rho <= whole.rho
    assert failure <= whole.failure
    assert cost(whole).exact_epsilon <= EPSILON
    return {type(draw.mechanism) for draw in first.draws}, len(first.draws)


def test_a_whole_release_costs_what_it_claims_on_every_tiny_table():
    """Two columns of three values: all tables of two rows, each with half of the rows that replace one; some of more.

    The halves take turns, and the labels of a column are interchangeable.
    """
    kinds, most = set(), 0
    whole = enumerate(itertools.combinations_with_replacement(VALUES, 2))
    pairs = [(one, (row, one[1])) for place, one in whole for row in VALUES[place % 2 :: 2]]
    for n in (3, 4):
        some = list(itertools.combinations_with_replacement(VALUES, n))[:: 60 * (n - 2)]
        pairs += [(one, (row, *one[1:])) for one in some for row in VALUES[::4]]
    for place, (one, other) in enumerate(pairs):
        found, draws = check(one, other, seed=place)
        kinds, most = kinds | found, max(most, draws)
    assert kinds == {FrequentKeys, IntegerNoise, ScoredChoice}
    assert most >= 8, "rounds of pairs were among them"


def test_a_row_that_is_added_costs_what_is_claimed():
    some = list(itertools.combinations_with_replacement(VALUES, 3))[::12]
    for place, one in enumerate(some):
        check(one, one[1:], seed=place, adjacency=ADD_REMOVE)


@pytest.mark.parametrize("fault", ["cutoff", "noise", "choice", "people", "floor"])
def test_planted_faults_are_found(fault, monkeypatch):
    one, other = (VALUES[0], VALUES[0], VALUES[4]), (VALUES[8], VALUES[0], VALUES[4])
    if fault == "floor":  # a value needs two rows to be counted, and the cutoff does not know
        right = noisy_counts.RhoBudget.cutoff
        monkeypatch.setattr(noisy_counts, "KEYS", 3)
        monkeypatch.setattr(
            noisy_counts.RhoBudget, "cutoff", lambda self, rho, failure, floor=1: right(self, rho, failure)
        )
        one, other = (VALUES[0], VALUES[0], VALUES[4]), (VALUES[8], VALUES[0], VALUES[4])
    if fault == "cutoff":
        monkeypatch.setattr(noisy_counts.RhoBudget, "cutoff", lambda *arguments: 1)
    if fault == "noise":
        right = noisy_counts.RhoBudget.law
        monkeypatch.setattr(
            noisy_counts.RhoBudget, "law", lambda self, rho: IntegerGaussian(Fraction(right(self, rho).variance) / 4)
        )
    if fault == "choice":
        right = noisy_counts.RhoBudget.choose
        monkeypatch.setattr(
            noisy_counts.RhoBudget,
            "choose",
            lambda self, scores, moves, rho: right(self, [8 * s for s in scores], moves, rho),
        )
    if fault == "people":  # the sensitivity of added rows, for replaced ones
        monkeypatch.setattr(
            noisy_counts.RhoBudget, "law", lambda self, rho: IntegerGaussian(Fraction(self.most) ** 2 / (2 * rho))
        )
    with pytest.raises((AssertionError, AssumptionFailed)):
        priced(one, other)


def priced(one, other):
    """Each draw against its own loss, as the audit does."""
    for seed in range(6):
        tape = CoupledTape(seed)
        first = Recorder(tape)
        second = Recorder(tape, repeats=first.draws)
        run(one, tape, first)
        run(other, tape, second)
        for a, b in zip(first.draws, second.draws, strict=True):
            allowed = cost(a.mechanism.loss).epsilon
            assert a.mechanism.price(a.value, b.value, a.output) <= allowed * (1 + 1e-9)


@pytest.mark.parametrize("keys", [noisy_counts.KEYS, 3])
def test_no_fault_is_found_where_none_is_planted(keys, monkeypatch):
    monkeypatch.setattr(noisy_counts, "KEYS", keys)
    priced((VALUES[0], VALUES[0], VALUES[4]), (VALUES[8], VALUES[0], VALUES[4]))


def quads(rows, tape, recorder):
    table = {name: np.array(column, bool) for name, column in zip("abcd", np.array(rows).T, strict=True)}
    tape.rewind()
    with observed_by(recorder):
        return ut.synthetic(table, epsilon=50, delta=DELTA, entropy=tape)


def test_a_row_that_moves_one_pair_away_and_another_near_costs_no_more_than_the_choice():
    """a and b are mostly equal, and so are c and d. A row that makes a equal to b makes c differ from d: the score of
    one pair rises by 2 and that of the other one falls by 2."""
    equal = [(x, x, y, y) for x, y in itertools.product((0, 1), repeat=2)]
    rows = 200 * equal + 20 * [(0, 1, 0, 1), (1, 0, 1, 0)]
    tape = CoupledTape(1)
    first = Recorder(tape)
    second = Recorder(tape, repeats=first.draws)
    quads([*rows, (0, 1, 1, 1)], tape, first)
    quads([*rows, (1, 1, 0, 1)], tape, second)
    choices = [(a, b) for a, b in zip(first.draws, second.draws, strict=True) if isinstance(a.mechanism, ScoredChoice)]
    parts = [a.mechanism.price(a.value, b.value, a.output) / float(a.mechanism.loss.epsilon) for a, b in choices]
    assert 0.99 < max(parts) <= 1 + 1e-9


def test_the_price_is_the_theorem():
    law = IntegerGaussian(2)
    mechanism = IntegerNoise(Zcdp(Fraction(1, 2), DELTA), law)
    counts = np.array([3, 1])
    assert mechanism.price(counts, np.array([2, 2]), counts) == cost(mechanism.loss).epsilon
    assert mechanism.price(counts, np.array([1, 3]), counts) > cost(mechanism.loss).epsilon
    keys = FrequentKeys(replace(mechanism.loss, failure=FAILURE), law, cutoff(law, 1, FAILURE))
    with pytest.raises(AssumptionFailed):
        keys.price((["a", "b"], np.array([1, 2])), (["a"], np.array([1])), ([], np.array([])))
    assert keys.price((["a", "b"], np.array([1, 1])), (["a"], np.array([2])), ([], np.array([]))) > 0
