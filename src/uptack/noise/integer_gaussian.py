"""The integer Gaussian law P(z = k) = e^(-k²/2σ²)/Z, with exact draws and rigorous tails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq

from uptack import checks
from uptack.exact import Rational, Real, ball, bisect, theta
from uptack.noise.coins import flip_exp
from uptack.noise.entropy import Entropy
from uptack.noise.integer_laplace import IntegerLaplace, check_scale
from uptack.noise.integer_laws import IntegerLaw, Integers

CRAMER = Fraction(109, 100)
"""Cramér's inequality: |He_n(x)| ≤ 1.09·sqrt(n!)·e^(x²/4) for the Hermite polynomials He_n."""


def _plus_minus(radius: arb) -> arb:
    """The ball around 0 with this radius."""
    return arb(0, radius.abs_upper())


def _tiny(term: arb) -> bool:
    """Whether a term is below 2^-(working precision)."""
    return bool(term < arb(2) ** (-ctx.prec))


def normaliser(variance: Fraction) -> arb:
    """Z, the sum of e^(-k²/2σ²) over all integers k."""
    return theta(1 / (2 * ball(variance)))


def _sum_by_terms(variance: Fraction, start: int) -> arb:
    """Σ over k ≥ start of e^(-(k² - start²)/2σ²)."""
    rate = ball(-1 / (2 * variance))
    total, k, term = arb(0), start, arb(1)
    while not _tiny(term):
        total, k = total + term, k + 1
        term = (rate * (k * k - start * start)).exp()
    return total + _plus_minus(term / (1 - (rate * (2 * k + 1)).exp()))


def _sum_by_integral(variance: Fraction, start: int) -> arb:
    """The same sum by Euler-Maclaurin, with f(k) = e^(-(k² - start²)/2σ²) and x = start/σ.

    Σ f = ∫f + f/2 + Σ_j B_2j/(2j)!·He_(2j-1)(x)·σ^(1-2j) + R,
    |R| ≤ 2ζ(2m)/(2π)^2m·∫|f^(2m)| ≤ 4·(2πσ)^(-2m)·σ·1.09·sqrt((2m)!)·sqrt(π)·erfc(x/2)·e^(x²/2).
    """
    sigma = ball(variance).sqrt()
    x = start / sigma
    grow = (x * x / 2).exp()
    total = sigma * (arb.pi() / 2).sqrt() * (x / arb(2).sqrt()).erfc() * grow + arb(1) / 2
    rest = 4 * sigma * ball(CRAMER) * arb.pi().sqrt() * (x / 2).erfc() * grow
    even, odd, m = arb(1), x, 1  # He_(2m-2), He_(2m-1)
    while True:
        total += arb(fmpq.bernoulli(2 * m)) / arb(2 * m).fac() * odd * sigma ** (1 - 2 * m)
        bound = rest * arb(2 * m).fac().sqrt() / (2 * arb.pi() * sigma) ** (2 * m)
        if _tiny(bound):
            return total + _plus_minus(bound)
        even = x * odd - (2 * m - 1) * even
        odd = x * even - 2 * m * odd
        m += 1


def _sum_from(variance: Fraction, start: int) -> arb:
    """Σ over k ≥ start of e^(-(k² - start²)/2σ²), the fast way.

    Euler-Maclaurin's rest shrinks at best to about e^(x²/4 - 2π²σ²), which must fall below 2^-(working precision).
    Where it can't, σ is small or the start lies far out, and the terms themselves fall fast.
    """
    reaches = Fraction(start * start) / (4 * variance) + ctx.prec < 10 * variance
    return (_sum_by_integral if reaches else _sum_by_terms)(variance, start)


@dataclass(frozen=True)
class IntegerGaussian(IntegerLaw):
    """P(z = k) proportional to e^(-k²/2σ²) on the integers, for a rational variance parameter σ².

    For σ above about 1 the variance is very close to σ². For smaller σ it is less.

    >>> noise = IntegerGaussian(100)
    >>> noise.interval(0.95), round(noise.pmf(0), 6)
    ((-20, 20), 0.039894)
    """

    variance: Rational

    def __post_init__(self) -> None:
        variance = checks.positive("variance", self.variance)
        check_scale("the square root of variance", math.isqrt(math.ceil(variance)))
        object.__setattr__(self, "variance", variance)

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """Rejection sampling (Canonne, Kamath and Steinke 2020).

        Draw y from the integer Laplace law of scale t = ⌊σ⌋ + 1, and keep it with probability exp(-(|y| - σ²/t)²/2σ²).
        Up to a constant factor this is e^(-y²/2σ²)/e^(-|y|/t).
        """
        variance = Fraction(self.variance)
        t = math.isqrt(math.floor(variance)) + 1
        proposal, shift, width = IntegerLaplace(t), float(variance / t), float(2 * variance)
        out, filled = np.empty(size, np.int64), 0
        while filled < size:
            y = proposal.draw((size - filled) * 3 // 2 + 8, entropy)

            def exponent(i: int, y: Integers = y) -> Fraction:
                return (abs(int(y[i])) - variance / t) ** 2 / (2 * variance)

            accepted = y[flip_exp((np.abs(y) - shift) ** 2 / width, exponent, entropy)][: size - filled]
            out[filled : filled + accepted.size] = accepted
            filled += accepted.size
        return out

    def exact_pmf(self, k: int) -> Real:
        """e^(-k²/2σ²)/Z."""
        variance = Fraction(self.variance)
        return Real(lambda: ball(-k * k / (2 * variance)).exp() / normaliser(variance))

    def exact_tail(self, k: int) -> Real:
        """Σ over j ≥ k of e^(-j²/2σ²)/Z for k ≥ 1, and by symmetry 1 - P(z ≥ 1 - k) below."""
        variance = Fraction(self.variance)

        def tail(j: int) -> arb:
            return ball(-j * j / (2 * variance)).exp() * _sum_from(variance, j) / normaliser(variance)

        return Real(lambda: tail(k) if k >= 1 else 1 - tail(1 - k))

    def price(self, move: Sequence[int], delta: Fraction = Fraction(0)) -> float:
        """That of real Gaussian noise, in units of the length of the move (Balle and Wang 2018), in floats."""
        length = math.sqrt(sum(step * step for step in move))
        return real_gaussian_price(math.sqrt(float(Fraction(self.variance))) / length, delta) if length else 0.0


def real_gaussian_price(multiplier: float, delta: Fraction) -> float:
    """The ε of real Gaussian noise at this δ, in floats, with its standard deviation in units of the move."""
    from scipy.special import log_ndtr, ndtr

    half, wanted = 0.5 / multiplier, float(delta)

    def failure(epsilon: float) -> float:
        low = log_ndtr(-half - epsilon * multiplier)
        return float(ndtr(half - epsilon * multiplier) - math.exp(min(epsilon + low, 0.0)))

    low, high = 0.0, 1.0
    while failure(high) > wanted and high < 1e12:
        low, high = high, 2 * high
    return bisect(lambda epsilon: failure(epsilon) <= wanted, low, high, halvings=60)[1]
