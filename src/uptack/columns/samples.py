"""Rows side by side, and values by group: what rank statistics are made from."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uptack import checks
from uptack.columns.each import EachColumn
from uptack.columns.grouped import PeopleGroups
from uptack.columns.numeric import ArrayColumn, Column
from uptack.columns.owners import Codes, PeopleRows, numbered
from uptack.columns.selection import Floats
from uptack.columns.unread import UnreadRows
from uptack.errors import InvalidArgument
from uptack.table.values import containers
from uptack.table.values.entrance import column, field, matrix
from uptack.table.values.kinds import LARGEST, canonical

FIX = "Pass missing='ignore': such a row then takes part in nothing."


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """The rows that have all their values, one line each, of a table of so many rows. Names of columns are public."""

    values: Floats
    size: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Samples:
    """The values of each of some public groups, of a table of so many rows.

    `sizes` says how many rows have each label, those without a value too. `in_table` says that the labels are a column
    of a table, as in a session, where an analyst can't declare them public. `whole` says that values are integers by
    their type.
    """

    values: tuple[Floats, ...]
    sizes: tuple[int, ...]
    size: int
    in_table: bool = False
    whole: bool = False


@dataclass(frozen=True, eq=False)
class PeopleLines:
    """Rows of one or more columns of numbers, and whose they are, of which each person is to be one line.

    **Lemma.** Rows that lack a value are left out first, and then each column is one number per person. So a person's
    line is a function of her rows alone: replacing her rows replaces one line, or takes it away, or adds it. What is
    private for one row of lines is private for one person. ∎
    """

    rows: PeopleRows
    names: tuple[str, ...] = ()
    how: str = "mean"
    order: Codes | None = None

    of_people = True

    def each(self, how: str, order: Any = None) -> PeopleLines:
        """What of her rows a person's numbers are to be: see `uptack.columns.each`."""
        return replace(self, how=how, order=order)

    def beside(self, other: PeopleLines) -> PeopleLines:
        """The columns of both."""
        return replace(self, rows=replace(self.rows, values=np.column_stack([self.rows.values, other.rows.values])))

    def made(self, missing: str) -> CompleteRows:
        """One line per person who has a row with all its values."""
        lines = self.rows.values.reshape(self.rows.codes.size, -1)
        there = np.flatnonzero(complete(lines, missing))
        codes, people = numbered(self.rows.codes[there])
        order = None if self.order is None else self.order[there]
        sides = [
            EachColumn(ArrayColumn(np.clip(side, -LARGEST, LARGEST)), codes, people, self.how, order).present()
            for side in lines[there].T
        ]
        return CompleteRows(np.column_stack([side.values for side in sides]), self.rows.people, self.names)


@dataclass(frozen=True, eq=False)
class PeopleSamples:
    """One number per person for each of some public groups, of so many people. Each person is in one group at most.

    Her label is that of most of her rows, and of several the first; her rows elsewhere are left out
    (`uptack.columns.grouped`). So her label and her number are functions of her rows alone, as a row's are.
    """

    parts: tuple[Column, ...]
    size: int
    in_table: bool = False

    of_people = True

    def each(self, how: str, order: Any = None) -> PeopleSamples:
        """The numbers are made already."""
        return self

    def made(self, missing: str) -> Samples:
        """The numbers of each group."""
        if missing == "error" and not all(part.finite() for part in self.parts):
            raise InvalidArgument("x", "free of NaN and infinities", "some", FIX)
        values = tuple(map(_numbers, self.parts))
        whole = all(part.integers for part in self.parts)
        read = Samples(values, tuple(part.size for part in values), self.size, self.in_table, whole)
        return checked(read, missing)


def _numbers(part: Column) -> Floats:
    """One number per person who has a row with a value."""
    made = part.present()
    assert isinstance(made, ArrayColumn), "numbers of people are few enough to be in memory"
    return made.values.astype(np.float64)


def complete(values: Floats, missing: str) -> Any:
    """Which lines have all their values; it is an error that some have not, if so asked."""
    if missing == "error" and not np.isfinite(values).all():
        raise InvalidArgument("x", "free of NaN and infinities", "some", FIX)
    return ~np.isnan(values) if values.ndim == 1 else ~np.isnan(values).any(axis=1)


