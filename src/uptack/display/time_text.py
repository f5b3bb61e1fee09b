"""Times and durations as people write them, and as JSON holds them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any, TypeVar

import numpy as np

TICK = timedelta(microseconds=1)
SECOND = 10**6
HOUR = 3600 * SECOND
DAY = 24 * HOUR
T = TypeVar("T", datetime, timedelta)


def words(value: date | timedelta) -> str:
    """A moment as ISO 8601 writes it; a duration as a person would say it.

    >>> words(date(2024, 2, 29)), words(timedelta(days=2, hours=3, seconds=0.5)), words(-timedelta(minutes=90))
    ('2024-02-29', '2 d 3 h', '-1 h 30 min')
    """
    if isinstance(value, date):
        return value.isoformat()
    left, said = abs(value) // TICK, list[str]()
    for name, ticks in (("d", DAY), ("h", HOUR), ("min", 60 * SECOND)):
        if left >= ticks:
            said.append(f"{left // ticks} {name}")
            left %= ticks
    if left and len(said) < 2 and not any(part.endswith(("d", "h")) for part in said):
        said.append(f"{left / SECOND:.6f}".rstrip("0").rstrip(".") + " s")
    return ("-" if value < timedelta(0) else "") + (" ".join(said[:2]) or "0 s")


def outward(value: T, step: int, end: str) -> T:
    """The end of an interval as a multiple of so many ticks: the "low" one not later, the "high" one not earlier.

    The value itself where it is no end, or where the calendar has no such multiple.

    >>> outward(timedelta(minutes=-90), HOUR, "low"), outward(datetime(2024, 2, 29, 9, 1), HOUR, "high").hour
    (datetime.timedelta(days=-1, seconds=79200), 10)
    """
    if not end:
        return value
    unit = step * TICK
    past = (value.replace(tzinfo=None) - datetime.min if isinstance(value, datetime) else value) % unit
    try:
        return value - past if end == "low" or not past else value + (unit - past)
    except OverflowError:
        return value


def shown_step(value: timedelta) -> int:
    """What `words` cuts a duration to, in ticks."""
    size = abs(value) // TICK
    return HOUR if size >= DAY else 60 * SECOND if size >= HOUR else 1


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: NumPy's as Python's own, times as ISO 8601 has it, durations as Python writes them.

    >>> json_value(np.array([1.5])), json_value([date(2024, 2, 29)]), json_value(timedelta(days=1.5))
    ([1.5], ['2024-02-29'], '1 day, 12:00:00')
    """
    if isinstance(value, np.ndarray | np.generic):
        return json_value(value.tolist())
    if isinstance(value, list | tuple):
        return type(value)(json_value(part) for part in value)
    return value.isoformat() if isinstance(value, date) else str(value) if isinstance(value, timedelta) else value
