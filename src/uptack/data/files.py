"""Files as tables that DuckDB reads: by their extension, in place, with as much memory as it is given."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from uptack import checks
from uptack.data import columnar, copies, engines, streams, textfiles
from uptack.data import schema as schemas
from uptack.data.protocol import known
from uptack.data.schema import Schema
from uptack.data.states import state
from uptack.data.time_cells import DURATION
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
FILES = ("csv", "parquet", "arrow")


@dataclass(frozen=True)
class Options:
    """How a file is to be read; the defaults are what nobody said. See `uptack.data.source`."""

    table: str | None = None
    types: textfiles.Types = None
    memory: str | None = None
    threads: int | None = None
    delimiter: str | None = None
    header: bool | None = None
    hive: bool = False
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    na: str | Sequence[str] | None = None

    def given(self) -> dict[str, Any]:
        """The options that somebody said."""
        unsaid = {name: False if name == "hive" else None for name in vars(self)}
        return {name: value for name, value in vars(self).items() if value is not unsaid[name]}

    @property
    def dialect(self) -> textfiles.Dialect:
        """How a text file is written."""
        return textfiles.Dialect(*(getattr(self, name) for name in DIALECT))


DIALECT = tuple(field.name for field in fields(textfiles.Dialect))


ALLOWED = {
    "table": ("duckdb", "url"),
    "types": ("csv",),
    "memory": (*FILES, "duckdb"),
    "threads": (*FILES, "duckdb"),
    "hive": ("parquet",),
    **dict.fromkeys(DIALECT, ("csv",)),
}
"""Which options are for which files."""


def opened(path: str | os.PathLike[str], options: Options) -> Any:
    """The ibis table of a file, or of a table in a database. See `uptack.data.source`."""
    told = schema_of(path)
    options = options if told is None else told.filled(options)
    name, wanted = _name_and_table(os.fspath(path), options.table)
    form, settings = _form(name), _settings(options.memory, options.threads)
    if not form:
        raise InvalidArgument("data", f"a file that ends in {', '.join(FORMATS)}, or a database's URL", repr(name))
    for option, value in ({**options.given(), "table": wanted} if wanted is not None else options.given()).items():
        if form not in ALLOWED[option]:
            raise InvalidArgument(option, f"left out for {form}", checks.describe(value))
    if form == "url":
        return _in_database(engines.ibis().connect(name), wanted)
    if form == "duckdb":
        if "://" not in name and not Path(name).exists():
            raise InvalidArgument("data", "a file that exists", repr(name))
        return _in_database(engines.duckdb(name, read_only=True, **settings), wanted)
    found = [name] if "://" in name else local(name, tuple(end for end, kind in FORMATS.items() if kind == form))
    if form == "csv":
        return _csv(found, settings, options, told)
    opener = columnar.arrow if form == "arrow" else lambda con, names: columnar.parquet(con, names, options.hive)
    table = opener(engines.duckdb(**settings), found)
    if told is not None:
        told.check(table.columns)
    return table


def guess_types(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    na: str | Sequence[str] | None = None,
) -> dict[str, str]:
    """What the columns of a CSV file seem to hold, for its curator: the narrowest kind that fits every row.

    It looks at all rows, so the answer is not private. It becomes public when it is used as `types`. Look at it, mend
    what is wrong, and write it down. The options are those of `uptack.data.source`.

    >>> import pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = place.write_text("age,ward\\n31,A\\n44,B\\n")
    >>> guess_types(place)
    {'age': 'integer', 'ward': 'text'}
    """
    how = Options(
        types=textfiles.GUESS, delimiter=delimiter, header=header, encoding=encoding, decimal=decimal,
        thousands=thousands, na=na,
    )  # fmt: skip
    found, made = text_layout(path, how)
    return copies.guess(found, made)


def text_layout(path: str | os.PathLike[str], options: Options) -> tuple[list[str], textfiles.Layout]:
    """The files of a CSV table, and what is public of them."""
    name = os.fspath(path)
    if "://" in name or _form(name) != "csv":
        raise InvalidArgument("data", "a CSV file on this machine", repr(name))
    found = local(name, (".csv", ".tsv"))
    return found, textfiles.layout(found, options.dialect, options.types)


def has_schema(data: object) -> bool:
    """Whether a schema may lie beside: a CSV, Parquet or Arrow file of this machine, or a folder of such."""
    if not isinstance(data, str | os.PathLike) or "://" in (name := os.fspath(data)):
        return False
    return _form(name) in FILES and Path(name).exists()


def schema_of(data: Any) -> Schema | None:
    """The schema beside a file; None where there is none."""
    return schemas.beside(os.fspath(data)) if has_schema(data) else None


def is_text(data: object) -> bool:
    """Whether data are the name of a CSV file."""
    return isinstance(data, str | os.PathLike) and _form(os.fspath(data)) == "csv"


def _form(name: str) -> str:
    return FORMATS.get(_extension(name), "url" if "://" in name else "")


def local(name: str, extensions: Sequence[str] = ()) -> list[str]:
    """The files of a name. A name that exists is that file, whatever signs it has; else *, ? and [ make a pattern."""
    place = Path(name)
    if place.is_dir() and extensions:
        listed = [str(inside) for inside in place.rglob("*") if _extension(inside.name) in extensions]
    elif place.exists():
        return [name]
    else:
        listed = glob.glob(name, recursive=True) if glob.has_magic(name) else []
    found = sorted(inside for inside in listed if Path(inside).is_file())
    if not found:
        raise InvalidArgument("data", "a file that exists", repr(name))
    return found


def _name_and_table(path: str, table: str | None) -> tuple[str, str | None]:
    """ "file::table" in its two parts; an address such as [::1] is none, and neither is a name that exists."""
    name, mark, inside = path.rpartition("::")
    whole = table is not None or not mark or "/" in inside or Path(path).exists()
    return (path, table) if whole else (name, inside)


def _settings(memory: str | None, threads: int | None) -> dict[str, Any]:
    """What DuckDB is told to keep to."""
    if memory is not None and not re.fullmatch(r"\d+(\.\d+)? ?[KMGT]i?B", str(memory)):
        raise InvalidArgument("memory", "a size such as '2GB'", checks.describe(memory))
    limits = {} if memory is None else {"memory_limit": memory}
    return limits if threads is None else {**limits, "threads": checks.integer("threads", threads, least=1)}


def _extension(name: str) -> str:
    """The last extension; a compression's does not count."""
    return Path(streams.bare(name)).suffix.lower()


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
    here = "table_catalog = current_database() AND table_schema = current_schema()"
    query = f"SELECT table_name FROM information_schema.tables WHERE {here} ORDER BY 1"
    return [name for (name,) in con.con.sql(query).fetchall()]


def _csv(names: list[str], settings: dict[str, Any], options: Options, told: Schema | None) -> Any:
    """The rows are copied, with the kinds that were declared: see `uptack.data.textfiles`."""
    if "://" in names[0]:
        raise InvalidArgument("data", "a CSV file on this machine", repr(names[0]), "Parquet files may be elsewhere.")
    types = options.types
    made = textfiles.layout(names, options.dialect, types)
    if told is not None:
        told.check(made.names)
        types = {} if types is None else types  # columns of which it says nothing are texts
    kinds = textfiles.declared(types, made)
    con = engines.duckdb(**settings)
    copy, kinds = copies.copied(names, made, kinds, engines.folder(con))
    state(con).durations = frozenset(name for name, kind in kinds.items() if kind == DURATION)
    return columnar.view(con, f"SELECT * FROM read_parquet({columnar.listing([str(copy)])})")
