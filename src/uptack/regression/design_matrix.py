"""Predictors and a response as matrices of numbers, for what needs all rows in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.errors import InvalidArgument
from uptack.multivariate.entrance import read_design
from uptack.table.exact_sum import Floats
from uptack.table.protocol import Columns, Rows


@dataclass(frozen=True)
class DesignMatrix:
    """The design matrix, with a first column of ones if there is an intercept, the response, and which rows have both.

    Other rows are zeros, and take part in nothing. `whose` says whose each row is, where people are the unit, and
    `people` how many there are; then only complete rows are here.
    """

    x: Floats
    y: Floats
    complete: NDArray[np.bool_]
    whose: NDArray[np.int64] | None = None
    people: int = 0

    @property
    def n(self) -> int:
        """The number of rows, or of people: how many rows people have is secret."""
        return self.y.size if self.whose is None else self.people

    @property
    def complete_units(self) -> int:
        """How many rows are complete, or how many people have such a row."""
        return int(self.complete.sum()) if self.whose is None else np.unique(self.whose[self.complete]).size

    @property
    def weights(self) -> Floats:
        """What each complete row of a person counts for: one over how many she has."""
        assert self.whose is not None
        counts = np.bincount(self.whose[self.complete], minlength=self.people)
        return np.where(self.complete, 1.0 / np.maximum(counts, 1)[self.whose], 0.0)

    @property
    def p(self) -> int:
        """The number of coefficients."""
        return int(self.x.shape[1])


def design_matrix(x: Any, y: Any, *, fit_intercept: bool, missing: str) -> DesignMatrix:
    """X and y as floats. Rows that are not finite are an error, or with `missing="ignore"` are not complete."""
    design, response = read_design(x, y)
    rows = Columns([*design, response]).rows("drop")
    check_complete(rows, missing)
    return matrix_of(rows, fit_intercept)


def matrix_of(rows: Rows, fit_intercept: bool) -> DesignMatrix:
    """Rows of X and y, in memory. Where they are their own, those that are not complete are zeros."""
    held = rows.in_memory()
    lines: Floats = held.lines
    if held.codes is not None:
        made = finite(lines[:-1].T, lines[-1], fit_intercept)
        return DesignMatrix(made.x, made.y, made.complete, held.codes, held.size)
    if lines.shape[1] < held.size:
        all_rows = np.full((len(lines), held.size), np.nan)
        all_rows[:, np.arange(lines.shape[1]) if held.kept is None else held.kept] = lines
        lines = all_rows
    return finite(lines[:-1].T, lines[-1], fit_intercept)


def finite(design: Floats, response: Floats, fit_intercept: bool) -> DesignMatrix:
    """The matrices, with rows that are not finite set to 0 and marked."""
    if fit_intercept:
        design = np.column_stack([np.ones(len(design)), design])
    broken = ~(np.isfinite(design).all(axis=1) & np.isfinite(response))
    if broken.any():
        design, response = np.where(broken[:, None], 0.0, design), np.where(broken, 0.0, response)
    return DesignMatrix(np.ascontiguousarray(design), response, ~broken)


def check_complete(rows: Rows, missing: str) -> None:
    """Tells the curator where rows must not lack a value and some do."""
    if missing == "error" and rows.lacking():
        fix = "Pass missing='ignore' to leave each such row out of its fit."
        raise InvalidArgument("X and y", "free of NaN and infinities", "some", fix)
