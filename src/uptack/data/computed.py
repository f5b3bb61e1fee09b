"""X and y of rows that an engine keeps, as columns of a table that can be read in batches.

Columns and dummies are *selected*: the engine makes them itself. What Python makes of single rows (`log(x)`, products)
is *computed*, batch by batch: on the executors of Spark each time that rows are read, and elsewhere once, into a
Parquet file in a private folder (`uptack.table.engine.private_folders`) that goes away with what reads it. So no more
than a batch of rows need be in memory, and every row is made from one row of the table, whichever batch it is in.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from uptack.columns.batched import Batched
from uptack.columns.selection import Floats
from uptack.data import weights
from uptack.data.batches import QueryRows
from uptack.data.counting import QueryPeople
from uptack.data.dummies import Wanted, selected
from uptack.data.people_batches import QueryPeopleRows
from uptack.data.queries import QuerySource
from uptack.errors import UptackError
from uptack.table import snapshots
from uptack.table.engine import connection
from uptack.table.engine.connection import ahead
from uptack.table.engine.expressions import as_floats
from uptack.table.engine.files import parquet

Make = Callable[[Sequence[Floats]], Sequence[Floats]]
"""The columns of X, and y, of columns of a batch of rows. It must pickle, and what it makes of a row must not depend on
the rows beside it."""

RESPONSE = "y"
SETTINGS = ("memory_limit", "threads")
"""What a connection to DuckDB may use. A copy of its rows is read by one that may use as much."""


@dataclass(frozen=True)
class QueryDesign:
    """A table that X and y are made of. `ids` are the columns that say whose its rows are, if people are the unit."""

    source: QuerySource
    ids: tuple[str, ...] = ()

    def selected(self, response: Wanted, columns: Sequence[Wanted]) -> tuple[Batched, Batched]:
        """X and y that are columns and dummies."""
        wanted = {RESPONSE: response} | {f"x{i}": one for i, one in enumerate(columns)}
        return self._both(QuerySource(selected(self.source, wanted, self._keys), within=self.source), len(columns))

    def computed(self, reads: Sequence[Wanted], make: Make, width: int) -> tuple[Batched, Batched]:
        """X of so many columns and y, which `make` makes of the columns that it reads, as floats."""
        rows = selected(self.source, {f"r{i}": one for i, one in enumerate(reads)}, self._keys)
        rows = rows.mutate(**{f"r{i}": as_floats(rows[f"r{i}"]) for i in range(len(reads))})
        making = Making(len(reads), (*(f"x{i}" for i in range(width)), RESPONSE), make)
        spark = connection.backend(self.source.table).name == "pyspark"
        return self._both(_on_executors(rows, making) if spark else _on_disk(self.source, rows, making), width)

    @property
    def _keys(self) -> dict[str, Any]:
        return weights.keys(self.source, self.ids)

    def _both(self, made: QuerySource, width: int) -> tuple[Batched, Batched]:
        names, still = [f"x{i}" for i in range(width)], made.still()
        if not self.ids:
            return QueryRows.of(still, names), QueryRows.of(still, [RESPONSE])
        whose = QueryPeople(still, tuple(self._keys))
        return QueryPeopleRows.of(whose, names), QueryPeopleRows.of(whose, [RESPONSE])


@dataclass(frozen=True)
class Making:
    """How a record batch becomes one of made columns: `make` reads so many columns, and the others stay as they are."""

    reads: int
    names: tuple[str, ...]
    make: Make

    def __call__(self, batch: Any) -> Any:
        """One batch, here or on an executor. What floats say there is nobody's to read."""
        import pyarrow as pa

        with np.errstate(all="ignore"):
            made = self.make([connection.floats(batch.column(i)) for i in range(self.reads)])
        columns = [pa.array(np.ascontiguousarray(line), pa.float64()) for line in made]
        names = [*self.names, *batch.schema.names[self.reads :]]
        return pa.RecordBatch.from_arrays(columns + batch.columns[self.reads :], names=names)

    def several(self, batches: Iterator[Any]) -> Iterator[Any]:
        """One batch after the other."""
        return map(self, batches)


def _on_executors(rows: Any, making: Making) -> QuerySource:
    """A view of Spark: rows are made where they are, whenever they are read."""
    con, view = connection.backend(rows), f"uptack_{uuid4().hex}"

    def named() -> Any:
        from pyspark.sql.types import DoubleType, StructField, StructType

        frame = con.raw_sql(con.compile(rows))
        made = [StructField(name, DoubleType()) for name in making.names]
        frame.mapInArrow(making.several, StructType(made + frame.schema.fields[making.reads :])).createTempView(view)
        return con.table(view)

    table = snapshots.run(con, named)
    weakref.finalize(table, snapshots.state(con).unused.append, view)
    return QuerySource(table)


def _on_disk(source: QuerySource, rows: Any, making: Making) -> QuerySource:
    """A file: rows are made once. One that does not have as many as the table is an error."""
    theirs = connection.backend(source.table)
    limits = snapshots.run(theirs, lambda: _limits(theirs)) if theirs.name == "duckdb" else {}
    con = connection.duckdb(**limits)
    path, nothing = connection.folder(con) / "made.parquet", making(_without_rows(rows))
    if connection.folded(rows, lambda batches: _written(path, ahead(making, batches), nothing)) != source.rows:
        raise UptackError(snapshots.CHANGED)
    return QuerySource(parquet(con, [str(path)], hive=False))


def _limits(con: Any) -> dict[str, Any]:
    (found,) = con.con.execute("SELECT " + ", ".join(f"current_setting('{one}')" for one in SETTINGS)).fetchall()
    return dict(zip(SETTINGS, found, strict=True))


def _without_rows(rows: Any) -> Any:
    """A record batch of an expression that has none."""
    import pyarrow as pa

    schema = rows.schema().to_pyarrow()
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _written(path: Path, batches: Iterator[Any], nothing: Any) -> int:
    """How many rows there are, which are written. `nothing` is a batch without any, for a table that has none."""
    import pyarrow.parquet as pq

    first = next(batches, nothing)
    rows = int(first.num_rows)
    with pq.ParquetWriter(path, first.schema, use_dictionary=False, write_statistics=False) as file:
        file.write_batch(first)
        for batch in batches:
            file.write_batch(batch)
            rows += batch.num_rows
    return rows
