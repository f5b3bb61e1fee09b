"""Cards of numbers, times and durations: quantiles, an interval for the median, a density or bars, a mean.

Median and quartiles are one draw, and whatever can be worked out from released quantiles is: it costs nothing more. A
figure is asked for only where public numbers, the rows and the ε that it would have, say that a column would get a good
answer. Times have counts by the calendar in place of a density.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup

from uptack.display.numbers import estimate, number, words
from uptack.kernels.curves import DensityCurve, Floats, FourierDensity
from uptack.labels import label
from uptack.mechanisms.inverse_sensitivity import FAILURE
from uptack.progress import track
from uptack.report.category_card import (
    CLEAR,
    PRESENT,
    PRESENT_DRAW,
    Bar,
    counts_table,
    ordered_bars,
    ordered_names,
    remainder,
    share_line,
    shares,
    true_share,
)
from uptack.report.column import (
    Card,
    CardView,
    ColumnDraw,
    ColumnFigure,
    ColumnProfile,
    Figure,
    FigureLine,
    Part,
    Quantiles,
    size_words,
)
from uptack.report.pictures import (
    LEFT,
    LETTER,
    RIGHT,
    WIDTH,
    Tick,
    bars_picture,
    box_picture,
    columns_picture,
    density_picture,
    labelled_ticks,
    powers,
    ticks,
)
from uptack.report.text import TextStyle
from uptack.session import Request
from uptack.statistics.quantiles import CANDIDATES
from uptack.table.values.times import DAY, FIRST, LAST, SECOND, Form, edges_between, parse_time

# -------------------------------------------------------------------------------------------------------- what is asked

LEVELS = {
    "median": (Fraction(1, 2),),
    "quartiles": (Fraction(1, 4), Fraction(3, 4)),
    "tails": (Fraction(1, 20), Fraction(19, 20)),
}
"""The levels of quantiles. Median and quartiles are one draw. Tails are another: they need more rows, and whether they
get a reply should not decide whether the median does."""

FEW_VALUES = 48
"""Integers in a box of so few (`box`) are counted one by one, and drawn as bars, in place of a density. Days of a month
have a box of 42 and are; ages of employees have one of about 50, those of a population of 80, and are not."""

AROUND = 8
"""So many integers beyond the range that quantiles suggest are counted too: those of a 0/1 column are often equal."""

NARROWEST, RESOLVED = 1e-70, 1e-9
"""A box for a density is wider than this, and than this part of the numbers at its ends."""


def joint_levels(part: Part) -> tuple[Fraction, ...]:
    """The levels of the quantiles that are drawn together: the median, and the quartiles if it has them."""
    return tuple(sorted(p for figure in ("median", "quartiles") if figure in part.figures for p in LEVELS[figure]))


def quantiles(part: Part, epsilon: Fraction, released: Quantiles, levels: tuple[Fraction, ...] = ()) -> Request:
    """Quantiles in one draw: median and quartiles, unless other levels are given."""
    guess = {} if part.plausible is None else {"plausible": part.plausible}
    return Request("quantile", part.name, epsilon=epsilon, p=list(levels or joint_levels(part)), **guess)


INTERVALS = {
    "interval": Fraction(1, 2),
    "lower quartile interval": Fraction(1, 4),
    "upper quartile interval": Fraction(3, 4),
}
"""Draws of intervals for a quantile of the population, and its level."""


def interval(part: Part, epsilon: Fraction, released: Quantiles, level: Fraction = Fraction(1, 2)) -> Request:
    """An interval for a quantile of the population, around the released one."""
    near: Any = released.get(level, 0.0)
    if part.form is not None:
        near = part.form.show(near)
    return Request("quantile_interval", part.name, epsilon=epsilon, p=level, around=near)


def density(part: Part, epsilon: Fraction, released: Quantiles) -> Request:
    """The density over a range that the released quantiles suggest; for few integers how many rows each has."""
    low, high = box(released)
    if part.kind == "integer" and (part.keys or high - low < FEW_VALUES):
        around = range(math.ceil(low) - AROUND, math.floor(high) + AROUND + 1)
        return Request("histogram", part.name, epsilon=epsilon, keys=list(part.keys or around))
    return Request("fourier_density", part.name, epsilon=epsilon, low=low, high=high)


def box(released: Quantiles) -> tuple[float, float]:
    """Where a density is drawn: from tail to tail and a quarter beyond, or twice the quartiles' range beyond them."""
    if not released:
        return 0.0, 1.0
    values = sorted(released.values())
    beyond = Fraction(1, 4) if len(values) > 3 else 2
    spread = values[-1] - values[0]
    return values[0] - float(beyond) * spread, values[-1] + float(beyond) * spread


