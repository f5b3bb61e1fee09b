"""Laws on the integers: exact draws, many at a time, exact probabilities and rigorous thresholds.

With q = e^(-1/scale) a geometric variable G has P(G = k) = (1 - q)·q^k. Its binary digits are independent. Digit i is 1
with probability q^(2^i)/(1 + q^(2^i)) = 1/(1 + e^(2^i/scale)). The part above the first m digits, ⌊G/2^m⌋, is geometric
with q^(2^m). So a vector of draws needs a few vectors of coins.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, overload

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, Real, ball, bisect, exp_minus, least, theta
from uptack.noise.coins import Coin, exp_coin, flip_exp
from uptack.noise.entropy import Entropy, source

Integers = NDArray[np.int64]


@lru_cache(maxsize=1024)
def _cutoff(law: IntegerLaw, bound: Fraction) -> int:
    return least(lambda t: law.exact_tail(t) <= bound)


class VectorLaw(Protocol):
    """A law of vectors of integers, and what it hides."""

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """A vector of this size."""
        ...

    def price(self, move: Sequence[int], delta: Fraction = Fraction(0)) -> float:
        """The ε at which a draw hides such a move, up to δ."""
        ...


class IntegerLaw(ABC):
    """A probability law on the integers, with z a draw from it.

    `exact_pmf` and `exact_tail` are reals known to any precision, so the thresholds below are exact. `pmf`, `cdf` and
    `tail` are the same numbers as floats.
    """

    @abstractmethod
    def draw(self, size: int, entropy: Entropy) -> Integers:
        """A vector of independent exact draws."""

    @abstractmethod
    def exact_pmf(self, k: int) -> Real:
        """P(z = k)."""

    @abstractmethod
    def exact_tail(self, k: int) -> Real:
        """P(z ≥ k)."""

    def price(self, move: Sequence[int], delta: Fraction = Fraction(0)) -> float:
        """The ε at which independent draws from this law hide such a move of a vector of integers, up to δ.

        Infinite unless a law has a theorem that says otherwise.
        """
        return math.inf if any(move) else 0.0

    @overload
    def sample(self, size: None = None, *, entropy: Entropy | None = None) -> int: ...
    @overload
    def sample(self, size: int, *, entropy: Entropy | None = None) -> Integers: ...

    def sample(self, size: int | None = None, *, entropy: Entropy | None = None) -> int | Integers:
        """One draw as an int, or a vector of `size` draws."""
        if size is None:
            return int(self.draw(1, source(entropy))[0])
        return self.draw(checks.integer("size", size, least=0), source(entropy))

    def pmf(self, k: int) -> float:
        """P(z = k)."""
        return float(self.exact_pmf(k))

    def cdf(self, k: int) -> float:
        """P(z ≤ k)."""
        return float(self.exact_cdf(k))

    def tail(self, k: int) -> float:
        """P(z ≥ k)."""
        return float(self.exact_tail(k))

    def exact_cdf(self, k: int) -> Real:
        """P(z ≤ k) = 1 - P(z ≥ k + 1)."""
        return self.exact_tail(k + 1).complement()

    def cutoff(self, delta: Rational) -> int:
        """The least t with P(z ≥ t) ≤ δ."""
        return _cutoff(self, checks.inside_unit("delta", delta))

    def quantile(self, p: Rational) -> int:
        """The least k with P(z ≤ k) ≥ p."""
        return _cutoff(self, 1 - checks.inside_unit("p", p)) - 1

    def interval(self, confidence: Rational) -> tuple[int, int]:
        """The shortest [a, b] with P(z < a) and P(z > b) each at most (1 - confidence)/2."""
        outside: Fraction = (1 - checks.inside_unit("confidence", confidence)) / 2
        low = least(lambda k: self.exact_tail(k + 1) < 1 - outside)
        return low, self.cutoff(outside) - 1


# ---------------------------------------------------------------------------------- coins and uniform integers, as laws


@lru_cache(maxsize=256)
def _rational_coin(p: Fraction) -> Coin:
    return Coin(Real.of(p))


class _CoinLaw(IntegerLaw):
    """1 for heads, else 0."""

    @abstractmethod
    def _coin(self) -> Coin: ...

    def draw(self, size: int, entropy: Entropy) -> Integers:
        return self._coin().flip(size, entropy).astype(np.int64)

    def exact_pmf(self, k: int) -> Real:
        heads = self._coin().heads
        if k == 0:
            return heads.complement()
        return heads if k == 1 else Real.of(0)

    def exact_tail(self, k: int) -> Real:
        return Real.of(1) if k <= 0 else self.exact_pmf(k)


@dataclass(frozen=True)
class Bernoulli(_CoinLaw):
    """1 with probability p, else 0, for a rational p in [0, 1].

    >>> Bernoulli("1/3").pmf(0)
    0.6666666666666666
    """

    p: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checks.probability("p", self.p))

    def _coin(self) -> Coin:
        return _rational_coin(Fraction(self.p))


@dataclass(frozen=True)
class BernoulliExp(_CoinLaw):
    """1 with probability e^-x, else 0, for a rational x ≥ 0.

    >>> BernoulliExp(1).tail(1)
    0.36787944117144233
    """

    x: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", checks.nonnegative("x", self.x))

    def _coin(self) -> Coin:
        return exp_coin(Fraction(self.x))


@dataclass(frozen=True)
class UniformInteger(IntegerLaw):
    """The uniform law on the integers in [low, high], of which there may be at most 2^63.

    >>> UniformInteger(1, 6).cutoff("1/3")
    5
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        limit = 1 << 63
        low, high = checks.integer("low", self.low, -limit), checks.integer("high", self.high, -limit)
        if not low <= high < min(limit, low + limit):
            raise InvalidArgument("high", "at least low, with at most 2^63 integers between them", high)

    @property
    def _size(self) -> int:
        return self.high - self.low + 1

    def draw(self, size: int, entropy: Entropy) -> Integers:
        return entropy.integers(self._size, size) + np.int64(self.low)

    def exact_pmf(self, k: int) -> Real:
        return Real.of(Fraction(int(self.low <= k <= self.high), self._size))

    def exact_tail(self, k: int) -> Real:
        return Real.of(Fraction(min(max(self.high - k + 1, 0), self._size), self._size))


