"""Answers as a neutral list of lines, one figure each, and data frames made from it."""

from __future__ import annotations

import datetime as dt
import importlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from uptack.display.numbers import plain
from uptack.errors import UptackError
from uptack.labels import label

Record: TypeAlias = dict[str, Any]
"""One figure: what it is of, then `value`, `low` and `high`, then what it cost and a note. None stands for nothing."""

Ends: TypeAlias = tuple[Any, Any] | None
"""The ends of an interval, in the form of the value that it is around."""

NUMBERS = ("value", "low", "high", "epsilon", "delta")
"""Columns that hold numbers, also where there are none."""

KEPT = (*NUMBERS, "note", "margin", "group")
"""Names that have a meaning of their own."""

LARGEST = 1 << 63


def line(names: Record, value: Any, low: Any = None, high: Any = None) -> Record:
    """A figure with what it is of.

    >>> line({"group": "a"}, 3.5, 3, 4)
    {'group': 'a', 'value': 3.5, 'low': 3, 'high': 4}
    """
    return {**names, "value": plain(value), "low": plain(low), "high": plain(high)}


def named(columns: Record) -> Record:
    """Names of columns out of data beside the names that have a meaning: those that are taken get a mark.

    >>> named({"age": 3, "value": 4, "value_": 5})
    {'age': 3, 'value__': 4, 'value_': 5}
    """
    made: Record = {}
    for name, value in columns.items():
        free = name
        while free in KEPT or (free != name and free in columns):
            free = f"{free}_"
        made[free] = value
    return made


def of_value(value: Any, ends: Ends = None, labels: Sequence[Any] = ()) -> list[Record]:
    """One line per figure of a released value, with the ends of its intervals.

    A value that has several figures says so itself (`figures`). The entries of a vector are named by `labels`, or
    numbered.

    >>> of_value(np.array([2.0, 5.0]), ([1, 4], [3, 6]), [0.25, 0.75])[1]
    {'figure': 0.75, 'value': 5.0, 'low': 4, 'high': 6}
    """
    if hasattr(value, "figures"):
        made: list[Record] = value.figures(ends)
        return made
    low: Any
    high: Any
    low, high = (None, None) if ends is None else ends
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return [line({}, value, *((low, high) if np.ndim(low) == np.ndim(high) == 0 else ()))]
    places = list(np.ndindex(value.shape))
    if value.ndim == 1:
        named = list(labels) if len(labels) == value.size else range(value.size)
        names = [{"figure": name} for name in named]
    else:
        names = [{f"axis {i}": j for i, j in enumerate(place)} for place in places]
    bounds = [np.broadcast_to(np.asarray(end, object), value.shape) for end in (low, high)]
    return [line(name, value[at], *(end[at] for end in bounds)) for name, at in zip(names, places, strict=True)]


# --------------------------------------------------------------------------------------------------------- data frames


def columns(records: Sequence[Record]) -> dict[str, list[Any]]:
    """The same as columns that every library of data frames can hold: one type each, texts that can be written."""
    names = dict.fromkeys(name for record in sorted(records, key=len, reverse=True) for name in record)
    return {name: _of_one_type([plain(record.get(name)) for record in records]) for name in names}


def _of_one_type(values: list[Any]) -> list[Any]:
    """Values of one type as they are, integers among floats as floats, any others as labels."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and not (kinds == {int} and all(v is None or abs(v) < LARGEST for v in values)):
        return [None if value is None else float(value) for value in values]
    if len(kinds) > 1 or not kinds <= {bool, int, str, dt.date, dt.datetime, dt.timedelta, dt.time}:
        values = [None if value is None else label(value) for value in values]
    return [v.encode("utf-8", "backslashreplace").decode() if isinstance(v, str) else v for v in values]


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise UptackError(f'a table of {name} needs {name}: pip install "uptack[frames]"') from missing


def to_pandas(records: Sequence[Record]) -> Any:
    """The lines as a data frame of pandas."""
    pandas, held = _library("pandas"), columns(records)
    empty = {name: np.float64 for name in NUMBERS if name in held and all(v is None for v in held[name])}
    return pandas.DataFrame(held).astype(empty)


def to_polars(records: Sequence[Record]) -> Any:
    """The lines as a data frame of Polars."""
    polars, held = _library("polars"), columns(records)
    empty = {name: polars.Float64 for name in NUMBERS if name in held and all(v is None for v in held[name])}
    return polars.DataFrame(held, schema_overrides=empty)
