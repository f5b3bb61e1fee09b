"""The one entrance for data: whatever a caller passes becomes columns of a declared kind.

The kind comes from the container's own type, never from its rows; each row is read by itself, and one that does not fit
is a missing value. So neither how other rows are read nor whether there is an error depends on any row. Behind the
entrance no code looks at a type of NumPy or of another library: a column is a `Field`. pandas and polars are used,
never imported; Arrow's own functions read its columns.

**Declared kinds.** A container's type may have been chosen by its rows: in pandas one missing integer makes a column of
floats, and one missing truth value a column of objects. A declared kind is the curator's word in its place.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Real
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks, interrupts
from uptack.errors import InvalidArgument
from uptack.table.names import column_name
from uptack.table.packages import pa, pc
from uptack.table.values.kinds import LARGEST, NUMERIC, Kind, canonical, in_order, labels_of_kind, number
from uptack.table.values.times import (
    DAY,
    FORMS,
    TIMED,
    TYPES,
    Form,
    form_of,
    has_fixed_unit,
    objects_as_ticks,
    ticks_of,
)

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
            labels, places = merge_labels(found)
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
            found, places = merge_labels(plain)
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
        return self._changed(
            rows.size, lambda values, missing: (values[rows], None if missing is None else missing[rows])
        )

    def hiding(self, hidden: Mask) -> Field:
        """The same column, in which hidden rows have no value."""
        return self._changed(
            self.size, lambda values, missing: (values, hidden if missing is None else missing | hidden)
        )

    def _changed(self, size: int, change: Callable[[Array, Mask | None], tuple[Array, Mask | None]]) -> Field:
        return Field(self.kind, size, lambda: change(*self._values), form=self._form, categories=self.categories)


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


def merge_labels(found: list[Hashable]) -> tuple[list[Hashable], NDArray[np.int64]]:
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
        return list(self._labels), self._places


# ----------------------------------------------------------------------------------------------- columns of containers

NUMPY_KINDS: dict[str, Kind] = {
    "i": "integer",
    "u": "integer",
    "f": "number",
    "b": "boolean",
    "U": "text",
    "T": "text",
    "M": "time",
    "m": "duration",
    "O": "any",
}


def package(x: object) -> str:
    """The package that an object comes from."""
    return type(x).__module__.split(".")[0]


def objects(values: list[Any]) -> Array:
    """A list as an array of the same objects."""
    return np.fromiter(values, object, len(values))


# ---------------------------------------------------------------------------------------------------------------- NumPy


def of_numpy(values: Array) -> Field:
    """An array of one dimension; where it is a masked one, masked rows have no value."""
    plain = np.asarray(values)
    masked = type(values) is not np.ndarray and isinstance(values, np.ma.MaskedArray)  # which takes long to import
    missing = np.ma.getmaskarray(values) if masked else None
    if plain.dtype.kind in "Mm":
        kind: Kind = NUMPY_KINDS[plain.dtype.kind] if has_fixed_unit(plain.dtype) else "other"
        return Field(kind, plain.size, lambda: (plain, missing), form=form_of(plain.dtype))
    return Field(NUMPY_KINDS.get(plain.dtype.kind, "other"), plain.size, lambda: (plain, missing))


def of_list(values: list[Any] | tuple[Any, ...]) -> Field:
    """A list has no declared type: whatever is in it, each row is read by itself."""
    return Field("any", len(values), lambda: (objects(list(values)), None))


# --------------------------------------------------------------------------------------------------------------- pandas


def of_pandas(series: Any) -> Field:
    """A column of pandas. Categories are read as texts: one text among numbers would make objects of all of them."""
    dtype, size = series.dtype, len(series)
    if isinstance(dtype, np.dtype):
        return of_numpy(series.to_numpy())
    array, nullable = getattr(series, "array", series), hasattr(dtype, "numpy_dtype")
    if nullable and not hasattr(array, "__arrow_array__"):  # an array of NumPy with a wrapper
        return of_numpy(series.to_numpy())
    if nullable or hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", "") == "pyarrow":
        return _through_arrow(array, lambda rows: rows.__arrow_array__())
    if hasattr(dtype, "tz") and hasattr(dtype, "unit"):
        width = f"datetime64[{dtype.unit}]"
        return Field("time", size, lambda: (series.to_numpy(dtype=width), None), form=Form("utc"))
    if (unit := PERIODS.get(str(dtype).removeprefix("period[").removesuffix("]"))) and hasattr(dtype, "freq"):
        period = np.dtype(f"M8[{unit}]")  # of a period the moment in which it begins
        return Field("time", size, lambda: (array.asi8.view(period), None), form=form_of(period))
    if hasattr(dtype, "fill_value"):
        return _of_sparse(array, dtype)
    categories = hasattr(dtype, "categories")
    kind: Kind = "text" if categories or dtype.type is str else "other"

    def read() -> tuple[Array, Mask]:
        return np.asarray(series.astype(object), object), np.asarray(series.isna())

    return Field(kind, size, read, categories=categories)


def _of_sparse(array: Any, dtype: Any) -> Field:
    """A sparse column, by its declared subtype. Rows that are not stored have the fill value of the type.

    pandas itself makes floats of whole numbers and truth values as soon as one row is missing.
    """
    width, size = dtype.subtype, len(array)
    declared = of_numpy(np.zeros(0, width))
    filled = canonical(dtype.fill_value) is not None  # where its type can't hold it, rows not stored are missing
    filled = filled and (width.kind == "O" or bool(np.full(1, dtype.fill_value, width)[0] == dtype.fill_value))

    def read() -> tuple[Array, Mask | None]:
        stored = array.sp_index.to_int_index().indices
        values = np.full(size, dtype.fill_value, width) if filled else np.zeros(size, width)
        gone = np.ones(size, bool)
        values[stored], gone[stored] = np.asarray(array.sp_values).astype(width), False
        return values, None if filled else gone | np.asarray(array.isna())

    return Field(declared.kind, size, read, form=form_of(width) if width.kind in "Mm" else None)


PERIODS = {"Y-DEC": "Y", "A-DEC": "Y", "M": "M", "D": "D", "h": "h", "H": "h", "min": "m", "T": "m", "s": "s", "S": "s"}
PERIODS |= {"ms": "ms", "L": "ms", "us": "us", "U": "us", "ns": "ns", "N": "ns"}


# --------------------------------------------------------------------------------------------------------------- polars


def of_polars(series: Any) -> Field:
    """A column of polars. Arrow has no Python objects, and no integers of 128 bits."""
    words = str(series.dtype)
    if words == "Object":
        return of_list(series.to_list())
    if words.endswith("Int128"):
        return Field("integer", len(series), lambda: (objects(series.to_list()), series.is_null().to_numpy()))
    return _through_arrow(series, lambda rows: rows.to_arrow())


# ---------------------------------------------------------------------------------------------------------------- Arrow


def _through_arrow(column: Any, convert: Callable[[Any], Any]) -> Field:
    """A column that Arrow can hold. Its rows are converted when they are read; no rows are enough for its kind."""
    empty = of_arrow(convert(column[:0]))
    form = empty.form if empty.kind in TIMED else None
    return Field(empty.kind, len(column), lambda: of_arrow(convert(column)).read(), form=form)


def of_arrow(values: Any) -> Field:
    """A column of Arrow, whole or in chunks."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind, size = arrow_kind(values.type), len(values)
    if kind == "number":
        if pa.types.is_decimal(values.type):  # text is rounded once, and Arrow's own cast of decimals is not
            values = pc.cast(values, pa.string())
        return Field(kind, size, lambda: (_plain(pc.cast(values, pa.float64(), safe=False)), None))
    if kind in ("integer", "boolean"):
        empty = pa.scalar(kind == "boolean").cast(values.type) if kind == "boolean" else pa.scalar(0, values.type)
        return Field(kind, size, lambda: (_plain(pc.fill_null(values, empty)), _plain(pc.is_null(values))))
    if kind in TIMED:
        dated = pa.types.is_date(values.type)
        plain = pc.cast(values, pa.date32(), safe=False) if dated else values
        zoned = getattr(values.type, "tz", None) is not None
        form = Form("duration" if kind == "duration" else "date" if dated else "utc" if zoned else "clock")
        return Field(kind, size, lambda: (_plain(plain), None), form=form)
    return Field(kind, size, lambda: (_python(values), None))