# ------------------------------------------------------------------------------------------- geometric and Laplace laws


LARGEST_SCALE = 1 << 50
"""Draws are 64-bit integers. Up to this scale one would leave them with a probability below e^-4000; it would raise."""


def check_scale(name: str, value: Rational) -> Fraction:
    """A positive rational of at most `LARGEST_SCALE`."""
    scale = checks.positive(name, value)
    if scale > LARGEST_SCALE:
        raise InvalidArgument(name, "at most 2^50 steps", checks.describe(value), "Use a coarser grid.")
    return scale


def refuse_tiny(epsilon: Fraction, scale: Fraction, where: str = "", fix: str = "") -> None:
    """An error about an ε that is so small that its noise would have a scale beyond `LARGEST_SCALE`."""
    if scale > LARGEST_SCALE:
        least = float(epsilon * scale / LARGEST_SCALE)
        raise InvalidArgument("epsilon", f"at least {least:.2g}{where}", float(epsilon), fix)


def _logistic(x: Fraction) -> Real:
    """1/(1 + e^x)."""
    return Real(lambda: 1 / (1 + ball(x).exp()))


@lru_cache(maxsize=256)
def _digit_coins(scale: Fraction) -> tuple[Coin, ...]:
    """The coins of the binary digits i with 2^i < 8·scale: the rest is above 0 with probability at most e^-8."""
    count = (-(-8 * scale.numerator // scale.denominator)).bit_length()
    return tuple(Coin(_logistic(Fraction(1 << i) / scale)) for i in range(count))


@lru_cache(maxsize=256)
def _nonzero_coin(scale: Fraction) -> Coin:
    """The coin of |z| ≥ 1 for the integer Laplace law: 2q/(1 + q) = 2/(1 + e^(1/scale))."""
    return Coin(Real(lambda: 2 / (1 + ball(1 / scale).exp())))


@dataclass(frozen=True)
class Geometric(IntegerLaw):
    """P(z = k) = (1 - q)·q^k for k ≥ 0, with q = e^(-1/scale).

    >>> Geometric(2).tail(3)
    0.22313016014842982
    """

    scale: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_scale("scale", self.scale))

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """Binary digits by independent coins. The part above them counts heads of an e^(-2^m/scale) coin in a row."""
        scale = Fraction(self.scale)
        coins = _digit_coins(scale)
        out = np.zeros(size, np.int64)
        for i, coin in enumerate(coins):
            out += coin.flip(size, entropy).astype(np.int64) << i
        block = 1 << len(coins)
        more = exp_coin(block / scale)
        alive = np.flatnonzero(more.flip(size, entropy))
        while alive.size:
            if out[alive].max() > np.iinfo(np.int64).max - block:
                raise OverflowError("a geometric draw left the 64-bit integers")
            out[alive] += block
            alive = alive[more.flip(alive.size, entropy)]
        return out

    def exact_pmf(self, k: int) -> Real:
        """(1 - q)·q^k."""
        rate = 1 / Fraction(self.scale)
        return Real.of(0) if k < 0 else Real(lambda: -ball(-rate).expm1() * ball(-rate * k).exp())

    def exact_tail(self, k: int) -> Real:
        return exp_minus(max(k, 0) / Fraction(self.scale))


@dataclass(frozen=True)
class IntegerLaplace(IntegerLaw):
    """The two-sided geometric law: P(z = k) = (1 - q)/(1 + q)·q^|k| with q = e^(-1/scale).

    **Theorem.** For an integer-valued f with |f(D) - f(D')| ≤ Δ between neighbours, f(D) + z with scale Δ/ε is
    ε-differentially private: P(z = k)/P(z = k + j) ≤ q^-|j| ≤ e^(Δ/scale).

    >>> noise = IntegerLaplace(1)
    >>> noise.cutoff(1e-6), noise.tail(14) <= 1e-6 < noise.tail(13)
    (14, True)
    """

    scale: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_scale("scale", self.scale))

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """Nonzero with probability 2q/(1 + q), and then ±(1 + G) with a fair sign and G geometric."""
        out = np.zeros(size, np.int64)
        nonzero = np.flatnonzero(_nonzero_coin(Fraction(self.scale)).flip(size, entropy))
        magnitude = 1 + Geometric(self.scale).draw(nonzero.size, entropy)
        out[nonzero] = magnitude * entropy.signs(nonzero.size)
        return out

    def exact_pmf(self, k: int) -> Real:
        """(1 - q)/(1 + q)·q^|k| = tanh(1/(2·scale))·q^|k|."""
        rate = 1 / Fraction(self.scale)
        return Real(lambda: ball(rate / 2).tanh() * ball(-rate * abs(k)).exp())

    def exact_tail(self, k: int) -> Real:
        """q^k/(1 + q) for k ≥ 1, and 1 - q^(1-k)/(1 + q) below."""
        rate = 1 / Fraction(self.scale)

        def beyond(j: int) -> arb:
            return ball(-rate * j).exp() / (1 + ball(-rate).exp())

        return Real(lambda: beyond(k) if k >= 1 else 1 - beyond(1 - k))

    def price(self, move: Sequence[int], delta: Fraction = Fraction(0)) -> float:
        return sum(abs(step) for step in move) / float(Fraction(self.scale))


# ----------------------------------------------------------------------------------------------------- the Gaussian law


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
