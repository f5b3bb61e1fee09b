"""Draws with exact probabilities: coins, many at a time, and one of finitely many outcomes.

A coin with heads probability p lands heads iff a uniform real U is below p. The digits of U and p are compared from the
left until two differ, so the coin is exact. Most coins are settled by their first byte. In `flip_exp` and
`pick` floats settle a draw only where a bound on their error says that they must agree with the exact comparison.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from uptack.exact import Real, exp_minus, working
from uptack.noise.entropy import Entropy

Flags = NDArray[np.bool_]
COIN_SLACK = 2.0**-26
"""Relative error granted to a float e^-x before a coin is settled exactly; the true error is some 2^-40 or less."""
SHARE_SLACK = 1e-9
"""Error granted to a float share of the total before the draw is settled exactly."""
SLACK_PER_OUTCOME = 2.0**-46
"""What is granted beside it for each outcome: sums and recursions lose a few units of 2^-53 with each term."""
GUARD = 64
"""Bits of working precision beyond the digits of U that are compared."""
Weights = Callable[[], Iterable[arb]]
"""Balls around the weights of all outcomes, up to a common factor, at the working precision of the call."""


@lru_cache(maxsize=256)
def exp_coin(x: Fraction) -> Coin:
    """The coin with heads probability e^-x. Its digits are cached."""
    return Coin(exp_minus(x))


class Coin:
    """A coin with a fixed heads probability in [0, 1].

    A probability that is a multiple of some 2^-k must have its `exact` value set, or a ball that is exact at k bits.
    """

    def __init__(self, heads: Real) -> None:
        self.heads = heads
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
            digits = self.heads.floor(8 * known).to_bytes(known, "big")
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


def flip_exp(x: NDArray[np.float64], exact: Callable[[int], Fraction], entropy: Entropy) -> Flags:
    """One coin per entry with heads probability e^-x: `x` in floats, and `exact(i)` the rational x of entry i.

    The coins are exact as long as the float x is off by at most 2^-27 + x·2^-40. It decides only where 32 random bits
    differ from it by more than `COIN_SLACK`. The others, about one in ten million, are settled with as many digits as
    it takes.
    """
    heads = np.exp(-x)
    drawn = entropy.words(x.size)
    low, high = drawn * 2.0**-32, (drawn + 1.0) * 2.0**-32
    out: Flags = high < heads * (1 - COIN_SLACK)
    unclear = np.flatnonzero(~out & (low <= np.maximum(heads * (1 + COIN_SLACK), 2.0**-40)))
    for i in unclear:
        out[i] = _settle(exp_minus(exact(int(i))), int(drawn[i]), 32, entropy)
    return out


# ---------------------------------------------------------------------------------------- one of finitely many outcomes


def pick(log_weights: NDArray[np.float64], weights: Weights, entropy: Entropy, outcomes: int = 0) -> int:
    """Outcome i with probability w_i/Σw, exactly: logarithms of the weights in floats, and balls around the weights.

    A uniform real U is compared with the cumulative shares. 64 of its digits and floats settle that, unless U lies next
    to one of the shares; then balls do, with as many digits of U and as much precision as it takes. `outcomes` says how
    many outcomes the float weights were summed over, where that is more than there are weights.
    """
    drawn, bits, top = entropy.below(1 << 64), 64, float(log_weights.max())
    if top > -math.inf:  # else all weights are below the floats, which know nothing of them
        ends = np.cumsum(np.exp(log_weights - top))
        place = drawn * 2.0**-64 * ends[-1]
        slack = (SHARE_SLACK + SLACK_PER_OUTCOME * max(outcomes, ends.size)) * ends[-1]
        near = np.searchsorted(ends, [place - slack, place + slack])
        if near[0] == near[1]:
            return int(near[0])
    while True:
        with working(bits + GUARD):
            outcome = _outcome(weights, drawn, bits)
        if outcome is not None:
            return outcome
        drawn, bits = drawn << 64 | entropy.below(1 << 64), bits + 64


def _outcome(weights: Weights, drawn: int, bits: int) -> int | None:
    """The outcome for every U that starts with these digits, or None where digits or precision don't settle it.

    It is the first i with U·S < C_i, for the sums C_i = w_0 + ... + w_i and their last, S. U is in [d, d + 1]/2^bits,
    so i is it if C_j ≤ d·S/2^bits for all j < i, and (d + 1)·S/2^bits ≤ C_i. The last one needs no second test: U < 1.
    With enough digits U differs from every share, unless it equals one, which has probability 0.
    """
    sums = list(itertools.accumulate(weights()))
    unit = sums[-1] * arb(2) ** -bits
    low, high = drawn * unit, (drawn + 1) * unit
    first = next((i for i, reached in enumerate(sums[:-1]) if not reached <= low), len(sums) - 1)
    return first if first == len(sums) - 1 or sums[first] >= high else None