def visible_box(released: Quantiles) -> tuple[float, float]:
    """What a picture shows of that box: nothing below 0 where no released quantile is, as for ages and counts."""
    low, high = box(released)
    return (0.0 if low < 0 <= min(released.values(), default=-1) else low), high


def drawable(released: Quantiles) -> bool:
    """Whether a density can be drawn over that box: wide enough for floats to tell points of it apart."""
    if not released:
        return False
    low, high = box(released)
    width, largest = high - low, max(abs(low), abs(high))
    return NARROWEST < width < math.inf and width > largest * RESOLVED


# ------------------------------------------------------------------------------------------- when the budget carries it

ORDINARY = 16
"""ln of all candidates over those near the answer for an ordinary column: 8 to 22 as measured."""

REFUSAL = -math.log(FAILURE) + math.log(200)
"""⊥ is drawn once in 200 times at most."""


def least_epsilon(candidates: float, share: Fraction) -> Callable[[int], float]:
    """For order statistics with so much of ε: ln of their candidates, and the share of the rows beyond them.

    The steps that stay inside the rows, times ε/2, outweigh ⊥ and all candidates far from the answer
    (`uptack.mechanisms.inverse_sensitivity`): whatever the data, or for the median alone in an ordinary column. Some
    steps are rounded up elsewhere.
    """
    return lambda rows: 2 * (REFUSAL + candidates) / max(float(share * rows) - 4, 1e-9)


JOINT = math.log(CANDIDATES[-1].size)

FIGURES = (
    ColumnFigure("median", 1, "quantiles", least_epsilon(ORDINARY, Fraction(1, 2))),
    ColumnFigure("quartiles", 3, "quantiles", least_epsilon(3 * JOINT, Fraction(1, 4))),
    ColumnFigure("tails", 5, "tails", least_epsilon(2 * JOINT, Fraction(1, 20))),
    ColumnFigure("interval", 4, "interval", lambda rows: 1200 / max(rows, 1)),  # its ends stay between the quartiles
    ColumnFigure("density", 6, "density", lambda rows: 1000 / max(rows, 1)),  # it is more than noise
    ColumnFigure("mean", 7, "mean", lambda rows: 1400 / max(rows, 1)),  # its range is found for sure
    ColumnFigure("lower quartile interval", 8, "lower quartile interval", lambda rows: 2400 / max(rows, 1)),
    ColumnFigure("upper quartile interval", 9, "upper quartile interval", lambda rows: 2400 / max(rows, 1)),
    PRESENT,
)


def _counts_at(rank: int, median: int) -> tuple[ColumnFigure, ...]:
    """The figures of integers: counts at one rank, the median at another. At 50/n a count is within 12% of n."""
    counts = {"rank": rank, "least_epsilon": lambda rows: 50 / max(rows, 1)}
    changed: dict[str, dict[str, Any]] = {"density": counts, "median": {"rank": median}}
    return tuple(replace(one, **changed.get(one.name, {})) for one in FIGURES)


COUNTED = _counts_at(2, median=1)
"""Integers are counted before anything else is asked of them but the median, around which they are counted: of a 0/1
column that says more than the median does."""
COUNTED_FIRST = _counts_at(1, median=2)
"""Integers whose values are listed in the schema are counted first: no median says around where."""
DRAWS = (
    ColumnDraw("quantiles", Fraction(1), quantiles),
    ColumnDraw("interval", Fraction(3, 4), interval),
    ColumnDraw("tails", Fraction(3, 4), partial(quantiles, levels=LEVELS["tails"])),
    ColumnDraw("density", Fraction(1, 3), density),
    ColumnDraw("mean", Fraction(1, 2), lambda part, epsilon, released: Request("mean", part.name, epsilon=epsilon)),
    ColumnDraw("lower quartile interval", Fraction(3, 4), partial(interval, level=Fraction(1, 4))),
    ColumnDraw("upper quartile interval", Fraction(3, 4), partial(interval, level=Fraction(3, 4))),
    PRESENT_DRAW,
)


