"""X and y of rows that an engine keeps, as columns of a table that can be read in batches.

Columns and dummies are *selected*: the engine makes them itself. What Python makes of single rows (`log(x)`, products)
is *computed*, batch by batch: on the executors of Spark each time that rows are read, and elsewhere once, into a
Parquet file in a private folder (`uptack.table.engine.private_folders`) that goes away with what reads it. So no more
than a batch of rows need be in memory, and every row is made from one row of the table, whichever batch it is in.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from uptack.errors import UptackError
from uptack.table import snapshots
from uptack.table.engine import connection
from uptack.table.engine.expressions import as_floats, missing, number
from uptack.table.engine.files import parquet
from uptack.table.exact_sum import Floats
from uptack.table.protocol import Category, Read, RowDesign

if TYPE_CHECKING:
    from uptack.table.engine.table import EngineTable

SETTINGS = ("memory_limit", "threads")
"""What a connection to DuckDB may use. A copy of its rows is read by one that may use as much."""

Wanted = tuple[Read, int | None]
"""A column, and the number of the level that is 1; None for a column of numbers, or the number of each row's level."""


def made(table: EngineTable, design: RowDesign) -> Any:
    """An expression, or a table of a file, with the columns of X by number, y, and ids k0, k1, ..."""
    names = [*map(str, range(design.width)), "y"]
    if design.select is not None:
        response, *columns = design.select
        return _selected(table, dict(zip(names, [*columns, response], strict=True)))
    rows = _selected(table, {f"r{i}": (one, None) for i, one in enumerate(design.reads)})
    making = Making(len(design.reads), tuple(names), design.make)
    if connection.backend(rows).name == "pyspark":
        return _on_executors(rows, making)
    return _on_disk(rows, making, table.count())


# ------------------------------------------------------------------------------------------------- columns and dummies


def _selected(table: EngineTable, wanted: Mapping[str, Wanted]) -> Any:
    """An expression with these columns as floats, and the ids. Each row is made from one of the table.

    The place of a row's value among the levels is worked out once for all columns of a category: the query grows with
    the number of levels, and not with its square.
    """
    places = dict[Category, str]()
    for one, _ in wanted.values():
        if isinstance(one, Category):
            places.setdefault(one, f"place {len(places)}")
    plain = {name: as_floats(table.table[one]) for name, (one, _) in wanted.items() if isinstance(one, str)}
    found = {called: _place(table, one) for one, called in places.items()}
    rows = table.table.select(**plain, **table.ids, **found)
    dummies = {
        name: _dummy(rows[places[one]], level) for name, (one, level) in wanted.items() if isinstance(one, Category)
    }
    return rows.select(**{name: dummies[name] if name in dummies else rows[name] for name in (*wanted, *table.ids)})


def _place(table: EngineTable, category: Category) -> Any:
    """The number of each row's level; null for a missing one."""
    ibis = connection.ibis()
    nowhere, last = ibis.null().cast("int32"), ibis.literal(len(category.levels), "int32")
    other = {"missing": nowhere, "first": ibis.literal(0, "int32"), "own": last}[category.others]
    found = [
        (table.has(category.name, level), ibis.literal(place, "int32")) for place, level in enumerate(category.levels)
    ]
    listed = ibis.cases(*found, else_=other) if found else other
    return ibis.ifelse(missing(table.key(category.name)), nowhere, listed)


def _dummy(place: Any, level: int | None) -> Any:
    """1 for rows of a level, 0 for those of another one, null for missing ones; without a level the place itself."""
    ibis = connection.ibis()
    if level is None:
        return place.cast("float64")
    return ibis.ifelse(
        place.isnull(), ibis.null().cast("float64"), ibis.ifelse(place == level, number(1.0), number(0.0))
    )


# -------------------------------------------------------------------------------------------------- made by Python


@dataclass(frozen=True)
class Making:
    """How a record batch becomes one of made columns: `make` reads so many columns, and the others stay as they are."""

    reads: int
    names: tuple[str, ...]
    make: Callable[[Sequence[Floats]], Sequence[Floats]]

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


def _on_executors(rows: Any, making: Making) -> Any:
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
    return table


def _on_disk(rows: Any, making: Making, count: int) -> Any:
    """A file: rows are made once. One that does not have as many as the table is an error."""
    theirs = connection.backend(rows)
    limits = snapshots.run(theirs, lambda: _limits(theirs)) if theirs.name == "duckdb" else {}
    con = connection.duckdb(**limits)
    path, nothing = connection.folder(con) / "made.parquet", making(_without_rows(rows))
    if connection.folded(rows, lambda batches: _written(path, connection.ahead(making, batches), nothing)) != count:
        raise UptackError(snapshots.CHANGED)
    found = parquet(con, [str(path)], hive=False)
    snapshots.state(con).fixed = True
    return found


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
