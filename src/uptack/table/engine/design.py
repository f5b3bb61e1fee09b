"""X and y of rows that an engine keeps, as columns of a table that can be read in batches.

Columns and dummies are *selected*: the engine makes them itself. What Python makes of single rows (`log(x)`, products)
is *computed*, batch by batch: on the executors of Spark each time that rows are read, and elsewhere once, into a
Parquet file in a private folder (`uptack.table.engine.private_folders`) that goes away with what reads it. So no more
than a batch of rows need be in memory, and every row is made from one row of the table, whichever batch it is in.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uptack.errors import UptackError
from uptack.table import snapshots
from uptack.table.engine import connection
from uptack.table.engine.expressions import as_floats, missing
from uptack.table.engine.files import parquet
from uptack.table.exact_sum import Floats
from uptack.table.packages import ibis, pa, pq
from uptack.table.protocol import Category, Read, RowDesign

if TYPE_CHECKING:
    from uptack.table.engine.table import EngineTable

SETTINGS = ("memory_limit", "threads")
"""What a connection to DuckDB may use. A copy of its rows is read by one that may use as much."""


def design_rows(table: EngineTable, design: RowDesign) -> Any:
    """An expression, or a table of a file, with the columns of X by number, y, and ids k0, k1, ..."""
    names = design.names
    if design.select is not None:
        response, *columns = design.select
        return _select(table, dict(zip(names, [*columns, response], strict=True)))
    rows = _select(table, {f"r{i}": (one, None) for i, one in enumerate(design.reads)})
    making = partial(_compute_batch, tuple(names), len(design.reads), design.make)
    if connection.backend(rows).name == "pyspark":
        return _on_executors(rows, making, names, len(design.reads))
    return _on_disk(rows, making, table.count())


# ------------------------------------------------------------------------------------------------- columns and dummies


def _select(table: EngineTable, wanted: Mapping[str, tuple[Read, int | None]]) -> Any:
    """An expression with these columns as floats, and the ids. Each row is made from one of the table.

    With a column goes the number of the level that is 1; None for numbers, or for the number of each row's level.

    The place of a row's value among the levels is worked out once for all columns of a category: the query grows with
    the number of levels, and not with its square.
    """
    places = dict[Category, str]()
    for one, _ in wanted.values():
        if isinstance(one, Category):
            places.setdefault(one, f"place {len(places)}")
    plain = {name: as_floats(table.table[one]) for name, (one, _) in wanted.items() if isinstance(one, str)}
    found = {called: _level_number(table, one) for one, called in places.items()}
    rows = table.table.select(**plain, **table.ids, **found)
    made = {name: rows[name] for name in (*wanted, *table.ids) if name in rows.columns}
    for name, (one, level) in wanted.items():
        if isinstance(one, Category):  # 1 for the level, 0 for others, null for missing; or the place
            place = rows[places[one]]
            made[name] = (place if level is None else (place == level).cast("int32")).cast("float64")
    return rows.select(**{name: made[name] for name in (*wanted, *table.ids)})


def _level_number(table: EngineTable, category: Category) -> Any:
    """The number of each row's level; null for a missing one."""
    nowhere, last = ibis.null().cast("int32"), ibis.literal(len(category.levels), "int32")
    other = {"missing": nowhere, "first": ibis.literal(0, "int32"), "own": last}[category.others]
    has, levels = table.has, enumerate(category.levels)
    found = [(has(category.name, level), ibis.literal(place, "int32")) for place, level in levels]
    listed = ibis.cases(*found, else_=other) if found else other
    return ibis.ifelse(missing(table.key(category.name)), nowhere, listed)


# -------------------------------------------------------------------------------------------------- made by Python


def _compute_batch(
    names: Sequence[str], reads: int, make: Callable[[Sequence[Floats]], Sequence[Floats]], batch: Any
) -> Any:
    """A record batch of made columns, here or on an executor: `make` reads the first columns, and the others stay.

    Nobody sees floating-point warnings there.
    """
    with np.errstate(all="ignore"):
        made = make([connection.floats(batch.column(i)) for i in range(reads)])
    columns = [pa.array(np.ascontiguousarray(line), pa.float64()) for line in made]
    return pa.RecordBatch.from_arrays(columns + batch.columns[reads:], names=[*names, *batch.schema.names[reads:]])


def _on_executors(rows: Any, making: Callable[[Any], Any], names: Sequence[str], reads: int) -> Any:
    """A view of Spark: rows are made where they are, whenever they are read."""
    con, view = connection.backend(rows), connection.new_name()

    def several(batches: Iterator[Any]) -> Iterator[Any]:
        return map(making, batches)

    def create_view() -> Any:
        from pyspark.sql.types import DoubleType, StructField, StructType

        frame = con.raw_sql(con.compile(rows))
        made = [StructField(name, DoubleType()) for name in names]
        types = StructType(made + frame.schema.fields[reads:])
        frame.mapInArrow(several, types).createTempView(view)
        return con.table(view)

    table = snapshots.run_query(con, create_view)
    weakref.finalize(table, snapshots.state(con).unused.append, view)
    return table


def _on_disk(rows: Any, making: Callable[[Any], Any], count: int) -> Any:
    """A file: rows are made once. A file that does not have as many rows as the table is an error."""
    theirs, limits = connection.backend(rows), dict[str, Any]()
    if theirs.name == "duckdb":
        asked = "SELECT " + ", ".join(f"current_setting('{one}')" for one in SETTINGS)
        (found,) = snapshots.run_query(theirs, lambda: theirs.con.execute(asked).fetchall())
        limits = dict(zip(SETTINGS, found, strict=True))
    con, schema = connection.Connection(**limits), rows.schema().to_pyarrow()
    path = connection.folder(con) / "made.parquet"
    nothing = making(pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema))
    written = connection.fold_batches(rows, lambda some: _write_file(path, connection.ahead(making, some), nothing))
    if written != count:
        raise UptackError(snapshots.CHANGED)
    table = parquet(con, [str(path)], hive=False)
    snapshots.state(con).fixed = True
    return table


def _write_file(path: Path, batches: Iterator[Any], nothing: Any) -> int:
    """Writes the rows, and returns their number. `nothing` is a batch without rows."""
    first, rows = next(batches, nothing), 0
    with pq.ParquetWriter(path, first.schema, use_dictionary=False, write_statistics=False) as file:
        for batch in itertools.chain([first], batches):
            file.write_batch(batch)
            rows += int(batch.num_rows)
    return rows
