"""What tests ask of a table wherever it is, in the plainest form."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from uptack.table.exact_sum import Floats
from uptack.table.protocol import Column, Table


def categories(table: Table, *names: str) -> dict[Hashable, int]:
    """How many units each value has, or each combination of values."""
    counted = table.counts([table.column(name) for name in names])
    keys = counted.keys if len(names) > 1 else [key for (key,) in counted.keys]
    return dict(zip(keys, counted.units.tolist(), strict=True))


def part(table: Table, name: str, value: Hashable) -> Table:
    """The rows of one group."""
    return table.groups([name]).part(value)


def part_size(table: Table, name: str, value: Hashable) -> int:
    """How many rows one group has."""
    return part(table, name, value).trues(None)


def matrix(table: Table, *names: str) -> Floats:
    """All rows of columns of numbers, one line per row; NaN where there is no value."""
    found: Floats = table.rows([table.column(name) for name in names]).in_memory().lines.T
    return found


def in_order(column: Column) -> Floats:
    """All values of a column, in order."""
    n = column.count()
    found: Floats = column.order([(1, n)]).at(np.arange(1, n + 1))
    return found
