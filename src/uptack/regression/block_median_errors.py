"""The law of the error of released medians of block estimates, in units of their released spread.

With m blocks, whose estimates of a coefficient β are normal with standard deviation σ, the median of the estimates is
normal around β with standard deviation sqrt(π/2m)·σ. The released coefficient is off from that by noise, and the
released interquartile range, over 1.349, is off from σ. Both draws have weights e^(-ε·score/2), so their laws depend on
public numbers alone: on m, on the number of coefficients, on the rows a person has, and on ε.

**One coordinate of a draw.** Let W(k) be the length of the side of box k, the same for all p coordinates. The density
of one coordinate at a point of score s is proportional to the integral of e^(-ε·max(s, k)/2) over the scores k of the
p - 1 others, which are at most k in a volume of W(k)^(p-1):

    g(s) = e^(-εs/2)·W(s)^(p-1) + ∫ e^(-εk/2) dW^(p-1) over k > s.

Medians: side k reaches from Φ⁻¹(1/2 - κ) to Φ⁻¹(1/2 + κ), κ = gk/m. Ranges, measured by their logarithm, as candidates
are spaced: from 2·Φ⁻¹(3/4 - κ/2), both ends moved alike, to Φ⁻¹(3/4) + Φ⁻¹(3/4 + κ), one end moved.

So P(|error| > t·spread) is a sum over two grids of scores, and t is found for each confidence. What is left out: the
estimates of small blocks have longer tails than normal ones, which makes the spread larger in comparison, and skewed
errors shift the medians of small blocks by about a twelfth of their skewness times σ/sqrt(rows per block).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from uptack.columns.table import Floats
from uptack.exact import Rational, read

GRID, TINY, ENDS = 128, 1e-300, (-40.0, 20.0)
QUARTILE = 0.6744897501960817
RANGE_ERROR = 1.1664
"""The standard deviation of an interquartile range of m normal numbers, over the range, times sqrt(m)."""


@dataclass(frozen=True)
class ScoreDraw:
    """The scores of one coordinate out of p, drawn with ε, for people with up to g of m blocks."""

    blocks: int
    coordinates: int
    rows: int
    epsilon: float

    def scores(self, most: float) -> Floats:
        """A grid that is finer near 0, up to `most` shares of blocks, or where hardly any draw is."""
        end = min(2 / self.epsilon * (2 * self.coordinates + 60), most * self.blocks / self.rows)
        return end * np.linspace(0, 1, GRID + 1) ** 2

    def shares(self, sides: Floats, scores: Floats) -> Floats:
        """How likely each piece of the grid is, by the lengths of sides at its ends; in logarithms, p may be large."""
        with np.errstate(divide="ignore"):
            others, length = (self.coordinates - 1) * np.log(np.maximum(sides, TINY)), np.log(np.diff(sides))
            fall = -self.epsilon / 2 * (scores[1:] + scores[:-1]) / 2
            grown = others[1:] + np.log1p(-np.exp(np.minimum(others[:-1] - others[1:], 0)))
        above = np.append(np.logaddexp.accumulate((fall + grown)[::-1])[::-1][1:], -np.inf)
        weights = np.logaddexp(fall + others[1:], above) + length
        shares: Floats = np.exp(weights - np.logaddexp.reduce(weights))
        return shares


@dataclass(frozen=True)
class CoefficientErrors:
    """Standard errors of released coefficients, themselves private, with the privacy noise in them."""

    spreads: tuple[float, ...]
    medians: ScoreDraw
    ranges: ScoreDraw

    @property
    def standard_errors(self) -> tuple[float, ...]:
        """Of sampling and of the noise together."""
        noise, shares = self._noise
        deviation = math.sqrt(math.pi / 2 / self.medians.blocks + float((shares * noise**2).sum()))
        return tuple(deviation * spread for spread in self.spreads)

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """β ± t·spread, for the population's coefficients."""
        t = self.times(float(1 - read(confidence)))
        reach = np.array([t * spread if spread else 0.0 for spread in self.spreads])
        return value - reach, value + reach

    def times(self, outside: float) -> float:
        """t with P(|error| > t·spread) = `outside`; infinite where spreads of so few blocks may be too small for any t.

        Nearer to 0 than e^-40 it is that.
        """
        import scipy

        low, high = ENDS
        if self._beyond(math.exp(high)) >= outside:
            return math.inf
        if self._beyond(math.exp(low)) <= outside:
            return math.exp(low)
        return math.exp(scipy.optimize.brentq(lambda log: self._beyond(math.exp(log)) - outside, low, high, xtol=1e-6))

    @cached_property
    def _noise(self) -> tuple[Floats, Floats]:
        """How far the noise carries a median, one rank more for rounding outward, and with which chance."""
        import scipy

        scores, per_score = self.medians.scores(0.499), self.medians.rows / self.medians.blocks
        carried = scipy.special.ndtri(0.5 + np.minimum(((scores[1:] + scores[:-1]) / 2 + 1) * per_score, 0.4999))
        return carried, self.medians.shares(scipy.special.ndtri(0.5 + scores * per_score) * 2, scores)

    @cached_property
    def _spread(self) -> tuple[Floats, Floats]:
        """Released spreads over true ones, and with which chance: first the pieces below 1, then those above."""
        import scipy

        scores = self.ranges.scores(0.249)
        share = scores * self.ranges.rows / self.ranges.blocks
        low = np.log(scipy.special.ndtri(0.75 - share / 2) / QUARTILE)
        high = np.log((1 + scipy.special.ndtri(0.75 + share) / QUARTILE) / 2)
        shares = self.ranges.shares(high - low, scores)
        below = shares * np.diff(-low) / np.diff(high - low)
        ratios = np.concatenate([(low[1:] + low[:-1]) / 2, (high[1:] + high[:-1]) / 2])
        return np.exp(ratios), np.concatenate([below, shares - below])

    def _beyond(self, t: float) -> float:
        """P(|error| > t·spread): a normal number for both sampling errors, moved by the noise to either side."""
        import scipy

        (noise, chances), (ratios, likely) = self._noise, self._spread
        m = self.medians.blocks
        sampling = np.sqrt(math.pi / 2 / m + (RANGE_ERROR * t * ratios) ** 2 / m)
        ends = t * ratios[:, None] + np.array([-1, 1])[:, None, None] * noise
        return float(scipy.special.ndtr(-ends / sampling[:, None]).sum(axis=0) @ chances @ likely)
