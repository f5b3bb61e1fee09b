"""Composed loss distributions: beside exact sums, and beside dp-accounting."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from scipy import stats

from uptack.privacy import SUBSTITUTE, gaussian_epsilon, gaussian_noise_multiplier
from uptack.privacy.accounting import (
    MARGIN,
    STEP,
    Losses,
    _losses,
    _numerically,
    bounded_range,
    gaussian,
    least_epsilon,
    worst_case,
)
from uptack.privacy.loss import Approximate, BoundedRange, Gaussian, Pure
from uptack.statistics.column_options import read_question
from uptack.statistics.quantiles import IntervalRanks, rank_bounds

TINY = Fraction(1, 10**4)


def exactly(pieces, epsilon):
    """δ(ε) of independent losses by direct sums."""
    law, finite = {0: 1.0}, 1.0
    for part, times in pieces:
        for _ in range(times):
            sums = Counter()
            for x, p in law.items():
                for y, q in zip(part.places.tolist(), part.masses.tolist(), strict=True):
                    sums[x + y] += p * q
            law, finite = sums, finite * (1 - part.infinite)
    return 1 - finite + math.fsum(p * max(0.0, -math.expm1(epsilon - x * STEP)) for x, p in law.items())


@pytest.mark.parametrize("delta", [1e-15, 1e-9, 1e-6, 1e-3, 0.3])
@pytest.mark.parametrize(
    "pieces",
    [
        [(bounded_range(7), 2), (worst_case(5 * TINY, 0.0), 3)],
        [(worst_case(Fraction(2, 5), 0.0), 20), (worst_case(Fraction(1, 4) + TINY / 3, 1e-17), 3)],
        [(Losses(3000, np.array([0.2, 0.5, 0.3]), apart=1500), 9)],
        [(worst_case(Fraction(0), 0.0), 2), (worst_case(TINY / 7, 0.0), 1)],
    ],
)
def test_the_least_epsilon_is_that_of_direct_sums(pieces, delta):
    found = least_epsilon(pieces, delta)
    assert exactly(pieces, found + float(MARGIN)) <= delta
    assert found == 0 or exactly(pieces, found - 1e-8) > delta


def test_an_infinite_loss_leaves_no_epsilon():
    assert least_epsilon([(worst_case(10 * TINY, 1e-6), 2)], 1e-6) is None
    assert exactly([(worst_case(10 * TINY, 1e-6), 2)], 1.0) == pytest.approx(2e-6, rel=1e-5)


NOISE = [Gaussian(e, Fraction(1, 10**9), gaussian_noise_multiplier(e, Fraction(1, 10**9))) for e in (Fraction(1, 2), 3)]


@pytest.mark.parametrize(
    ("pieces", "error"),
    [
        ({BoundedRange(Fraction(1, 5)): 14, BoundedRange(Fraction(3, 20)): 28, Pure(Fraction(1, 15)): 19}, 1e-8),
        ({Approximate(0.3, 1e-9): 40, BoundedRange(0.001): 200}, 1e-8),
        ({BoundedRange(2): 3, Pure(3): 2}, 1e-8),
        ({NOISE[0]: 1}, 1e-4),  # ours is rounded up to steps
        ({NOISE[0]: 30, NOISE[1]: 2}, 1e-4),
        ({NOISE[0]: 5, BoundedRange(Fraction(1, 5)): 14, Pure(Fraction(1, 15)): 3}, 1e-4),
    ],
)
def test_dp_accounting_says_the_same(pieces, error):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

    def theirs(piece):
        if isinstance(piece, Gaussian):
            return pld.from_gaussian_mechanism(float(piece.noise_multiplier))
        known = _losses(piece, SUBSTITUTE)
        masses = dict(zip(known.places.astype(int).tolist(), known.masses.tolist(), strict=True))
        return pld.PrivacyLossDistribution.create_from_rounded_probability(masses, known.infinite, STEP)

    whole = reduce(lambda a, b: a.compose(b), (theirs(one).self_compose(times) for one, times in pieces.items()))
    ours = _numerically(frozenset(pieces.items()), Fraction(1, 10**6), SUBSTITUTE).epsilon
    assert -1e-8 < ours - whole.get_epsilon_for_delta(1e-6) < error


@pytest.mark.parametrize("square", [1e-4, 0.3, 30.0])
def test_gaussian_losses_are_those_of_gaussian_noise(square):
    for delta in (1e-3, 1e-9, 1e-15):
        exact = float(gaussian_epsilon(square**-0.5, Fraction(str(delta))))
        assert exact <= least_epsilon([(gaussian(square), 1)], delta) + float(MARGIN) < exact + 2 * STEP


@pytest.mark.parametrize("n", [1, 7, 1000, 10**7, 10**14])
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 20), Fraction(999, 1000)])
def test_ranks_around_a_quantile_are_those_of_the_binomial(n, p):
    for q in (Fraction(1, 50), Fraction(1, 10**9)):
        low, high = rank_bounds(n, n, p, q, people=False)
        assert low == stats.binom.ppf(float(q), n, float(p))
        assert high == stats.binom.isf(float(q), n, float(p)) + 1


def rows_up_to(people, p):
    """The law of the number of rows up to the p-quantile, where each person's rows are copies of each other."""
    law = np.ones(1)
    for rows in people:
        law = np.convolve(law, np.r_[1 - p, np.zeros(rows - 1), p])
    return law


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 5)])
@pytest.mark.parametrize("people", [[6] * 50, [6] * 40 + [1] * 61, [5] * 60, [6] * 50 + [1]])
def test_an_interval_of_a_quantile_holds_where_rows_of_a_person_are_copies(people, p):
    n, confidence = sum(people), Fraction(9, 10)
    question = read_question("median", 50, {"rows_per_person": 6})
    ends = IntervalRanks.of(n, p, confidence, Fraction(20), question)
    ((low, high),) = ends.ranks
    low, high = low + 6 * ends.steps, high - 6 * ends.steps
    law = rows_up_to(people, float(p))
    assert law[: max(low, 0)].sum() + law[high:].sum() <= float(1 - confidence) * 8 / 10


def test_ranks_of_copies_rise_with_the_number_of_rows():
    for g in (2, 3, 7):
        ends = [rank_bounds(n, n, Fraction(2, 5), Fraction(1, 50), False, g) for n in range(300)]
        assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in itertools.pairwise(ends))
