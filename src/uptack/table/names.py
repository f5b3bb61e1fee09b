"""Names of columns, and values that rows of a column can have: checked by names and declared kinds alone."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from uptack import checks
from uptack.errors import InvalidArgument, UnknownName
from uptack.table.values.kinds import Kind, canonical, labels_of_kind, row_value
from uptack.table.values.times import Form, ticks_beside

ROW_NUMBERS = (
    "id", "column_1", "unnamed: 0", "__index_level_0__", "rownames", "row.names", "row_names", "rowid", "row_id",
)  # fmt: skip
"""Names of ids and row numbers, in lower case. A first column without a name, as R and pandas write row names, is
called column_1 in a CSV file, and __index_level_0__ in a Parquet file."""


MOST_NAMED = 8
"""Columns that a message names."""


def column_name(
    name: object, columns: Mapping[str, Kind], kinds: Iterable[Kind] | None = None, what: str = "column"
) -> str:
    """The name of a column, of one of the kinds. Looks at names and types only."""
    if not isinstance(name, str) or name not in columns:
        near = difflib.get_close_matches(str(name), columns, n=3, cutoff=0.5)
        names = ", ".join(map(repr, columns))
        fix = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"The columns are {names}."
        raise UnknownName(what, checks.describe(name), fix if columns else "")
    if kinds is not None and columns[name] not in kinds:
        others = [repr(c) for c, kind in columns.items() if kind in kinds]
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        fix = f"Such columns: {', '.join(others[:MOST_NAMED])}{more}." if others else "The table has no such column."
        if columns[name] == "text" and set(kinds) & {"integer", "number"}:
            fix += f" If {name!r} holds numbers or dates, declare that with types= (--type), or in the file's schema."
        if columns[name] == "time":
            fix += " To use a time as a number, add a column with the days since a public date."
        *first, last = (kind for kind in kinds if kind != "any")
        must = f"of type {', '.join(first)}{' or ' if first else ''}{last}"
        raise InvalidArgument(f"{what} {name!r}", must, columns[name], fix)
    return name


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogate, which no file and no engine can hold."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def refuse_ids(name: object, person: Sequence[str]) -> None:
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
    """A public value as rows of a column of this kind show it; None stands for a missing value."""
    if kind == "duration" and canonical(value) is not None:
        return timedelta(microseconds=ticks_beside(what, value, Form("duration")))
    check_kind(what, [value], name, kind)
    return labels_of_kind([canonical(value)], kind)[0]


HOLDS: dict[str, Callable[[Any], bool]] = {
    "integer": lambda value: isinstance(value, int),
    "number": lambda value: isinstance(value, int | float),
    "boolean": lambda value: value in (0, 1),
    "text": lambda value: isinstance(value, str),
}
"""Which canonical values rows of a kind can have. Those of other kinds can have any."""


def check_kind(argument: str, values: Iterable[Any], column: str, kind: Kind) -> None:
    """Refuses public values that no row of a column of this kind can have; None stands for a missing value."""
    holds = HOLDS.get(kind, lambda value: True)
    for value in values:
        plain = canonical(value)
        if plain is not None and not holds(plain):
            fix = "Only groups of several columns are tuples." if isinstance(value, tuple) else ""
            fix = "Write numbers without quotes." if kind in ("integer", "number") and isinstance(value, str) else fix
            fix = "Write texts in quotes." if kind == "text" and isinstance(plain, int | float) else fix
            must = f"of type {kind}, as the column {column!r} is"
            raise InvalidArgument(argument, must, checks.describe(value), fix)


def check_keys(argument: str, given: Mapping[Any, Any], columns: Sequence[str]) -> None:
    """Refuses a mapping by columns that has another name."""
    for name in given:
        if not isinstance(name, str) or name not in columns:
            must, got = f"a mapping of the columns {' and '.join(map(repr, columns))} to lists", checks.describe(name)
            raise InvalidArgument(argument, must, f"one with {got}", checks.did_you_mean(name, columns))


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
        raise InvalidArgument("groups", f"tuples of {len(kinds)} values", checks.describe(group))
    return tuple(row_value(part, kind) for part, kind in zip(parts, kinds, strict=True))
