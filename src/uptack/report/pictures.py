"""Pictures of a report as SVG text: they scale, print, and take their colours from the page, light or dark."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from uptack.shown.numbers import number as number

WIDTH, HEIGHT = 420, 190
LEFT, RIGHT, TOP, BOTTOM = 14, 14, 12, 30


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two ends: multiples of 1, 2 or 5 times a power of ten.

    >>> ticks(-3.2, 17.0)
    [0.0, 5.0, 10.0, 15.0]
    """
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


class _Scale:
    """Numbers to horizontal places on the picture."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 2)


def _axis(scale: _Scale, at: float) -> str:
    marks = "".join(
        f'<line class="tick" x1="{scale(t)}" x2="{scale(t)}" y1="{at}" y2="{at + 4}"/>'
        f'<text class="label" x="{scale(t)}" y="{at + 17}" text-anchor="middle">{number(t)}</text>'
        for t in ticks(scale.low, scale.high)
    )
    return f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>{marks}'


def _svg(body: str, title: str, height: float = HEIGHT) -> Markup:
    return Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg"><title>{}</title>{}</svg>'
    ).format(WIDTH, height, title, title, Markup(body))


def density_picture(
    points: Sequence[float],
    values: Sequence[float],
    *,
    title: str,
    quartiles: tuple[float, float] | None = None,
    median: float | None = None,
    interval: tuple[float, float] | None = None,
) -> Markup:
    """A density as a filled curve, the middle half of the rows shaded, the median and its interval marked."""
    scale, base = _Scale(points[0], points[-1]), HEIGHT - BOTTOM
    top = max(values) or 1.0
    heights = base - np.asarray(values) / top * (base - TOP - 10)
    line = " ".join(f"{scale(x)},{y:.2f}" for x, y in zip(points, heights, strict=True))
    parts = [f'<polygon class="area" points="{scale(points[0])},{base} {line} {scale(points[-1])},{base}"/>']
    if quartiles is not None:
        inside = [(x, y) for x, y in zip(points, heights, strict=True) if quartiles[0] <= x <= quartiles[1]]
        if inside:
            middle = " ".join(f"{scale(x)},{y:.2f}" for x, y in inside)
            first, last = scale(inside[0][0]), scale(inside[-1][0])
            parts.append(f'<polygon class="middle" points="{first},{base} {middle} {last},{base}"/>')
    parts.append(f'<polyline class="curve" points="{line}"/>')
    if median is not None and scale.low <= median <= scale.high:
        parts.append(f'<line class="median" x1="{scale(median)}" x2="{scale(median)}" y1="{TOP}" y2="{base}"/>')
    if interval is not None:
        a, b = (scale(min(max(end, scale.low), scale.high)) for end in interval)
        parts.append(f'<line class="interval" x1="{a}" x2="{b}" y1="{TOP}" y2="{TOP}"/>')
    return _svg("".join(parts) + _axis(scale, base), title)


def box_picture(
    quantiles: Sequence[float],
    steps: Sequence[tuple[float, float, float]],
    interval: tuple[float, float] | None = None,
    *,
    title: str,
) -> Markup:
    """A box plot of three or five quantiles, and over it the coarse density that they make: (from, to, height) each."""
    beyond = (quantiles[-1] - quantiles[0]) / 20
    scale, base, middle = _Scale(quantiles[0] - beyond, quantiles[-1] + beyond), HEIGHT - BOTTOM, HEIGHT - BOTTOM - 22
    tallest, floor = max(height for _, _, height in steps), middle - 22
    parts = []
    for low, high, height in steps:
        top, width = round(floor - height / tallest * (floor - TOP), 2), round(scale(high) - scale(low), 2)
        parts.append(f'<rect class="area" x="{scale(low)}" y="{top}" width="{width}" height="{floor - top}"/>')
    low, centre, high = quantiles[len(quantiles) // 2 - 1 : len(quantiles) // 2 + 2]
    across = f'x1="{scale(quantiles[0])}" x2="{scale(quantiles[-1])}" y1="{middle}" y2="{middle}"'
    size = f'width="{round(scale(high) - scale(low), 2)}" height="24"'
    parts.append(f'<line class="axis" {across}/><rect class="box" x="{scale(low)}" y="{middle - 12}" {size}/>')
    if interval is not None:
        a, b = (scale(min(max(end, scale.low), scale.high)) for end in interval)
        parts.append(f'<line class="interval" x1="{a}" x2="{b}" y1="{middle}" y2="{middle}"/>')
    ends = f'y1="{middle - 12}" y2="{middle + 12}"'
    parts.append(f'<line class="median" x1="{scale(centre)}" x2="{scale(centre)}" {ends}/>')
    return _svg("".join(parts) + _axis(scale, base), title)


def coefficients_picture(
    names: Sequence[str], values: Sequence[float], ends: Sequence[tuple[float, float]], *, title: str
) -> Markup:
    """Coefficients as points with their intervals, over a line at zero; each in units of its own interval.

    Coefficients of different columns have different units, so each is drawn over half the width of its interval: how
    far it is from zero, in units of its own error.
    """
    reach = [max((high - low) / 2, 1e-300) for low, high in ends]
    places = [value / half for value, half in zip(values, reach, strict=True)]
    widest = max(3.0, *(min(abs(p) + 1.5, 40.0) for p in places))
    scale, row = _Scale(-widest, widest), 26
    base = TOP + row * len(names)
    parts = [f'<line class="zero" x1="{scale(0)}" x2="{scale(0)}" y1="{TOP}" y2="{base}"/>']
    for i, (name, place) in enumerate(zip(names, places, strict=True)):
        y, x = TOP + row * i + row / 2, min(max(place, -widest), widest)
        a, b = scale(max(x - 1, -widest)), scale(min(x + 1, widest))
        parts.append(f'<line class="interval" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/>')
        parts.append(f'<circle class="point" cx="{scale(x)}" cy="{y}" r="4"/>')
        side = ("start", LEFT) if place > 0 else ("end", WIDTH - RIGHT)
        parts.append(
            Markup('<text class="label" x="{}" y="{}" text-anchor="{}">{}</text>').format(side[1], y + 4, side[0], name)
        )
    parts.append(
        f'<text class="label" x="{WIDTH / 2}" y="{base + 17}" text-anchor="middle">'
        "distance from zero, in half-widths of the interval</text>"
    )
    return _svg("".join(parts), title, base + BOTTOM)
