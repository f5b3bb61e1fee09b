"""Whose each row is: columns of ids, read as people.

An id is one column, or several that name a person together. Ids are compared in their canonical form
(`uptack.table.values.kinds.canonical`), so 1, 1.0 and True are one person, and -0.0 is 0.0. Two ids that become one are
protected together, which is safe. One person never becomes two, as long as her id is written in one way: a date is not
the time of its midnight. A row whose id has no value (None, NaN, NaT), in any of its columns, belongs to nobody and is
left out. The ids themselves are never released.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.table.unit import Integers
from uptack.table.values.entrance import Field, field, own_name, parts
from uptack.table.values.kinds import Kind

if TYPE_CHECKING:
    from uptack.table.protocol import Table

NOBODY = -1
MUST = "a column of ids, as long as the data, or a tuple of such columns"
FIX = (
    "A list is one column of ids; several columns are a tuple, as in person=(town, number), or a frame. "
    "Names of columns belong to a session: uptack.open(data, person='id')."
)


@dataclass(frozen=True, eq=False)
class Owners:
    """Each row's person as a number 0, 1, ..., people - 1, or `NOBODY`; every person has a row. `names` are public."""

    codes: Integers
    people: int
    names: tuple[str, ...] = ("person",)

    @property
    def size(self) -> int:
        """The number of rows, those of nobody among them."""
        return self.codes.size

    @property
    def owned_rows(self) -> Integers:
        return np.flatnonzero(self.codes != NOBODY)

    def check(self, name: str, size: int) -> None:
        """Refuses data of another length. How many rows there are is secret, so the error does not say it."""
        if size != self.size:
            raise InvalidArgument("person", f"as long as {name}", "another length", FIX)


def owners(person: Any) -> Owners:
    """The people of a column of ids, or of several: a tuple or mapping of columns, a frame, an array of two dimensions.

    >>> found = owners([7, "b", None, 7.0])
    >>> found.codes.tolist(), found.people, found.names
    ([0, 1, -1, 0], 2, ('person',))
    >>> owners((["a", "a", "b"], [1, 2, None])).codes.tolist()
    [0, 1, -1]
    """
    if isinstance(person, Mapping):
        ids: list[tuple[str, Any]] | None = [(str(name), part) for name, part in person.items()]
    else:
        ids = parts("person", person)
    if ids is None:
        ids = [(own_name(person, "person"), person)]
    elif not ids:
        raise InvalidArgument("person", MUST, checks.outline(person), FIX)
    for _, part in ids:  # the length of what is not a column is secret
        if getattr(part, "ndim", 1) != 1:
            raise InvalidArgument("person", MUST, f"{type(part).__name__} of {part.ndim} dimensions", FIX)
    return of_fields([(name, field("person", part, MUST, FIX)) for name, part in ids])


def of_fields(ids: Sequence[tuple[str, Field]]) -> Owners:
    """The people of one or more columns that were read already, with their names."""
    if len({part.size for _, part in ids}) > 1:
        raise InvalidArgument("person", "columns of equal length", "columns of different lengths", FIX)
    read = [part.places() for _, part in ids]
    codes, people = read[0]
    for more, number in read[1:]:
        there = (codes != NOBODY) & (more != NOBODY)
        codes, people = renumber(np.where(there, codes * number + more, NOBODY))
    return Owners(codes, people, tuple(name for name, _ in ids))


def renumber(codes: Integers) -> tuple[Integers, int]:
    """Numbers of people, with gaps, as 0, 1, 2, ... without; negative ones are nobody."""
    there = codes >= 0
    found, inverse = np.unique(codes[there], return_inverse=True)
    out = np.full(codes.size, NOBODY, np.int64)
    out[there] = inverse
    return out, found.size


# --------------------------------------------------------------------------------------------- which columns may be ids

IDS: tuple[Kind, ...] = ("integer", "text", "any", "other")
"""Kinds of columns that are ids, most of the time."""
MANY = 20
SOUNDS = re.compile(
    r"(^|[_\W])(id|ids|uuid|key|nr|no|number|person|patient|member|user|customer|subject"
    r"|id_?(code|nr|no|num|number)|(p|person|patient|member|user|customer|subject|respondent|case)_?(id|code|nr|no))$",
    re.IGNORECASE,
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

    def of_ids(table: Table) -> Repeats:
        rows, most = table.spread()
        return Repeats(table.unit.ids, rows, table.size, most, table.as_rows().size - rows)

    if table.unit.people:
        return [of_ids(table)]
    names = [name for name, kind in table.kinds.items() if kind in IDS and table.identifies(name)]
    lines = [of_ids(table.by_person([name])) for name in names]
    return [line for line in lines if line.values * MANY >= line.rows or SOUNDS.search(line.names[0])]
