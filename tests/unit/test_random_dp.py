"""Random differential privacy: what is bare, what is noisy, what the releases say of themselves."""

import math
from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from tests.helpers import CountingEntropy, assert_fits
from uptack import random_dp
from uptack.errors import Incomparable, UnknownLoss
from uptack.noise import IntegerLaplace, SeededEntropy
from uptack.privacy import cost
from uptack.random_dp import (
    ASYMPTOTIC,
    WEAKER,
    bare_cells,
    binomial_proportion,
    prediction_interval,
    random_sparse_histogram,
    sensitivity_analysis,
    weaken,
)


def flags(successes, n):
    return np.arange(n) < successes


def releases():
    yield binomial_proportion(flags(30, 100), epsilon=1, gamma=0.1)
    yield random_sparse_histogram([30, 0, 70], epsilon=1, gamma=0.1, version="empty")
    yield random_sparse_histogram([30, 0, 70], epsilon=1, gamma=0.1)
    yield sensitivity_analysis(np.mean, lambda a, b: abs(a - b), np.arange(10_000.0), epsilon=1, gamma=0.1)


def test_releases_say_that_they_are_weaker_and_are_never_mixed_up():
    for release in releases():
        assert isinstance(release.privacy, ut.RandomPrivacy)
        assert release.notes[0] == WEAKER
        assert release.to_dict()["privacy"]["kind"] == "random differential privacy"
        for mixed in (lambda r=release: r.privacy + ut.Privacy(1), lambda r=release: ut.Privacy(1) + r.privacy):
            with pytest.raises(Incomparable):
                mixed()
        with pytest.raises(UnknownLoss):
            cost(release.loss)
        assert (weaken(ut.Privacy(1)) + release.privacy).alpha == 2
    assert ASYMPTOTIC in release.notes


def test_weaken_takes_one_replaced_row():
    assert weaken(ut.Privacy(1, 0, ut.ADD_REMOVE)).alpha == 2
    with pytest.raises(ut.InvalidArgument, match=r"^privacy must be a Privacy"):
        weaken(1)


@pytest.mark.parametrize("successes", [4, 1000 - 4, 0, 49])
def test_rare_shares_are_bare(successes):
    entropy = CountingEntropy()
    release = binomial_proportion(flags(successes, 1000), epsilon=1, gamma=0.1, entropy=entropy)
    assert (release.value, entropy.taken) == (successes / 1000, 0)
    assert release.privacy == ut.RandomPrivacy(1, 0, 0.1)


def test_other_shares_have_laplace_noise():
    shared = SeededEntropy(1)
    rows = flags(50, 1000)  # 2(50 + 1)/1000 > 0.1: the first that is not bare
    draws = [binomial_proportion(rows, epsilon=0.5, gamma=0.1, entropy=shared).value for _ in range(2500)]
    assert_fits(np.rint(1000 * np.array(draws)).astype(int) - 50, IntegerLaplace(2), IntegerLaplace(2.6))


def test_bare_cells():
    gamma = Fraction(1, 10)
    counts = np.array([0, 4, 5, 91, 900])  # n = 1000, γn/2d = 10: bare up to 9
    assert bare_cells(counts, gamma, "rare").tolist() == [True, True, True, False, False]
    assert bare_cells(counts, gamma, "empty").tolist() == [True, False, False, False, False]
    few = np.array([0, 0, 9])  # 2d = 6 > γn: nothing is bare
    assert not bare_cells(few, gamma, "rare").any()
    assert not bare_cells(few, gamma, "empty").any()
    edge = np.array([0, 0, 60])  # 2d = γn
    assert bare_cells(edge, gamma, "empty").tolist() == [True, True, False]


def test_sparse_histogram_noise():
    counts = np.zeros(3000, int)
    counts[:1500] = 10_000
    release = random_sparse_histogram(counts, epsilon=1, gamma=0.05, version="empty", entropy=SeededEntropy(2))
    assert not release.value[1500:].any()
    assert_fits(release.value[:1500] - 10_000, IntegerLaplace(2), IntegerLaplace(3))
    assert not release.private


