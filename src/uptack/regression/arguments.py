"""What a regression is asked for, checked before the data are read, and the data as matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.columns.column import listed, listed_rows
from uptack.data.frames import column_field
from uptack.data.protocol import NUMERIC
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.noise import Entropy
from uptack.privacy import Adjacency
from uptack.statistics.arguments import Options

Floats = NDArray[np.float64]


class RegressionOptions(TypedDict, total=False):
    """What a regression can be told, in the words of `uptack.statistics.Options`; `missing` is "error" or "ignore"."""

    delta: Rational
    method: str
    rows_per_person: int
    adjacency: Adjacency
    missing: str
    entropy: Entropy | None


def options_of(function: str, given: Mapping[str, Any]) -> Options:
    """The options that a regression has. Others are an error, unless they are ones of statistics and None."""
    known = RegressionOptions.__annotations__
    for name in sorted(set(given) - set(known)):
        if given[name] is not None or name not in Options.__annotations__:
            fix = f"The options are {', '.join(known)}."
            raise InvalidArgument(
                name, f"left out, as {function} has no such option", checks.describe(given[name]), fix
            )
    return cast(Options, {name: value for name, value in given.items() if name in known})


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
    design, response = _numbers(listed_rows(x)), _numbers(y)
    design = design[:, None] if design.ndim == 1 else design
    if design.ndim != 2 or design.dtype.kind not in "fiub" or design.shape[1] == 0:
        raise InvalidArgument("X", "a table of numbers with at least one column", checks.describe(design))
    if response.ndim != 1 or response.dtype.kind not in "fiub":
        raise InvalidArgument("y", "a one-dimensional column of numbers", checks.describe(response))
    if len(design) != len(response):
        raise InvalidArgument("y", f"as long as X, {len(design)} rows", f"{len(response)} rows")
    design, response = design.astype(np.float64), response.astype(np.float64)
    if fit_intercept:
        design = np.column_stack([np.ones(len(design)), design])
    broken = ~(np.isfinite(design).all(axis=1) & np.isfinite(response))
    if broken.any():
        if missing == "error":
            fix = "Pass missing='ignore' to leave each such row out of its fit."
            raise InvalidArgument("X and y", "free of NaN and infinities", "some", fix)
        design[broken], response[broken] = 0.0, 0.0
    return Table(design, response, ~broken)


def _numbers(x: Any) -> Any:
    """An array; a column or a list as floats, with NaN where a value is missing, so that no row decides the type."""
    field = column_field(x)
    if field is not None and field.kind in NUMERIC:
        return field.numbers()
    floats = listed(x) if isinstance(x, list | tuple) else None
    if isinstance(x, np.ma.MaskedArray) and x.dtype.kind in "fiub":
        floats = np.ma.filled(x.astype(np.float64), np.nan)
    return np.asarray(x) if floats is None else floats


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in allowed:
        raise InvalidArgument(name, " or ".join(map(repr, allowed)), checks.describe(value))
    return str(value)
