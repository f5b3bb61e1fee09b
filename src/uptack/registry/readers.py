"""How the data arguments of release functions are made from a table, and stand-ins for them that look at no row."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from uptack.columns.batched import UnreadTable
from uptack.columns.owners import Owners, PeopleRows
from uptack.columns.samples import CompleteRows, PeopleLines, PeopleSamples, Samples, ready
from uptack.columns.spread import PeopleCount, PeopleTally, PeopleValues, Weights
from uptack.columns.tally import Tally
from uptack.columns.timed import TimedColumn, ticked
from uptack.columns.unread import UnreadColumn, UnreadRows
from uptack.data import Source
from uptack.data.batches import QueryRows
from uptack.data.computed import QueryDesign
from uptack.data.filtered import FilteredSource
from uptack.data.people import PeopleSource
from uptack.data.protocol import comparable, form_of
from uptack.data.queries import QuerySource
from uptack.errors import InvalidArgument
from uptack.table.values.kinds import NUMERIC, Kind, whole

Names = tuple[str, ...]
Given = Mapping[str, Any]
Read = Callable[[Source, Names, Given], tuple[Any, ...]]
COUNTED: tuple[Kind, ...] = (*NUMERIC, "text")
"""Kinds of columns whose values can be counted, or be groups."""


def read_column(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """One column of numbers, times or durations."""
    return (source.column(names[0]),)


def unread_column(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Its size, where that is public, and its type."""
    people = isinstance(source, PeopleSource)
    form = form_of(source, names[0])
    integers = form is not None or whole(source.columns[names[0]])
    unread = UnreadColumn(source.rows, integers, of_people=people, weighted=people)
    return (unread if form is None else TimedColumn(unread, form),)


def _left(source: Source) -> Source:
    """The rows that are counted: those that meet the conditions of a session (`uptack.data.filtered`)."""
    return source.left if isinstance(source, FilteredSource) else source


def _masked(source: Source) -> Source:
    """All rows, without values where they do not meet the conditions of a session."""
    return source.masked if isinstance(source, FilteredSource) else source


def _true(x: Any) -> list[int]:
    return [int(np.count_nonzero(x == 1.0))]


