"""Times and durations as exact whole ticks of a microsecond, and how a column shows its ticks.

A time is the number of microseconds since the beginning of 1970: in UTC where the column's type has a zone, else by
its own clock. A date is its midnight. A duration is a number of microseconds. Finer parts are cut off. Times before
the year 1 or after the year 9999 are read as the first or the last moment in between, and durations beyond 64 bits as
the longest ones. All of this is done row by row, and keeps order.

How ticks are shown is decided by the column's declared type alone: `Form`.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from uptack import checks, interrupts
from uptack.errors import InvalidArgument
from uptack.table.values.kinds import PER_UNIT, Kind, canonical

Ticks = NDArray[np.int64]
Mask = NDArray[np.bool_]
Word = Literal["date", "clock", "utc", "duration"]

SECOND = 10**6
DAY = 86400 * SECOND
EPOCH = datetime(1970, 1, 1)
FIRST = (datetime.min - EPOCH) // timedelta(microseconds=1)
LAST = (datetime.max - EPOCH) // timedelta(microseconds=1)
LONGEST = (1 << 63) - 1
UNITS = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": SECOND,
    "minute": 60 * SECOND,
    "hour": 3600 * SECOND,
    "day": DAY,
    "week": 7 * DAY,
}
"""Durations that have a name."""

SPAN = r"(?P<H>[0-9]{1,9}):(?P<M>[0-5][0-9]):(?P<S>[0-5][0-9])(?:\.(?P<f>[0-9]{1,9}))?"
"""A duration as a text, without its sign: hours, minutes and seconds, such as 01:30:00, 0:00:07.5 or 120:00:00."""

BLANKS = " \t\n\v\f\r"
"""What may stand around a time or a duration that is written, in a cell of a file too."""

TIMED: tuple[Kind, ...] = ("time", "duration")
"""Kinds whose rows can be read as ticks."""


@dataclass(frozen=True)
class Form:
    """How ticks are shown: as dates, as times by the column's own clock or in UTC, or as durations.

    >>> Form("date").show(1.7e15), Form("utc").show(1.5), Form("duration").show(-2.0)
    (datetime.date(2023, 11, 15), datetime.datetime(1970, 1, 1, 0, 0, 0, 2, tzinfo=datetime.timezone.utc),
    datetime.timedelta(days=-1, seconds=86399, microseconds=999998))
    >>> Form("clock").show(1e77)
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)
    """

    word: Word

    @property
    def kind(self) -> Kind:
        return "duration" if self.word == "duration" else "time"

    @property
    def declared(self) -> str:
        """The type as it is declared: "date", "datetime", "datetime-utc" or "duration"."""
        return {"clock": "datetime", "utc": "datetime-utc"}.get(self.word, self.word)

    @property
    def plural(self) -> str:
        """What such a column holds, in a sentence."""
        return "durations" if self.word == "duration" else "dates" if self.word == "date" else "times"

    @property
    def step(self) -> Fraction:
        """What all ticks are multiples of, by the type."""
        return Fraction(DAY if self.word == "date" else 1)

    @property
    def spread(self) -> Form:
        """How the distance of two such moments is shown."""
        return Form("duration")

    def show(self, tick: float, towards: int = 0) -> date | timedelta:
        """The moment or duration nearest to a tick, or just below or above it (`towards` -1 or 1), within its range."""
        least, most = (-LONGEST, LONGEST) if self.word == "duration" else (FIRST, LAST)
        nearest = math.floor if towards < 0 else math.ceil if towards > 0 else round
        whole = min(max(nearest(tick), least), most) if math.isfinite(tick) else (most if tick > 0 else least)
        if self.word == "duration":
            return timedelta(microseconds=whole)
        if self.word == "date":
            days = -(-whole // DAY) if towards > 0 else (whole + (DAY // 2 if towards == 0 else 0)) // DAY
            return (EPOCH + timedelta(days=min(days, LAST // DAY))).date()
        moment = EPOCH + timedelta(microseconds=whole)
        return moment.replace(tzinfo=UTC) if self.word == "utc" else moment

    def show_all(self, value: Any) -> Any:
        """A number of ticks, an array or a tuple of such, as what they are."""
        if isinstance(value, tuple):
            low, high = value
            return self.show(float(low), -1), self.show(float(high), 1)
        if isinstance(value, np.ndarray):
            return np.fromiter((self.show(float(part)) for part in value), object, value.size)
        return self.show(float(value))


FORMS = {"date": Form("date"), "datetime": Form("clock"), "datetime-utc": Form("utc"), "duration": Form("duration")}
"""Kinds of times and durations that can be declared."""
TYPES = ("integer", "number", "boolean", "text", *FORMS)
"""All kinds that a curator can declare."""


# ------------------------------------------------------------------------------------------------------ rows as ticks

NAT = np.iinfo(np.int64).min


def has_fixed_unit(dtype: Any) -> bool:
    """Whether a type of NumPy for times or durations says how long its unit is: that of a month in a duration varies.

    >>> [has_fixed_unit(np.dtype(name)) for name in ("M8[M]", "m8[h]", "m8[M]", "M8")]
    [True, True, False, False]
    """
    unit = np.datetime_data(dtype)[0]
    return unit in PER_UNIT or (dtype.kind == "M" and unit in ("Y", "M"))


def form_of(dtype: Any) -> Form:
    """How a column of such a type of NumPy is shown."""
    if dtype.kind == "m":
        return Form("duration")
    return Form("date" if np.datetime_data(dtype)[0] in ("Y", "M", "W", "D") else "clock")


def ticks_of(values: NDArray[Any]) -> tuple[Ticks, Mask]:
    """Times or durations of NumPy as ticks, exactly, and the rows that are NaT; these have 0 ticks.

    NumPy's own conversions overflow in silence.

    >>> ticks_of(np.array(["1970-01-02", "NaT", "99999-01-01"], "M8[D]"))[0].tolist()
    [86400000000, 0, 253402300799999999]
    """
    unit, step = np.datetime_data(values.dtype)
    least, most = (FIRST, LAST) if values.dtype.kind == "M" else (-LONGEST, LONGEST)
    raw = values.astype(np.int64)
    gone = raw == NAT
    raw = np.where(gone, 0, raw)
    if unit in ("Y", "M"):
        months = np.clip(raw, -30_000 // step, 120_000 // step) * step * (12 if unit == "Y" else 1)
        months = np.clip(months, -1970 * 12, 8031 * 12)  # a year more on both sides
        raw, unit, step = months.astype("M8[M]").astype("M8[D]").astype(np.int64), "D", 1
    up, down = PER_UNIT[unit]
    if down > 1:
        whole = np.clip(raw, -(LONGEST // step), LONGEST // step) * step // down
        return np.clip(whole, least, most), gone
    up *= step
    inside = np.clip(raw, -(-least // up), most // up) * up
    return np.where(raw < -(-least // up), least, np.where(raw > most // up, most, inside)), gone


def objects_as_ticks(rows: list[Any], form: Form) -> tuple[Ticks, Mask]:
    """Rows of any type as ticks, each by itself; one that is of another kind than the form is missing."""
    found = interrupts.watched(lambda: [_read(row, form) for row in rows])
    gone = np.fromiter((tick is None for tick in found), bool, len(found))
    return np.fromiter((tick or 0 for tick in found), np.int64, len(found)), gone


def _read(row: Any, form: Form) -> int | None:
    parsed = parse_time(row)
    if parsed is None or not parsed.fits(form):
        return None
    return parsed.ticks // DAY * DAY if form.word == "date" else parsed.ticks


# ------------------------------------------------------------------------------------------------ what options speak of


@dataclass(frozen=True)
class ParsedTime:
    """A time or a duration that somebody wrote: its ticks, and whether it is a "duration", a "clock" time or "utc"."""

    ticks: int
    word: Word

    def fits(self, form: Form | None) -> bool:
        """Whether it can stand beside the rows of a column: a time with a zone does beside rows with one only."""
        if form is None or (self.word == "duration") != (form.word == "duration"):
            return False
        return self.word != "utc" or form.word == "utc"


def parse_time(value: Any) -> ParsedTime | None:
    """What somebody wrote as a time or a duration; None for what is neither.

    A text may be a date or time of ISO 8601, or a duration in hours, minutes and seconds.

    >>> parse_time("2024-02-29"), parse_time("01:00:00"), parse_time(3)
    (ParsedTime(ticks=1709164800000000, word='clock'), ParsedTime(ticks=3600000000, word='duration'), None)
    """
    plain: Any = canonical(value)
    if isinstance(plain, str):
        plain = _parse_text(plain)
    if isinstance(plain, timedelta):
        return ParsedTime(_ticks(plain), "duration")
    if isinstance(plain, date):
        zoned = isinstance(plain, datetime) and plain.tzinfo is not None
        return ParsedTime(_ticks(plain), "utc" if zoned else "clock")
    return None


def ticks_beside(argument: str, value: Any, form: Form) -> int:
    """The ticks of a time or a duration that somebody wrote, which can stand beside the rows of a column."""
    said = parse_time(value)
    if said is None or not said.fits(form):
        length = "a duration, such as timedelta(hours=1) or 01:00:00"
        what = length if form.word == "duration" else "a date or time like the column's"
        zoned = said is not None and said.word == "utc" and form.word != "duration"
        fix = "Compare a time with a zone only with a column that has one." if zoned else ""
        raise InvalidArgument(argument, what, checks.describe(value), fix)
    return said.ticks


def _parse_text(text: str) -> Any:
    """A date, or a time, as ISO 8601 writes it, or a duration; None for any other text, such as digits alone."""
    bare = text.strip(BLANKS)
    if (span := re.fullmatch(f"-?{SPAN}", bare)) is not None:
        hours, minutes, seconds = (int(span[name]) for name in "HMS")
        nanoseconds = ((hours * 60 + minutes) * 60 + seconds) * 10**9 + int((span["f"] or "").ljust(9, "0"))
        return timedelta(microseconds=(-nanoseconds if bare[0] == "-" else nanoseconds) // 1000)  # rounded down
    if "-" not in text[1:]:
        return None
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            return canonical(read(bare))
        except (ValueError, OverflowError):
            pass
    return None


def _ticks(plain: Any) -> int:
    if isinstance(plain, timedelta):
        return min(max(plain // timedelta(microseconds=1), -LONGEST), LONGEST)
    if isinstance(plain, datetime):
        return (plain.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)
    days: int = plain.toordinal() - EPOCH.toordinal()
    return days * DAY


# ------------------------------------------------------------------------------------------------ units of the calendar

CALENDAR = ("hour", "day", "week", "month", "year")
LENGTHS = {"hour": DAY // 24, "day": DAY, "week": 7 * DAY, "month": 31 * DAY, "year": 366 * DAY}
"""The longest that each unit can be."""

MOST_BINS = 20_000
"""How many bins there may be between declared ends."""

_MONDAY = 4  # 1970 began on a Thursday; four days later it was Monday


def unit_start(ticks: Ticks, every: str) -> Ticks:
    """Where the unit of each tick begins, in ticks. Weeks begin on Monday.

    >>> some = np.array(["2024-02-29T13:59"], "M8[us]").astype(np.int64)
    >>> [str(unit_start(some, every).view("M8[us]")[0])[:13] for every in CALENDAR]
    ['2024-02-29T13', '2024-02-29T00', '2024-02-26T00', '2024-02-01T00', '2024-01-01T00']
    """
    if every in ("month", "year"):
        unit = {"month": "M8[M]", "year": "M8[Y]"}[every]
        return (ticks // DAY).view("M8[D]").astype(unit).astype("M8[us]").astype(np.int64)
    if every == "week":
        return ((ticks // DAY - _MONDAY) // 7 * 7 + _MONDAY) * DAY
    step = DAY if every == "day" else DAY // 24
    return ticks // step * step


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
    starts = [int(unit_start(np.array([low]), every)[0])]
    while starts[-1] < min(high, LAST):
        starts.append(int(unit_start(np.array([starts[-1] + LENGTHS[every]]), every)[0]))
    return starts


def tick_edges(edges: Any, every: str | None) -> tuple[list[ParsedTime], NDArray[np.int64]] | None:
    """Edges that are times or durations, in ticks, with what was said; None for edges that are numbers.

    With `every` two edges are the ends of a range of units.
    """
    try:
        said = [parse_time(edge) for edge in edges]
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
            raise InvalidArgument("edges", "two times, the first one earlier, if every= is given", "others")
        ticks = edges_between(ticks[0], ticks[1], every)
    if len(ticks) < 2 or any(a >= b for a, b in itertools.pairwise(ticks)):
        raise InvalidArgument("edges", "two or more rising times or durations", "others")
    return times, np.array(ticks, np.int64)
