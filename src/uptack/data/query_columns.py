"""A numeric column whose rows stay in an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from uptack.columns.selection import Floats, Window
from uptack.data.ordering import Selected
from uptack.data.scans import QueryScans
from uptack.table.engine import connection
from uptack.table.engine.expressions import as_floats, filled, missing, number

if TYPE_CHECKING:
    from uptack.data.queries import QuerySource


@dataclass(frozen=True)
class QueryColumn:
    """A numeric column of an engine: an expression with one column, v, of floats.

    `certain` says that no row is missing, NaN or infinite, because each such row has been replaced.
    """

    source: QuerySource
    name: str
    values: Any
    integers: bool
    certain: bool

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.source.rows

    def finite(self) -> bool:
        """Whether no row is missing, NaN or infinite: one scan per column."""
        return self.certain or self.source.oddities(self.name) == (0, 0)

    def filled(self, missing: float) -> QueryColumn:
        """The engine replaces NaN and infinities as it reads."""
        return self if self.certain else replace(self, values=filled(self.values, missing), certain=True)

    def present(self) -> QueryColumn:
        """The engine leaves rows without a value out, and replaces infinities."""
        if self.certain:
            return self
        rows = self.source.part(~missing(as_floats(self.source.table[self.name])))
        return replace(rows.kept(self.name), integers=self.integers).filled(0.0)

    def floats(self) -> QueryColumn:
        """The column as floats."""
        return replace(self, integers=False)

    def away(self, centre: float) -> QueryColumn:
        """The engine takes the distances."""
        return replace(self, values=self.values.select(v=(self.values.v - number(centre)).abs()), integers=False)

    def ordered(self, windows: Sequence[Window]) -> Selected:
        """Order statistics in two or three scans: see `uptack.data.ordering`."""
        gone = 0 if self.certain else self.source.oddities(self.name)[0]
        rows = self.values.filter(~missing(self.values.v)) if gone else self.values
        return Selected(QueryScans(rows), self.size, self.size - gone, windows)

    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over record batches, on the executors where there are such."""
        return connection.sums(self.values, f)
