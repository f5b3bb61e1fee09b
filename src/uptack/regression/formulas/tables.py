"""The columns that a formula reads: of a frame, of a mapping, or of a session's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any

import numpy as np

from uptack import checks
from uptack.columns import NUMERIC, containers, field
from uptack.columns.fields import Field, no_rows
from uptack.columns.owners import Owners, PeopleRows
from uptack.errors import InvalidArgument
from uptack.regression.formulas.grammar import read


@dataclass(frozen=True)
class Named:
    """Columns of a table by name. `levels` are those that types declare. With `owners`, rows are people's."""

    fields: Mapping[str, Field]
    levels: Mapping[str, Any] = dataclass_field(default_factory=dict)
    owners: PeopleRows | None = None

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
        fix = "Make it numbers of 0 and 1 where the table is."
        raise InvalidArgument(
            "formula", "of numeric columns, without categories, in this session", repr(others[0]), fix
        )
    return [name for name in names if name not in others], others


def of_nothing(source: Any, names: Sequence[str], given: Mapping[str, Any]) -> Named:
    """The same without rows being read."""
    n, others = source.rows, _apart(source, names, given)[1]
    zeros, gone = np.broadcast_to(0.0, n), np.broadcast_to(np.array(None, object), n)
    unread = {name: Field(source.columns[name], n, lambda: (gone, None)) for name in others}
    fields = {name: unread[name] if name in unread else _number(source.columns[name], zeros) for name in names}
    return Named(fields, owners=_owners(np.arange(n), n) if hasattr(source, "points") else None)
