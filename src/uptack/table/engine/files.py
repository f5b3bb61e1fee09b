"""Files as tables of DuckDB: recognised by their extension, read in place, within a limit on memory."""

from __future__ import annotations

import contextlib
import difflib
import glob
import itertools
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial, reduce
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from uptack import checks
from uptack.errors import InvalidArgument, UnknownName, UnknownOption, UptackError
from uptack.interrupts import without_engine_errors
from uptack.labels import label, shell_word
from uptack.table import schema as schemas
from uptack.table.csv import cells, recoding, rules
from uptack.table.csv.time_cells import DURATION
from uptack.table.engine import connection
from uptack.table.names import column_name
from uptack.table.packages import ibis, pa, pads, pc
from uptack.table.schema import Schema
from uptack.table.snapshots import state

T = TypeVar("T")
FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".dat"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".duckdb", ".ddb"), "duckdb"),
}
FILES = ("csv", "parquet", "arrow")
NEAR, FREQUENT = Fraction(1, 2), Fraction(1, 100)
"""A hint is given if half of the filled cells are numbers, and one word is 1% of them."""
NAMED = {"parquet": "a Parquet file", "arrow": "an Arrow file (Feather version 2)"}
STREAM = "A stream of Arrow is not a file of Arrow. Write it with pyarrow.feather.write_feather, or open its table."
DATABASE = "Check that it is a database of DuckDB, of a version that is not newer than the installed one."


@dataclass(frozen=True)
class FileOptions(rules.Dialect):
    """How a file is to be read; None, or False for `hive`, if not given. See `uptack.table.opening.open_table`."""

    table: str | None = None
    types: rules.Types = None
    memory: str | None = None
    threads: int | None = None
    hive: bool = False

    def given(self) -> dict[str, Any]:
        return {
            field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not field.default
        }


DIALECT = tuple(field.name for field in fields(rules.Dialect))

ALLOWED = {
    "table": ("duckdb", "url"),
    "types": ("csv",),
    "memory": (*FILES, "duckdb"),
    "threads": (*FILES, "duckdb"),
    "hive": ("parquet",),
    **dict.fromkeys(DIALECT, ("csv",)),
}
"""Which options are for which files."""


def open_file(path: str | os.PathLike[str], options: FileOptions) -> Any:
    """The ibis table of a file, or of a table in a database. See `uptack.table.opening.open_table`."""
    schema = schema_of(path)
    options = options if schema is None else schema.filled(options)
    name, wanted = os.fspath(path), options.table
    before, mark, inside = name.rpartition("::")  # an address such as [::1] has no table, nor has a name that exists
    if wanted is None and mark and "/" not in inside and not Path(name).exists():
        name, wanted = before, inside
    form, settings = _form(name), dict[str, Any]()
    if options.memory is not None:
        if not re.fullmatch(r"\d+(\.\d+)? ?[KMGT]i?B", str(options.memory)):
            raise InvalidArgument("memory", "a size such as '2GB'", checks.describe(options.memory))
        settings["memory_limit"] = options.memory
    if options.threads is not None:
        settings["threads"] = checks.integer("threads", options.threads, least=1)
    if not form:
        raise InvalidArgument("data", f"a file that ends in {', '.join(FORMATS)}, or a database's URL", repr(name))
    for option, value in ({**options.given(), "table": wanted} if wanted is not None else options.given()).items():
        if form not in ALLOWED[option]:
            raise InvalidArgument(option, f"left out for {form}", checks.describe(value))
    if form == "url":
        shown = f"{name.partition('://')[0]}://…"  # the rest may hold a password
        fix = "Check that it is running, and the host, port, user, password and name of the database."
        unreachable = InvalidArgument("data", "the URL of a database that can be reached", shown, fix)
        return without_engine_errors(lambda: _in_database(_connect(name), wanted), unreachable)
    if form == "duckdb":
        if "://" not in name and not Path(name).exists():
            raise _missing(name)
        must = "a database of DuckDB that can be opened"
        con = partial(connection.Connection, name, read_only=True, **settings)
        unreadable = InvalidArgument("data", must, repr(name), DATABASE)
        return without_engine_errors(lambda: _in_database(con(), wanted), unreadable)
    found = [name] if "://" in name else local_files(name, form)
    if form == "csv":
        return _csv(found, settings, options, schema)
    opener = arrow if form == "arrow" else lambda con, names: parquet(con, names, options.hive)
    must, fix = f"{NAMED[form]} that can be read", STREAM if form == "arrow" else ""
    unreadable = InvalidArgument("data", must, repr(name), fix)
    table = without_engine_errors(lambda: opener(connection.Connection(**settings), found), unreadable)
    if schema is not None:
        schema.check(table.columns)
    return table


