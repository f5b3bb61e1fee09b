"""Columns that are read once: of a table that is small by its number of rows, all figures come from memory.

A query has a price of its own, whatever it reads: some milliseconds until it is written, planned and begun. A report
asks a column for a dozen things, so that a small table is mostly prices. Such a column is read once for each state of
the table, by one query, and then it is an array. Both ways give the same numbers, to the last bit.

How many rows the *whole* table has decides, and nothing else: a filter or a group of a large table stays with the
engine, however few rows it has. So the number of queries does not tell how many rows meet a condition.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from uptack.columns.numeric import ArrayColumn
from uptack.columns.selection import Floats, OrderStatistics, Window, merged
from uptack.table import snapshots
from uptack.table.engine import connection

if TYPE_CHECKING:
    from uptack.data.queries import QuerySource

COLUMN = 1 << 27
"""Bytes that a column may have to be read: 16 million rows."""
ALL = 1 << 28
"""Bytes of all columns that are held, at most: of each its rows, and those of them that have a value."""
HERE = ("duckdb",)
"""Engines of this process. What is elsewhere stays there, and sends a few rows."""


def fits(con: Any, whole: QuerySource) -> bool:
    """Whether columns of a table are read into memory."""
    return con.name in HERE and whole.rows * 8 <= COLUMN


def column(con: Any, whole: QuerySource, values: Any, integers: bool) -> HeldColumn:
    """An expression with one column of floats, read once for each state of the table.

    Those that were asked for last are held: as many as there is room for, if each has as many rows as the whole table.
    """
    kept = snapshots.state(con)
    with kept.lock:
        if kept.reading is None:
            return HeldColumn(Pile(connection.read(values)), integers)
        key = values.op()
        if key not in kept.held:
            while kept.held and (len(kept.held) + 1) * whole.rows * 16 > ALL:
                kept.held.popitem(last=False)
            kept.held[key] = Pile(connection.read(values))
        kept.held.move_to_end(key)
        return HeldColumn(kept.held[key], integers)


class Pile:
    """Numbers that are put in order as far as somebody asked, in place: what is in order stays so.

    A *cut* is a place k with x_i ≤ x_j for all i < k ≤ j. Between two cuts, nothing else moves when ranks in between
    are asked for. So all windows of a column together cost about as much as the first.
    """

    def __init__(self, values: Floats) -> None:
        self.values, self._cuts, self._done = values, [0, values.size], list[Window]()

    @cached_property
    def finite(self) -> bool:
        """Whether no number is NaN or infinite."""
        return ArrayColumn(self.values).finite()

    @cached_property
    def present(self) -> Pile:
        """The numbers that are not NaN, with ±inf replaced by ±the largest float."""
        return self if self.finite else Pile(ArrayColumn(self.values).present().values.astype(np.float64, copy=False))

    def order(self, windows: Sequence[Window]) -> None:
        """Put x(a), ..., x(b) in their places for each window (a, b)."""
        n = self.values.size
        wanted = merged([(max(a, 1), min(b, n)) for a, b in windows if a <= n and b >= 1])
        wanted = [(a, b) for a, b in wanted if not any(low <= a and b <= high for low, high in self._done)]
        self._cut(sorted({place for a, b in wanted for place in (a - 1, b) if not self._known(place)}))
        for a, b in wanted:
            self.values[a - 1 : b].sort()
        self._done = merged([*self._done, *wanted])

    def _known(self, place: int) -> bool:
        """Whether a place is a cut, or among numbers that are in order."""
        return place in self._cuts or any(a <= place < b for a, b in self._done)

    def _cut(self, places: Sequence[int]) -> None:
        """Make these places cuts: those between the same two at once."""
        parts: dict[Window, list[int]] = {}
        for place in places:
            after = bisect(self._cuts, place)
            parts.setdefault((self._cuts[after - 1], self._cuts[after]), []).append(place)
        for (low, high), some in parts.items():
            self.values[low:high].partition([place - low for place in some])
        for place in places:
            insort(self._cuts, place)


class HeldColumn:
    """A column in memory whose figures share the work of putting it in order."""

    def __init__(self, pile: Pile, integers: bool) -> None:
        self.pile, self.integers = pile, integers

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.pile.values.size

    @property
    def _array(self) -> ArrayColumn:
        return ArrayColumn(self.pile.values, self.integers)

    def finite(self) -> bool:
        """Whether no row is missing, NaN or infinite."""
        return self.pile.finite

    def filled(self, missing: float) -> HeldColumn | ArrayColumn:
        """NaN replaced by a number, and ±inf by ±the largest float."""
        return self if self.pile.finite else self._array.filled(missing)

    def present(self) -> HeldColumn:
        """The rows that have a value."""
        return HeldColumn(self.pile.present, self.integers)

    def floats(self) -> HeldColumn:
        """The column as floats, which it is."""
        return HeldColumn(self.pile, integers=False)

    def away(self, centre: float) -> ArrayColumn:
        """Distances from a number."""
        return self._array.away(centre)

    def ordered(self, windows: Sequence[Window]) -> OrderStatistics:
        """Order statistics: only what no earlier figure has put in order is moved."""
        self.pile.order(windows)
        return OrderStatistics(self.pile.values, ())

    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over batches."""
        return self._array.sums(f)
