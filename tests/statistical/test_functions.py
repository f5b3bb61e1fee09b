"""Gaussian-process noise: its joint law in a batch, one by one and over files, and audits on hostile neighbours.

All draws are seeded. One large draw of the noise is dealt out to many releases, as each would draw for itself.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tests.helpers import FALSE_ALARM
from uptack.account import Account
from uptack.audit import delta_lower_bound, epsilon_lower_bound
from uptack.kernels import ExponentialKernel, FunctionRelease, GaussianKernel, release_function
from uptack.kernels.function_release import CovarianceFactor, plan
from uptack.mechanisms.additive_noise import calibrated_gaussian
from uptack.noise import IntegerGaussian, SeededEntropy

SURE = 1 - Fraction(str(FALSE_ALARM))
RUNS = 800
X = np.array([[0.0], [0.1], [0.4], [0.11], [2.0]])


def wave(x):
    return np.sin(3 * x[:, 0])


def releases(f, kernel, noise, runs, points, seed=1):
    """Fresh releases of one function, each with noise of its own."""
    drawn = noise.law.draw(runs * points, SeededEntropy(seed)).reshape(runs, points)
    account = Account.elsewhere("function", SeededEntropy(0))
    for part in drawn:
        value = FunctionRelease(f, CovarianceFactor(kernel, 1e-9), noise, 10.0, points, account)
        value._ahead = part
        yield value


def batch(value):
    return value.at(X)


def online(value):
    for x in X[[3, 0]]:
        value.at([x])
    value.at(X[1:3])
    return value.at(X)


def assert_standard(draws, off):
    """Squares add up to what standard normal ones do, and not to what they would with this other deviation."""
    law, total = stats.chi2(draws.size), (draws**2).sum()
    assert FALSE_ALARM < law.cdf(total) < 1 - FALSE_ALARM
    assert law.cdf(total / off**2) < FALSE_ALARM
    assert law.sf(total * off**2) < FALSE_ALARM


@pytest.mark.parametrize("ask", [batch, online])
@pytest.mark.parametrize("kernel", [GaussianKernel(0.5), ExponentialKernel(0.5)])
def test_the_joint_law(ask, kernel):
    """Answers less f, divided by a root of c²K', are independent standard normal; a law that is 5% off is not."""
    noise = made_noise(kernel)
    found = np.array([ask(value) for value in releases(wave, kernel, noise, RUNS, len(X))])
    covariance = noise.standard_deviation**2 * (kernel(X, X) + 1e-9 * np.eye(len(X)))
    whitened = np.linalg.solve(np.linalg.cholesky(covariance), (found - wave(X)).T)
    for one in whitened:
        assert stats.kstest(one, stats.norm.cdf).pvalue > FALSE_ALARM
    assert_standard(whitened, off=1.08)
    pairs = [(whitened[i] * whitened[j]).sum() / math.sqrt(RUNS) for i in range(len(X)) for j in range(i)]
    assert max(map(abs, pairs)) < 6
    nearby = (found - wave(X))[:, 3] - (found - wave(X))[
        :, 1
    ]  # two points that are almost one: hardly any noise between
    assert nearby.std() < 0.3 * noise.standard_deviation


def made_noise(kernel, epsilon=1, delta=Fraction(1, 100), sensitivity=Fraction(1, 10)):
    _, widened = plan(kernel, len(X), sensitivity, Fraction(10), Fraction(1, 1 << 44))
    return calibrated_gaussian(widened, Fraction(epsilon), delta, len(X))


def test_the_law_over_files(tmp_path):
    """A release that was saved and taken up again goes on with the conditional law given its answers."""
    kernel = GaussianKernel(0.5)
    noise, path, found = made_noise(kernel), tmp_path / "f.npz", []
    for run, value in enumerate(releases(wave, kernel, noise, 150, 2)):
        value.most_points = 5
        value.at(X[:2])
        value.save(path, resumable=True)
        found.append(FunctionRelease.load(path, wave, entropy=SeededEntropy(run)).at(X))
    covariance = noise.standard_deviation**2 * (kernel(X, X) + 1e-9 * np.eye(len(X)))
    whitened = np.linalg.solve(np.linalg.cholesky(covariance), (np.array(found) - wave(X)).T)
    assert_standard(whitened, off=1.25)


def audited(factor, runs=4000):
    """Neighbours Δ apart: 0 and Δ·K(0, ·). The best witness is the answer at 0; others are asked before it."""
    kernel, shift = GaussianKernel(0.5), 0.1
    noise = made_noise(kernel)
    scaled = replace(noise, law=IntegerGaussian(math.ceil(Fraction(noise.law.variance) * Fraction(factor) ** 2)))
    draws = []
    for seed, height in enumerate((0.0, shift)):
        f = lambda x, h=height: h * np.exp(-((x[:, 0] / 0.5) ** 2) / 2)  # noqa: E731
        draws.append([v.at([[0.3], [0.0]])[1] for v in releases(f, kernel, scaled, runs, 2, seed)])
    return np.array(draws)


def test_an_audit_finds_nothing_in_ours_and_half_of_the_noise():
    ours, half = audited(1), audited(0.5)
    assert epsilon_lower_bound(*ours, 0.01, SURE) <= 1
    assert epsilon_lower_bound(*half, 0.01, SURE) > 1
    deviation = made_noise(GaussianKernel(0.5)).standard_deviation
    for draws, times, caught in ((ours, 1, False), (half, 0.5, True)):
        cut = 0.05 + (times * deviation) ** 2 / 0.1  # where the likelihood ratio is e^ε, ε = 1
        hits, hits_prime = (int((d > cut).sum()) for d in draws[::-1])
        size = draws.shape[1]
        found = delta_lower_bound(hits, size, SURE, epsilon=1, hits_prime=hits_prime, draws_prime=size)
        assert (found > 0.01) == caught


def test_bands_hold_as_often_as_they_say():
    kernel, inside = GaussianKernel(0.5), 0
    noise = made_noise(kernel)
    for value in releases(wave, kernel, noise, 1000, 1):
        low, high = value.band(X[:1], 0.8)
        inside += int(low[0] <= wave(X[:1])[0] <= high[0])
    assert stats.binomtest(inside, 1000, 0.8).pvalue > FALSE_ALARM
    assert stats.binomtest(inside, 1000, 0.9).pvalue < FALSE_ALARM


def test_a_whole_release_draws_the_law_that_it_claims():
    """Without the shortcut above: coordinates far apart in one release are independent noise."""
    value = release_function(
        lambda x: np.zeros(len(x)),
        kernel=GaussianKernel(0.01),
        sensitivity=0.1,
        norm=1,
        epsilon=1,
        delta=0.01,
        most_points=1500,
        entropy=SeededEntropy(3),
    ).value
    answers = value.at(np.arange(1500.0)) / value.scale
    assert stats.kstest(answers, stats.norm.cdf).pvalue > FALSE_ALARM
    assert_standard(answers, off=1.15)
