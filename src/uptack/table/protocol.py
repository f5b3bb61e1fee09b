"""A table, wherever its rows are and whosever they are: the questions that releases may ask, and nothing else.

A *table* says what is public: names, kinds, its unit (`uptack.table.unit`) and its size. A *column* is a view of one of
its columns, made by an expression. A question is about *rows*: first the mask of conditions, then missing values, then
one number per person where that is asked for, and only then weights. `Table.rows` is the one place that decides this
order, and whether the answer is worked out here or in an engine.

There are three implementations: arrays (`uptack.table.memory`), engines (`uptack.table.engine`), and tables that must
not be read yet (`uptack.table.unread`). The first two give the same answers to the last bit.

A public number is on a table, a secret one on an answer. `where` does not change the size. A part of a table, which
`only` and `groups` make, has none: asking for it is an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from uptack.errors import InvalidArgument, UptackError
from uptack.table.conditions import Condition
from uptack.table.exact_sum import Floats
from uptack.table.names import column_name
from uptack.table.search import Order, Window
from uptack.table.unit import Integers, PrivacyUnit
from uptack.table.values.entrance import Field
from uptack.table.values.kinds import WHOLE, Kind, canonical
from uptack.table.values.times import TIMED, Form

Weights = Integers | None
"""The units of each row; None where every row has all units of its person, which is one."""

Missing = Literal["keep", "drop"] | float
"""What becomes of rows without a value: they stay NaN, are left out, or are read as a number."""

Infinite = Literal["drop", "clip"]
"""Side by side, a row that is ±inf is left out as one without a value is, or is ±the largest float."""

Of = Literal["all", "complete"]
"""Which units have a place: all of them, whose number is public, or those that have a complete row."""


# ------------------------------------------------------------------------ expressions: of one row, or of one person


@dataclass(frozen=True)
class Name:
    """A column of the table itself."""

    name: str


@dataclass(frozen=True)
class Meets:
    """1 where a row meets a condition, 0 where it meets only the condition `among`, and missing elsewhere."""

    name: str
    condition: Condition
    among: Condition


@dataclass(frozen=True)
class Floored:
    """The unit of the calendar that a time is in, by where it begins: only for counts."""

    name: str
    every: str


@dataclass(frozen=True)
class Distance:
    """|x - centre|, rounded once."""

    centre: float

    def __call__(self, values: Any) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            distances: Floats = np.abs(values.astype(np.float64) - self.centre)
            return distances


@dataclass(frozen=True)
class Clipped:
    """x brought to between 0 and 1."""

    def __call__(self, values: Any) -> Floats:
        clipped: Floats = np.clip(values.astype(np.float64), 0.0, 1.0)
        return clipped


Steps = tuple[Distance | Clipped, ...]
"""What is done to a number, first step first."""


def apply_steps(steps: Steps, values: Any) -> Any:
    """What steps make of an array, row by row."""
    for step in steps:
        values = step(values)
    return values


@dataclass(frozen=True)
class PerPerson:
    """One number per person, of her rows alone (`how`): "mean", "sum" (at most the largest float), "median" (the lower
    one of two), "min" or "max", "count" (of her rows), or "last": the row with the largest value in the column `order`
    (the larger one of two).

    **Theorem.** Replacing all rows of one person replaces one number, and adding or removing her adds or removes one.
    So every statistic is private for people with what it is for rows. How many rows anybody has does not matter.
    """

    how: str
    order: str | None = None


# -------------------------------------------------------------------------------------------------------------- columns


@dataclass(frozen=True, eq=False)
class Column:
    """A view of a table: a number of each of its rows, or of each of its people, and its declared type.

    `expr` is what is read of a row, and `steps` is what is done to it. Where there is a number per person (`own`),
    `after` is what is done to that. `missing` is about rows, and comes before a number per person is made of them.
    `integers` says that the type, not the content, makes all values whole numbers. Times and durations are columns of
    ticks (`uptack.table.values.times`), and `form` says how they are shown.
    """

    table: Table
    expr: Name | Meets | Floored
    kind: Kind
    form: Form | None = None
    integers: bool = False
    missing: Missing = "keep"
    steps: Steps = ()
    own: PerPerson | None = None
    after: Steps = ()

    @property
    def name(self) -> str:
        """The column of the table that it is made of."""
        return self.expr.name

    @property
    def unit(self) -> PrivacyUnit:
        """Whose its numbers are: with one number per person, people have one unit each."""
        return self.table.unit if self.own is None else PrivacyUnit(self.table.unit.ids)

    @property
    def of_people(self) -> bool:
        """Whether it says whose its rows are."""
        return bool(self.table.unit.ids)

    # --------------------------------------------------------------------------------------------------- other views

    def drop(self) -> Column:
        """The rows that have a value, with ±inf replaced by ±the largest float."""
        return replace(self, missing="drop")

    def filled(self, value: float) -> Column:
        """NaN replaced by a number, and ±inf by ±the largest float."""
        return replace(self, missing=float(value))

    def floats(self) -> Column:
        return replace(self, integers=False)

    def distance(self, centre: float) -> Column:
        """The distances of all rows from a number; those of times are durations."""
        return self._then(Distance(centre), form=self.form and self.form.spread)

    def clipped(self) -> Column:
        """The same brought to between 0 and 1."""
        return self._then(Clipped(), kind="number")

    def _then(self, step: Distance | Clipped, **changes: Any) -> Column:
        if self.own is None:
            return replace(self, steps=(*self.steps, step), integers=False, **changes)
        return replace(self, after=(*self.after, step), integers=False, **changes)

    def coded(self, first: Any, second: Any) -> Column:
        """0 and 1 for two values of the column, and missing for others."""
        equal = Condition(self.name, self.kind, "==", (canonical(second),))
        return self.meeting(equal, replace(equal, operation="in", values=(canonical(first), canonical(second))))

    def meeting(self, condition: Condition, among: Condition | None = None) -> Column:
        """1 and 0 for rows that meet a condition and rows that do not, of those that have a value, or meet `among`.

        It is about rows, whatever is made of them.
        """
        among = among or replace(condition, operation="!=", values=(None,))
        meets = Meets(self.name, condition, among)
        return Column(self.table, meets, "number", missing=self.missing, own=self.own)

    def floored(self, every: str) -> Column:
        """Times by units of the calendar, to be counted."""
        return replace(self, expr=Floored(self.name, every), steps=(), own=None, after=())

    def per_person(self, how: str, order: str | None = None) -> Column:
        """One number per person; "any" is for truth values, which `meeting` makes."""
        how = "max" if how == "any" else how
        if how == "sum" and self.form is not None and self.form.kind == "time":
            must = "another than 'sum' for a column of times"
            raise InvalidArgument("per_person", must, "'sum'", "Times don't add up.")
        whole = how == "count" or (self.integers and how != "mean")
        form, kind = (None, "integer") if how == "count" else (self.form, self.kind)
        return replace(self, own=PerPerson(how, order), kind=kind, integers=whole, form=form)

    def sharing(self, share: str, at_most: int | None = None) -> Column:
        """The same of people whose rows share their units so: see `uptack.table.unit`."""
        return replace(self, table=self.table.sharing(share, at_most))

    def of(self, table: Table) -> Column:
        """The same view of another table with such a column."""
        return replace(self, table=table)

    # ------------------------------------------------------------------------------------------------------- questions

    @cached_property
    def rows(self) -> Rows:
        """What questions about it are about."""
        return self.table.rows([self])

    def count(self) -> int:
        """How many rows, or people, it has: secret where some may be left out."""
        return self.rows.n

    def finite(self) -> bool:
        """Whether no row is missing, NaN or infinite. For the curator only."""
        return self.table.finite(self)

    def order(self, windows: Sequence[Window]) -> Order:
        """Its order statistics inside windows of ranks (first, last), counted from 1, both ends included."""
        return self.rows.order(0, windows)

    def sum(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f(values) over batches of rows, entry by entry: integers, floats or arrays. Not of rows with weights.

        f is given batches of any size and must be additive: f of all rows is the sum of f over any partition of them.
        It must pickle for a cluster. Integers are added exactly; floats in no particular order.
        """
        if self.unit.weighted:
            raise UptackError("sums over rows are not proved for people")
        return self.rows.sum(partial(_apply_to_values, f))

    def person_means(self, f: Callable[[Floats], Floats]) -> Floats:
        """One number per person: the weighted mean of f over her rows. The order of people is the same for every f."""
        found: Floats = self.rows.in_memory().person_means(f)
        return found

    @cached_property
    def distribution(self) -> tuple[Floats, Integers]:
        """All values, each once and in order, and the units of rows up to each. They are put in order once."""
        n = self.count()
        return self.order([(0, n + 1)]).jumps(0, n + 1)

    def mass(self, low: float, high: float) -> tuple[int, int, int]:
        """The units of rows from low to high, of all others, and the most on one value inside."""
        values, up_to = self.distribution
        a, b = np.searchsorted(values, low, "left"), np.searchsorted(values, high, "right")
        units = np.append(0, up_to)
        inside = int(units[b] - units[a])
        return inside, int(units[-1]) - inside, int(np.diff(units[a : b + 1]).max(initial=0))


