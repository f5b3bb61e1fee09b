"""How rows come out of an engine that ibis speaks to: record batches, counts of conditions, sums of functions."""

from __future__ import annotations

import contextlib
import pickle
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from uptack.columns.selection import Floats
from uptack.data import private, states
from uptack.errors import UptackError

T = TypeVar("T")
BATCH = 1 << 17
COUNT_IF = ("duckdb", "pyspark")
"""Engines with an aggregate that counts a condition: DuckDB does it three times faster than a sum of zeros and ones."""


def ibis() -> Any:
    """The package ibis, which is not imported before it is needed."""
    import ibis

    return ibis


def duckdb(path: str = ":memory:", **settings: Any) -> Any:
    """A connection to DuckDB. What it spills to a disk goes to a private folder."""
    con = ibis().duckdb.connect(path, **settings)
    kept = states.state(con).folder = private.folder(con)
    con.con.execute("SET temp_directory = '" + str(kept / "spilled").replace("'", "''") + "'")
    return con


def folder(con: Any) -> Path:
    """The private folder of a connection of ours."""
    kept = states.state(con).folder
    assert kept is not None
    return kept


def backend(table: Any) -> Any:
    """The connection that an ibis expression runs on."""
    return ibis().get_backend(table)


def check(table: Any) -> None:
    """Whether the engine knows what we ask of it: found when a source is opened, and not when a release was paid."""
    con, one = backend(table), ibis().literal(1.0)
    with contextlib.suppress(Exception):
        con.compile(table.select(nan=one.isnan(), infinite=one.isinf(), random=ibis().random()))
        return
    why = "has no NaN, infinities or random numbers that ibis knows of"
    raise UptackError(f"the engine {con.name} {why}; copy the table into DuckDB")


def batches(con: Any, table: Any) -> Iterator[Any]:
    """The rows of an expression as record batches of Arrow, one after the other. Only inside `run`."""
    if con.name == "duckdb":  # ibis 12 asks DuckDB 2 for a method that it no longer has
        rows = con.con.sql(con.compile(table))
        return iter(rows.to_arrow_reader(BATCH) if hasattr(rows, "to_arrow_reader") else rows.fetch_arrow_reader(BATCH))
    if con.name == "pyspark" and hasattr(frame := con.raw_sql(con.compile(table)), "toArrow"):
        return iter(frame.toArrow().to_batches())  # from Spark 4 on; ibis goes through pandas
    return iter(con.to_pyarrow_batches(table, chunk_size=BATCH))


def folded(table: Any, fold: Callable[[Iterator[Any]], T]) -> T:
    """What `fold` makes of the record batches of an expression. It may be called twice, each time with all of them."""
    con = backend(table)
    return states.run(con, lambda: fold(batches(con, table)))


def whole(table: Any) -> list[dict[str, Any]]:
    """The rows of a small expression."""
    con = backend(table)

    def rows() -> list[dict[str, Any]]:
        if con.name == "pyspark":  # ibis reads them through pandas, where integers beside nulls are floats
            return [row.asDict() for row in con.raw_sql(con.compile(table)).collect()]
        found: list[dict[str, Any]] = con.to_pyarrow(table).to_pylist()
        return found

    return states.run(con, rows)


class Kept:
    """A table that several queries need. DuckDB keeps it as long as this object lives, others make it each time."""

    def __init__(self, table: Any) -> None:
        con = backend(table)
        self.table = table
        if con.name != "duckdb":
            return
        name, kept = f"uptack_{uuid4().hex}", states.state(con)
        whole(table.limit(0))  # ibis tells DuckDB of what is in memory when it asks something itself
        states.run(con, lambda: con.con.execute(f"CREATE TEMPORARY TABLE {name} AS {con.compile(table)}"))
        self.table = con.table(name)
        weakref.finalize(self, kept.unused.append, name)


def floats(values: Any) -> Floats:
    """A float column of a record batch; null is NaN."""
    made: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return made.astype(np.float64, copy=False)


def read(table: Any) -> Floats:
    """The only column of an expression, as floats."""
    parts = folded(table, lambda parts: [floats(batch.column(0)) for batch in parts])
    return np.concatenate(parts) if parts else np.empty(0)


def tally(table: Any, conditions: Sequence[Any]) -> list[int]:
    """How many rows meet each condition, in one scan."""
    if not conditions:
        return []
    count = _count_if() if backend(table).name in COUNT_IF else lambda condition: condition.sum()
    counted = table.aggregate(**{f"c{i}": count(condition) for i, condition in enumerate(conditions)})
    (row,) = whole(counted)
    return [int(row[f"c{i}"] or 0) for i in range(len(conditions))]


@cache
def _count_if() -> Callable[[Any], Any]:
    def count_if(condition: bool) -> int:
        """The engine's own."""
        raise NotImplementedError  # never called: ibis writes its name into the query

    count_if.__annotations__ = {"condition": bool, "return": int}  # ibis reads them, and strings are not types
    counting: Callable[[Any], Any] = ibis().udf.agg.builtin(count_if)
    return counting


@cache
def nextafter() -> Callable[[Any, Any], Any]:
    """DuckDB's own function of that name."""

    def nextafter(x: float, y: float) -> float:
        """The float next to x towards y."""
        raise NotImplementedError  # never called: ibis writes its name into the query

    nextafter.__annotations__ = {"x": float, "y": float, "return": float}  # ibis reads them, and strings are not types
    made: Callable[[Any, Any], Any] = ibis().udf.scalar.builtin(nextafter)
    return made


def add(parts: Iterable[list[Any]]) -> list[Any]:
    """Lists added up entry by entry."""
    return [sum(entries[1:], start=entries[0]) for entries in zip(*parts, strict=True)]


def sums(table: Any, f: Callable[[Floats], list[Any]]) -> list[Any]:
    """Σ f over the only column of an expression: on the executors of Spark, otherwise here, batch by batch."""
    con = backend(table)
    if con.name == "pyspark":
        return states.run(con, lambda: add([f(np.empty(0)), *_on_executors(con.raw_sql(con.compile(table)), f)]))

    def plus(total: list[Any], batch: Any) -> list[Any]:
        return add((total, f(floats(batch.column(0)))))

    return folded(table, lambda parts: reduce(plus, parts, f(np.empty(0))))


def _on_executors(frame: Any, f: Callable[[Floats], list[Any]]) -> Iterator[list[Any]]:
    """One list of sums for each partition that has rows."""

    def partition(parts: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        total: list[Any] | None = None
        for part in parts:
            found = f(floats(part.column(0)))
            total = found if total is None else add((total, found))
        yield pa.RecordBatch.from_pydict({"sums": pa.array([pickle.dumps(total)], pa.binary())})

    for row in frame.mapInArrow(partition, "sums binary").toLocalIterator():
        found = pickle.loads(row[0])
        if found is not None:
            yield found
