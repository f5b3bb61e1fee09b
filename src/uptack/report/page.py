"""A profile as one HTML page that works offline: on a screen, a phone and paper, light or dark."""

from __future__ import annotations

import math
from typing import NamedTuple

from markupsafe import Markup

import uptack
from uptack.labels import label
from uptack.privacy.words import promise, short
from uptack.report.axes import Tick, labelled_ticks, number
from uptack.report.cards import Figure, coarse, in_ticks
from uptack.report.dates import marks
from uptack.report.pictures import box_picture, density_picture
from uptack.report.profile import ColumnProfile, Profile
from uptack.report.writing import Bar, Coefficient, bars, between, charges, coefficients, counted, integer_bars

MANY = 12
"""So many categories are shown at once; the rest is folded."""

WIDE = 8
"""From so many columns on there is a list of contents."""


class Line(NamedTuple):
    """A figure of a card: what it is, its value and its interval in words; no value, and what would help, for ⊥."""

    label: str
    value: str
    interval: str = ""
    note: str = ""


class Card(NamedTuple):
    """What is shown of a column: figures, and the picture that fits its kind."""

    anchor: str
    column: ColumnProfile
    figures: list[Line]
    picture: Markup | None = None
    bars: list[Bar] | None = None
    note: str = ""

    @property
    def answered(self) -> bool:
        """Whether anything was released about the column."""
        return any(line.value for line in self.figures) or self.bars is not None


class Effect(NamedTuple):
    """A coefficient as an interval on a scale, in per cent of its width; no places where nothing is told."""

    row: Coefficient
    low: float | None = None
    point: float = 0.0
    high: float = 0.0
    value: str = ""


class Effects(NamedTuple):
    """Coefficients on one scale, and what the scale measures."""

    rows: list[Effect]
    ticks: list[Tick]
    zero: float
    unit: str


# --------------------------------------------------------------------------------------------------------------- cards


def card(anchor: str, column: ColumnProfile) -> Card:
    """The card of a column."""
    if column.part.skipped:
        return Card(anchor, column, [], note=column.part.skipped)
    if not column.part.numeric:
        figure = column.figures[0]
        return Card(anchor, column, [], note=figure.note, bars=None if figure.value is None else bars(figure))
    figures = [_line(figure, column.scale) for figure in column.figures]
    if not any(line.value for line in figures):
        return Card(anchor, column, [], note=column.figures[0].note)
    few, density = counted(column), column.density
    note = "" if density is None or density.value is not None else f"no density: {density.note}"
    shown = integer_bars(few) if few is not None else None
    return Card(anchor, column, figures, None if few else _picture(column), shown, note)


def _line(figure: Figure, scale: float) -> Line:
    if figure.value is None:
        return Line(figure.label, "", note=figure.note)
    ends = "" if figure.interval is None else between(figure.interval, scale)
    return Line(figure.label, number(figure.value, scale), ends, figure.note)


def _picture(column: ColumnProfile) -> Markup | None:
    median, found = column["median"], column.quantiles or {}
    quartiles = (column["lower quartile"].value, column["upper quartile"].value)
    name = label(column.part.name)
    if column.density is not None and column.density.value is not None:
        curve, band = column.density.value, column.density.interval
        shown = {"band": band, "quartiles": quartiles, "median": median.value, "interval": median.interval}
        return density_picture(curve.points.tolist(), curve.values.tolist(), title=f"Density of {name}", **shown)
    if None in quartiles or quartiles[0] == quartiles[1]:
        return None
    places, form, ends = sorted(found.values()), column.part.form, median.interval
    beyond = (places[-1] - places[0]) / 20
    axis = None if form is None else marks(form, places[0] - beyond, places[-1] + beyond)
    seen = None if ends is None else (in_ticks(ends[0]), in_ticks(ends[1]))
    return box_picture(places, coarse(found), seen, title=f"Quantiles of {name}", marks=axis)


def silent(cards: list[Card]) -> list[tuple[str, list[Card]]]:
    """The columns without an answer, together by what would help."""
    groups: dict[str, list[Card]] = {}
    for one in cards:
        if not one.answered:
            groups.setdefault(one.note, []).append(one)
    return list(groups.items())


# ---------------------------------------------------------------------------------------------------------- regression


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
    ends = [(e * unit for e in (*(row.ends or (0.0, 0.0)), row.value)) for row, unit in zip(rows, units, strict=True)]
    y = label(profile.regression[0][0])
    unit = f"change of {y} from the lower to the upper quartile of each column" if common else ""
    return _on_scale(rows, [tuple(e) for e in ends], unit or "distance from 0, in half-widths of the interval")


def _on_scale(rows: list[Coefficient], ends: list[tuple[float, ...]], unit: str) -> Effects:
    """Intervals on a scale that has 0 on it; those that are far wider than the effects are cut off at its ends."""
    far = 4 * max((abs(value) for _, _, value in ends), default=0.0) or 1.0
    low = min([0.0, *(max(a, -far) for a, _, _ in ends)])
    high = max([0.0, *(min(b, far) for _, b, _ in ends)])
    if not low < high or not math.isfinite(high - low):
        return Effects([Effect(row) for row in rows], [], 0.0, unit)
    edge = (high - low) / 20
    low, high = low - edge, high + edge

    def share(value: float) -> float:
        return round(100 * (min(max(value, low), high) - low) / (high - low), 2)

    found = [
        Effect(row, share(a), share(v), share(b), number(v, b - a)) for row, (a, b, v) in zip(rows, ends, strict=True)
    ]
    return Effects(found, labelled_ticks(low, high, room=300), share(0.0), unit)


# ------------------------------------------------------------------------------------------------------------ the page


def summary(profile: Profile, cards: list[Card]) -> list[str]:
    """What a reader should know first: how much was answered, of how many rows, for how much."""
    rows = "a secret number of" if profile.rows is None else f"{profile.rows:,}"
    answered = sum(one.answered for one in cards)
    delta = f", δ = {short(profile.spent.delta)}" if profile.spent.delta else ""
    return [
        f"{answered} of {len(cards)} columns answered",
        f"{rows} {profile.unit}",
        f"ε = {short(profile.spent.epsilon)} of {short(profile.asked.epsilon)} spent{delta}",
    ]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].replace("\n", " ")


def to_html(profile: Profile) -> str:
    """One self-contained page. Whatever a name holds, it is text: escaped, and without what can't be printed."""
    from uptack.report.compiled import template

    cards, bill = [card(f"c{i}", column) for i, column in enumerate(profile.columns, 1)], charges(profile)
    return template().render(
        profile=profile,
        cards=[one for one in cards if one.answered],
        silent=silent(cards),
        summary=summary(profile, cards),
        promise=promise(profile.spent),
        meaning=_sentence(profile.spent.explain().partition(": ")[2]),
        coefficients=coefficients,
        effects=effects(profile),
        costs=bill,
        summed=sum(charge.cost.exact_epsilon for charge in bill) > profile.spent.exact_epsilon,
        number=number,
        between=between,
        short=short,
        label=label,
        many=MANY,
        wide=WIDE,
        version=uptack.__version__,
    )
