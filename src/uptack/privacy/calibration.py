"""Calibration: how much noise, or which ε for each part, keeps the whole within a budget. Rounded to the safe side.

**Gaussian noise.** With σ in units of the sensitivity, N(0, σ²) is (ε, δ)-private if and only if
Φ(1/2σ - εσ) - e^ε·Φ(-1/2σ - εσ) ≤ δ (Balle and Wang 2018). The constant sqrt(2·ln(2/δ))/ε, printed in Hall's thesis,
holds for ε ≤ 1 only, and is a third too large there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from flint import arb

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, Real, ball, bisect, least, logarithm

PRECISION = 40
"""Bits of precision of a search. Its result is on the safe side of the exact answer."""

LEAST_EXCESS = 1e-30
"""The excess of a price that is above the budget by less than floats can show."""

HUGE = 1e6
"""Larger excesses count as this much: secants are drawn through them."""

SECANTS = 4
"""Secants that are drawn before a search on the grid begins: two come within a step of a price that is a power."""


def _normal_cdf(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian_delta(noise_multiplier: Rational, epsilon: Rational) -> Real:
    """The least δ for which Gaussian noise of this standard deviation (over the sensitivity) is (ε, δ)-private."""
    sigma, eps = checks.positive("noise_multiplier", noise_multiplier), checks.nonnegative("epsilon", epsilon)
    if eps > checks.LARGEST_EPSILON:
        raise InvalidArgument("epsilon", "at most 1e9", checks.describe(epsilon))

    def condition() -> arb:
        s, e = ball(sigma), ball(eps)
        return _normal_cdf(1 / (2 * s) - e * s) - e.exp() * _normal_cdf(-1 / (2 * s) - e * s)

    return Real(condition)


def _bracket(holds: Callable[[Fraction], bool], start: Fraction) -> tuple[Fraction, Fraction]:
    """A number for which a monotone statement does not hold, and its double, for which it does."""
    high = start
    while not holds(high):
        high *= 2
    low = high / 2
    while holds(low):
        low, high = low / 2, low
    return low, high


def _least(holds: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """A number for which a monotone statement holds, above the least such one by less than a 2^-PRECISION part."""
    return bisect(holds, *_bracket(holds, start), halvings=PRECISION)[1]


def gaussian_noise_multiplier(epsilon: Rational, delta: Rational) -> Fraction:
    """The least standard deviation, over the sensitivity, that makes Gaussian noise (ε, δ)-private.

    >>> round(float(gaussian_noise_multiplier(1, 1e-5)), 3)
    3.731
    """
    eps = checks.epsilon(epsilon)
    bound = checks.inside_unit("delta", delta, "Gaussian noise needs δ > 0; for δ = 0 use Laplace noise.")
    return _least(lambda sigma: gaussian_delta(sigma, eps) <= bound, Fraction(1))


def gaussian_epsilon(noise_multiplier: Rational, delta: Rational) -> Fraction:
    """The least ε for which Gaussian noise of this standard deviation is (ε, δ)-private; 0 if any ε is enough."""
    sigma = checks.positive("noise_multiplier", noise_multiplier)
    bound = checks.inside_unit("delta", delta)
    if gaussian_delta(sigma, 0) <= bound:
        return Fraction(0)
    if not gaussian_delta(sigma, checks.LARGEST_EPSILON / 2) <= bound:
        must = "large enough for some ε of at most 5e8"
        raise InvalidArgument("noise_multiplier", must, checks.describe(noise_multiplier))
    return _least(lambda eps: gaussian_delta(sigma, eps) <= bound, Fraction(1))


def excess(price: Fraction, budget: Fraction) -> float:
    """ln(price/budget), with its exact sign: rounding must not make a price that is over the budget one that fits."""
    if price <= 0:
        return -math.inf
    log_ratio = logarithm(price / budget)
    return max(log_ratio, LEAST_EXCESS) if price > budget else min(log_ratio, 0.0)


def boundary(over: Callable[[Fraction], float], fits: Fraction, fails: Fraction, bits: int) -> Fraction:
    """The last number with over(x) ≤ 0, for a monotone function, on a grid of 2^bits steps from `fits` towards `fails`.

    Prices are nearly linear on a logarithmic scale, so a few secants come close to the place; the search on the grid
    begins there. If not even `fits` fits, it is returned. `fails` is not on the grid.
    """
    count = 1 << bits
    step, start = (fails - fits) / count, logarithm(fits)

    @cache
    def excess_at(place: int) -> float:
        return min(max(over(fits + place * step), -HUGE), HUGE)

    value = excess_at(0)
    if value > 0:
        return fits
    place, distance, slope = 0, 0.0, 1.0
    for _ in range(SECANTS):
        guess = start + math.copysign(max(distance - value / slope, 0.0), step)
        nearest = min(max(round((Fraction(math.exp(min(guess, 700.0))) - fits) / step), 0), count - 1)
        if nearest == place:
            break
        before, place = (distance, value), nearest
        distance, value = abs(logarithm(fits + place * step) - start), excess_at(place)
        slope = max((value - before[1]) / (distance - before[0]), LEAST_EXCESS)
    return fits + (least(lambda k: k >= count or (k > 0 and excess_at(k) > 0), place) - 1) * step


def largest(over: Callable[[Fraction], float], exact: Fraction) -> Fraction:
    """A number with over(x) ≤ 0 for a monotone function, below the largest such one by less than a 2^-PRECISION part.

    `exact` is a guess. It is returned unchanged if it is such a number, but 1 + 2^-PRECISION times it is not.
    """
    if over(exact) <= 0 < over(exact * (1 + Fraction(1, 1 << PRECISION))):
        return exact
    fails, fits = _bracket(lambda inverse: over(1 / inverse) <= 0, 1 / exact)
    return 1 / boundary(lambda inverse: over(1 / inverse), fits, fails, PRECISION)
