"""A column in memory: its declared kind, its values, and which rows have none."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import interrupts
from uptack.table.values.kinds import LARGEST, Kind, canonical, in_order, labels_of_kind, number
from uptack.table.values.times import Form, ticks_of

Array = NDArray[Any]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
LEAST_INTEGER, MOST_INTEGER = -(1 << 63), (1 << 63) - 1


class Field:
    """One column: its kind by its type, and its values, read when they are asked for.

    `read` gives an array, and a mask of the rows without a value. The mask is None where the container has no way to
    say that a row is missing; whether any row is, is not looked at. What the array holds in such a row does not matter.
    `form` says how times and durations are shown, by their type, and `categories` that texts may be categories of any
    type.
    """

    def __init__(
        self,
        kind: Kind,
        size: int,
        read: Callable[[], tuple[Array, Mask | None]],
        *,
        form: Form | None = None,
        categories: bool = False,
    ) -> None:
        self.kind, self.size, self.categories, self.read, self._form = kind, size, categories, read, form

    @cached_property
    def _values(self) -> tuple[Array, Mask | None]:
        """Integers as int64 or uint64, floats as float64."""
        values, missing = self.read()
        code = values.dtype.kind
        if code == "f" and values.dtype != np.float64:
            if values.itemsize > 8:  # a finite number beyond all floats is ±the largest
                values = np.where(np.isinf(values), values, np.clip(values, -LARGEST, LARGEST))
            values = values.astype(np.float64)
        elif code in "iu" and values.dtype not in (np.int64, np.uint64):
            values = values.astype(np.uint64 if code == "u" and values.itemsize == 8 else np.int64)
        return values, missing

    # ------------------------------------------------------------------------------------------------------ as numbers

    def numbers(self) -> tuple[Array, Mask | None]:
        """int64, uint64 or float64, and the rows without a value; in floats these are NaN as well.

        The type follows the kind, whatever the rows: whole numbers are never read as floats. Rows of integers with 128
        bits are clamped to 64 of them, one by one.
        """
        values, missing = self._values
        if self.kind == "boolean":
            return values.astype(np.int64), missing
        if self.kind == "integer" and values.dtype.kind == "O":
            clamped = (min(max(v or 0, LEAST_INTEGER), MOST_INTEGER) for v in values)
            return np.fromiter(clamped, np.int64, self.size), missing
        if self.kind == "integer":
            return values, missing
        floats = values
        if values.dtype != np.float64:  # each by itself: see `uptack.table.values.kinds.number`
            floats = interrupts.watched(lambda: np.fromiter(map(number, values), np.float64, len(values)))
        return (floats if missing is None else np.where(missing, np.nan, floats)), missing

    @property
    def form(self) -> Form:
        """How its times or durations are shown."""
        assert self._form is not None, "neither times nor durations"
        return self._form

    def ticks(self) -> tuple[NDArray[np.int64], Mask]:
        """Times and durations as exact ticks, and the rows without one: see `uptack.table.values.times`."""
        values, missing = self._values
        ticks, gone = ticks_of(values)
        return ticks, gone if missing is None else gone | missing

    def floats(self) -> Floats:
        """The nearest floats, with NaN for rows without a value."""
        values, missing = self.numbers()
        floats = values.astype(np.float64, copy=False)
        return floats if missing is None else np.where(missing, np.nan, floats)

    def flags(self) -> Mask:
        """The rows that are True. A row of another type is not, nor is one without a value."""
        values, missing = self._values
        if self.kind == "any":
            return np.fromiter((type(v) in (bool, np.bool_) and bool(v) for v in self.rows()), bool, self.size)
        return values.astype(bool) if missing is None else values.astype(bool) & ~missing

    # ---------------------------------------------------------------------------------------------------- as categories

    def codes(self) -> tuple[list[Hashable], NDArray[np.int64]]:
        """The canonical values that occur, in order and as the kind shows them, and each row's place in that list."""
        values, missing = self._values
        code = values.dtype.kind
        if code not in "iufbMm":
            found, codes = _encode(self.rows())
            labels, places = _merge_labels(found)
            return labels_of_kind(labels, self.kind), places[codes]
        gone = np.zeros(self.size, bool) if missing is None else missing
        gone = gone | (np.isnan(values) if code == "f" else np.isnat(values) if code in "Mm" else False)
        there = values[~gone]
        distinct, inverse = np.unique(there + 0.0 if code == "f" else there, return_inverse=True)  # -0.0 is 0.0
        found = distinct.tolist()
        if code in "Mm":
            plain = [canonical(value) for value in distinct]
            if self._form is not None and self._form.word == "utc":
                plain = [value.replace(tzinfo=UTC) if isinstance(value, datetime) else value for value in plain]
            found, places = _merge_labels(plain)
            inverse = places[inverse]
        codes = np.full(self.size, len(found), np.int64)
        codes[~gone] = inverse
        return found + [None] * bool(gone.any()), codes

    def places(self) -> tuple[NDArray[np.int64], int]:
        """Each row's place among the values that occur, -1 for rows without one, and how many values there are."""
        found, codes = self.codes()
        if not found or found[-1] is not None:
            return codes, len(found)
        return np.where(codes == len(found) - 1, -1, codes), len(found) - 1

    def equal(self, value: Any) -> Mask:
        """The rows that have this value; those that have none, if it is a missing one."""
        wanted, (found, codes) = canonical(value), self.codes()
        return np.isin(codes, [i for i, other in enumerate(found) if canonical(other) == wanted])

    def rows(self) -> list[Any]:
        """The rows as a list, None for those without a value."""
        values, missing = self._values
        rows: list[Any] = list(values) if values.dtype.kind == "O" else values.tolist()
        return rows if missing is None else [None if gone else v for v, gone in zip(rows, missing, strict=True)]

    # ------------------------------------------------------------------------------------------------------------ parts

    def array(self) -> Array:
        """The rows as an array of NumPy, of a type that follows the kind.

        Whole numbers and truth values are a masked array where the container can say that a row is missing; texts are
        objects, since the width of a NumPy text is that of the longest row.
        """
        values, missing = self._values
        if self.kind == "number":
            return self.floats()
        if self.kind == "boolean" or self.kind == "integer":
            plain = values if self.kind == "boolean" else self.numbers()[0]
            return plain if missing is None else np.ma.MaskedArray(plain, missing)
        if values.dtype.kind in "Mm":
            return values if missing is None else np.where(missing, np.array("NaT", values.dtype), values)
        return np.fromiter(self.rows(), object, self.size)

    def take(self, rows: NDArray[np.int64]) -> Field:
        """Some of the rows."""

        def read() -> tuple[Array, Mask | None]:
            values, missing = self._values
            return values[rows], None if missing is None else missing[rows]

        return Field(self.kind, rows.size, read, form=self._form, categories=self.categories)

    def hiding(self, hidden: Mask) -> Field:
        """The same column, in which hidden rows have no value."""

        def read() -> tuple[Array, Mask]:
            values, missing = self._values
            return values, hidden if missing is None else missing | hidden

        return Field(self.kind, self.size, read, form=self._form, categories=self.categories)


