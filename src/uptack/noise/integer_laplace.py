"""The geometric law and the integer Laplace law, drawn exactly and many at a time.

With q = e^(-1/scale) a geometric variable G has P(G = k) = (1 - q)·q^k. Its binary digits are independent. Digit i is 1
with probability q^(2^i)/(1 + q^(2^i)) = 1/(1 + e^(2^i/scale)). The part above the first m digits, ⌊G/2^m⌋, is geometric
with q^(2^m). So a vector of draws needs a few vectors of coins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, Real, ball, exp_minus
from uptack.noise.coins import Coin, exp_coin
from uptack.noise.entropy import Entropy
from uptack.noise.integer_laws import IntegerLaw, Integers

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
        """q^k."""
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
        """The sum of all moves over the scale."""
        return sum(abs(step) for step in move) / float(Fraction(self.scale))
