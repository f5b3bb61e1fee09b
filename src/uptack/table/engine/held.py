"""Columns that are read once: of a table that is small by its number of rows, all figures come from memory.

A query has a price of its own, whatever it reads: some milliseconds until it is written, planned and begun. A report
asks a column for a dozen things, so that a small table is mostly prices. Such a column is read once for each state of
the table, by one query, and then it is an array. Both ways give the same numbers, to the last bit.

How many rows the *whole* table has decides, and nothing else: a filter or a group of a large table stays with the
engine, however few rows it has. So the number of queries does not tell how many rows meet a condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from uptack.table import snapshots
from uptack.table.engine import connection
from uptack.table.exact_sum import Floats
from uptack.table.memory.order import Selection
from uptack.table.memory.rows import MemoryRows
from uptack.table.memory.table import MemoryTable
from uptack.table.protocol import Column, Expr, Infinite, Name, Steps, layers
from uptack.table.values.field import Field

COLUMN = 1 << 27
"""Bytes that the columns of one question may have to be read: one of 16 million rows."""
ALL = 1 << 28
"""Bytes of all columns that are held, at most: of each its rows, and the same once more, put in order."""
HERE = ("duckdb",)
"""Engines of this process. What is elsewhere stays there, and sends a few rows."""


def fits(con: Any, rows: int, width: int) -> bool:
    """Whether so many columns of a table are read into memory."""
    return con.name in HERE and rows * width * 8 <= COLUMN


@dataclass(frozen=True, eq=False)
class HeldColumns:
    """Columns that were read side by side, NaN where there is no value.

    `selections` are the same in order, as far as somebody asked: of all rows of a column ("keep"), or of those that
    have a value ("drop").
    """

    values: Sequence[Floats]
    selections: dict[str, Selection] = field(default_factory=dict)

    @property
    def _table(self) -> MemoryTable:
        return MemoryTable({f"v{i}": _field(line) for i, line in enumerate(self.values)})

    def _columns(self, columns: Sequence[Column]) -> list[Column]:
        table = self._table
        return [
            Column(table, _renamed(column.expr, f"v{i}"), "number", missing=column.missing)
            for i, column in enumerate(columns)
        ]

    def finite(self, column: Column) -> bool:
        """Whether no row is missing, NaN or infinite."""
        (one,) = self._columns([column])
        return one.finite()

    def rows(self, columns: Sequence[Column], infinite: Infinite | None) -> MemoryRows:
        """What a question is about. Figures of one column share the work of putting it in order."""
        ours = self._columns(columns)
        found = self._table.rows(ours, infinite)
        if infinite is not None or layers(ours[0].expr)[0]:
            return found
        way = "keep" if ours[0].finite() else ours[0].missing
        if not isinstance(way, str):  # filled with some number
            return found
        if way not in self.selections:
            self.selections[way] = Selection(found.values[0].copy())
        return replace(found, held=[self.selections[way]])


def columns(con: Any, read: Any, rows: int, width: int) -> HeldColumns:
    """Columns of floats of an expression, or of a statement, read once for each state of the table.

    Those that were asked for last are held: as many as there is room for, if each has as many rows as the whole table.
    """
    kept = snapshots.state(con)
    with kept.lock:
        if kept.reading is None and not kept.fixed:
            return _read(read, width)
        key = read.op()
        if key not in kept.held:
            while kept.held and (sum(len(one.values) for one in kept.held.values()) + width) * rows * 16 > ALL:
                kept.held.popitem(last=False)
            kept.held[key] = _read(read, width)
        kept.held.move_to_end(key)
        found: HeldColumns = kept.held[key]
        return found


def _read(read: Any, width: int) -> HeldColumns:
    def fold(batches: Iterator[Any]) -> list[list[Floats]]:
        lines: list[list[Floats]] = [[np.empty(0)] for _ in range(width)]
        for batch in batches:
            for i, line in enumerate(lines):
                line.append(connection.floats(batch.column(i)))
        return lines

    return HeldColumns([np.concatenate(line) for line in connection.folded(read, fold)])


def _field(values: Floats) -> Field:
    return Field("number", values.size, lambda: (values, None))


def _renamed(expr: Expr, name: str) -> Expr:
    """The same steps, of a column of another name, which holds what they are done to."""
    steps: Steps = layers(expr)[0]
    found: Expr = Name(name)
    for step in steps:
        found = replace(step, of=found)
    return found
