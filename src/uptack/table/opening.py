"""One function makes a table of whatever holds the rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument, UptackError
from uptack.table.csv.rules import Types
from uptack.table.engine import connection, expressions, files
from uptack.table.engine.table import EngineTable
from uptack.table.memory.table import MemoryTable
from uptack.table.names import id_names
from uptack.table.packages import ibis
from uptack.table.protocol import Table
from uptack.table.snapshots import state
from uptack.table.values.entrance import data_fields, package


def open_table(
    data: Any,
    *,
    person: str | Sequence[str] | None = None,
    table: str | None = None,
    types: Types = None,
    memory: str | None = None,
    threads: int | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    hive: bool = False,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    na: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
    skip_rows: int | None = None,
    comment: str | None = None,
    unnamed: str | None = None,
) -> Table:
    """A table of rows, wherever they are kept.

    - arrays: a NumPy array of one or two dimensions, a structured array, a dictionary of arrays or lists;
    - data frames of pandas, polars, Arrow or Spark;
    - files: .csv, .parquet, .arrow or .feather, and .duckdb with `table` or as "file.duckdb::table"; a folder, or a
      pattern such as "visits-*.parquet", for several files with the same columns. A name that exists is that file, even
      if it looks like a pattern;
    - an ibis table of any engine, or a database's URL with `table`, such as "postgres://host/db::patients".

    `person` names the column that says whose each row is, or several that do so together. People are then the unit of
    the table. Columns of ids are hidden, and rows without an id are left out.

    `memory` ("2GB") and `threads` limit what DuckDB uses for a file. With `hive`, folders such as "ward=3" above
    Parquet files are a column of texts.

    A CSV file has no types, so `types` declares them, as in {"age": "integer"}: "integer", "number", "boolean", "text",
    "date", "datetime", "datetime-utc" or "duration" (cells such as 01:30:00). After a colon a type may say how its
    cells are written: "boolean:ja/nein", "number:€", "number:1.234,5", "date:%d.%m.%Y", "duration:%H:%M"
    (`uptack.table.csv.cells`). Columns that are left out are texts. A cell that is not of its declared type is a
    missing value. "guess", for all columns or for one, takes the narrowest type that fits every row. That looks at the
    rows, and the types become public, so it is the curator's decision.

    How a CSV file is written:

    - `delimiter`: the character between cells, if the header or a line such as "sep=;" does not show it.
    - `header`: whether there is one. Without one, `types` lists all columns.
    - `skip_rows`: lines above the header that are skipped. `comment`: a mark such as "#". Lines above the header that
      begin with it are skipped, and a row that begins with it is a row of missing values.
    - `unnamed`: "first" or "last" if rows have one cell more than the header there, as in files that R writes; "none"
      if the header ends with a delimiter and rows do not.
    - `encoding`, such as "latin-1" or "utf-16-le"; UTF-8 by default, or as a byte order mark says.
    - `decimal`: the decimal sign, "." or ",". `thousands`: the separator of groups of three digits.
    - `na`: words for missing values such as ["NA", "-"], or a dictionary of such by column, {"age": "-9"}. Empty cells
      are always missing.

    The schema of a file, `FILE.uptack.toml` beside it, holds unless an option overrides it (`uptack.table.schema`).

    For arrays and data frames `types` declares the kinds of columns whose type the rows may have decided: in pandas one
    missing integer turns all of them into floats, and dates may be objects. A row that is not of the declared kind is a
    missing value.

    Files and tables are read when they are needed. A CSV file is read once, into a private folder that is removed with
    the table.

    >>> people = open_table({"age": np.array([31, 44, 44]), "name": ["Ada", "Bo", None]})
    >>> people.size, dict(people.kinds)
    (3, {'age': 'integer', 'name': 'any'})
    >>> counted = people.counts([people.column("age")])
    >>> counted.keys, counted.units
    ([(31,), (44,)], array([1, 2]))
    >>> people.column("agee")
    Traceback (most recent call last):
    uptack.errors.UnknownName: no column named 'agee'. Did you mean 'age' or 'name'?
    """
    options = files.FileOptions(
        delimiter, header, encoding, decimal, thousands, na, skip_rows, comment, unnamed, table, types, memory, threads,
        hive,
    )  # fmt: skip
    return open_with(data, () if person is None else id_names(person), options)


def open_with(data: Any, ids: Sequence[str], options: files.FileOptions) -> Table:
    """The table of these data, with people as the unit if there are columns of ids."""
    opened = _open(data, options)
    return opened.by_person(ids) if ids else opened


def _open(data: Any, options: files.FileOptions) -> Table:
    if isinstance(data, str | os.PathLike):
        opened = files.open_file(data, options)
        connection.check_engine(opened)
        return EngineTable.of(opened, state(connection.backend(opened)).durations)
    home = package(data)
    framed = home in FRAMES and hasattr(type(data), "columns")
    in_memory, types = isinstance(data, Mapping | np.ndarray) or framed, options.types
    for name, value in options.given().items():
        if not (name == "types" and in_memory and isinstance(value, Mapping)):
            raise InvalidArgument(name, "left out for data that are not a file", checks.describe(value))
    if in_memory:
        return MemoryTable.of(data_fields(data, types if isinstance(types, Mapping) else None))
    if home == "ibis" and hasattr(data, "schema"):
        connection.check_engine(data)
        return EngineTable.of(expressions.with_failures_missing(data))
    if home == "pyspark" and hasattr(data, "sparkSession"):
        try:
            con = ibis.pyspark.connect(data.sparkSession)
        except ImportError as missing:
            raise UptackError('frames of Spark need ibis: pip install "uptack[spark]"') from missing
        view = connection.new_name()  # ibis needs a name in the frame's session
        data.createOrReplaceTempView(view)
        return EngineTable.of(con.table(view))
    if isinstance(data, MemoryTable | EngineTable):
        return data
    must = "an array, a dictionary of arrays, a frame, an ibis table or the path of a file"
    raise InvalidArgument("data", must, checks.describe(data))


FRAMES = ("pandas", "polars", "pyarrow")
"""Packages whose frames are read into memory."""
