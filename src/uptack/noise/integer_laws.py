"""The interface of all laws on the integers: draws, probabilities and exact thresholds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.exact import Rational, Real
from uptack.noise.entropy import Entropy, source

Integers = NDArray[np.int64]


def least(holds: Callable[[int], bool]) -> int:
    """The least integer for which a monotone statement holds: it is false below it and true from it on."""
    high, stride = 0, 1
    while not holds(high):
        high, stride = high + stride, 2 * stride
    low, stride = high - 1, 1
    while holds(low):
        high, low, stride = low, low - stride, 2 * stride
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@lru_cache(maxsize=1024)
def _cutoff(law: IntegerLaw, bound: Fraction) -> int:
    return least(lambda t: law.exact_tail(t) <= bound)


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
        tail = self.exact_tail(k + 1)
        return Real(lambda: 1 - tail.expression(), None if tail.exact is None else 1 - tail.exact)

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
