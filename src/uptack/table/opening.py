"""One function makes a table of whatever holds the rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument, UptackError
from uptack.table.csv.rules import Types
from uptack.table.engine import connection, files, partial
from uptack.table.engine.table import EngineTable
from uptack.table.memory.table import MemoryTable
from uptack.table.names import id_names
from uptack.table.protocol import Table
from uptack.table.snapshots import state
from uptack.table.values.containers import frame, package
from uptack.table.values.declared import all_declared
from uptack.table.values.entrance import field
from uptack.table.values.field import Field


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
    na: str | Sequence[str] | None = None,
) -> Table:
    """A table of rows to take statistics of, wherever it is kept.

    - arrays: a NumPy array of one or two dimensions, a structured array, a dictionary of arrays or lists;
    - frames of pandas, polars, Arrow or Spark;
    - files: .csv, .parquet, .arrow or .feather, and .duckdb with `table` or as "file.duckdb::table"; a folder, or a
      pattern such as "visits-*.parquet", for several files with the same columns. A name that exists is that file, also
      if it looks like a pattern;
    - an ibis table of any engine, or a database's URL with `table`, such as "postgres://host/db::patients".

    `person` names the column that says whose each row is, or several that do so together. The unit of the table is then
    a person, columns of ids are hidden, and rows whose id is missing are left out.

    `memory` ("2GB") and `threads` bound what DuckDB takes for a file. With `hive`, folders such as "ward=3" above
    Parquet files are a column too, of texts.

    `types` says what the columns of a CSV file hold, as {"age": "integer"}, with "integer", "number", "boolean" (also
    with words of its own, "boolean:ja/nein"), "text", "date", "datetime", "datetime-utc" or "duration" (cells such as
    01:30:00); columns that it leaves out are texts. The file itself does not say. What is not of the stated type is a
    missing value. "guess", for all columns or for one, takes the narrowest type that fits every row, durations left
    out: that is a look at the rows, which becomes public, so it is for the curator to say.

    `delimiter` is what is between two cells, if the line of names does not show it. `header` says whether there is such
    a line; without one, `types` gives all names. `encoding` is UTF-8, or what a byte order mark says, unless given,
    such as "latin-1" or "utf-16-le". `decimal` is the decimal sign, "." or ",", and `thousands` what is between groups
    of three digits. `na` are words for missing values, such as ["NA", "-"]; an empty cell is missing anyway. A name
    that an earlier column has gets _2, and a third column without a name is column_3.

    What `FILE.uptack.toml` says of a file beside it holds unless an option says otherwise (`uptack.table.schema`).

    For arrays and frames `types` declares the kinds of columns whose container has a type that rows may have chosen: in
    pandas one missing integer makes floats of all, and dates are objects. A row that is not of the declared
    kind is a missing value.

    Files and tables are read when they are asked. A CSV file is read once, into a private folder that goes away.

    >>> people = open_table({"age": np.array([31, 44, 44]), "name": ["Ada", "Bo", None]})
    >>> people.size, dict(people.kinds)
    (3, {'age': 'integer', 'name': 'any'})
    >>> counted = people.counts([people.column("age")])
    >>> counted.keys, counted.units
    ([(31,), (44,)], array([1, 2]))
    >>> people.column("agee")
    Traceback (most recent call last):
    uptack.errors.InvalidArgument: column must be a column that there is, got 'agee'. Did you mean 'age' or 'name'?
    """
    ids = () if person is None else id_names(person)
    options = files.FileOptions(
        table, types, memory, threads, delimiter, header, hive, encoding, decimal, thousands, na
    )  # fmt: skip
    if isinstance(data, str | os.PathLike):
        opened = files.opened(data, options)
        connection.check(opened)
        return _by_person(EngineTable.of(opened, state(connection.backend(opened)).durations), ids)
    home = package(data)
    framed = home in READERS and hasattr(type(data), "columns")
    in_memory = isinstance(data, Mapping | np.ndarray) or framed
    for name, value in options.given().items():
        if not (name == "types" and in_memory and isinstance(value, Mapping)):
            raise InvalidArgument(name, "left out for data that are not a file", checks.describe(value))
    kinds = types if isinstance(types, Mapping) else None
    if isinstance(data, Mapping | np.ndarray):
        return _by_person(MemoryTable.of(from_arrays(data, kinds)), ids)
    if home == "ibis" and hasattr(data, "schema"):
        connection.check(data)
        return _by_person(EngineTable.of(partial.total(data)), ids)
    if home == "pyspark" and hasattr(data, "sparkSession"):
        return _by_person(EngineTable.of(registered(data)), ids)
    if framed:
        return _by_person(MemoryTable.of(READERS[home](data, kinds)), ids)
    if isinstance(data, MemoryTable | EngineTable):
        return _by_person(data, ids)
    must = "an array, a dictionary of arrays, a frame, an ibis table or the path of a file"
    raise InvalidArgument("data", must, checks.describe(data))


def _by_person(table: Table, ids: Sequence[str]) -> Table:
    return table.by_person(ids) if ids else table


def from_arrays(x: Any, types: Mapping[str, Any] | None = None) -> dict[str, Field]:
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
    return all_declared(fields, types)


def from_frame(data: Any, types: Mapping[str, Any] | None = None) -> dict[str, Field]:
    """A frame of pandas, polars (eager or lazy) or Arrow."""
    columns = frame(data) or []
    if len({name for name, _ in columns}) < len(columns):
        raise InvalidArgument("data", "a frame whose columns have different names", "some that are equal")
    return all_declared({name: field(name, values) for name, values in columns}, types)


READERS = dict.fromkeys(("pandas", "polars", "pyarrow"), from_frame)
"""Which function reads the frames of which package."""


def registered(frame: Any) -> Any:
    """The frame under a name of its own in its session, as ibis needs it."""
    try:
        con = connection.ibis().pyspark.connect(frame.sparkSession)
    except ImportError as missing:
        raise UptackError('frames of Spark need ibis: pip install "uptack[spark]"') from missing
    view = f"uptack_{uuid4().hex}"
    frame.createOrReplaceTempView(view)
    return con.table(view)
