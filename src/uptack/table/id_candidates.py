"""Which columns may be ids of people, and how many rows one of them has: for the curator's eyes. **Not private.**"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from uptack.data.counting import can_be_an_id
from uptack.data.people import PeopleSource, people
from uptack.data.protocol import Source
from uptack.data.queries import QuerySource
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


def repeats(source: Source | PeopleSource) -> list[Repeats]:
    """Which columns may be ids, and how many rows one value has: for the curator, who asks once. **Not private.**

    These are the ids of a source of people; else columns of whole numbers, texts and the like with many values, one in
    twenty rows or more on average, or with a name that sounds like one.

    >>> from uptack.data import source
    >>> visits = source({"patient_id": ["a", "a", "a", "b"]})
    >>> repeats(visits)
    [Repeats(names=('patient_id',), rows=4, values=2, most=3, missing=0)]
    """
    if isinstance(source, PeopleSource):
        return [_repeats(source)]
    types = source.table.schema() if isinstance(source, QuerySource) else {}
    names = (n for n, kind in source.columns.items() if kind in IDS and (n not in types or can_be_an_id(types[n])))
    found = [_repeats(people(source, name)) for name in names]
    return [line for line in found if line.values * MANY >= line.rows or SOUNDS.search(line.names[0])]


def _repeats(source: PeopleSource) -> Repeats:
    rows, most = source.spread()
    return Repeats(source.person, rows, source.rows, most, source.outer.rows - rows)