def _apply_to_values(f: Callable[[Floats], list[Any]], lines: Floats, weights: Weights) -> list[Any]:
    return f(lines[0])


class Columns(tuple[Column, ...]):
    """Columns of one table, side by side."""

    @property
    def table(self) -> Table:
        return self[0].table

    @property
    def of_people(self) -> bool:
        return any(column.of_people for column in self)

    def rows(self, infinite: Infinite = "drop") -> Rows:
        return self.table.rows(self, infinite)

    def per_person(self, how: str, order: str | None = None) -> Columns:
        return Columns(column.per_person(how, order) for column in self)

    def of(self, table: Table) -> Columns:
        """The same views of another table with such columns."""
        return Columns(column.of(table) for column in self)


# -------------------------------------------------------------------------------------------------------------- answers


@dataclass(frozen=True, eq=False)
class Counts:
    """Combinations of canonical values that occur, in order, and the units of each, of which `step` count for one."""

    keys: list[tuple[Hashable, ...]]
    units: Integers
    unit: PrivacyUnit


Additive = Callable[[Floats, Weights], list[Any]]
"""A function of a batch, one line per column, and of its weights, that is added up over batches. It must pickle. Rows
with equal weights are side by side, so that it may add them before it multiplies."""

Keys = Callable[[Integers, Floats], NDArray[np.uint64]]
"""A key for each of some rows, from its values and the slot that its unit has."""