def arrow_kind(dtype: Any) -> Kind:
    """The kind of a type of Arrow."""
    kinds: dict[Kind, tuple[Any, ...]] = {
        "integer": (pa.types.is_integer,),
        "number": (pa.types.is_floating, pa.types.is_decimal),
        "boolean": (pa.types.is_boolean,),
        "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
        "time": (pa.types.is_timestamp, pa.types.is_date),
        "duration": (pa.types.is_duration,),
        "any": (pa.types.is_null,),
    }
    return next((kind for kind, tests in kinds.items() if any(test(dtype) for test in tests)), "other")


def _plain(values: Any) -> Array:
    """An array of Arrow, whole or in chunks, as one of NumPy; null floats are NaN, null times NaT."""
    chunked = hasattr(values, "combine_chunks")
    made: Array = values.to_numpy() if chunked else values.to_numpy(zero_copy_only=False)
    return made


def _python(values: Any) -> Array:
    """Values of Arrow as those of Python. A row that Python can't hold is missing: it must not fail all others.

    Such are bytes that are no UTF-8, which Arrow does not check in texts, the year 20000, and a time of 24:00.
    """

    def one_by_one() -> Array:
        return objects([interrupts.attempt(value.as_py, lambda: None) for value in values])

    return interrupts.watched(lambda: interrupts.attempt(lambda: objects(values.to_pylist()), one_by_one))


