"""The interface of all laws on the integers: draws, probabilities and exact thresholds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.exact import Rational, Real, least
from uptack.noise.coins import Coin, exp_coin
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
        """Compares random digits with the digits of the probability."""
        return self._coin().flip(size, entropy).astype(np.int64)

    def exact_pmf(self, k: int) -> Real:
        """P(z = k)."""
        heads = self._coin().heads
        if k == 0:
            return heads.complement()
        return heads if k == 1 else Real.of(0)

    def exact_tail(self, k: int) -> Real:
        """P(z ≥ k)."""
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
        """Random bits, redrawn if they fall outside the range."""
        return entropy.integers(self._size, size) + np.int64(self.low)

    def exact_pmf(self, k: int) -> Real:
        """P(z = k)."""
        return Real.of(Fraction(int(self.low <= k <= self.high), self._size))

    def exact_tail(self, k: int) -> Real:
        """P(z ≥ k)."""
        return Real.of(Fraction(min(max(self.high - k + 1, 0), self._size), self._size))
