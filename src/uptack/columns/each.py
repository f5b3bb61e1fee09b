"""One number per person, from her rows alone: then a column of people is a column like any other.

**Theorem.** Replacing all rows of one person replaces one number, and adding or removing her adds or removes one. So
every statistic is private for people with what it is for rows. How many rows anybody has does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns.masked import MaskedColumn
from uptack.columns.numeric import ArrayColumn
from uptack.columns.selection import Floats, OrderStatistics, Window
from uptack.errors import InvalidArgument
from uptack.table.values.entrance import field
from uptack.table.values.field import Field
from uptack.table.values.kinds import LARGEST

Rows = ArrayColumn | MaskedColumn
Codes = NDArray[np.int64]
HOWS = ("mean", "sum", "median", "count", "min", "max", "last")
"""What can be made of a person's rows: `uptack.columns.each.EachColumn`."""


class EachColumn:
    """One number per person, worked out once the rows without a value have been filled or left out.

    "mean", "sum", "median" (the lower one of two), "min" and "max" of her rows, "count", how many there are, and
    "last", the row with the largest `order` (the larger one of two). Sums beyond all floats are the largest one.
    """

    of_people = True
    weighted = size_is_secret = False

    def __init__(self, rows: Rows, codes: Codes, people: int, how: str, order: Codes | None = None) -> None:
        self._rows, self._codes, self._people, self._how, self._order = rows, codes, people, how, order

    @property
    def size(self) -> int:
        """The number of people."""
        return self._people

    @property
    def codes(self) -> Codes:
        """Whose each row is."""
        return self._codes

    @property
    def people(self) -> int:
        """How many people have rows."""
        return self._people

    def only(self, rows: Codes) -> EachColumn:
        """One number per person from some of the rows, and those who own them."""
        found, codes = np.unique(self._codes[rows], return_inverse=True)
        order = None if self._order is None else self._order[rows]
        return EachColumn(taken(self._rows, rows), codes, found.size, self._how, order)

    @property
    def integers(self) -> bool:
        """Whether the numbers are whole ones, by the type of the rows."""
        return self._how == "count" or (self._rows.integers and self._how != "mean")

    def finite(self) -> bool:
        """Whether no row is missing, NaN or infinite. For the curator only."""
        return self._rows.finite()

    def filled(self, missing: float) -> ArrayColumn:
        """The numbers, where rows without a value are read as this one."""
        return self._with(self._rows.filled(missing))._made

    def present(self) -> ArrayColumn:
        """The numbers of the people who have a row with a value, from those rows alone."""
        if self._rows.finite():
            return self._made
        return self.only(np.flatnonzero(~np.isnan(self._rows.values))).filled(0.0)

    def floats(self) -> EachColumn:
        """The same from rows as floats."""
        return self._with(self._rows.floats())

    def away(self, centre: float) -> ArrayColumn:
        """Distances of the numbers from one."""
        return self._made.away(centre)

    def ordered(self, windows: Sequence[Window]) -> OrderStatistics:
        """Order statistics of the numbers."""
        return self._made.ordered(windows)

    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over the numbers."""
        return self._made.sums(f)

    def _with(self, rows: Rows) -> EachColumn:
        return EachColumn(rows, self._codes, self._people, self._how, self._order)

    @cached_property
    def _made(self) -> ArrayColumn:
        if self._how == "count":
            return ArrayColumn(np.bincount(self._codes, minlength=self._people))
        made = self._added if self._how in ("mean", "sum") else self._picked
        return ArrayColumn(made(), self.integers)

    def _added(self) -> Floats:
        """Sums and means. A person's rows are added in order of their size, so that the table's order has no say."""
        values = self._rows.values.astype(np.float64)
        order = np.argsort(values, kind="stable")
        sums = np.bincount(self._codes[order], weights=values[order], minlength=self._people)
        each = sums / self._counts if self._how == "mean" else sums
        return np.clip(each, -LARGEST, LARGEST)

    def _picked(self) -> NDArray[Any]:
        """One of each person's rows: sorted by person, by `order` for the last, and by value."""
        values = self._rows.values
        keys = (values, self._codes) if self._how != "last" else (values, self._order, self._codes)
        rows = np.lexsort(keys)  # type: ignore[arg-type]
        ends = np.cumsum(self._counts)
        starts = ends - self._counts
        place = {"min": starts, "median": starts + (self._counts - 1) // 2}.get(self._how, ends - 1)
        picked: NDArray[Any] = values[rows[place]]
        return picked

    @property
    def _counts(self) -> NDArray[np.int64]:
        return np.bincount(self._codes, minlength=self._people)


def taken(rows: Rows, which: NDArray[np.int64]) -> Rows:
    """Some of the rows of a column."""
    return rows.taken(which) if isinstance(rows, MaskedColumn) else ArrayColumn(rows.values[which], rows.integers)


def places(order: Any, size: int) -> Codes:
    """Each row's place in the order of a column of numbers, times or texts; rows without a value come first."""
    must, fix = "a column as long as the data, by which per_person='last' knows the last row", "Pass a column of times."
    read = order if isinstance(order, Field) else field("order", order, must, fix)
    if read.size != size:
        raise InvalidArgument("order", must, "a column of another length", fix)
    found, codes = read.codes()
    return np.where(codes == len(found) - 1, -1, codes) if found and found[-1] is None else codes
