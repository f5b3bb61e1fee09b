"""Sums of units that have no largest. A person has some 2^32 units, so integers of 64 bits hold those of 1.7 billion.

A machine with 100 GB has room for the rows of as many people. So whatever adds up units of rows in memory asks here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
ROOM = 1 << 62
"""Numbers up to here, and the sum of two of them, are integers of 64 bits."""


def wide(numbers: Integers, most: int) -> Integers:
    """Integers that have no largest, where they or what is made of them come to as much as `most`, and that is large.

    Most is a bound that is known beforehand, so usually nothing is done.
    """
    return numbers if most < ROOM else numbers.astype(object)


def roomy(weights: Integers, before: int = 0) -> Integers:
    """Weights that can be added up, to so many units that come before them."""
    return wide(weights, before + weights.size * int(weights.max(initial=0)))
