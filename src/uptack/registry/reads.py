"""What a release function reads of a table, and a stand-in for it that shows public things only."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uptack import checks
from uptack.columns import NUMERIC, Column, Kind, column, flags, indexed, matrix, whole
from uptack.columns.batched import UnreadTable
from uptack.columns.grouped import Keys
from uptack.columns.moments import TIMED
from uptack.columns.owners import Owners, PeopleRows
from uptack.columns.people import PeopleColumn
from uptack.columns.samples import CompleteRows, PeopleLines, PeopleSamples, Samples, names_of, ready
from uptack.columns.spread import PeopleCount, PeopleTally, PeopleValues, Weights
from uptack.columns.tally import Tally
from uptack.columns.timed import TimedColumn, ticked
from uptack.columns.timed import whole as whole_times
from uptack.columns.unread import UnreadColumn, UnreadRows
from uptack.data import Source
from uptack.data.arrays import numeric_column
from uptack.data.batches import QueryRows
from uptack.data.filtered import FilteredSource
from uptack.data.people import PeopleSource, hidden
from uptack.data.protocol import comparable, form_of, known
from uptack.data.queries import QuerySource
from uptack.errors import InvalidArgument

Names = tuple[str, ...]
Given = Mapping[str, Any]
Read = Callable[[Source, Names, Given], tuple[Any, ...]]
Whose = Callable[[str, Any, Owners], Any]
COUNTED: tuple[Kind, ...] = (*NUMERIC, "text")
"""Kinds of columns whose values can be counted, or be groups."""


@dataclass(frozen=True)
class Peoples:
    """How a data argument becomes people's data, and what can be said of people beside `person`."""

    make: Whose
    beside: tuple[str, ...] = ()

    def __call__(self, name: str, data: Any, whose: Owners) -> Any:
        """The data argument of this name, with the owners of its rows."""
        return self.make(name, data, whose)


VALUES_OF_PEOPLE = Peoples(PeopleValues.of, ("weights", "at_most"))
"""Columns or tables of any kind, whose rows are counted."""


@dataclass(frozen=True)
class Reads:
    """Which columns a function is asked about, and how its data arguments are made from them.

    `read(source, names, given)` looks at the rows. `unread` makes the same arguments from public things alone: it is
    used to find misuse, and a ⊥ that public numbers decide, before anything is debited. `people(name, data, owners)`
    makes a data argument of that name into people's data, where its rows have owners (`uptack.registry.people`).
    `kinds` are those of all columns, but for the last one where it has kinds of its own (`last`). `picked(name, data)`
    makes a data argument of that name into an array whose rows can be dealt to groups.
    """

    read: Read
    unread: Read
    kinds: tuple[Kind, ...] = NUMERIC
    least: int = 1
    most: int | None = 1
    people: Peoples | None = None
    last: tuple[Kind, ...] = ()
    picked: Callable[[str, Any], Any] = indexed

    def named(self, names: Names, given: Given) -> Names:
        """The columns that are asked about: those named, or those of a formula."""
        if given.get("formula") is None or names:
            return names
        return tuple(_formulas().read(given["formula"]).columns)

    def check(self, what: str, names: Names, source: Source, given: Given) -> None:
        """Whether the source has such columns: names and kinds are public. Edges ask for numbers."""
        if not self.least <= len(names) <= (len(names) if self.most is None else self.most):
            must = f"at least {self.least}" if self.most is None else f"{self.least} to {self.most}"
            raise InvalidArgument("columns", f"{must} for {what}", len(names))
        person = getattr(source, "person", ())
        by = named_groups(given.get("by"), given.get("groups"))
        for name in (*names, *by, given.get("order")):
            hidden(name, person)
        if given.get("order") is not None:
            known(given["order"], source.columns, what="order")
        for place, name in enumerate(names, 1 - len(names)):
            kinds = self.last if self.last and place == 0 else self.kinds
            kinds = kinds if given.get("formula") is None else COUNTED
            known(name, source.columns, kinds if given.get("edges") is None else [k for k in kinds if k != "text"])
        for name in by:
            known(name, source.columns, COUNTED)


