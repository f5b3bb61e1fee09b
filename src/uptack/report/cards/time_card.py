"""Cards of times and durations: those of numbers, with counts by the calendar in place of a density."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from uptack.display.time_text import words
from uptack.report.cards import number_card
from uptack.report.column import CardView, ColumnProfile, Part, Quantiles
from uptack.report.pictures import LEFT, LETTER, RIGHT, WIDTH, Tick, ticks
from uptack.session import Request
from uptack.table.values.calendar import edges_between
from uptack.table.values.times import DAY, FIRST, LAST, SECOND, Form

UTC = "+00:00"
"""What times in UTC end with. It is said once per card."""


def density(part: Part, epsilon: Fraction, released: Quantiles) -> Request:
    """How many rows there are in each month of the range that released quantiles suggest, or in another unit."""
    if part.form is None:  # a source that says nothing of forms
        return number_card.density(part, epsilon, released)
    low, high = number_card.box(released)
    ends = [part.form.show(low, -1), part.form.show(high if released else float(DAY), 1)]
    return Request("histogram", part.name, epsilon=epsilon, edges=ends, every=calendar_unit(high - low))


def calendar_unit(width: float) -> str:
    """The shortest unit of the calendar, from days on, of which a range of so many ticks has up to about forty."""
    lengths = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY}
    return next((every for every, length in lengths.items() if width <= 40 * length), "year")


def view(anchor: str, column: ColumnProfile, unit: str) -> CardView:
    """The card of numbers, with times on its axis."""
    shown, form = number_card.view(anchor, column, unit, axis), column.part.form
    if form is None or form.word != "utc":
        return shown
    lines = [
        line._replace(value=line.value.replace(UTC, ""), interval=line.interval.replace(UTC, ""))
        for line in shown.figures
    ]
    return shown._replace(figures=lines)


TIMES = replace(
    number_card.NUMBERS,
    name="times",
    kinds=("time",),
    draws=tuple(replace(draw, ask=density) if draw.label == "density" else draw for draw in number_card.DRAWS),
    view=view,
)
DURATIONS = replace(
    TIMES,
    name="durations",
    kinds=("duration",),
    figures=tuple(figure for figure in number_card.FIGURES if figure.name != "density"),
)


# ---------------------------------------------------------------------------------------------------------------- axes

LENGTHS = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}
STEPS = [SECOND * n for n in (1, 5, 15, 60, 300, 900, 1800)]
STEPS += [3600 * SECOND * n for n in (1, 3, 6, 12, 24, 48, 168, 336, 720)]


def axis(part: Part, low: float, high: float) -> list[Tick]:
    """Where days, months or years begin, and round durations."""
    return number_card.axis(part, low, high) if part.form is None else marks(part.form, low, high)


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
