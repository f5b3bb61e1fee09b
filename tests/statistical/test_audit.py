"""Draws tell a sampler that is right from one that is not, on hostile neighbours.

All draws are seeded; the confidence of each bound leaves a false-alarm rate of 1e-7.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from tests.helpers import FALSE_ALARM
from uptack.audit import delta_lower_bound, epsilon_lower_bound
from uptack.audit.audit_run import trace
from uptack.audit.edge_scenarios import edge_scenarios
from uptack.audit.planted_faults import FAULTS, SAMPLERS
from uptack.audit.price import draws, sample
from uptack.noise import IntegerLaplace, SeededEntropy

SURE = 1 - Fraction(str(FALSE_ALARM))

# ---------------------------------------------------------------------------------------------------- the audit itself


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_laplace_noise_is_accepted_and_half_of_it_is_not(epsilon):
    rng = np.random.default_rng(1)

    def draws(scale):
        return [np.rint(256 * rng.laplace(centre, scale, 60_000)) / 256 for centre in (0, 1)]

    assert 0.75 * epsilon < epsilon_lower_bound(*draws(1 / epsilon), 0, SURE) <= epsilon
    assert epsilon_lower_bound(*draws(0.5 / epsilon), 0, SURE) > epsilon


def test_discrete_answers_and_no_replies():
    draws = [IntegerLaplace(1).sample(60_000, entropy=SeededEntropy(s)) + s for s in (0, 1)]
    assert 0.8 < epsilon_lower_bound(*draws, 0, SURE) <= 1
    rng = np.random.default_rng(2)
    single = [np.where(rng.random(40_000) < p, 5.0, rng.integers(0, 11, 40_000)).tolist() for p in (0.0, 0.3)]
    assert epsilon_lower_bound(*single, 0, SURE) > 1  # only the outcome 5 tells
    silent = [[None if u < p else 1.0 for u in rng.random(20_000)] for p in (0.9, 0.2)]
    assert math.log(3.5) < epsilon_lower_bound(*silent, 0, SURE) <= math.log(8)
    assert epsilon_lower_bound(*silent[::-1], 0, SURE) > math.log(3.5)
    assert epsilon_lower_bound(silent[0], silent[0], 0, SURE) == 0
    assert epsilon_lower_bound(*silent, 0.95, SURE) == 0
    words = [["yes" if u < p else frozenset({"no"}) for u in rng.random(4000)] for p in (0.9, 0.2)]
    assert epsilon_lower_bound(*words, 0, SURE) > 1


def test_the_bound_holds_as_often_as_it_says():
    """At a confidence of 0.9, audits of a randomised response that is exactly tight."""
    rng, epsilon, audits = np.random.default_rng(3), 1.0, 300
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    above = 0
    for _ in range(audits):
        draws = [(rng.random(200) < q).astype(float) for q in (p, 1 - p)]
        above += epsilon_lower_bound(*draws, 0, 0.9) > epsilon
    assert above / audits < 0.1 + 6 * math.sqrt(0.09 / audits)


def test_delta_bounds():
    assert delta_lower_bound(0, 100) == 0
    assert delta_lower_bound(100, 100, SURE) > 0.8
    assert 0.1 < delta_lower_bound(2000, 10_000, SURE, epsilon=0.4, hits_prime=0, draws_prime=10_000) < 0.2
    rng, right = np.random.default_rng(4), 0
    for _ in range(500):
        right += delta_lower_bound(int(rng.binomial(300, 0.05)), 300, 0.9) <= 0.05
    assert right / 500 > 0.9 - 6 * math.sqrt(0.09 / 500)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("delta", lambda: epsilon_lower_bound([1, 2, 3, 4], [1, 2, 3, 4], 1)),
        ("confidence", lambda: epsilon_lower_bound([1, 2, 3, 4], [1, 2, 3, 4], 0, 1)),
        ("draws_d", lambda: epsilon_lower_bound([None], [1, 2, 3, 4], 0)),
        ("draws_d_prime", lambda: epsilon_lower_bound([1, 2, 3, 4], [], 0)),
        ("hits", lambda: delta_lower_bound(5, 4)),
        ("draws", lambda: delta_lower_bound(0, 0)),
        ("hits_prime", lambda: delta_lower_bound(1, 4, hits_prime=9, draws_prime=8)),
        ("epsilon", lambda: delta_lower_bound(1, 4, epsilon=-1)),
    ],
)
def test_bad_arguments(argument, call):
    with pytest.raises(ut.InvalidArgument) as caught:
        call()
    assert caught.value.name == argument


# ---------------------------------------------------------------------------------------------------------- mechanisms

DRAWN = {one.name: one for one in edge_scenarios() if one.draws}


@pytest.mark.parametrize("name", DRAWN)
def test_a_sampler_shows_no_more_than_its_price(name):
    """A small version of `make audit`: gross breaks only."""
    few = replace(DRAWN[name], draws=60)
    assert [found for pair in few.pairs().values() for found in draws(few, pair)] == []


@pytest.mark.parametrize("name", ["count", "median, drawn"])
def test_draws_have_power_on_what_is_right(name):
    """They find a good part of the price, so that a sampler with twice the loss would not pass."""
    (found,) = sample(DRAWN[name], DRAWN[name].pairs()[""], count=4000)
    assert 0.2 * found.price < found.bound <= found.price


@pytest.mark.parametrize("name", [name for name, *_ in SAMPLERS[::3]])
def test_a_planted_fault_of_a_sampler_is_found(name):
    """Every third; `make audit` looks for all of them."""
    (fault,) = (one for one in FAULTS if one.name == name)
    assert trace(fault).good
