"""Pictures of a report as SVG text: they scale, print, and take their colours from the page, light or dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from markupsafe import Markup

from uptack.columns.calendar import edges_between
from uptack.columns.moments import DAY, SECOND, Form, words

WIDTH, HEIGHT = 420, 190
LEFT, RIGHT, TOP, BOTTOM = 14, 14, 12, 30


def number(value: Any, scale: float = 0.0, end: str = "") -> str:
    """A number as a person would write it: whole numbers as they are, others with four digits, thousands set apart.

    `scale` is how large a difference is among numbers of its kind: what is less than a millionth of it is nothing, and
    there are digits enough for a hundredth of it. The "low" `end` of an interval is rounded down, the "high" one up.
    Times and durations, of which scales are in microseconds, are written as such.

    >>> number(1234568), number(0.000123456), number(42.0), number(-3.14159), number(1e-30, scale=2.0)
    ('1,234,568', '0.0001235', '42', '-3.142', '0')
    >>> number(1700000123.4, scale=50.0), number(0.12345, end="low"), number(0.12341, end="high")
    ('1,700,000,123.4', '0.1234', '0.1235')
    """
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes" if scale > 2 * DAY else "seconds")
    if isinstance(value, date | timedelta):
        return words(value)
    value = 0.0 if abs(value) < scale * 1e-6 else float(value)
    if not math.isfinite(value):
        return str(value)
    if value.is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    if not 1e-5 <= abs(value) < 1e15:
        return f"{value:.4g}"
    digits = 3 - math.floor(math.log10(abs(value)))
    if 0 < scale < math.inf:
        digits = min(max(digits, 2 - math.floor(math.log10(scale))), 15 + digits)
    text = f"{_rounded(value, digits, end):,.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _rounded(value: float, digits: int, end: str) -> float:
    near = round(value, digits)
    if end and (near > value if end == "low" else near < value):
        near = round(near + (-1 if end == "low" else 1) * 10.0**-digits, digits)
    return near


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two ends: multiples of 1, 2 or 5 times a power of ten.

    >>> ticks(-3.2, 17.0)
    [0.0, 5.0, 10.0, 15.0]
    """
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def time_ticks(low: float, high: float) -> list[float]:
    """Beginnings of days, weeks, months or years between two times in ticks, about five of them."""
    days = {"day": 1, "week": 7, "month": 30.4, "year": 365.25}
    every = next((u for u in reversed(days) if (high - low) / DAY >= 3 * days[u]), None)
    if every is None:
        return ticks(low, high)
    edges = [float(edge) for edge in edges_between(int(low), int(high), every) if low <= edge <= high]
    return edges[:: math.ceil(len(edges) / 6)]


STEPS = [SECOND * n for n in (1, 5, 15, 60, 300, 900, 1800)]
STEPS += [3600 * SECOND * n for n in (1, 3, 6, 12, 24, 48, 168, 336, 720)]


def duration_ticks(low: float, high: float) -> list[float]:
    """Round durations between two ends, in ticks."""
    step = next((s for s in STEPS if (high - low) / s <= 6), None)
    if step is None or high - low < SECOND:
        return [DAY * t for t in ticks(low / DAY, high / DAY)] if step is None else ticks(low, high)
    return [float(k * step) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


class _Scale:
    """Numbers to horizontal places on the picture."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 2)


def _axis(scale: _Scale, at: float, form: Form | None = None) -> str:
    marking = ticks if form is None else time_ticks if form.kind == "time" else duration_ticks
    made = marking(scale.low, scale.high)
    wide = scale.high - scale.low if form is None or form.kind == "duration" else 0.0
    marks = "".join(
        f'<line class="tick" x1="{scale(t)}" x2="{scale(t)}" y1="{at}" y2="{at + 4}"/>'
        f'<text class="label" x="{scale(t)}" y="{at + 17}" text-anchor="middle">{_mark(t, form, wide)}</text>'
        for t in made
    )
    return f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>{marks}'


def _mark(tick: float, form: Form | None, wide: float) -> str:
    if form is None:
        return number(tick)
    if form.kind == "time" and tick % DAY == 0:
        return words(Form("date").show(tick))
    return number(form.show(tick), wide)


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
    form: Form | None = None,
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
    return _svg("".join(parts) + _axis(scale, base, form), title)


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
