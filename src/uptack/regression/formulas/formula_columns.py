"""The columns that a formula reads: of a frame, of a mapping, or of a session's table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any, NoReturn, Protocol

import numpy as np

from uptack import checks
from uptack.columns.owners import Owners, PeopleRows
from uptack.columns.spread import PeopleTally, Weights
from uptack.columns.table import Floats
from uptack.columns.tally import Tally
from uptack.columns.unread import Touched
from uptack.errors import InvalidArgument
from uptack.regression.formulas.grammar import read
from uptack.table.values import containers
from uptack.table.values.entrance import field
from uptack.table.values.field import Field, no_rows
from uptack.table.values.kinds import NUMERIC

Wanted = tuple[str, tuple[Any, ...] | None, str, int | None]
"""A column of numbers, and None; or one of categories, with its levels, what becomes of other values, and the number of
the level that is 1, or None for the number of each row's level."""


@dataclass(frozen=True)
class FormulaPlan:
    """What X, of so many columns, and y are made of where the table is elsewhere.

    `columns` are those of X, and `response` y, where these are columns and dummies; else None. In any case `recipe`
    makes all of them from the columns that it `reads`.
    """

    width: int
    response: Wanted | None
    columns: Sequence[Wanted] | None
    reads: Sequence[Wanted]
    recipe: Callable[[Sequence[Floats]], Sequence[Floats]]


Made = Callable[[FormulaPlan], tuple[Any, Any]]


class Engine(Protocol):
    """What has the rows (`uptack.data.computed`)."""

    def selected(self, response: Wanted, columns: Sequence[Wanted]) -> tuple[Any, Any]:
        """X and y that are columns and dummies."""
        ...

    def computed(
        self, reads: Sequence[Wanted], make: Callable[[Sequence[Floats]], Sequence[Floats]], width: int
    ) -> tuple[Any, Any]:
        """X of so many columns and y, of columns that are read."""
        ...


@dataclass(frozen=True)
class Named:
    """Columns of a table by name. `levels` are those that types declare. With `owners`, rows are people's.

    Where the table is elsewhere, `made` makes X and y without the fields being read, and `tally` counts the values of a
    column; `peoples` then says that rows are people's.
    """

    fields: Mapping[str, Field]
    levels: Mapping[str, Any] = dataclass_field(default_factory=dict)
    owners: PeopleRows | None = None
    made: Made | None = None
    tally: Callable[[str], Tally | PeopleTally] | None = None
    peoples: bool = False

    @property
    def rows(self) -> int:
        """The number of rows. Where they are people's it is secret."""
        return next(iter(self.fields.values())).size

    def unread(self) -> Named:
        """Columns of the same kinds without rows."""
        return Named({name: no_rows(one.kind) for name, one in self.fields.items()}, self.levels)

    def owned(self, whose: Owners) -> Named:
        """The rows that are somebody's."""
        whose.check("X", self.rows)
        fields = {name: one.taken(whose.kept) for name, one in self.fields.items()}
        return replace(self, fields=fields, owners=_owners(whose.codes[whose.kept], whose.people))


def _owners(codes: Any, people: int) -> PeopleRows:
    """Whose the rows are; their values come later."""
    return PeopleRows(np.broadcast_to(0.0, codes.size), codes, people)


def of_data(data: Any) -> Named:
    """The columns of a frame, or of a mapping of columns."""
    if isinstance(data, Named):
        return data
    columns = list(data.items()) if isinstance(data, Mapping) else containers.frame(data)
    if columns is None:
        raise InvalidArgument("X", "a frame, or columns by name, where there is a formula", checks.outline(data))
    fields = {str(name): field(f"X[{name!r}]", part) for name, part in columns}
    if len({one.size for one in fields.values()}) > 1:
        raise InvalidArgument("X", "columns of equal length", "columns of several lengths")
    enums = {str(name): tuple(part.dtype.categories) for name, part in columns if _is_enum(part)}
    return Named(fields, enums)


def _is_enum(column: Any) -> bool:
    """Whether a column's type lists its values: an Enum of polars does."""
    return containers.package(column) == "polars" and str(getattr(column, "dtype", "")).startswith("Enum")


def of_source(source: Any, names: Sequence[str], given: Mapping[str, Any]) -> Named:
    """The columns of a session's table, in one pass, so that rows stay together.

    Numbers are read as such, and what is a category, or a text, as it is.
    """
    numbers, others = _apart(source, names, given)
    if others:
        found, fields = source.mixed(numbers, others)
    elif hasattr(source, "points"):
        found, fields = source.points(numbers), []
    else:
        found, fields = source.matrix(numbers), []
    values = found.values if isinstance(found, PeopleRows) else found
    columns = values.reshape(len(values), len(numbers)).T
    read = {name: number_field(source.columns[name], column) for name, column in zip(numbers, columns, strict=True)}
    read |= zip(others, fields, strict=True)
    owners = _owners(found.codes, found.people) if isinstance(found, PeopleRows) else None
    return Named({name: read[name] for name in names}, owners=owners)


def number_field(kind: str, values: Any) -> Field:
    """A column of numbers. That one of truth values is 0 or 1 is known by its type."""
    if kind != "boolean":
        return containers.of_numpy(values)
    return Field("boolean", values.size, lambda: (values == 1.0, np.isnan(values)))


def _apart(source: Any, names: Sequence[str], given: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The columns that are read as numbers, and the others."""
    told = given.get("levels")
    several = {*read(given["formula"]).categories, *(told if isinstance(told, Mapping) else ())}
    others = [name for name in names if source.columns[name] not in NUMERIC or name in several]
    if others and not hasattr(source, "mixed"):
        must, fix = "of numeric columns, without categories, in this session", "Make it numbers of 0 and 1 first."
        raise InvalidArgument("formula", must, repr(others[0]), fix)
    return [name for name in names if name not in others], others


def of_engine(source: Any, names: Sequence[str], given: Mapping[str, Any], engine: Engine, units: Any = None) -> Named:
    """The columns of a table that an engine has, which makes X and y of them. Where people are the unit, `units` counts
    the values of a column."""
    _apart(source, names, given)

    def tally(name: str) -> Tally | PeopleTally:
        if units is not None:
            keys, counts = units(name, Weights())
            return PeopleTally(tuple(key for (key,) in keys), counts, source.rows, Weights())
        keys, counts = source.counts([name])
        return Tally(tuple(key for (key,) in keys), counts)

    def made(plan: FormulaPlan) -> tuple[Any, Any]:
        if plan.columns is not None and plan.response is not None:
            return engine.selected(plan.response, plan.columns)
        return engine.computed(plan.reads, plan.recipe, plan.width)

    return Named(_unread(source, names), made=made, tally=tally, peoples=units is not None)


def _unread(source: Any, names: Sequence[str]) -> dict[str, Field]:
    """Columns that are not read here."""

    def untouched() -> NoReturn:
        raise Touched

    n = source.rows
    return {name: Field(source.columns[name], n, untouched) for name in names}


def of_nothing(
    source: Any, names: Sequence[str], given: Mapping[str, Any], stand_in: Callable[[int], tuple[Any, Any]]
) -> Named:
    """The columns of a table that must not be read yet; `stand_in` makes X of so many columns, and y."""
    _apart(source, names, given)
    people = hasattr(source, "points")
    return Named(_unread(source, names), made=lambda plan: stand_in(plan.width), peoples=people)
