"""A table of rows, wherever it is kept: what statistics, sessions and reports ask of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from types import NoneType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.columns.numeric import Column
from uptack.columns.selection import Floats
from uptack.columns.units import ROOM
from uptack.errors import InvalidArgument
from uptack.noise import Entropy
from uptack.table.values.kinds import NUMERIC as NUMERIC
from uptack.table.values.kinds import Kind as Kind
from uptack.table.values.kinds import canonical, in_order, labelled
from uptack.table.values.times import Form, spoken

Key = tuple[Any, ...]
Counts = tuple[list[Key], NDArray[np.int64]]


@runtime_checkable
class Source(Protocol):
    """A table. Its columns' names and types are public, its rows are not."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def columns(self) -> Mapping[str, Kind]:
        """The kind of each column, by its type and not by its content."""
        ...

    def column(self, name: str) -> Column:
        """A numeric column; truth values read as 0 and 1."""
        ...

    def counts(self, names: Sequence[str]) -> Counts:
        """The combinations of canonical values that occur, in order, and how often; a missing value or NaN is None."""
        ...

    def categories(self, name: str) -> dict[Any, int]:
        """The values of one column that occur, and how often."""
        ...

    def matrix(self, names: Sequence[str]) -> Floats:
        """Numeric columns side by side, one line per row; missing values are NaN."""
        ...

    def blocks(
        self, names: Sequence[str], count: int, *, id: str | None = None, entropy: Entropy | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Each row's block, drawn by `uptack.data.protocol.assigned`, and the matrix of the named columns.

        With `id`, the column that says whose row it is, all rows of one person go to the same block.
        """
        ...

    def restricted(self, name: str, value: Any) -> Source:
        """The rows that have this value in this column; None for those that have none."""
        ...


def form_of(source: Source, name: str) -> Form | None:
    """How a column of times or durations is shown; None for other columns."""
    forms: Mapping[str, Form] = getattr(source, "forms", {})
    return forms.get(name)


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


def tidy(found: Iterable[tuple[Key, int]], kinds: Sequence[Kind] | None = None) -> Counts:
    """Counted keys in order, missing values last, and keys that are canonically equal counted as one.

    `kinds` are those of the columns: they say whether 1 is shown as 1, 1.0 or True.
    """
    merged: dict[Key, int] = {}
    for key, count in found:
        tidied = tuple(canonical(part) for part in key)
        merged[tidied] = merged.get(tidied, 0) + int(count)
    order = sorted(merged, key=_text_in_order if _are_texts(merged) else _in_order)
    large = sum(merged.values()) >= ROOM  # of units of people: sums and noise need room, too
    counts = np.array([merged[key] for key in order], object if large else np.int64)
    if kinds is not None and not {"boolean", "number"}.isdisjoint(kinds):  # others are shown as they are
        order = [tuple(labelled([part], kind)[0] for part, kind in zip(key, kinds, strict=True)) for key in order]
    return order, counts


def _in_order(key: Key) -> list[Any]:
    return [in_order(part) for part in key]


def _are_texts(keys: Iterable[Key]) -> bool:
    """Whether each is one text, or a missing one: thousands of names are put in order sooner as what they are."""
    return all(len(key) == 1 and type(key[0]) in (str, NoneType) for key in keys)


def _text_in_order(key: Key) -> tuple[bool, str]:
    return key[0] is None, key[0] or ""


def assigned(owners: NDArray[np.int64], count: int, entropy: Entropy) -> NDArray[np.int64]:
    """A random block for every owner of rows, given as numbers 0, 1, 2, ...

    **Theorem.** Each owner's block is uniform, and independent of all rows and of the other owners. So let the same
    random function from owners to blocks act on two tables that differ in the rows of one owner: all blocks are equal
    but one. Estimates, one per block, then differ in one place, as `uptack.privacy.loss.Partition` asks. A hash of the
    row itself would not do: a changed row would leave one block and enter another.
    """
    drawn = entropy.integers(count, int(owners.max(initial=-1)) + 1)
    return drawn[owners]
