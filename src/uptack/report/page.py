"""A profile as one HTML page that works offline: on a screen, a phone and paper, light or dark."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

import uptack
from uptack.kernels.density_curves import DensityCurve
from uptack.labels import label
from uptack.privacy.explanation import promise, short
from uptack.report.axes import labelled_ticks, number, powers
from uptack.report.cards import RANGE, Figure, coarse, in_ticks
from uptack.report.dates import marks
from uptack.report.figures import seen
from uptack.report.pictures import bars_picture, box_picture, columns_picture, density_picture
from uptack.report.profile import ColumnProfile, Profile
from uptack.report.several import effects, heat
from uptack.report.spikes import Bars
from uptack.report.writing import (
    Bar,
    answered,
    bars,
    between,
    charges,
    coefficients,
    counted,
    grouped,
    integer_bars,
    ordered,
    sentence,
    summary,
)

MANY = 12
"""So many categories are shown at once; the rest is folded."""

LISTED = 7
"""Up to so many values with an order are listed one below the other; more are drawn side by side."""

WIDE = 8
"""From so many columns on there is a list of contents."""


NAMED = 56
"""So many letters of a name are in the list of contents."""

UTC = "+00:00"
"""What times in UTC end with. It is said once per card."""

SHORT = {RANGE: "IQR"}
"""Names of figures that would not fit in a card."""

ROOM, INTERVAL = 9, 12
"""Letters of a value, and of its interval, that fit in a column of a card."""


class Line(NamedTuple):
    """A figure of a card: what it is, its value and its interval in words; no value, and what would help, for ⊥."""

    label: str
    value: str
    interval: str = ""
    note: str = ""

    @property
    def wide(self) -> bool:
        """Whether it needs the room of two."""
        return len(self.value) > ROOM or len(self.interval) > INTERVAL or not self.value


class Card(NamedTuple):
    """What is shown of a column: figures, and the picture that fits its kind."""

    anchor: str
    column: ColumnProfile
    figures: list[Line]
    picture: Markup | None = None
    bars: list[Bar] | None = None
    note: str = ""
    counted: bool = False
    """Whether the picture is of the bars."""

    @property
    def kind(self) -> str:
        """What the column holds."""
        form = self.column.part.form
        return f"{self.column.part.kind}, UTC" if form is not None and form.word == "utc" else self.column.part.kind


# --------------------------------------------------------------------------------------------------------------- cards


def card(anchor: str, column: ColumnProfile, unit: str = "rows") -> Card:
    """The card of a column."""
    if column.part.skipped:
        return Card(anchor, column, [], note=column.part.skipped)
    if not column.part.numeric:
        figure = column.figures[0]
        return Card(anchor, column, [], note=figure.note, bars=None if figure.value is None else bars(figure))
    figures = [_line(figure, column.scale) for figure in column.figures]
    if not any(line.value for line in figures):
        return Card(anchor, column, [], note=column.figures[0].note)
    if column.part.form is not None and column.part.form.word == "utc":
        figures = [
            line._replace(value=line.value.replace(UTC, ""), interval=line.interval.replace(UTC, ""))
            for line in figures
        ]
    few, density = counted(column), column.density
    note = "" if density is None or isinstance(density.value, DensityCurve) else density.note
    if few is None:
        return Card(anchor, column, figures, _picture(column), None, note)
    shown = integer_bars(few, *seen(column.quantiles or {}))
    upright = _columns(column, shown, unit) if len(shown) > LISTED or column.part.form is not None else None
    return Card(anchor, column, figures, upright, shown, note, upright is not None)


def _columns(column: ColumnProfile, shown: list[Bar], unit: str) -> Markup:
    heights, errors = [bar.rows for bar in shown], [bar.error for bar in shown]
    title = f"{unit.capitalize()} by {label(column.part.name)}"
    return columns_picture(ordered(shown), heights, errors, title=title, unit=unit)


def _line(figure: Figure, scale: float) -> Line:
    if figure.value is None:
        return Line(SHORT.get(figure.label, figure.label), "", note=figure.note)
    ends = "" if figure.interval is None else powers(between(figure.interval, scale))
    return Line(SHORT.get(figure.label, figure.label), powers(number(figure.value, scale)), ends, figure.note)


def _picture(column: ColumnProfile) -> Markup | None:
    median, found = column["median"], column.quantiles or {}
    quartiles = (column["lower quartile"].value, column["upper quartile"].value)
    name, form, whole = label(column.part.name), column.part.form, column.part.kind == "integer"
    if column.density is not None and column.density.value is not None:
        curve, band = column.density.value, column.density.interval
        x, beyond = curve.points.tolist(), curve.width / 2 if isinstance(curve, Bars) else 0.0
        shown = {"band": band, "median": median.value, "interval": median.interval}
        shown["marks"] = labelled_ticks(x[0] - beyond, x[-1] + beyond, whole=whole)
        if isinstance(curve, Bars):
            return bars_picture(x, curve.values.tolist(), width=curve.width, title=f"Shares of {name}", **shown)
        return density_picture(x, curve.values.tolist(), title=f"Density of {name}", quartiles=quartiles, **shown)
    if None in quartiles or quartiles[0] == quartiles[1]:
        return None
    places, ends = sorted(found.values()), median.interval
    beyond = (places[-1] - places[0]) / 20
    low, high = places[0] - beyond, places[-1] + beyond
    axis = labelled_ticks(low, high, whole=whole) if form is None else marks(form, low, high)
    interval = None if ends is None else (in_ticks(ends[0]), in_ticks(ends[1]))
    return box_picture(places, coarse(found), interval, title=f"Quantiles of {name}", marks=axis)


def silent(cards: list[Card]) -> list[tuple[str, list[Card]]]:
    """The columns without an answer, together by what would help."""
    groups: dict[str, list[Card]] = {}
    for one in cards:
        if not answered(one.column):
            groups.setdefault(one.note, []).append(one)
    return list(groups.items())


# ------------------------------------------------------------------------------------------------------------ the page


def brief(name: str) -> str:
    """A name for the list of contents: a long one without its middle, since names often differ at their ends.

    >>> brief("a rather long name of a column that says all about measurement number 59 of these")
    'a rather long name of a colu … asurement number 59 of these'
    """
    half = NAMED // 2
    return name if len(name) <= NAMED else f"{name[:half].rstrip()} … {name[-half:].lstrip()}"


def to_html(profile: Profile) -> str:
    """One self-contained page. Whatever a name holds, it is text: escaped, and without what can't be printed."""
    from uptack.report.compiled import template

    cards, bill = [card(f"c{i}", column, profile.unit) for i, column in enumerate(profile.columns, 1)], charges(profile)
    return template().render(
        profile=profile,
        cards=[one for one in cards if answered(one.column)],
        silent=silent(cards),
        summary=summary(profile),
        promise=promise(profile.spent),
        meaning=sentence(profile.spent.explain().partition(": ")[2]),
        sentence=sentence,
        brief=brief,
        powers=powers,
        heat=heat(profile),
        coefficients=coefficients,
        effects=effects(profile),
        costs=grouped(profile),
        summed=sum(charge.cost.exact_epsilon for charge in bill) > profile.spent.exact_epsilon,
        number=number,
        between=between,
        short=short,
        label=label,
        many=MANY,
        wide=WIDE,
        version=uptack.__version__,
    )
