"""Data that a caller hands to a function, as columns of a table in memory: whatever holds them, by their types
alone.

Names of columns, and values that rows of a column can have: checked by names and declared kinds alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument, UnknownName
from uptack.table.ids import Owners
from uptack.table.memory import counts
from uptack.table.memory.table import MemoryTable
from uptack.table.protocol import Column, Columns
from uptack.table.unit import Integers, PrivacyUnit
from uptack.table.values import containers
from uptack.table.values.entrance import HELD, field, numeric
from uptack.table.values.field import Field
from uptack.table.values.kinds import NUMERIC, Kind, canonical, held, labelled
from uptack.table.values.times import TIMED, spoken


def known(name: object, columns: Mapping[str, Kind], kinds: Iterable[Kind] | None = None, what: str = "column") -> str:
    """The name of a column, of one of the kinds. Looks at names and types only."""
    if not isinstance(name, str) or name not in columns:
        near = difflib.get_close_matches(str(name), columns, n=3, cutoff=0.5)
        fix = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are {', '.join(map(repr, columns))}."
        raise UnknownName(what, checks.describe(name), fix if columns else "")
    if kinds is not None and columns[name] not in kinds:
        others = [repr(c) for c, kind in columns.items() if kind in kinds]
        fix = f"Such columns are {', '.join(others)}." if others else "The table has no such column."
        if columns[name] == "text" and set(kinds) & {"integer", "number"}:
            fix += " The type of a column of a CSV file is declared with types= (--type), or in its schema."
        if columns[name] == "time":
            fix += " To use a time as a number, add a column with the days since a public date."
        must = f"a column of type {' or '.join(kind for kind in kinds if kind != 'any')}"
        raise InvalidArgument(what, must, f"{name!r} of type {columns[name]}", fix)
    return name


def known_all(names: Sequence[str], columns: Mapping[str, Kind], kinds: Iterable[Kind] | None = None) -> list[str]:
    """The names of one or more columns."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise InvalidArgument("names", "a list of one or more columns", checks.describe(names))
    return [known(name, columns, kinds) for name in names]


def hidden(name: object, person: Sequence[str]) -> None:
    """Refuses a column of ids."""
    if name in person:
        fix = "Ids are not released, and rows are not selected or grouped by them."
        raise InvalidArgument("column", "other than the ids of people", checks.describe(name), fix)


def id_names(person: object) -> tuple[str, ...]:
    """The columns of ids: one name, or several."""
    names = (person,) if isinstance(person, str) else person
    fix = "Such as person='patient_id', or person=['clinic', 'number'] for an id of two columns."
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgument("person", "the name of a column, or a list of names", checks.describe(person), fix)
    if len(set(names)) < len(names):
        raise InvalidArgument("person", "different columns", checks.describe(person), fix)
    return tuple(names)


def comparable(name: str, kind: Kind, value: Any, what: str = "value") -> Any:
    """A value that rows of a column of this kind can have; None stands for a missing value. Integers may be floats."""
    wanted = canonical(value)
    if wanted is None:
        return None
    if kind == "duration":
        return _length(value, what)
    truth, whole, real = isinstance(value, bool | np.bool_), isinstance(wanted, int), isinstance(wanted, float)
    fits = {
        "integer": whole and not truth,
        "number": (whole or real) and not truth,
        "boolean": truth,
        "text": not whole and not real,
    }
    if not fits.get(kind, True):
        raise InvalidArgument(what, f"of type {kind}, as the column {name!r} is", checks.describe(value))
    return labelled([wanted], kind)[0]


FLOATS = "The column holds floats, and both are rounded to the same float. Leave one of them out."


def distinct(name: str, values: Sequence[Any], kinds: Sequence[Kind], must: str) -> tuple[Hashable, ...]:
    """Public values as rows of columns of these kinds would hold them. Refuses two that no row could tell apart.

    A row must be in one group, or cell, at most. So values are told apart as rows are: in a column of floats 2^60 and
    2^60 + 1 are one value. Values of several columns are tuples, and each of them is made of one value per column.
    """
    firsts = dict[tuple[Hashable, ...], Any]()
    for value in values:
        key = group_key(value, kinds)
        if key in firsts:
            got = f"{checks.describe(firsts[key])} and {checks.describe(value)}, which are the same value there"
            raise InvalidArgument(name, must, got, FLOATS if "number" in kinds else "Leave one of them out.")
        firsts[key] = value
    return tuple(key[0] if len(kinds) == 1 else key for key in firsts)


def group_key(group: Any, kinds: Sequence[Kind]) -> tuple[Hashable, ...]:
    """A group of one column, or a tuple of several columns' values, as rows of their kinds would hold them."""
    parts = group if len(kinds) > 1 and isinstance(group, tuple) else (group,)
    if len(parts) != len(kinds):
        return (canonical(group),)
    return tuple(held(part, kind) for part, kind in zip(parts, kinds, strict=True))


def _length(value: Any, what: str) -> timedelta:
    """A duration that rows are to have."""
    said = spoken(value)
    if said is None or said.word != "duration":
        must = "a duration, such as timedelta(hours=1) or 01:00:00"
        raise InvalidArgument(what, must, checks.describe(value))
    return timedelta(microseconds=said.ticks)


NUMBERS = "a one-dimensional column of numbers"

