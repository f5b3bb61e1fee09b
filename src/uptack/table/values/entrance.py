"""The one entrance for data: whatever a caller passes becomes columns of a declared kind.

The kind comes from the container's own type, never from its rows; each row is read by itself, and one that does not fit
is a missing value. So neither how other rows are read nor whether there is an error depends on any row. Behind the
entrance no code looks at a type of NumPy or of another library.

Columns whose kind the curator declares, whatever type their container has.

A container's type may have been chosen by its rows: in pandas one missing integer makes a column of floats, and one
missing truth value a column of objects. A declared kind is the curator's word in its place. Each row is read by itself,
and a row that does not fit is a missing value, so neighbours look alike in everything but the answer.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks, interrupts
from uptack.errors import InvalidArgument
from uptack.table.values import containers
from uptack.table.values.field import MOST_INTEGER, Array, Field, Floats, Mask
from uptack.table.values.kinds import NUMERIC, Kind, number
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


HELD: dict[Kind, tuple[str, str]] = {
    "text": ("texts or categories", "Convert it to numbers first, or count its values with uptack.histogram."),
    "time": ("times", "Pass the time since a public date as a number, as in (x - date) / np.timedelta64(1, 's')."),
    "duration": ("durations", "Divide it by a unit, as in x / np.timedelta64(1, 's')."),
    "other": ("values of another type than numbers", "Pick one numeric column."),
}
"""What a column that is no numeric one holds, and what to do."""


def field(name: str, x: Any, must: str = "a one-dimensional column", fix: str = "Pick one column.") -> Field:
    """A column of any kind. `name` is what it is called in an error."""
    found = x if isinstance(x, Field) else containers.foreign(x)
    if found is not None:
        return found
    if isinstance(x, np.ndarray) or (hasattr(x, "__array__") and containers.frame(x) is None):
        made = x if isinstance(x, np.ndarray) else _converted(x)
        if made is not None and made.ndim == 1:
            typed = made is x or hasattr(x, "dtype")  # else its rows decide what type NumPy makes of them
            return containers.of_numpy(made) if typed else containers.of_list(list(made))
    elif isinstance(x, range | array.array):
        return containers.of_numpy(np.asarray(x))
    elif isinstance(x, Sequence) and not isinstance(x, str | bytes | bytearray | memoryview):
        return containers.of_list(list(x))
    raise InvalidArgument(name, must, checks.outline(x), fix)


def _converted(x: Any) -> Any:
    """What an object says it is as an array; None where that fails, for a reason that may tell of its content."""

    def convert() -> Any:
        try:
            return np.asarray(x)
        except BaseException:
            interrupts.check()
            return None

    return interrupts.watched(convert)


def column(name: str, x: Any) -> Field:
    """A column of numbers. A column of another kind is refused by its declared type alone.

    >>> column("x", [1, None, "a", 2.5]).floats()
    array([1. , nan, nan, 2.5])
    >>> column("x", np.array(["2024-02-29"], "M8[D]"))
    Traceback (most recent call last):
    uptack.errors.InvalidArgument: x must be a one-dimensional column of numbers, got a column of times. Pass the time
    since a public date as a number, as in (x - date) / np.timedelta64(1, 's').
    """
    must = "a one-dimensional column of numbers"
    return numeric(name, field(name, x, must, "Pick one numeric column."), must)


def numeric(name: str, found: Field, must: str) -> Field:
    """The field itself, if its rows can be read as numbers."""
    if found.kind not in NUMERIC:
        what, fix = HELD[found.kind]
        raise InvalidArgument(name, must, f"a column of {what}", fix)
    return found


def matrix(name: str, x: Any, must: str = "a table of numbers") -> Floats:
    """Columns of numbers side by side, one line per row; a missing value is NaN. A single column gives one dimension.

    x is a column, a frame or an array of two dimensions. A list is one column: one of rows has no declared width, which
    no row may decide, so an entry that is a list is no number. `numpy.array(rows)` has a width.

    >>> matrix("x", [1, None, [3, 4]])
    array([ 1., nan, nan])
    """
    columns = containers.frame(x)
    if columns is not None:
        fields = [column(f"{name}[{label!r}]", part) for label, part in columns]
        return np.column_stack([part.floats() for part in fields]) if fields else np.empty((len(x), 0))
    if isinstance(x, np.ndarray) and x.ndim == 2:
        flat = numeric(name, containers.of_numpy(x.reshape(-1)), must)
        return flat.floats().reshape(x.shape)
    return numeric(name, field(name, x, must, ""), must).floats()


def flags(rows: Any) -> NDArray[np.bool_] | None:
    """Which rows of a column of truth values, or of one without a declared type, are True; None for other columns.

    One row that is None or a text does not change how the others are read.

    >>> flags([True, None, False, "yes", True]).tolist()
    [True, False, False, False, True]
    """
    try:
        found = field("rows", rows)
    except InvalidArgument:  # a table
        return None
    return found.flags() if found.kind in ("boolean", "any") else None


def indexed(name: str, x: Any) -> Array:
    """Rows that can be picked by their numbers: a column by its kind, a table as an array of floats."""
    if isinstance(x, np.ndarray) and x.ndim > 1:
        return x
    if containers.frame(x) is not None:
        return matrix(name, x)
    return field(name, x).array()


# --------------------------------------------------------------------------------------------- values that get noise

MOST = 1 << 53
"""Integers are clamped to ± this many: floats can't tell larger ones apart evenly."""


def numbers(name: str, value: Any, dimensions: tuple[int, ...] = (0, 1)) -> Floats:
    """Real numbers computed from rows, as floats; NaN and what is no number is read as 0, ±inf as the largest float.

    An error must not depend on the data, so only the shape and the declared type are checked. Integers are clamped to
    ±2^53, one by one, which brings no two of them further apart.
    """
    words = {0: "a number", 1: "a one-dimensional array", 2: "a two-dimensional array"}
    must = " or ".join(words[d] for d in dimensions) + " of real numbers"
    if isinstance(value, Real | Decimal | np.bool_):
        made = np.array(_exact(value))
    elif isinstance(value, np.ndarray):
        flat = numeric(name, containers.of_numpy(value.reshape(-1)), must)
        made = _clamped(flat).reshape(value.shape)
    elif 2 in dimensions and isinstance(value, list | tuple):
        made = matrix(name, value, must)
    else:
        made = _clamped(numeric(name, field(name, value, must, ""), must))
    if made.ndim not in dimensions or made.size == 0:
        raise InvalidArgument(name, must, checks.outline(value))
    bounded: Floats = np.nan_to_num(made)
    return bounded


def _clamped(found: Field) -> Floats:
    if found.kind == "any":
        return np.fromiter(map(_exact, found.array()), np.float64, found.size)
    if found.kind == "number":
        return found.floats()
    values, missing = found.numbers()
    clamped = np.minimum(values, MOST) if values.dtype == np.uint64 else np.clip(values, -MOST, MOST)
    floats: Floats = clamped.astype(np.float64)
    return floats if missing is None else np.where(missing, 0.0, floats)


def _exact(value: Any) -> float:
    return min(max(number(value), -MOST), MOST) if isinstance(value, Integral) else number(value)
