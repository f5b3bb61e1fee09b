"""One to three columns of numbers, as densities read them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.statistics.column_options import Question, column
from uptack.table.exact_sum import Floats
from uptack.table.protocol import Columns, RowDesign, Weights
from uptack.table.reads import as_columns
from uptack.table.values.kinds import LARGEST

MOST = 3


def coordinates(x: Any) -> Columns:
    """The columns, from the shape and the type alone."""
    must = "a column of numbers, or a table of two or three of them"
    columns = as_columns("x", x, must)
    if not 1 <= len(columns) <= MOST:
        raise InvalidArgument("x", must, f"{len(columns)} of them" if isinstance(x, Columns) else checks.outline(x))
    return columns


def read(columns: Columns, question: Question) -> Columns:
    """The columns as floats without NaN. If there are several, a row that lacks a value is dropped from all."""
    if len(columns) > 1 and question.missing is not None:
        fill = partial(_fill, missing=question.missing)
        x, y = columns.table.design(RowDesign(len(columns) - 1, [one.name for one in columns], fill))
        columns = Columns([*x, y])
    return Columns(column(one, question, floats=True)[0] for one in columns)


def _fill(lines: Sequence[Floats], missing: str | float) -> Sequence[Floats]:
    gone = np.isnan(lines)
    if missing == "drop":
        return list(np.where(gone.any(axis=0), np.nan, lines))
    return list(np.clip(np.where(gone, missing, lines), -LARGEST, LARGEST))


def features(columns: Columns) -> tuple[Floats, Weights]:
    """The rows of columns in memory, one line each, and the units of each row if they are people's.

    **Lemma.** Let a row add its feature φ(x), and a person the mean of the features of her rows, in whole units: the
    sum of ⌊U/m⌋·φ over her m rows, over U. It is a point of the convex hull of 0 and all φ(x). So what bounds the
    features of one row (a norm, a gauge, a scalar product that is never negative, the distance of two) bounds those of
    one person, whatever her rows are and however many: norms and gauges are convex, and 0 is as near as any feature. ∎
    """
    rows = (columns[0].rows if len(columns) == 1 else columns.rows("clip")).in_memory()
    return rows.lines.T, rows.weights
