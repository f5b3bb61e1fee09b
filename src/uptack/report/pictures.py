"""Pictures of a report as SVG text: they scale, print, and take their colours from the page, light or dark.

Axes come first: as many labels as fit side by side.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from uptack.display.numbers import number

WIDTH = 420
LEFT = RIGHT = 14
INNER = WIDTH - LEFT - RIGHT
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

    >>> powers("1.5e-9 to 2e12"), powers("δ = 1e-6"), powers("2013")
    ('1.5 × 10⁻⁹ to 2 × 10¹²', 'δ = 10⁻⁶', '2013')
    """

    def power(match: re.Match[str]) -> str:
        factor = "" if match[1] == "1" else f"{match[1]} × "
        return f"{factor}10{match[2].translate(RAISED)}"

    return re.sub(r"(\d[\d.]*)e(-?\d+)", power, text)


def axis_texts(places: Sequence[float], scale: float = 0.0) -> list[str]:
    """The numbers of an axis, all with their thousands set apart or none.

    >>> axis_texts([0.0, 5000.0, 10_000.0]), axis_texts([2010.0, 2015.0])
    (['0', '5,000', '10,000'], ['2010', '2015'])
    """
    texts = [number(place, scale) for place in places]
    if any("," in text for text in texts):
        texts = [f"{int(text):,}" if text.lstrip("-").isdigit() else text for text in texts]
    return [powers(text) for text in texts]


class Tick(NamedTuple):
    """A place on an axis, as a share of it, and what is written there."""

    share: float
    text: str


def labelled_ticks(low: float, high: float, room: float = INNER, whole: bool = False) -> list[Tick]:
    """As many round numbers as fit side by side in so many units of a picture; both ends where no two of them do.

    >>> [tick.text for tick in labelled_ticks(0, 4e9)]
    ['0', '2,000,000,000', '4,000,000,000']
    >>> [tick.text for tick in labelled_ticks(1e9 - 1e-4, 1e9 + 1e-4)]
    ['999,999,999.9999', '1,000,000,000.0001']
    """
    marks: list[Tick] = []
    for about in (6, 5, 4, 3, 2, 1):
        places = ticks(low, high, about, whole)
        step = places[1] - places[0] if len(places) > 1 else high - low
        texts = axis_texts(places, step)
        marks = [Tick((place - low) / (high - low), text) for place, text in zip(places, texts, strict=True)]
        if sum(len(tick.text) * LETTER + 2 * LETTER for tick in marks) <= room:
            break
    ends = [Tick(share, powers(number(end, high - low))) for share, end in ((0.0, low), (1.0, high))]
    return marks if len(marks) > 1 else ends


class PictureScale:
    """Numbers to places on a picture: `low` is at `start`, `high` at `end`. It runs across unless these are given."""

    def __init__(self, low: float, high: float, start: float = LEFT, end: float = WIDTH - RIGHT) -> None:
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        """Where a number is; one beyond the axis is at its end."""
        return self.place((min(max(value, self.low), self.high) - self.low) / (self.high - self.low))

    def place(self, share: float) -> float:
        """Where a share of the axis is."""
        return round(self.start + share * (self.end - self.start), 2)

    def axis(self, at: float, marks: Sequence[Tick] | None = None) -> str:
        """The axis at a height, with labels that stay inside the picture."""
        parts = [_line("axis", LEFT, WIDTH - RIGHT, at, at)]
        for tick in labelled_ticks(self.low, self.high) if marks is None else marks:
            x = self.place(tick.share)
            parts += [_line("tick", x, x, at, at + 4), _label(_inside(x, tick.text), at + 18, tick.text, "middle")]
        return "".join(parts)


# ------------------------------------------------------------------------------------------------------------ elements


def _line(name: str, x1: float, x2: float, y1: float, y2: float) -> str:
    return f'<line class="{name}" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"/>'


def _rect(name: str, x1: float, x2: float, top: float, bottom: float) -> str:
    size = f'width="{round(x2 - x1, 2)}" height="{round(bottom - top, 2)}"'
    return f'<rect class="{name}" x="{round(x1, 2)}" y="{top}" {size}/>'


