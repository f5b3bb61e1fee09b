"""The mechanisms inside of a release get what their theorems ask for, and planted faults are found."""

from fractions import Fraction

import numpy as np
import pytest

from uptack.audit.asked import asks
from uptack.audit.chains import largest_move
from uptack.audit.faults import FAULTS, Fault
from uptack.audit.inner import ERROR, inner
from uptack.audit.moving import moving
from uptack.audit.planted import clean, trace
from uptack.audit.prices import gaussian_cost
from uptack.audit.scores import score_move
from uptack.mechanisms.inverse import boxes
from uptack.mechanisms.joint import Chain, chain_decay
from uptack.noise import MachineNumbers
from uptack.privacy import gaussian_epsilon
from uptack.reach import LStatistic

FAST = [fault for fault in FAULTS if fault.check != "drawn"]


@pytest.mark.parametrize("name", moving())
def test_no_mechanism_costs_more_than_it_claims(name):
    found = inner(moving()[name])
    assert found == []


@pytest.mark.parametrize("ask", [ask for ask in asks() if ask.inside], ids=lambda ask: ask.name)
def test_a_hostile_row_moves_no_mechanism_too_far(ask):
    for case in ask.within():
        found = [text for text in inner(case) if not text.startswith(ERROR)]
        assert found == [], case.name


@pytest.mark.parametrize("fault", FAST, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault):
    assert trace(fault).found


@pytest.mark.parametrize(
    "fault", {(f.check, f.case, f.without): f for f in FAST}.values(), ids=lambda fault: fault.case
)
def test_nothing_is_found_where_nothing_is_planted(fault):
    assert clean(fault)


def test_a_fault_that_breaks_down_is_not_found():
    broken = Fault("broken", "uptack.mechanisms.inverse.decay", lambda _: None, "inner", "median")
    assert not trace(broken).found


def test_there_are_enough_of_them():
    assert len(FAULTS) >= 70
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert {fault.check for fault in FAULTS} == {"inner", "replay", "drawn"}


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


def test_scores_of_chains_move_as_brute_force_says():
    rng, size = np.random.default_rng(2), 40

    def score(chain, v):
        cells = [int(np.searchsorted(row, y, "right")) - 1 for row, y in zip(chain.edges, v, strict=True)]
        if not all(0 <= c <= 2 * chain.steps for c in cells):
            return chain.cap
        return min(chain.variation(cells), chain.cap)

    for _ in range(20):
        rows = [np.sort(np.r_[rng.choice(20, 6, replace=False), 20 + rng.choice(20, 6, replace=False)])]
        rows.append(np.sort(np.r_[rows[0][1:], rng.integers(0, 40)]))
        d, e = (
            Chain((tuple(r[1:5].tolist()), tuple(r[7:11].tolist())), size, chain_decay(Fraction(1))) for r in rows
        )  # K = 1 around ranks 3 and 9
        apart = max(abs(score(d, (v, w)) - score(e, (v, w))) for v in range(size) for w in range(size) if v <= w)
        found = largest_move(d.edges, e.edges, d.cap)
        assert found >= apart
        assert found <= 4


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 4.0])
def test_the_price_of_gaussian_noise(multiplier):
    delta = Fraction(1, 100)
    exact = float(gaussian_epsilon(Fraction(multiplier), delta))
    assert gaussian_cost(multiplier, delta) == pytest.approx(exact, rel=1e-9, abs=1e-9)
