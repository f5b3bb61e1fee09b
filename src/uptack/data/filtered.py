"""The rows of a table that meet conditions: the others have no values, and everything else stays as it is.

**Theorem.** Let c be a condition on one row, and let F replace every row that does not meet c by one without values. A
release that is (ε, δ)-private for the neighbours of some adjacency is so when it is made from F(D) in place of D, for
the same adjacency. *Proof.* F acts on each row by itself. So if D and D' differ in one row that is replaced, or added,
or in the rows of one person, F(D) and F(D') differ in no more than that: replaced rows are replaced (by rows without
values where they do not meet c), added rows are added, and the rows of one person are hers before and after, since ids
are kept. ∎

So conditions cost nothing, and what is public stays public: the number of all rows, or of all people. How many rows
meet the condition is as secret as how many have a value, and every statistic that leaves missing values out
(`missing="drop"`, or "ignore") is proved for that.

Where a function is given counts of rows (`Source.counts`, a histogram's cells), a row that does not meet c is in no
cell. One that is replaced then takes at most one from one cell and gives at most one to another, as before. Only the
sum of all cells is secret now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns.numeric import Column
from uptack.columns.selection import Floats
from uptack.data.arrays import MemorySource
from uptack.data.people import PeopleSource
from uptack.data.protocol import Counts, Source
from uptack.data.queries import QuerySource
from uptack.errors import InvalidArgument
from uptack.noise import Entropy
from uptack.table.conditions import Condition
from uptack.table.values.kinds import Kind
from uptack.table.values.times import Form


class FilteredSource:
    """A table in which some rows have no values. Its size is that of the whole table; `left` are the other rows.

    `masked` is the table itself, all rows of it.

    >>> from uptack.data import source
    >>> from uptack.table.conditions import conditions
    >>> table = source({"age": [31, 44, 70], "town": ["a", "b", "a"]})
    >>> old = FilteredSource(table, conditions({"age": (">", 40)}, table.columns))
    >>> old.rows, old.matrix(["age"]).tolist(), old.categories("town")
    (3, [[nan], [44.0], [70.0]], {'a': 1, 'b': 1})
    """

    def __init__(self, inner: MemorySource | QuerySource, wanted: Sequence[Condition]) -> None:
        self._inner, self._wanted = inner, wanted
        self.masked = inner.masked(wanted)
        self.columns: Mapping[str, Kind] = inner.columns
        self.forms: Mapping[str, Form] = inner.forms

    def __repr__(self) -> str:
        return f"FilteredSource of {self._inner!r}"

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return self._inner.rows

    @cached_property
    def left(self) -> MemorySource | QuerySource:
        """The rows that meet the conditions. How many there are is secret."""
        return self._inner.left(self._wanted)

    def snapshot(self) -> AbstractContextManager[None]:
        """All that is read inside sees one state of the table."""
        snapshot: AbstractContextManager[None] = getattr(self._inner, "snapshot", nullcontext)()
        return snapshot

    def one_state(self) -> AbstractContextManager[object]:
        """One state of the table for all snapshots inside."""
        state: AbstractContextManager[object] = getattr(self._inner, "one_state", nullcontext)()
        return state

    def column(self, name: str) -> Column:
        """A numeric column of all rows."""
        return self.masked.column(name)

    def matrix(self, names: Sequence[str]) -> Floats:
        """Numeric columns of all rows side by side."""
        return self.masked.matrix(names)

    def blocks(
        self, names: Sequence[str], count: int, *, id: str | None = None, entropy: Entropy | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Each row's block, and the matrix of the named columns. Rows without values keep their owners."""
        owners = self._inner.blocks(names, count, id=id, entropy=entropy)[0]
        return owners, self.masked.matrix(names)

    def counts(self, names: Sequence[str]) -> Counts:
        """Combinations of values in the rows that are left."""
        return self.left.counts(names)

    def categories(self, name: str) -> dict[Any, int]:
        """The values of one column in the rows that are left."""
        return self.left.categories(name)

    def restricted(self, name: str, value: Any) -> Source:
        """The rows that are left and have this value."""
        return self.left.restricted(name, value)


def filtered(source: Source, wanted: Sequence[Condition]) -> Source:
    """The rows of a source that meet conditions; in a source of people, as many people as before."""
    if isinstance(source, PeopleSource):
        return source.filtered(wanted)
    if isinstance(source, MemorySource | QuerySource):
        return FilteredSource(source, wanted)
    fix = "Sources of your own must filter their rows themselves, by returning missing values."
    raise InvalidArgument("data", "arrays, a frame, a file or a table of an engine", type(source).__name__, fix)
