"""Intervals of means and sums over a frame: sampling, noise, and what lies beyond the frame."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from uptack.exact import Rational, read
from uptack.statistics.frame_sums import ONE
from uptack.statistics.moments import Moments


def normal_quantile(confidence: Rational) -> float:
    """z with P(|Z| ≤ z) = confidence."""
    return NormalDist().inv_cdf(float(1 + read(confidence)) / 2)


def laplace_quantile(confidence: Rational) -> float:
    """q with P(|L| ≤ q) = confidence, for Laplace noise of scale 1."""
    return -math.log(float(1 - read(confidence)))


DOUBT = 0.8
"""How much heavier a mean takes tails for than they look."""


@dataclass(frozen=True)
class MeanInterval:
    """The interval of a mean: z·sqrt(g·variance/n) for sampling, with up to g rows per person, and q·b for the noise,
    put together as √(…² + …²); then what rows beyond the ends may add, by the tails' indices."""

    made: Moments

    @property
    def frame(self) -> tuple[float, float]:
        """The released frame that rows are clipped to."""
        return self.made.frame.low, self.made.frame.high

    def half(self, confidence: Rational, sampling: bool) -> float:
        """Half the width without tails."""
        made, q = self.made, laplace_quantile(confidence)
        noise = math.hypot(q * made.first_scale, q * made.count * made.first / made.rows)
        return made.frame.half * (math.hypot(noise, sampling * self._drawn(confidence)) + 1 / ONE)

    def _drawn(self, confidence: Rational) -> float:
        made = self.made
        return normal_quantile(confidence) * math.sqrt(min(made.variance + made.second_scale, 1.0) / made.independent)

    def around(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """For the mean of the population; infinite where no more can be said."""
        return self._around(value, confidence, sampling=True)

    def of_rows(self, value: Any, confidence: Rational) -> tuple[float, float]:
        """For the statistic of the rows themselves: without the sampling."""
        return self._around(value, confidence, sampling=False)

    def _around(self, value: Any, confidence: Rational, sampling: bool) -> tuple[float, float]:
        below, above = self.made.tails(DOUBT)
        half = self.half(confidence, sampling)
        return value - half - below, value + half + above


@dataclass(frozen=True)
class SumInterval(MeanInterval):
    """The interval of a sum: that of the mean times the number of rows, with the noise of both as they were added."""

    def half(self, confidence: Rational, sampling: bool) -> float:
        """Half the width without tails."""
        made, q, h = self.made, laplace_quantile(confidence), self.made.frame.half
        noise = math.hypot(q * made.first_scale * made.rows * h, q * made.total_scale * made.frame.centre)
        return math.hypot(noise, sampling * self._drawn(confidence) * made.rows * h) + made.rows * h / ONE

    def _around(self, value: Any, confidence: Rational, sampling: bool) -> tuple[float, float]:
        (below, above), rows = self.made.tails(DOUBT), self.made.rows
        half = self.half(confidence, sampling)
        return value - half - rows * below, value + half + rows * above