class Rows(Protocol):
    """The rows that a question is about, of one or several columns. People stand for rows where they are the unit."""

    @property
    def unit(self) -> PrivacyUnit:
        """Whose they are."""

    @property
    def width(self) -> int:
        """The number of columns."""

    @property
    def size(self) -> int:
        """All rows of the table, or all its people."""

    @property
    def n(self) -> int:
        """The rows of the question, or those who have such a row. Secret where some may be left out."""

    def lacking(self) -> bool:
        """Whether some row was left out. For the curator only."""

    def order(self, column: int, windows: Sequence[Window]) -> Order:
        """The order statistics of a column. Scans for the same windows of other columns are shared."""

    def sum(self, f: Additive) -> list[Any]:
        """Σ f over batches, in any order and partition."""

    def pick(self, places: Integers, key: Keys, of: Of) -> tuple[Integers, Floats]:
        """One row of each unit in these places, that of the least key: which of `places` have one, and the rows.

        A row has the place that it has in a scan, which may differ from scan to scan; people are numbered in the order
        of their ids.
        """

    def deal(self, slots: Integers, size: int, parts: int, of: Of) -> Iterator[tuple[Integers, Floats]]:
        """Slots and rows of one part after the other: part j has the slots from j·size on, so many of them.

        slots[i] is the slot of all rows of the unit in place i of one scan, or negative for one that is left out. There
        are at most 2^15 parts, and only one of them need be in memory.
        """

    def in_memory(self) -> Any:
        """The same rows as arrays: `uptack.table.memory.rows.MemoryRows`."""


