"""Pictures of a report as SVG text: they scale, print, and take their colours from the page, light or dark.

Axes come first: as many labels as fit side by side.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from uptack.display.numbers import number as number

WIDTH = 420
LEFT = RIGHT = 14
LETTER = 8.3
"""The width of a letter of a label, at most, in the units of a picture."""

HEIGHT, LOW, TOP, BOTTOM, NAMED = 170, 76, 12, 28, 18
"""Heights: of a picture, of a low one, of its margins, and of the title of an axis below it."""
Ends = tuple[float, float]

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def ticks(low: float, high: float, about: int = 5, whole: bool = False) -> list[float]:
    """Round numbers between two ends: multiples of 1, 2 or 5 times a power of ten, for integers `whole` ones.

    >>> ticks(-3.2, 17.0)
    [0.0, 5.0, 10.0, 15.0]
    >>> ticks(0.9, 3.1), ticks(0.9, 3.1, whole=True)
    ([1.0, 1.5, 2.0, 2.5, 3.0], [1.0, 2.0, 3.0])
    """
    rough = max((high - low) / about, 1.0 if whole else 0.0)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def powers(text: str) -> str:
    """A power of ten as people print it.

    >>> powers("1.5e-9 to 2e12"), powers("2013")
    ('1.5 × 10⁻⁹ to 2 × 10¹²', '2013')
    """
    return re.sub(r"(?<=\d)e(-?\d+)", lambda found: f" × 10{found[1].translate(RAISED)}", text)


class Tick(NamedTuple):
    """A place on an axis, as a share of it, and what is written there."""

    share: float
    text: str


def labelled_ticks(low: float, high: float, room: float = WIDTH - LEFT - RIGHT, whole: bool = False) -> list[Tick]:
    """As many round numbers as fit side by side in so many units of a picture; both ends where no two of them do.

    >>> [tick.text for tick in labelled_ticks(0, 4e9)]
    ['0', '2,000,000,000', '4,000,000,000']
    >>> [tick.text for tick in labelled_ticks(1e9 - 1e-4, 1e9 + 1e-4)]
    ['999,999,999.9999', '1,000,000,000.0001']
    """
    found: list[Tick] = []
    for about in (6, 5, 4, 3, 2, 1):
        places = ticks(low, high, about, whole)
        step = places[1] - places[0] if len(places) > 1 else high - low
        found = [Tick((place - low) / (high - low), powers(number(place, step))) for place in places]
        if sum(len(tick.text) * LETTER + 2 * LETTER for tick in found) <= room:
            break
    ends = [Tick(share, powers(number(end, high - low))) for share, end in ((0.0, low), (1.0, high))]
    return found if len(found) > 1 else ends


class PictureScale:
    """Numbers to horizontal places on a picture."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __call__(self, value: float) -> float:
        """Where a number is; one beyond the axis is at its end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.place(share)

    @staticmethod
    def place(share: float) -> float:
        """Where a share of the axis is."""
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 2)

    def axis(self, at: float, marks: Sequence[Tick] | None = None) -> str:
        """The axis at a height, with labels that stay inside the picture."""
        found = labelled_ticks(self.low, self.high) if marks is None else marks
        line = f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>'
        return line + "".join(self._mark(tick, at) for tick in found)

    def _mark(self, tick: Tick, at: float) -> str:
        x, half = self.place(tick.share), len(tick.text) * LETTER / 2
        middle = min(max(x, half), WIDTH - half)
        return (
            f'<line class="tick" x1="{x}" x2="{x}" y1="{at}" y2="{at + 4}"/>'
            f'<text class="label" x="{middle}" y="{at + 18}" text-anchor="middle">{tick.text}</text>'
        )


# ------------------------------------------------------------------------------------------------------------ pictures


def _svg(body: str, title: str, height: float = HEIGHT, axis_title: str = "") -> Markup:
    """A picture, with the title of its axis below it."""
    if axis_title:
        most = int(WIDTH / LETTER) - 1
        text = axis_title if len(axis_title) <= most else axis_title[: most - 1] + "…"
        named = Markup('<text class="label axis-title" x="{}" y="{}" text-anchor="middle">{}</text>')
        body, height = body + str(named.format(WIDTH / 2, height + NAMED - 6, text)), height + NAMED
    frame = '<svg viewBox="0 0 {} {}" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg">{}</svg>'
    return Markup(frame).format(WIDTH, height, title, Markup(body))


def _points(scale: PictureScale, x: Sequence[float], heights: Sequence[float]) -> str:
    return " ".join(f"{scale(a)},{b:.2f}" for a, b in zip(x, heights, strict=True))


def density_picture(
    points: Sequence[float],
    values: Sequence[float],
    *,
    title: str,
    band: tuple[Sequence[float], Sequence[float]] | None = None,
    quartiles: Ends | None = None,
    median: float | None = None,
    interval: Ends | None = None,
    marks: Sequence[Tick] | None = None,
    axis_title: str = "",
) -> Markup:
    """A density as a filled curve in the band of its noise, with the middle half of the rows shaded.

    The median and its interval are marked. `marks` are those of the axis, where it has others than numbers.
    """
    scale, base = PictureScale(points[0], points[-1]), HEIGHT - BOTTOM
    top = max(*values, *(band[1] if band else ())) or 1.0

    def heights(of: Sequence[float]) -> list[float]:
        return [float(h) for h in base - np.asarray(of) / top * (base - TOP - 10)]

    line = _points(scale, points, heights(values))
    parts = [f'<polygon class="area" points="{scale(points[0])},{base} {line} {scale(points[-1])},{base}"/>']
    parts += [_middle(scale, points, heights(values), quartiles, base)] if quartiles is not None else []
    if band is not None:
        there = _points(scale, points, heights(band[0]))
        back = _points(scale, points[::-1], heights(band[1])[::-1])
        parts.append(f'<polygon class="band" points="{there} {back}"/>')
    parts.append(f'<polyline class="curve" points="{line}"/>')
    if median is not None and scale.low <= median <= scale.high:
        parts.append(f'<line class="median" x1="{scale(median)}" x2="{scale(median)}" y1="{TOP}" y2="{base}"/>')
    parts += [_interval(scale, interval, TOP)] if interval is not None else []
    return _svg("".join(parts) + scale.axis(base, marks), title, axis_title=axis_title)


def bars_picture(
    points: Sequence[float],
    values: Sequence[float],
    *,
    width: float,
    title: str,
    band: tuple[Sequence[float], Sequence[float]] | None = None,
    median: float | None = None,
    interval: Ends | None = None,
    marks: Sequence[Tick] | None = None,
    axis_title: str = "",
) -> Markup:
    """Bars around numbers far apart, on an axis as a curve has it: whiskers for the noise, the median above."""
    scale, base = PictureScale(points[0] - width / 2, points[-1] + width / 2), HEIGHT - BOTTOM
    low, high = (values, values) if band is None else band
    top = max(high) or 1.0

    def up(value: float) -> float:
        return round(base - value / top * (base - TOP - 10), 2)

    parts = []
    for x, value, *ends in zip(points, values, low, high, strict=True):
        left, right, middle = scale(x - 0.4 * width), scale(x + 0.4 * width), scale(x)
        size = f'y="{up(value)}" width="{round(right - left, 2)}" height="{round(base - up(value), 2)}"'
        parts.append(f'<rect class="column" x="{left}" {size}/>')
        if band is not None:
            parts.append(f'<line class="noise" x1="{middle}" x2="{middle}" y1="{up(ends[0])}" y2="{up(ends[1])}"/>')
    if median is not None and scale.low <= median <= scale.high:
        parts.append(f'<line class="median" x1="{scale(median)}" x2="{scale(median)}" y1="{TOP - 8}" y2="{TOP + 4}"/>')
    parts += [_interval(scale, interval, TOP - 2)] if interval is not None else []
    return _svg("".join(parts) + scale.axis(base, marks), title, axis_title=axis_title)


def _middle(
    scale: PictureScale, points: Sequence[float], heights: Sequence[float], quartiles: Ends, base: float
) -> str:
    inside = [(x, y) for x, y in zip(points, heights, strict=True) if quartiles[0] <= x <= quartiles[1]]
    if not inside:
        return ""
    line = _points(scale, *zip(*inside, strict=True))
    return f'<polygon class="middle" points="{scale(inside[0][0])},{base} {line} {scale(inside[-1][0])},{base}"/>'


def _interval(scale: PictureScale, ends: Ends, at: float) -> str:
    return f'<line class="interval" x1="{scale(ends[0])}" x2="{scale(ends[1])}" y1="{at}" y2="{at}"/>'


def box_picture(
    quantiles: Sequence[float],
    steps: Sequence[tuple[float, float, float]],
    interval: Ends | None = None,
    *,
    title: str,
    marks: Sequence[Tick] | None = None,
    axis_title: str = "",
) -> Markup:
    """A box plot of three or five quantiles, and over that of five the coarse density that they make.

    That is (from, to, height) for each step. Of three quantiles it would say no more than the box does.
    """
    beyond, coarse = (quantiles[-1] - quantiles[0]) / 20, len(quantiles) > 3
    whole = HEIGHT if coarse else LOW
    scale, base, middle = (
        PictureScale(quantiles[0] - beyond, quantiles[-1] + beyond),
        whole - BOTTOM,
        whole - BOTTOM - 22,
    )
    tallest, floor = max(height for _, _, height in steps), middle - 22
    parts = []
    for low, high, height in steps if coarse else ():
        top, width = round(floor - height / tallest * (floor - TOP), 2), round(scale(high) - scale(low), 2)
        parts.append(f'<rect class="area" x="{scale(low)}" y="{top}" width="{width}" height="{floor - top}"/>')
    low, centre, high = quantiles[len(quantiles) // 2 - 1 : len(quantiles) // 2 + 2]
    across = f'x1="{scale(quantiles[0])}" x2="{scale(quantiles[-1])}" y1="{middle}" y2="{middle}"'
    size = f'width="{round(scale(high) - scale(low), 2)}" height="24"'
    parts.append(f'<line class="axis" {across}/><rect class="box" x="{scale(low)}" y="{middle - 12}" {size}/>')
    parts += [_interval(scale, interval, middle)] if interval is not None else []
    ends = f'y1="{middle - 12}" y2="{middle + 12}"'
    parts.append(f'<line class="median" x1="{scale(centre)}" x2="{scale(centre)}" {ends}/>')
    return _svg("".join(parts) + scale.axis(base, marks), title, whole, axis_title)


def columns_picture(
    names: Sequence[str],
    heights: Sequence[float],
    errors: Sequence[float],
    *,
    title: str,
    unit: str,
    axis_title: str = "",
) -> Markup:
    """Upright bars side by side, for what has an order: counts on an axis of their own, and whiskers for their noise.

    As many bars have their name below them as there is room for.
    """
    base, top = HEIGHT - BOTTOM, max(*(h + e for h, e in zip(heights, errors, strict=True)), 1.0)
    marks = [(place, powers(number(place))) for place in ticks(0.0, top, 4, whole=True)]
    left = max(len(text) for _, text in marks) * LETTER + 6
    each, high = (WIDTH - RIGHT - left) / len(names), base - TOP - 12

    def up(value: float) -> float:
        return round(base - min(max(value, 0.0), top) / top * high, 2)

    parts = [f'<text class="label" x="0" y="{TOP - 2}">{unit}</text>']
    for place, text in marks:
        y = up(place)
        parts.append(f'<line class="grid" x1="{left}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="label" x="{left - 6}" y="{y + 4}" text-anchor="end">{text}</text>')
    step = max(1, -(-len(names) * (max(map(len, names)) + 1) * LETTER // (WIDTH - RIGHT - left)))
    for i, (name, height, error) in enumerate(zip(names, heights, errors, strict=True)):
        x, middle = left + each * (i + 0.1), round(left + each * (i + 0.5), 2)
        size = f'y="{up(height)}" width="{round(each * 0.8, 2)}" height="{round(base - up(height), 2)}"'
        parts.append(f'<rect class="column" x="{round(x, 2)}" {size}/>')
        if error:
            ends = f'y1="{up(height - error)}" y2="{up(height + error)}"'
            parts.append(f'<line class="noise" x1="{middle}" x2="{middle}" {ends}/>')
        if i % step == 0:
            parts.append(Markup('<text class="label" x="{}" y="{}" text-anchor="middle">{}</text>').format(
                _inside(middle, name), base + 18, name))  # fmt: skip
    parts.append(f'<line class="axis" x1="{left}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
    return _svg("".join(parts), title, axis_title=axis_title)


def _inside(middle: float, text: str) -> float:
    """The middle of a label that stays inside the picture."""
    half = len(text) * LETTER / 2
    return min(max(middle, half), WIDTH - half)


def line_picture(
    x: Sequence[float],
    y: Sequence[float | None],
    *,
    title: str,
    unit: str,
    axis_title: str = "",
    mark: float | None = None,
    dots: bool = True,
) -> Markup:
    """A line through points above an axis, with ⊥ where there is no value, and a mark at one place of the axis."""
    known = [(a, b) for a, b in zip(x, y, strict=True) if b is not None]
    base, top = HEIGHT - BOTTOM, max((b for _, b in known), default=0.0) or 1.0
    marks = [(place, powers(number(place, top))) for place in ticks(0.0, top, 4)]
    scale = PictureScale(min(x), max(x))

    def up(value: float) -> float:
        return round(base - value / top * (base - TOP - 12), 2)

    parts: list[str] = [Markup('<text class="label" x="{}" y="{}">{}</text>').format(LEFT, TOP - 2, unit)]
    for place, text in marks[1:]:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(place)}" y2="{up(place)}"/>')
        right = f'x="{WIDTH - RIGHT}" y="{up(place) - 4}" text-anchor="end"'
        parts.append(f'<text class="label" {right}>{text}</text>')
    if mark is not None:
        parts.append(f'<line class="median" x1="{scale(mark)}" x2="{scale(mark)}" y1="{TOP + 8}" y2="{base}"/>')
    if known:
        line = _points(scale, [a for a, _ in known], [up(b) for _, b in known])
        parts.append(f'<polyline class="curve" points="{line}"/>')
        parts += [f'<circle class="column" cx="{scale(a)}" cy="{up(b)}" r="3"/>' for a, b in known if dots]
    for a, b in zip(x, y, strict=True):
        if b is None:
            parts.append(f'<text class="label none" x="{scale(a)}" y="{base - 6}" text-anchor="middle">⊥</text>')
    return _svg("".join(parts) + scale.axis(base), title, axis_title=axis_title)


def rows_picture(
    names: Sequence[str],
    values: Sequence[float | None],
    ends: Sequence[Ends | None],
    *,
    title: str,
    bars: bool = False,
    axis_title: str = "",
) -> Markup:
    """Values one below the other, as dots or as bars from 0, with their intervals; ⊥ where there is none."""
    known = [v for v in values if v is not None]
    reach = [*known, *(end for pair in ends if pair is not None for end in pair), *((0.0,) if bars else ())]
    low, high = (min(reach), max(reach)) if reach else (0.0, 1.0)
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    gap = 0.0 if bars and low >= 0 else (high - low) / 30
    scale, each, most = PictureScale(low - gap, high + (high - low) / 30), 36, int(WIDTH / LETTER) - 2
    parts: list[str] = []
    base = len(names) * each + 6
    for i, (name, value, pair) in enumerate(zip(names, values, ends, strict=True)):
        text, y = name if len(name) <= most else f"{name[: most - 1]}…", i * each + 26
        shown = text if value is not None else f"{text}  ⊥"
        parts.append(Markup('<text class="label" x="{}" y="{}">{}</text>').format(LEFT, y - 10, shown))
        if value is None:
            continue
        if bars:
            start, finish = sorted((scale(0.0), scale(value)))
            size = f'y="{y - 4}" width="{round(finish - start, 2)}" height="8"'
            parts.append(f'<rect class="column" x="{start}" {size}/>')
        if pair is not None:
            parts.append(f'<line class="noise" x1="{scale(pair[0])}" x2="{scale(pair[1])}" y1="{y}" y2="{y}"/>')
        parts += [] if bars else [f'<circle class="column" cx="{scale(value)}" cy="{y}" r="4"/>']
    return _svg("".join(parts) + scale.axis(base), title, base + BOTTOM, axis_title)
