"""Prices at the edge: tiny δ, long rationals, budgets that are just exceeded, and few looks at a price."""

import math
from fractions import Fraction

import pytest

from uptack.privacy import Privacy, cost, fair_scale, tight
from uptack.privacy.calibration import boundary, excess
from uptack.privacy.loss import Approximate, BoundedRange, Pure, Subsample


@pytest.mark.parametrize("delta", [1e-16, 1e-18, 1e-30, 1e-100, 1e-300])
def test_any_delta_can_be_composed(delta):
    for tenths in range(1, 40, 4):
        for kind in (Pure, BoundedRange):
            epsilon = Fraction(tenths, 10)
            assert 0 < tight([kind(epsilon)] * 3, delta).exact_epsilon <= 3 * epsilon


def test_long_rationals_can_be_composed():
    long = 1 + Fraction(1, 10**5000)
    assert tight([Pure(long), Pure(1)], 1e-6).epsilon <= 2.000001


def test_hardly_anything_left_of_delta_is_nothing():
    delta = Fraction(2, 10**300)
    spent = delta * (1 - Fraction(11, 10**13))
    assert tight([Approximate(1, spent), Pure(1)], delta).exact_epsilon == 2


@pytest.mark.parametrize("digits", [20, 29, 40, 400])
def test_a_price_that_is_hardly_over_the_budget_is_over_it(digits):
    assert excess(1 + Fraction(1, 10**digits), Fraction(1)) > 0 > excess(1 - Fraction(1, 10**digits), Fraction(1))


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 3)])
def test_what_is_calibrated_is_within_the_budget_to_the_last_bit(epsilon):
    def build(e):
        return [Subsample(Pure(e), rate=1)]

    assert cost(*build(fair_scale(build, Privacy(epsilon)))) <= Privacy(epsilon)


@pytest.mark.parametrize("at_most", [0.0, -1e-9, -1e300])
@pytest.mark.parametrize("above", [1e-320, 1.0, 1e300])
def test_prices_that_jump_are_found_in_few_looks(at_most, above):
    for edge in (1, 512, 700, 1022):
        looks = []

        def over(x, edge=edge, looks=looks):
            looks.append(x)
            return above if x > 1 + Fraction(edge, 1024) else at_most

        assert boundary(over, Fraction(1), Fraction(2), 10) == 1 + Fraction(edge, 1024)
        assert len(looks) < 60
        assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("power", [0.1, 1, 1.1, 3])
def test_prices_that_are_powers_are_found_in_very_few_looks(power):
    """In few looks wherever the end is; and where all fits, or nothing does, the ends of the grid are found."""
    grid = {edge: 1 + Fraction(edge, 1024) for edge in (-1, 0, 1, 50, 512, 1022, 1023, 1024, 5000)}
    for edge, last in grid.items():
        looks = []

        def over(x, last=last, looks=looks):
            looks.append(x)
            return power * math.log((x + Fraction(1, 10**9)) / (last + Fraction(1, 2048)))

        found = boundary(over, Fraction(1), Fraction(2), 10)
        assert found == min(max(last, 1), 1 + Fraction(1023, 1024))
        assert len(looks) <= (1 if edge < 0 else 8)
