"""A table in memory: named fields, each an array with a mask of the rows that have no value."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.columns.column import ArrayColumn, Column
from uptack.columns.selection import Floats
from uptack.data.protocol import NUMERIC, Counts, Kind, assigned, comparable, known, known_all, tidy
from uptack.errors import InvalidArgument
from uptack.noise import Entropy
from uptack.noise.entropy import source as entropy_source

Array = NDArray[Any]
PYTHON_TIMES = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us")
"""Units of time that Python's own dates know."""


class Field:
    """One column: its kind by its type, and its values, read when they are asked for.

    `read` gives an array, and a mask of the rows without a value or None. What the array holds there does not matter.
    """

    def __init__(self, kind: Kind, size: int, read: Callable[[], tuple[Array, Array | None]]) -> None:
        self.kind, self.size, self._read = kind, size, read

    @cached_property
    def _values(self) -> tuple[Array, Array | None]:
        values, missing = self._read()
        if values.dtype.kind == "f":
            values = values.astype(np.float64, copy=False)
        return values, missing if missing is not None and missing.any() else None

    def numbers(self) -> Array:
        """Integers if all rows have one, otherwise floats with NaN for missing rows."""
        values, missing = self._values
        if missing is None:
            return values.astype(np.int8) if values.dtype.kind == "b" else values
        return np.where(missing, np.nan, values.astype(np.float64))

    def column(self) -> Column:
        """The field as a numeric column."""
        return ArrayColumn(self.numbers(), integers=self.kind != "number")

    def codes(self) -> tuple[list[Any], NDArray[np.int64]]:
        """The values that occur as plain objects, and each row's place in that list."""
        values, missing = self._values
        if values.dtype.kind == "f":
            missing = np.isnan(values) if missing is None else missing | np.isnan(values)
        if values.dtype.kind == "O":
            return _codes_of_objects(values, missing, self.kind == "text")
        if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] not in PYTHON_TIMES:
            values = values.astype("datetime64[us]")
        distinct, codes = np.unique(values, return_inverse=True)
        if missing is None:
            return distinct.tolist(), codes
        return [*distinct.tolist(), None], np.where(missing, distinct.size, codes)

    def equal(self, value: Any) -> NDArray[np.bool_]:
        """The rows with this value, or without any."""
        found, codes = self.codes()
        places = [i for i, other in enumerate(found) if other is value or (value is not None and other == value)]
        return np.isin(codes, places)

    def taken(self, rows: NDArray[np.int64]) -> Field:
        """Some of the rows."""
        values, missing = self._values
        return Field(self.kind, rows.size, lambda: (values[rows], None if missing is None else missing[rows]))


def _text(value: Any) -> str | date | None:
    """A value of a column of texts, or dates: the text of what is neither, None for NaN, and never an error."""
    if isinstance(value, str | date) or value is None:
        return value
    try:
        return None if isinstance(value, float) and value != value else str(value)
    except Exception:
        return type(value).__name__


def _codes_of_objects(values: Array, missing: Array | None, texts: bool) -> tuple[list[Any], NDArray[np.int64]]:
    places: dict[Any, int] = {}
    gone = itertools.repeat(False) if missing is None else missing
    pairs = zip(values, gone, strict=missing is not None)
    plain = (None if absent else _text(value) if texts else value for value, absent in pairs)
    codes = np.fromiter((places.setdefault(value, len(places)) for value in plain), np.int64, values.size)
    return list(places), codes


class MemorySource:
    """A table of fields in memory."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        if len({field.size for field in fields.values()}) > 1:
            sizes = ", ".join(f"{name!r}: {field.size}" for name, field in fields.items())
            raise InvalidArgument("data", "columns of equal length", sizes)
        self._fields = dict(fields)
        self.rows = next((field.size for field in fields.values()), 0)
        self.columns: Mapping[str, Kind] = MappingProxyType({name: field.kind for name, field in fields.items()})

    def __repr__(self) -> str:
        return f"MemorySource of {len(self.columns)} columns"

    def column(self, name: str) -> Column:
        """A numeric column."""
        return self._fields[known(name, self.columns, NUMERIC)].column()

    def counts(self, names: Sequence[str]) -> Counts:
        """Combinations of values, and how often they occur."""
        read = [self._fields[name].codes() for name in known_all(names, self.columns)]
        if not self.rows:
            return [], np.zeros(0, np.int64)
        cells = np.zeros(self.rows, np.int64)
        for distinct, codes in read:  # numbered anew after each column, so that they stay below rows²
            cells = np.unique(cells * len(distinct) + codes, return_inverse=True)[1]
        firsts, sizes = np.unique(cells, return_index=True, return_counts=True)[1:]
        keys = (tuple(distinct[codes[first]] for distinct, codes in read) for first in firsts)
        return tidy(zip(keys, sizes, strict=True))

    def categories(self, name: str) -> dict[Any, int]:
        """The values of one column, and how often they occur."""
        keys, counts = self.counts([name])
        return {key: int(count) for (key,), count in zip(keys, counts, strict=True)}

    def matrix(self, names: Sequence[str]) -> Floats:
        """Numeric columns side by side."""
        wanted = known_all(names, self.columns, NUMERIC)
        made = np.empty((self.rows, len(wanted)))
        for place, name in enumerate(wanted):
            made[:, place] = self._fields[name].numbers()
        return made

    def blocks(
        self, names: Sequence[str], count: int, *, id: str | None = None, entropy: Entropy | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Each row's block, and the matrix of the named columns."""
        number, bits = checks.integer("count", count, least=1), entropy_source(entropy)
        known_all(names, self.columns, NUMERIC)
        owners = np.arange(self.rows) if id is None else self._fields[known(id, self.columns)].codes()[1]
        return assigned(owners, number, bits), self.matrix(names)

    def restricted(self, name: str, value: Any) -> MemorySource:
        """The rows with this value."""
        wanted = comparable(name, self.columns[known(name, self.columns)], value)
        rows = np.flatnonzero(self._fields[name].equal(wanted))
        return MemorySource({other: field.taken(rows) for other, field in self._fields.items()})
