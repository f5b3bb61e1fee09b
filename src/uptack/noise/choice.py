"""An exact draw of one of finitely many outcomes, in floats as far as they are sure."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from uptack.noise.entropy import Entropy

SLACK = 1e-9
"""Error granted to a float share of the total before the draw is settled exactly; the true error is below 1e-11."""


def pick(log_weights: NDArray[np.float64], exact: Callable[[], Sequence[Fraction]], entropy: Entropy) -> int:
    """Outcome i with probability w_i/Σw, exactly: logarithms of the weights in floats, `exact()` the rationals.

    A uniform real U is compared with the cumulative shares. 64 of its digits and floats settle that, except once in
    hundreds of millions; then rationals do, with as many digits of U as it takes.
    """
    shares = np.exp(log_weights - log_weights.max())
    ends = np.cumsum(shares)
    drawn, bits = entropy.below(1 << 64), 64
    place = drawn * 2.0**-64 * ends[-1]
    near = np.searchsorted(ends, [place - SLACK * ends[-1], place + SLACK * ends[-1]])
    if near[0] == near[1]:
        return int(near[0])
    sums = list(itertools.accumulate(exact()))
    while True:
        first, last = (bisect_right(sums, Fraction(d, 1 << bits) * sums[-1]) for d in (drawn, drawn + 1))
        if first == last or sums[first] == Fraction(drawn + 1, 1 << bits) * sums[-1]:
            return first
        drawn, bits = drawn << 64 | entropy.below(1 << 64), bits + 64
