"""Intervals of coefficients: the law of a normal error and one coordinate of Gamma noise together."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

import uptack as ut
from uptack.noise import SeededEntropy
from uptack.regression.coefficients import LinearErrors, log_tail, times

LEVELS = (0.9, 0.95, 0.99, 0.999)


def coordinate(t, p):
    """P(|v₁| > t) of density e^(-|v|): |v| is Gamma's of shape p, and (v₁/|v|)² is Beta's, by numerical integration."""
    if p == 1:
        return math.exp(-t)
    law = stats.beta(0.5, (p - 1) / 2)  # of sin² of an angle, so that no end is infinite
    return integrate.quad(
        lambda a: special.gammaincc(p, t / max(math.sin(a), 1e-9)) * 2 * math.sin(a) * math.cos(a)
        * (law.pdf(math.sin(a) ** 2) if 0 < a < math.pi / 2 else 0.0), 0, math.pi / 2, epsabs=1e-13, limit=500,
    )[0]  # fmt: skip


def inverted(t, share, p):
    """P(|error| > t) by its characteristic function: that of a normal law times that of the noise."""
    c = share / (p + 1)
    found, _ = integrate.quad(
        lambda s: t * np.sinc(s * t / math.pi) * math.exp(-(1 - share) * s**2 / 2) * (1 + c * s**2) ** (-(p + 1) / 2),
        0, 60, epsabs=1e-12, limit=2000,
    )  # fmt: skip
    return 1 - 2 / math.pi * found


@pytest.mark.parametrize("p", [1, 2, 3, 10])
def test_the_law_is_that_of_numerical_integration(p):
    for level in LEVELS:
        alone = times(1 - level, 1.0, p)
        assert coordinate(alone * math.sqrt(p + 1), p) == pytest.approx(1 - level, rel=1e-7)
        for share in (0.2, 0.5, 0.9):
            t = times(1 - level, share, p)
            assert inverted(t, share, p) == pytest.approx(1 - level, rel=1e-7)
        assert times(1 - level, 0.0, p) == pytest.approx(stats.norm.ppf((1 + level) / 2), rel=1e-9)


def test_a_normal_law_would_be_wrong():
    assert math.exp(log_tail(2.576, 1.0, 3)) == pytest.approx((1 + 2.576) * math.exp(-2 * 2.576), rel=1e-9)
    assert math.exp(log_tail(2.576, 0.9, 3)) > 0.018
    assert times(1e-12, 0.9, 1) > 2 * stats.norm.isf(5e-13)
    assert times(0.0, 0.5, 3) == math.inf


def test_each_coefficient_has_its_own():
    errors = LinearErrors((1.0, 2.0, 1.0, np.inf), (), True, "", (0.0, 1.0), (0.0, 0.9, 0.5, 0.0), (0, 0, 0.2, 0), 3)
    low, high = errors.around(np.zeros(4), 0.99)
    half = [stats.norm.ppf(0.995), 2 * times(0.01, 0.9, 3), times(0.01, 0.5, 3)]
    assert high[:2] == pytest.approx(half[:2])
    assert 1.05 * half[2] < high[2] < 1.15 * half[2]  # its variance is not known for sure
    assert high[3] == math.inf
    assert (low == -high).all()
    assert errors.around(np.zeros(4), 0.95)[1][2] == pytest.approx(times(0.05, 0.5, 3), rel=5e-3)


def test_a_fit_knows_how_much_of_its_error_is_noise():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 2))
    y = x @ [1.0, -1.0] + rng.normal(size=20_000)
    loud, calm = (ut.linear_regression(x, y, epsilon=e, entropy=SeededEntropy(1)) for e in (2, 1000))
    assert max(calm.noise.private) < 0.01 < min(loud.noise.private) < 1
    for fit in (loud, calm):
        (low, high), (lower, higher) = np.array([fit.interval(0.95), fit.interval(0.999)])
        assert np.all((lower < low) & (low < high) & (high < higher))
        assert (high - low) / 2 == pytest.approx(1.96 * np.array(fit.noise.standard_errors), rel=0.02)
