from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest

from uptack.exact import least
from uptack.noise import IntegerGaussian, IntegerLaplace


def test_the_least_integer_is_found_from_anywhere():
    for target in (-(10**6), -3, -1, 0, 1, 2, 17, 10**6):
        assert least(lambda t, target=target: t >= target) == target


@pytest.mark.parametrize("scale", [Fraction(1, 50), 1, Fraction(10, 3), 10**9])
@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-12, 1e-40])
def test_the_cutoff_is_the_least_one(scale, delta):
    law = IntegerLaplace(scale)
    t = law.cutoff(delta)
    low, high = Fraction(law.exact_tail(t).bounds()[1]), Fraction(law.exact_tail(t - 1).bounds()[0])
    assert low <= Fraction(str(delta)) < high


@pytest.mark.parametrize("variance", [Fraction(1, 100), Fraction(1, 2), 3, 64, 1000, Fraction(10**6, 3)])
@mpmath.workprec(200)
def test_gaussian_tails_agree_with_an_independent_sum(variance):
    law, v = IntegerGaussian(variance), mpmath.mpf(Fraction(variance).numerator) / Fraction(variance).denominator
    reach = int(30 * mpmath.sqrt(v)) + 60
    weights = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * v)) for k in range(reach)]
    whole = 2 * mpmath.fsum(weights) - 1
    for k in (1, 2, 5, 20):
        tail = mpmath.fsum(weights[k:]) / whole
        low, high = law.exact_tail(k).bounds(128)
        assert low < high
        assert abs(mpmath.mpf(low.numerator) / low.denominator / tail - 1) < 1e-25
        assert law.exact_tail(1 - k).bounds(128)[0] + low <= 1 <= law.exact_tail(1 - k).bounds(128)[1] + high


def test_gaussian_tail_of_a_very_wide_law_is_quick_and_right():
    law = IntegerGaussian(2**80)
    for sigmas in (1, 3, 6, 20):
        normal = mpmath.erfc(sigmas / mpmath.sqrt(2)) / 2
        assert abs(law.tail(sigmas * 2**40) / normal - 1) < 1e-9


def test_far_tails_are_not_lost():
    law = IntegerGaussian(64)
    tails = [law.exact_tail(k).bounds()[0] for k in (1, 10, 100, 1000, 2000)]
    assert all(a > b > 0 for a, b in pairwise(tails))
