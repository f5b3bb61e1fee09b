"""How rows come out of an engine that ibis speaks to: record batches, counts of conditions, sums of functions."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from uptack.errors import UptackError
from uptack.table import snapshots
from uptack.table.engine import private_folders
from uptack.table.exact_sum import Floats
from uptack.table.packages import duckdb, ibis, ops, pa
from uptack.table.values.kinds import Kind

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
BATCH = 1 << 17
DENSE = 22
"""DuckDB groups integers of up to this many bits without hashing, in a third of the time, for at most some 200 MB."""


def folder(con: Any) -> Path:
    """The private folder of a connection of ours."""
    kept = snapshots.state(con).folder
    assert kept is not None
    return kept


def backend(table: Any) -> Any:
    """The connection that an expression of ibis, or a statement of ours, runs on."""
    return table.con if isinstance(table, Plain | Statement) else ibis.get_backend(table)


def new_name() -> str:
    """A name that no other table or view has."""
    return f"uptack_{uuid4().hex}"


MISTAKEN = "SELECT oid::int8 FROM pg_type WHERE typtype = 'e' OR typname IN ('money', 'oid')"
"""Types of PostgreSQL that ibis takes for decimals, integers and texts, and that can't be cast as those are."""


def unreadable(table: Any) -> frozenset[str]:
    """The columns of PostgreSQL whose type ibis mistakes: money, oids and enums. Reads no row.

    They are found when a table is opened: a question about them would fail after it was paid for.
    """
    if isinstance(table, Plain) or backend(table).name != "postgres":
        return frozenset()
    con = backend(table)

    def read() -> frozenset[str]:
        idle = con.con.info.transaction_status == 0
        try:
            with con.con.cursor() as cursor:
                cursor.execute(con.compile(table.limit(0)), prepare=False)
                types = {column.name: column.type_code for column in cursor.description}
                mistaken = {found for (found,) in cursor.execute(MISTAKEN, prepare=False).fetchall()}
        finally:
            if idle and not con.con.autocommit:
                con.con.rollback()
        return frozenset(name for name, code in types.items() if code in mistaken)

    return snapshots.run_query(con, read)


def check_engine(table: Any) -> None:
    """Whether the engine knows what we ask of it: found when a source is opened, and not when a release was paid."""
    if isinstance(table, Plain):
        return
    con, one = backend(table), ibis.literal(1.0)
    with contextlib.suppress(Exception):
        con.compile(table.select(nan=one.isnan(), infinite=one.isinf(), random=ibis.random()))
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


def fold_batches(table: Any, fold: Callable[[Iterator[Any]], T], in_turn: bool = False) -> T:
    """What `fold` makes of the record batches of an expression. After a failure it is called again with all of them.

    Partitions of Spark come together, or `in_turn`, which takes longer and has one of them in memory at a time.
    """
    con = backend(table)
    return snapshots.run_query(con, lambda: fold(_in_turn(con, table) if in_turn else batches(con, table)))


