"""A column of numbers, wherever it is kept: what statistics ask of it.

A statistic never sees the rows themselves. It asks for order statistics around ranks that were fixed before, and for
sums of a function of each row. An array answers from memory (`ArrayColumn`), a file, database or cluster where the rows
are (`uptack.data`). Both give the same numbers, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from uptack.columns.selection import Floats, OrderStatistics, Window

LARGEST = float(np.finfo(np.float64).max)
BATCH = 1 << 16
T = TypeVar("T")


class Ordered(Protocol):
    """x(1) ≤ ... ≤ x(n), known inside windows of ranks that were asked for beforehand."""

    @property
    def n(self) -> int:
        """The number of rows."""
        ...

    def at(self, ranks: NDArray[np.int64]) -> Floats:
        """x(r) for ranks inside the windows; -inf for r < 1 and +inf for r > n."""
        ...

    def total(self, first: int, last: int) -> int:
        """Σ of x(first), ..., x(last) in units of 2^-1074, exactly; both ends must lie in windows."""
        ...


@runtime_checkable
class Column(Protocol):
    """A numeric column. Rows without a value read as NaN."""

    @property
    def size(self) -> int:
        """The number of rows, those without a value among them."""
        ...

    @property
    def integers(self) -> bool:
        """Whether its type, not its content, says that all values are whole numbers."""
        ...

    def finite(self) -> bool:
        """Whether no row is missing, NaN or infinite. For the curator only."""
        ...

    def filled(self, missing: float) -> Column:
        """The same column with NaN replaced by a number, and ±inf by ±the largest float."""
        ...

    def present(self) -> Column:
        """The rows that have a value, with ±inf replaced by ±the largest float."""
        ...

    def floats(self) -> Column:
        """The same column as floats."""
        ...

    def away(self, centre: float) -> Column:
        """The distances of all rows from a number, each rounded once."""
        ...

    def ordered(self, windows: Sequence[Window]) -> Ordered:
        """Its order statistics inside windows of ranks (first, last), counted from 1, both ends included."""
        ...

    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f(rows) over batches of rows, entry by entry: integers, floats or arrays.

        f is given batches of any size and must be additive: f of all rows is the sum of f over any partition of them.
        It must be picklable for a cluster. Integers are added exactly; floats in no particular order.
        """
        ...


class ArrayColumn:
    """A column in memory."""

    def __init__(self, values: NDArray[np.generic], integers: bool | None = None) -> None:
        self.values = _doubles(values) if values.dtype.kind == "f" and values.itemsize > 8 else values
        self._integers = values.dtype.kind in "iub" if integers is None else integers

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.values.size

    @property
    def integers(self) -> bool:
        """Whether the column is of integers or truth values; a nullable one is an array of floats all the same."""
        return self._integers

    def finite(self) -> bool:
        """Whether no row is NaN or infinite. One sum tells, unless it overflows."""
        if self.values.dtype.kind in "iub":
            return True
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(self.values.sum(dtype=np.float64)):
                return True
        return bool(np.isfinite(self.values).all())

    def filled(self, missing: float) -> ArrayColumn:
        """NaN replaced by a number, and ±inf by ±the largest float."""
        if self.finite():
            return self
        plain = self.values.astype(np.float64)
        return ArrayColumn(np.nan_to_num(plain, nan=missing, posinf=LARGEST, neginf=-LARGEST), self.integers)

    def present(self) -> ArrayColumn:
        """The rows that are not NaN, with ±inf replaced by ±the largest float."""
        return self if self.finite() else ArrayColumn(self.values[~np.isnan(self.values)], self.integers).filled(0.0)

    def floats(self) -> ArrayColumn:
        """The column as floats of 64 bits."""
        return ArrayColumn(self.values.astype(np.float64, copy=False), integers=False) if self.integers else self

    def away(self, centre: float) -> ArrayColumn:
        """|x - centre| of every row."""
        with np.errstate(over="ignore"):
            return ArrayColumn(np.abs(self.values.astype(np.float64) - centre), integers=False)

    def ordered(self, windows: Sequence[Window]) -> OrderStatistics:
        """Order statistics by selection."""
        return OrderStatistics(self.values, windows)

    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over batches that fit the cache."""
        starts = range(0, max(self.size, 1), BATCH)
        parts = (f(self.values[start : start + BATCH].astype(np.float64, copy=False)) for start in starts)
        return [sum(column[1:], start=column[0]) for column in zip(*parts, strict=True)]


def _doubles(values: NDArray[Any]) -> NDArray[np.float64]:
    """Wider floats as floats of 64 bits, row by row; a finite number beyond them is the largest, without a word."""
    return np.where(np.isinf(values), values, np.clip(values, -LARGEST, LARGEST)).astype(np.float64)


def listed(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """A list of numbers as floats, with NaN for None; None where something else is in it.

    A list has no type of its own, and one row must not decide that of all. What is beyond all floats is the largest.
    """
    if not all(v is None or isinstance(v, Real) for v in values):
        return None
    return np.array([np.nan if v is None else _clamped(v) for v in values], np.float64)


def _clamped(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return LARGEST if value > 0 else -LARGEST


def as_column(x: Column | NDArray[np.generic]) -> Column:
    """An array as a column; a column as it is."""
    return ArrayColumn(x) if isinstance(x, np.ndarray) else x
