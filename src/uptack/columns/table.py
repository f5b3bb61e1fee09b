"""A table of predictors and a response, as matrices of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.columns.entrance import column, matrix
from uptack.errors import InvalidArgument

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """The design matrix, with a first column of ones if there is an intercept, the response, and which rows have both.

    Other rows are zeros, and take part in nothing.
    """

    x: Floats
    y: Floats
    complete: NDArray[np.bool_]

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.y.size

    @property
    def p(self) -> int:
        """The number of coefficients."""
        return int(self.x.shape[1])


def table(x: Any, y: Any, *, fit_intercept: bool, missing: str) -> Table:
    """X and y as floats. Rows that are not finite are an error, or with `missing="ignore"` are not complete."""
    design, response = matrix("X", x, "a table of numbers with at least one column"), column("y", y)
    design = design[:, None] if design.ndim == 1 else design
    if design.shape[1] == 0:
        raise InvalidArgument("X", "a table of numbers with at least one column", checks.outline(design))
    if len(design) != response.size:
        raise InvalidArgument("y", f"as long as X, {len(design)} rows", f"{response.size} rows")
    return _finite(design, response.floats(), fit_intercept, missing)


def _finite(design: Floats, response: Floats, fit_intercept: bool, missing: str) -> Table:
    """The table, with rows that are not finite refused, or set to 0 and marked."""
    if fit_intercept:
        design = np.column_stack([np.ones(len(design)), design])
    broken = ~(np.isfinite(design).all(axis=1) & np.isfinite(response))
    if broken.any():
        if missing == "error":
            fix = "Pass missing='ignore' to leave each such row out of its fit."
            raise InvalidArgument("X and y", "free of NaN and infinities", "some", fix)
        design, response = np.where(broken[:, None], 0.0, design), np.where(broken, 0.0, response)
    return Table(design, response, ~broken)
