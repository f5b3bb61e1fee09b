"""Axes of times and durations: marks where days, months or years begin, and at round durations."""

from __future__ import annotations

import math

from uptack.display.time_text import words
from uptack.report.axes import LEFT, LETTER, RIGHT, WIDTH, Tick, ticks
from uptack.table.values.calendar import edges_between
from uptack.table.values.times import DAY, FIRST, LAST, SECOND, Form

LENGTHS = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}
STEPS = [SECOND * n for n in (1, 5, 15, 60, 300, 900, 1800)]
STEPS += [3600 * SECOND * n for n in (1, 3, 6, 12, 24, 48, 168, 336, 720)]


def marks(form: Form, low: float, high: float) -> list[Tick]:
    """As many marks between two numbers of ticks as fit side by side.

    >>> day = Form("date")
    >>> [mark.text for mark in marks(day, 0.0, 200.0 * DAY)]
    ['1970-01-01', '1970-03-01', '1970-05-01', '1970-07-01']
    >>> [mark.text for mark in marks(Form("duration"), 0.0, 2.5 * DAY)]
    ['0 s', '1 d', '2 d']
    """
    places = _durations(low, high) if form.kind == "duration" else _beginnings(low, high)
    whole = all(place % DAY == 0 for place in places)
    shown = Form("date") if form.kind == "time" and whole else form
    texts = [words(shown.show(place)) for place in places]
    room = max(int((WIDTH - LEFT - RIGHT) / ((max(map(len, texts), default=1) + 1) * LETTER)), 1)
    step = math.ceil(len(places) / room) or 1
    found = [Tick((place - low) / (high - low), text) for place, text in zip(places, texts, strict=True)]
    return found[::step]


def _beginnings(low: float, high: float) -> list[float]:
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
