"""What a release function reads of a table: which columns, of which kinds, and as which of its arguments.

A declaration has one `Reads`, which is data. From it follow the arguments that a session makes of a table's columns,
also of one that must not be read yet (`uptack.table.unread`), and those that a caller's data become where rows belong
to people or are in groups. Where a caller hands in plain data, the function reads them itself
(`uptack.table.memory.table.as_column`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument, WrongArguments
from uptack.table.ids import Owners, owners
from uptack.table.memory import counts
from uptack.table.memory.table import MemoryTable
from uptack.table.names import column_name, comparable, refuse_ids
from uptack.table.protocol import Column, Columns, GroupedTable, Table
from uptack.table.unit import Integers, PrivacyUnit
from uptack.table.values.entrance import Field, column_field, field, frame, matrix_fields, parts
from uptack.table.values.kinds import NUMERIC, Kind
from uptack.table.values.times import TIMED

# ---------------------------------------------------------------------------------------- arguments that callers pass

MEASURED: tuple[Kind, ...] = (*NUMERIC, *TIMED)
"""Kinds of columns that have an order and distances: numbers, times and durations."""


BY_MUST = "a one-dimensional column of categories, or a tuple of such columns"
BY_FIX = (
    "A list is one column; several columns are a tuple, as in by=(ward, sex), or a frame. "
    "Names of columns belong to a session: uptack.open(data).median('cost', by='ward', ...)."
)


def category_fields(by: Any) -> dict[str, Field]:
    """One or several columns of categories, by the container's own type, under names of their own."""
    several = parts("by", by)
    columns = [by] if several is None else [part for _, part in several]
    if not columns:
        raise InvalidArgument("by", BY_MUST, checks.outline(by), BY_FIX)
    fields = {f"by {i}": field("by", part, BY_MUST, BY_FIX) for i, part in enumerate(columns)}
    if len({one.size for one in fields.values()}) > 1:
        raise InvalidArgument("by", "columns of equal length", "columns of different lengths", BY_FIX)
    return fields


@dataclass(frozen=True, eq=False)
class OwnedRows:
    """Data of any form and whose their rows are, for functions that read rows themselves."""

    data: Any
    whose: Owners
    unit: PrivacyUnit

    of_people: ClassVar[bool] = True

    def sharing(self, share: str, at_most: int | None = None) -> OwnedRows:
        return replace(self, unit=PrivacyUnit.of_people(self.unit.ids, share, at_most))

    def column(self, values: Any) -> Column:
        """A column that was made of the data, row by row."""
        made = column_field("x", values, None)
        self.whose.check("the data", made.size)
        return MemoryTable.of({"x": made}, self.whose).with_unit(self.unit).column("x")

    def units(self, cells: Integers, size: int) -> Integers:
        """The units in each of so many cells, for the cells of all rows. Rows of nobody count nowhere."""
        self.whose.check("the data", cells.size)
        kept = self.whose.owned_rows
        return counts.units(cells[kept], size, self.unit, self.whose.codes[kept], self.whose.people)


# --------------------------------------------------------------------------------------- what a release function reads

Names = tuple[str, ...]
Given = Mapping[str, Any]
COUNTED: tuple[Kind, ...] = (*NUMERIC, "text")
"""Kinds of columns whose values can be counted, or be groups."""

Shape = Literal["column", "flags", "categories", "columns", "design", "sides", "labelled"]
"""How columns become arguments: one column; one of truth values, or the table itself; one of any kind; several side by
side; predictors and a response; one or two that are arguments of their own; and one with a column of labels."""

EACH = ("per_person", "order")
"""What can be said of people who are one number each."""

ORDER = "order"
"""The name that the column of order has in a table that is made of a caller's data."""


@dataclass(frozen=True, eq=False)
class GroupedData:
    """A table in groups, and the data arguments that a function gets of each of them."""

    groups: GroupedTable
    arguments: tuple[Any, ...]
    of_people: bool

    def per_person(self, how: str, order: str | None = None) -> GroupedData:
        """One number per person, from her rows in her group."""
        return replace(self, arguments=tuple(one and one.per_person(how, order) for one in self.arguments))

    def sharing(self, share: str, at_most: int | None = None) -> GroupedData:
        return replace(self, arguments=tuple(one and one.sharing(share, at_most) for one in self.arguments))

    def of(self, part: Table) -> tuple[Any, ...]:
        """The data arguments of a part of the table; units are shared as each argument says."""
        made: list[Any] = []
        for one in self.arguments:
            own = one if one is None or isinstance(one, Table) else one.table
            table = part if own is None or part.unit == own.unit else part.with_unit(own.unit)
            made.append(None if one is None else table if one is own else one.of(table))
        return tuple(made)