def _connect(url: str) -> Any:
    """The connection of ibis to a database."""
    scheme = url.partition("://")[0]
    engine = {"postgresql": "postgres"}.get(scheme, scheme)
    if engine not in {point.name for point in entry_points(group="ibis.backends")}:
        must = "the URL of an engine that ibis supports"
        raise InvalidArgument("data", must, repr(f"{scheme}://…"), "Such as postgres://user@host/base::table.")
    with contextlib.suppress(ImportError):
        return ibis.connect(url)
    raise UptackError(f'data at {scheme}:// need a package of ibis: pip install "ibis-framework[{engine}]"')


def guess_types(path: str | os.PathLike[str], **dialect: Any) -> dict[str, str]:
    """The types that the columns of a CSV file seem to have, for its curator: the narrowest that fit every row.

    It looks at all rows, so the answer is not private. It becomes public when it is used as `types`. Read it, correct
    what is wrong, and save it. `dialect` are the options of `uptack.table.opening.open_table` that say how the file is
    written, such as `decimal`.

    >>> import pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = place.write_text("age,ward\\n31,A\\n44,B\\n")
    >>> guess_types(place)
    {'age': 'integer', 'ward': 'text'}
    """
    for name in dialect:
        if name not in DIALECT:
            raise UnknownOption(name, "guess_types", f"Its options are {', '.join(DIALECT)}.")
    return rules.infer_kinds(*text_layout(path, FileOptions(types=rules.GUESS, **dialect)))


def text_layout(path: str | os.PathLike[str], options: FileOptions) -> tuple[list[str], rules.Layout]:
    """The files of a CSV table, and their public layout."""
    name = os.fspath(path)
    if "://" in name or _form(name) != "csv":
        raise InvalidArgument("data", "a CSV file on this machine", repr(name))
    paths = local_files(name, "csv")
    return paths, rules.read_layout(paths, options, options.types)


def near_misses(path: str | os.PathLike[str], options: FileOptions, columns: Sequence[str]) -> list[str]:
    """Hints for the curator: columns of texts that would be numbers, but for a word that may mean a missing value; and
    columns of dates of which either the day or the month may come first.

    They are from the first rows of a file, and **not private**.
    """

    def look() -> list[str]:
        paths, layout = text_layout(path, options)
        hints, form = [], layout.numbers
        first = dict(zip(layout.names, next(rules.cell_batches(paths[:1], layout)), strict=True))
        for name in (name for name in layout.names if name in columns):
            texts = cells.cell_texts(first[name], layout.na.get(name, ()))
            found, counts = pc.ascii_trim_whitespace(texts).value_counts().flatten()  # each text once
            some, written = cells.filled_cells(found), (form, *cells.WRITTEN.values())
            number = reduce(pc.or_, (cells.fits(found, "number", one) for one in written))
            word = pc.and_(some, pc.invert(number))
            filled, words = (pc.sum(counts.filter(mask)).as_py() or 0 for mask in (some, word))
            often = pc.max(counts.filter(word))
            frequent = pc.max(found.filter(pc.and_(word, pc.equal(counts, often)))).as_py()
            if words and filled - words >= NEAR * filled:
                hints.append(hint(name, frequent, often.as_py(), filled))
            if filled:
                both = rules.possible_kinds(found, list(itertools.chain(*rules.AMBIGUOUS)))
                hints.append(ambiguous(name, [k for k in both if cells.cast_if_fitting(found, k, form) is not None]))
        return [one for one in hints if one]

    return without_engine_errors(look) if columns else []


def ambiguous(name: str, kinds: Collection[str]) -> str:
    """The advice to declare which of two formats dates or numbers have, if the rows fit both; else ""."""
    pair = next((pair for pair in rules.AMBIGUOUS if set(pair) <= set(kinds)), None)
    if pair is None:
        return ""
    first, second = (f"--type {shell_word(f'{name}={one}')}" for one in pair)
    if pair in rules.DATES:
        ways, what = f"{first} if the day comes first, {second} if the month does", "dates"
    else:
        ways, what = f"{first} if a comma separates thousands, {second} if it is the decimal sign", "numbers"
    return f"{label(name)} may hold {what}. Declare how they are written: {ways}."


def hint(name: str, word: str, often: int, filled: int) -> str:
    """The advice to declare a word a missing value, if it is frequent among the filled cells; else ""."""
    if often < 2 or often < FREQUENT * filled:
        return ""
    option = f"na={{{name!r}: [{word!r}]}} (--na {shell_word(f'{name}={word}')})"
    return (
        f"{100 * often / filled:.2g}% of the cells of {label(name)} are {word!r}, among numbers. "
        f"If they are missing values, add {option}."
    )


