"""Calibration: how much noise, or which ε for each part, keeps the whole within a budget. Rounded to the safe side.

**Gaussian noise.** With σ in units of the sensitivity, N(0, σ²) is (ε, δ)-private if and only if
Φ(1/2σ - εσ) - e^ε·Φ(-1/2σ - εσ) ≤ δ (Balle and Wang 2018). The constant sqrt(2·ln(2/δ))/ε, printed in Hall's thesis,
holds for ε ≤ 1 only, and is a third too large there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, Real, ball, bisect, logarithm

PRECISION = 40
"""Bits of precision of a search. Its result is on the safe side of the exact answer."""

LEAST_EXCESS = 1e-30
"""The excess of a price that is above the budget by less than floats can show."""

PATIENCE = 4
"""How often one end may stay in place before the search bisects."""


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


def split(amount: Rational, *weights: Rational) -> tuple[Fraction, ...]:
    """Shares of an amount in proportion to weights. They sum to it exactly.

    >>> split(1, 1, 1, 1)
    (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
    """
    parts = [checks.positive(f"weights[{i}]", w) for i, w in enumerate(weights)]
    whole = checks.nonnegative("amount", amount)
    return tuple(whole * part / sum(parts) for part in parts)


def excess(price: Fraction, budget: Fraction) -> float:
    """ln(price/budget), with its exact sign: rounding must not make a price that is over the budget one that fits."""
    if price <= 0:
        return -math.inf
    log_ratio = logarithm(price / budget)
    return max(log_ratio, LEAST_EXCESS) if price > budget else min(log_ratio, 0.0)


def boundary(over: Callable[[Fraction], float], fits: Fraction, fails: Fraction, bits: int) -> Fraction:
    """The number on a grid of 2^bits steps from `fits` towards `fails` that is the last with over(x) ≤ 0.

    Bisection with `bits` steps would find the same number for a monotone function. Here the next point is interpolated
    on a logarithmic scale, on which prices are nearly linear. An end that stays twice gets half its weight
    ("Illinois"), and one that stays longer causes a bisection, since prices may jump. Ten bits take about three
    evaluations, and forty about ten. If not even `fits` fits, it is returned.

    `fails` is not on the grid and is not evaluated. Its excess is extrapolated with the slope so far, at first 1.
    """
    step, low, high, stays = (fails - fits) / (1 << bits), 0, 1 << bits, 0
    at_low = over(fits)
    if at_low > 0:
        return fits
    ends = [logarithm(fits), logarithm(fails)]
    at_high, guessed, slope = at_low + abs(ends[1] - ends[0]), True, 1.0
    while high - low > 1:
        middle = high - 1 if at_high <= 0 else (low + high) // 2
        if abs(stays) < PATIENCE and math.isfinite(at_high - at_low) and at_high > 0:
            root = math.exp(ends[0] + (ends[1] - ends[0]) * (at_low / (at_low - at_high)))
            middle = min(max(math.floor((Fraction(root) - fits) / step), low + 1), high - 1)
        value, place = over(fits + middle * step), logarithm(fits + middle * step)
        if value > 0:
            high, at_high, at_low, stays = middle, value, at_low / (2 if stays > 0 else 1), max(stays, 0) + 1
            ends[1], guessed = place, False
        else:
            if guessed and value > at_low:
                slope = (value - at_low) / abs(place - ends[0])
            at_high = value + slope * abs(ends[1] - place) if guessed else at_high / (2 if stays < 0 else 1)
            low, at_low, stays, ends[0] = middle, value, min(stays, 0) - 1, place
    return fits + low * step


def largest(over: Callable[[Fraction], float], exact: Fraction) -> Fraction:
    """A number with over(x) ≤ 0 for a monotone function, below the largest such one by less than a 2^-PRECISION part.

    `exact` is a guess. It is returned unchanged if it is such a number, but 1 + 2^-PRECISION times it is not.
    """
    if over(exact) <= 0 < over(exact * (1 + Fraction(1, 1 << PRECISION))):
        return exact
    fails, fits = _bracket(lambda inverse: over(1 / inverse) <= 0, 1 / exact)
    return 1 / boundary(lambda inverse: over(1 / inverse), fits, fails, PRECISION)
