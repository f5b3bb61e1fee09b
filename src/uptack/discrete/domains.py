"""The cells of a table of categorical columns, numbered."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.noise.laws import Integers

LARGEST_DOMAIN = 1 << 62


def domain_size(name: str, value: object) -> int:
    """A number of cells, at most 2^62."""
    size = checks.integer(name, value, least=1)
    if size > LARGEST_DOMAIN:
        raise InvalidArgument(name, "at most 2^62 cells", size, "Merge categories or leave columns out.")
    return size


def _levels(name: str, value: object) -> tuple[Hashable, ...] | int:
    """Categories in their order, or how many levels 0, 1, 2, … there are."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return checks.integer(name, value, least=1)
    must = "a number of levels or a list of distinct categories"
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidArgument(name, must, checks.describe(value))
    values = np.asarray(value).tolist() if isinstance(value, np.ndarray) else list(value)
    if not values or not all(isinstance(v, Hashable) for v in values) or len(set(values)) < len(values):
        raise InvalidArgument(name, must, "an empty list, or one with a category twice")
    return tuple(values)


def _listed(levels: Sequence[Hashable]) -> NDArray[Any]:
    """Categories as an array of objects of their own type where they differ in it: 1 and "1" stay two."""
    array = np.array(levels, object)
    return np.array(levels) if len({type(level) for level in levels}) == 1 and array.ndim == 1 else array


def places(column: Any, levels: Sequence[Hashable] | int) -> Integers:
    """The place of every row's value among the levels, -1 where it is none of them.

    A list has no type of its own: NumPy would read all of it as texts for the sake of one. So its values are looked at
    one by one, and no row changes how another is read.
    """
    listed = isinstance(column, list | tuple)
    array = np.fromiter(column, object, len(column)) if listed else np.asarray(column)
    if array.ndim != 1 or array.dtype.kind not in "fiubUSOM":
        raise InvalidArgument("columns", "one-dimensional columns of one length", checks.describe(array))
    if isinstance(levels, int):
        if listed:
            found = (int(v) if isinstance(v, Integral) and 0 <= int(v) < levels else -1 for v in column)
            return np.fromiter(found, np.int64, len(column))
        if array.dtype.kind not in "iubf":  # integers with one that is missing come as floats
            fix = "Columns with a number of levels hold the integers 0, 1, 2, …; list the categories for others."
            raise InvalidArgument("columns", "integers where the domain has a number of levels", array.dtype.name, fix)
        inside = (array >= 0) & (array < levels) & (np.floor(array) == array)
        return np.where(inside, array, -1).astype(np.int64)
    order = {level: i for i, level in enumerate(levels)}

    def look_up(values: list[Any]) -> Integers:
        found = (order.get(value, -1) if isinstance(value, Hashable) else -1 for value in values)
        return np.fromiter(found, np.int64, len(values))

    if array.dtype.kind == "O":
        return look_up(array.tolist())
    values, inverse = np.unique(array, return_inverse=True)
    return look_up(values.tolist())[inverse]


@dataclass(frozen=True)
class Domain:
    """The product of public columns, each with its categories or with a number of levels 0, 1, 2, …

    Cells are numbered from 0, the last column running fastest. There may be up to 2^62 of them: nothing is listed.

    >>> domain = Domain({"sex": ["f", "m"], "ward": 3})
    >>> domain.size, domain.encode({"sex": ["m", "f", "x"], "ward": [2, 1, 0]}).tolist()
    (6, [5, 1, -1])
    >>> {name: column.tolist() for name, column in domain.decode([5, 1]).items()}
    {'sex': ['m', 'f'], 'ward': [2, 1]}
    """

    columns: Mapping[str, Sequence[Hashable] | int]

    def __post_init__(self) -> None:
        named = checks.instance("columns", self.columns, Mapping, "a mapping of names to categories")
        if not named:
            raise InvalidArgument("columns", "at least one column", "none")
        levels = {name: _levels(f"columns[{name!r}]", value) for name, value in named.items()}
        object.__setattr__(self, "columns", MappingProxyType(levels))
        domain_size("columns", self.size)

    def __reduce__(self) -> tuple[Any, ...]:
        return Domain, (dict(self.columns),)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of every column."""
        return tuple(n if isinstance(n, int) else len(n) for n in self.columns.values())

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    def indices(self, table: Any) -> tuple[list[Integers], NDArray[np.bool_]]:
        """For every column the place of each row's category, and which rows lie in the domain with all their columns.

        The table is a mapping of names to columns, or a data frame. Places of rows outside are 0.
        """
        try:
            found = [places(table[name], levels) for name, levels in self.columns.items()]
        except (KeyError, TypeError, IndexError):
            must = f"a table with the columns {', '.join(map(str, self.columns))}"
            raise InvalidArgument("columns", must, checks.describe(table)) from None
        if len({len(column) for column in found}) > 1:
            raise InvalidArgument("columns", "one-dimensional columns of one length", "columns of several lengths")
        inside = np.logical_and.reduce([column >= 0 for column in found])
        return [np.where(inside, column, 0) for column in found], inside

    def encode(self, table: Any) -> Integers:
        """The cell of every row; -1 where a value is none of the categories."""
        columns, inside = self.indices(table)
        return np.where(inside, self.ravel(columns), -1)

    def ravel(self, columns: Sequence[Integers]) -> Integers:
        """The cells of places among the levels of every column."""
        keys = np.zeros(columns[0].size, np.int64)
        for column, levels in zip(columns, self.shape, strict=True):
            keys = keys * levels + column
        return keys

    def unravel(self, cells: Any) -> list[Integers]:
        """The place of cells among the levels of every column."""
        keys = np.asarray(cells, np.int64)
        if keys.size and not (keys.min() >= 0 and keys.max() < self.size):
            raise InvalidArgument("cells", f"integers from 0 to {self.size - 1}", "others")
        found = []
        for levels in reversed(self.shape):
            keys, place = np.divmod(keys, levels)
            found.append(place)
        return found[::-1]

    def decode(self, cells: Any) -> dict[str, NDArray[Any]]:
        """The categories of cells, column by column."""
        pairs = zip(self.columns.items(), self.unravel(cells), strict=True)
        return {name: at if isinstance(levels, int) else _listed(levels)[at] for (name, levels), at in pairs}
