"""The columns that a formula reads: of a frame, of a mapping, or of a session's table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cache
from typing import Any, NoReturn

import numpy as np

from uptack import checks
from uptack.columns import NUMERIC, containers, field
from uptack.columns.fields import Field, no_rows
from uptack.columns.owners import Owners, PeopleRows
from uptack.columns.tally import Tally
from uptack.columns.unread import Touched
from uptack.errors import InvalidArgument
from uptack.regression.formulas.grammar import read

Wanted = tuple[str, tuple[Any, ...] | None, str, int]
"""A column of X: a column of numbers, and None; or one of categories, with its levels, what becomes of other values,
and the number of the level that is 1."""

Made = Callable[[str, Sequence[Wanted] | None, int], tuple[Any, Any] | None]


@dataclass(frozen=True)
class Named:
    """Columns of a table by name. `levels` are those that types declare. With `owners`, rows are people's.

    Where the table is elsewhere, `made(response, columns, width)` is X and y without the fields being read, or None
    where X is not made of columns and dummies alone, and `tally` counts the values of a column.
    """

    fields: Mapping[str, Field]
    levels: Mapping[str, Any] = dataclass_field(default_factory=dict)
    owners: PeopleRows | None = None
    made: Made | None = None
    tally: Callable[[str], Tally] | None = None

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
    read = {name: _number(source.columns[name], column) for name, column in zip(numbers, columns, strict=True)}
    read |= zip(others, fields, strict=True)
    owners = _owners(found.codes, found.people) if isinstance(found, PeopleRows) else None
    return Named({name: read[name] for name in names}, owners=owners)


def _number(kind: str, values: Any) -> Field:
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


class _Later(Field):
    """A column that is read with all others, when the first of them is asked for."""

    def __init__(self, kind: Any, size: int, read: Callable[[], Field]) -> None:
        super().__init__(kind, size, lambda: read().values())
        self._field = read

    def codes(self) -> tuple[list[Hashable], Any]:
        """The values that occur, and each row's place among them."""
        return self._field().codes()


def of_engine(
    source: Any,
    names: Sequence[str],
    given: Mapping[str, Any],
    design: Callable[[str, Sequence[Wanted]], tuple[Any, Any]],
) -> Named:
    """The columns of a table that an engine has. They are read only if the engine can't make X and y of them."""
    _apart(source, names, given)
    whole = cache(lambda: of_source(source, names, given).fields)

    def later(name: str) -> Field:
        return _Later(source.columns[name], source.rows, lambda: whole()[name])

    def tally(name: str) -> Tally:
        keys, counts = source.counts([name])
        return Tally(tuple(key for (key,) in keys), counts)

    def made(response: str, wanted: Sequence[Wanted] | None, width: int) -> tuple[Any, Any] | None:
        return None if wanted is None else design(response, wanted)

    return Named({name: later(name) for name in names}, made=made, tally=tally)


def of_nothing(
    source: Any, names: Sequence[str], given: Mapping[str, Any], stand_in: Callable[[int], tuple[Any, Any]]
) -> Named:
    """The columns of a table that must not be read yet; `stand_in` makes X of so many columns, and y."""
    _apart(source, names, given)

    def untouched() -> NoReturn:
        raise Touched

    n = source.rows
    fields = {name: Field(source.columns[name], n, untouched) for name in names}
    owners = _owners(np.arange(n), n) if hasattr(source, "points") else None
    return Named(fields, owners=owners, made=lambda response, wanted, width: stand_in(width))
