"""A table in memory: named fields, each with a declared kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.columns.grouped import joined
from uptack.columns.masked import MaskedColumn
from uptack.columns.numeric import ArrayColumn, Column
from uptack.columns.selection import Floats
from uptack.columns.timed import TimedColumn, timed
from uptack.data.protocol import Counts, Key, assigned, comparable, known, known_all, tidy
from uptack.errors import InvalidArgument
from uptack.noise import Entropy
from uptack.noise.entropy import source as entropy_source
from uptack.table.conditions import Condition
from uptack.table.values.field import Field
from uptack.table.values.kinds import NUMERIC, Kind, canonical, whole
from uptack.table.values.times import TIMED, Form


def numeric_column(field: Field) -> ArrayColumn | MaskedColumn:
    """A field as a column of numbers, of a form that follows its declared type alone."""
    if field.kind in TIMED:
        return MaskedColumn(*field.ticks())
    values, missing = field.numbers()
    if whole(field.kind) and missing is not None:
        return MaskedColumn(values, missing)
    return ArrayColumn(values, integers=whole(field.kind))


def shown_column(field: Field) -> ArrayColumn | MaskedColumn | TimedColumn:
    """The same; times and durations remember how they are shown."""
    return timed(field) if field.kind in TIMED else numeric_column(field)


class MemorySource:
    """A table of fields in memory."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        if len({field.size for field in fields.values()}) > 1:
            raise InvalidArgument("data", "columns of equal length", "some that are longer")
        self._fields = dict(fields)
        self.rows = next((field.size for field in fields.values()), 0)
        self.columns: Mapping[str, Kind] = MappingProxyType({name: field.kind for name, field in fields.items()})
        self.forms: Mapping[str, Form] = {name: field.form for name, field in fields.items() if field.kind in TIMED}

    def __repr__(self) -> str:
        return f"MemorySource of {len(self.columns)} columns"

    def column(self, name: str) -> Column:
        """A column of numbers, times or durations."""
        return shown_column(self._fields[known(name, self.columns, (*NUMERIC, *TIMED))])

    def counts(self, names: Sequence[str]) -> Counts:
        """Combinations of values, and how often they occur."""
        wanted = known_all(names, self.columns)
        keys, cells = self.cells(wanted)
        sizes = np.bincount(cells, minlength=len(keys))
        return tidy(zip(keys, sizes, strict=True), [self.columns[name] for name in wanted])

    def cells(self, names: Sequence[str]) -> tuple[list[Key], NDArray[np.int64]]:
        """The combinations of values that occur, in order, and each row's place among them."""
        return joined([self.field(name).codes() for name in names])

    def categories(self, name: str) -> dict[Any, int]:
        """The values of one column, and how often they occur."""
        keys, counts = self.counts([name])
        return {key: int(count) for (key,), count in zip(keys, counts, strict=True)}

    def trues(self, name: str) -> int:
        """How many rows of a column are True."""
        return int(np.count_nonzero(self._fields[known(name, self.columns, ("boolean", "any"))].flags()))

    def matrix(self, names: Sequence[str]) -> Floats:
        """Numeric columns side by side."""
        wanted = known_all(names, self.columns, NUMERIC)
        made = np.empty((self.rows, len(wanted)))
        for place, name in enumerate(wanted):
            made[:, place] = self._fields[name].floats()
        return made

    def mixed(self, numbers: Sequence[str], others: Sequence[str]) -> tuple[Floats, list[Field]]:
        """Some columns as a matrix, and others as fields."""
        matrix = self.matrix(numbers) if numbers else np.empty((self.rows, 0))
        return matrix, [self.field(name) for name in others]

    def blocks(
        self, names: Sequence[str], count: int, *, id: str | None = None, entropy: Entropy | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Each row's block, and the matrix of the named columns."""
        number, bits = checks.integer("count", count, least=1), entropy_source(entropy)
        known_all(names, self.columns, NUMERIC)
        owners = np.arange(self.rows) if id is None else self._fields[known(id, self.columns)].codes()[1]
        return assigned(owners, number, bits), self.matrix(names)

    def restricted(self, name: str, value: Any) -> MemorySource:
        """The rows with this value."""
        return self.taken(self.places(name, value))

    def places(self, name: str, value: Any) -> NDArray[np.int64]:
        """Where the rows with this value are."""
        field = self.field(name)
        wanted = canonical(value) if field.categories else comparable(name, field.kind, value)
        return np.flatnonzero(field.equal(wanted))

    def met(self, wanted: Sequence[Condition]) -> NDArray[np.bool_]:
        """The rows that meet all conditions."""
        met: NDArray[np.bool_] = np.logical_and.reduce([one.rows(self.field(one.column)) for one in wanted])
        return met

    def masked(self, wanted: Sequence[Condition]) -> MemorySource:
        """All rows; those that do not meet the conditions have no value in any column. They are read when asked for."""
        left_out = cache(lambda: ~self.met(wanted))
        return MemorySource({name: field.hiding(left_out) for name, field in self._fields.items()})

    def left(self, wanted: Sequence[Condition]) -> MemorySource:
        """The rows that meet all conditions."""
        return self.taken(np.flatnonzero(self.met(wanted)))

    def taken(self, rows: NDArray[np.int64]) -> MemorySource:
        """Some of the rows."""
        return MemorySource({other: field.taken(rows) for other, field in self._fields.items()})

    def field(self, name: str) -> Field:
        """A column of any kind."""
        return self._fields[known(name, self.columns)]
