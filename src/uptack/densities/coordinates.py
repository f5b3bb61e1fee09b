"""One to three columns of numbers, as densities read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack import checks
from uptack.columns import Column, matrix
from uptack.errors import InvalidArgument
from uptack.statistics.arguments import Question, column

MOST = 3


def coordinates(x: Any) -> list[Any]:
    """One entry for each column, from the shape and the type alone."""
    if isinstance(x, Column):
        return [x]
    must = "a column of numbers, or a table of two or three of them"
    table = matrix("x", x, must)
    if table.ndim == 1:
        return [table]
    if not 1 <= table.shape[1] <= MOST:
        raise InvalidArgument("x", must, checks.outline(x))
    return list(table.T)


def read(columns: list[Any], question: Question) -> list[Column]:
    """The columns as floats without NaN. Where there are several, a row is dropped as a whole."""
    if len(columns) > 1 and question.missing == "drop":
        there = ~np.isnan(columns).any(axis=0)
        columns = [c[there] for c in columns]
    return [column(c, question, floats=True)[0] for c in columns]