def has_schema(data: object) -> bool:
    """Whether a schema may lie beside it: a CSV, Parquet or Arrow file on this machine, or a folder of such files."""
    if not isinstance(data, str | os.PathLike) or "://" in (name := os.fspath(data)):
        return False
    return _form(name) in FILES and Path(name).exists()


def schema_of(data: Any) -> Schema | None:
    """The schema of a file, or of all files of a folder or pattern; None if there is none."""
    if not isinstance(data, str | os.PathLike) or "://" in (name := os.fspath(data)) or _form(name) not in FILES:
        return None
    inner = schemas.shared_schema(_matches(name, _form(name)))
    outer = schemas.schema_beside(name) if Path(name).is_dir() else None
    if inner is not None and outer is not None:
        fix = "There is one beside the folder, and others inside it. Remove one or the other."
        raise InvalidArgument("schema", "one for all files of a folder", "several", fix)
    return inner or outer


def is_text(data: object) -> bool:
    """Whether data are the name of a CSV file."""
    return isinstance(data, str | os.PathLike) and _form(os.fspath(data)) == "csv"


def _form(name: str) -> str:
    """The format of a file by its last extension, without that of a compression; "url" for what is elsewhere."""
    return FORMATS.get(Path(recoding.without_compression(name)).suffix.lower(), "url" if "://" in name else "")


def local_files(name: str, form: str) -> list[str]:
    """The files of a name: see `_matches`."""
    if not (paths := _matches(name, form)):
        raise _missing(name)
    return paths


def _missing(name: str) -> InvalidArgument:
    """An error about a file that does not exist, with the file of the same folder that may be meant."""
    place = Path(name)
    beside = [one.name for one in place.parent.iterdir() if _form(one.name)] if place.parent.is_dir() else []
    near = difflib.get_close_matches(place.name, beside, n=1)
    near = near or [one for one in beside if Path(one).stem == place.stem][:1]
    fix = f"Did you mean {near[0]!r}?" if near else ""
    return UnknownName("file", repr(name), fix)


def _matches(name: str, form: str) -> list[str]:
    """A name that exists is that file, whatever its characters. Else *, ? and [ make a pattern. Of a folder, the files
    of this format in it.
    """
    place = Path(name)
    if place.is_dir():
        listed = [str(inside) for inside in place.rglob("*") if _form(inside.name) == form]
    elif place.exists():
        return [name]
    else:
        listed = glob.glob(name, recursive=True) if glob.has_magic(name) else []
    return sorted(inside for inside in listed if Path(inside).is_file())


def _in_database(con: Any, table: str | None) -> Any:
    """The table of that name, or the only one."""
    if con.name == "duckdb":
        here = "table_catalog = current_database() AND table_schema = current_schema()"
        query = f"SELECT table_name FROM information_schema.tables WHERE {here} ORDER BY 1"
        names = [name for (name,) in con.con.sql(query).fetchall()]
    else:
        names = list(con.list_tables())
    if table is None and len(names) == 1:
        return con.table(names[0])
    if table is None:
        fix = f"The tables are {', '.join(map(repr, names))}." if names else ""
        raise InvalidArgument("table", "the name of a table in the database", "nothing", f"Pass table=. {fix}".rstrip())
    return con.table(column_name(table, dict.fromkeys(names, "other"), what="table"))


def _csv(names: list[str], settings: dict[str, Any], options: FileOptions, schema: Schema | None) -> Any:
    """A copy of the rows with their declared kinds: see `uptack.table.csv.rules`."""
    if "://" in names[0]:
        raise InvalidArgument("data", "a CSV file on this machine", repr(names[0]), "Parquet files may be elsewhere.")
    types = options.types
    layout = rules.read_layout(names, options, types)
    if schema is not None:
        schema.check(layout.names)
        types = {} if types is None else types  # columns of which it says nothing are texts
    kinds = rules.declared_kinds(types, layout)
    con = connection.Connection(**settings)
    copy, kinds = rules.copy_rows(names, layout, kinds, connection.folder(con))
    state(con).csv_kinds = dict(kinds)
    state(con).durations = frozenset(name for name, kind in kinds.items() if cells.base(kind) == DURATION)
    return create_view(con, f"SELECT * FROM read_parquet({file_list([str(copy)])})")


def parquet(con: Any, names: list[str], hive: bool) -> Any:
    """Parquet files. With `hive`, folders such as ward=3 are a column of texts."""
    files = file_list(names)
    _same_schemas(con, files)
    options = f"hive_partitioning = {hive}, hive_types_autocast = false"
    table = create_view(con, f"SELECT * FROM read_parquet({files}, {options})")
    if "://" not in names[0]:
        _watch(con, names)
        state(con).mend = lambda: _mend(con, table, names, hive)
    return table


