"""Quantiles far out: ranks by the exact law of the binomial, at any number of rows."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import uptack
from uptack.exact import SMALLEST
from uptack.statistics.quantiles import _tail_by_terms, rank_bounds, tail_bound, tail_exceeds


@pytest.mark.parametrize("n", [10**8, 10**10, 10**12, 10**14])
@pytest.mark.parametrize("p", [Fraction(1, 10**4), Fraction(1, 10**8), Fraction(1, 10**12), 1 - Fraction(1, 10**10)])
@pytest.mark.parametrize("q", [Fraction(1, 50), Fraction(1, 10**12)])
def test_ranks_far_out_are_those_of_the_binomial(n, p, q):
    low, high = rank_bounds(n, n, p, q, people=False)
    for found, k in ((low, stats.binom.ppf(float(q), n, float(p))), (high, stats.binom.isf(float(q), n, float(p)) + 1)):
        assert abs(found - k) <= (p > Fraction(1, 2))  # 1 - 1e-10 is no float


def test_both_ways_to_a_tail_agree():
    for n, p in ((1000, Fraction(1, 3)), (10**6, Fraction(1, 900)), (10**9, Fraction(99, 100))):
        for k in (int(n * p) + 1, int(n * p) + 30, n):
            exact, (low, high) = tail_bound(k, n, p), _tail_by_terms(k, n, p)
            assert low <= exact <= high <= exact * (1 + Fraction(1, 10**5))
            assert low >= exact * (1 - Fraction(1, 10**5)) or exact == Fraction(1, 1 << SMALLEST)
            if exact > Fraction(1, 1 << SMALLEST):  # smaller ones are that, rounded up
                for q in (low, exact, high, low / 2, 2 * high):
                    assert tail_exceeds(k, n, p, q) == (exact > q)


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 3), Fraction(19, 20)])
def test_a_tail_is_compared_exactly(p):
    """Also with itself, and with numbers that differ from it in the thousandth digit."""
    n, least = 200, Fraction(1, 10**1000)
    law = [math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)]
    for k in (1, int(n * p), int(n * p) + 1, n):
        tail = sum(law[k:], Fraction(0))
        assert [tail_exceeds(k, n, p, q) for q in (tail - least, tail, tail + least)] == [True, False, False]


@pytest.mark.parametrize("p", [1e-8, 1e-10, 1 - 1e-9])
def test_a_quantile_far_out_is_refused_in_words(p):
    assert "a reply needs at least" in str(uptack.quantile(np.arange(100.0), p, epsilon=1, interval=0.95))
