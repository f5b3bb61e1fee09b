"""The table that a formula reads: of a session, or made of a frame or of columns by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.table.memory.table import MemoryTable
from uptack.table.protocol import Table
from uptack.table.values import containers, entrance


@dataclass(frozen=True, eq=False)
class Named:
    """A table, the levels that types of its columns list, and its texts that may be categories of any type."""

    table: Table
    levels: Mapping[str, Any] = field(default_factory=dict)
    categorical: frozenset[str] = frozenset()


def of_data(data: Any) -> Named:
    """A table as it is, or that of the columns of a frame or a mapping."""
    if isinstance(data, Named):
        return data
    if hasattr(type(data), "design"):
        return Named(data)
    columns = list(data.items()) if isinstance(data, Mapping) else containers.frame(data)
    if columns is None:
        raise InvalidArgument("X", "a frame, or columns by name, where there is a formula", checks.outline(data))
    fields = {str(name): entrance.field(f"X[{name!r}]", part) for name, part in columns}
    if len({one.size for one in fields.values()}) > 1:
        raise InvalidArgument("X", "columns of equal length", "columns of several lengths")
    enums = {str(name): tuple(part.dtype.categories) for name, part in columns if _is_enum(part)}
    return Named(MemoryTable.of(fields), enums, frozenset(name for name, one in fields.items() if one.categories))


def _is_enum(column: Any) -> bool:
    """Whether a column's type lists its values: an Enum of polars does."""
    return containers.package(column) == "polars" and str(getattr(column, "dtype", "")).startswith("Enum")
