"""Noise for running counts, by a law that does not depend on the data: how far any of them is off is computed exactly.

L bins in a row, and the number of rows in the first j of them wanted for each j. Noise on each bin would add up like
the root of L. So bins are also put together into blocks of b. A running count is the sum of the whole blocks before
it, and of the single bins after these: at most L/b + b terms.

**Theorem.** A row lies in one bin and in one block. So an added or removed row changes the vector of all counts by at
most 2, and a replaced one by at most 4, in the sum of absolute values: integer Laplace noise of scale 2s/ε for a
person who can change s bins by 1 is ε-differentially private. With b = 1 there are blocks alone, and the scale is s/ε.
Rows are counted from the lower end for the lower half of the bins, and from the upper end for the upper half. ∎

**The law of the largest deviation.** Errors of whole blocks are a random walk. Inside a block the errors of single
bins are a walk of their own from where that one stands, independent of how it goes on. So the chance that all stay
within ±z is a product of steps of a walk that is absorbed there, in O((L/b + b)·z·ln z).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from uptack.account import Mechanism
from uptack.mechanisms.quantile_chain import windowed
from uptack.noise import Entropy, IntegerLaplace
from uptack.noise.integer_laws import least

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class RunningNoise:
    """The noise of the running counts of so many bins from the lower end, and so many from the upper."""

    lower: int
    upper: int
    block: int
    scale: Fraction

    @staticmethod
    def of(bins: int, epsilon: Fraction, moved: int) -> RunningNoise:
        """For so many bins, the one in the middle left out, where a person can change `moved` bins by 1.

        Blocks where they pay: the variance of the last running count decides, which is public.
        """
        lower = bins // 2
        upper = bins - 1 - lower
        block = max(math.isqrt(max(lower, 1)), 1)
        in_blocks = 4 * (-(-lower // block) + block - 1)
        if in_blocks < lower:
            return RunningNoise(lower, upper, block, 2 * moved / epsilon)
        return RunningNoise(lower, upper, 1, moved / epsilon)

    @property
    def spread(self) -> float:
        """About the standard deviation of the running count that is furthest off."""
        return float(self.scale) * math.sqrt(2 * (self.lower / self.block + self.block - 1))

    def draw(self, entropy: Entropy) -> tuple[Integers, Integers]:
        """The errors of the running counts from both ends."""
        return self._side(self.lower, entropy), self._side(self.upper, entropy)

    def _side(self, bins: int, entropy: Entropy) -> Integers:
        law, done = IntegerLaplace(self.scale), np.arange(1, bins + 1)
        blocks = np.append(0, np.cumsum(law.sample(bins // self.block, entropy=entropy)))
        single = law.sample(bins, entropy=entropy) if self.block > 1 else np.zeros(bins, np.int64)
        single[done % self.block == 0] = 0  # a whole block is counted as one
        within = np.cumsum(single)
        start = done - done % self.block
        errors: Integers = blocks[done // self.block] + within - np.append(0, within)[start]
        return errors

    def within(self, z: int) -> float:
        """P(no running count is off by more than z)."""
        return _stays(self.lower, self.block, self.scale, z) * _stays(self.upper, self.block, self.scale, z)

    def bound(self, failure: Fraction) -> int:
        """The least z that no running count is off by more than, but for `failure`."""
        return _bound(self, failure)

    def parts(self, bins: Integers) -> list[Integers]:
        """All that is counted, of both sides: whole blocks, and the single bins that are not the last of one."""
        out = []
        for side in (bins[: self.lower], bins[::-1][: self.upper]):
            whole = side.size // self.block
            out.append(side[: whole * self.block].reshape(whole, self.block).sum(axis=1))
            out.append(side[np.arange(1, side.size + 1) % self.block > 0])
        return out


@dataclass(frozen=True)
class RunningCounts(Mechanism[Integers, tuple[Integers, Integers]]):
    """The running counts of bins from the lower and from the upper end, with noise: the mechanism of the theorem."""

    noise: RunningNoise

    def draw(self, value: Integers, entropy: Entropy) -> tuple[Integers, Integers]:
        """Both sides."""
        below, above = self.noise.draw(entropy)
        return np.cumsum(value)[: self.noise.lower] + below, np.cumsum(value[::-1])[: self.noise.upper] + above

    def price(self, value: Integers, other: Integers, output: tuple[Integers, Integers]) -> float:
        """How far all that is counted moves, over the scale."""
        parts = zip(self.noise.parts(value), self.noise.parts(other), strict=True)
        return sum(int(np.abs(a - b).sum()) for a, b in parts) / float(self.noise.scale)


@lru_cache(maxsize=256)
def _bound(noise: RunningNoise, failure: Fraction) -> int:
    allowed = float(failure) * (1 - 1e-9)  # room for rounding
    return least(lambda z: z >= 0 and 1 - noise.within(z) <= allowed)


def _stays(bins: int, block: int, scale: Fraction, z: int) -> float:
    """The chance that all errors of one side stay within ±z."""
    law = np.zeros(2 * z + 1)
    law[z] = 1.0
    inside = np.ones(2 * z + 1)
    chances = [inside]  # of staying for so many single bins, from each place
    for _ in range(min(block - 1, bins)):
        inside = _step(inside, scale)
        chances.append(inside)
    for first in range(0, bins, block):
        law = law * chances[min(block - 1, bins - first)]
        if first + block <= bins:
            law = _step(law, scale)
    return float(law.sum())


def _step(law: Floats, scale: Fraction) -> Floats:
    """One integer Laplace step, P(k) = (1 - a)/(1 + a)·a^|k| with a = e^(-1/scale); what leaves is lost."""
    rate = -float(1 / scale)
    after = windowed(law, law.size, rate)
    before = windowed(law[::-1], law.size, rate)[::-1]
    return (before + after - law) * (math.tanh(-rate / 2))
