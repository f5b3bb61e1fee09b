"""Names of columns, and values that rows of a column can have: checked by names and declared kinds alone."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.table.values.kinds import Kind, canonical, labelled
from uptack.table.values.times import spoken


def known(name: object, columns: Mapping[str, Kind], kinds: Iterable[Kind] | None = None, what: str = "column") -> str:
    """The name of a column, of one of the kinds. Looks at names and types only."""
    if not isinstance(name, str) or name not in columns:
        near = difflib.get_close_matches(str(name), columns, n=3, cutoff=0.5)
        fix = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are {', '.join(map(repr, columns))}."
        raise InvalidArgument(what, f"a {what} that there is", checks.describe(name), fix if columns else "")
    if kinds is not None and columns[name] not in kinds:
        others = [repr(c) for c, kind in columns.items() if kind in kinds]
        fix = f"Such columns are {', '.join(others)}." if others else "The table has no such column."
        if columns[name] == "text" and set(kinds) & {"integer", "number"}:
            fix += " What a CSV file has there can be stated: types= (--type), or in its schema."
        if columns[name] == "time":
            fix += " As a number a time is the days since a public date, in a column of their own."
        must = f"a column of type {' or '.join(kind for kind in kinds if kind != 'any')}"
        raise InvalidArgument("column", must, f"{name!r} of type {columns[name]}", fix)
    return name


def known_all(names: Sequence[str], columns: Mapping[str, Kind], kinds: Iterable[Kind] | None = None) -> list[str]:
    """The names of one or more columns."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise InvalidArgument("names", "a list of one or more columns", checks.describe(names))
    return [known(name, columns, kinds) for name in names]


def hidden(name: object, person: Sequence[str]) -> None:
    """Refuses a column of ids."""
    if name in person:
        fix = "Ids say whose rows they are; they are not released, selected or grouped by."
        raise InvalidArgument("column", "another one than the ids of people", checks.describe(name), fix)


def id_names(person: object) -> tuple[str, ...]:
    """The columns of ids: one name, or several."""
    names = (person,) if isinstance(person, str) else person
    fix = "Such as person='patient_id', or person=['clinic', 'number'] for an id of two columns."
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgument("person", "the name of a column, or a list of names", checks.describe(person), fix)
    if len(set(names)) < len(names):
        raise InvalidArgument("person", "different columns", checks.describe(person), fix)
    return tuple(names)


def comparable(name: str, kind: Kind, value: Any) -> Any:
    """A value that rows of this kind of column can have, None for none. A whole number may stand for a float."""
    wanted = canonical(value)
    if wanted is None:
        return None
    if kind == "duration":
        return _length(value)
    truth, whole, real = isinstance(value, bool | np.bool_), isinstance(wanted, int), isinstance(wanted, float)
    fits = {
        "integer": whole and not truth,
        "number": (whole or real) and not truth,
        "boolean": truth,
        "text": not whole and not real,
    }
    if not fits.get(kind, True):
        raise InvalidArgument("value", f"of type {kind}, as the column {name!r} is", checks.describe(value))
    return labelled([wanted], kind)[0]


def _length(value: Any) -> timedelta:
    """A duration that rows are to have."""
    said = spoken(value)
    if said is None or said.word != "duration":
        must = "a duration, such as timedelta(hours=1) or 01:00:00"
        raise InvalidArgument("value", must, checks.describe(value))
    return timedelta(microseconds=said.ticks)
