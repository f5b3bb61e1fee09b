"""Columns that are read once: of a table that is small by its number of rows, all figures come from memory.

A query has a price of its own, whatever it reads: some milliseconds until it is written, planned and begun. A report
asks a column for a dozen things, so that a small table is mostly prices. Such a column is read once for each state of
the table, by one query, and then it is an array. Both ways give the same numbers, to the last bit.

How many rows the *whole* table has decides, and nothing else: a filter or a group of a large table stays with the
engine, however few rows it has. So the number of queries does not tell how many rows meet a condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uptack.columns.selection import Floats
from uptack.data import engines, states

if TYPE_CHECKING:
    from uptack.data.queries import QuerySource

COLUMN = 1 << 27
"""Bytes that a column may have to be read: 16 million rows."""
ALL = 1 << 28
"""Bytes of all columns that are held, at most."""
HERE = ("duckdb",)
"""Engines of this process. What is elsewhere stays there, and sends a few rows."""


def fits(con: Any, whole: QuerySource) -> bool:
    """Whether columns of a table are read into memory."""
    return con.name in HERE and whole.rows * 8 <= COLUMN


def read(con: Any, whole: QuerySource, values: Any) -> Floats:
    """The rows of an expression with one column of floats, once for each state of the table.

    Those that were asked for last are held: as many as there is room for, if each has as many rows as the whole table.
    """
    kept = states.state(con)
    with kept.lock:
        if kept.reading is None:
            return _read(values)
        key = values.op()
        if key not in kept.held:
            while kept.held and (len(kept.held) + 1) * whole.rows * 8 > ALL:
                kept.held.popitem(last=False)
            kept.held[key] = _read(values)
        kept.held.move_to_end(key)
        return kept.held[key]


def _read(values: Any) -> Floats:
    found = engines.read(values)
    found.flags.writeable = False
    return found