# --------------------------------------------------------------------------------------------------------- what is said

LABELS = {
    Fraction(1, 2): "median",
    Fraction(1, 4): "lower quartile",
    Fraction(3, 4): "upper quartile",
    Fraction(1, 20): "5% quantile",
    Fraction(19, 20): "95% quantile",
}
"""Quantiles in the order in which they are shown."""

RANGE = "interquartile range"
TAILS = "The 5% and 95% quantiles got no reply."
GRID = 160
"""Points of a drawn density."""

USELESS = 1000.0
"""Times all that is known of a column, in size or in range: an interval longer than that has an end that missed, which
one of 200 does, and among numbers that are few it is then anywhere. It holds, and is not shown."""


def run(part: Part, make: Callable[[ColumnDraw, Quantiles], Figure]) -> ColumnProfile:
    """The draws in their order, and what is worked out from them."""
    made: dict[str, Figure] = {}
    released: dict[Fraction, float] = {}
    for draw in track(part.draws, part.name, inner=True):
        counted = part.kind == "integer" and (released or part.keys)
        if draw.label == "density" and not drawable(released) and not counted:
            made["density"] = Figure("density", None, None, "No density: the quantiles are too close together.")
        elif draw.label in INTERVALS and not released:
            made[draw.label] = Figure(draw.label, None, None, "No interval without a quantile.")
        else:
            made[draw.label] = make(draw, released)
        if draw.label in ("quantiles", "tails"):
            released = by_level(joint_levels(part), made.get("quantiles"))
            released = with_tails(released, by_level(LEVELS["tails"], made.get("tails")))
    levels = (*joint_levels(part), *LEVELS["tails"]) if "tails" in part.figures else joint_levels(part)
    drawn, whole = made.get("quantiles"), part.kind == "integer"
    figures = [] if drawn is None else quantile_figures(levels, released, drawn, made.get("interval"), whole)
    figures = [_with_ends(figure, made, part.kind == "integer", released) for figure in figures]
    figures = [_in_form(figure, part) for figure in figures]
    figures += [made[label] for label in ("mean",) if label in made]
    curve = density_curve(made["density"], *visible_box(released)) if "density" in made else None
    column = ColumnProfile(part, tuple(figures), curve, released, tuple(made.values()), made.get("n"))
    share = true_share(column.counts, column) if column.counts is not None else None
    return column if share is None else replace(column, figures=(share, *figures))


def in_ticks(value: Any) -> float:
    """A number as it is, and a time or a duration as its ticks."""
    time = parse_time(value) if isinstance(value, date | timedelta) else None
    return float(value if time is None else time.ticks)


def _in_form(figure: Figure, part: Part) -> Figure:
    """A figure of times in ticks as the time, or for a range the duration, that it is."""
    if figure.value is None or part.form is None:
        return figure
    return replace(figure, value=(part.form.spread if figure.label == RANGE else part.form).show(figure.value))


def by_level(levels: tuple[Fraction, ...], drawn: Figure | None) -> dict[Fraction, float]:
    """The released quantiles by their levels, times and durations in ticks; {} where there are none."""
    if drawn is None or drawn.value is None:
        return {}
    return dict(zip(levels, map(in_ticks, drawn.value), strict=True))


def with_tails(released: Quantiles, tails: Quantiles) -> dict[Fraction, float]:
    """Quantiles of two draws in their order: a tail that came out inside the others is brought to their end."""
    outer = {p: (min if p < Fraction(1, 2) else max)(v, *released.values()) for p, v in tails.items() if released}
    return {**released, **outer}