def test_sensitivity_analysis():
    rng = np.random.default_rng(1)
    x = rng.normal(size=20_000)
    draws = [
        sensitivity_analysis(np.mean, lambda a, b: abs(a - b), x, epsilon=1, gamma=0.05, entropy=SeededEntropy(i))
        for i in range(12)
    ]
    errors = np.array([r.value for r in draws]) - x.mean()
    scale = 2 * 3.5 / 20_000  # the 0.99 quantile of |x - x'| is 3.6
    assert 0.5 * scale < np.abs(errors).mean() < 2 * scale
    assert float(draws[0].privacy.beta) == pytest.approx(math.exp(-math.sqrt(20_000) / 2))
    x[0] = 1e9  # one unusual row adds nothing to the noise: that is what is weaker
    again = sensitivity_analysis(np.median, lambda a, b: abs(a - b), x, epsilon=1, gamma=0.05)
    assert abs(again.value) < 0.1


def test_too_few_rows_is_no_reply_and_free():
    entropy = CountingEntropy()
    reply = sensitivity_analysis(np.mean, lambda a, b: a - b, np.zeros(100), epsilon=1, gamma=0.05, entropy=entropy)
    assert not reply
    assert entropy.taken == 0
    enough = np.zeros(reply.advice.n)
    assert sensitivity_analysis(np.mean, lambda a, b: a - b, enough, epsilon=1, gamma=0.05).value == pytest.approx(0)


def test_prediction_interval():
    x = np.arange(99.0)
    assert prediction_interval(x, 0.1) == (4.0, 94.0)  # of 100 places 5 lie below and 5 above
    assert prediction_interval(x[:5], 0.1) == (-math.inf, math.inf)
    rng = np.random.default_rng(0)
    inside = [low <= y <= high for low, high, y in (_next(rng) for _ in range(2000))]
    assert np.mean(inside) > 0.87


def _next(rng):
    low, high = prediction_interval(rng.exponential(size=39), 0.1)
    return low, high, rng.exponential()


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda e: binomial_proportion(flags(1, 2), epsilon=0, gamma=0.1, entropy=e), "epsilon"),
        (lambda e: binomial_proportion(flags(1, 2), epsilon=1, gamma=0, entropy=e), "gamma"),
        (lambda e: binomial_proportion(flags(1, 2), epsilon=1, gamma=1, entropy=e), "gamma"),
        (lambda e: binomial_proportion(np.array([1, 0]), epsilon=1, gamma=0.1, entropy=e), "rows"),
        (lambda e: binomial_proportion([], epsilon=1, gamma=0.1, entropy=e), "rows"),
        (lambda e: binomial_proportion([True], epsilon=1, gamma=0.1, entropy=5), "entropy"),
        (lambda e: random_sparse_histogram([1, 2], epsilon=1, gamma=2, entropy=e), "gamma"),
        (lambda e: random_sparse_histogram([0.5], epsilon=1, gamma=0.1, entropy=e), "counts"),
        (lambda e: random_sparse_histogram([1], epsilon=1, gamma=0.1, version="few", entropy=e), "version"),
        (lambda e: sensitivity_analysis(np.mean, 3, [1.0], epsilon=1, gamma=0.1, entropy=e), "h"),
        (lambda e: sensitivity_analysis(None, abs, [1.0], epsilon=1, gamma=0.1, entropy=e), "statistic"),
        (lambda e: sensitivity_analysis(np.mean, abs, 1.0, epsilon=1, gamma=0.1, entropy=e), "rows"),
        (
            lambda e: sensitivity_analysis(np.mean, abs, [1.0], epsilon=1, gamma=0.1, fallback="none", entropy=e),
            "fallback",
        ),
        (lambda e: random_dp.failure_probability(lambda rows: {}, [1, 2], 0), "epsilon"),
        (lambda e: prediction_interval([1.0], 0), "gamma"),
    ],
)
def test_bad_input(call, argument):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument) as caught:
        call(entropy)
    assert caught.value.name == argument
    assert entropy.taken == 0
