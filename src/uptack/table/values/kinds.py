"""What a column holds, by its declared type, and what a row's value looks like, from that value alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Rational, Real
from types import NoneType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from uptack import interrupts

Kind = Literal["integer", "number", "boolean", "text", "time", "duration", "other", "any"]
"""What a column holds: declared by its container or by the curator, never read off its rows.

"any" stands for a column without a declared type, such as a list or a column of Python objects: each of its rows is
read by itself, as what it is asked for. "other" stands for a declared type that none of the others describes.
"""
NUMBERS: tuple[Kind, ...] = ("integer", "number")

NUMERIC: tuple[Kind, ...] = ("integer", "number", "boolean", "any")
"""Kinds whose rows can be read as numbers."""

WHOLE: tuple[Kind, ...] = ("integer", "boolean")
"""Kinds that hold whole numbers by their type."""

MOST_LEVELS = 1000
"""Levels that a category may have where each of them is a column of a fit."""

LARGEST = float(np.finfo(np.float64).max)
BEYOND = 1 << 1024
"""The least integer beyond all floats."""
PLAIN = (NoneType, str, int, float, bytes, date, datetime, time, timedelta, tuple, frozenset)
"""The types of canonical values."""
DEEPEST = 8
"""How many tuples inside each other are looked into."""
ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


# ----------------------------------------------------------------------------------------------------- canonical values


def canonical(value: Any) -> Hashable:
    """A row's value in one plain form, from that value alone. It can't raise, unless a signal's handler does.

    | what a row holds                                         | its canonical form                               |
    |----------------------------------------------------------|--------------------------------------------------|
    | None, NaN, NaT, NA, what is masked                       | None                                             |
    | a real number of any type, True and False too            | an int where it is whole, else the nearest float |
    | a number beyond all floats                               | ±inf                                             |
    | a time with a zone                                       | a datetime in UTC                                |
    | a time without a zone, a date, a duration, a time of day | Python's own, to the microsecond                 |
    | a text, bytes                                            | a str, bytes                                     |
    | a tuple or list, a set                                   | a tuple, a frozenset of canonical values         |
    | anything else                                            | its text, without addresses in memory            |

    **Lemma.** canonical(canonical(v)) = canonical(v); and two canonical values that are equal have the same type and
    the same repr. So whatever counts canonical values counts alike ones, and shows no row's own spelling.

    *Proof.* A canonical value is of exactly one of the types None, str, int, float, bytes, date, datetime, time,
    timedelta, tuple and frozenset (`PLAIN`): where a row's own methods make anything else, its text takes the place.
    Between two of these types == holds only for an int and a float, and a canonical float is no whole number. Within
    one type: equal ints, strs, bytes, dates, timedeltas and floats other than ±0 and NaN, which do not occur, have the
    same repr. datetimes and times are equal also if they differ in `fold`, which is 0 here, or in their zones, of which
    there is one. Tuples hold by induction; so do frozensets, which are built from their elements in one order. Each of
    these forms is mapped to itself. ∎

    >>> from fractions import Fraction
    >>> [canonical(v) for v in (1, 1.0, True, Decimal("1.00"), np.float32(1), Fraction(1))]
    [1, 1, 1, 1, 1, 1]
    >>> [canonical(v) for v in (-0.0, 0.5, float("nan"), np.datetime64("NaT"), "1", ["a", 2.0], {})]
    [0, 0.5, None, None, '1', ('a', 2), '{}']
    """
    if type(value) in (str, int, float, NoneType) or interrupts.watching():
        return _canonical(value, DEEPEST)
    return interrupts.watched(lambda: _canonical(value, DEEPEST))


def _canonical(value: Any, depth: int) -> Hashable:
    exact = type(value)
    if exact is str or value is None:
        return value  # type: ignore[no-any-return]
    if exact is int:
        return _integer(value)
    if exact is float:
        return _real(value)
    try:
        if exact.__name__ in ("NAType", "NaTType", "MaskedConstant"):
            return None
        for types, form in _FORMS:
            if isinstance(value, types):
                made = form(value, depth)
                if type(made) in PLAIN:
                    return made
                break
    except BaseException:  # whatever a row's own methods do, an error would tell of that row
        interrupts.check()
    return _text(value)


def _text(value: Any) -> str:
    """The text of a value; the name of its type, where it has none."""
    try:
        text = str.__str__(str(value)).replace(hex(id(value)), "")
    except BaseException:  # as above
        interrupts.check()
        text = _TYPE_NAME(type(value))
    return ADDRESS.sub("", text)


_TYPE_NAME = type.__dict__["__name__"].__get__
"""The name of a type, without what a metaclass says."""


def _real(value: float) -> int | float | None:
    if value != value:
        return None
    return int(value) if value.is_integer() else value


def _integer(value: Any, depth: int = 0) -> int | float:
    plain = int(value)
    return plain if -BEYOND < plain < BEYOND else _infinity(plain)


def _infinity(value: Any) -> float:
    return math.inf if value > 0 else -math.inf


def _decimal(value: Decimal, depth: int) -> Hashable:
    if value.is_nan():
        return None
    if value.is_finite() and value.adjusted() <= 308 and value == value.to_integral_value():
        return _integer(value)
    return _real(float(value))


def _rational(value: Any, depth: int) -> Hashable:
    if value.denominator == 1:
        return _integer(value.numerator)
    try:
        return _real(float(value))
    except OverflowError:
        return _infinity(value)


def _complex(value: complex, depth: int) -> Hashable:
    if value != value:
        return None
    return str(complex(value.real + 0.0, value.imag + 0.0)) if value.imag else _real(value.real)


def _datetime(value: datetime, depth: int) -> Hashable:
    """Field by field, since a subclass may have further ones."""
    day, clock = (value.year, value.month, value.day), (value.hour, value.minute, value.second, value.microsecond)
    moment, offset = datetime(*day, *clock), value.utcoffset()
    if offset is None:
        return moment
    return (moment - timedelta(offset.days, offset.seconds, offset.microseconds)).replace(tzinfo=UTC)


def _time(value: time, depth: int) -> Hashable:
    if value.tzinfo is not None:
        return _text(value)
    return time(value.hour, value.minute, value.second, value.microsecond)


def _collection(value: Any, depth: int) -> Hashable:
    """A sequence, a set or a mapping. Sets are built in one order, so that equal ones are also listed in one order."""
    if depth == 0:
        return type(value).__name__
    if isinstance(value, Mapping):
        pairs = {(_canonical(key, depth - 1), _canonical(part, depth - 1)) for key, part in value.items()}
        return "{" + ", ".join(f"{key!r}: {part!r}" for key, part in sorted(pairs, key=in_order)) + "}"
    parts = (_canonical(part, depth - 1) for part in value)
    return frozenset(sorted(set(parts), key=in_order)) if isinstance(value, AbstractSet) else tuple(parts)


def _array(value: Any, depth: int) -> Hashable:
    return _collection(value.tolist(), depth) if value.ndim else _scalar(value[()], depth)


def _scalar(value: Any, depth: int) -> Hashable:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else _moment(value)
    if isinstance(value, np.floating):
        with np.errstate(all="ignore"):
            return _real(float(value))
    if isinstance(value, np.complexfloating):
        with np.errstate(all="ignore"):
            return _complex(complex(value), depth)
    return _canonical(value.item(), depth)


PER_UNIT: dict[str, tuple[int, int]] = {
    **{"W": (7 * 86400 * 10**6, 1), "D": (86400 * 10**6, 1), "h": (3600 * 10**6, 1), "m": (60 * 10**6, 1)},
    **{"s": (10**6, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 10**3)},
    **{"ps": (1, 10**6), "fs": (1, 10**9), "as": (1, 10**12)},
}
"""Microseconds per unit of NumPy, as a quotient."""


def _moment(value: Any) -> Hashable:
    """A time or duration of NumPy by exact arithmetic: its own conversions overflow in silence."""
    unit, step = np.datetime_data(value.dtype)
    if isinstance(value, np.datetime64) and unit in ("Y", "M", "W", "D"):
        day = value.item()
        return day if isinstance(day, date) else str(value)
    if unit not in PER_UNIT:
        return str(value)
    up, down = PER_UNIT[unit]
    try:
        span = timedelta(microseconds=int(value.astype(np.int64)) * step * up // down)
        return span if isinstance(value, np.timedelta64) else datetime(1970, 1, 1) + span
    except OverflowError:
        return str(value)


_FORMS: tuple[tuple[Any, Callable[[Any, int], Hashable]], ...] = (
    (np.generic, _scalar),
    (np.ndarray, _array),
    (str, lambda value, depth: str.__str__(value)),
    (Integral, _integer),
    (float, lambda value, depth: _real(float(value))),
    (Decimal, _decimal),
    (Rational, _rational),
    (Real, lambda value, depth: _real(float(value))),
    (complex, _complex),
    (datetime, _datetime),
    (date, lambda value, depth: date(value.year, value.month, value.day)),
    (timedelta, lambda value, depth: timedelta(value.days, value.seconds, value.microseconds)),
    (time, _time),
    (bytes | bytearray | memoryview, lambda value, depth: bytes(value)),
    (tuple | list | AbstractSet | Mapping, _collection),
)


# ------------------------------------------------------------------------------------------ what is made of such values


def in_order(value: Hashable) -> tuple[bool, str, Any]:
    """A total order of canonical values: numbers first, then by type, then by value; what is missing comes last."""
    if isinstance(value, int | float):
        return False, "", value
    if isinstance(value, datetime):  # those with a zone can't be compared with those without
        return False, "datetime" if value.tzinfo is None else "datetime in UTC", value.replace(tzinfo=None)
    if isinstance(value, date | time | timedelta):
        return False, type(value).__name__, value
    return value is None, type(value).__name__, value if isinstance(value, str | bytes) else _sorted_text(value)


def _sorted_text(value: Hashable) -> str:
    """The text of a value, with the elements of sets in their order."""
    if isinstance(value, frozenset):
        return "{" + ", ".join(map(_sorted_text, sorted(value, key=in_order))) + "}"
    return "(" + ", ".join(map(_sorted_text, value)) + ")" if isinstance(value, tuple) else repr(value)


def row_value(value: Any, kind: Kind) -> Hashable:
    """A public value in canonical form, as rows of this kind would hold it: the nearest float in a column of floats.

    Values are compared with rows in this form, and two of them are the same where these are: 2^60 and 2^60 + 1 are two
    integers, and one float.

    >>> [row_value(2**60 + 1, kind) == row_value(2**60, kind) for kind in ("number", "integer")]
    [True, False]
    """
    plain = canonical(value)
    return canonical(number(plain)) if kind == "number" and isinstance(plain, int) else plain


def labels_of_kind(values: Iterable[Hashable], kind: Kind) -> list[Hashable]:
    """Canonical values as a column of this kind shows them: truth values as True and False, numbers as floats."""
    if kind == "boolean":
        return [value if value is None else bool(value) for value in values]
    if kind == "number":
        return [number(value) if isinstance(value, int) else value for value in values]
    return list(values)


def number(value: Any) -> float:
    """A row's value as a float: the nearest one, ±the largest for integers beyond all floats, NaN for what is none."""
    if type(value) is float:
        return value
    plain = value if type(value) is int else canonical(value)
    if not isinstance(plain, int):
        return plain if isinstance(plain, float) else math.nan
    try:
        return float(plain)
    except OverflowError:
        return LARGEST if plain > 0 else -LARGEST


Key = tuple[Any, ...]


def sorted_counts(
    found: Iterable[tuple[Key, int]], kinds: Sequence[Kind] | None = None
) -> tuple[list[Key], NDArray[np.int64]]:
    """Counts by key, in order and missing values last; equal keys are added up. `kinds` say if 1 is 1, 1.0 or True."""
    merged: dict[Key, int] = {}
    for key, count in found:
        tidied = tuple(canonical(part) for part in key)
        merged[tidied] = merged.get(tidied, 0) + int(count)
    order: list[Key]
    if all(len(key) == 1 and type(key[0]) in (str, NoneType) for key in merged):  # sooner, for thousands of names
        order = sorted(merged, key=lambda key: (key[0] is None, key[0] or ""))
    else:
        order = sorted(merged, key=lambda key: [in_order(part) for part in key])
    large = sum(merged.values()) >= 1 << 62  # of units of people: sums and noise need room, too
    counts = np.array([merged[key] for key in order], object if large else np.int64)
    if kinds is not None and not {"boolean", "number"}.isdisjoint(kinds):  # others are shown as they are
        order = [tuple(labels_of_kind([part], kind)[0] for part, kind in zip(key, kinds, strict=True)) for key in order]
    return order, counts