def quantile_figures(
    levels: tuple[Fraction, ...], released: Quantiles, drawn: Figure, interval: Figure | None, whole: bool
) -> list[Figure]:
    """The figures that draws of quantiles give: the median first, which carries the cost of its draw.

    In a column of integers they are integers. So is the population's median, and the ends of its interval are brought
    to the integers between them.
    """
    shown = [
        Figure(label, _whole(released[level]) if whole and level in released else released.get(level))
        for level, label in LABELS.items()
        if level in levels
    ]
    shown = [replace(f, note=(drawn.note or TAILS) if f.value is None else drawn.note) for f in shown]
    if Fraction(1, 4) in levels:
        spread = released[Fraction(3, 4)] - released[Fraction(1, 4)] if released else None
        value = _whole(spread) if whole and spread is not None else spread
        shown.append(Figure(RANGE, value, note="Upper minus lower quartile." if released else drawn.note))
    ends = _ends(interval, whole, released)
    shown[0] = replace(shown[0], how=drawn.how, cost=drawn.cost, interval=ends)
    return [_inside(shown[0], ends, released), *shown[1:]]


def _with_ends(figure: Figure, made: Mapping[str, Figure], whole: bool, released: Quantiles) -> Figure:
    """A quartile with its interval, where it has one."""
    drawn = made.get(f"{figure.label} interval")
    return figure if drawn is None else replace(figure, interval=_ends(drawn, whole, released))


def _inside(median: Figure, ends: tuple[Any, Any] | None, released: Quantiles) -> Figure:
    """The median within its interval, which is a draw of its own, as far as the quartiles let it: the better guess."""
    if ends is None or median.value is None:
        return median
    low, high = min(released.values()), max(released.values())
    first, last = map(in_ticks, ends)
    return replace(median, value=type(median.value)(min(max(min(max(median.value, first), last), low), high)))


def _ends(interval: Figure | None, whole: bool, released: Quantiles) -> tuple[Any, Any] | None:
    """The ends of an interval, if they say something."""
    if interval is None or interval.value is None:
        return None
    low, high = interval.value
    known = max(max(released.values()) - min(released.values()), *map(abs, released.values())) or 1.0
    if in_ticks(high) - in_ticks(low) > USELESS * known:
        return None
    inside = (math.ceil(low), math.floor(high)) if whole and math.isfinite(high - low) else (low, high)
    return inside if inside[0] <= inside[1] else (low, high)


def _whole(value: float) -> int | float:
    return round(value) if math.isfinite(value) else value


def density_curve(density: Figure, low: float, high: float) -> Figure:
    """A released density as a curve over its range, nowhere below 0, in the band of its noise (two standard errors).

    It is bars where the curve would be a comb (`density_bars`). Counts of few integers stay as they are.
    Where the released quantiles are not below 0, neither is the picture.
    """
    if density.value is None or not hasattr(density.value, "at"):
        return density
    error, comb = 2 * density.value.standard_error, density_bars(density.value, low, high)
    if comb is not None:
        note = f"Each bar is {number(comb.width)} wide and counts the values around its middle."
        return replace(density, value=comb, interval=_band(comb.values, error), note=note)
    points = np.linspace(low, high, GRID)
    curve = np.maximum(density.value.at(points), 0.0)
    return replace(density, value=DensityCurve.on_grid(points, curve), interval=_band(curve, error))


def _band(heights: Floats, error: float) -> tuple[Floats, Floats]:
    return np.maximum(heights - error, 0.0), heights + error


# ------------------------------------------------------------------------------ densities of numbers that are far apart
#
# Numbers that are few and far apart are drawn as bars, since a curve would be a comb. The bars are made from the
# released coefficients of a Fourier series: post-processing, which costs nothing.

LEAST_DEGREE = 8
"""Below this degree a series is smooth, whatever it is of."""
SPIKY = 0.3
"""A coefficient of this size in the upper half of the frequencies is no part of a density that a curve can show.

|c_k| ≤ V/2πk for a density in a box of width 1 that goes up and down by V in all. So V is about the degree: as many
spikes as the series has room for, or fewer and higher ones."""
STEPPED = 0.9
"""The mean of cos(2πx/h) from which on numbers count as multiples of h. It is 1 for these, and about 0 for others."""
MOST_BARS = 64
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
    return series.degree >= LEAST_DEGREE and bool((np.abs(series.coefficients[upper]) >= SPIKY).any())