READERS = {"pandas": of_pandas, "polars": of_polars, "pyarrow": of_arrow}
"""Which function reads the columns of which package."""


def frame_column(x: Any) -> Field | None:
    """A column of pandas, polars or Arrow; None for anything else."""
    read, single = READERS.get(package(x)), not hasattr(x, "columns") and not hasattr(x, "column_names")
    if read is None or not single or not (hasattr(x, "dtype") or hasattr(x, "type")):
        return None
    return read(x) if hasattr(x, "__len__") and getattr(x, "ndim", 1) == 1 else None


def frame(x: Any) -> list[tuple[str, Any]] | None:
    """The names and columns of a frame of pandas, polars or Arrow; None for anything else."""
    of = package(x)
    if of == "pandas" and hasattr(x, "columns"):
        return [(str(name), x.iloc[:, place]) for place, name in enumerate(x.columns)]
    if of == "polars" and hasattr(type(x), "columns"):
        eager = x.collect() if hasattr(x, "collect") else x
        return [(name, eager[name]) for name in eager.columns]
    if of == "pyarrow" and hasattr(x, "schema") and hasattr(x, "column"):
        return [(name, x.column(place)) for place, name in enumerate(x.schema.names)]
    return None


def parts(name: str, x: Any) -> list[tuple[str, Any]] | None:
    """The names and columns of a frame, of a tuple, or of an array of two dimensions; None for a single column."""
    if isinstance(x, np.ndarray) and x.ndim == 2:
        return [(f"{name}[{i}]", x[:, i]) for i in range(x.shape[1])]
    if isinstance(x, tuple):
        return [(own_name(column, f"{name}[{i}]"), column) for i, column in enumerate(x)]
    return frame(x)


def own_name(column: Any, otherwise: str) -> str:
    """The name that a column of pandas or polars has."""
    name = getattr(column, "name", None)
    return name if isinstance(name, str) and name and frame_column(column) is not None else otherwise


def names(x: Any) -> tuple[str, ...]:
    """The names of the columns of a frame; none for anything else, and for one that pandas made of an array."""
    if package(x) == "pandas" and not all(isinstance(name, str) for name in getattr(x, "columns", ())):
        return ()
    columns = None if hasattr(x, "collect") else frame(x)  # a lazy frame is read once, elsewhere
    return tuple(name for name, _ in columns or ())


# --------------------------------------------------------------------------------- columns as the curator declares them


def as_declared(found: Field, kind: str) -> Field:
    """The same rows as a column of this kind."""
    form = FORMS.get(kind)
    plain: Any = kind if form is None else form.kind
    return Field(plain, found.size, lambda: _declared_rows(found, kind), form=form)


