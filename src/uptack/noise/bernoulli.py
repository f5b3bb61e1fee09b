"""Coins and uniform integers, as laws."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, Real
from uptack.noise.coins import Coin, exp_minus
from uptack.noise.entropy import Entropy
from uptack.noise.integer_laws import IntegerLaw, Integers


def _two_point(k: int, heads: Real) -> Real:
    if k not in (0, 1):
        return Real.of(0)
    if k == 1:
        return heads
    return Real(lambda: 1 - heads.expression(), None if heads.exact is None else 1 - heads.exact)


def _two_point_tail(k: int, heads: Real) -> Real:
    return Real.of(1) if k <= 0 else heads if k == 1 else Real.of(0)


@lru_cache(maxsize=256)
def _rational_coin(p: Fraction) -> Coin:
    return Coin(Real.of(p))


@lru_cache(maxsize=256)
def exp_coin(x: Fraction) -> Coin:
    """The coin with heads probability e^-x. Its digits are cached."""
    return Coin(exp_minus(x))


@dataclass(frozen=True)
class Bernoulli(IntegerLaw):
    """1 with probability p, else 0, for a rational p in [0, 1].

    >>> Bernoulli("1/3").pmf(0)
    0.6666666666666666
    """

    p: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checks.probability("p", self.p))

    @property
    def _heads(self) -> Real:
        return Real.of(Fraction(self.p))

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """Compares random digits with the digits of p."""
        return _rational_coin(Fraction(self.p)).flip(size, entropy).astype(np.int64)

    def exact_pmf(self, k: int) -> Real:
        """P(z = k)."""
        return _two_point(k, self._heads)

    def exact_tail(self, k: int) -> Real:
        """P(z ≥ k)."""
        return _two_point_tail(k, self._heads)


@dataclass(frozen=True)
class BernoulliExp(IntegerLaw):
    """1 with probability e^-x, else 0, for a rational x ≥ 0.

    >>> BernoulliExp(1).tail(1)
    0.36787944117144233
    """

    x: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", checks.nonnegative("x", self.x))

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """Compares random digits with the digits of e^-x."""
        return exp_coin(Fraction(self.x)).flip(size, entropy).astype(np.int64)

    def exact_pmf(self, k: int) -> Real:
        """P(z = k)."""
        return _two_point(k, exp_minus(Fraction(self.x)))

    def exact_tail(self, k: int) -> Real:
        """P(z ≥ k)."""
        return _two_point_tail(k, exp_minus(Fraction(self.x)))


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
        """Random bits, redrawn if they fall outside the range."""
        return entropy.integers(self._size, size) + np.int64(self.low)

    def exact_pmf(self, k: int) -> Real:
        """P(z = k)."""
        return Real.of(Fraction(int(self.low <= k <= self.high), self._size))

    def exact_tail(self, k: int) -> Real:
        """P(z ≥ k)."""
        return Real.of(Fraction(min(max(self.high - k + 1, 0), self._size), self._size))
