"""Several numeric columns side by side, of which only a batch at a time is in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from uptack.columns.numeric import Ordered
from uptack.columns.selection import Floats, Window
from uptack.columns.unread import Touched

Places = NDArray[np.int64]


class Batched(ABC):
    """A table of numbers. A batch has one line per column. A row is complete if all its values are finite numbers."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many rows there are."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of columns."""

    @abstractmethod
    def beside(self, other: Batched) -> Batched:
        """The columns of both, which are of one table."""

    @abstractmethod
    def clipped(self, columns: Sequence[int]) -> Batched:
        """The same with some columns brought to between 0 and 1."""

    @abstractmethod
    def count(self) -> int:
        """How many rows are complete."""

    @abstractmethod
    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over batches of complete rows, in any order. f must pickle, and make zeros of a batch without rows."""

    @abstractmethod
    def taken(self, places: Places, complete: bool) -> Floats:
        """The rows in these places of a scan; `complete` says that only complete rows have a place.

        Which row has which place may differ from scan to scan. Rows that are not complete come as they are.
        """

    @abstractmethod
    def ordered(self, column: int, windows: Sequence[Window]) -> Ordered:
        """The order statistics of a column, over complete rows."""


@dataclass(frozen=True)
class UnreadTable(Batched):
    """A stand-in for a table that must not be read yet: see `uptack.columns.unread`."""

    rows: int
    columns: int

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.rows

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.columns

    def beside(self, other: Batched) -> UnreadTable:
        """The columns of both."""
        return UnreadTable(self.size, self.width + other.width)

    def clipped(self, columns: Sequence[int]) -> UnreadTable:
        """The same table."""
        return self

    def count(self) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def sums(self, f: Callable[[Floats], list[Any]]) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def taken(self, places: Places, complete: bool) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def ordered(self, column: int, windows: Sequence[Window]) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched
