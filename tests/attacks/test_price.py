"""The mechanisms inside of a release get what their theorems ask for, and planted faults are found."""

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from tests.exhaustive.chains import chain, inside, variation
from uptack.account import Account, AssumptionFailed, Mechanism
from uptack.audit import Scenario, price, prices
from uptack.audit.audit_run import trace
from uptack.audit.catalogue import catalogue
from uptack.audit.edge_scenarios import edge_scenarios
from uptack.audit.planted_faults import FAULTS, FIT_DRAWS, SAMPLERS, PlantedFault
from uptack.audit.planting import at, owner_of
from uptack.mechanisms.inverse_sensitivity import boxes, score_move
from uptack.mechanisms.quantile_chain import Bin, chain_decay, largest_move
from uptack.noise import IntegerLaplace, MachineNumbers
from uptack.noise.integer_laws import real_gaussian_price
from uptack.privacy import gaussian_epsilon
from uptack.privacy.loss import Pure
from uptack.reach import LStatistic

EDGES = {one.name: one for one in edge_scenarios()}
SLOW = {"distribution, blocks", "blocks of records", "blocks of texts", "blocks of objects", "blocks in turn"}
"""Left to `make audit`, as are two faults of three."""
DRAWN = {name for name, *_ in SAMPLERS}
FAST = [fault for fault in FAULTS if fault.name not in DRAWN and fault.scenario not in SLOW]


@pytest.mark.parametrize("name", sorted(set(EDGES) - SLOW))
def test_no_mechanism_costs_more_than_it_claims(name):
    for pair in itertools.islice(EDGES[name].pairs().values(), 2):
        assert price(EDGES[name], pair) == []


def test_nearly_every_claim_is_reached():
    """An audit on tables whose answer hardly moves has no power."""
    names = ("median", "quartiles", "count", "histogram", "density", "tau", "short cut", "median, people", "mode")
    for name in names:
        made = prices(EDGES[name], EDGES[name].pairs()[""])
        assert made.total > 0.98 * made.claimed, name


@pytest.mark.parametrize("fault", FAST[::3], ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault):
    assert trace(fault).good


@pytest.mark.parametrize("name", ["an interval around a row", "⊥: advice by the true number of rows"])
def test_what_is_beside_the_value_does_not_depend_on_rows(name):
    """A replay does not look into intervals, nor at advice where the number of rows is secret."""
    (fault,) = (one for one in FAULTS if one.name == name)
    assert {check for check, *_ in trace(fault).problems} == {"price"}


@pytest.mark.parametrize("law", ["Laplace", "Gaussian"])
def test_noise_has_a_step_for_values_that_are_rounded_apart(law):
    (fault,) = (one for one in FAULTS if one.name == f"{law} noise: no step for rounding")
    assert trace(fault).good


def test_a_fault_that_breaks_down_is_not_found():
    assert not trace(PlantedFault("broken", "median", (at("InverseDraw", rho=lambda _: None),))).good


def test_there_are_enough_of_them():
    assert len(FAULTS) > 200
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("path", sorted({plant.path for fault in FAULTS for plant in fault.plants}))
def test_every_fault_is_planted_in_code_that_is_there(path):
    owner, name = owner_of(path)
    assert hasattr(owner, name)


def test_every_fault_has_a_scenario():
    assert all(fault.subject.pairs for fault in FAULTS)


def test_a_fault_that_only_prices_find():
    """The fourth moment of a variance at 1.5 of its ε: other stages leave so much that the total is within bounds."""
    (fault,) = (one for one in FAULTS if "fourth moment at 1.5" in one.name)
    scenario = fault.subject
    with fault.planted():
        made = prices(scenario, scenario.pairs()[""])
    assert made.total < made.claimed
    assert [text.split(":")[0] for text in made.problems] == ["draw 5, IntegerNoise"]


def every_kind(kind=Mechanism):
    return {kind, *(below for one in kind.__subclasses__() for below in every_kind(one))}


def test_every_kind_of_mechanism_is_priced_on_some_edge():
    kinds = {one.__name__ for one in every_kind() if one.__module__.startswith("uptack.")} - {"Mechanism"}
    drawn = {name for name, one in EDGES.items() if one.draws}  # have every kind of noise among them
    for name in sorted(set(EDGES) - SLOW, key=lambda name: name not in drawn):
        pair = next(iter(EDGES[name].pairs().values()))
        kinds -= {draw.name for draw in prices(EDGES[name], pair).draws}
        if not kinds:
            break
    assert not kinds


@pytest.mark.parametrize("fit", FIT_DRAWS)
def test_every_draw_of_a_fit_has_a_fault(fit):
    one = EDGES[f"{fit}, a row that moves"]
    most = max(len(prices(one, pair).draws) for pair in one.pairs().values())
    assert 0.8 * FIT_DRAWS[fit] <= most <= FIT_DRAWS[fit]


