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
from uptack.report import pictures
from uptack.report.category_card import (
    CLEAR,
    HOW_SHARED,
    counted_once,
    counts_table,
    ordered_bars,
    ordered_names,
    remainder,
    share_line,
    shares,
    true_share,
)
from uptack.report.column import (
    PRESENT,
    PRESENT_DRAW,
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
from uptack.report.pictures import Tick, labelled_ticks, powers, ticks
from uptack.report.text import TextStyle
from uptack.session import Request
from uptack.statistics.quantiles import CANDIDATES
from uptack.table.values.times import DAY, FIRST, LAST, SECOND, Form, edges_between, parse_time


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


def joint_levels(part: Part) -> tuple[Fraction, ...]:
    """The levels of the quantiles that are drawn together: the median, and the quartiles if it has them."""
    return tuple(sorted(p for figure in ("median", "quartiles") if figure in part.figures for p in LEVELS[figure]))


def quantiles(part: Part, epsilon: Fraction, released: Quantiles, levels: tuple[Fraction, ...] = ()) -> Request:
    """Quantiles in one draw: median and quartiles, unless other levels are given."""
    guess = {} if part.plausible is None else {"plausible": part.plausible}
    return Request("quantile", part.name, epsilon=epsilon, p=list(levels or joint_levels(part)), **guess)


def interval(part: Part, epsilon: Fraction, released: Quantiles, level: Fraction = Fraction(1, 2)) -> Request:
    """An interval for a quantile of the population, around the released one."""
    near: Any = released.get(level, 0.0)
    if part.form is not None:
        near = part.form.show(near)
    return Request("quantile_interval", part.name, epsilon=epsilon, p=level, around=near)


def density(part: Part, epsilon: Fraction, released: Quantiles) -> Request:
    """The density over a range that the released quantiles suggest; for few integers how many rows each has.

    Times are counted by the shortest unit of the calendar, from days on, of which the range has up to about forty.
    """
    low, high = box(released)
    if part.form is not None:
        ends = [part.form.show(low, -1), part.form.show(high if released else float(DAY), 1)]
        every = next((unit for unit, days in LENGTHS.items() if high - low <= 40 * days * DAY), "year")
        return Request("histogram", part.name, epsilon=epsilon, edges=ends, every=every)
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
    """Whether floats tell points of that box apart: a density is drawn at 160 of them, and divides by its width."""
    low, high = box(released)
    return bool(released) and max(1e-70, 1e-9 * max(abs(low), abs(high))) < high - low < math.inf


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


def run(part: Part, make: Callable[[ColumnDraw, Quantiles], Figure]) -> ColumnProfile:
    """The draws in their order, and what is worked out from them."""
    draws: dict[str, Figure] = {}
    released: dict[Fraction, float] = {}
    for draw in track(part.draws, part.name, inner=True):
        counted = part.kind == "integer" and (released or part.keys)
        if draw.label == "density" and not drawable(released) and not counted:
            draws["density"] = Figure("density", None, None, "No density: the quantiles are too close together.")
        elif draw.label.endswith("interval") and not released:
            draws[draw.label] = Figure(draw.label, None, None, "No interval: the quantile itself got no reply.")
        else:
            draws[draw.label] = make(draw, released)
        if draw.label in ("quantiles", "tails"):
            released = quantiles_by_level(joint_levels(part), draws.get("quantiles"))
            released = with_tails(released, quantiles_by_level(LEVELS["tails"], draws.get("tails")))
    figures = quantile_figures(part, released, draws) if "quantiles" in draws else []
    figures += [draws["mean"]] if "mean" in draws else []
    curve = density_curve(draws["density"], *visible_box(released)) if "density" in draws else None
    column = ColumnProfile(part, tuple(figures), curve, released, tuple(draws.values()), draws.get("n"))
    share = true_share(column.counts, column) if column.counts is not None else None
    return column if share is None else replace(column, figures=(share, *figures))


def in_ticks(value: Any) -> float:
    """A number as it is, and a time or a duration as its ticks."""
    time = parse_time(value) if isinstance(value, date | timedelta) else None
    return float(value if time is None else time.ticks)


def quantiles_by_level(levels: tuple[Fraction, ...], drawn: Figure | None) -> dict[Fraction, float]:
    """The released quantiles by their levels, times and durations in ticks; {} where there are none."""
    if drawn is None or drawn.value is None:
        return {}
    return dict(zip(levels, map(in_ticks, drawn.value), strict=True))


def with_tails(released: Quantiles, tails: Quantiles) -> dict[Fraction, float]:
    """Quantiles of two draws in their order: a tail that came out inside the others is brought to their end."""
    outer = {p: (min if p < Fraction(1, 2) else max)(v, *released.values()) for p, v in tails.items() if released}
    return {**released, **outer}


def quantile_figures(part: Part, released: Quantiles, draws: Mapping[str, Figure]) -> list[Figure]:
    """The figures that draws of quantiles give: the median first, which carries the cost of its draw.

    In a column of integers they are integers. The interval of a quantile is a draw of its own: as far as the quantiles
    beside it allow, the quantile is moved into it, which is the better guess.
    """
    drawn, figures = draws["quantiles"], list[Figure]()
    levels = (*joint_levels(part), *LEVELS["tails"]) if "tails" in part.figures else joint_levels(part)
    intervals = {
        level: interval_ends(draws.get("interval" if name == "median" else f"{name} interval"), part, released)
        for level, name in LABELS.items()
    }
    placed = within_intervals(released, intervals)

    def in_form(value: float, form: Form | None) -> Any:
        if form is not None:
            return form.show(value)
        return round(value) if part.kind == "integer" and math.isfinite(value) else value

    for level, name in LABELS.items():
        if level in levels:
            value = placed.get(level)
            note = drawn.note or ("The 5% and 95% quantiles got no reply." if value is None else "")
            figures.append(Figure(name, None if value is None else in_form(value, part.form), intervals[level], note))
    if Fraction(1, 4) in levels and not released:
        figures.append(Figure(RANGE, None, note=drawn.note))
    elif Fraction(1, 4) in levels:
        spread = placed[Fraction(3, 4)] - placed[Fraction(1, 4)]
        value = in_form(spread, None if part.form is None else part.form.spread)
        figures.append(Figure(RANGE, value, note="Upper minus lower quartile."))
    return [replace(figures[0], how=drawn.how, cost=drawn.cost), *figures[1:]]


def within_intervals(
    released: Quantiles, intervals: Mapping[Fraction, tuple[Any, Any] | None]
) -> dict[Fraction, float]:
    """Released quantiles, each moved into its interval as far as the quantiles beside it allow: they stay in order.

    >>> quarter, half = Fraction(1, 4), Fraction(1, 2)
    >>> within_intervals({quarter: 7.4, half: 10.0}, {quarter: (6.9, 7.3), half: (10.2, 10.4)})
    {Fraction(1, 4): 7.3, Fraction(1, 2): 10.2}
    """
    placed, levels = dict(released), sorted(released)
    for below, level, above in zip((None, *levels), levels, (*levels[1:], None), strict=False):
        if (ends := intervals.get(level)) is not None:
            inside = min(max(placed[level], in_ticks(ends[0])), in_ticks(ends[1]))
            low, high = (-math.inf if below is None else placed[below]), (math.inf if above is None else placed[above])
            placed[level] = min(max(inside, low), high)
    return placed


def interval_ends(drawn: Figure | None, part: Part, released: Quantiles) -> tuple[Any, Any] | None:
    """The ends of an interval, if they say something: for integers those between them.

    One interval of 200 has an end that missed, which among numbers that are few is then anywhere. It holds, but is not
    shown if it is longer than 1000 times all that is known of the column, in size or in range.
    """
    if drawn is None or drawn.value is None:
        return None
    low, high = drawn.value
    largest = max(max(released.values()) - min(released.values()), *map(abs, released.values())) or 1.0
    if in_ticks(high) - in_ticks(low) > 1000 * largest:
        return None
    if part.kind == "integer" and math.isfinite(high - low) and math.ceil(low) <= math.floor(high):
        return math.ceil(low), math.floor(high)
    return low, high


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
    share = next((share_line(figure) for figure in column.figures if figure.label.startswith("share ")), None)
    median = _line(column["median"], column.scale)
    cells = {"n": n, "missing": missing} | dict.fromkeys((f"share {how} 1" for how in HOW_SHARED), "")
    cells |= {} if share is None else {share.label: f"{share.value} ({share.interval})"}
    ends = "" if column["median"].interval is None else median.interval
    cells |= {"median": median.value or "⊥" * ("median" in column.part.figures), "95% interval": ends}
    return cells | {head: _span(column, labels) for head, labels in SPANS.items()}


def _span(column: ColumnProfile, labels: tuple[str, ...]) -> str:
    """One figure, or from one to another; nothing where they were not asked for."""
    figures = (figure for figure in column.figures if figure.label in labels)
    texts = [_line(figure, column.scale, column.width).value or "⊥" for figure in figures]
    return texts[0] if texts and (len(texts) == 1 or "⊥" in texts) else " to ".join(texts)


def details(column: ColumnProfile, style: TextStyle, unit: str) -> list[str]:
    """The counts of few integers, or of times, where all is written."""
    if column.counts is None or not style.whole:
        return []
    categories = shares(ordered_bars(column.counts), column.part, counted_once(column.counts))
    return counts_table("value", ordered_names(categories), categories, column.counts.note, style, unit)


# ---------------------------------------------------------------------------------------------------------- on the page


def axis_title(part: Part) -> str:
    """The variable and its unit of measurement."""
    return label(part.name) + (f" ({part.measure})" if part.measure else "")


def axis(part: Part, low: float, high: float) -> list[Tick]:
    """Round numbers from end to end; for integers whole ones. Of times where days, months or years begin."""
    if part.form is not None:
        return time_ticks(part.form, low, high)
    return labelled_ticks(low, high, whole=part.kind == "integer")


def view(anchor: str, column: ColumnProfile, unit: str) -> CardView:
    """The figures, and a picture of the density or, without one, of the quantiles.

    The range is read off the quartiles, and quantiles of a 0/1 column say little: such a card has the share of 1.
    """
    part, share = column.part, [figure for figure in column.figures if figure.label.startswith("share ")]
    wanted = ("median",) if share else tuple(figure.label for figure in column.figures if figure.label != RANGE)
    figures = [_line(one, column.scale, column.width) for one in column.figures if one in share or one.label in wanted]
    if part.form is not None and part.form.word == "utc":  # which the card says once
        figures = [
            line._replace(value=line.value.replace("+00:00", ""), interval=line.interval.replace("+00:00", ""))
            for line in figures
        ]
    if column.counts is None and not any(line.value for line in figures):
        return CardView(anchor, column, [], note=column.figures[0].note if column.figures else "")
    density = column.density
    notes = ["" if density is None or isinstance(density.value, DensityCurve) else density.note]
    if column.counts is None:
        return CardView(anchor, column, figures, _picture(column), None, " ".join(filter(None, notes)))
    low, high = visible_box(column.quantiles or {})
    around = () if part.keys else (low if low == 0 else low - AROUND, high + AROUND)
    bars = shares(ordered_bars(column.counts, *around), part, counted_once(column.counts))
    if not any(bar.rows > CLEAR * bar.error for bar in bars):
        notes.append("No single value is frequent enough to be counted.")
        return CardView(anchor, column, figures, None, None, " ".join(filter(None, notes)))
    notes.append(remainder(bars, part))
    upright = None
    if len(bars) > 7 or part.form is not None:  # fewer are listed one below the other
        named = {"title": f"{unit.capitalize()} by {label(part.name)}", "unit": unit, "axis_title": axis_title(part)}
        heights, errors = [bar.rows for bar in bars], [bar.error for bar in bars]
        upright = pictures.columns_picture(ordered_names(bars), heights, errors, **named)
    return CardView(anchor, column, figures, upright, bars, " ".join(filter(None, notes)), upright is not None)


def _line(figure: Figure, scale: float, width: float = 0.0) -> FigureLine:
    """A figure and its interval in words. Without an interval it has the digits of one that is so wide."""
    if figure.value is None:
        return FigureLine(figure.label, "", note=figure.note)
    if figure.label.startswith("share "):
        return share_line(figure)
    if figure.interval is not None:
        value, ends = estimate(figure.value, figure.interval, scale)
        return FigureLine(figure.label, powers(value), powers(ends), figure.note)
    text = powers(number(figure.value, scale))
    if width and isinstance(figure.value, float):
        text = powers(estimate(figure.value, (figure.value - width / 2, figure.value + width / 2), scale)[0])
    elif isinstance(figure.value, float) and 0 < abs(figure.value) < 1e-5:  # most likely in a gap of the data around 0
        text = "0" if scale else f"about 0 ({text})"
    return FigureLine(figure.label, text, _level_range(figure), figure.note)


def _level_range(figure: Figure) -> str:
    """Between which quantiles of the rows a median without an interval lies, by its bound on ranks; "" if any two."""
    match = re.fullmatch(r"within ([\d,]+) of ([\d,]+) ranks", figure.note) if figure.label == "median" else None
    if match is None:
        return ""
    off, rows = (int(text.replace(",", "")) for text in match.groups())
    low, high = math.floor(50 - 100 * off / rows), math.ceil(50 + 100 * off / rows)
    return f"{low}% to {high}% quantile" if low > 0 else ""


def _picture(column: ColumnProfile) -> Markup | None:
    median, quartiles = column["median"], (column["lower quartile"].value, column["upper quartile"].value)
    name, part, density = label(column.part.name), column.part, column.density
    if density is not None and density.value is not None:
        curve, bars = density.value, isinstance(density.value, DensityBars)
        x, y, beyond = curve.points.tolist(), curve.values.tolist(), curve.width / 2 if bars else 0.0
        options = {"band": density.interval, "median": median.value, "interval": median.interval}
        options |= {"marks": axis(part, x[0] - beyond, x[-1] + beyond), "axis_title": axis_title(part)}
        if bars:
            return pictures.bars_picture(x, y, width=curve.width, title=f"Shares of {name}", **options)
        return pictures.density_picture(x, y, title=f"Density of {name}", quartiles=quartiles, **options)
    if None in quartiles or quartiles[0] == quartiles[1]:
        return None
    released = column.quantiles or {}
    places, ends = sorted(released.values()), median.interval
    beyond = (places[-1] - places[0]) / 20
    options = {"marks": axis(part, places[0] - beyond, places[-1] + beyond), "axis_title": axis_title(part)}
    interval = None if ends is None else (in_ticks(ends[0]), in_ticks(ends[1]))
    return pictures.box_picture(places, coarse_density(released), interval, title=f"Quantiles of {name}", **options)


def coarse_density(released: Mapping[Fraction, float]) -> list[tuple[float, float, float]]:
    """A density from quantiles alone: between two of them, (from, to, share of rows per unit).

    >>> coarse_density({Fraction(1, 4): 0.0, Fraction(1, 2): 5.0, Fraction(3, 4): 10.0})
    [(0.0, 5.0, 0.05), (5.0, 10.0, 0.05)]
    """
    pairs = itertools.pairwise(sorted(released.items()))
    return [(low, high, float(q - p) / (high - low)) for (p, low), (q, high) in pairs if high > low]


NUMBERS = Card(
    name="numbers",
    kinds=("number",),
    numeric=True,
    figures=FIGURES,
    draws=DRAWS,
    skip_reason=lambda part: "",
    run=run,
    overview=overview,
    details=details,
    view=view,
)

INTEGERS = replace(NUMBERS, name="integers", kinds=("integer",), figures=COUNTED)
"""The same for integers, which are counted where they are few."""
LISTED_INTEGERS = replace(INTEGERS, name="listed integers", figures=COUNTED_FIRST)


# -------------------------------------------------------------------------------------------------- times and durations

TIMES = replace(NUMBERS, name="times", kinds=("time",))
DURATIONS = replace(
    NUMBERS,
    name="durations",
    kinds=("duration",),
    figures=tuple(figure for figure in FIGURES if figure.name != "density"),
)

LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}
"""Days of the units of the calendar, about."""

STEPS = [SECOND * n for n in (1, 5, 15, 60, 300, 900, 1800)]
STEPS += [3600 * SECOND * n for n in (1, 3, 6, 12, 24, 48, 168, 336, 720)]


def time_ticks(form: Form, low: float, high: float) -> list[Tick]:
    """As many marks between two numbers of ticks as fit side by side.

    >>> day = Form("date")
    >>> [mark.text for mark in time_ticks(day, 0.0, 200.0 * DAY)]
    ['1970-01-01', '1970-03-01', '1970-05-01', '1970-07-01']
    >>> [mark.text for mark in time_ticks(Form("duration"), 0.0, 2.5 * DAY)]
    ['0 s', '1 d', '2 d']
    """
    places = _durations(low, high) if form.kind == "duration" else _calendar(low, high)
    whole = all(place % DAY == 0 for place in places)
    day_form = Form("date") if form.kind == "time" and whole else form
    texts = [words(day_form.show(place)) for place in places]
    room = max(int(pictures.INNER / ((max(map(len, texts), default=1) + 1) * pictures.LETTER)), 1)
    step = math.ceil(len(places) / room) or 1
    marks = [Tick((place - low) / (high - low), text) for place, text in zip(places, texts, strict=True)]
    return marks[::step]


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
