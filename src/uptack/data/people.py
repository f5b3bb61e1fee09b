"""A table whose rows belong to people: one or more of its columns say whose each row is.

Whatever kind of source the rows are in, people are counted, weighed and told apart where the rows are. The columns of
ids are hidden: they say whose rows they are, and are never released, grouped by or selected. A row whose id is missing,
in any of its columns, belongs to nobody and is left out. The number of people may be public, the number of rows is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from types import MappingProxyType
from typing import Any, NoReturn, Protocol

from uptack import checks
from uptack.columns.owners import Owners, PeopleRows
from uptack.columns.people import People
from uptack.columns.spread import PeopleCount, PeopleTally, PeopleValues, Weights
from uptack.columns.timed import TimedColumn, ticked
from uptack.data.arrays import MemorySource
from uptack.data.counting import QueryPeople
from uptack.data.memory_people import MemoryPeople
from uptack.data.people_batches import QueryPeopleRows
from uptack.data.protocol import Counts, Source, form_of, known, known_all
from uptack.data.queries import QuerySource
from uptack.errors import InvalidArgument, UptackError
from uptack.noise import Entropy
from uptack.table.conditions import Condition
from uptack.table.values.field import Field, no_rows
from uptack.table.values.kinds import NUMERIC, Kind
from uptack.table.values.times import TIMED, Form

REFUSED = "rows of people are never taken for rows; ask for a tally or for points"


class Rows(Protocol):
    """Rows that all belong to somebody, wherever they are kept."""

    def people(self) -> int:
        """How many people there are."""
        ...

    def spread(self) -> tuple[int, int]:
        """How many rows there are, and how many one person has at most. For the curator only."""
        ...

    def column(self, name: str) -> People:
        """A numeric column, of which each person has her part."""
        ...

    def order(self, name: str) -> Any:
        """What `People.each` takes to know the last row, by a column."""
        ...

    def units(self, name: str, weights: Weights) -> Counts:
        """The values of a column that occur, in order, and the units of each (`uptack.columns.spread`)."""
        ...

    def bins(self, name: str, edges: Sequence[float], weights: Weights) -> Counts:
        """Values that stand for all rows between two edges, or on one, and the units of each."""
        ...

    def trues(self, name: str | None, at_most: int) -> int:
        """How many rows of people are True, of each person so many at most; without a column, how many there are."""
        ...

    def points(self, names: Sequence[str]) -> PeopleRows:
        """Numeric columns side by side, and whose each row is."""
        ...

    def mixed(self, numbers: Sequence[str], others: Sequence[str]) -> tuple[PeopleRows, list[Field]]:
        """Some columns as numbers, with whose each row is, and others as fields."""
        ...

    def values(self, name: str) -> PeopleValues:
        """All rows of a column, and whose they are."""
        ...

    def groups(self, names: Sequence[str]) -> Counts:
        """The combinations of values of columns, and how many people have a row with each."""
        ...

    def settled(self, names: Sequence[str]) -> Rows:
        """The rows of each person that have her most frequent values in columns, the first of several."""
        ...

    def restricted(self, name: str, value: Any) -> Rows:
        """The rows that have this value."""
        ...

    def masked(self, wanted: Sequence[Condition]) -> Rows:
        """The same people. Rows that do not meet the conditions have no value."""
        ...

    def left(self, wanted: Sequence[Condition]) -> Rows:
        """The rows that meet the conditions, and those who own them."""
        ...


class PeopleSource:
    """A source in units of people. `rows`, the size that statistics and plans are about, is the number of people.

    With conditions (`filtered`) that is still the number of all people: rows that do not meet them have no value, and
    are in no cell and no group.

    >>> from uptack.data import source
    >>> visits = people(source({"id": ["a", "a", "b", None], "age": [31, 32, 50, 77]}), "id")
    >>> visits.rows, dict(visits.columns), visits.person
    (2, {'age': 'any'}, ('id',))
    """

    def __init__(
        self,
        inner: Rows,
        kinds: Mapping[str, Kind],
        person: tuple[str, ...],
        outer: Source,
        left: Callable[[], Rows] | None = None,
    ) -> None:
        self._inner, self.outer, self.person, self._only = inner, outer, person, left
        self.columns: Mapping[str, Kind] = MappingProxyType({n: k for n, k in kinds.items() if n not in person})
        self.forms: Mapping[str, Form] = getattr(outer, "forms", {})

    def __repr__(self) -> str:
        return f"PeopleSource of {len(self.columns)} columns, people by {' and '.join(self.person)}"

    @property
    def rows(self) -> int:
        """The number of people."""
        return self._inner.people()

    @cached_property
    def _left(self) -> Rows:
        """The rows that meet the conditions, where there are any. They are looked for when they are asked for."""
        return self._inner if self._only is None else self._only()

    def spread(self) -> tuple[int, int]:
        """How many rows there are, and how many one person has at most. For the curator only: it is not private."""
        return self._inner.spread()

    def snapshot(self) -> AbstractContextManager[None]:
        """All that is read inside sees one state of the table."""
        snapshot: AbstractContextManager[None] = getattr(self.outer, "snapshot", nullcontext)()
        return snapshot

    def one_state(self) -> AbstractContextManager[object]:
        """One state of the table for all snapshots inside."""
        state: AbstractContextManager[object] = getattr(self.outer, "one_state", nullcontext)()
        return state

    def column(self, name: str) -> Any:
        """A column of people's numbers, times or durations."""
        found = self._inner.column(self._known(name, (*NUMERIC, *TIMED)))
        return TimedColumn(found, self.forms[name]) if name in self.forms else found

    def order(self, name: object) -> Any:
        """The column by which `per_person="last"` knows the last row."""
        return self._inner.order(self._known(name))

    def tally(self, name: str, weights: Weights | None = None, edges: Sequence[float] | None = None) -> Any:
        """The values of a column, or the bins that they are in, with their units."""
        way = weights or Weights()
        known_name = self._known(name, None if edges is None else NUMERIC)
        if way.way == "one":  # which of the cells has most of a person's rows depends on the cells
            return self._left.values(known_name)
        inner = self._left
        keys, units = inner.units(known_name, way) if edges is None else inner.bins(known_name, edges, way)
        return PeopleTally(tuple(key for (key,) in keys), units, self.rows, way)

    def moments(self, name: str) -> PeopleValues:
        """All rows of a column of times or durations, and whose they are: of an engine the floats nearest to ticks."""
        known_name = self._known(name, TIMED)
        if isinstance(self._inner, MemoryPeople):
            return self._inner.moments(known_name)
        rows = self._inner.points([known_name])
        return PeopleValues(ticked(rows.values, self.forms[known_name]), Owners(rows.codes, rows.people))

    def counted(self, name: str | None, at_most: int | None = None) -> PeopleCount:
        """How many people have a row that is True; with `at_most`, how many such rows, at most so many of each."""
        wanted = None if name is None else self._known(name, ("boolean", "any"))
        return PeopleCount(self._left.trues(wanted, at_most or 1), at_most or 1)

    def points(self, names: Sequence[str]) -> PeopleRows:
        """Numeric columns side by side, and whose each row is."""
        return self._inner.points([self._known(name, NUMERIC) for name in names])

    @property
    def engine(self) -> QueryPeople | None:
        """All rows, where an engine keeps them; None for rows that are in memory."""
        return self._inner if isinstance(self._inner, QueryPeople) else None

    def batched(self, names: Sequence[str]) -> QueryPeopleRows | None:
        """The same in batches; None for rows that are in memory."""
        if not isinstance(self._inner, QueryPeople):
            return None
        return QueryPeopleRows.of(self._inner, [self._known(name, NUMERIC) for name in names])

    def mixed(self, numbers: Sequence[str], others: Sequence[str]) -> tuple[PeopleRows, list[Field]]:
        """Some columns as numbers, with whose each row is, and others as fields."""
        names = [self._known(name, NUMERIC) for name in numbers]
        return self._inner.mixed(names, [self._known(name) for name in others])

    def counts(self, names: Sequence[str]) -> NoReturn:
        """Refused: see `tally`."""
        raise UptackError(REFUSED)

    def categories(self, name: str) -> NoReturn:
        """Refused: see `tally`."""
        raise UptackError(REFUSED)

    def matrix(self, names: Sequence[str]) -> NoReturn:
        """Refused: see `points`."""
        raise UptackError(REFUSED)

    def blocks(
        self, names: Sequence[str], count: int, *, id: str | None = None, entropy: Entropy | None = None
    ) -> NoReturn:
        """Refused: see `points`."""
        raise UptackError(REFUSED)

    def groups(self, *by: str) -> Counts:
        """The combinations of values of columns, and how many people have a row with each."""
        return self._left.groups([self._known(name) for name in by])

    def settled(self, *by: str) -> PeopleSource:
        """Every person in one group only: that of most of her rows, the first of several. Her other rows are left out.

        Her group is then a function of her rows alone, and groups of people are what groups of rows are.
        """
        return self._with(self._left.settled([self._known(name) for name in by]))

    def restricted(self, name: str, value: Any) -> PeopleSource:
        """The rows that have this value."""
        return self._with(self._left.restricted(self._known(name), value))

    def filtered(self, wanted: Sequence[Condition]) -> PeopleSource:
        """The rows that meet conditions: see `uptack.data.filtered`."""
        inner = self._inner
        masked = inner.masked(wanted)
        return PeopleSource(masked, self.columns, self.person, self.outer, lambda: inner.left(wanted))

    def _with(self, inner: Rows) -> PeopleSource:
        return PeopleSource(inner, self.columns, self.person, self.outer)

    def _known(self, name: object, kinds: Sequence[Kind] | None = None) -> str:
        hidden(name, self.person)
        return known(name, self.columns, kinds)