@dataclass(frozen=True)
class EnteredData:
    """A caller's data as columns of one table: the arguments by name, and the table with the columns of groups."""

    arguments: dict[str, Any]
    table: MemoryTable
    by: Names

    def grouped(self, arguments: tuple[Any, ...]) -> GroupedData:
        return GroupedData(self.table.groups(self.by), arguments, self.table.unit.people)


@dataclass(frozen=True)
class Reads:
    """Which columns a function is asked about, and how its data arguments are made from them.

    `kinds` are those of all columns, but for the last one where it has kinds of its own (`last`). `people` is what can
    be said of people beside `person`, and `weights` how their rows count where nobody says so.
    """

    shape: Shape
    kinds: tuple[Kind, ...] = NUMERIC
    least: int = 1
    most: int | None = 1
    people: tuple[str, ...] = ()
    last: tuple[Kind, ...] = ()
    weights: str | None = None

    # ------------------------------------------------------------------------------------------------------ of a table

    def check(self, what: str, names: Names, table: Table, given: Given) -> None:
        """Whether the table has such columns, and so many: names and kinds are public. Edges ask for numbers."""
        if not self.least <= len(names) <= (len(names) if self.most is None else self.most):
            most = " or more" if self.most is None else "" if self.most == self.least else f" to {self.most}"
            columns = "column" if (self.least, self.most) == (1, 1) else "columns"
            raise WrongArguments(what, f"{self.least}{most} {columns}", len(names))
        formula = given.get("formula") is not None
        if self.shape == "design" and not formula and names[0] in names[1:]:
            raise InvalidArgument("columns", "predictors other than the response", repr(names[0]))
        by = group_names(given.get("by"))
        for name in (*names, *by, given.get("order")):
            refuse_ids(name, table.unit.ids)
        if given.get("order") is not None:
            column_name(given["order"], table.kinds, (*COUNTED, *TIMED), what="order")  # other types may have no order
        for place, name in enumerate(names, 1 - len(names)):
            kinds = self.last if self.last and place == 0 else self.kinds
            kinds = COUNTED if formula else kinds
            column_name(name, table.kinds, kinds if given.get("edges") is None else [k for k in kinds if k != "text"])
        for name in by:
            column_name(name, table.kinds, COUNTED)
        labels = given.get("groups") if self.shape == "labelled" else None
        if isinstance(labels, list | tuple) or (isinstance(labels, np.ndarray) and labels.ndim):
            for group in labels:  # whether rows can have such labels is public
                comparable(names[1], table.value_kind(names[1]), group, "groups")

    def columns_of(self, names: Names, given: Given) -> Names:
        """The columns that are asked about: those named."""
        return names

    def predictors(self, names: Names, given: Given, kinds: Mapping[str, str]) -> Names:
        """The names of the columns of X."""
        return names[1:]

    def complete_options(
        self, names: Names, given: Given, kinds: Mapping[str, str], levels: Mapping[str, Any], allowed: Names
    ) -> dict[str, Any]:
        """What a request says, with what follows from kinds and public levels of columns."""
        return dict(given)

    def read(self, table: Table, names: Names, given: Given) -> tuple[Any, ...]:
        columns = [table.column(name) for name in names]
        if self.shape == "flags":
            return (columns[0] if columns else table,)
        if self.shape == "columns":
            return (Columns(columns),)
        if self.shape == "design":
            return Columns(columns[1:]), columns[0]
        if self.shape == "sides":
            return (*columns, *([None] * (2 - len(columns))))
        return tuple(columns)

    # ----------------------------------------------------------------------------------------------- of a caller's data

    def enter(self, data: Mapping[str, Any], person: Any = None, order: Any = None, by: Any = None) -> EnteredData:
        """Data arguments as columns of one table, with the owners of rows, the column of order and those of groups.

        What is of a table in memory already (columns that a formula made, or its draft) is of the new one.
        """
        whose = None if person is None else owners(person)
        fields = {name: {} if x is None else self._fields(name, x) for name, x in data.items()}
        more = dict[str, Field]()
        if order is not None:
            must = "a column as long as the data, by which per_person='last' knows the last row"
            more[ORDER] = column_field("order", order, None, must)
            if whose is not None and more[ORDER].size != whose.size:
                raise InvalidArgument("order", must, "a column of another length", "Pass a column of times.")
        groups = {} if by is None else category_fields(by)
        firsts = {name: next(iter(some.values())) for name, some in fields.items() if some} | more
        name, first = next(iter(firsts.items()))
        if whose is not None:  # how many rows people have is secret, so no error says it
            whose.check(name, first.size)
        for other, one in firsts.items():
            if one.size != first.size:
                raise InvalidArgument(other, f"as long as {name}", "another number of rows")
        if groups and next(iter(groups.values())).size != first.size:
            raise InvalidArgument("by", "a column of one group for every row of x", "another length")
        merged = {name: one for some in fields.values() for name, one in some.items()}
        table = MemoryTable.of({**merged, **more, **groups}, whose)
        arguments = {name: self._argument(name, x, table, list(fields[name])) for name, x in data.items()}
        return EnteredData(arguments, table, tuple(groups))

    def _fields(self, name: str, x: Any) -> dict[str, Field]:
        """The fields of one data argument, under names of their own, or those of its table."""
        if _of_table(x):
            return dict(x.table.fields)
        if self.shape in ("columns", "design") and name != "y":
            own = self.shape == "columns"  # names beside y, the order and the groups, which no other column has
            return {
                label if own and label != ORDER and not label.startswith("by ") else f"{name}[{label}]": one
                for label, one in matrix_fields(name, x).items()
            }
        if self.shape == "flags":
            rows = getattr(x, "ndim", 1) == 2 or frame(x) is not None  # of a table rows are counted
            return {name: column_field(name, np.zeros(len(x)) if rows else x, None)}
        if "text" in self.kinds or name == "labels":
            return {name: column_field(name, x, None, "a one-dimensional column of categories")}
        return {name: column_field(name, x, self.kinds)}

    def _argument(self, name: str, x: Any, table: Table, fields: Sequence[str]) -> Any:
        if _of_table(x):
            return x.of(table)
        columns = [table.column(field) for field in fields]
        if self.shape in ("columns", "design") and name != "y":
            return Columns(columns)
        return columns[0] if columns else None


