"""Whole mechanisms against their laws; each test also rejects a law that is a little off."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tests.helpers import FALSE_ALARM, assert_fits_cdf
from uptack.mechanisms import exponential, gamma, gaussian, k_norm, laplace, report_noisy_max
from uptack.noise import Box, Ellipsoid, L1Ball, L2Ball, LInfBall, SampledBody, SeededEntropy

RUNS, RELEASES = 2000, 300
NORMS = {
    "box": (Box((1, 3)), lambda x: max(abs(x[0]), abs(x[1]) / 3)),
    "l1": (L1Ball(3), lambda x: np.abs(x).sum()),
    "l2": (L2Ball(3), np.linalg.norm),
    "linf": (LInfBall(3), lambda x: np.abs(x).max()),
    "ellipsoid": (Ellipsoid([[2, 1], [1, 2]]), lambda x: np.sqrt(x @ np.linalg.solve([[2, 1], [1, 2]], x))),
    "sampled": (SampledBody(lambda e: e.integers(2**40, 2) / 2**39 - 1, [1, 1]), lambda x: np.abs(x).max()),
}


def repeat(mechanism, *args, runs=RUNS, **kwargs):
    entropy = SeededEntropy(12)
    return np.array([mechanism(*args, entropy=entropy, **kwargs).value for _ in range(runs)])


def test_laplace():
    noise = laplace(np.zeros(200_000), sensitivity=200_000, epsilon=2, entropy=SeededEntropy(1)).value
    assert_fits_cdf(noise, stats.laplace(scale=100_000), stats.laplace(scale=105_000))


def test_gaussian():
    release = gaussian(np.zeros(200_000), sensitivity=1, epsilon=1, delta=1e-5, entropy=SeededEntropy(2))
    assert_fits_cdf(release.value, stats.norm(scale=3.7306), stats.norm(scale=3.7306 * 1.05))


@pytest.mark.parametrize("name", NORMS)
def test_the_norm_of_k_norm_noise_is_gamma(name):
    body, norm = NORMS[name]
    noise = repeat(k_norm, np.zeros(body.dimension), body=body, sensitivity=3, epsilon=2)
    norms = np.array([norm(x) for x in noise])
    assert_fits_cdf(norms, stats.gamma(body.dimension, scale=1.5), stats.gamma(body.dimension + 0.4, scale=1.5))


def test_k_norm_directions_are_even():
    noise = repeat(k_norm, np.zeros(2), body=L2Ball(2), sensitivity=1, epsilon=1)
    angle = np.arctan2(noise[:, 1], noise[:, 0])
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > FALSE_ALARM
    box = repeat(k_norm, np.zeros(2), body=Box((1, 3)), sensitivity=1, epsilon=1)
    assert stats.kstest(np.abs(box[:, 0]), np.abs(box[:, 1]) / 3).pvalue > FALSE_ALARM
    assert stats.kstest(np.abs(box[:, 0]), np.abs(box[:, 1]) / 2).pvalue < FALSE_ALARM


def test_the_l1_ball_gives_laplace_noise():
    noise = repeat(k_norm, np.zeros(3), body=L1Ball(3), sensitivity=1, epsilon=1, runs=3000)
    for coordinate in noise.T:
        assert_fits_cdf(coordinate, stats.laplace(scale=1), stats.laplace(scale=1.3))
    assert abs(stats.spearmanr(np.abs(noise[:, 0]), np.abs(noise[:, 1])).statistic) < 0.08  # independent


def test_gamma_covariance():
    sigma = np.array([[2.0, 1.0], [1.0, 2.0]])
    noise = repeat(gamma, np.zeros(2), sensitivity=1, epsilon=1, covariance=sigma)
    # E[XXᵀ] = E[r²]/d·Σ with r ~ Gamma(2, 1): 6/2·Σ
    assert np.allclose(np.cov(noise.T), 3 * sigma, rtol=0.25)
    assert np.corrcoef(noise.T)[0, 1] == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(("mechanism", "best"), [(exponential, 0), (report_noisy_max, 1)])
def test_choices_have_their_law(mechanism, best):
    scores, epsilon, runs = [0.0, 1.0, 2.0], 1.5, 3_000
    coins = np.exp(-epsilon * (2 - np.array(scores)) / 2)
    weighted = coins / coins.sum()
    a, b = coins[0], coins[1]
    flipped = np.array([a * (b / 3 + (1 - b) / 2), b * (a / 3 + (1 - a) / 2), 0])
    flipped[2] = 1 - flipped.sum()
    right, wrong = (weighted, flipped) if best == 0 else (flipped, weighted)
    counts = Counter(repeat(mechanism, range(3), scores, sensitivity=1, epsilon=epsilon, runs=runs).tolist())
    observed = [counts[i] for i in range(3)]
    assert stats.chisquare(observed, runs * right).pvalue > FALSE_ALARM
    assert stats.chisquare(observed, runs * wrong).pvalue < FALSE_ALARM


@pytest.mark.parametrize(
    ("mechanism", "arguments", "joint"),
    [
        (laplace, {"sensitivity": 1, "epsilon": 1}, False),
        (laplace, {"sensitivity": 1, "epsilon": Fraction(1, 3), "granularity": 1}, False),
        (gaussian, {"sensitivity": 1, "epsilon": 1, "delta": 1e-6}, False),
        (gamma, {"sensitivity": 1, "epsilon": 1}, True),
        (k_norm, {"sensitivity": 1, "epsilon": 1, "body": LInfBall(2)}, True),
    ],
)
def test_intervals_hold_the_truth(mechanism, arguments, joint):
    entropy, truth, inside = SeededEntropy(13), np.array([4.0, -2.0]), []
    for _ in range(RELEASES):
        low, high = mechanism(truth, entropy=entropy, **arguments).interval(0.9)
        hit = (np.array(low) <= truth) & (truth <= np.array(high))
        inside.append(hit.all() if joint else hit[0])
    # 0.9 with a slack of six standard deviations; discrete laws and joint boxes hold more often
    assert np.mean(inside) > 0.9 - 6 * np.sqrt(0.09 / RELEASES)
    assert np.mean(inside) < 0.99