def no_rows(kind: Kind, form: Form | None = None, categories: bool = False) -> Field:
    """A column of this kind without rows; `form` and `categories` are those of a `Field`."""
    types = {"integer": np.int64, "number": np.float64, "boolean": np.bool_, "time": "M8[us]", "duration": "m8[us]"}

    def read() -> tuple[Array, Mask | None]:
        return np.zeros(0, types.get(kind, object)), None  # type: ignore[call-overload]

    return Field(kind, 0, read, form=form, categories=categories)


def _encode(rows: list[Any]) -> tuple[list[Hashable], NDArray[np.int64]]:
    """The canonical values of rows, and each row's place in that list."""
    plain: list[Any] = rows
    if not all(type(row) in (str, int, NoneType) for row in rows):  # of which equal ones are alike, and done once
        plain = interrupts.watched(lambda: [canonical(value) for value in rows])
    places: dict[Any, int] = {}
    codes = np.fromiter((places.setdefault(value, len(places)) for value in plain), np.int64, len(rows))
    return [canonical(value) for value in places], codes


def _merge_labels(found: list[Hashable]) -> tuple[list[Hashable], NDArray[np.int64]]:
    """Canonical values in order, each once, and where those of a list are among them."""
    labels = sorted(set(found), key=in_order)
    order = {label: i for i, label in enumerate(labels)}
    return labels, np.array([order[label] for label in found], np.int64)


class CodedField(Field):
    """A field of any kind from its canonical values, in order, and each row's place among them."""

    def __init__(self, kind: Kind, values: Sequence[Hashable], places: NDArray[np.int64]) -> None:
        self._labels, self._places = labels_of_kind(list(values), kind), places
        super().__init__(kind, places.size, self._read_rows)

    def _read_rows(self) -> tuple[Array, Mask]:
        """The rows as the kind holds them. Whether any row is missing does not change their type."""
        gone = np.array([label is None for label in self._labels], bool)
        exact = {"boolean": np.bool_, "number": np.float64}.get(self.kind, object)
        held: Array = np.fromiter((False if label is None else label for label in self._labels), exact, gone.size)
        return held[self._places], gone[self._places]

    def codes(self) -> tuple[list[Hashable], NDArray[np.int64]]:
        """The values, and each row's place."""
        return list(self._labels), self._places
