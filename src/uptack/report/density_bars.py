"""Numbers that are few and far apart: what of a released density is drawn as bars, since a curve would be a comb.

All of it is made from the released coefficients of a Fourier series: post-processing, which costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from uptack.kernels.curves import Floats, FourierDensity

LEAST = 8
"""Below this degree a series is smooth, whatever it is of."""
SPIKY = 0.3
"""A coefficient of this size in the upper half of the frequencies is no part of a density that a curve can show.

|c_k| ≤ V/2πk for a density in a box of width 1 that goes up and down by V in all. So V is about the degree: as many
spikes as the series has room for, or fewer and higher ones."""
STEPPED = 0.9
"""The mean of cos(2πx/h) from which on numbers count as multiples of h. It is 1 for these, and about 0 for others."""
MOST = 64
"""Bars of a picture, at most."""
SLIVER = 0.01
"""A part of a bar that is no bar: so little of it may be beyond an end, since ends are rounded."""


@dataclass(frozen=True, eq=False)
class DensityBars:
    """Shares of the rows around multiples of a step, each divided by the `width` of its bar.

    Shares add up to about 1: those below 0 are 0, and the others stay as they are. Where a bar reaches beyond the box
    of the density, its share is that of what is inside.
    """

    points: Floats
    values: Floats
    width: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"points": self.points.tolist(), "values": self.values.tolist(), "width": self.width}


def spiky(series: FourierDensity) -> bool:
    """Whether the series is of numbers that a curve can't show."""
    upper = series.frequencies[:, 0] > series.degree / 2
    return series.degree >= LEAST and bool((np.abs(series.coefficients[upper]) >= SPIKY).any())


def bars(series: FourierDensity, low: float, high: float) -> DensityBars | None:
    """A spiky density as bars around the multiples of a step, from end to end. Any other is None.

    The step is the largest round number of which, as the series says, the values are multiples. If there is none it is
    the least that the series tells apart. Where that makes too many bars, an odd number of steps is one: so a multiple
    of the step is in the middle of a bar, or inside it.
    """
    if not spiky(series):
        return None
    side = float(series.sides[0])
    steps = [step for step in _round_numbers(side / series.degree, side / 2) if step >= side / series.degree]
    width = next((step for step in reversed(steps) if _mean_cosine(series, step) >= STEPPED), steps[0])
    fine = side / width / (MOST - 2)  # two bars may reach beyond the ends
    width *= 2 * math.ceil((fine - 1) / 2) + 1 if fine > 1 else 1
    first, last = math.floor(low / width + 0.5 + SLIVER), math.ceil(high / width - 0.5 - SLIVER)
    points: Floats = np.arange(first, last + 1) * np.float64(width)
    if points.size < 2 or not (np.diff(points) > width / 2).all():  # floats don't tell them apart
        return None
    return DensityBars(points, np.maximum(_masses(series, points, width), 0.0) / width, width)


def _round_numbers(least: float, most: float) -> list[float]:
    """1, 2, 2.5 and 5 times powers of 10, those from somewhat below one number up to another."""
    powers = range(math.floor(math.log10(least)), math.floor(math.log10(most)) + 1)
    numbers = [float(f"{digits}e{power}") for power in powers for digits in ("1", "2", "2.5", "5")]
    return [number for number in numbers if number <= most]


def _masses(series: FourierDensity, points: Floats, width: float) -> Floats:
    """∫ f over what is in the box of intervals around points: for each frequency its part at the middle, times
    sinc(k·width)."""
    k, side = series.frequencies[:, 0], float(series.sides[0])
    places, half = (points - series.low[0]) / side, width / side / 2
    left, right = np.clip(places - half, 0.0, 1.0), np.clip(places + half, 0.0, 1.0)
    wide = right - left
    waves = np.exp(-1j * np.pi * np.outer(left + right, k)) * np.sinc(np.outer(wide, k)) @ series.coefficients
    return np.asarray(wide * (1 + 2 * waves.real), np.float64)


def _mean_cosine(series: FourierDensity, step: float) -> float:
    """∫ f(x)·cos(2πx/step) over the box, of which only the frequencies near that of the step matter."""
    side = float(series.sides[0])
    k = np.concatenate([-series.frequencies[:, 0], [0], series.frequencies[:, 0]])
    c = np.concatenate([series.coefficients.conj(), [1.0], series.coefficients])
    off = side / step - k
    turned = np.exp(2j * np.pi * (series.low[0] / step % 1.0)) * np.exp(1j * np.pi * off)
    return float((c * turned * np.sinc(off)).sum().real)
