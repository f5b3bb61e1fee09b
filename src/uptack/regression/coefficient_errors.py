"""The law of the error of a released coefficient: normal sampling error, and one coordinate of Gamma noise.

A gradient of p numbers gets noise with density proportional to e^(-|v|) in its unit, whose characteristic function is
(1 + |t|²)^(-k), k = (p + 1)/2. A coefficient moves by a linear form of it. In units of its length that is one
coordinate, with

    E e^(isv) = (1 + s²)^(-k) = E e^(-s²W),   W of Gamma's law with shape k:

v is normal with the random variance 2W, of mean p + 1. (For p = 1 that is Laplace's law.) An error in units of its own
deviation, of whose variance the part q is this noise, is normal given W, and

    P(|error| > t) = E 2·Φ(-t/sqrt(1 - q + q·W/k)).

Tails are those of e^(-t·sqrt(2k/q)), longer than a normal law's: at t = 2.576, q = 1 and p = 3 they have 2.1%, not 1%.

**Computed** as the trapezoidal sum over u = log W, which has the density e^(k·u - e^u)/Γ(k). All of it is analytic
around the real line, so with steps of h = 0.15/sqrt(max(k, 1)) the sum has about 10 digits, for tails down to 1e-12.

The noise of the last step's Hessian is a part of q. In the direction of that step it has the same law, and a shorter
tail in others. The ridge's bias counts as sampling error.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from uptack.columns.table import Floats

FINE, LITTLE, FARTHEST = 0.15, 40.0, 1500.0
"""The step, the logarithm of what may be left out below, and how far W goes beyond its mean."""

LEAST = float(np.finfo(np.float64).tiny)
"""In place of 0 deviations: so many of an infinite one are still infinite."""


@cache
def _grid(p: int) -> tuple[Floats, Floats]:
    """W/k and the logarithm of its chances."""
    k = (p + 1) / 2
    low, high = math.log(k) - LITTLE / k - 10 / math.sqrt(k), math.log(k + FARTHEST)
    u = np.arange(low, high, FINE / math.sqrt(max(k, 1.0)))
    weights = k * u - np.exp(u)
    return np.exp(u) / k, weights - np.logaddexp.reduce(weights)


def log_tail(t: float, share: float, p: int) -> float:
    """log P(|error| > t) for t of 0 or more."""
    import scipy

    sizes, chances = _grid(p)
    beyond = scipy.special.log_ndtr(-t / np.sqrt(1 - share + share * sizes))
    return math.log(2) + float(np.logaddexp.reduce(chances + beyond))


def times(outside: float, share: float, p: int) -> float:
    """t with P(|error| > t) = `outside`, for a part of the variance that is noise, in p dimensions.

    >>> round(times(0.05, 0.0, 3), 3), round(times(0.05, 1.0, 3), 3), round(times(0.01, 1.0, 3), 3)
    (1.96, 2.057, 2.995)
    """
    import scipy

    if outside <= 0:
        return math.inf
    wanted, high = math.log(outside), 1.0
    if log_tail(LEAST, share, p) <= wanted:
        return LEAST
    while log_tail(high, share, p) > wanted:
        high *= 2
    return float(scipy.optimize.brentq(lambda t: log_tail(t, share, p) - wanted, LEAST, high, xtol=1e-12, rtol=1e-12))
