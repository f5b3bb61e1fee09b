"""Columns that are read once: of a table that is small by its number of rows, all figures come from memory.

A query has a price of its own, whatever it reads: some milliseconds until it is written, planned and begun. A report
asks a column for a dozen things, so that a small table is mostly prices. Such a column is read once for each state of
the table, by one query, and then it is an array. Both ways give the same numbers, to the last bit.

How many rows the *whole* table has decides, and nothing else: a filter or a group of a large table stays with the
engine, however few rows it has. So the number of queries does not tell how many rows meet a condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from uptack.table import snapshots
from uptack.table.engine.rows import gathered
from uptack.table.memory.order import Selection
from uptack.table.memory.rows import MemoryRows
from uptack.table.memory.table import MemoryTable
from uptack.table.protocol import Column, Infinite, Name
from uptack.table.values.entrance import of_numpy

COLUMN = 1 << 27
"""Bytes that the columns of one question may have to be read: one of 16 million rows."""
ALL = 1 << 28
"""Bytes of all columns that are held, at most: of each its rows, and the same once more, put in order."""
HERE = ("duckdb",)
"""Engines of this process. What is elsewhere stays there, and sends a few rows."""


def fits(con: Any, rows: int, width: int) -> bool:
    """Whether so many columns of a table are read into memory."""
    return con.name in HERE and rows * width * 8 <= COLUMN


class HeldColumns:
    """Columns that were read side by side, NaN where there is no value.

    `selections` are the same in order, as far as somebody asked: of all rows of a column ("keep"), or of those that
    have a value ("drop").
    """

    def __init__(self, read: Any, width: int) -> None:
        lines, _ = gathered(read, width)
        self.table = MemoryTable({f"v{i}": of_numpy(line) for i, line in enumerate(lines)})
        self.selections = dict[str, Selection]()

    def _columns(self, columns: Sequence[Column]) -> list[Column]:
        return [
            Column(self.table, Name(f"v{i}"), "number", missing=column.missing, steps=column.steps)
            for i, column in enumerate(columns)
        ]

    def finite(self, column: Column) -> bool:
        """Whether no row is missing, NaN or infinite."""
        return self._columns([column])[0].finite()

    def rows(self, columns: Sequence[Column], infinite: Infinite | None) -> MemoryRows:
        """What a question is about. Figures of one column share the work of putting it in order."""
        first, *others = self._columns(columns)
        rows = self.table.rows([first, *others], infinite)
        way = "keep" if infinite is None and first.finite() else first.missing
        if infinite is not None or first.steps or not isinstance(way, str):  # a number fills what is missing
            return rows
        if way not in self.selections:
            self.selections[way] = Selection(rows.values[0].copy())
        return replace(rows, held=[self.selections[way]])


def columns(con: Any, read: Any, rows: int, width: int) -> HeldColumns:
    """Columns of floats of an expression, or of a statement, read once for each state of the table.

    Those that were asked for last are held: as many as there is room for, if each has as many rows as the whole table.
    """
    kept = snapshots.state(con)
    with kept.lock:
        if kept.reading is None and not kept.fixed:
            return HeldColumns(read, width)
        key = read.op()
        if key not in kept.held:
            while kept.held and (sum(len(one.table.fields) for one in kept.held.values()) + width) * rows * 16 > ALL:
                kept.held.popitem(last=False)
            kept.held[key] = HeldColumns(read, width)
        kept.held.move_to_end(key)
        found: HeldColumns = kept.held[key]
        return found
