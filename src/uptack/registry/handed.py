"""Data arguments that a caller hands to a release function: with the owners of their rows, or to pick rows of."""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack.columns.grouped import Keys
from uptack.columns.numeric import Column
from uptack.columns.owners import Owners, PeopleRows
from uptack.columns.people import PeopleColumn
from uptack.columns.samples import PeopleLines, names_of
from uptack.columns.timed import TimedColumn
from uptack.columns.timed import whole as whole_times
from uptack.data.arrays import numeric_column
from uptack.table.values.entrance import column, flags, indexed, matrix


def peoples_column(name: str, x: Any, whose: Owners) -> Any:
    """A column with the owners of its rows."""
    read = whole_times(x)
    if isinstance(read, TimedColumn):
        return TimedColumn(PeopleColumn.of(name, read.ticks, whose), read.form)
    return PeopleColumn.of(name, x if isinstance(x, Column) else numeric_column(column(name, x)), whose)


def peoples_rows(name: str, x: Any, whose: Owners) -> Any:
    """A matrix with the owners of its rows."""
    return PeopleRows.of(name, matrix(name, x), whose)


def peoples_design(name: str, x: Any, whose: Owners) -> Any:
    """X or y with the owners of its rows. A formula whose categories are to be found reads its table later."""
    if hasattr(type(x), "owned"):
        return x.owned(whose)
    return PeopleRows.of(name, column(name, x).floats() if name == "y" else matrix(name, x), whose)


def picked_flags(name: str, x: Any) -> Any:
    """Which rows are counted: those that are True, or all of them in what are no truth values."""
    truths = flags(x)
    return np.ones(len(indexed(name, x)), bool) if truths is None else truths


def picked_design(name: str, x: Any) -> Any:
    """X or y, of which groups of rows are picked."""
    return column(name, x).floats() if name == "y" else matrix(name, x)


def peoples_side(name: str, x: Any, whose: Owners) -> Any:
    """A column of lines, of which each person is to be one; it may be left out."""
    return None if x is None else PeopleLines(PeopleRows.of(name, column(name, x).floats(), whose))


def peoples_lines(name: str, x: Any, whose: Owners) -> Any:
    """Columns side by side, one line per person."""
    values = matrix(name, x)
    return PeopleLines(PeopleRows.of(name, values, whose), names_of(x, values))


def peoples_groups(name: str, x: Any, whose: Owners) -> Any:
    """Values or labels of people."""
    return Keys.of(x, whose, name) if name == "labels" else peoples_column(name, x, whose)