@dataclass(frozen=True, eq=False)
class GroupedTable(ABC):
    """A table in groups by the values of columns. The group of a row depends on that row only.

    Where people are the unit, each person counts in up to g groups (`within`): those with most of her rows, and of
    several the first in the order of their values; her rows elsewhere are left out. So the groups of a person are a
    function of her rows alone, and one person who is added or removed changes up to g groups, each by one person. Rows
    are read when sizes or parts are asked for.
    """

    table: Any
    by: tuple[str, ...]
    only: Sequence[Hashable] | None = None
    at_most: int = 1

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of the columns whose values are groups: they say which public groups are the same."""
        return tuple(self.table.kinds[name] for name in self.by)

    @property
    def value_kinds(self) -> dict[str, Kind]:
        """The kinds that public values of these columns must have."""
        return {name: self.table.value_kind(name) for name in self.by}

    @property
    def unit(self) -> PrivacyUnit:
        """What sizes count: rows, or people in each of their groups."""
        return PrivacyUnit(self.table.unit.ids, "any", self.at_most) if self.table.of_people else PrivacyUnit()

    def among(self, groups: Sequence[Hashable]) -> GroupedTable:
        """Only these groups, which are public: rows of others are in none."""
        return replace(self, only=groups)

    def within(self, at_most: int) -> GroupedTable:
        """Each person in up to so many groups."""
        return replace(self, at_most=at_most)

    def where(self, conditions: Sequence[Condition]) -> GroupedTable:
        return replace(self, table=self.table.where(conditions))

    @abstractmethod
    def per_person(self) -> Integers:
        """At k how many people have rows in k groups."""

    @abstractmethod
    def sizes(self, unit: PrivacyUnit | None = None) -> tuple[list[Hashable], Integers]:
        """The groups that occur, as columns of their kinds show them, and their numbers of rows, or of people; with a
        unit, in its units.

        Groups of several columns are tuples. They are distinct in their canonical form.
        """

    @abstractmethod
    def part(self, group: Hashable) -> Table:
        """The rows of a group, which has no public size. Where there are none, a table without rows."""

    def nothing(self) -> Table:
        """A table of the same columns without rows. Looks at no data."""
        from uptack.table.memory.table import without_rows

        return without_rows(self.table)


Place = Callable[[Field], Integers]
"""The cell of every row of a column, -1 for none."""

FieldSums = Callable[[Sequence[Field], Weights], list[Any]]
"""A function of a batch of rows, a `Field` per column, and of their weights, that is added up over batches, entry by
entry. It must pickle."""


@dataclass(frozen=True)
class Category:
    """A column of categories as numbers: its levels, and what becomes of rows with another value.

    A row without a value is missing, and so is one with another value if `others` is "missing"; if it is "first" it
    counts as the first level, and if it is "own" as a level after all others.
    """

    name: str
    levels: tuple[Any, ...]
    others: str


Read = str | Category
"""A column of numbers by its name, or one of categories, of which the number of each row's level is read."""


@dataclass(frozen=True)
class RowDesign:
    """X and y of a regression as made of the rows of a table: each row of them from one row.

    `make` makes the columns of X, so many, and y of batches of the columns that it `reads`, as floats. It must pickle,
    and what it makes of a row must not depend on the rows beside it. `select` says the same where all of X and y are
    columns and dummies, for engines that make these themselves: pairs of a column and the number of the level that is 1
    (None for a column of numbers, or for the number of each row's level), y first.
    """

    width: int
    reads: Sequence[Read]
    make: Callable[[Sequence[Floats]], Sequence[Floats]]
    select: Sequence[tuple[Read, int | None]] | None = None

    @property
    def names(self) -> list[str]:
        """The columns of X by number, and y."""
        return [*map(str, range(self.width)), "y"]


