"""The mechanisms inside of a release get what their theorems ask for, and planted faults are found."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from uptack.audit.chain_scores import largest_move

from tests.exhaustive.chains import chain, inside, variation
from uptack.audit.fault_detection import clean, trace
from uptack.audit.mechanism_audit import ERROR, inner
from uptack.audit.moving_neighbours import moving
from uptack.audit.moving_neighbours.regression_steps import steps
from uptack.audit.planted_faults import FAULTS, PlantedFault
from uptack.audit.prices import gaussian_cost
from uptack.audit.replay_requests import asks
from uptack.audit.scores import score_move
from uptack.mechanisms.inverse_sensitivity import boxes
from uptack.mechanisms.quantile_chain import Bin, chain_decay
from uptack.noise import MachineNumbers
from uptack.privacy import gaussian_epsilon
from uptack.reach import LStatistic

FAST = [fault for fault in FAULTS if fault.check != "drawn"]


@pytest.mark.parametrize("name", moving())
def test_no_mechanism_costs_more_than_it_claims(name):
    found = inner(moving()[name])
    assert found == []


INSIDE = [ask for ask in asks() if ask.inside]
"""Every fortieth of them here: `make audit` looks into all."""


@pytest.mark.parametrize("ask", INSIDE[::40], ids=lambda ask: ask.name)
def test_a_hostile_row_moves_no_mechanism_too_far(ask):
    for case in ask.within():
        found = [text for text in inner(case) if not text.startswith(ERROR)]
        assert found == [], case.name


@pytest.mark.parametrize("fault", FAST, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault):
    assert trace(fault).found


@pytest.mark.parametrize(
    "fault", {f.case: f for f in FAST if f.check == "replay"}.values(), ids=lambda fault: fault.case
)
def test_nothing_is_found_where_nothing_is_planted(fault):
    """By replays; that no mechanism of a clean library costs too much is tested above, on every case."""
    assert clean(fault)


def test_a_fault_that_breaks_down_is_not_found():
    broken = PlantedFault("broken", "uptack.mechanisms.inverse_sensitivity.decay", lambda _: None, "inner", "median")
    assert not trace(broken).found


def test_there_are_enough_of_them():
    assert len(FAULTS) >= 120
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert {fault.check for fault in FAULTS} == {"inner", "replay", "drawn"}


def test_every_step_of_a_regression_has_one():
    assert {case.name for case in steps()} <= {fault.case for fault in FAULTS}


@pytest.mark.parametrize("seed", range(3))
def test_the_tape_does_not_matter(seed):
    for name in ("median", "quartiles", "mean, add/remove", "robust", "density", "unknown groups"):
        assert inner(moving()[name], seed + 7) == []


# ------------------------------------------------------------------------------------------------- against brute force


def test_scores_of_boxes_move_as_brute_force_says():
    lattice, rng = MachineNumbers(3, 2), np.random.default_rng(1)

    def scores(one):
        ends = [one.ends(k)[0] for k in range(4)]
        return [next(k for k, (a, b) in enumerate(ends) if a <= y <= b) for y in range(-lattice.top, lattice.top + 1)]

    for _ in range(50):
        x = rng.integers(-4, 5, 9).astype(float)
        y = np.where(np.arange(9) < rng.integers(0, 4), 3.5, x)
        d, e = (boxes([LStatistic.quantile(v, 5, 2)], 2, lattice) for v in (x, y))
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
    assert gaussian_cost(multiplier, delta) == pytest.approx(exact, rel=1e-9, abs=1e-9)
