"""Arrays and frames of other libraries as tables in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uptack.columns import field
from uptack.columns.containers import frame, package
from uptack.columns.declared import all_declared
from uptack.data.arrays import MemorySource
from uptack.errors import InvalidArgument

__all__ = ["READERS", "from_arrays", "from_frame", "package"]


def from_arrays(x: Any, types: Mapping[str, Any] | None = None) -> MemorySource:
    """An array (a column "x", or columns "x0", "x1", ...), a structured array, or a dictionary of arrays."""
    if isinstance(x, Mapping):
        named = {str(name): values for name, values in x.items()}
    elif x.dtype.names:
        named = {name: x[name] for name in x.dtype.names}
    elif x.ndim == 2:
        named = {f"x{place}": x[:, place] for place in range(x.shape[1])}
    else:
        named = {"x": x}
    fields = {name: field(f"data[{name!r}]", values) for name, values in named.items()}
    return MemorySource(all_declared(fields, types))


def from_frame(data: Any, types: Mapping[str, Any] | None = None) -> MemorySource:
    """A frame of pandas, polars (eager or lazy) or Arrow."""
    columns = frame(data) or []
    if len({name for name, _ in columns}) < len(columns):
        raise InvalidArgument("data", "a frame whose columns have different names", "some that are equal")
    return MemorySource(all_declared({name: field(name, values) for name, values in columns}, types))


READERS = dict.fromkeys(("pandas", "polars", "pyarrow"), from_frame)
"""Which function reads the frames of which package."""
