"""Which columns may be ids of people, and how many rows one of them has: for the curator's eyes. **Not private.**"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from uptack.table.protocol import Table
from uptack.table.values.kinds import Kind

IDS: tuple[Kind, ...] = ("integer", "text", "any", "other")
"""Kinds of columns that are ids, most of the time."""
MANY = 20
SOUNDS = re.compile(
    r"(^|[_\W])(id|ids|uuid|key|nr|no|number|person|patient|member|user|customer|subject)$", re.IGNORECASE
)


@dataclass(frozen=True)
class Repeats:
    """How often the values of a column, or of several together, occur. Not private."""

    names: tuple[str, ...]
    rows: int
    values: int
    most: int
    missing: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**vars(self), "names": list(self.names)}


def repeats(table: Table) -> list[Repeats]:
    """Which columns may be ids, and how many rows one value has: for the curator, who asks once. **Not private.**

    These are the ids of a table of people; else columns of whole numbers, texts and the like with many values, one in
    twenty rows or more on average, or with a name that sounds like one.

    >>> from uptack.table.opening import open_table
    >>> repeats(open_table({"patient_id": ["a", "a", "a", "b"]}))
    [Repeats(names=('patient_id',), rows=4, values=2, most=3, missing=0)]
    """
    if table.unit.people:
        return [_repeats(table)]
    names = [name for name, kind in table.kinds.items() if kind in IDS and table.identifies(name)]
    found = [_repeats(table.by_person([name])) for name in names]
    return [line for line in found if line.values * MANY >= line.rows or SOUNDS.search(line.names[0])]


def _repeats(table: Table) -> Repeats:
    rows, most = table.spread()
    return Repeats(table.unit.ids, rows, table.size, most, table.as_rows().size - rows)
