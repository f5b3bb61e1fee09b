"""What f may return, in a form in which it crosses from one process to another: plain values, and nothing that runs.

A number or vector is its bytes. An outcome is written as text, with a name for its type: None, truth values, integers,
floats, texts, bytes, Decimals, fractions, dates, times, durations, and tuples and frozensets of these. An object of a
subclass counts as one of the class. Anything else is no outcome. Reading an answer can't run code, and takes time in
proportion to its length.

Outcomes that are equal look alike: Decimals lose trailing zeros, moments are told in UTC, sets have a fixed order.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

VECTOR, TEXT = b"v", b"t"


def encode_answer(value: Any) -> bytes:
    """An accepted value as bytes; TypeError where it is not plain.

    >>> value = (1, 2.5, frozenset({"b", "a"}), Decimal("1.50"))
    >>> decode_answer(encode_answer(value)) == value
    True
    """
    if isinstance(value, np.ndarray):
        return VECTOR + value.astype("<f8").tobytes()
    return TEXT + json.dumps(_written(value)).encode()


def decode_answer(answer: bytes) -> Any:
    """The value again."""
    if answer[:1] == VECTOR:
        return np.frombuffer(answer[1:], "<f8").astype(np.float64)
    return _read(json.loads(answer[1:]))


def _moment(value: dt.datetime) -> list[Any]:
    zoned = value.utcoffset() is not None
    at = value.astimezone(dt.UTC) if zoned else value
    return [at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond, zoned]


def _time(value: dt.time) -> list[int]:
    if value.tzinfo is not None:
        raise TypeError("a time of day in a zone is no moment")
    return [value.hour, value.minute, value.second, value.microsecond]


def _decimal(value: Decimal) -> str:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return str(value)  # infinite; NaN is not equal to itself and has been refused
    number = "".join(map(str, digits))
    kept = number.rstrip("0")
    return f"{'-' * sign}{kept}e{exponent + len(number) - len(kept)}" if kept else "0"


def _sorted(value: frozenset[Any]) -> list[Any]:
    return sorted((_written(part) for part in value), key=json.dumps)


FORMS: dict[type, Callable[[Any], Any]] = {
    bool: bool,
    int: hex,
    float: lambda value: (float(value) + 0.0).hex(),
    str: str.__str__,
    bytes: lambda value: bytes(value).hex(),
    tuple: lambda value: [_written(part) for part in value],
    frozenset: _sorted,
    Decimal: _decimal,
    Fraction: lambda value: [hex(value.numerator), hex(value.denominator)],
    dt.datetime: _moment,
    dt.date: lambda value: [value.year, value.month, value.day],
    dt.time: _time,
    dt.timedelta: lambda value: [value.days, value.seconds, value.microseconds],
}
READERS: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": lambda text: int(text, 16),
    "float": float.fromhex,
    "str": str,
    "bytes": bytes.fromhex,
    "tuple": lambda parts: tuple(map(_read, parts)),
    "frozenset": lambda parts: frozenset(map(_read, parts)),
    "Decimal": Decimal,
    "Fraction": lambda parts: Fraction(*(int(part, 16) for part in parts)),
    "datetime": lambda parts: dt.datetime(*parts[:7]).replace(tzinfo=dt.UTC if parts[7] else None),
    "date": lambda parts: dt.date(*parts),
    "time": lambda parts: dt.time(*parts),
    "timedelta": lambda parts: dt.timedelta(*parts),
}


def _written(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    for kind, form in FORMS.items():
        if isinstance(value, kind):
            return [kind.__name__, form(value)]
    raise TypeError("not a plain value")


def _read(written: Any) -> Any:
    return None if written is None else READERS[written[0]](written[1])