def read_flags(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """How many rows are true; without a column, how many there are. People are counted who have such a row."""
    if isinstance(source, PeopleSource):
        return (source.counted(names[0] if names else None, given.get("at_most")),)
    source = _left(source)
    if names and hasattr(source, "trues"):
        return (source.trues(names[0]),)
    return tuple(source.column(names[0]).sums(_true)) if names else (source.rows,)


def unread_flags(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """No row is true."""
    return (PeopleCount(0, given.get("at_most") or 1) if isinstance(source, PeopleSource) else 0,)


def _weights(given: Given) -> Weights:
    """How people's rows count in a table."""
    return Weights(given.get("weights") or "people", given.get("at_most"))


def read_tally(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Values with their counts. Between edges they are counted as they are read: there may be as many as rows."""
    if form_of(source, names[0]) is not None:
        return (source.moments(names[0]),) if isinstance(source, PeopleSource) else read_column(source, names, given)
    if isinstance(source, PeopleSource):
        return (source.tally(names[0], _weights(given), given.get("edges")),)
    if given.get("edges") is not None:
        return read_column(_left(source), names, given)
    keys, counts = source.counts(names)
    return (Tally(tuple(key[0] for key in keys), counts),)


def unread_tally(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Nothing is counted."""
    nothing, form = np.zeros(0, np.int64), form_of(source, names[0])
    if form is not None and isinstance(source, PeopleSource):
        return (PeopleValues(ticked(np.zeros(0), form), Owners(nothing, source.rows)),)
    if form is not None:
        return unread_column(source, names, given)
    if not isinstance(source, PeopleSource):
        return (Tally((), nothing),)
    if _weights(given).way == "one":
        return (PeopleValues(nothing, Owners(nothing, source.rows)),)
    return (PeopleTally((), nothing, source.rows, _weights(given)),)


def read_points(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """One to three columns of numbers."""
    if isinstance(source, PeopleSource):
        return (source.points(names),)
    return read_column(source, names, given) if len(names) == 1 else (source.matrix(names),)


def unread_points(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """As many columns, unread."""
    if isinstance(source, PeopleSource):
        return (_one_row_each(np.zeros((source.rows, len(names))) if len(names) > 1 else np.zeros(source.rows)),)
    return unread_column(source, names, given) if len(names) == 1 else (np.zeros((source.rows, len(names))),)


def read_table(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Columns side by side: of an engine they are read in batches."""
    if isinstance(source, PeopleSource):
        return (source.batched(names) or source.points(names),)
    rows = _masked(source)
    return (QueryRows.of(rows, names) if isinstance(rows, QuerySource) else rows.matrix(names),)


def unread_table(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """A table of that size, unread."""
    return (UnreadTable(source.rows, len(names), isinstance(source, PeopleSource)),)


def formulas() -> Any:
    """The room of formulas declares release functions of its own."""
    return importlib.import_module("uptack.regression.formulas")


def read_design(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """X and y. The response is named first; a formula names it itself."""
    if given.get("formula") is not None:
        return formulas().of_source(_masked(source), names, given), None
    if isinstance(source, PeopleSource):
        rows = source.points(names)
        return replace(rows, values=rows.values[:, 1:]), replace(rows, values=rows.values[:, 0])
    values = source.matrix(names)
    return values[:, 1:], values[:, 0]


def unread_design(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """X and y of that size, unread."""
    if given.get("formula") is not None:
        return formulas().of_nothing(_masked(source), names, given, partial(_zeros, source)), None
    return _zeros(source, len(names) - 1)


def _zeros(source: Source, width: int) -> tuple[Any, Any]:
    """X of so many columns, and y, that stand for those of a source."""
    zeros = np.broadcast_to(0.0, (source.rows, width + 1))
    if isinstance(source, PeopleSource):
        return _one_row_each(zeros[:, 1:]), _one_row_each(zeros[:, 0])
    return zeros[:, 1:], zeros[:, 0]


def read_stream(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """X and y, of an engine in batches."""
    rows, people = _masked(source), source.engine if isinstance(source, PeopleSource) else None
    if given.get("formula") is not None and people is not None:
        design = QueryDesign(people.source, people.ids)
        return formulas().of_engine(source, names, given, design, people.units), None
    if isinstance(source, PeopleSource) and people is not None:
        return source.batched(names[1:]), source.batched(names[:1])
    if not isinstance(rows, QuerySource):
        return read_design(source, names, given)
    if given.get("formula") is not None:
        return formulas().of_engine(rows, names, given, QueryDesign(rows)), None
    return QueryRows.of(rows, names[1:]), QueryRows.of(rows, names[:1])


def unread_stream(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """The same in batches, unread."""
    if given.get("formula") is None:
        return _batches(source, len(names) - 1)
    return formulas().of_nothing(_masked(source), names, given, partial(_batches, source)), None


def _batches(source: Source, width: int) -> tuple[Any, Any]:
    """The same in batches."""
    people = isinstance(source, PeopleSource)
    return UnreadTable(source.rows, width, people), UnreadTable(source.rows, 1, people)


def _one_row_each(values: Any) -> PeopleRows:
    return PeopleRows(values, np.arange(len(values)), len(values))


def read_rows(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Rows side by side: what a function of several columns makes of them is its own."""
    if isinstance(source, PeopleSource):
        return (PeopleLines(source.points(names), names),)
    values = source.matrix(names)
    return (CompleteRows(ready(values, given.get("missing", "ignore")), len(values), names),)


def unread_rows(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Rows of that size, unread."""
    people = isinstance(source, PeopleSource)
    if people and given.get("order") is not None:
        fix = "Ask for another number per person, or call the function itself with columns."
        raise InvalidArgument("per_person", "another than 'last' for rows of a session", "'last'", fix)
    return (UnreadRows(source.rows, names=names, of_people=people),)


def read_labelled(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
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


def unread_labelled(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Whether there can be such labels is public, and found before anything is read."""
    for group in given.get("groups", ()) if isinstance(given.get("groups", ()), list | tuple) else ():
        comparable(names[1], source.columns[names[1]], group)
    return UnreadRows(source.rows, whole(source.columns[names[0]]), of_people=isinstance(source, PeopleSource)), None
