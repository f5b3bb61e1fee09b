"""Numbers and times as people write them: with the digits that their error supports. Only what is shown is rounded."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np

from uptack.labels import label

TICK = timedelta(microseconds=1)
SECOND = 10**6
HOUR = 3600 * SECOND
DAY = 24 * HOUR
T = TypeVar("T", datetime, timedelta)

SHOWN = 0.95
"""The confidence of the intervals that are shown, unless a release was made with one at another."""


def number(value: Any, scale: float = 0.0, end: str = "") -> str:
    """A number as a person would write it: whole numbers as they are, others with four digits.

    Thousands are set apart from five digits on, so that years look like years. `scale` is how large a difference is
    among numbers of its kind: what is less than a millionth of it is nothing, and there are digits enough for a
    hundredth of it. Among very large or small ones all have a power of ten, unless that would hide their differences.
    The "low" `end` of an interval is rounded down, the "high" one up. Times and durations, whose scale is in
    microseconds, are written as such.

    >>> number(1234568), number(2013), number(0.000123456), number(-3.14159), number(1e-30, scale=2.0)
    ('1,234,568', '2013', '0.0001235', '-3.142', '0')
    >>> number(1700000123.4, scale=50.0), number(0.12345, end="low"), number(0.12341, end="high")
    ('1,700,000,123.4', '0.1234', '0.1235')
    >>> number(9.391e14, scale=6e14), number(1.001e15, scale=6e14), number(1e15 + 7, scale=5.0), number(7e9, scale=1e13)
    ('9.391e14', '1.001e15', '1,000,000,000,000,007', '7,000,000,000')
    >>> number(datetime(2024, 2, 29, 9, 1, 7)), number(datetime(2024, 2, 29, 9, 1), scale=90.0 * DAY)
    ('2024-02-29 09:01:07', '2024-02-29')
    >>> [number(datetime(2024, 2, 29, 9, 1), scale=90.0 * DAY, end=end) for end in ("low", "high")]
    ['2024-02-29', '2024-03-01']
    >>> number(1.5e-9), number(7.1234e9 + 0.1, scale=1e13)
    ('1.5e-9', '7.123e9')
    """
    if isinstance(value, datetime) and scale > 60 * DAY:
        day = outward(value, DAY, end)
        if end != "high" or day.time() == time.min:  # but no day comes after the last one that there is
            return day.date().isoformat()
    if isinstance(value, datetime):
        step, part = (60 * SECOND, "minutes") if scale > 2 * DAY else (SECOND, "seconds")
        return outward(value, step, end).isoformat(" ", part)
    if isinstance(value, date | timedelta):
        return words(outward(value, _duration_step(value), end) if isinstance(value, timedelta) else value)
    value = 0.0 if abs(value) < scale * 1e-6 else float(value)
    if not math.isfinite(value):
        return str(value)
    mark = "," if abs(value) >= 1e4 else ""
    if value.is_integer() and abs(value) < 1e12:
        return f"{int(value):{mark}}"
    if _needs_exponent(abs(value), scale if math.isfinite(scale) else 0.0):
        return _with_exponent(value, end)
    digits = 3 - math.floor(math.log10(abs(value)))
    if 0 < scale < math.inf:
        digits = min(max(digits, 2 - math.floor(math.log10(scale))), 15 + digits)
    text = f"{_round(value, digits, end):{mark}.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _needs_exponent(size: float, scale: float) -> bool:
    """Whether a number is written with a power of ten: four digits are then enough to tell it from its like."""
    largest = max(size, scale)
    return largest < 1e-5 or (largest >= 1e12 and not 0 < scale < size * 1e-4) or size >= 1e21


def _with_exponent(value: float, end: str) -> str:
    """Four digits and a power of ten."""
    exact, near = Decimal(value), Decimal(f"{value:.3e}")
    if end and (near > exact if end == "low" else near < exact):
        near += (-1 if end == "low" else 1) * Decimal(1).scaleb(near.adjusted() - 3)
    text = f"{near:.4g}" if math.isinf(float(near)) else f"{float(near):.4g}"
    return text.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def _round(value: float, digits: int, end: str) -> float:
    near = round(value, digits)
    if end and (near > value if end == "low" else near < value):
        near = round(near + (-1 if end == "low" else 1) * 10.0**-digits, digits)
    return near


def between(ends: tuple[Any, Any], scale: float) -> str:
    """An interval in words, rounded outward.

    >>> between((1.25, 3.0), 10.0), between((2, 2), 0.0)
    ('1.25 to 3', '2 to 2')
    >>> between((-math.inf, 3.0), 0.0), between((3.0, math.inf), 0.0), between((-math.inf, math.inf), 0.0)
    ('3 or less', '3 or more', 'no interval (too noisy)')
    """
    endless = [is_number(end) and not math.isfinite(end) for end in ends]
    if all(endless):
        return "no interval (too noisy)"
    low, high = number(ends[0], scale, "low"), number(ends[1], scale, "high")
    if any(endless):
        return f"{high} or less" if endless[0] else f"{low} or more"
    return f"{low} to {high}"


def estimate(value: Any, ends: tuple[Any, Any], scale: float = 0.0) -> tuple[str, str]:
    """A number and its interval with the same digits: two of the interval's width.

    Integers, times and what has no finite interval of a usual size are written as by `number` and `between`.

    >>> estimate(50.6231, (49.2745, 52.0)), estimate(5.18e-55, (-0.013, 0.4)), estimate(27311.7, (26012.0, 29961.0))
    (('50.6', '49.2 to 52.0'), ('0.00', '-0.02 to 0.40'), ('27,300', '26,000 to 30,000'))
    """
    numbers = (value, *ends)
    if not all(is_number(one) and math.isfinite(one) for one in numbers) or all(isinstance(o, int) for o in numbers):
        return number(value, scale), between(ends, scale)
    width, largest = ends[1] - ends[0], max(map(abs, numbers))
    if not 1e-5 <= largest < 1e12 or width < largest * 1e-9:
        return number(value, scale), between(ends, scale)
    digits = 1 - math.floor(math.log10(width))

    def text(one: float, end: str = "") -> str:
        near = _round(one, digits, end) + 0.0  # no -0
        return f"{near:{',' if abs(near) >= 1e4 else ''}.{max(digits, 0)}f}"

    return text(value), f"{text(ends[0], 'low')} to {text(ends[1], 'high')}"


def plain(value: Any) -> Any:
    """NumPy's values as Python's own."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def is_number(value: object) -> bool:
    """Whether it is a number to be rounded: no truth value, no date."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def figure_text(value: Any, low: Any = None, high: Any = None) -> tuple[str, str]:
    """A released value and its interval as cells of a table, with the same digits: those that the interval supports.

    Whole numbers stay as they are. The second text is "" where there is no interval.

    >>> figure_text(15.5512345, 15.2, 15.9), figure_text(501.0, 395.0, 609.0), figure_text(None)
    (('15.55', '15.20 to 15.90'), ('501', '395 to 609'), ('⊥', ''))
    >>> figure_text(datetime(2024, 2, 29, 9, 1, 7, 5))
    ('2024-02-29 09:01:07', '')
    >>> figure_text(*[datetime(2024, month, 1, 9) for month in (2, 1, 3)])
    ('2024-02-01', '2024-01-01 to 2024-03-02')
    >>> figure_text("a\\n"), figure_text(timedelta(hours=30), timedelta(hours=20), timedelta(days=2, minutes=30))
    (("'a\\\\n'", ''), ('1 d 6 h', '20 h to 2 d 1 h'))
    """
    value, low, high = plain(value), plain(low), plain(high)
    if value is None:
        return "⊥", ""
    if not is_number(value) and not isinstance(value, date | timedelta):
        return label(value), "" if low is None or high is None else f"{label(low)} to {label(high)}"
    if low is None or high is None:
        return number(value), ""
    whole = all(not is_number(one) or float(one).is_integer() for one in (value, low, high))
    if is_number(value) and not whole:
        return estimate(value, (low, high), _width(low, high))
    return number(value, _width(low, high)), between((low, high), _width(low, high))


def _width(low: Any, high: Any) -> float:
    """Ten times the width of an interval, so that there are digits for a tenth of it; else 0, for no more digits than
    a value has by itself. That of times is in ticks.
    """
    wide = 0.0
    if is_number(low) and is_number(high):
        wide = float(high) - float(low)
    elif isinstance(low, datetime) and isinstance(high, datetime):
        wide = (high - low) / TICK
    return 10 * wide if math.isfinite(10 * wide) else 0.0


# -------------------------------------------------------------------------------------------------- times and durations


def words(value: date | timedelta) -> str:
    """A moment as ISO 8601 writes it; a duration as a person would say it.

    >>> words(date(2024, 2, 29)), words(timedelta(days=2, hours=3, seconds=0.5)), words(-timedelta(minutes=90))
    ('2024-02-29', '2 d 3 h', '-1 h 30 min')
    """
    if isinstance(value, date):
        return value.isoformat()
    left, parts = abs(value) // TICK, list[str]()
    for name, ticks in (("d", DAY), ("h", HOUR), ("min", 60 * SECOND)):
        if left >= ticks:
            parts.append(f"{left // ticks} {name}")
            left %= ticks
    if left and len(parts) < 2 and not any(part.endswith(("d", "h")) for part in parts):
        parts.append(f"{left / SECOND:.6f}".rstrip("0").rstrip(".") + " s")
    return ("-" if value < timedelta(0) else "") + (" ".join(parts[:2]) or "0 s")


def outward(value: T, step: int, end: str) -> T:
    """The end of an interval as a multiple of `step` ticks: the "low" one not later, the "high" one not earlier.

    The value itself if it is not an end, or if the calendar has no such multiple.

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


def _duration_step(value: timedelta) -> int:
    """What `words` cuts a duration to, in ticks."""
    size = abs(value) // TICK
    return HOUR if size >= DAY else 60 * SECOND if size >= HOUR else 1


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: what has a `to_dict` by that, NumPy's values as Python's own, times as in ISO 8601.

    >>> json_value(np.array([1.5])), json_value((date(2024, 2, 29), timedelta(days=1.5)))
    ([1.5], ['2024-02-29', '1 day, 12:00:00'])
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, np.ndarray | np.generic):
        return json_value(value.tolist())
    if isinstance(value, list | tuple):
        return [json_value(part) for part in value]
    return value.isoformat() if isinstance(value, date) else str(value) if isinstance(value, timedelta) else value