class Table(ABC):
    """Rows, and whose they are. Names, kinds, unit and size are public; `where` changes none of them."""

    if TYPE_CHECKING:  # fields of some implementations, and properties of others

        @property
        def unit(self) -> PrivacyUnit:
            """Whose rows they are, and how rows share the units of a person."""

        @property
        def kinds(self) -> Mapping[str, Kind]:
            """The kind of each column, by its type and not by its content. Columns of ids are hidden."""

        @property
        def forms(self) -> Mapping[str, Form]:
            """How columns of times and durations are shown."""

        @property
        def size(self) -> int:
            """The number of all rows, or of all people."""

        @property
        def categorical(self) -> frozenset[str]:
            """The columns of texts that may be categories of any type."""

    @property
    def of_people(self) -> bool:
        """Whether it says whose its rows are."""
        return bool(self.unit.ids)

    def value_kind(self, name: str) -> Kind:
        """The kind that public values of a column must have: "any" for categories, which may be of any type."""
        return "any" if name in self.categorical else self.kinds[name]

    @property
    def filtered(self) -> bool:
        """Whether conditions hide rows, so that the number of those that are left is secret."""
        return False

    def column(self, name: str) -> Column:
        """A column of any kind; truth values read as 0 and 1."""
        kind = self.kinds.get(name) if isinstance(name, str) else None
        kind = kind or self.kinds[column_name(name, self.kinds)]  # which says what there is
        return Column(self, Name(name), kind, self.forms.get(name), kind in (*TIMED, *WHOLE))

    @abstractmethod
    def rows(self, columns: Sequence[Column], infinite: Infinite | None = None) -> Rows:
        """The rows of one column, with what its `missing` says; with `infinite`, the complete rows of several.

        Hidden rows have no value. Rows without one are left out, as a whole, or filled; then there are numbers per
        person, and last weights.
        """

    @abstractmethod
    def finite(self, column: Column) -> bool:
        """Whether no row of a column is missing, NaN or infinite. For the curator only."""

    @abstractmethod
    def counts(self, columns: Sequence[Column]) -> Counts:
        """The combinations of values that occur; missing is None. Hidden rows are in none, and do not share units."""

    @abstractmethod
    def cells(self, column: Column, place: Place, size: int) -> Integers:
        """The units in each of `size` cells, without hidden rows. Whole numbers are placed exactly."""

    @abstractmethod
    def common(self, column: Column, least: int) -> tuple[list[Hashable], Integers]:
        """The values of a column that have at least so many units, in order, and their units; a missing one is None.

        Of times and durations they are ticks. Hidden rows have none. Other values never leave an engine, so that a
        column of n rows gives at most n/least of them, however many it has.
        """

    @abstractmethod
    def field_sums(self, columns: Sequence[Column], f: FieldSums) -> list[Any]:
        """Σ f over batches of the rows that meet the conditions, by one scan, in any order and partition.

        Whole numbers are exact; times are the floats nearest to their ticks where an engine has them. Hidden rows do
        not share their owners' units.
        """

    @abstractmethod
    def cells_per_person(self, column: Column, place: Place | None = None) -> Integers:
        """At k how many people have rows in k cells, or with k values."""

    @abstractmethod
    def trues(self, name: str | None, at_most: int = 1) -> int:
        """How many rows are True, of each person so many at most; without a column, how many there are."""

    def design(self, design: RowDesign) -> tuple[Columns, Column]:
        """X and y, as columns of a table that is made of this one row by row."""
        table = self._designed(design)
        *x, y = (table.column(name) for name in design.names)
        return Columns(x), y

    @abstractmethod
    def _designed(self, design: RowDesign) -> Table:
        """The table of X and y."""

    @abstractmethod
    def groups(self, by: Sequence[str]) -> GroupedTable:
        """The table in groups."""

    @abstractmethod
    def where(self, conditions: Sequence[Condition]) -> Table:
        """Rows that do not meet the conditions have no value and are in no cell and no group. The size stays.

        **Theorem.** Let c be a condition on one row, and let F replace every row that does not meet c by one without
        values. A release that is (ε, δ)-private for the neighbours of some adjacency is so when it is made from F(D) in
        place of D, for the same adjacency. *Proof.* F acts on each row by itself. So if D and D' differ in one row that
        is replaced, or added, or in the rows of one person, F(D) and F(D') differ in no more than that: replaced rows
        are replaced (by rows without values where they do not meet c), added rows are added, and the rows of one person
        are hers before and after, since ids are kept. ∎

        So conditions cost nothing, and what is public stays public: the number of all rows, or of all people. How many
        rows meet the condition is as secret as how many have a value, and every statistic that leaves missing values
        out (`missing="drop"`) is proved for that. Of counts, a row that does not meet c is in no cell. One
        that is replaced then takes at most one from one cell and gives at most one to another, as before. Only the sum
        of all cells is secret now.
        """

    @abstractmethod
    def by_person(self, ids: Sequence[str]) -> Table:
        """The rows of the people that columns of ids name, which are then hidden; people are the unit."""

    @abstractmethod
    def identifies(self, name: str) -> bool:
        """Whether a column can say whose a row is, by its declared type."""

    @abstractmethod
    def as_rows(self) -> Table:
        """The table that was opened, with rows as the unit and ids among its columns. For the curator only."""

    def with_unit(self, unit: PrivacyUnit) -> Self:
        """The same rows, which share units in another way."""
        return replace(self, unit=unit)  # type: ignore[type-var]

    def sharing(self, share: str, at_most: int | None = None) -> Self:
        """The same of people whose rows share their units so: see `uptack.table.unit`."""
        return self.with_unit(PrivacyUnit.of_people(self.unit.ids, share, at_most))

    @abstractmethod
    def spread(self) -> tuple[int, int]:
        """How many rows there are, and how many one person has at most. For the curator only: it is not private."""

    @property
    def is_current(self) -> bool:
        """Whether its files are those that were opened: from others no release is made. It reads no rows."""
        return True

    def snapshot(self) -> AbstractContextManager[None]:
        """All that is read inside sees one state of the table."""
        return nullcontext()

    def one_state(self) -> AbstractContextManager[object]:
        """All snapshots inside see one state of the table."""
        return nullcontext()


SECRET = "a part of a table has no public size"
WEIGHTLESS = "which of a person's rows counts depends on cells: rows have no weights of their own"