def density_bars(series: FourierDensity, low: float, high: float) -> DensityBars | None:
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
    fine = side / width / (MOST_BARS - 2)  # two bars may reach beyond the ends
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


# -------------------------------------------------------------------------------------------------------------- as text

SPANS = {
    "quartiles": ("lower quartile", "upper quartile"),
    "5% to 95%": ("5% quantile", "95% quantile"),
    "IQR": (RANGE,),
    "mean": ("mean",),
}
"""Columns of the table of numbers beside the median: what each is made of."""


def overview(column: ColumnProfile) -> dict[str, str]:
    """The share of a 0/1 column, the median with its interval, and the other figures."""
    n, missing = size_words(column.numbers)
    shares = [share_line(figure) for figure in column.figures if figure.label.startswith("share ")]
    median = _line(column["median"], column.scale)
    cells = {"n": n, "missing": missing, "share of 1": "".join(f"{one.value} ({one.interval})" for one in shares)}
    ends = "" if column["median"].interval is None else median.interval
    cells |= {"median": median.value or "⊥" * ("median" in column.part.figures), "95% interval": ends}
    return cells | {head: _span(column, labels) for head, labels in SPANS.items()}


def _span(column: ColumnProfile, labels: tuple[str, ...]) -> str:
    """One figure, or from one to another; nothing where they were not asked for."""
    texts = [_line(figure, column.scale).value or "⊥" for figure in column.figures if figure.label in labels]
    return texts[0] if texts and (len(texts) == 1 or "⊥" in texts) else " to ".join(texts)


def details(column: ColumnProfile, style: TextStyle, unit: str) -> list[str]:
    """The counts of few integers, or of times, where all is written."""
    if column.counts is None or not style.whole:
        return []
    shown = shares(ordered_bars(column.counts), column.part)
    return counts_table("value", ordered_names(shown), shown, column.counts.note, style, unit)


# ---------------------------------------------------------------------------------------------------------- on the page

LISTED = 7
"""Up to so many values with an order are listed one below the other; more are drawn side by side."""

Axis = Callable[[Part, float, float], list[Tick]]


def axis_title(part: Part) -> str:
    """The variable and its unit of measurement."""
    return label(part.name) + (f" ({part.measure})" if part.measure else "")


def axis(part: Part, low: float, high: float) -> list[Tick]:
    """Round numbers from end to end; for integers whole ones."""
    return labelled_ticks(low, high, whole=part.kind == "integer")


def view(anchor: str, column: ColumnProfile, unit: str, axis: Axis = axis) -> CardView:
    """The figures, and a picture of the density or, without one, of the quantiles."""
    figures = [_line(figure, column.scale) for figure in on_card(column)]
    if column.counts is None and not any(line.value for line in figures):
        return CardView(anchor, column, [], note=column.figures[0].note if column.figures else "")
    density = column.density
    notes = ["" if density is None or isinstance(density.value, DensityCurve) else density.note]
    if column.counts is None:
        return CardView(anchor, column, figures, _picture(column, axis), None, " ".join(filter(None, notes)))
    bars = ordered_bars(column.counts, *(() if column.part.keys else counted_box(column)))
    if not any(bar.rows > CLEAR * bar.error for bar in bars):
        notes.append("No single value is frequent enough to be counted.")
        return CardView(anchor, column, figures, None, None, " ".join(filter(None, notes)))
    shown = shares(bars, column.part)
    upright = _columns(column, shown, unit) if len(shown) > LISTED or column.part.form is not None else None
    notes.append(remainder(shown, column.part))
    return CardView(anchor, column, figures, upright, shown, " ".join(filter(None, notes)), upright is not None)


def on_card(column: ColumnProfile) -> list[Figure]:
    """The figures of a card. Ranges are read off the quartiles, and quantiles of a 0/1 column say little."""
    share = [figure for figure in column.figures if figure.label.startswith("share ")]
    if share:
        return [*share, *(figure for figure in column.figures if figure.label == "median")]
    return [figure for figure in column.figures if figure.label != RANGE]


def counted_box(column: ColumnProfile) -> tuple[float, float]:
    """The integers that are shown: those around the box of a picture too, and none below 0 where no quantile is."""
    low, high = visible_box(column.quantiles or {})
    return (low if low == 0 else low - AROUND), high + AROUND


