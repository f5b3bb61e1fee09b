"""An exact draw of one of finitely many outcomes: in floats as far as they are sure, then by intervals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import numpy as np
from flint import arb
from numpy.typing import NDArray

from uptack.exact import working
from uptack.noise.entropy import Entropy

SLACK = 1e-9
"""Error granted to a float share of the total before the draw is settled exactly."""

SLACK_PER_OUTCOME = 2.0**-46
"""What is granted beside it for each outcome: sums and recursions lose a few units of 2^-53 with each term."""

GUARD = 64
"""Bits of working precision beyond the digits of U that are compared."""

Weights = Callable[[], Iterable[arb]]
"""Balls around the weights of all outcomes, up to a common factor, at the working precision of the call."""


def pick(log_weights: NDArray[np.float64], weights: Weights, entropy: Entropy, outcomes: int = 0) -> int:
    """Outcome i with probability w_i/Σw, exactly: logarithms of the weights in floats, and balls around the weights.

    A uniform real U is compared with the cumulative shares. 64 of its digits and floats settle that, unless U lies next
    to one of the shares; then balls do, with as many digits of U and as much precision as it takes. `outcomes` says how
    many outcomes the float weights were summed over, where that is more than there are weights.
    """
    shares = np.exp(log_weights - log_weights.max())
    ends = np.cumsum(shares)
    drawn, bits = entropy.below(1 << 64), 64
    place = drawn * 2.0**-64 * ends[-1]
    slack = (SLACK + SLACK_PER_OUTCOME * max(outcomes, ends.size)) * ends[-1]
    near = np.searchsorted(ends, [place - slack, place + slack])
    if near[0] == near[1]:
        return int(near[0])
    while True:
        with working(bits + GUARD):
            found = _settled(weights, drawn, bits)
        if found is not None:
            return found
        drawn, bits = drawn << 64 | entropy.below(1 << 64), bits + 64


def _settled(weights: Weights, drawn: int, bits: int) -> int | None:
    """The outcome for every U that starts with these digits, or None where digits or precision don't settle it.

    It is the first i with U·S < C_i, for the sums C_i = w_0 + ... + w_i and their last, S. U is in [d, d + 1]/2^bits,
    so i is it if C_j ≤ d·S/2^bits for all j < i, and (d + 1)·S/2^bits ≤ C_i. The last one needs no second test: U < 1.
    With ever more digits U is told from every share, unless it equals one, which has probability 0.
    """
    sums = list(itertools.accumulate(weights()))
    unit = sums[-1] * arb(2) ** -bits
    low, high = drawn * unit, (drawn + 1) * unit
    first = next((i for i, reached in enumerate(sums[:-1]) if not reached <= low), len(sums) - 1)
    return first if first == len(sums) - 1 or sums[first] >= high else None
