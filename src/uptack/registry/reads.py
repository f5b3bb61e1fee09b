"""What a release function reads of a table, and a stand-in for it that shows public things only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from uptack import checks
from uptack.columns.owners import Owners
from uptack.columns.spread import PeopleValues
from uptack.data import Source
from uptack.data.people import hidden
from uptack.data.protocol import known
from uptack.errors import InvalidArgument
from uptack.registry import handed, readers
from uptack.registry.readers import COUNTED, Given, Names, Read
from uptack.table.values.entrance import indexed
from uptack.table.values.kinds import NUMERIC, Kind
from uptack.table.values.times import TIMED

Whose = Callable[[str, Any, Owners], Any]


@dataclass(frozen=True)
class Peoples:
    """How a data argument becomes people's data, and what can be said of people beside `person`."""

    make: Whose
    beside: tuple[str, ...] = ()

    def __call__(self, name: str, data: Any, whose: Owners) -> Any:
        """The data argument of this name, with the owners of its rows."""
        return self.make(name, data, whose)


VALUES_OF_PEOPLE = Peoples(PeopleValues.of, ("weights", "at_most"))
"""Columns or tables of any kind, whose rows are counted."""


@dataclass(frozen=True)
class Reads:
    """Which columns a function is asked about, and how its data arguments are made from them.

    `read(source, names, given)` looks at the rows. `unread` makes the same arguments from public things alone: it is
    used to find misuse, and a ⊥ that public numbers decide, before anything is debited. `people(name, data, owners)`
    makes a data argument of that name into people's data, where its rows have owners (`uptack.registry.people`).
    `kinds` are those of all columns, but for the last one where it has kinds of its own (`last`). `picked(name, data)`
    makes a data argument of that name into an array whose rows can be dealt to groups.
    """

    read: Read
    unread: Read
    kinds: tuple[Kind, ...] = NUMERIC
    least: int = 1
    most: int | None = 1
    people: Peoples | None = None
    last: tuple[Kind, ...] = ()
    picked: Callable[[str, Any], Any] = indexed

    def named(self, names: Names, given: Given) -> Names:
        """The columns that are asked about: those named, or those of a formula."""
        if given.get("formula") is None:
            return names
        found = tuple(readers.formulas().read(given["formula"]).columns)
        if names and names != found:
            raise InvalidArgument("columns", "left out where there is a formula", ", ".join(map(repr, names)))
        return found

    def check(self, what: str, names: Names, source: Source, given: Given) -> None:
        """Whether the source has such columns: names and kinds are public. Edges ask for numbers."""
        if not self.least <= len(names) <= (len(names) if self.most is None else self.most):
            must = f"at least {self.least}" if self.most is None else f"{self.least} to {self.most}"
            raise InvalidArgument("columns", f"{must} for {what}", len(names))
        if self in DESIGNS and given.get("formula") is None and names[0] in names[1:]:
            raise InvalidArgument("columns", "predictors other than the response", repr(names[0]))
        person = getattr(source, "person", ())
        by = named_groups(given.get("by"), given.get("groups"))
        for name in (*names, *by, given.get("order")):
            hidden(name, person)
        if given.get("order") is not None:
            known(given["order"], source.columns, what="order")
        for place, name in enumerate(names, 1 - len(names)):
            kinds = self.last if self.last and place == 0 else self.kinds
            kinds = kinds if given.get("formula") is None else COUNTED
            known(name, source.columns, kinds if given.get("edges") is None else [k for k in kinds if k != "text"])
        for name in by:
            known(name, source.columns, COUNTED)


def named_groups(by: Any, groups: Any = None) -> tuple[str, ...]:
    """The columns whose values are groups: none, one or several. Groups of several are tuples."""
    names = () if by is None else tuple(by) if isinstance(by, list | tuple) else (by,)
    texts = all(isinstance(name, str) for name in names)
    if isinstance(by, list | tuple) and (not by or not texts or len(set(names)) < len(names)):
        raise InvalidArgument("by", "the name of a column, or a list of different names", checks.describe(by))
    listed = groups if isinstance(groups, list | tuple) else ()
    if len(names) > 1 and not all(isinstance(group, tuple) and len(group) == len(names) for group in listed):
        fix = f"One value for each of {', '.join(map(str, names))}."
        raise InvalidArgument("groups", f"a list of tuples of {len(names)} values", "others", fix)
    return names


COLUMN = Reads(
    readers.read_column,
    readers.unread_column,
    people=Peoples(handed.peoples_column, ("per_person", "weights", "at_most", "order")),
)
"""One numeric column."""

MOMENTS = replace(COLUMN, kinds=(*NUMERIC, *TIMED))
"""One column of numbers, times or durations."""

FLAGS = Reads(
    readers.read_flags,
    readers.unread_flags,
    ("boolean", "any"),
    least=0,
    people=VALUES_OF_PEOPLE,
    picked=handed.picked_flags,
)
"""A column of truth values, or none for the rows themselves."""

CATEGORIES = Reads(readers.read_tally, readers.unread_tally, (*COUNTED, *TIMED), people=VALUES_OF_PEOPLE)
"""One column whose values are counted."""

POINTS = Reads(readers.read_points, readers.unread_points, most=3, people=Peoples(handed.peoples_rows))
"""One to three numeric columns: points on a line, in a plane, in space."""

COLUMNS = Reads(readers.read_table, readers.unread_table, least=2, most=None, people=Peoples(handed.peoples_rows))
"""Several numeric columns, of which no more than a batch of rows need be in memory."""

DESIGN = Reads(
    readers.read_design,
    readers.unread_design,
    least=2,
    most=None,
    people=Peoples(handed.peoples_design),
    picked=handed.picked_design,
)
"""A response and its predictors."""

STREAMED = replace(DESIGN, read=readers.read_stream, unread=readers.unread_stream)
"""The same where no more than a batch of rows need be in memory."""

DESIGNS = (DESIGN, STREAMED)

EACH = ("per_person", "order")
"""What can be said of people who are one line each."""

PAIR = Reads(
    lambda source, names, given: (*readers.read_rows(source, names, given), None),
    lambda source, names, given: (*readers.unread_rows(source, names, given), None),
    least=2,
    most=2,
    people=Peoples(handed.peoples_side, EACH),
)
"""Two numeric columns side by side."""

ROWS = Reads(readers.read_rows, readers.unread_rows, most=2, people=Peoples(handed.peoples_side, EACH))
"""A numeric column, or two side by side, row by row."""

WIDE = Reads(readers.read_rows, readers.unread_rows, least=2, most=None, people=Peoples(handed.peoples_lines, EACH))
"""Two numeric columns or more."""

LABELLED = Reads(
    readers.read_labelled,
    readers.unread_labelled,
    least=2,
    most=2,
    people=Peoples(handed.peoples_groups, EACH),
    last=COUNTED,
)
"""A numeric column, and one that has the label of each row."""