def _same_schemas(con: Any, files: str) -> None:
    """Refuses files whose columns differ in names or types: the first file would decide for all."""
    wanted = "file_name, name, type, coalesce(converted_type, logical_type::VARCHAR), scale, precision, num_children"
    columns: dict[str, list[tuple[Any, ...]]] = {}
    for file, *column in con.con.execute(f"SELECT {wanted} FROM parquet_schema({files})").fetchall():
        columns.setdefault(file, []).append(tuple(map(str, column)))
    first = next(iter(columns), "")
    for file, (_root, *elements) in columns.items():
        if sorted(elements) != sorted(columns[first][1:]):
            raise _differing(file, first)
        names, inside = list[str](), 0  # columns inside of a column follow it
        for name, *_, parts in elements:
            if not inside:
                names.append(name)
            inside = max(inside - 1, 0) + (int(parts) if parts.isdecimal() else 0)
        if len(set(names)) < len(names):
            raise InvalidArgument("data", "a file whose columns have different names", "two columns of the same name")


def _differing(file: str, first: str) -> InvalidArgument:
    fix = f"{Path(file).name!r} differs from {Path(first).name!r}."
    return InvalidArgument("data", "files with the same columns and types", "different ones", fix)


def _mend(con: Any, table: Any, names: list[str], hive: bool) -> None:
    """Read the same files through Arrow, which does not check texts, and make what is not UTF-8 missing, row by row.

    DuckDB fails on a file with one such cell, but is faster and tried first. Columns go by position: Arrow and DuckDB
    disagree on names that are empty, or equal except for their case.
    """
    plain = pads.dataset(names, format="parquet").schema
    folders = [(name, pa.string()) for name in table.columns[len(plain) :]] if hive else []
    texts = [_is_text(f.type) for f in plain] + [False] * len(folders)
    fields = [(f.name, pa.binary() if _is_text(f.type) else f.type) for f in plain]
    parts = pads.partitioning(pa.schema(folders), flavor="hive") if folders else None
    coded = [f.name for f in plain if pa.types.is_dictionary(f.type)]  # else Arrow checks texts whose codes it narrows
    form = pads.ParquetFileFormat(read_options=pads.ParquetReadOptions(dictionary_columns=coded))
    read = pads.dataset(names, format=form, schema=pa.schema([*fields, *folders]), partitioning=parts)
    raw = connection.new_name()
    con.con.register(raw, read)
    types = dict(con.con.execute(f"SELECT column_name, column_type FROM (DESCRIBE {table.get_name()})").fetchall())
    cells = [
        f"{f'TRY(decode(c{i}))' if text else f'CAST(c{i} AS {types[name]})'} AS {connection.quote_name(name)}"
        for i, (name, text) in enumerate(zip(table.columns, texts, strict=True))
    ]
    read_as = f"{raw} AS read({', '.join(f'c{i}' for i in range(len(cells)))})"
    con.con.execute(f"CREATE OR REPLACE TEMPORARY VIEW {table.get_name()} AS SELECT {', '.join(cells)} FROM {read_as}")


def _is_text(dtype: Any) -> bool:
    inner = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner))


def arrow(con: Any, names: list[str]) -> Any:
    """Arrow files. Nothing has checked their texts, so what is not UTF-8 is missing."""
    raw, read = connection.new_name(), pads.dataset(names, format="ipc")
    for name in names:
        if pads.dataset(name, format="ipc").schema != read.schema:
            raise _differing(name, names[0])
    con.con.register(raw, read)
    _watch(con, names)
    cells = [
        f"TRY(decode(encode({connection.quote_name(f.name)}))) AS {connection.quote_name(f.name)}"
        if _is_text(f.type)
        else connection.quote_name(f.name)
        for f in read.schema
    ]
    return create_view(con, f"SELECT {', '.join(cells)} FROM {raw}")


def _watch(con: Any, names: list[str]) -> None:
    """Remember which files they are, so that a release can see whether they are still the same."""

    def identity(name: str) -> tuple[int, int, int] | None:
        try:
            found = Path(name).stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    before = list(map(identity, names))
    state(con).unchanged = lambda: list(map(identity, names)) == before


def create_view(con: Any, query: str) -> Any:
    """A query under a name of its own."""
    name = connection.new_name()
    con.con.execute(f"CREATE TEMPORARY VIEW {name} AS {query}")
    return con.table(name)


def file_list(names: Sequence[str]) -> str:
    """Files as a list in a query. DuckDB takes each for a pattern, so special characters are escaped."""
    plain = (name if "://" in name else glob.escape(name) for name in names)
    return "[" + ", ".join("'" + name.replace("'", "''") + "'" for name in plain) + "]"
