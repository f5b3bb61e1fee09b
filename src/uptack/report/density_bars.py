"""Densities on the card of a column: a curve, or bars for numbers that are few and far apart.

A curve of such numbers would be a comb. The bars are made from the released coefficients of a Fourier series:
post-processing, which costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uptack.display.numbers import number
from uptack.kernels.curves import DensityCurve, Floats, FourierDensity
from uptack.report.column import Figure


def density_curve(density: Figure, low: float, high: float) -> Figure:
    """A released density as a curve over its range, nowhere below 0, in the band of its noise (two standard errors).

    It is bars where the curve would be a comb (`density_bars`). Counts of few integers stay as they are.
    Where the released quantiles are not below 0, neither is the picture.
    """
    if density.value is None or not hasattr(density.value, "at"):
        return density
    curve: Any = density_bars(density.value, low, high)
    if curve is not None:
        heights, note = curve.values, f"Each bar is {number(curve.width)} wide and counts the values around its middle."
    else:
        points, note = np.linspace(low, high, 160), density.note
        heights = np.maximum(density.value.at(points), 0.0)
        curve = DensityCurve.on_grid(points, heights)
    error = 2 * density.value.standard_error
    band = np.maximum(heights - error, 0.0), heights + error
    return replace(density, value=curve, interval=band, note=note)


MOST_BARS = 64
"""Bars of a picture: each is then at least six units wide (`uptack.report.pictures.WIDTH`)."""


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
    """Whether the series is of numbers that a curve can't show: a coefficient of its upper frequencies is 0.3 or more.

    |c_k| ≤ V/2πk for a density in a box of width 1 that goes up and down by V in all. So V is about the degree: as many
    spikes as the series has room for, or fewer and higher ones. Below degree 8 any series is smooth.
    """
    upper = series.frequencies[:, 0] > series.degree / 2
    return series.degree >= 8 and bool((np.abs(series.coefficients[upper]) >= 0.3).any())


def density_bars(series: FourierDensity, low: float, high: float) -> DensityBars | None:
    """A spiky density as bars around the multiples of a step, from end to end. Any other is None.

    The step is the largest round number of which, as the series says, the values are multiples: the mean of
    cos(2πx/step) is 1 for these, about 0 for others, and must be at least 0.9. If there is none it is the least that
    the series tells apart. Where that makes too many bars, an odd number of steps is one: so a multiple of the step is
    in the middle of a bar, or inside it. Ends are rounded, so a hundredth of a bar may be beyond them.
    """
    if not spiky(series):
        return None
    side = float(series.sides[0])
    finest, most = side / series.degree, side / 2
    powers = range(math.floor(math.log10(finest)), math.floor(math.log10(most)) + 1)
    numbers = [float(f"{digits}e{power}") for power in powers for digits in ("1", "2", "2.5", "5")]
    steps = [step for step in numbers if finest <= step <= most]
    width = next((step for step in reversed(steps) if _mean_cosine(series, step) >= 0.9), steps[0])
    fine = side / width / (MOST_BARS - 2)  # two bars may reach beyond the ends
    width *= 2 * math.ceil((fine - 1) / 2) + 1 if fine > 1 else 1
    first, last = math.floor(low / width + 0.51), math.ceil(high / width - 0.51)
    points: Floats = np.arange(first, last + 1) * np.float64(width)
    if points.size < 2 or not (np.diff(points) > width / 2).all():  # floats don't tell them apart
        return None
    return DensityBars(points, np.maximum(_masses(series, points, width), 0.0) / width, width)


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
