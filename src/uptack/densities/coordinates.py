"""One to three columns of numbers, as densities read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack import checks
from uptack.columns import Column
from uptack.columns.column import listed_rows
from uptack.errors import InvalidArgument
from uptack.statistics.arguments import Call, column

MOST = 3


def coordinates(x: Any) -> list[Any]:
    """One entry for each column, from the shape and the type alone."""
    x = listed_rows(x)
    try:
        if isinstance(x, Column) or np.ndim(x) == 1:
            return [x]
        array = np.asarray(x)
    except ValueError:  # rows of several lengths
        array = np.empty(())
    if array.ndim != 2 or array.dtype.kind not in "fiub" or not 1 <= array.shape[1] <= MOST:
        must = "a column of numbers, or a table of two or three of them"
        raise InvalidArgument("x", must, checks.describe(x))
    return list(array.astype(np.float64).T)


def read(columns: list[Any], request: Call) -> list[Column]:
    """The columns as floats without NaN. Where there are several, a row is dropped as a whole."""
    if len(columns) > 1 and request.missing == "drop":
        there = ~np.isnan(columns).any(axis=0)
        columns = [c[there] for c in columns]
    return [column(c, request, floats=True)[0] for c in columns]