def _label(x: float, y: float, text: str, anchor: str = "", also: str = "") -> str:
    side = Markup(' text-anchor="{}"').format(anchor) if anchor else ""
    return str(Markup('<text class="label{}" x="{}" y="{}"{}>{}</text>').format(also, x, y, side, text))


def _inside(middle: float, text: str) -> float:
    """The middle of a label that stays inside the picture."""
    half = len(text) * LETTER / 2
    return min(max(middle, half), WIDTH - half)


def _points(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y:.2f}" for x, y in places)


def _shortened(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"


def _svg(parts: Sequence[str], title: str, height: float = HEIGHT, axis_title: str = "") -> Markup:
    """A picture, with the title of its axis below it."""
    body = "".join(parts)
    if axis_title:
        text, height = _shortened(axis_title, int(WIDTH / LETTER) - 1), height + NAMED
        body += _label(WIDTH / 2, height - 6, text, "middle", " axis-title")
    frame = '<svg viewBox="0 0 {} {}" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg">{}</svg>'
    return Markup(frame).format(WIDTH, height, title, Markup(body))


# ------------------------------------------------------------------------------------------------------------ pictures


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
    base = HEIGHT - BOTTOM
    x, y = PictureScale(points[0], points[-1]), PictureScale(0, _largest(values, band), base, TOP + 10)
    across = [x(point) for point in points]
    curve = list(zip(across, map(y, values), strict=True))

    def area(name: str, inside: Sequence[tuple[float, float]]) -> str:
        (first, _), (last, _) = inside[0], inside[-1]
        return f'<polygon class="{name}" points="{first},{base} {_points(inside)} {last},{base}"/>'

    parts = [area("area", curve)]
    low, high = (math.inf, math.inf) if quartiles is None else quartiles
    middle = [place for place, point in zip(curve, points, strict=True) if low <= point <= high]
    parts += [area("middle", middle)] if middle else []
    if band is not None:
        there, back = (zip(across, map(y, end), strict=True) for end in band)
        parts.append(f'<polygon class="band" points="{_points(there)} {_points(reversed(list(back)))}"/>')
    parts.append(f'<polyline class="curve" points="{_points(curve)}"/>')
    if median is not None and x.low <= median <= x.high:
        parts.append(_line("median", x(median), x(median), TOP, base))
    if interval is not None:
        parts.append(_line("interval", x(interval[0]), x(interval[1]), TOP, TOP))
    return _svg([*parts, x.axis(base, marks)], title, axis_title=axis_title)


def _largest(values: Sequence[float], band: tuple[Sequence[float], Sequence[float]] | None) -> float:
    return float(max(*values, *(band[1] if band else ()))) or 1.0


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
    x, base = PictureScale(points[0] - width / 2, points[-1] + width / 2), HEIGHT - BOTTOM
    y, parts = PictureScale(0, _largest(values, band), base, TOP + 10), list[str]()
    for point, value, *ends in zip(points, values, *(band or (values, values)), strict=True):
        parts.append(_rect("column", x(point - 0.4 * width), x(point + 0.4 * width), y(value), base))
        parts += [_line("noise", x(point), x(point), *map(y, ends))] if band is not None else []
    if median is not None and x.low <= median <= x.high:
        parts.append(_line("median", x(median), x(median), TOP - 8, TOP + 4))
    if interval is not None:
        parts.append(_line("interval", x(interval[0]), x(interval[1]), TOP - 2, TOP - 2))
    return _svg([*parts, x.axis(base, marks)], title, axis_title=axis_title)


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
    height = HEIGHT if coarse else LOW
    x, base, middle = PictureScale(quantiles[0] - beyond, quantiles[-1] + beyond), height - BOTTOM, height - BOTTOM - 22
    y = PictureScale(0, max(height for _, _, height in steps), middle - 22, TOP)
    parts = [_rect("area", x(a), x(b), y(share), y(0)) for a, b, share in steps] if coarse else []
    low, centre, high = map(x, quantiles[len(quantiles) // 2 - 1 : len(quantiles) // 2 + 2])
    parts.append(_line("axis", x(quantiles[0]), x(quantiles[-1]), middle, middle))
    parts.append(_rect("box", low, high, middle - 12, middle + 12))
    if interval is not None:
        parts.append(_line("interval", x(interval[0]), x(interval[1]), middle, middle))
    parts.append(_line("median", centre, centre, middle - 12, middle + 12))
    return _svg([*parts, x.axis(base, marks)], title, height, axis_title)


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
    y, places = PictureScale(0, top, base, TOP + 12), ticks(0.0, top, 4, whole=True)
    texts = axis_texts(places)
    left = max(map(len, texts)) * LETTER + 6
    parts = [_label(0, TOP - 2, unit)]
    for place, text in zip(places, texts, strict=True):
        parts.append(_line("grid", left, WIDTH - RIGHT, y(place), y(place)))
        parts.append(_label(left - 6, y(place) + 4, text, "end"))
    each = (WIDTH - RIGHT - left) / len(names)
    step = max(1, -(-len(names) * (max(map(len, names)) + 1) * LETTER // (WIDTH - RIGHT - left)))
    for i, (name, height, error) in enumerate(zip(names, heights, errors, strict=True)):
        middle = round(left + each * (i + 0.5), 2)
        parts.append(_rect("column", left + each * (i + 0.1), left + each * (i + 0.9), y(height), base))
        parts += [_line("noise", middle, middle, y(height - error), y(height + error))] if error else []
        parts += [_label(_inside(middle, name), base + 18, name, "middle")] if i % step == 0 else []
    return _svg([*parts, _line("axis", left, WIDTH - RIGHT, base, base)], title, axis_title=axis_title)


def line_picture(
    points: Sequence[float],
    values: Sequence[float | None],
    *,
    title: str,
    unit: str,
    axis_title: str = "",
    mark: float | None = None,
    dots: bool = True,
) -> Markup:
    """A line through points above an axis, with ⊥ where there is no value, and a mark at one place of the axis."""
    pairs = [(a, b) for a, b in zip(points, values, strict=True) if b is not None]
    base, top = HEIGHT - BOTTOM, max((b for _, b in pairs), default=0.0) or 1.0
    x, y = PictureScale(min(points), max(points)), PictureScale(0, top, base, TOP + 12)
    parts = [_label(LEFT, TOP - 2, unit)]
    places = ticks(0.0, top, 4)[1:]
    for place, text in zip(places, axis_texts(places, top), strict=True):
        parts.append(_line("grid", LEFT, WIDTH - RIGHT, y(place), y(place)))
        parts.append(_label(WIDTH - RIGHT, y(place) - 4, text, "end"))
    parts += [_line("median", x(mark), x(mark), TOP + 8, base)] if mark is not None else []
    if pairs:
        parts.append(f'<polyline class="curve" points="{_points((x(a), y(b)) for a, b in pairs)}"/>')
        parts += [f'<circle class="column" cx="{x(a)}" cy="{y(b)}" r="3"/>' for a, b in pairs if dots]
    empty = [a for a, b in zip(points, values, strict=True) if b is None]
    parts += [_label(x(a), base - 6, "⊥", "middle", " none") for a in empty]
    return _svg([*parts, x.axis(base)], title, axis_title=axis_title)


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
    reach = [v for v in (*values, *(end for pair in ends for end in pair or ())) if v is not None]
    reach += [0.0] if bars else []
    low, high = (min(reach), max(reach)) if reach else (0.0, 1.0)
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    gap = (high - low) / 30
    x, each = PictureScale(low if bars and low >= 0 else low - gap, high + gap), 36
    parts, base = list[str](), len(names) * each + 6
    for i, (name, value, pair) in enumerate(zip(names, values, ends, strict=True)):
        text, y = _shortened(name, int(WIDTH / LETTER) - 2), i * each + 26
        parts.append(_label(LEFT, y - 10, text if value is not None else f"{text}  ⊥"))
        if value is not None:
            parts += [_rect("column", x(min(value, 0.0)), x(max(value, 0.0)), y - 4, y + 4)] if bars else []
            parts += [_line("noise", x(pair[0]), x(pair[1]), y, y)] if pair is not None else []
            parts += [] if bars else [f'<circle class="column" cx="{x(value)}" cy="{y}" r="4"/>']
    return _svg([*parts, x.axis(base)], title, base + BOTTOM, axis_title)
