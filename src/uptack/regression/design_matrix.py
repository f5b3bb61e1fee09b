"""Predictors and a response as matrices of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uptack.errors import InvalidArgument
from uptack.table.exact_sum import Floats
from uptack.table.protocol import Rows


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """The design matrix, with a first column of ones if there is an intercept, the response, and which rows have both.

    Other rows are zeros, and take part in nothing.
    """

    x: Floats
    y: Floats
    complete: NDArray[np.bool_]


def finite(design: Floats, response: Floats, fit_intercept: bool) -> DesignMatrix:
    """The matrices, with rows that are not finite set to 0 and marked."""
    if fit_intercept:
        design = np.column_stack([np.ones(len(design)), design])
    broken = ~(np.isfinite(design).all(axis=1) & np.isfinite(response))
    if broken.any():
        design, response = np.where(broken[:, None], 0.0, design), np.where(broken, 0.0, response)
    return DesignMatrix(np.ascontiguousarray(design), response, ~broken)


def in_memory(rows: Rows, fit_intercept: bool) -> DesignMatrix:
    """All rows of X and y, which are their own; those that are not complete are zeros."""
    held = rows.in_memory()
    lines: Floats = held.lines
    if lines.shape[1] < held.size:
        every = np.full((len(lines), held.size), np.nan)
        every[:, np.arange(lines.shape[1]) if held.kept is None else held.kept] = lines
        lines = every
    return finite(lines[:-1].T, lines[-1], fit_intercept)


def check_complete(rows: Rows, missing: str) -> None:
    """Tells the curator where rows must not lack a value and some do."""
    if missing == "error" and rows.lacking():
        fix = "Pass missing='ignore' to leave each such row out of its fit."
        raise InvalidArgument("X and y", "free of NaN and infinities", "some", fix)
