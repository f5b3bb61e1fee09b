"""What is worked out from the released quantiles of a column: it costs nothing more."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from uptack.kernels.density_curves import DensityCurve, Floats
from uptack.privacy import Privacy
from uptack.release import NoReply
from uptack.report import spikes
from uptack.session.requests import Made
from uptack.shown.numbers import number
from uptack.shown.times import written
from uptack.table.values.times import Form, spoken

LABELS = {
    Fraction(1, 2): "median",
    Fraction(1, 4): "lower quartile",
    Fraction(3, 4): "upper quartile",
    Fraction(1, 20): "5% quantile",
    Fraction(19, 20): "95% quantile",
}
"""Quantiles in the order in which they are shown."""

RANGE = "interquartile range"
TAILS = "the tails got no reply"
GRID = 160
"""Points of a drawn density."""

USELESS = 1000.0
"""Times all that is known of a column, in size or in range: an interval longer than that has an end that missed, which
one of 200 does, and among numbers that are few it is then anywhere. It holds, and is not shown."""


@dataclass(frozen=True)
class Figure:
    """One released figure, or what came in its place. Without a cost it was worked out from released ones."""

    label: str
    value: Any
    interval: tuple[Any, Any] | None = None
    note: str = ""
    how: str = ""
    cost: Privacy | None = None

    @staticmethod
    def of(label: str, result: Made, cost: Privacy | None, advice: str = "") -> Figure:
        """The figure of a release, and what it cost. `advice` is what would help, in terms of the whole report."""
        how = result.mechanism
        if isinstance(result, NoReply):
            return Figure(label, None, None, advice or f"a reply needs {result.advice}", how, cost)
        return Figure(label, result.value, None, "; ".join(result.notes), how, cost)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        value = self.value.to_dict() if hasattr(self.value, "to_dict") else written(self.value)
        ends = None if self.interval is None else [written(end) for end in self.interval]
        cost = None if self.cost is None else self.cost.to_dict()
        return {"label": self.label, "value": value, "interval": ends, "note": self.note, "privacy": cost}


def in_ticks(value: Any) -> float:
    """A number as it is, and a time or a duration as its ticks."""
    said = spoken(value) if isinstance(value, date | timedelta) else None
    return float(value if said is None else said.ticks)


def in_form(figure: Figure, form: Form) -> Figure:
    """A figure in ticks as the time, or for a range the duration, that it is."""
    if figure.value is None:
        return figure
    return replace(figure, value=(form.spread if figure.label == RANGE else form).show(figure.value))


def by_level(levels: tuple[Fraction, ...], quantiles: Figure | None) -> dict[Fraction, float]:
    """The released quantiles by their levels, times and durations in ticks; {} where there are none."""
    if quantiles is None or quantiles.value is None:
        return {}
    return dict(zip(levels, map(in_ticks, quantiles.value), strict=True))


def with_tails(found: Mapping[Fraction, float], tails: Mapping[Fraction, float]) -> dict[Fraction, float]:
    """Quantiles of two draws in their order: a tail that came out inside the others is brought to their end."""
    outer = {p: (min if p < Fraction(1, 2) else max)(v, *found.values()) for p, v in tails.items() if found}
    return {**found, **outer}


def card(
    levels: tuple[Fraction, ...],
    found: Mapping[Fraction, float],
    quantiles: Figure,
    interval: Figure | None,
    whole: bool,
) -> list[Figure]:
    """The figures that draws of quantiles give: the median first, which carries the cost of its draw.

    In a column of integers they are integers. So is the population's median, and the ends of its interval are brought
    to the integers between them.
    """
    shown = [
        Figure(label, _whole(found[level]) if whole and level in found else found.get(level))
        for level, label in LABELS.items()
        if level in levels
    ]
    shown = [replace(f, note=quantiles.note or TAILS) if f.value is None else f for f in shown]
    if Fraction(1, 4) in levels:
        spread = found[Fraction(3, 4)] - found[Fraction(1, 4)] if found else None
        value = _whole(spread) if whole and spread is not None else spread
        shown.append(Figure(RANGE, value, note="upper less lower quartile" if found else quantiles.note))
    ends = _ends(interval, whole, found)
    shown[0] = replace(shown[0], how=quantiles.how, cost=quantiles.cost, interval=ends)
    return [_inside(shown[0], ends, found), *shown[1:]]


def _inside(median: Figure, ends: tuple[Any, Any] | None, found: Mapping[Fraction, float]) -> Figure:
    """The median within its interval, which is a draw of its own, as far as the quartiles let it: the better guess."""
    if ends is None or median.value is None:
        return median
    low, high = min(found.values()), max(found.values())
    first, last = map(in_ticks, ends)
    return replace(median, value=type(median.value)(min(max(min(max(median.value, first), last), low), high)))


def _ends(interval: Figure | None, whole: bool, found: Mapping[Fraction, float]) -> tuple[Any, Any] | None:
    """The ends of an interval, if they say something."""
    if interval is None or interval.value is None:
        return None
    low, high = interval.value
    known = max(max(found.values()) - min(found.values()), *map(abs, found.values())) or 1.0
    if in_ticks(high) - in_ticks(low) > USELESS * known:
        return None
    inside = (math.ceil(low), math.floor(high)) if whole and math.isfinite(high - low) else (low, high)
    return inside if inside[0] <= inside[1] else (low, high)


def _whole(value: float) -> int | float:
    return round(value) if math.isfinite(value) else value


def drawn(density: Figure, low: float, high: float) -> Figure:
    """A released density as a curve over its range, nowhere below 0, in the band of its noise (two standard errors).

    It is bars where the curve would be a comb (`uptack.report.spikes`). Counts of few integers stay as they are. Where
    the released quantiles are not below 0, neither is the picture.
    """
    if density.value is None or not hasattr(density.value, "at"):
        return density
    error, found = 2 * density.value.standard_error, spikes.bars(density.value, low, high)
    if found is not None:
        note = f"each bar has the rows around its middle, and is {number(found.width)} wide"
        return replace(density, value=found, interval=_band(found.values, error), note=note)
    points = np.linspace(low, high, GRID)
    curve = np.maximum(density.value.at(points), 0.0)
    return replace(density, value=DensityCurve.on_grid(points, curve), interval=_band(curve, error))


def _band(heights: Floats, error: float) -> tuple[Floats, Floats]:
    return np.maximum(heights - error, 0.0), heights + error


def coarse(released: Mapping[Fraction, float]) -> list[tuple[float, float, float]]:
    """A density from quantiles alone: between two of them, (from, to, share of rows per unit).

    >>> coarse({Fraction(1, 4): 0.0, Fraction(1, 2): 5.0, Fraction(3, 4): 10.0})
    [(0.0, 5.0, 0.05), (5.0, 10.0, 0.05)]
    """
    levels = sorted(released)
    steps = itertools.pairwise(levels)
    return [
        (released[a], released[b], float(b - a) / (released[b] - released[a]))
        for a, b in steps
        if released[b] > released[a]
    ]
