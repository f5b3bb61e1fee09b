"""The rows of a source in groups, each read where it is kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from uptack.columns.numeric import ArrayColumn, Column, Ordered
from uptack.columns.selection import Floats, Window
from uptack.columns.timed import TimedColumn
from uptack.data import Source
from uptack.data.people import empty
from uptack.data.protocol import Counts, Key
from uptack.groups import Parts
from uptack.noise.integer_laws import Integers
from uptack.table.values.kinds import canonical, labelled


class SourceGroups:
    """What a statistic reads of the rows of a source, by the values of one or more columns: a filter per group.

    `read` makes the arguments of a statistic from a source. A group is a canonical value
    (`uptack.table.values.kinds.canonical`), or a tuple of them where there are several columns: keys that a source
    tells apart, and canonical forms do not, are one group, with all their rows.

    In a source of people each person counts in one of her groups only, and sizes are numbers of people
    (`uptack.columns.grouped`).
    """

    def __init__(self, source: Source, by: Sequence[str], read: Callable[[Any], tuple[Any, ...]]) -> None:
        self.of_people = bool(getattr(source, "person", ()))
        self._all, self._by, self._read = source, tuple(by), read
        self._shape: Callable[[Any, Any], Any] = lambda rows, order: rows
        self._order: str | None = None

    def each(self, how: str, order: str | None = None) -> SourceGroups:
        """One number per person, from her rows in her group; `order` is the name of a column."""
        return self._shaped(lambda rows, places: rows.each(how, places), order)

    def by_rows(self, at_most: int) -> SourceGroups:
        """Rows of people with up to so many weigh alike."""
        return self._shaped(lambda rows, places: rows.by_rows(at_most))

    def _shaped(self, shape: Callable[[Any, Any], Any], order: str | None = None) -> SourceGroups:
        made = copy(self)
        made._shape, made._order = shape, order
        return made

    @cached_property
    def _source(self) -> Any:
        return cast(Any, self._all).settled(*self._by) if self.of_people else self._all

    @cached_property
    def _keys(self) -> dict[Key, tuple[list[Key], int]]:
        """The keys of each group, and how many rows, or people, it has. Read when it is asked for."""
        found: dict[Key, tuple[list[Key], int]] = {}
        for key, count in zip(*(self._source.groups(*self._by) if self.of_people else self._counts()), strict=True):
            group = tuple(map(canonical, key))
            keys, rows = found.setdefault(group, ([], 0))
            found[group] = [*keys, key], rows + int(count)
        return found

    def _counts(self) -> Counts:
        return cast(Source, self._source).counts(self._by)

    def sizes(self) -> tuple[Sequence[Hashable], Integers]:
        """The groups that occur, as columns of their kinds show them, and their numbers of rows, or of people."""
        kinds = [self._all.columns[name] for name in self._by]
        parts = [labelled(values, kind) for values, kind in zip(zip(*self._keys, strict=True), kinds, strict=False)]
        groups = list(zip(*parts, strict=True)) if len(self._by) > 1 else [*parts[0]] if parts else []
        return groups, np.array([rows for _, rows in self._keys.values()], np.int64)

    def rows(self, group: Hashable) -> Any:
        """What a statistic reads of a group's rows."""
        wanted = group if len(self._by) > 1 and isinstance(group, tuple) else (group,)
        keys = self._keys.get(tuple(map(canonical, wanted)), ([], 0))[0]
        parts = [self._arguments(self._restricted(key)) for key in keys]
        return _joined(parts) if parts else self.nothing()

    def _restricted(self, key: Key) -> Any:
        part = self._source
        for name, value in zip(self._by, key, strict=True):
            part = part.restricted(name, value)
        return part

    def _arguments(self, part: Any) -> Any:
        """The arguments of a statistic, in the shape that was asked for."""
        order = None if self._order is None else part.order(self._order)
        made = tuple(self._shape(rows, order) for rows in self._read(part))
        return made[0] if len(made) == 1 else Parts(made)

    def nothing(self) -> Any:
        """What it reads of a table without rows, of the same types."""
        return self._arguments(empty(self._all))


def _joined(parts: Sequence[Any]) -> Any:
    """The rows of several parts of a column, which are of one type."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], TimedColumn):
        return TimedColumn(JoinedColumn(tuple(part.ticks for part in parts)), parts[0].form)
    return JoinedColumn(tuple(parts))


@dataclass(frozen=True)
class JoinedColumn:
    """The rows of several columns of one type, one after the other."""

    parts: tuple[Column, ...]

    @property
    def size(self) -> int:
        """The number of rows."""
        return sum(part.size for part in self.parts)

    @property
    def integers(self) -> bool:
        """Whether the type says that all values are whole numbers."""
        return self.parts[0].integers

    def finite(self) -> bool:
        """Whether no row is missing, NaN or infinite."""
        return all(part.finite() for part in self.parts)

    def filled(self, missing: float) -> JoinedColumn:
        """NaN replaced by a number."""
        return JoinedColumn(tuple(part.filled(missing) for part in self.parts))

    def present(self) -> JoinedColumn:
        """The rows that have a value."""
        return JoinedColumn(tuple(part.present() for part in self.parts))

    def floats(self) -> JoinedColumn:
        """The same column as floats."""
        return JoinedColumn(tuple(part.floats() for part in self.parts))

    def ordered(self, windows: Sequence[Window]) -> Ordered:
        """Order statistics of all rows, which are read for that."""
        return ArrayColumn(np.concatenate([_rows(part) for part in self.parts])).ordered(windows)

    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over batches of every part."""
        found = [part.sums(f) for part in self.parts]
        return [sum(entry[1:], start=entry[0]) for entry in zip(*found, strict=True)]


def _rows(column: Column) -> Floats:
    return column.ordered([(1, column.size)]).at(np.arange(1, column.size + 1)) if column.size else np.zeros(0)
