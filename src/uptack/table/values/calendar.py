"""Units of the calendar: to which hour, day, week, month or year a time belongs, and where each of them begins."""

from __future__ import annotations

import itertools
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.errors import InvalidArgument
from uptack.table.values.entrance import field
from uptack.table.values.field import Array, Field, Mask
from uptack.table.values.times import DAY, LAST, Form, Spoken, Ticks, spoken

CALENDAR = ("hour", "day", "week", "month", "year")
LENGTHS = {"hour": DAY // 24, "day": DAY, "week": 7 * DAY, "month": 31 * DAY, "year": 366 * DAY}
"""The longest that each unit can be."""

MOST_BINS = 20_000
"""How many bins there may be between declared ends."""

_MONDAY = 4  # 1970 began on a Thursday; four days later it was Monday


def begin(ticks: Ticks, every: str) -> Ticks:
    """Where the unit of each tick begins, in ticks. Weeks begin on Monday.

    >>> some = np.array(["2024-02-29T13:59"], "M8[us]").astype(np.int64)
    >>> [str(begin(some, every).view("M8[us]")[0])[:13] for every in CALENDAR]
    ['2024-02-29T13', '2024-02-29T00', '2024-02-26T00', '2024-02-01T00', '2024-01-01T00']
    """
    if every in ("month", "year"):
        unit = {"month": "M8[M]", "year": "M8[Y]"}[every]
        return (ticks // DAY).view("M8[D]").astype(unit).astype("M8[us]").astype(np.int64)
    if every == "week":
        return ((ticks // DAY - _MONDAY) // 7 * 7 + _MONDAY) * DAY
    step = DAY if every == "day" else DAY // 24
    return ticks // step * step


def following(tick: int, every: str) -> int:
    """Where the unit after that of a tick begins."""
    (first,) = begin(np.array([tick]), every)
    return int(begin(np.array([int(first) + LENGTHS[every]]), every)[0])


def label(tick: int, every: str, form: Form) -> date | timedelta:
    """The unit that begins with a tick: its first day, or its first moment where it is an hour, of dates too.

    >>> label(13 * DAY // 24, "hour", Form("date"))
    datetime.datetime(1970, 1, 1, 13, 0)
    """
    if every != "hour":
        return Form("date").show(tick)
    return (Form("clock") if form.word == "date" else form).show(tick)


def edges_between(low: int, high: int, every: str) -> list[int]:
    """Where the units from that of `low` to that of `high` begin, the latter left out if it begins there; and the end.

    >>> [str(np.datetime64(tick, "us"))[:10] for tick in edges_between(0, 60 * DAY, "month")]
    ['1970-01-01', '1970-02-01', '1970-03-01', '1970-04-01']
    """
    if (high - low) / LENGTHS[every] > MOST_BINS:
        raise InvalidArgument("edges", f"at most {MOST_BINS} bins apart", "more", "Choose a longer `every`.")
    found = [int(begin(np.array([low]), every)[0])]
    while found[-1] < min(high, LAST):
        found.append(following(found[-1], every))
    return found


def floored(name: str, x: Any, every: str) -> Field:
    """A column of times by units of the calendar: each row is where its unit begins."""
    found = moments(name, x)
    form = Form("date") if every != "hour" else found.form

    def read() -> tuple[Array, Mask]:
        ticks, gone = found.ticks()
        first = begin(ticks, every)
        return ((first // DAY).view("M8[D]") if every != "hour" else first.view("M8[us]")), gone

    return Field("time", found.size, read, form=form)


def moments(name: str, x: Any) -> Field:
    """A column of times."""
    found = x if isinstance(x, Field) else field(name, x)
    if found.kind != "time":
        raise InvalidArgument(name, "a column of times where every is given", f"a column of kind {found.kind}")
    return found


def tick_edges(edges: Any, every: str | None) -> tuple[list[Spoken], NDArray[np.int64]] | None:
    """Edges that are times or durations, in ticks, with what was said; None for edges that are numbers.

    With `every` two edges are the ends of a range of units.
    """
    try:
        said = [spoken(edge) for edge in edges]
    except TypeError:
        return None
    times = [one for one in said if one is not None]
    if not times or isinstance(edges, str):
        return None
    if len(times) < len(said) or len({one.word == "duration" for one in times}) > 1:
        raise InvalidArgument("edges", "all times, all durations or all numbers", "several of these")
    ticks = [one.ticks for one in times]
    if every is not None:
        if len(ticks) != 2 or not ticks[0] < ticks[1]:
            raise InvalidArgument("edges", "two times, the first one earlier, where every is given", "others")
        ticks = edges_between(ticks[0], ticks[1], every)
    if len(ticks) < 2 or any(a >= b for a, b in itertools.pairwise(ticks)):
        raise InvalidArgument("edges", "two or more rising times or durations", "others")
    return times, np.array(ticks, np.int64)