def named_groups(by: Any, groups: Any = None) -> tuple[str, ...]:
    """The columns whose values are groups: none, one or several. Groups of several are tuples."""
    names = () if by is None else tuple(by) if isinstance(by, list | tuple) else (by,)
    texts = all(isinstance(name, str) for name in names)
    if isinstance(by, list | tuple) and (not by or not texts or len(set(names)) < len(names)):
        raise InvalidArgument("by", "the name of a column, or a list of different names", checks.describe(by))
    listed = groups if isinstance(groups, list | tuple) else ()
    if len(names) > 1 and not all(isinstance(group, tuple) and len(group) == len(names) for group in listed):
        fix = f"One value for each of {', '.join(map(str, names))}."
        raise InvalidArgument("groups", f"a list of tuples of {len(names)} values", "others", fix)
    return names


def _column(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    return (source.column(names[0]),)


def _unread_column(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    people = isinstance(source, PeopleSource)
    form = form_of(source, names[0])
    integers = form is not None or whole(source.columns[names[0]])
    unread = UnreadColumn(source.rows, integers, of_people=people, weighted=people)
    return (unread if form is None else TimedColumn(unread, form),)


def _peoples_column(name: str, x: Any, whose: Owners) -> Any:
    read = whole_times(x)
    if isinstance(read, TimedColumn):
        return TimedColumn(PeopleColumn.of(name, read.ticks, whose), read.form)
    return PeopleColumn.of(name, x if isinstance(x, Column) else numeric_column(column(name, x)), whose)


def _peoples_rows(name: str, x: Any, whose: Owners) -> Any:
    return PeopleRows.of(name, matrix(name, x), whose)


def _peoples_design(name: str, x: Any, whose: Owners) -> Any:
    return PeopleRows.of(name, column(name, x).floats() if name == "y" else matrix(name, x), whose)


def _left(source: Source) -> Source:
    """The rows that are counted: those that meet the conditions of a session (`uptack.data.filtered`)."""
    return source.left if isinstance(source, FilteredSource) else source


def _masked(source: Source) -> Source:
    """All rows, without values where they do not meet the conditions of a session."""
    return source.masked if isinstance(source, FilteredSource) else source


def _picked_flags(name: str, x: Any) -> Any:
    """Which rows are counted: those that are True, or all of them in what are no truth values."""
    truths = flags(x)
    return np.ones(len(indexed(name, x)), bool) if truths is None else truths


def _picked_design(name: str, x: Any) -> Any:
    return column(name, x).floats() if name == "y" else matrix(name, x)


def _peoples_side(name: str, x: Any, whose: Owners) -> Any:
    """A column of lines, of which each person is to be one; it may be left out."""
    return None if x is None else PeopleLines(PeopleRows.of(name, column(name, x).floats(), whose))


def _peoples_lines(name: str, x: Any, whose: Owners) -> Any:
    values = matrix(name, x)
    return PeopleLines(PeopleRows.of(name, values, whose), names_of(x, values))


def _peoples_groups(name: str, x: Any, whose: Owners) -> Any:
    return Keys.of(x, whose, name) if name == "labels" else _peoples_column(name, x, whose)


def _true(x: Any) -> list[int]:
    return [int(np.count_nonzero(x == 1.0))]


def _flags(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """How many rows are true; without a column, how many there are. People are counted who have such a row."""
    if isinstance(source, PeopleSource):
        return (source.counted(names[0] if names else None, given.get("at_most")),)
    source = _left(source)
    if names and hasattr(source, "trues"):
        return (source.trues(names[0]),)
    return tuple(source.column(names[0]).sums(_true)) if names else (source.rows,)


def _no_flags(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    return (PeopleCount(0, given.get("at_most") or 1) if isinstance(source, PeopleSource) else 0,)


def _weights(given: Given) -> Weights:
    """How people's rows count in a table."""
    return Weights(given.get("weights") or "people", given.get("at_most"))


def _tally(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Values with their counts. Between edges they are counted as they are read: there may be as many as rows."""
    if form_of(source, names[0]) is not None:
        return (source.moments(names[0]),) if isinstance(source, PeopleSource) else _column(source, names, given)
    if isinstance(source, PeopleSource):
        return (source.tally(names[0], _weights(given), given.get("edges")),)
    if given.get("edges") is not None:
        return _column(_left(source), names, given)
    keys, counts = source.counts(names)
    return (Tally(tuple(key[0] for key in keys), counts),)


def _no_tally(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    nothing, form = np.zeros(0, np.int64), form_of(source, names[0])
    if form is not None and isinstance(source, PeopleSource):
        return (PeopleValues(ticked(np.zeros(0), form), Owners(nothing, source.rows)),)
    if form is not None:
        return _unread_column(source, names, given)
    if not isinstance(source, PeopleSource):
        return (Tally((), nothing),)
    if _weights(given).way == "one":
        return (PeopleValues(nothing, Owners(nothing, source.rows)),)
    return (PeopleTally((), nothing, source.rows, _weights(given)),)


def _points(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    if isinstance(source, PeopleSource):
        return (source.points(names),)
    return _column(source, names, given) if len(names) == 1 else (source.matrix(names),)


def _no_points(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    if isinstance(source, PeopleSource):
        return (_one_row_each(np.zeros((source.rows, len(names))) if len(names) > 1 else np.zeros(source.rows)),)
    return _unread_column(source, names, given) if len(names) == 1 else (np.zeros((source.rows, len(names))),)


def _table(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Columns side by side: of an engine they are read in batches."""
    if isinstance(source, PeopleSource):
        return (source.points(names),)
    rows = _masked(source)
    return (QueryRows.of(rows, names) if isinstance(rows, QuerySource) else rows.matrix(names),)


def _no_table(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    if isinstance(source, PeopleSource):
        return (_one_row_each(np.broadcast_to(0.0, (source.rows, len(names)))),)
    return (UnreadTable(source.rows, len(names)),)


def _formulas() -> Any:
    """The room of formulas declares release functions of its own."""
    return importlib.import_module("uptack.regression.formulas")


def _design(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """X and y. The response is named first; a formula names it itself."""
    if given.get("formula") is not None:
        return _formulas().of_source(source, names), None
    if isinstance(source, PeopleSource):
        rows = source.points(names)
        return replace(rows, values=rows.values[:, 1:]), replace(rows, values=rows.values[:, 0])
    values = source.matrix(names)
    return values[:, 1:], values[:, 0]


def _no_design(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    if given.get("formula") is not None:
        return _formulas().of_nothing(source, names), None
    zeros = np.broadcast_to(0.0, (source.rows, len(names)))
    if isinstance(source, PeopleSource):
        return _one_row_each(zeros[:, 1:]), _one_row_each(zeros[:, 0])
    return zeros[:, 1:], zeros[:, 0]


def _streamed(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """X and y, of an engine in batches."""
    rows = _masked(source)
    if isinstance(rows, QuerySource) and given.get("formula") is None:
        return QueryRows.of(rows, names[1:]), QueryRows.of(rows, names[:1])
    return _design(source, names, given)


def _unstreamed(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    if isinstance(source, PeopleSource) or given.get("formula") is not None:
        return _no_design(source, names, given)
    return UnreadTable(source.rows, len(names) - 1), UnreadTable(source.rows, 1)


def _one_row_each(values: Any) -> PeopleRows:
    return PeopleRows(values, np.arange(len(values)), len(values))


def _rows(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Rows side by side: what a function of several columns makes of them is its own."""
    if isinstance(source, PeopleSource):
        return (PeopleLines(source.points(names), names),)
    values = source.matrix(names)
    return (CompleteRows(ready(values, given.get("missing", "ignore")), len(values), names),)


def _no_rows(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    people = isinstance(source, PeopleSource)
    if people and given.get("order") is not None:
        fix = "Ask for another number per person, or call the function itself with columns."
        raise InvalidArgument("per_person", "another than 'last' for rows of a session", "'last'", fix)
    return (UnreadRows(source.rows, names=names, of_people=people),)


def _labelled(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """The values of each public group: the rows that have its label."""
    if isinstance(source, PeopleSource):
        return _peoples_labelled(source, names, given), None
    parts = [source.restricted(names[1], group) for group in given["groups"]]
    values = tuple(part.matrix(names[:1])[:, 0] for part in parts)
    sizes = tuple(part.size for part in values)
    return Samples(values, sizes, source.rows, in_table=True, whole=whole(source.columns[names[0]])), None


def _peoples_labelled(source: PeopleSource, names: Names, given: Given) -> PeopleSamples:
    """One number per person of each group, worked out where the rows are."""
    settled, order = source.settled(names[1]), given.get("order")
    parts = [settled.restricted(names[1], group) for group in given["groups"]]
    how = given["per_person"]
    columns = [part.column(names[0]).each(how, None if order is None else part.order(order)) for part in parts]
    return PeopleSamples(tuple(columns), source.rows, in_table=True)


def _no_labels(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Whether there can be such labels is public, and found before anything is read."""
    for group in given.get("groups", ()) if isinstance(given.get("groups", ()), list | tuple) else ():
        comparable(names[1], source.columns[names[1]], group)
    return UnreadRows(source.rows, whole(source.columns[names[0]]), of_people=isinstance(source, PeopleSource)), None


COLUMN = Reads(_column, _unread_column, people=Peoples(_peoples_column, ("per_person", "weights", "at_most", "order")))
"""One numeric column."""

MOMENTS = replace(COLUMN, kinds=(*NUMERIC, *TIMED))
"""One column of numbers, times or durations."""

FLAGS = Reads(_flags, _no_flags, ("boolean", "any"), least=0, people=VALUES_OF_PEOPLE, picked=_picked_flags)
"""A column of truth values, or none for the rows themselves."""

CATEGORIES = Reads(_tally, _no_tally, (*COUNTED, *TIMED), people=VALUES_OF_PEOPLE)
"""One column whose values are counted."""

POINTS = Reads(_points, _no_points, most=3, people=Peoples(_peoples_rows))
"""One to three numeric columns: points on a line, in a plane, in space."""

COLUMNS = Reads(_table, _no_table, least=2, most=None, people=Peoples(_peoples_rows))
"""Several numeric columns, of which no more than a batch of rows need be in memory."""

DESIGN = Reads(_design, _no_design, least=2, most=None, people=Peoples(_peoples_design), picked=_picked_design)
"""A response and its predictors."""

STREAMED = Reads(_streamed, _unstreamed, least=2, most=None, people=Peoples(_peoples_design), picked=_picked_design)
"""The same where no more than a batch of rows need be in memory."""

EACH = ("per_person", "order")
"""What can be said of people who are one line each."""

PAIR = Reads(
    lambda source, names, given: (*_rows(source, names, given), None),
    lambda source, names, given: (*_no_rows(source, names, given), None),
    least=2,
    most=2,
    people=Peoples(_peoples_side, EACH),
)
"""Two numeric columns side by side."""

ROWS = Reads(_rows, _no_rows, most=2, people=Peoples(_peoples_side, EACH))
"""A numeric column, or two side by side, row by row."""

WIDE = Reads(_rows, _no_rows, least=2, most=None, people=Peoples(_peoples_lines, EACH))
"""Two numeric columns or more."""

LABELLED = Reads(_labelled, _no_labels, least=2, most=2, people=Peoples(_peoples_groups, EACH), last=COUNTED)
"""A numeric column, and one that has the label of each row."""
