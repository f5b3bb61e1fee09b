"""TukeyEM: private linear regression by depth, written from the paper (Amin, Joseph, Ribero, Vassilvitskii, ICLR 2023).

Least squares in m random blocks; the approximate depth of a point is the least number of fits on either side of it, in
any coordinate. So the points of depth i or more are a box, between the i-th fits from below and from above. After a
test that this is stable, a point of depth m/4 or more is drawn with weight e^(ε·depth/2).

The test draws a noisy distance to data for which the draw is unsafe. Its Laplace noise has scale 1/ε: with the scale ε
in its place, which has been seen in code for this, there is next to no noise at a small ε, and no privacy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BLOCKS, ROWS = 1000, 10
"""As many blocks as in the paper, or more where each still has so many rows per coefficient."""


def tukey_em(x: Floats, y: Floats, epsilon: float, delta: float, rng: np.random.Generator) -> Floats | None:
    """The coefficients, for a design that has its own column of ones; None for ⊥. (ε, δ)-differentially private."""
    n, p = x.shape
    m = min(max(BLOCKS, n // (ROWS * p)), n // (p + 1))
    if m < 8:
        return None
    order = rng.permutation(n)
    fits = np.array([np.linalg.lstsq(x[one], y[one], rcond=None)[0] for one in np.array_split(order, m)])
    half, least = epsilon / 2, m // 4
    sides = np.sort(fits, axis=0)
    lows, highs = sides[: m // 2], sides[::-1][: m // 2]  # line i - 1 is the box of depth i
    with np.errstate(divide="ignore"):
        volumes = np.log(highs - lows).sum(axis=1)
    distance = _distance_to_unsafe(volumes, least, half, delta)
    if distance + rng.laplace(scale=1 / half) < math.log(1 / (2 * delta)) / half:
        return None
    return _drawn(lows[least - 1 :], highs[least - 1 :], volumes[least - 1 :], half, rng)


def _distance_to_unsafe(volumes: Floats, least: int, epsilon: float, delta: float) -> int:
    """The most k with a g so that V(t - k - 1)/V(t + k + g + 1)·e^(-εg/2) ≤ δ/(8e^ε), for t = `least`; -1 for none."""
    bound, deepest = math.log(delta / 8) - epsilon, len(volumes)
    for k in range(least - 2, -1, -1):
        inner = volumes[least + k + 1 : deepest]  # g = 1, 2, ...
        g = np.arange(1, len(inner) + 1)
        with np.errstate(invalid="ignore"):
            found = volumes[least - k - 2] - inner - epsilon * g / 2
        if (found <= bound).any():
            return k
    return -1


def _drawn(lows: Floats, highs: Floats, volumes: Floats, epsilon: float, rng: np.random.Generator) -> Floats | None:
    """A depth, by the volume of its points and e^(ε·depth/2), and one of these points."""
    inner = np.append(volumes[1:], -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        shells = volumes + np.log1p(-np.exp(np.minimum(inner - volumes, 0.0)))
    weights = shells + epsilon * np.arange(len(shells)) / 2
    weights[np.isnan(weights)] = -np.inf
    if not np.isfinite(weights).any():
        return None
    i = int(np.argmax(weights + rng.gumbel(size=len(weights))))
    last = i == len(lows) - 1
    return _in_shell(lows[i], highs[i], None if last else (lows[i + 1], highs[i + 1]), rng)


def _in_shell(low: Floats, high: Floats, hole: tuple[Floats, Floats] | None, rng: np.random.Generator) -> Floats:
    """A point of a box outside of a box inside it.

    The j-th piece of the rest has the first j coordinates in the hole, the next one outside of it, others anywhere.
    """
    point = rng.uniform(low, high)
    if hole is None:
        return point
    inside = (hole[1] - hole[0]) / (high - low)
    pieces = np.cumprod(np.append(1.0, inside[:-1])) * (1 - inside)
    j = int(rng.choice(len(pieces), p=pieces / pieces.sum()))
    point[:j] = rng.uniform(hole[0][:j], hole[1][:j])
    below, above = hole[0][j] - low[j], high[j] - hole[1][j]
    to_left = rng.uniform(0, below + above) < below
    point[j] = rng.uniform(low[j], hole[0][j]) if to_left else rng.uniform(hole[1][j], high[j])
    return point
