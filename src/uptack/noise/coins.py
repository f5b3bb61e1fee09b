"""Exact coins, many at a time.

A coin with heads probability p lands heads iff a uniform real U is below p. The digits of U and p are compared from the
left until two differ, so the coin is exact. Most coins are settled by their first byte. In `flip_exp` floats settle a
coin only where a bound on their error says that they must agree with the exact comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack.exact import Real, ball
from uptack.noise.entropy import Entropy

Flags = NDArray[np.bool_]


def exp_minus(x: Fraction) -> Real:
    """The real number e^-x."""
    return Real.of(1) if x == 0 else Real(lambda: (-ball(x)).exp())


class Coin:
    """A coin with a fixed heads probability in [0, 1].

    A probability that is a multiple of some 2^-k must have its `exact` value set, or a ball that is exact at k bits.
    """

    def __init__(self, heads: Real) -> None:
        self._heads = heads
        self._digits = b""
        self._certain = heads.exact == 1

    def digit(self, place: int) -> int:
        """The digit of the probability at a place behind the point, to base 256.

        Threads share coins. The digits known so far are one value that is never changed, only replaced by another
        that is right too: whichever thread comes last, every digit stays what it is.
        """
        digits = self._digits
        if place >= len(digits):
            known = place + 8
            digits = self._heads.floor(8 * known).to_bytes(known, "big")
            self._digits = digits
        return digits[place]

    def flip(self, size: int, entropy: Entropy) -> Flags:
        """A vector of flips."""
        if self._certain:
            return np.ones(size, bool)
        drawn = entropy.octets(size)
        heads = drawn < self.digit(0)
        tied, place = np.flatnonzero(drawn == self.digit(0)), 1
        while tied.size:
            drawn, digit = entropy.octets(tied.size), self.digit(place)
            heads[tied] = drawn < digit
            tied, place = tied[drawn == digit], place + 1
        return heads


def _settle(heads: Real, drawn: int, bits: int, entropy: Entropy) -> bool:
    """Whether U < p, for a U of which the first digits are drawn: draw further ones while they agree with p's."""
    while (floor := heads.floor(bits)) == drawn:
        drawn, bits = drawn << 8 | entropy.bytes(1)[0], bits + 8
    return drawn < floor


SLACK = 2.0**-26
"""Relative error granted to a float e^-x before a coin is settled exactly; the true error is some 2^-40 or less."""


def flip_exp(x: NDArray[np.float64], exact: Callable[[int], Fraction], entropy: Entropy) -> Flags:
    """One coin per entry with heads probability e^-x: `x` in floats, and `exact(i)` the rational x of entry i.

    The coins are exact as long as the float x is off by at most 2^-27 + x·2^-40. It decides only where 32 random bits
    differ from it by more than `SLACK`. The others, about one in ten million, are settled with as many digits as it
    takes.
    """
    heads = np.exp(-x)
    drawn = entropy.words(x.size)
    low, high = drawn * 2.0**-32, (drawn + 1.0) * 2.0**-32
    out: Flags = high < heads * (1 - SLACK)
    unclear = np.flatnonzero(~out & (low <= np.maximum(heads * (1 + SLACK), 2.0**-40)))
    for i in unclear:
        out[i] = _settle(exp_minus(exact(int(i))), int(drawn[i]), 32, entropy)
    return out
