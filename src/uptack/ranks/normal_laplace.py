"""Normal sampling error with Laplace noise on top: tails and half-widths."""

from __future__ import annotations

import math

import numpy as np


def tail(h: float, sd: float, scale: float) -> float:
    """P(|Z + L| > h) for Z ~ N(0, sd²) and L ~ Laplace(scale), independent.

    P(Z + L > h) = Φ(-h/sd) + e^(sd²/2b²)/2·(e^(-h/b)·Φ(h/sd - sd/b) - e^(h/b)·Φ(-h/sd - sd/b)), in logarithms.
    """
    import scipy

    if sd <= 0:
        return math.exp(-h / scale) if scale > 0 else float(h <= 0)
    if scale < sd / 1000:  # noise that is hardly there, as a little more of the normal law
        return 2 * float(scipy.special.ndtr(-h / math.hypot(sd, math.sqrt(2) * scale)))
    outside = float(scipy.special.ndtr(-h / sd))
    ratio = sd / scale
    logs = (
        scipy.special.log_ndtr(np.array([h / sd - ratio, -h / sd - ratio])) + np.array([-h, h]) / scale + ratio**2 / 2
    )
    near, far = np.exp(np.minimum(logs, 0.0))  # each is at most 1
    return min(max(2 * outside + float(near - far), 0.0), 1.0)


def half_width(sd: float, scale: float, confidence: float) -> float:
    """The least h with P(|Z + L| > h) ≤ 1 - confidence."""
    outside = 1 - confidence
    high = 40 * (sd + scale) + scale * -math.log(outside)
    low = 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle, sd, scale) <= outside else (middle, high)
    return high
