"""Each sampler is accepted by a test against its law, and the same draws reject a law that is 5% off."""

from fractions import Fraction

import numpy as np
import pytest

from tests.helpers import FALSE_ALARM, assert_fits, law_p_value
from uptack.noise import (
    Bernoulli,
    BernoulliExp,
    Geometric,
    IntegerGaussian,
    IntegerLaplace,
    SeededEntropy,
    UniformInteger,
)
from uptack.noise.coins import flip_exp

SIZE = 400_000
OFF = Fraction(105, 100)


@pytest.mark.parametrize("scale", [Fraction(1, 2), 1, Fraction(22, 7), 40, 1000, 2**20])
def test_integer_laplace(scale):
    draws = IntegerLaplace(scale).sample(SIZE, entropy=SeededEntropy(1))
    assert_fits(draws, IntegerLaplace(scale), IntegerLaplace(scale * OFF))


@pytest.mark.parametrize("scale", [1, 50])
def test_geometric(scale):
    draws = Geometric(scale).sample(SIZE, entropy=SeededEntropy(2))
    assert_fits(draws, Geometric(scale), Geometric(scale * OFF))


@pytest.mark.parametrize("variance", [Fraction(1, 3), 1, Fraction(50, 7), 10_000, 2**44])
def test_integer_gaussian(variance):
    draws = IntegerGaussian(variance).sample(SIZE, entropy=SeededEntropy(3))
    assert_fits(draws, IntegerGaussian(variance), IntegerGaussian(variance * OFF**2))


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 256), Fraction(255, 256), Fraction(1, 2)])
def test_bernoulli(p):
    draws = Bernoulli(p).sample(10 * SIZE, entropy=SeededEntropy(4))
    assert_fits(draws, Bernoulli(p), Bernoulli(p - min(p, 1 - p) / 20))


def test_bernoulli_exp():
    draws = BernoulliExp(1).sample(SIZE, entropy=SeededEntropy(5))
    assert_fits(draws, BernoulliExp(1), BernoulliExp(OFF))


def test_uniform_integers():
    draws = UniformInteger(-7, 12).sample(SIZE, entropy=SeededEntropy(6))
    assert_fits(draws, UniformInteger(-7, 12), UniformInteger(-7, 13))


def test_scalar_draws_have_the_law_of_vector_draws():
    entropy = SeededEntropy(7)
    draws = np.array([IntegerLaplace(3).sample(entropy=entropy) for _ in range(5000)])
    assert law_p_value(draws, IntegerLaplace(3)) > FALSE_ALARM


def test_coins_of_many_probabilities_are_settled_exactly_where_floats_are_unclear():
    """With a useless float every coin goes the exact way, and the law must still be right."""
    asked = []

    def exact(i):
        asked.append(i)
        return Fraction(1)

    vague = np.full(30_000, 1.0)
    heads = flip_exp(vague, exact, SeededEntropy(8))
    assert law_p_value(heads.astype(int), BernoulliExp(1)) > FALSE_ALARM
    assert len(asked) < 5  # the float settles all but one in ten million

    tiny = flip_exp(np.full(3000, 700.0), lambda i: Fraction(700), SeededEntropy(9))
    assert not tiny.any()
    assert flip_exp(np.zeros(3000), lambda i: Fraction(0), SeededEntropy(10)).all()


def test_the_same_law_as_opendp():
    """Two samples, ours and OpenDP's, told apart only if one of the laws is wrong."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale=4.0)([0] * 50_000))
    ours = IntegerLaplace(4).sample(50_000, entropy=SeededEntropy(11))
    for draws in (theirs, ours):
        assert law_p_value(draws, IntegerLaplace(4)) > FALSE_ALARM
    assert law_p_value(theirs, IntegerLaplace(4 * OFF)) < 1e-3
