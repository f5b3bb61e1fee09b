from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from uptack.exact import Real, ball, exp_minus, lower, read, round_up, theta, upper, working
from uptack.noise import IntegerLaplace


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float64(0.3), Fraction(3, 10)),
        (np.int32(7), Fraction(7)),
        ("2/3", Fraction(2, 3)),
        (Decimal("0.25"), Fraction(1, 4)),
    ],
)
def test_numbers_are_read_as_they_are_written(value, meant):
    assert read(value) == meant


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "abc", "1/0", True, 1j, None, Decimal("Infinity"), [1]])
def test_what_is_no_rational_is_refused(value):
    with pytest.raises(ValueError, match=r"."):
        read(value)


def test_rounding_brackets_and_keeps_decimals():
    for q in (Fraction(1, 3), Fraction(2, 7), Fraction(10**40, 3), Fraction(1, 3 * 10**300)):
        assert read(-round_up(-q)) <= q <= read(round_up(q))
    assert round_up(Fraction(3, 10)) == 0.3
    assert round_up(Fraction(10) ** 400) == float("inf")


@mpmath.workprec(700)
def test_digits_agree_with_an_independent_library():
    for x in (Fraction(1), Fraction(1, 1000), Fraction(300)):
        exact = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        assert exp_minus(x).floor(512) == int(mpmath.floor(exact * mpmath.mpf(2) ** 512))


def test_ball_ends_are_not_rounded_to_the_working_precision():
    wide = Real(lambda: arb(1).exp()).at(400)
    assert 0 < upper(wide) - lower(wide) < Fraction(1, 2**390)


def test_comparisons_refine_until_they_are_sure():
    near = Fraction(exp_minus(Fraction(1)).floor(300), 2**300)  # just below e^-1
    assert not exp_minus(Fraction(1)) <= near
    assert exp_minus(Fraction(1)) <= near + Fraction(1, 2**299)


def test_numbers_too_small_to_write_out_are_still_compared_and_drawn():
    tiny = exp_minus(Fraction(10) ** 12)
    assert tiny.floor(1000) == 0
    assert tiny <= Fraction(1, 10**300)
    assert float(tiny) == 0.0
    assert tiny.bounds()[1] > 0
    assert not IntegerLaplace("1e-30").sample(100).any()


def test_two_equal_numbers_are_not_compared_forever():
    with pytest.raises(ArithmeticError):
        _ = Real(lambda: ball(Fraction(1, 3))) <= Fraction(1, 3)


@pytest.mark.parametrize("rate", [Fraction(1, 500), Fraction(1, 3), Fraction(7), Fraction(900)])
def test_theta_is_the_sum_of_its_series(rate):
    with working(200):
        terms = [(-ball(rate) * j * j).exp() for j in range(1, 400)]  # what is left out is below e^-300
        assert upper(abs(theta(ball(rate)) - 1 - 2 * sum(terms, arb(0)))) < Fraction(1, 2**180)
