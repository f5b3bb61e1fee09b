"""Files as tables that DuckDB reads: by their extension, in place, with as much memory as it is given."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from uptack import checks
from uptack.data import engines
from uptack.data.protocol import known
from uptack.errors import InvalidArgument

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
}
DIALECT = {
    "Delimiter": "delim",
    "Quote": "quote",
    "Escape": "escape",
    "SkipRows": "skip",
    "HasHeader": "header",
    "DateFormat": "dateformat",
    "TimestampFormat": "timestampformat",
}
"""What DuckDB finds out about a file, and the options that it takes."""
TYPES = {"integer": "int64", "number": "float64", "boolean": "boolean", "text": "string"}


def opened(
    path: str | os.PathLike[str],
    table: str | None = None,
    types: Mapping[str, str] | None = None,
    memory: str | None = None,
    threads: int | None = None,
) -> Any:
    """The ibis table of a file, or of a table in a database. See `uptack.data.source`."""
    name, wanted = _name_and_table(os.fspath(path), table)
    settings = _settings(memory, threads)
    form = FORMATS.get(_extension(name), "url" if "://" in name else "")
    allowed = {"table": ("duckdb", "url"), "types": ("csv",), "memory": tuple(FORMATS.values())}
    if not form:
        raise InvalidArgument("data", f"a file that ends in {', '.join(FORMATS)}, or a database's URL", repr(name))
    for option, value in (("table", wanted), ("types", types), ("memory", settings or None)):
        if value is not None and form not in allowed[option]:
            raise InvalidArgument(option, f"left out for {form}", checks.describe(value))
    if form == "url":
        return _in_database(engines.ibis().connect(name), wanted)
    if "://" not in name and not any(sign in name for sign in "*?[") and not Path(name).exists():
        raise InvalidArgument("data", "a file that exists", repr(name))
    if form == "duckdb":
        return _in_database(engines.duckdb(name, read_only=True, **settings), wanted)
    return {"csv": _csv, "parquet": _parquet, "arrow": _arrow}[form](engines.duckdb(**settings), name, types)


def _name_and_table(path: str, table: str | None) -> tuple[str, str | None]:
    """ "file::table" in its two parts; an address such as [::1] is none."""
    name, mark, inside = path.rpartition("::")
    return (path, table) if table is not None or not mark or "/" in inside else (name, inside)


def _settings(memory: str | None, threads: int | None) -> dict[str, Any]:
    """What DuckDB is told to keep to."""
    if memory is not None and not re.fullmatch(r"\d+(\.\d+)? ?[KMGT]i?B", str(memory)):
        raise InvalidArgument("memory", "a size such as '2GB'", checks.describe(memory))
    limits = {} if memory is None else {"memory_limit": memory}
    return limits if threads is None else {**limits, "threads": checks.integer("threads", threads, least=1)}


def _extension(name: str) -> str:
    """The last extension; a compression's does not count."""
    return Path(name.removesuffix(".gz").removesuffix(".zst")).suffix.lower()


def _in_database(con: Any, table: str | None) -> Any:
    """A table by its name, or the only one that there is."""
    names = _tables(con)
    if table is None and len(names) == 1:
        return con.table(names[0])
    if table is None:
        fix = f"There are {', '.join(map(repr, names))}." if names else ""
        raise InvalidArgument("table", "the name of a table in the database", "None", fix)
    return con.table(known(table, dict.fromkeys(names, "other"), what="table"))


def _tables(con: Any) -> list[str]:
    if con.name != "duckdb":
        return list(con.list_tables())
    return [name for (name,) in con.con.sql("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()]


def _parquet(con: Any, name: str, types: Mapping[str, str] | None) -> Any:
    return con.read_parquet(f"{name}/**/*.parquet" if Path(name).is_dir() else name)


def _arrow(con: Any, name: str, types: Mapping[str, str] | None) -> Any:
    import pyarrow.dataset as pads

    view = _new_name()
    con.con.register(view, pads.dataset(name, format="ipc"))
    return con.table(view)


def _csv(con: Any, name: str, types: Mapping[str, str] | None) -> Any:
    """The file as DuckDB makes it out, which looks at all of it once, to find types that fit every row.

    Columns with a stated type are read as text instead, and what is not of that type is missing.
    """
    wanted = (*DIALECT, "Columns")
    (found,) = con.con.sql(f"SELECT {', '.join(wanted)} FROM sniff_csv({_quoted(name)}, sample_size=-1)").fetchall()
    columns = {column["name"]: column["type"] for column in found[-1]}
    stated = _stated(types, columns)
    dialect = dict(zip(DIALECT.values(), found[:-1], strict=True))
    options = [f"{key} = {_quoted('' if v == '(empty)' else v)}" for key, v in dialect.items() if v is not None]
    read = ", ".join(f"{_quoted(c)}: {_quoted('VARCHAR' if c in stated else t)}" for c, t in columns.items())
    view = _new_name()
    given = ", ".join([_quoted(name), "auto_detect = false", f"columns = {{{read}}}", *options])
    con.raw_sql(f"CREATE TEMPORARY VIEW {view} AS SELECT * FROM read_csv({given})")
    table = con.table(view)
    read_as = {column: TYPES[stated[column]] for column in stated if stated[column] != "text"}
    # strip() keeps the optimizer from moving the cast into the reader, where what is not of the type is an error
    return table.mutate(**{column: table[column].strip().try_cast(dtype) for column, dtype in read_as.items()})


def _new_name() -> str:
    return f"uptack_{uuid4().hex}"


def _quoted(value: object) -> str:
    """A value as text in a query."""
    return "'" + str(value).replace("'", "''") + "'"


def _stated(types: Mapping[str, str] | None, columns: Mapping[str, str]) -> dict[str, str]:
    """Types that the caller knows."""
    for column, stated in (types or {}).items():
        known(column, dict.fromkeys(columns, "other"))
        if stated not in TYPES:
            raise InvalidArgument(
                f"types[{column!r}]", f"one of {', '.join(map(repr, TYPES))}", checks.describe(stated)
            )
    return dict(types or {})
