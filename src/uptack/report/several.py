"""What a page shows of several columns: the coefficients of a regression on one scale, and correlations as a map."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from uptack.labels import label
from uptack.report.axes import Tick, labelled_ticks, number, powers
from uptack.report.profile import Profile
from uptack.report.writing import Coefficient, coefficients

TINY, HUGE = 1e-300, 1e300
"""A scale is wider than the one, and less wide than the other: floats can't divide it else."""


class Effect(NamedTuple):
    """A coefficient as an interval on a scale, in per cent of its width; no places where nothing is told."""

    row: Coefficient
    low: float | None = None
    point: float = 0.0
    high: float = 0.0
    value: str = ""
    beyond: str = ""
    """On which sides it goes on beyond the scale."""


class Effects(NamedTuple):
    """Coefficients on one scale, and what the scale measures."""

    rows: list[Effect]
    ticks: list[Tick]
    zero: float
    unit: str


def effects(profile: Profile) -> Effects | None:
    """The coefficients on one scale: what y changes by when a column goes from its lower to its upper quartile.

    That needs no further release where all interquartile ranges were released. Where some were not, coefficients have
    no common unit, and each is drawn in half-widths of its own interval: how far it is from 0, in units of its error.
    """
    if profile.regression is None or profile.regression[1].value is None:
        return None
    spreads = {column.part.name: column.scale for column in profile.columns}
    rows = [row for row in coefficients(profile.regression)[1:] if row.told]
    common = bool(rows) and all(spreads.get(row.name, 0) > 0 for row in rows)
    units = [spreads[row.name] if common else 2 / max(row.scale, 1e-300) for row in rows]
    ends = [
        tuple(e * unit for e in (*(row.ends or (0.0, 0.0)), row.value)) for row, unit in zip(rows, units, strict=True)
    ]
    y = label(profile.regression[0][0])
    unit = f"change of {y} from the lower to the upper quartile of each column" if common else ""
    return _on_scale(rows, ends, unit or "distance from 0, in half-widths of the interval")


def _on_scale(rows: list[Coefficient], ends: list[tuple[float, ...]], unit: str) -> Effects:
    """Intervals on a scale that has 0 on it; those that are far wider than the effects are cut off at its ends."""
    far = 4 * max((abs(value) for _, _, value in ends), default=0.0) or 1.0
    low = min([0.0, *(max(a, -far) for a, _, _ in ends)])
    high = max([0.0, *(min(b, far) for _, b, _ in ends)])
    if not TINY < high - low < HUGE:  # nor where it is not a number
        return Effects([Effect(row) for row in rows], [], 0.0, unit)
    edge = (high - low) / 20
    low, high = low - edge, high + edge

    def share(value: float) -> float:
        return round(100 * (min(max(value, low), high) - low) / (high - low), 2)

    found = [
        Effect(row, share(a), share(v), share(b), powers(number(v, b - a)), "left" * (a < low) + " right" * (b > high))
        for row, (a, b, v) in zip(rows, ends, strict=True)
    ]
    return Effects(found, labelled_ticks(low, high, room=300), share(0.0), unit)


# -------------------------------------------------------------------------------------------------------- correlations


class Cell(NamedTuple):
    """A correlation of a heat map. It has a colour where noise does not cover which sign it has."""

    text: str
    title: str
    sign: str = ""
    much: float = 0.0


class Heat(NamedTuple):
    """Correlations as a map, and how large their noise is."""

    names: list[str]
    rows: list[list[Cell]]
    error: str = ""


def heat(profile: Profile) -> Heat | None:
    """The correlations of a report as a map."""
    if profile.correlations is None or profile.correlations[1].value is None:
        return None
    figure = profile.correlations[1]
    values, names = figure.value.values, [label(name) for name in figure.value.names]
    low, high = (values, values) if figure.interval is None else map(np.asarray, figure.interval)
    rows = [
        [_cell(i == j, float(values[i, j]), (float(low[i, j]), float(high[i, j]))) for j in range(len(names))]
        for i in range(len(names))
    ]
    errors = [max(high[i, j] - values[i, j], values[i, j] - low[i, j]) for i in range(len(names)) for j in range(i)]
    return Heat(names, rows, "" if figure.interval is None else f"{math.ceil(100 * max(errors)) / 100:.2f}")


def _cell(same: bool, value: float, ends: tuple[float, float]) -> Cell:
    if same:
        return Cell("", "", "same")
    sign = "plus" if ends[0] > 0 else "minus" if ends[1] < 0 else ""
    text = f"{value:.2f}".replace("-0.00", "0.00")
    return Cell(text, f"{ends[0]:.2f} to {ends[1]:.2f}", sign, round(60 * value**2, 1))