def _columns(column: ColumnProfile, shown: list[Bar], unit: str) -> Markup:
    heights, errors = [bar.rows for bar in shown], [bar.error for bar in shown]
    title = f"{unit.capitalize()} by {label(column.part.name)}"
    named = axis_title(column.part)
    return columns_picture(ordered_names(shown), heights, errors, title=title, unit=unit, axis_title=named)


NOTHING = 1e-5
"""A smaller figure without an interval is most likely in a gap of the data that begins at 0."""


def _line(figure: Figure, scale: float) -> FigureLine:
    if figure.value is None:
        return FigureLine(figure.label, "", note=figure.note)
    if figure.label.startswith("share "):
        return share_line(figure)
    if figure.interval is not None:
        value, ends = estimate(figure.value, figure.interval, scale)
        return FigureLine(figure.label, powers(value), powers(ends), figure.note)
    text = powers(number(figure.value, scale))
    if isinstance(figure.value, float) and 0 < abs(figure.value) < NOTHING:
        text = "0" if scale else f"about 0 ({text})"
    return FigureLine(figure.label, text, _level_range(figure), figure.note)


def _level_range(figure: Figure) -> str:
    """Between which quantiles of the rows a median without an interval lies, by its bound on ranks; "" if any two."""
    found = re.fullmatch(r"within ([\d,]+) of ([\d,]+) ranks", figure.note) if figure.label == "median" else None
    if found is None:
        return ""
    off, rows = (int(text.replace(",", "")) for text in found.groups())
    low, high = math.floor(50 - 100 * off / rows), math.ceil(50 + 100 * off / rows)
    return f"{low}% to {high}% quantile" if low > 0 else ""


def _picture(column: ColumnProfile, axis: Axis) -> Markup | None:
    median, quartiles = column["median"], (column["lower quartile"].value, column["upper quartile"].value)
    name, part = label(column.part.name), column.part
    if column.density is not None and column.density.value is not None:
        curve, band = column.density.value, column.density.interval
        x, beyond = curve.points.tolist(), curve.width / 2 if isinstance(curve, DensityBars) else 0.0
        shown = {"band": band, "median": median.value, "interval": median.interval}
        shown["marks"] = axis(part, x[0] - beyond, x[-1] + beyond)
        shown["axis_title"] = axis_title(part)
        if isinstance(curve, DensityBars):
            return bars_picture(x, curve.values.tolist(), width=curve.width, title=f"Shares of {name}", **shown)
        return density_picture(x, curve.values.tolist(), title=f"Density of {name}", quartiles=quartiles, **shown)
    if None in quartiles or quartiles[0] == quartiles[1]:
        return None
    released = column.quantiles or {}
    places, ends = sorted(released.values()), median.interval
    beyond = (places[-1] - places[0]) / 20
    low, high = places[0] - beyond, places[-1] + beyond
    interval = None if ends is None else (in_ticks(ends[0]), in_ticks(ends[1]))
    title = f"Quantiles of {name}"
    named = axis_title(part)
    return box_picture(
        places, coarse_density(released), interval, title=title, marks=axis(part, low, high), axis_title=named
    )


def coarse_density(released: Mapping[Fraction, float]) -> list[tuple[float, float, float]]:
    """A density from quantiles alone: between two of them, (from, to, share of rows per unit).

    >>> coarse_density({Fraction(1, 4): 0.0, Fraction(1, 2): 5.0, Fraction(3, 4): 10.0})
    [(0.0, 5.0, 0.05), (5.0, 10.0, 0.05)]
    """
    levels = sorted(released)
    steps = itertools.pairwise(levels)
    return [
        (released[a], released[b], float(b - a) / (released[b] - released[a]))
        for a, b in steps
        if released[b] > released[a]
    ]


NUMBERS = Card(
    name="numbers",
    kinds=("number",),
    numeric=True,
    figures=FIGURES,
    draws=DRAWS,
    skipped=lambda part: "",
    run=run,
    overview=overview,
    details=details,
    view=view,
)