def _in_turn(con: Any, table: Any) -> Iterator[Any]:
    """The same batches. Those of Spark are packed, since all that it sends one by one are rows."""
    if con.name != "pyspark":
        yield from batches(con, table)
        return

    def pack(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.RecordBatch.from_pydict({"rows": pa.array([sink.getvalue().to_pybytes()], pa.binary())})

    for row in con.raw_sql(con.compile(table)).mapInArrow(pack, "rows binary").toLocalIterator():
        yield from pa.ipc.open_stream(row[0])


def result_rows(table: Any) -> list[dict[str, Any]]:
    """The rows of a small expression."""
    con = backend(table)

    def rows() -> list[dict[str, Any]]:
        if con.name == "pyspark":  # ibis reads them through pandas, where integers beside nulls are floats
            return [row.asDict() for row in con.raw_sql(con.compile(table)).collect()]
        if isinstance(table, Statement):
            return [row for batch in batches(con, table) for row in batch.to_pylist()]
        if con.name == "duckdb" and not _has_python_parts(table):  # ibis would go through a module that imports pandas
            schema = table.schema().to_pyarrow()
            return [row for batch in batches(con, table) for row in batch.cast(schema).to_pylist()]
        found: list[dict[str, Any]] = con.to_pyarrow(table).to_pylist()
        return found

    return snapshots.run_query(con, rows)


def _has_python_parts(table: Any) -> bool:
    """Whether an expression has rows in memory, or functions in Python, that ibis has yet to tell DuckDB of."""
    from ibis.expr.operations.udf import InputType

    found = table.op().find((ops.InMemoryTable, ops.ScalarUDF))
    return any(getattr(one, "__input_type__", None) is not InputType.BUILTIN for one in found)


def shared_table(table: Any) -> Any:
    """A table that several queries need. DuckDB keeps it as long as expressions read it, others make it each time."""
    con = backend(table)
    if con.name != "duckdb":
        return table
    result_rows(table.limit(0))  # ibis tells DuckDB of what is in memory when it asks something itself
    name, kept = new_name(), snapshots.state(con)
    kept.temporary[name] = f"CREATE TEMPORARY TABLE IF NOT EXISTS {name} AS {con.compile(table)}"
    snapshots.run_query(con, lambda: con.con.execute(kept.temporary[name]))
    made = con.table(name)
    weakref.finalize(made.op(), kept.unused.append, name)
    return made


def floats(values: Any) -> Floats:
    """A float column of a record batch; null is NaN.

    Arrow's own conversion imports pandas if it is installed, which takes longer than reading a table.
    """
    if str(values.type) != "double":
        made: NDArray[Any] = values.to_numpy(zero_copy_only=False)
        return made.astype(np.float64, copy=False)
    part = slice(values.offset, values.offset + len(values))
    found: Floats = np.frombuffer(values.buffers()[1], np.float64)[part] if len(values) else np.empty(0)
    return np.where(non_null(values), found, np.nan) if values.null_count else found


def non_null(values: Any) -> NDArray[np.bool_]:
    """Which values of an Arrow array with nulls are not null."""
    bits = np.unpackbits(np.frombuffer(values.buffers()[0], np.uint8), bitorder="little")
    return bits[values.offset : values.offset + len(values)].astype(bool)


def integers(values: Any) -> NDArray[np.int64]:
    """A column of whole numbers of a record batch, without nulls."""
    made: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return made.astype(np.int64, copy=False)


def read_floats(table: Any) -> Floats:
    """The only column of an expression, as floats."""
    parts = fold_batches(table, lambda parts: [floats(batch.column(0)) for batch in parts])
    return np.concatenate(parts) if parts else np.empty(0)


def count_conditions(table: Any, conditions: Sequence[Any]) -> list[int]:
    """How many rows meet each condition, in one scan."""
    if not conditions:
        return []
    if backend(table).name in ("duckdb", "pyspark"):  # three times faster than a sum of zeros and ones
        count_if = builtin("count_if", int, bool, aggregate=True)
        counts = [count_if(condition) for condition in conditions]
    else:
        counts = [condition.sum() for condition in conditions]
    (row,) = result_rows(table.aggregate(**{f"c{i}": count for i, count in enumerate(counts)}))
    return [int(row[f"c{i}"] or 0) for i in range(len(conditions))]


@cache
def builtin(name: str, made: Any, *types: Any, aggregate: bool = False) -> Callable[..., Any]:
    """A function of the engine by its name, of one or two arguments, as ibis writes it into a query."""

    def one(a: Any) -> Any:
        raise NotImplementedError  # never called

    def two(a: Any, b: Any) -> Any:
        raise NotImplementedError  # never called

    udf: Any = ibis.udf.agg if aggregate else ibis.udf.scalar
    named: Any = udf.builtin(name=name, signature=(types, made))
    function: Callable[..., Any] = named(one if len(types) == 1 else two)
    return function


def batch_sums(table: Any, f: Callable[[Any], list[Any]], nothing: list[Any], size: int = 0) -> list[Any]:
    """Σ f over the record batches of an expression, in any order; `nothing` is f of no rows.

    Small batches are joined until they have `size` rows.
    """

    def total(parts: Iterable[list[Any]]) -> list[Any]:
        return reduce(lambda sums, part: [a + b for a, b in zip(sums, part, strict=True)], parts, nothing)

    each = map if backend(table).name == "pyspark" else ahead
    return total(part for _, part in on_partitions(table, lambda _, batches: total(each(f, _larger(batches, size)))))


def _larger(batches: Iterator[Any], size: int) -> Iterator[Any]:
    """The same rows in batches of at least `size` rows, except the last."""
    waiting: list[Any] = []
    for batch in itertools.chain(batches, [None]):
        waiting += [] if batch is None else [batch]
        if waiting and (batch is None or sum(one.num_rows for one in waiting) >= size):
            joined = waiting if len(waiting) == 1 else pa.Table.from_batches(waiting).combine_chunks().to_batches()
            yield (joined or waiting)[0]  # a table without rows has no batches
            waiting = []


def on_partitions(table: Any, f: Callable[[int, Iterator[Any]], T], together: str | None = None) -> list[tuple[int, T]]:
    """The number of each partition of Spark, and what f returns there for the number and the record batches.

    Rows with the same value in the column `together` are first brought to one partition. All rows of another engine are
    partition 0.
    """
    con = backend(table)
    if con.name != "pyspark":
        return [(0, fold_batches(table, lambda batches: f(0, batches)))]

    def partition(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        place = task.partitionId()
        yield pa.RecordBatch.from_pydict({"found": pa.array([pickle.dumps((place, f(place, batches)))], pa.binary())})

    def collect() -> list[tuple[int, T]]:
        frame = con.raw_sql(con.compile(table))
        frame = (frame if together is None else frame.repartition(together)).mapInArrow(partition, "found binary")
        return [pickle.loads(row[0]) for row in frame.collect()]  # together: an iterator would run one after the other

    return snapshots.run_query(con, collect)


def ahead(f: Callable[[Any], T], batches: Iterator[Any]) -> Iterator[T]:
    """f of one batch after the other, in a thread of its own: meanwhile the next batch is made, or two."""
    from concurrent.futures import ThreadPoolExecutor

    def quiet(batch: Any) -> T:
        with np.errstate(all="ignore"):  # which a thread does not inherit
            return f(batch)

    with ThreadPoolExecutor(1) as thread:
        waiting: deque[Future[T]] = deque()
        for batch in batches:
            waiting.append(thread.submit(quiet, batch))
            if len(waiting) > 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


# ---------------------------------------------------------------------------------------------- DuckDB in its own words

# To import ibis takes longer than to read 10^5 rows. A table whose columns are all numbers, truth values or texts is
# *plain*: its rows are counted, columns are read, and values are counted by statements of ours. All other
# questions go through ibis, which then gets the connection. Both ways give the same answers (`tests/backends`).

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
KINDS: dict[str, Kind] = {
    **dict.fromkeys(WHOLE, "integer"),
    "FLOAT": "number",
    "DOUBLE": "number",
    "BOOLEAN": "boolean",
    "VARCHAR": "text",
}
"""The usual types, and the kinds of columns that have them."""


class Connection:
    """A connection to DuckDB, with the methods of one of ibis that we call. It spills rows to a private folder."""

    name = "duckdb"

    def __init__(self, path: str = ":memory:", read_only: bool = False, **settings: Any) -> None:
        self.con = duckdb.connect(path, read_only, settings)
        self.con.execute("SET python_enable_replacements = false")  # a table is one of DuckDB, never a variable
        self.con.execute("SET timezone = 'UTC'")  # as ibis does: a view may make numbers of times
        kept = snapshots.state(self).folder = private_folders.folder(snapshots.state(self))
        self.con.execute("SET temp_directory = '" + str(kept / "spilled").replace("'", "''") + "'")
        self.con.execute(f"SET perfect_ht_threshold = {DENSE}")

    def ibis(self) -> Any:
        """The same connection for ibis: the same state, the same locks."""
        with snapshots.state(self).lock:  # ibis asks DuckDB at once, which must not break off what another thread reads
            if "_ibis" not in vars(self):
                made = ibis.duckdb.from_connection(self.con)
                vars(made)["_uptack_state"] = snapshots.state(self)
                self._ibis = made
            return self._ibis

    def table(self, name: str) -> Any:
        """A table or a view by its name: a plain one, or else one of ibis."""
        with snapshots.state(self).lock:
            described = self.con.execute(f"DESCRIBE {quote_name(name)}").fetchall()
            types = {column: dtype for column, dtype, *_ in described}
            return Plain(self, name, types) if KINDS.keys() >= set(types.values()) else self.ibis().table(name)

    def compile(self, statement: Statement) -> str:
        return statement.text


@dataclass(frozen=True)
class Statement:
    """A question in DuckDB's own words."""

    con: Connection
    text: str

    def op(self) -> Statement:
        """What two questions that are the same have in common."""
        return self


class Plain:
    """A table whose columns are all of the usual types."""

    def __init__(self, con: Connection, name: str, types: Mapping[str, str]) -> None:
        self.con, self.name = con, name
        self.kinds: dict[str, Kind] = {column: KINDS[dtype] for column, dtype in types.items()}

    @property
    def columns(self) -> list[str]:
        return list(self.kinds)

    def get_name(self) -> str:
        return self.name

    @cached_property
    def table(self) -> Any:
        """The same table for ibis, which reads its types."""
        with snapshots.state(self.con).lock:
            return self.con.ibis().table(self.name)

    def count(self) -> Statement:
        return self._select("COUNT(*) AS rows")

    def beside(self, numbers: Sequence[str], others: Sequence[str]) -> Statement:
        """Some columns as floats, and the keys of others, side by side."""
        values = [f"{self._number(column)} AS v{place}" for place, column in enumerate(numbers)]
        keys = [f"{self._key(column)} AS c{place}" for place, column in enumerate(others)]
        return self._select(", ".join([*values, *keys]))

    def counts(self, columns: Sequence[str]) -> Statement:
        """Combinations of values, and how many rows have each."""
        keys = [f"{self._key(column)} AS c{place}" for place, column in enumerate(columns)]
        groups = ", ".join(str(place) for place in range(1, len(keys) + 1))
        return self._select(f"{', '.join(keys)}, COUNT(*) AS units", f" GROUP BY {groups}")

    def _select(self, what: str, after: str = "") -> Statement:
        return Statement(self.con, f"SELECT {what} FROM {quote_name(self.name)}{after}")

    def _number(self, column: str) -> str:
        inner = f"CAST({quote_name(column)} AS INTEGER)" if self.kinds[column] == "boolean" else quote_name(column)
        return f"CAST({inner} AS DOUBLE)"

    def _key(self, column: str) -> str:
        """Floats, the bytes of texts, and everything else as it is: see `uptack.table.engine.table.EngineTable.key`."""
        kind = self.kinds[column]
        return {"number": self._number(column), "text": f"ENCODE({quote_name(column)})"}.get(kind, quote_name(column))


def quote_name(name: str) -> str:
    """A name in a statement."""
    return '"' + name.replace('"', '""') + '"'