def _of_table(x: Any) -> bool:
    """Whether a data argument is of a table in memory already."""
    return isinstance(getattr(x, "table", None), MemoryTable)


@dataclass(frozen=True)
class OwnedData:
    """For functions that read their data themselves: those that are named get the owners of their rows beside them."""

    names: tuple[str, ...]
    people: tuple[str, ...] = ()

    def enter(self, data: Mapping[str, Any], person: Any = None, order: Any = None, by: Any = None) -> EnteredData:
        whose = owners(person)
        unit = PrivacyUnit(whose.names, "people")
        made = {name: OwnedRows(x, whose, unit) if name in self.names else x for name, x in data.items()}
        return EnteredData(made, MemoryTable({}, unit), ())


def group_names(by: Any) -> Names:
    """The columns whose values are groups: none, one or several. Groups of several are tuples."""
    names = () if by is None else tuple(by) if isinstance(by, list | tuple) else (by,)
    texts = all(isinstance(name, str) for name in names)
    if isinstance(by, list | tuple) and (not by or not texts or len(set(names)) < len(names)):
        raise InvalidArgument("by", "the name of a column, or a list of different names", checks.describe(by))
    return names


COLUMN = Reads("column", people=("per_person", "weights", "at_most", "order"))
"""One numeric column."""

MOMENTS = replace(COLUMN, kinds=MEASURED)
"""One column of numbers, times or durations."""

FLAGS = Reads("flags", ("boolean", "any"), least=0, people=("weights", "at_most"), weights="any")
"""A column of truth values, or none for the rows themselves."""

CATEGORIES = Reads("categories", (*COUNTED, *TIMED), people=("weights", "at_most"), weights="any")
"""One column whose values are counted."""

SHARES = replace(CATEGORIES, people=EACH, weights=None)
"""One column of which the share of rows with some values is asked for."""

POINTS = Reads("columns", most=3)
"""One to three numeric columns: points on a line, in a plane, in space."""

COLUMNS = Reads("columns", least=2, most=None)
"""Several numeric columns."""

DESIGN = Reads("design", least=2, most=None)
"""A response and its predictors."""

PAIR = Reads("sides", least=2, most=2, people=EACH)
"""Two numeric columns side by side."""

ROWS = Reads("sides", most=2, people=EACH)
"""A numeric column, or two side by side, row by row."""

WIDE = Reads("columns", least=2, most=None, people=EACH)
"""Two numeric columns or more."""

LABELLED = Reads("labelled", least=2, most=2, people=EACH, last=COUNTED)
"""A numeric column, and one that has the label of each row."""
