"""What a release function reads of a table, and a stand-in for it that shows public things only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from uptack.columns import NUMERIC, Kind, whole
from uptack.columns.tally import Tally
from uptack.columns.unread import UnreadColumn
from uptack.data import Source
from uptack.data.protocol import known
from uptack.errors import InvalidArgument

Names = tuple[str, ...]
Given = Mapping[str, Any]
Read = Callable[[Source, Names, Given], tuple[Any, ...]]
COUNTED: tuple[Kind, ...] = (*NUMERIC, "text")
"""Kinds of columns whose values can be counted, or be groups."""


@dataclass(frozen=True)
class Reads:
    """Which columns a function is asked about, and how its data arguments are made from them.

    `read(source, names, given)` looks at the rows. `unread` makes the same arguments from public things alone: it is
    used to find misuse, and a ⊥ that public numbers decide, before anything is debited.
    """

    read: Read
    unread: Read
    kinds: tuple[Kind, ...] = NUMERIC
    least: int = 1
    most: int | None = 1

    def check(self, what: str, names: Names, source: Source, given: Given) -> None:
        """Whether the source has such columns: names and kinds are public. Edges ask for numbers."""
        if not self.least <= len(names) <= (len(names) if self.most is None else self.most):
            must = f"at least {self.least}" if self.most is None else f"{self.least} to {self.most}"
            raise InvalidArgument("columns", f"{must} for {what}", len(names))
        for name in names:
            known(name, source.columns, self.kinds if given.get("edges") is None else NUMERIC)
        if given.get("by") is not None:
            known(given["by"], source.columns, COUNTED)


def _column(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    return (source.column(names[0]),)


def _unread_column(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    return (UnreadColumn(source.rows, whole(source.columns[names[0]])),)


def _true(x: Any) -> list[int]:
    return [int(np.count_nonzero(x == 1.0))]


def _flags(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """How many rows are true; without a column, how many there are."""
    if names and hasattr(source, "trues"):
        return (source.trues(names[0]),)
    return tuple(source.column(names[0]).sums(_true)) if names else (source.rows,)


def _tally(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """Values with their counts. Between edges they are counted as they are read: there may be as many as rows."""
    if given.get("edges") is not None:
        return _column(source, names, given)
    keys, counts = source.counts(names)
    return (Tally(tuple(key[0] for key in keys), counts),)


def _points(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    return _column(source, names, given) if len(names) == 1 else (source.matrix(names),)


def _no_points(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    return _unread_column(source, names, given) if len(names) == 1 else (np.zeros((source.rows, len(names))),)


def _matrix(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    return (source.matrix(names),)


def _no_matrix(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    return (np.broadcast_to(0.0, (source.rows, len(names))),)


def _design(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    """X and y. The response is named first."""
    values = source.matrix(names)
    return values[:, 1:], values[:, 0]


def _no_design(source: Source, names: Names, given: Given) -> tuple[Any, ...]:
    zeros = np.broadcast_to(0.0, (source.rows, len(names)))
    return zeros[:, 1:], zeros[:, 0]


COLUMN = Reads(_column, _unread_column)
"""One numeric column."""

FLAGS = Reads(_flags, lambda source, names, given: (0,), ("boolean", "any"), least=0)
"""A column of truth values, or none for the rows themselves."""

CATEGORIES = Reads(_tally, lambda source, names, given: (Tally((), np.zeros(0, np.int64)),), COUNTED)
"""One column whose values are counted."""

POINTS = Reads(_points, _no_points, most=3)
"""One to three numeric columns: points on a line, in a plane, in space."""

COLUMNS = Reads(_matrix, _no_matrix, least=2, most=None)
"""Several numeric columns."""

DESIGN = Reads(_design, _no_design, least=2, most=None)
"""A response and its predictors."""