MEASURED: tuple[Kind, ...] = (*NUMERIC, *TIMED)
"""Kinds of columns that have an order and distances: numbers, times and durations."""


def column_field(name: str, x: Any, kinds: Sequence[Kind] | None = None, must: str = NUMBERS) -> Field:
    """A column of one of the kinds, or of any; `name` is what it is called in an error."""
    if kinds is None:
        return field(name, x, must, "Pick one column.")
    found = field(name, x, must, "Pick one numeric column.")
    return found if found.kind in kinds and found.kind in TIMED else numeric(name, found, must)


def as_column(name: str, x: Any, kinds: Sequence[Kind] | None = NUMERIC, must: str = NUMBERS) -> Column:
    """A column of a table as it is; anything else like a column as one of a table in memory.

    What is of another kind is refused by its declared type.
    """
    if isinstance(x, Column):
        if kinds is not None and x.kind not in kinds:
            what, fix = HELD[x.kind]
            raise InvalidArgument(name, must, f"a column of {what}", fix)
        return x
    return MemoryTable.of({name: column_field(name, x, kinds, must)}).column(name)


def matrix_fields(name: str, x: Any, must: str = "a table of numbers") -> dict[str, Field]:
    """The columns of numbers of a frame, of an array of one or two dimensions, or of a list, which is one column.

    Those of a frame have its names, as far as these differ; others are numbered.
    """
    framed = containers.frame(x)
    if framed is not None:
        return {
            _fresh(label, i, framed): column_field(f"{name}[{label!r}]", part, NUMERIC)
            for i, (label, part) in enumerate(framed)
        }
    if isinstance(x, np.ndarray) and x.ndim == 2:
        numeric(name, containers.of_numpy(x.reshape(-1)), must)
        return {str(i): containers.of_numpy(x[:, i]) for i in range(x.shape[1])}
    return {"0": numeric(name, field(name, x, must, ""), must)}


def _fresh(label: str, place: int, framed: Sequence[tuple[str, Any]]) -> str:
    """A name that no other column of a frame has."""
    return label if sum(label == other for other, _ in framed) == 1 else f"{place}: {label}"


def as_columns(name: str, x: Any, must: str = "a table of numbers") -> Columns:
    """Columns of a table as they are; anything else like a table of numbers as columns of one in memory."""
    if isinstance(x, Columns):
        return x
    if isinstance(x, Column):
        return Columns([x])
    table = MemoryTable.of(matrix_fields(name, x, must))
    return Columns(map(table.column, table.fields))


def side_by_side(columns: Mapping[str, Any]) -> Columns:
    """Columns of numbers of one length, each given by itself; None is left out."""
    given = {name: x for name, x in columns.items() if x is not None}
    if any(isinstance(x, Column) for x in given.values()):
        return Columns(given.values())
    fields = {name: column_field(name, x, NUMERIC) for name, x in given.items()}
    first = next(iter(fields.values()))
    for name, one in fields.items():
        if one.size != first.size:
            raise InvalidArgument(name, f"as long as the first column, {first.size} rows", f"{one.size} rows")
    table = MemoryTable.of(fields)
    return Columns(map(table.column, fields))


BY_MUST = "a one-dimensional column of categories, or a tuple of such columns"
BY_FIX = "A list is one column; several columns are a tuple, as in by=(ward, sex), or a frame."


def category_fields(by: Any, name: str = "by") -> dict[str, Field]:
    """One or several columns of categories, by the container's own type, under names of their own."""
    framed = containers.frame(by)
    if isinstance(by, np.ndarray) and by.ndim == 2:
        parts = [by[:, i] for i in range(by.shape[1])]
    else:
        parts = list(by) if isinstance(by, tuple) else [by] if framed is None else [part for _, part in framed]
    if not parts:
        raise InvalidArgument(name, BY_MUST, checks.outline(by), BY_FIX)
    fields = {f"{name} {i}": field(name, part, BY_MUST, BY_FIX) for i, part in enumerate(parts)}
    if len({one.size for one in fields.values()}) > 1:
        raise InvalidArgument(name, "columns of equal length", "columns of several lengths", BY_FIX)
    return fields


@dataclass(frozen=True, eq=False)
class Owned:
    """Data of any form and whose their rows are, for functions that read rows themselves."""

    data: Any
    whose: Owners
    unit: PrivacyUnit

    of_people: ClassVar[bool] = True

    def weighted(self, unit: PrivacyUnit) -> Owned:
        """The same with units that rows share in another way."""
        return Owned(self.data, self.whose, unit)

    def sharing(self, share: str, at_most: int | None = None) -> Owned:
        """The same of people whose rows share their units so."""
        return self.weighted(PrivacyUnit.of_people(self.unit.ids, share, at_most))

    def of(self, data: Any) -> Owned:
        """Other data of the same rows."""
        return Owned(data, self.whose, self.unit)

    def column(self, values: Any) -> Column:
        """A column that was made of the data, row by row."""
        made = column_field("x", values)
        self.whose.check("the data", made.size)
        return MemoryTable.of({"x": made}, self.whose).weighted(self.unit).column("x")

    def units(self, cells: Integers, size: int) -> Integers:
        """The units in each of so many cells, for the cells of all rows. Rows of nobody count nowhere."""
        self.whose.check("the data", cells.size)
        kept = self.whose.kept
        return counts.units(cells[kept], size, self.unit, self.whose.codes[kept], self.whose.people)
