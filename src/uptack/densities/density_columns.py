"""One to three columns of numbers, as densities read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.columns.numeric import ArrayColumn, Column
from uptack.columns.owners import PeopleRows
from uptack.columns.people import PeopleColumn
from uptack.columns.selection import Floats
from uptack.errors import InvalidArgument
from uptack.statistics.column_input import column
from uptack.statistics.column_options import Question
from uptack.table.values.entrance import matrix

Integers = NDArray[np.int64]
MOST = 3


def coordinates(x: Any) -> list[Any]:
    """One entry for each column, from the shape and the type alone."""
    if isinstance(x, Column):
        return [x]
    must = "a column of numbers, or a table of two or three of them"
    if isinstance(x, PeopleRows):
        sides = x.values[:, None] if x.values.ndim == 1 else x.values
        if not 1 <= sides.shape[1] <= MOST:
            raise InvalidArgument("x", must, "another number of columns")
        return [PeopleColumn(ArrayColumn(side), x.codes, x.people) for side in sides.T]
    table = matrix("x", x, must)
    if table.ndim == 1:
        return [table]
    if not 1 <= table.shape[1] <= MOST:
        raise InvalidArgument("x", must, checks.outline(x))
    return list(table.T)


def read(columns: list[Any], question: Question) -> list[Column]:
    """The columns as floats without NaN. Where there are several, a row is dropped as a whole."""
    if len(columns) > 1 and question.missing == "drop":
        people = isinstance(columns[0], PeopleColumn)
        there = np.flatnonzero(~np.isnan([c.values if people else c for c in columns]).any(axis=0))
        columns = [c.only(there) if people else c[there] for c in columns]
    return [column(c, question, floats=True)[0] for c in columns]


def features(columns: Sequence[Column]) -> tuple[Floats, Integers | None]:
    """The rows of columns in memory, one line each, and the units of each row where they are people's.

    **Lemma.** Let a row add its feature φ(x), and a person the mean of the features of her rows, in whole units: the
    sum of ⌊U/m⌋·φ over her m rows, over U. It is a point of the convex hull of 0 and all φ(x). So what bounds the
    features of one row (a norm, a gauge, a scalar product that is never negative, the distance of two) bounds those of
    one person, whatever her rows are and however many: norms and gauges are convex, and 0 is as near as any feature. ∎
    """
    units = columns[0].units if isinstance(columns[0], PeopleColumn) else None
    values = [c.values.astype(np.float64) for c in columns if isinstance(c, ArrayColumn | PeopleColumn)]
    return np.column_stack(values), units
