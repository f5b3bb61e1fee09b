"""One battery for every law on the integers: listing a law is how it gets tested."""

import os
from fractions import Fraction

import numpy as np
import pytest

import uptack
from tests.helpers import CountingEntropy
from uptack.discrete.categories import Capped
from uptack.errors import InvalidArgument
from uptack.noise import (
    Bernoulli,
    BernoulliExp,
    Geometric,
    IntegerGaussian,
    IntegerLaplace,
    SeededEntropy,
    SystemEntropy,
    UniformInteger,
)

LAWS = [
    Bernoulli(0),
    Bernoulli(1),
    Bernoulli("1/3"),
    Bernoulli(0.5),
    BernoulliExp(0),
    BernoulliExp(0.7),
    BernoulliExp(40),
    UniformInteger(0, 0),
    UniformInteger(-3, 6),
    UniformInteger(-(2**62), 2**62 - 1),
    Geometric(0.05),
    Geometric(7),
    IntegerLaplace("1/10"),
    IntegerLaplace(1),
    IntegerLaplace("22/7"),
    IntegerLaplace(2**30),
    Capped(IntegerLaplace(4), 3),
    IntegerGaussian(0.05),
    IntegerGaussian(1),
    IntegerGaussian("100/3"),
    IntegerGaussian(2**60),
]
law_battery = pytest.mark.parametrize("law", LAWS, ids=repr)


@law_battery
def test_probabilities_add_up(law):
    for k in (-5, -1, 0, 1, 2, 9):
        tail, following = law.exact_tail(k).bounds(), law.exact_tail(k + 1).bounds()
        mass = law.exact_pmf(k).bounds()
        assert tail[0] - following[1] <= mass[1]
        assert mass[0] <= tail[1] - following[0]
        assert law.cdf(k) == pytest.approx(1 - law.tail(k + 1), abs=1e-15)


@law_battery
def test_a_quantile_is_the_least_point_that_reaches_p(law):
    for p in (0.01, 0.3, 0.5, 0.999):
        q = law.quantile(p)
        assert not law.exact_cdf(q) < Fraction(str(p)), p
        assert law.exact_cdf(q - 1) < Fraction(str(p)), p


@law_battery
def test_an_interval_leaves_out_no_more_than_it_says(law):
    low, high = law.interval(0.9)
    assert law.exact_tail(high + 1) <= Fraction(1, 20)
    assert not law.exact_cdf(low - 1).bounds()[0] > Fraction(1, 20)
    assert low <= high


@law_battery
def test_draws_have_the_right_type_and_are_reproducible(law):
    first, again = (law.sample(50, entropy=SeededEntropy(3)) for _ in range(2))
    assert first.dtype == np.int64
    assert (first == again).all()
    assert isinstance(law.sample(), int)
    assert law.sample(0).shape == (0,)
    assert law.sample(3, entropy=SystemEntropy()).shape == (3,)


@law_battery
def test_a_bad_size_or_delta_is_named_and_draws_nothing(law):
    entropy = CountingEntropy()
    for size in (-1, 2.5, "many", True):
        with pytest.raises(InvalidArgument, match="size must be"):
            pytest.fail(f"{size}: {law.sample(size, entropy=entropy)}")
    assert entropy.taken == 0
    for delta in (0, 1, -0.1, float("nan"), "x"):
        with pytest.raises(InvalidArgument, match="delta must be"):
            pytest.fail(f"{delta}: {law.cutoff(delta)}")


def test_laws_are_values():
    assert IntegerLaplace(0.5) == IntegerLaplace("1/2")
    assert len({Bernoulli(0.5), Bernoulli("1/2")}) == 1


def test_an_entropy_source_must_be_one():
    with pytest.raises(InvalidArgument, match="entropy must be"):
        IntegerLaplace(1).sample(3, entropy=42)


@pytest.mark.system_entropy
def test_noise_comes_from_the_operating_system_unless_a_source_is_given(monkeypatch):
    read = []

    def urandom(count, plain=os.urandom):
        read.append(plain(count))
        return read[-1]

    monkeypatch.setattr("os.urandom", urandom)
    first, second = SystemEntropy().bytes(32), SystemEntropy().bytes(32)
    assert read == [first, second]
    assert first != second
    draws = {uptack.median(range(1000), epsilon=1).value for _ in range(20)}
    assert len(draws) > 1  # equal with a chance of less than 1e-6
    assert len(read) > 20
