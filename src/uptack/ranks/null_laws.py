"""Null distributions of rank sums with the noise of a release, for p-values.

**Validity.** Ties are broken at random before anything is counted. So under the null hypothesis ranks are a uniform
permutation, or signs are fair coins, whatever the ties were, and the law of the rank sum has no unknowns. A p-value is
P(X + L ≥ t), with X the rank sum and L the noise, computed and not simulated, and then rounded up by `SLACK`.

Up to `DIRECT` operations the law of X is computed from its generating polynomial. Beyond, the tail is computed from the
characteristic function φ of X + L, which is real: P(X + L > t) = 1/2 - 1/π·∫ φ(θ)·sin(θt)/θ dθ, by the trapezium rule,
whose error is the mass beyond a period of 80 standard deviations. Beyond 12/sd φ is negligible, except near multiples
of π, where X, which moves in steps of 2, has φ = ±1 again. So X is first spread evenly over [-1, 1] about itself, and t
moved by 1, which makes no tail smaller: the factor sin(θ)/θ is 0 at these places. The rest there is added: less than
1/(sd²(1 + b²)) for noise of scale b. For groups of fewer than 40 rows φ falls slowly, and more of it is used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from flint import fmpz

from uptack.exact import bisect
from uptack.ranks.pair_counts import Floats

DIRECT = 4 * 10**6
SLACK = 1e-9
AT_ONCE = 256
FEW = 2000
"""Up to so many factors a characteristic function is multiplied out; beyond, its logarithm is a series."""


@dataclass(frozen=True)
class RankSum:
    """A rank sum X that is symmetric about 0 and moves in steps of 2: its chances, or its characteristic function."""

    sd: float
    chances: Floats | None
    cf: Callable[[Floats], Floats]
    last: float

    def tail(self, t: float, scale: float) -> float:
        """P(X + L ≥ t) for Laplace noise L of this scale, rounded up."""
        chance = self._tail_by_sum(t, scale) if self.chances is not None else self._tail_by_inversion(t, scale)
        return min(max(chance, 0.0) + SLACK, 1.0)

    def _tail_by_sum(self, t: float, scale: float) -> float:
        assert self.chances is not None
        values = 2.0 * np.arange(self.chances.size) - (self.chances.size - 1)
        need = (t - values) / scale
        beyond = np.where(need > 0, np.exp(-np.abs(need)) / 2, 1 - np.exp(-np.abs(need)) / 2)
        return float(self.chances @ beyond)

    def _tail_by_inversion(self, t: float, scale: float) -> float:
        period = 2 * (abs(t) + 40 * self.sd + 40 * scale)
        step, t = 2 * math.pi / period, t - 1
        total = t / 2
        end = math.ceil(self.last / step) + 1
        for start in range(1, end, AT_ONCE):
            theta = step * np.arange(start, min(start + AT_ONCE, end), dtype=np.float64)
            smooth = np.sinc(theta / math.pi) / (1 + (scale * theta) ** 2)
            total += float((self.cf(theta) * smooth * np.sin(theta * t) / theta).sum())
        return 0.5 - step * total / math.pi + 1 / (self.sd**2 * (1 + scale**2))


def mann_whitney_sum(first: int, second: int) -> RankSum:
    """Σ sgn(x_i - y_j) over the pairs of two groups: 2U - n₁n₀. Its polynomial is Π (1 - q^(n₀+i))/(1 - q^i)."""
    small, large = sorted((first, second))
    sd = math.sqrt(max(small * large, 1) * (small + large + 1) / 3)
    i = np.arange(1, small + 1, dtype=np.float64)
    direct = _mann_whitney(small, large) if small * small * large <= DIRECT else None
    return RankSum(sd, direct, _ratios(large + i, i), max(12 / sd, 0.0 if small >= 40 else 300 / large))


def signed_rank_sum(n: int) -> RankSum:
    """Σ ±r over the ranks 1, ..., n with fair signs. Its polynomial is Π (1 + q^r)/2."""
    sd = math.sqrt(max(n, 1) * (n + 1) * (2 * n + 1) / 6)
    i = np.arange(1, n + 1, dtype=np.float64)
    direct = _signed_chances(n) if n * n * (n + 1) // 2 <= DIRECT else None
    return RankSum(sd, direct, _ratios(2 * i, i), 12 / sd)  # cos(rθ) = sin(2rθ)/(2·sin(rθ))


def _mann_whitney(small: int, large: int) -> Floats:
    """The chances of U = 0, ..., n₁n₀, from the polynomial at as many roots of unity or more.

    For a prime number M of them no sin(iθ) is 0 but at θ = 0. Each product of the first factors is itself the
    characteristic function of a smaller U, so none is above 1.
    """
    most = small * large
    size = next(k for k in itertools.count(max(most, small + large) + 1) if k > 2 and fmpz(k).is_prime())
    theta = math.pi * np.arange(1, size // 2 + 1) / size
    product = np.ones(theta.size)
    for i in range(1, small + 1):
        product *= np.sin((large + i) * theta) / np.sin(i * theta) * (i / (large + i))
    centred = np.concatenate(([1.0 + 0j], product * np.exp(-1j * theta * most)))
    return np.maximum(np.fft.irfft(centred, size)[: most + 1], 0.0)


def _signed_chances(n: int) -> Floats:
    chances = np.zeros(n * (n + 1) // 2 + 1)
    chances[0] = 1.0
    for r in range(1, n + 1):
        chances[r:] = (chances[r:] + chances[:-r]) / 2
        chances[:r] /= 2
    return chances


def _ratios(above: Floats, below: Floats) -> Callable[[Floats], Floats]:
    """Π (sin(aθ)/a)/(sin(bθ)/b). With many factors by the series of ln(sin(x)/x), as all aθ stay small there."""
    if below.size <= FEW:

        def multiplied(theta: Floats) -> Floats:
            sines = np.sin(np.outer(theta, above)) / np.sin(np.outer(theta, below)) * (below / above)
            product: Floats = np.prod(sines, axis=1)
            return product

        return multiplied
    terms = ((2, 1 / 6), (4, 1 / 180), (6, 1 / 2835), (8, 1 / 37800), (10, 1 / 467775))
    sums = [(power, weight * float((above**power - below**power).sum())) for power, weight in terms]

    def series(theta: Floats) -> Floats:
        log: Floats = -sum((total * theta**power for power, total in sums), np.zeros(theta.size))
        return np.exp(log)

    return series


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
    return bisect(lambda h: tail(h, sd, scale) <= outside, 0.0, high, halvings=80)[1]
