"""The rows of a source in groups, each read where it is kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from uptack.columns import ArrayColumn, Column, canonical, labelled, whole
from uptack.columns.numeric import Ordered
from uptack.columns.people import PeopleColumn
from uptack.columns.selection import Floats, Window
from uptack.columns.timed import TimedColumn
from uptack.data import Source
from uptack.data.protocol import form_of
from uptack.noise.laws import Integers


class SourceGroups:
    """One numeric column of a source by the values of another one: a filter per group, pushed down to the engine.

    A group is a canonical value (`uptack.columns.canonical`): keys that a source tells apart, and canonical forms do
    not, are one group, with all their rows.

    In a source of people each person counts in one of her groups only, and sizes are numbers of people
    (`uptack.columns.grouped`).
    """

    def __init__(self, source: Source, column: str, by: str) -> None:
        self.of_people = bool(getattr(source, "person", ()))
        self._source, self._column, self._by = _one_group_each(source, by) if self.of_people else source, column, by
        self._keys: dict[Hashable, list[Any]] = {}
        self._sizes: dict[Hashable, int] = {}
        self._shape: Callable[[Any, Any], Any] = lambda rows, order: rows
        self._order: str | None = None
        for key, count in _groups(self._source, by, self.of_people):
            group = canonical(key)
            self._keys.setdefault(group, []).append(key)
            self._sizes[group] = self._sizes.get(group, 0) + int(count)

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

    def sizes(self) -> tuple[Sequence[Hashable], Integers]:
        """The groups that occur, as a column of their kind shows them, and their numbers of rows, or of people."""
        return labelled(self._sizes, self._source.columns[self._by]), np.array(list(self._sizes.values()), np.int64)

    def rows(self, group: Hashable) -> Any:
        """The column of a group's rows."""
        keys = self._keys.get(canonical(group), [])
        if self.of_people:
            return self._peoples(keys[0]) if keys else self.nothing()
        parts = [self._source.restricted(self._by, key).column(self._column) for key in keys]
        return _joined(parts) if parts else self.nothing()

    def _peoples(self, key: Any) -> Any:
        """A group of people, in the shape that was asked for. Their source knows keys by their canonical form."""
        part: Any = self._source.restricted(self._by, key)
        return self._shape(part.column(self._column), None if self._order is None else part.order(self._order))

    def nothing(self) -> Any:
        """A column without rows, of the same type."""
        form = form_of(self._source, self._column)
        integers = form is not None or whole(self._source.columns[self._column])
        rows, nobody = ArrayColumn(np.zeros(0, np.int64 if integers else np.float64)), np.zeros(0, np.int64)
        column = PeopleColumn(rows, nobody, 0) if self.of_people else rows
        shown = column if form is None else TimedColumn(column, form)
        return self._shape(shown, None if self._order is None else nobody) if self.of_people else shown


def _joined(parts: Sequence[Any]) -> Any:
    """The rows of several parts of a column, which are of one type."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], TimedColumn):
        return TimedColumn(JoinedColumn(tuple(part.ticks for part in parts)), parts[0].form)
    return JoinedColumn(tuple(parts))


def _one_group_each(source: Any, by: str) -> Any:
    return source.settled(by)


def _groups(source: Any, by: str, people: bool) -> Iterable[tuple[Any, int]]:
    """The keys that occur, and how many rows, or people, have each."""
    if people:
        return source.groups(by).items()  # type: ignore[no-any-return]
    return ((key, count) for (key,), count in zip(*source.counts((by,)), strict=True))


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
