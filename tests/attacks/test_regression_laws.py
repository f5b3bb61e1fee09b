"""What intervals of coefficients promise, and ⊥ as a candidate of a draw: its exact law on a tiny universe."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from tests.exhaustive.test_inverse import assert_private
from uptack.mechanisms.inverse_sensitivity import FAILURE, Boxes, Refusal, boxes, decay
from uptack.noise import MachineNumbers, SeededEntropy
from uptack.papers.block_fits import (
    BEYOND,
    SPREAD_SHARE,
    CoefficientErrors,
    ScoreDraw,
    medians_with_errors,
    usable_blocks,
)
from uptack.reach import LStatistic
from uptack.release import Advice
from uptack.statistics.column_options import read_question


def coverage(blocks, p, epsilon, runs, confidence):
    """How often intervals hold 0, for block estimates that are normal around 0 with spreads of all sizes."""
    held, spread = [], np.geomspace(0.01, 100, p)
    for seed in range(runs):
        estimates = np.random.default_rng(seed).normal(size=(blocks, p)) * spread + 1000
        request = read_question("regression", epsilon, {"entropy": SeededEntropy(seed)})
        low, high = request.close(medians_with_errors(estimates, request, Advice(n=1))).interval(confidence)
        held.append((np.array(low) <= 1000) & (np.array(high) >= 1000))
    return float(np.mean(held))


def test_intervals_allow_for_the_privacy_noise():
    """Without it they hold the truth in 85% of cases where 95% are asked for."""
    assert 0.9 < coverage(blocks=3000, p=11, epsilon=1, runs=30, confidence=0.95) < 1


def test_the_law_of_the_errors_is_that_of_a_simulation():
    """One coordinate of a box draw around the middle of normal quantiles, by brute force."""
    blocks, p, epsilon = 500, 3, 0.5
    rng = np.random.default_rng(0)
    radius = rng.gamma(p + 1, 2 / epsilon, 200_000)
    ranks = radius * rng.uniform(-1, 1, 200_000)
    expected = np.sqrt(np.mean((ranks * np.sqrt(2 * np.pi) / blocks) ** 2))
    errors = CoefficientErrors((1.0,) * p, ScoreDraw(blocks, p, 1, epsilon), ScoreDraw(blocks, p, 1, 1000.0))
    noise = np.sqrt(errors.standard_errors[0] ** 2 - np.pi / 2 / blocks)
    assert noise == pytest.approx(expected, rel=0.1)
    assert noise > expected


@pytest.mark.parametrize("p", [1, 2, 60, 400])
def test_factors_grow_with_the_confidence_for_any_number_of_coefficients(p):
    errors = CoefficientErrors((1.0,) * p, ScoreDraw(10_000, p, 1, 0.5), ScoreDraw(10_000, p, 1, 0.3))
    times = [errors.times(outside) for outside in (0.5, 0.05, 1e-3, 1e-6)]
    assert np.isfinite(times).all()
    assert (np.diff(times) > 0).all()
    assert times[1] > 1.96 * np.sqrt(np.pi / 2 / 10_000)
    assert 0 < SPREAD_SHARE < 1


LATTICE = MachineNumbers(2, 2)


def law(nested: Boxes, most: int, rho: Fraction) -> dict[object, Fraction]:
    """The exact law of a draw with a ⊥ of secret weight, from its definition."""
    size = nested.whole[0][1] - nested.whole[0][0] + 1
    weights: dict[object, Fraction] = {}
    for point in range(nested.whole[0][0], nested.whole[0][1] + 1):
        inside = [k for k in range(nested.lows.shape[1]) if nested.lows[0, k] <= point <= nested.highs[0, k]]
        weights[point] = rho ** min(inside, default=nested.lows.shape[1])
    steps = nested.lows.shape[1] - 1
    bears = most if size * rho ** (steps + 1) <= FAILURE else min(most, steps)
    weights["⊥"] = size / FAILURE * rho ** (max(bears, -1) + 1)
    total = sum(weights.values())
    return {y: w / total for y, w in weights.items()}


def test_a_draw_that_may_refuse_is_private_and_never_leaves_what_is_told():
    """Every table of five blocks, of which each tells one of three numbers, or nothing."""
    steps, rho, n = 1, decay(Fraction(1)), 5
    values = (0.0, 1.0, 3.0, None)
    sides = [-BEYOND, BEYOND]
    laws = {}
    for table in itertools.product(values, repeat=n):
        column = np.array([sides[i % 2] if v is None else v for i, v in enumerate(table)])
        nested = boxes([LStatistic.quantile(column, 3, steps)], steps, LATTICE)
        most = usable_blocks(column[:, None], (3, 3), 1)
        laws[table] = law(nested, most, rho)
        kept = min(most, steps)
        beyond = sum(
            chance
            for y, chance in laws[table].items()
            if y != "⊥" and (kept < 0 or not nested.lows[0, kept] <= y <= nested.highs[0, kept])
        )
        assert beyond <= FAILURE

    def neighbours(table):
        return {(*table[:i], v, *table[i + 1 :]) for i in range(n) for v in values}

    assert_private(laws, neighbours, rho**-2)


def test_draws_follow_that_law():
    column = np.array([0.0, 1.0, 1.0, 2.0, 3.0])
    nested = boxes([LStatistic.quantile(column, 3, 2)], 2, LATTICE)
    entropy, runs = SeededEntropy(1), 3000
    for most, rho in ((-1, Fraction(1, 10**9)), (0, Fraction(1, 10**7)), (9, Fraction(1, 100))):
        exact = law(nested, most, rho)
        refusing = replace(nested, refusal=Refusal(most, secret=True))
        drawn = [refusing.draw(rho, entropy) for _ in range(runs)]
        share = float(exact["⊥"])
        seen = np.mean([d is None for d in drawn])
        assert abs(seen - share) < 5.5 * np.sqrt(share * (1 - share) / runs) + 1e-3
        assert sum(d == [LATTICE.floor(1.0)] for d in drawn) >= 0.9 * runs * (1 - share) - 200


def test_exact_data_get_their_reply():
    """All blocks say the same, so that a reply weighs no more than 1: ⊥ must weigh much less."""
    x = np.random.default_rng(0).normal(size=(3000, 1))
    made = [ut.shortcut_regression(x, 2 * x[:, 0], epsilon=1, entropy=SeededEntropy(s)) for s in range(60)]
    assert sum(map(bool, made)) >= 57
    assert all(r.value[1] == pytest.approx(2) for r in made if r)
