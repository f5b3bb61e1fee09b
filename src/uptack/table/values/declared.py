"""Columns whose kind the curator declares, whatever type their container has.

A container's type may have been chosen by its rows: in pandas one missing integer makes a column of floats, and one
missing truth value a column of objects. A declared kind is the curator's word in its place. Each row is read by itself,
and a row that does not fit is a missing value, so neighbours look alike in everything but the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.table.values.field import MOST_INTEGER, Array, Field, Mask
from uptack.table.values.times import DAY, Form, objects_as_ticks

Read = tuple[Array, Mask | None]


def _integers(found: Field) -> Read:
    """Whole numbers of 64 bits; what is none is missing."""
    if found.kind == "integer":
        values, gone = found.numbers()
        return values, np.zeros(found.size, bool) if gone is None else gone
    floats = found.floats()
    whole = np.isfinite(floats) & (np.floor(floats) == floats) & (np.abs(floats) < float(MOST_INTEGER))
    return np.where(whole, floats, 0.0).astype(np.int64), ~whole


def _numbers(found: Field) -> Read:
    return found.floats(), None


def _truths(found: Field) -> Read:
    """True and False; what is neither is missing."""
    rows = found.rows()
    fits = np.fromiter((type(row) in (bool, np.bool_) for row in rows), bool, found.size)
    return np.fromiter((row is True or row is np.True_ for row in rows), bool, found.size) & fits, ~fits


def _texts(found: Field) -> Read:
    """Texts; what is none is missing."""
    rows = [str.__str__(row) if issubclass(type(row), str) else None for row in found.rows()]  # no row's own method
    values = np.empty(found.size, object)
    values[:] = rows
    return values, np.fromiter((row is None for row in rows), bool, found.size)


FORMS = {"date": Form("date"), "datetime": Form("clock"), "datetime-utc": Form("utc"), "duration": Form("duration")}
"""Kinds of times and durations, and how they are shown."""


def _moments(form: Form) -> Callable[[Field], Read]:
    """Times, as they are or as ISO 8601 writes them, or durations; what is none is missing."""

    def read(found: Field) -> Read:
        ticks, gone = found.ticks() if found.kind == form.kind else objects_as_ticks(found.rows(), form)
        if form.word == "date":
            return (ticks // DAY).view("M8[D]"), gone
        return ticks.view("m8[us]" if form.word == "duration" else "M8[us]"), gone

    return read


READ: dict[str, Callable[[Field], Read]] = {
    **{name: _moments(form) for name, form in FORMS.items()},
    "integer": _integers,
    "number": _numbers,
    "boolean": _truths,
    "text": _texts,
}


def declared(found: Field, kind: str) -> Field:
    """The same rows as a column of this kind."""
    form = FORMS.get(kind)
    plain: Any = kind if form is None else form.kind
    return Field(plain, found.size, lambda: READ[kind](found), form=form)


def all_declared(fields: Mapping[str, Field], types: Mapping[str, Any] | None) -> dict[str, Field]:
    """Columns with the kinds that were declared, and the others as their containers have them."""
    for name, kind in (types or {}).items():
        if name not in fields:
            raise InvalidArgument("types", f"for columns that there are: {', '.join(map(repr, fields))}", repr(name))
        if kind not in READ:
            raise InvalidArgument(f"types[{name!r}]", f"one of {', '.join(map(repr, READ))}", checks.describe(kind))
    return {name: declared(f, types[name]) if types and name in types else f for name, f in fields.items()}