def ready(values: Floats, missing: str) -> Floats:
    """Lines of numbers without those that lack one; ±inf is ±the largest float, as it is everywhere."""
    kept: Floats = np.clip(values[complete(values, missing)], -LARGEST, LARGEST)
    return kept


def complete_rows(columns: dict[str, Any], missing: str) -> CompleteRows | UnreadRows:
    """Columns of one length side by side; or rows that a session has read, or not read yet, in the first argument."""
    first = next(iter(columns.values()))
    if isinstance(first, CompleteRows | UnreadRows):
        return first
    if isinstance(first, PeopleLines):
        _, *others = [side for side in columns.values() if side is not None]
        return (first.beside(*others) if others else first).made(missing)
    parts = [column(name, x).floats() for name, x in columns.items()]
    for name, part in zip(columns, parts, strict=True):
        if part.size != parts[0].size:
            raise InvalidArgument(name, f"as long as the first column, {parts[0].size} rows", f"{part.size} rows")
    return CompleteRows(ready(np.column_stack(parts), missing), parts[0].size)


def complete_table(x: Any, missing: str, least: int = 2) -> CompleteRows | UnreadRows:
    """A table of numbers of so many columns or more, by their names where it has them."""
    if isinstance(x, CompleteRows | UnreadRows):
        return x
    must = f"a table of numbers with at least {least} columns"
    theirs = x if isinstance(x, PeopleLines) else None
    values = matrix("x", x, must) if theirs is None else theirs.rows.values
    if values.ndim != 2 or values.shape[1] < least:
        raise InvalidArgument("x", must, "fewer columns" if theirs else checks.outline(values))
    return theirs.made(missing) if theirs else CompleteRows(ready(values, missing), len(values), names_of(x, values))


def names_of(x: Any, values: Floats) -> tuple[str, ...]:
    """The names of a table's columns, or their numbers."""
    named = containers.frame(x)
    names = range(values.shape[-1] if values.ndim == 2 else 1) if named is None else (label for label, _ in named)
    return tuple(map(str, names))


def public_groups(groups: Any, least: int, most: int | None) -> tuple[Hashable, ...]:
    """So many distinct public labels."""
    number = str(least) if least == most else f"{least} or more" if most is None else f"{least} to {most}"
    must = f"a list of {number} distinct labels"
    if isinstance(groups, str) or not isinstance(groups, list | tuple | np.ndarray):
        raise InvalidArgument("groups", must, checks.describe(groups), "They are public: fixed before data are seen.")
    found = tuple(canonical(group) for group in groups)
    if len(set(found)) != len(found) or len(found) < least or (most is not None and len(found) > most):
        raise InvalidArgument("groups", must, f"{len(found)} of them")
    if None in found:
        raise InvalidArgument("groups", must, "a missing value", "A row without a label is in no group.")
    return found


def samples(x: Any, labels: Any, groups: tuple[Hashable, ...], missing: str) -> Samples | UnreadRows:
    """The values of each group. A row with another label, or with none, is in no group and takes part in nothing."""
    if isinstance(x, Samples | UnreadRows):
        return x if isinstance(x, UnreadRows) else checked(x, missing)
    if isinstance(x, EachColumn):
        theirs = PeopleGroups(x, labels)
        x = PeopleSamples(tuple(theirs.rows(group) for group in groups), x.people)
    if isinstance(x, PeopleSamples):
        return x.made(missing)
    found, marks = column("x", x), field("labels", labels, "a one-dimensional column of labels", "Pick one column.")
    if found.size != marks.size:
        raise InvalidArgument("labels", f"as long as x, {found.size} rows", f"{marks.size} rows")
    number = {group: i for i, group in enumerate(groups)}
    place = np.array([number.get(canonical(mark), -1) for mark in marks.array()], np.int64)
    values = found.floats()
    parts = tuple(values[place == i] for i in range(len(groups)))
    whole = found.kind in ("integer", "boolean")
    return checked(Samples(parts, tuple(part.size for part in parts), found.size, whole=whole), missing)


def checked(read: Samples, missing: str) -> Samples:
    """The same without values that are missing, or an error about them."""
    return Samples(
        tuple(ready(part, missing) for part in read.values), read.sizes, read.size, read.in_table, read.whole
    )
