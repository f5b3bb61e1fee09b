"""A table of predictors and a response, as matrices of numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.columns.owners import PeopleRows
from uptack.errors import InvalidArgument
from uptack.table.values.entrance import column, matrix

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """The design matrix, with a first column of ones if there is an intercept, the response, and which rows have both.

    Other rows are zeros, and take part in nothing. `whose` says whose each row is, where people are the unit, and
    `people` how many there are.
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


def table(x: Any, y: Any, *, fit_intercept: bool, missing: str) -> Table:
    """X and y as floats. Rows that are not finite are an error, or with `missing="ignore"` are not complete."""
    if isinstance(x, PeopleRows) and isinstance(y, PeopleRows):
        made = finite(*_checked(x.values, y.values), fit_intercept, missing)
        return replace(made, whose=x.codes, people=x.people)
    response = column("y", y)
    lines, _ = _checked(matrix("X", x, "a table of numbers with at least one column"), response.floats())
    if len(lines) != response.size:
        raise InvalidArgument("y", "as long as X", "another number of rows")
    return finite(lines, response.floats(), fit_intercept, missing)


def _checked(design: Floats, response: Floats) -> tuple[Floats, Floats]:
    """The design as a table of at least one column, and the response as a column."""
    design = design[:, None] if design.ndim == 1 else design
    if design.shape[1] == 0:
        raise InvalidArgument("X", "a table of numbers with at least one column", checks.outline(design))
    if response.ndim != 1:
        raise InvalidArgument("y", "one column of numbers", "a table")
    return design, response


def finite(design: Floats, response: Floats, fit_intercept: bool, missing: str) -> Table:
    """The table, with rows that are not finite refused, or set to 0 and marked."""
    if fit_intercept:
        design = np.column_stack([np.ones(len(design)), design])
    broken = ~(np.isfinite(design).all(axis=1) & np.isfinite(response))
    if broken.any():
        if missing == "error":
            raise lacking()
        design, response = np.where(broken[:, None], 0.0, design), np.where(broken, 0.0, response)
    return Table(design, response, ~broken)


def lacking() -> InvalidArgument:
    """What the curator is told where rows must not lack a value and some do."""
    fix = "Pass missing='ignore' to leave each such row out of its fit."
    return InvalidArgument("X and y", "free of NaN and infinities", "some", fix)