INTEGERS = replace(NUMBERS, name="integers", kinds=("integer",), figures=COUNTED)
"""The same for integers, which are counted where they are few."""
LISTED_INTEGERS = replace(INTEGERS, name="listed integers", figures=COUNTED_FIRST)


# -------------------------------------------------------------------------------------------------- times and durations

UTC = "+00:00"
"""What times in UTC end with. It is said once per card."""


def calendar_counts(part: Part, epsilon: Fraction, released: Quantiles) -> Request:
    """How many rows there are in each month of the range that released quantiles suggest, or in another unit."""
    if part.form is None:  # a source that says nothing of forms
        return density(part, epsilon, released)
    low, high = box(released)
    ends = [part.form.show(low, -1), part.form.show(high if released else float(DAY), 1)]
    return Request("histogram", part.name, epsilon=epsilon, edges=ends, every=calendar_unit(high - low))


def calendar_unit(width: float) -> str:
    """The shortest unit of the calendar, from days on, of which a range of so many ticks has up to about forty."""
    lengths = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY}
    return next((every for every, length in lengths.items() if width <= 40 * length), "year")


def time_view(anchor: str, column: ColumnProfile, unit: str) -> CardView:
    """The card of numbers, with times on its axis."""
    shown, form = view(anchor, column, unit, time_axis), column.part.form
    if form is None or form.word != "utc":
        return shown
    lines = [
        line._replace(value=line.value.replace(UTC, ""), interval=line.interval.replace(UTC, ""))
        for line in shown.figures
    ]
    return shown._replace(figures=lines)


TIMES = replace(
    NUMBERS,
    name="times",
    kinds=("time",),
    draws=tuple(replace(draw, ask=calendar_counts) if draw.label == "density" else draw for draw in DRAWS),
    view=time_view,
)
DURATIONS = replace(
    TIMES,
    name="durations",
    kinds=("duration",),
    figures=tuple(figure for figure in FIGURES if figure.name != "density"),
)


# ----------------------------------------------------------------------------------------------------------------- axes

LENGTHS = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}
STEPS = [SECOND * n for n in (1, 5, 15, 60, 300, 900, 1800)]
STEPS += [3600 * SECOND * n for n in (1, 3, 6, 12, 24, 48, 168, 336, 720)]


def time_axis(part: Part, low: float, high: float) -> list[Tick]:
    """Where days, months or years begin, and round durations."""
    return axis(part, low, high) if part.form is None else marks(part.form, low, high)


def marks(form: Form, low: float, high: float) -> list[Tick]:
    """As many marks between two numbers of ticks as fit side by side.

    >>> day = Form("date")
    >>> [mark.text for mark in marks(day, 0.0, 200.0 * DAY)]
    ['1970-01-01', '1970-03-01', '1970-05-01', '1970-07-01']
    >>> [mark.text for mark in marks(Form("duration"), 0.0, 2.5 * DAY)]
    ['0 s', '1 d', '2 d']
    """
    places = _durations(low, high) if form.kind == "duration" else _calendar(low, high)
    whole = all(place % DAY == 0 for place in places)
    shown = Form("date") if form.kind == "time" and whole else form
    texts = [words(shown.show(place)) for place in places]
    room = max(int((WIDTH - LEFT - RIGHT) / ((max(map(len, texts), default=1) + 1) * LETTER)), 1)
    step = math.ceil(len(places) / room) or 1
    found = [Tick((place - low) / (high - low), text) for place, text in zip(places, texts, strict=True)]
    return found[::step]


def _calendar(low: float, high: float) -> list[float]:
    """Where the longest units of the calendar begin that there are three of."""
    every = next((unit for unit in reversed(LENGTHS) if (high - low) / DAY >= 3 * LENGTHS[unit]), None)
    if every is None:
        return ticks(low, high, 2)
    first, last = (int(min(max(end, FIRST), LAST)) for end in (low, high))
    return [float(edge) for edge in edges_between(first, last, every) if low <= edge <= high]


def _durations(low: float, high: float) -> list[float]:
    step = next((step for step in STEPS if (high - low) / step <= 6), None)
    if step is None:
        return [DAY * place for place in ticks(low / DAY, high / DAY)]
    if high - low < SECOND:
        return ticks(low, high)
    return [float(k * step) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