def hidden(name: object, person: Sequence[str]) -> None:
    """Refuses a column of ids."""
    if name in person:
        fix = "Ids say whose rows they are; they are not released, selected or grouped by."
        raise InvalidArgument("column", "another one than the ids of people", checks.describe(name), fix)


def named(person: object) -> tuple[str, ...]:
    """The columns of ids: one name, or several."""
    names = (person,) if isinstance(person, str) else person
    fix = "Such as person='patient_id', or person=['clinic', 'number'] for an id of two columns."
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgument("person", "the name of a column, or a list of names", checks.describe(person), fix)
    if len(set(names)) < len(names):
        raise InvalidArgument("person", "different columns", checks.describe(person), fix)
    return tuple(names)


def people(source: Source, person: str | Sequence[str]) -> PeopleSource:
    """A source whose rows belong to the people that one or more of its columns name."""
    ids = tuple(known_all(named(person), source.columns))
    if isinstance(source, QuerySource):
        return PeopleSource(QueryPeople.of(source, ids), source.columns, ids, source)
    if isinstance(source, MemorySource):
        return PeopleSource(MemoryPeople.of(source, ids), source.columns, ids, source)
    fix = "Sources of your own can't say whose rows they hold."
    raise InvalidArgument("data", "arrays, a frame, a file or a table of an engine", type(source).__name__, fix)


def empty(source: Source | PeopleSource) -> MemorySource | PeopleSource:
    """A source with the same columns and without rows. It looks at no row."""
    fields = {name: no_rows(kind, form_of(source, name)) for name, kind in source.columns.items()}
    if not isinstance(source, PeopleSource):
        return MemorySource(fields)
    return people(MemorySource(fields | {name: no_rows("any") for name in source.person}), source.person)