@pytest.mark.parametrize("seed", [7, 8])
def test_the_tape_does_not_matter(seed):
    for name in ("median", "quartiles", "mean, add/remove", "robust", "density", "unknown groups"):
        assert price(EDGES[name], EDGES[name].pairs()[""], seed) == []


# ------------------------------------------------------------------------------------------- a mechanism of one's own


@dataclass(frozen=True)
class Coarse(Mechanism[int, int]):
    """A count with Laplace noise of some scale."""

    law: IntegerLaplace

    def draw(self, value, entropy):
        return value + self.law.sample(entropy=entropy)

    def price(self, value, other, output):
        if value < 0 or other < 0:
            raise AssumptionFailed("a negative count")
        return self.law.price([other - value])


def released(scale, of=len, result=lambda noisy, rows: noisy):
    def call(rows, entropy):
        account = Account.open("count", 1, entropy=entropy)
        return account.release(result(account.draw(Coarse(Pure(1), IntegerLaplace(scale(rows))), of(rows)), rows))

    return Scenario("count", call, dict)


PAIR = ([1] * 5, [1] * 6)


def test_what_is_wrong_is_named():
    assert price(released(lambda rows: 1), PAIR) == []
    assert price(released(lambda rows: Fraction(1, 2)), PAIR)[0] == "draw 1, Coarse: costs ε = 2 of 1"
    assert "law is IntegerLaplace" in price(released(len), PAIR)[0]
    assert "past all mechanisms" in price(released(lambda rows: 1, result=lambda noisy, rows: len(rows)), PAIR)[0]
    assert price(released(lambda rows: 1, of=lambda rows: -1), PAIR) == ["draw 1, Coarse: a negative count"]


def test_another_course_of_events_is_found():
    def call(rows, entropy):
        if len(rows) > 5:
            return ut.count(rows, epsilon=1, entropy=entropy)
        return released(lambda rows: 1).call(rows, entropy)

    assert "another course of events" in price(Scenario("count", call, dict), PAIR)[0]


def test_errors_are_for_replays_to_see():
    made = prices(Scenario("error", lambda rows, entropy: 1 // 0, dict), PAIR)
    assert (made.problems, made.error) == ((), "ZeroDivisionError: integer division or modulo by zero")


# ------------------------------------------------------------------------------------------------- against brute force


def test_scores_of_boxes_move_as_brute_force_says():
    lattice, rng = MachineNumbers(3, 2), np.random.default_rng(1)

    def scores(one):
        ends = [one.ends(k)[0] for k in range(one.lows.shape[1] + 1)]
        return [next(k for k, (a, b) in enumerate(ends) if a <= y <= b) for y in range(-lattice.top, lattice.top + 1)]

    for steps in ((2, 2), (2, 3)):
        for _ in range(50):
            x = rng.integers(-4, 5, 9).astype(float)
            y = np.where(np.arange(9) < rng.integers(0, 4), 3.5, x)
            d, e = (boxes([LStatistic.quantile(v, 5, k)], k, lattice) for v, k in zip((x, y), steps, strict=True))
            apart = max(abs(a - b) for a, b in zip(scores(d), scores(e), strict=True))
            assert score_move(d, e) >= apart
            assert apart <= 1 or score_move(d, e) > 1


@pytest.mark.parametrize(
    ("low", "high", "targets", "steps"), [(0, 16, (5, 17), 1), (4, 12, (2, 6), 1), (3, 9, (4, 4), 2)]
)
def test_scores_of_chains_move_as_brute_force_says(low, high, targets, steps):
    """One bin of all rows, and bins that the replaced row may leave or enter."""
    rng, q = np.random.default_rng(2), chain_decay(Fraction(1))

    def score(rows, node, v):
        return min(variation(rows, node, v), abs(node.excess) + 4 * steps + 2)

    for _ in range(20):
        rows = [np.sort(rng.integers(0, 16, 12))]
        rows.append(np.sort(np.r_[rows[0][1:], rng.integers(0, 16)]))
        held = [inside(r.tolist(), low, high) for r in rows]
        nodes = [Bin(low, high, len(r), targets, 24 if low == 0 else 8) for r in held]
        d, e = (chain(r, node, steps, q) for r, node in zip(held, nodes, strict=True))
        vectors = itertools.combinations_with_replacement(range(low, high), 2)
        apart = max(abs(score(held[0], nodes[0], v) - score(held[1], nodes[1], v)) for v in vectors)
        assert apart <= largest_move(d, e) <= (4 if len(held[0]) == len(held[1]) else 2)


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 4.0])
def test_the_price_of_gaussian_noise(multiplier):
    delta = Fraction(1, 100)
    exact = float(gaussian_epsilon(Fraction(multiplier), delta))
    assert real_gaussian_price(multiplier, delta) == pytest.approx(exact, rel=1e-9, abs=1e-9)


def test_the_catalogue_has_each_name_once():
    assert len(catalogue()) > 1500
    assert all(name == one.name for name, one in catalogue().items())
