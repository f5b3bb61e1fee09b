"""The rows of a source in groups, each read where it is kept."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from uptack.columns import ArrayColumn, Column
from uptack.data import Source
from uptack.discrete.categories import plain
from uptack.noise.laws import Integers


class SourceGroups:
    """One numeric column of a source by the values of another one: a filter a group, pushed down to the engine."""

    def __init__(self, source: Source, column: str, by: str) -> None:
        self._source, self._column, self._by = source, column, by
        keys, self._counts = source.counts((by,))
        self._values = {plain(key[0]): key[0] for key in keys}

    def sizes(self) -> tuple[Sequence[Hashable], Integers]:
        """The groups that occur, and their numbers of rows."""
        return list(self._values), self._counts

    def rows(self, group: Hashable) -> Any:
        """The column of a group's rows."""
        if group not in self._values:
            return self.nothing()
        return self._source.restricted(self._by, self._values[group]).column(self._column)

    def nothing(self) -> Column:
        """A column without rows, of the same type."""
        integers = self._source.columns[self._column] != "number"
        return ArrayColumn(np.zeros(0, np.int64 if integers else np.float64))
