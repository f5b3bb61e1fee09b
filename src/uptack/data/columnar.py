"""Parquet and Arrow files as views of DuckDB."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from uptack.data.duck import quoted
from uptack.data.states import state
from uptack.errors import InvalidArgument


def parquet(con: Any, names: list[str], hive: bool) -> Any:
    """Parquet files. With `hive` the names of folders such as ward=3 are a column too, of texts."""
    files = listing(names)
    _same_schemas(con, files)
    table = view(con, f"SELECT * FROM read_parquet({files}, hive_partitioning = {hive}, hive_types_autocast = false)")
    if "://" not in names[0]:
        _watch(con, names)
        state(con).mend = lambda: _mend(con, table, names, hive)
    return table


def _same_schemas(con: Any, files: str) -> None:
    """Whether all files have columns of the same names and types: else the first one's would decide for all."""
    wanted = "file_name, name, type, coalesce(converted_type, logical_type::VARCHAR), scale, precision, num_children"
    columns: dict[str, list[tuple[Any, ...]]] = {}
    for file, *column in con.con.execute(f"SELECT {wanted} FROM parquet_schema({files})").fetchall():
        columns.setdefault(file, []).append(tuple(map(str, column)))
    first = next(iter(columns), "")
    for file, found in columns.items():
        if sorted(found[1:]) != sorted(columns[first][1:]):  # the first element is the root, whose name is the writer's
            raise _differing(file, first)
        names = _outer(found[1:])
        if len(set(names)) < len(names):
            raise InvalidArgument("data", "a file whose columns have different names", "two of the same name")


def _outer(found: Sequence[tuple[Any, ...]]) -> list[str]:
    """The names of columns, without those inside of columns, which follow them."""
    names, inside = [], 0
    for name, *_, parts in found:
        if not inside:
            names.append(name)
        inside = max(inside - 1, 0) + (int(parts) if parts.isdecimal() else 0)
    return names


def _differing(file: str, first: str) -> InvalidArgument:
    fix = f"{Path(file).name!r} has others than {Path(first).name!r}."
    return InvalidArgument("data", "files with the same columns and types", "different ones", fix)


def _mend(con: Any, table: Any, names: list[str], hive: bool) -> None:
    """Read the same files through Arrow, which checks no text, and take what is not UTF-8 for missing, row by row.

    DuckDB itself fails on a file with one such cell. It is faster, so it is tried first. Columns go by their places:
    Arrow and DuckDB don't agree on what those are called whose names are empty, or equal but for their case.
    """
    import pyarrow as pa
    import pyarrow.dataset as pads

    plain = pads.dataset(names, format="parquet").schema
    folders = [(name, pa.string()) for name in table.columns[len(plain) :]] if hive else []
    texts = [_is_text(f.type) for f in plain] + [False] * len(folders)
    fields = [(f.name, pa.binary() if _is_text(f.type) else f.type) for f in plain]
    parts = pads.partitioning(pa.schema(folders), flavor="hive") if folders else None
    read = pads.dataset(names, format="parquet", schema=pa.schema([*fields, *folders]), partitioning=parts)
    raw = _new_name()
    con.con.register(raw, read)
    types = dict(con.con.execute(f"SELECT column_name, column_type FROM (DESCRIBE {table.get_name()})").fetchall())
    cells = [
        f"{f'TRY(decode(c{i}))' if text else f'CAST(c{i} AS {types[name]})'} AS {quoted(name)}"
        for i, (name, text) in enumerate(zip(table.columns, texts, strict=True))
    ]
    read_as = f"{raw} AS read({', '.join(f'c{i}' for i in range(len(cells)))})"
    con.con.execute(f"CREATE OR REPLACE TEMPORARY VIEW {table.get_name()} AS SELECT {', '.join(cells)} FROM {read_as}")


def _is_text(dtype: Any) -> bool:
    import pyarrow as pa

    inner = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner))


def arrow(con: Any, names: list[str]) -> Any:
    """Arrow files. Texts in such files are not checked by anybody: what is not UTF-8 is missing."""
    import pyarrow.dataset as pads

    raw, read = _new_name(), pads.dataset(names, format="ipc")
    for name in names:
        if pads.dataset(name, format="ipc").schema != read.schema:
            raise _differing(name, names[0])
    con.con.register(raw, read)
    _watch(con, names)
    cells = [
        f"TRY(decode(encode({quoted(f.name)}))) AS {quoted(f.name)}" if _is_text(f.type) else quoted(f.name)
        for f in read.schema
    ]
    return view(con, f"SELECT {', '.join(cells)} FROM {raw}")


def _watch(con: Any, names: list[str]) -> None:
    """Note down what files they are, so that a release that reads them can see whether they are still the same."""

    def seen() -> list[tuple[int, int, int] | None]:
        return [_identity(name) for name in names]

    before = seen()
    state(con).unchanged = lambda: seen() == before


def _identity(name: str) -> tuple[int, int, int] | None:
    try:
        found = Path(name).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def view(con: Any, query: str) -> Any:
    """A query under a name of its own."""
    name = _new_name()
    con.con.execute(f"CREATE TEMPORARY VIEW {name} AS {query}")
    return con.table(name)


def _new_name() -> str:
    return f"uptack_{uuid4().hex}"


def listing(names: Sequence[str]) -> str:
    """Files as a list in a query. DuckDB takes each for a pattern, so that its signs are escaped."""
    plain = (name if "://" in name else glob.escape(name) for name in names)
    return "[" + ", ".join("'" + name.replace("'", "''") + "'" for name in plain) + "]"