def _declared_rows(found: Field, kind: str) -> tuple[Array, Mask | None]:
    """Rows as values of a declared kind; a row that is not of this kind is missing."""
    if (form := FORMS.get(kind)) is not None:
        ticks, gone = found.ticks() if found.kind == form.kind else objects_as_ticks(found.rows(), form)
        if form.word == "date":
            return (ticks // DAY).view("M8[D]"), gone
        return ticks.view("m8[us]" if form.word == "duration" else "M8[us]"), gone
    if kind == "number":
        return found.floats(), None
    if kind == "integer" and found.kind == "integer":
        values, missing = found.numbers()
        return values, np.zeros(found.size, bool) if missing is None else missing
    if kind == "integer":
        floats = found.floats()
        whole = np.isfinite(floats) & (np.floor(floats) == floats) & (np.abs(floats) < float(MOST_INTEGER))
        return np.where(whole, floats, 0.0).astype(np.int64), ~whole
    rows = found.rows()
    if kind == "boolean":
        fits = np.fromiter((type(row) in (bool, np.bool_) for row in rows), bool, found.size)
        return np.fromiter((row is True or row is np.True_ for row in rows), bool, found.size) & fits, ~fits
    texts = [str.__str__(row) if issubclass(type(row), str) else None for row in rows]  # no row's own method
    return objects(texts), np.fromiter((text is None for text in texts), bool, found.size)


def with_declared_kinds(fields: Mapping[str, Field], types: Mapping[str, Any] | None) -> dict[str, Field]:
    """Columns with the kinds that were declared. The others keep the kinds of their containers."""
    for name, kind in (types or {}).items():
        column_name(name, dict.fromkeys(fields, "other"))
        if kind not in TYPES:
            must = f"one of {', '.join(map(repr, TYPES))}"
            raise InvalidArgument(f"types[{name!r}]", must, checks.describe(kind))
    return {name: as_declared(f, types[name]) if types and name in types else f for name, f in fields.items()}


# --------------------------------------------------------------------------------------------------------- the entrance

NUMBERS = "a one-dimensional column of numbers"
HELD: dict[Kind, tuple[str, str]] = {
    "text": (
        "texts or categories",
        "Convert numbers with pandas.to_numeric and dates with pandas.to_datetime; count categories with histogram.",
    ),
    "time": ("times", "Pass the time since a public date as a number, as in (x - date) / np.timedelta64(1, 's')."),
    "duration": ("durations", "Divide it by a unit, as in x / np.timedelta64(1, 's')."),
    "other": ("values of another type than numbers", "Pick one numeric column."),
}
"""What a column holds that is not numeric, and what to do."""


def field(name: str, x: Any, must: str = "a one-dimensional column", fix: str = "Pick one column.") -> Field:
    """A column of any kind. `name` is what it is called in an error."""
    found = x if isinstance(x, Field) else frame_column(x)
    if found is not None:
        return found
    if isinstance(x, np.ndarray) or (hasattr(x, "__array__") and frame(x) is None):
        made = x
        if not isinstance(x, np.ndarray):  # a conversion that fails may say why, and so tell of its content
            made = interrupts.watched(lambda: interrupts.attempt(lambda: np.asarray(x), lambda: None))
        if made is not None and made.ndim == 1:
            typed = made is x or hasattr(x, "dtype")  # else its rows decide what type NumPy makes of them
            return of_numpy(made) if typed else of_list(list(made))
    elif isinstance(x, range | array.array):
        return of_numpy(np.asarray(x))
    elif isinstance(x, Sequence) and not isinstance(x, str | bytes | bytearray | memoryview):
        return of_list(list(x))
    raise InvalidArgument(name, must, checks.outline(x), fix)


def column_field(name: str, x: Any, kinds: Sequence[Kind] | None = NUMERIC, must: str = NUMBERS) -> Field:
    """A column of one of these kinds, or of any. A column of another kind is refused by its declared type alone.

    >>> column_field("x", [1, None, "a", 2.5]).floats()
    array([1. , nan, nan, 2.5])
    >>> column_field("x", np.array(["2024-02-29"], "M8[D]"))
    Traceback (most recent call last):
    uptack.errors.InvalidArgument: x must be a one-dimensional column of numbers, got a column of times. Pass the time
    since a public date as a number, as in (x - date) / np.timedelta64(1, 's').
    """
    if kinds is None:
        return field(name, x, must)
    found = field(name, x, must, "Pick one numeric column.")
    check_kind(name, found.kind, (*NUMERIC, *(kind for kind in kinds if kind in TIMED)), must)
    return found


def check_kind(name: str, kind: Kind, kinds: Sequence[Kind], must: str) -> None:
    """Refuses a column of another kind."""
    if kind not in kinds:
        what, fix = HELD[kind]
        raise InvalidArgument(name, must, f"a column of {what}", fix)


def data_fields(x: Any, types: Mapping[str, Any] | None = None) -> dict[str, Field]:
    """An array (a column "x", or columns "x0", "x1", ...), a structured array, a dictionary of arrays, or a frame."""
    columns = frame(x)
    if columns is not None:
        if len({name for name, _ in columns}) < len(columns):
            raise InvalidArgument("data", "a frame whose columns have different names", "some that are equal")
        return with_declared_kinds({name: field(name, values) for name, values in columns}, types)
    if isinstance(x, Mapping):
        named = {str(name): values for name, values in x.items()}
    elif x.dtype.names:
        named = {name: x[name] for name in x.dtype.names}
    elif x.ndim == 2:
        named = {f"x{place}": x[:, place] for place in range(x.shape[1])}
    else:
        named = {"x": x}
    return with_declared_kinds({name: field(f"data[{name!r}]", values) for name, values in named.items()}, types)


def matrix_fields(name: str, x: Any, must: str = "a table of numbers") -> dict[str, Field]:
    """The columns of numbers of a frame, of an array of one or two dimensions, or of a list, which is one column.

    Those of a frame have its names, as far as these differ; others are numbered. A list of rows has no declared width,
    and no row may decide it, so an entry that is a list is not a number. `numpy.array(rows)` has a width.
    """
    framed = frame(x)
    if framed is not None:
        labels = [label for label, _ in framed]
        own = [label if labels.count(label) == 1 else f"{i}: {label}" for i, label in enumerate(labels)]
        fields = [column_field(f"{name}[{label!r}]", part) for label, part in framed]
        return dict(zip(own, fields, strict=True))
    if isinstance(x, np.ndarray) and x.ndim == 2:
        check_kind(name, of_numpy(x.reshape(-1)).kind, NUMERIC, must)
        return {str(i): of_numpy(x[:, i]) for i in range(x.shape[1])}
    found = field(name, x, must, "")
    check_kind(name, found.kind, NUMERIC, must)
    return {"0": found}


def matrix(name: str, x: Any, must: str = "a table of numbers") -> Floats:
    """`matrix_fields` as floats, one line per row; a missing value is NaN. A single column gives one dimension.

    >>> matrix("x", [1, None, [3, 4]])
    array([ 1., nan, nan])
    """
    columns = [one.floats() for one in matrix_fields(name, x, must).values()]
    if frame(x) is None and getattr(x, "ndim", 1) == 1:
        return columns[0]
    return np.column_stack(columns) if columns else np.empty((len(x), 0))


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


def indexable(name: str, x: Any) -> Array:
    """Rows that can be picked by their numbers: a column by its kind, a table as an array of floats."""
    if isinstance(x, np.ndarray) and x.ndim > 1:
        return x
    if frame(x) is not None:
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
        flat = of_numpy(value.reshape(-1))
        check_kind(name, flat.kind, NUMERIC, must)
        made = _clamp(flat).reshape(value.shape)
    elif 2 in dimensions and isinstance(value, list | tuple):
        made = matrix(name, value, must)
    else:
        found = field(name, value, must, "")
        check_kind(name, found.kind, NUMERIC, must)
        made = _clamp(found)
    if made.ndim not in dimensions or made.size == 0:
        raise InvalidArgument(name, must, checks.outline(value))
    bounded: Floats = np.nan_to_num(made)
    return bounded


def _clamp(found: Field) -> Floats:
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
