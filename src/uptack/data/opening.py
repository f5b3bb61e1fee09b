"""One function makes a source of whatever holds the rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from uptack import checks
from uptack.data import engines, files, frames, spark
from uptack.data.protocol import Source
from uptack.data.queries import QuerySource
from uptack.errors import InvalidArgument


def source(
    data: Any,
    *,
    table: str | None = None,
    types: Mapping[str, str] | None = None,
    memory: str | None = None,
    threads: int | None = None,
) -> Source:
    """A table of rows to take statistics of, wherever it is kept. Rows stay there.

    - arrays: a NumPy array of one or two dimensions, a structured array, a dictionary of arrays or lists;
    - frames of pandas, polars, Arrow or Spark;
    - files: .csv, .parquet, .arrow or .feather, and .duckdb with `table` or as "file.duckdb::table"; a folder or a
      pattern such as "visits-*.parquet" for several Parquet files;
    - an ibis table of any engine, or a database's URL with `table`, such as "postgres://host/db::patients".

    `memory` ("2GB") and `threads` bound what DuckDB takes for a file. `types` says what columns of a CSV file hold, as
    {"age": "integer"}: the file itself does not say, and a guess from its content is not public. What is not of the
    stated type is then a missing value.

    >>> people = source({"age": np.array([31, 44, 44]), "name": ["Ada", "Bo", None]})
    >>> people.rows, dict(people.columns)
    (3, {'age': 'integer', 'name': 'any'})
    >>> people.categories("age")
    {31: 1, 44: 2}
    >>> people.column("agee")
    Traceback (most recent call last):
    uptack.errors.InvalidArgument: column must be a column that there is, got 'agee'. Did you mean 'age' or 'name'?
    """
    if isinstance(data, str | os.PathLike):
        return QuerySource(files.opened(data, table, types, memory, threads))
    for name, value in (("table", table), ("types", types), ("memory", memory), ("threads", threads)):
        if value is not None:
            raise InvalidArgument(name, "None for data that is not a file", checks.describe(value))
    if isinstance(data, Mapping | np.ndarray):
        return frames.from_arrays(data)
    package = frames.package(data)
    if package == "ibis" and hasattr(data, "schema"):
        engines.check(data)
        return QuerySource(data)
    if package == "pyspark" and hasattr(data, "sparkSession"):
        return QuerySource(spark.registered(data))
    if package in frames.READERS and hasattr(type(data), "columns"):
        return frames.READERS[package](data)
    if isinstance(data, Source):
        return data
    must = "an array, a dictionary of arrays, a frame, an ibis table or the path of a file"
    raise InvalidArgument("data", must, checks.describe(data))
