"""The cost model of docs/scale.md on Spark: a standalone cluster of two workers, beside what Spark itself has counted.

What a release asks for follows from its plan, by public numbers: the rows n, the columns c and the partitions P. Spark
counts tasks, bytes that are read, and bytes of results. Both stand side by side. Then

    seconds = a·queries + t·tasks + u·(tasks in Python) + bytes/B + (bytes through Python)/S + values/D

is fitted to releases of several n, c and P, by least squares with no negative part. "In Python" are tasks whose rows an
executor hands to a process of Python, where contributions of rows are added up. Seconds are those that all processes of
the cluster were running, driver, executors and Pythons together, so that other processes on the machine matter little;
beside them is the time that passed. A report and a regression are not in the fit: what they ask for is counted by
Spark, and the prices must say what it takes.

    python benchmarks/cost_model.py --spark --json out/cost_model_spark.json
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import Ratio, Row
from cost_model import LARGER, WORKERS, fitted, searched
from pyspark import cloudpickle
from spark_workers import cluster, in_parts

import uptack
from uptack.multivariate.entrance import complete_rows
from uptack.multivariate.private_sums import bounded
from uptack.multivariate.row_sums import Sample, Squares
from uptack.table.engine import connection
from uptack.table.exact_sum import Floats
from uptack.table.opening import open_table
from uptack.table.protocol import Columns

SIZES, PARTITIONS, COLUMNS = (10**6, 10**7, 3 * 10**7), (2, 8, 32), (1, 5)
NAMES = [*(f"x{i}" for i in range(max(COLUMNS))), "y"]
ROUNDS, WARM, REACH, TICKS = 1, 2, 100, os.sysconf("SC_CLK_TCK")
READ = 0.66e9
"""Bytes per second that DuckDB reads, for larger tables, where those that were measured are too small to tell."""


@dataclass(frozen=True)
class SparkCost:
    """What a release asks of the driver, of executors, of their Pythons, and of the driver again."""

    queries: float
    tasks: float
    in_python: float
    bytes: float
    python: float
    values: float

    @property
    def parts(self) -> list[float]:
        """In the order of the prices."""
        return [self.queries, self.tasks, self.in_python, self.bytes, self.python, self.values]


# ------------------------------------------------------------------------------------------------- by the plan alone


def median_cost(n: int, parts: int, columns: int = 1) -> SparkCost:
    """Of one column: three counts of rows, which Parquet knows, a scan for rows without a value, and the search.

    A query that counts has one more task, which adds up. The sample and the fetch have none.
    """
    scans, rows, _ = searched(n, (0.5,))
    rounds = scans // 2
    tasks = 4 * (parts + 1) + rounds * (2 * parts + 1) + parts
    return SparkCost(4 + scans, tasks, 0, 8.0 * n * (1 + scans), 0.0, rows)


def medians_cost(n: int, parts: int, columns: int) -> SparkCost:
    """Of several columns side by side: a count of rows, of complete ones in Python, and one search for all.

    A row of the sample has all columns. So has one of the fetch, and each column has rows of its own there.
    """
    scans, rows, left = searched(n, (0.5,))
    rounds, wide = scans // 2, 8.0 * n * columns
    tasks = (parts + 1) + parts + rounds * (2 * parts + 1) + parts
    values = columns * (rows - left) + columns**2 * left
    return SparkCost(2 + scans, tasks, parts, wide * (1 + scans), wide, values)


def step_cost(n: int, parts: int, columns: int) -> SparkCost:
    """Σuuᵀ of all rows: one scan in Python, and a matrix per partition."""
    wide = 8.0 * n * (columns + 1)
    return SparkCost(1, parts, parts, wide, wide, parts * (columns + 1) ** 2)


# ------------------------------------------------------------------------------------------------------- the releases


def _directions(batch: Floats) -> list[Squares]:
    return [Squares(bounded(batch))]


def _sample(frame: Any, names: list[str]) -> Sample:
    return complete_rows(Columns(map(open_table(frame).column, names)), "drop")


def median(frame: Any, columns: int) -> object:
    """A release of one column."""
    return uptack.open(frame)["x0"].median(epsilon=1)


def medians(frame: Any, columns: int) -> object:
    """Order statistics of several columns side by side, as a regression asks for them."""
    return _sample(frame, [*NAMES[:columns]]).ordered(0, REACH)


def step(frame: Any, columns: int) -> object:
    """A step of a regression: what a row contributes is a direction, of whole numbers."""
    return _sample(frame, [*NAMES[:columns], "y"]).sums(_directions)


def report(frame: Any, columns: int) -> object:
    """All figures of a report."""
    return uptack.report(frame.select(*NAMES[:columns]), epsilon=3.0)


def regression(frame: Any, columns: int) -> object:
    """All steps of a regression."""
    return uptack.open(frame).regression("y", NAMES[:columns], epsilon=1.0)


Release = Callable[[Any, int], object]
FITTED: dict[str, tuple[Release, Callable[[int, int, int], SparkCost], tuple[int, ...]]] = {
    "median": (median, median_cost, (1,)),
    "medians": (medians, medians_cost, COLUMNS),
    "step": (step, step_cost, COLUMNS),
}
CHECKED: dict[str, tuple[Release, int]] = {"report": (report, 1), "regression": (regression, max(COLUMNS))}


# ---------------------------------------------------------------------------------------------------- what is measured


@dataclass(frozen=True)
class Measured:
    """What Spark has counted while something ran, seconds of all processes, and seconds that passed."""

    queries: int
    tasks: int
    in_python: int
    bytes: int
    python: int
    results: int
    seconds: float
    elapsed: float

    @property
    def cost(self) -> SparkCost:
        """The same as a cost: values have eight bytes, and the result of every task some two thousand of its own."""
        values = max(self.results - OVERHEAD * self.tasks, 0) / 8
        return SparkCost(self.queries, self.tasks, self.in_python, self.bytes, self.python, values)


PYTHON = "in Python"
OVERHEAD = 2000
"""Bytes of the result of a task that has nothing to say: what it has counted itself."""


def processes() -> Iterator[int]:
    """This process, and all that it has started, directly or not."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
        children.setdefault(parent, []).append(int(path.parent.name))
    waiting = [os.getpid()]
    while waiting:
        yield (one := waiting.pop())
        waiting += children.get(one, [])


def running() -> float:
    """Seconds that all of them were running, with those that have ended."""
    ticks = 0
    for one in processes():
        try:
            ticks += sum(map(int, Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue
    return ticks / TICKS


class Meter:
    """What Spark counts, stage by stage."""

    def __init__(self, session: Any) -> None:
        self.context = session.sparkContext
        self._java = self.context._jsc.sc()
        self._seen, self._plain = -1, connection.on_partitions
        connection.on_partitions = self._described

    def _described(self, *arguments: Any) -> Any:
        """In place of `uptack.table.engine.connection.on_partitions`: stages that go through Python say so."""
        self.context.setJobDescription(PYTHON)
        try:
            return self._plain(*arguments)
        finally:
            self.context.setJobDescription(None)

    def stages(self) -> list[Any]:
        """Those that have run since the last time."""
        self._java.listenerBus().waitUntilEmpty()
        nothing = self.context._gateway.new_array(self.context._jvm.double, 0)
        found = self._java.statusStore().stageList(None, False, False, nothing, None)
        every = [found.apply(i) for i in range(found.size())]
        new = [one for one in every if one.stageId() > self._seen and one.status().toString() == "COMPLETE"]
        self._seen = max([self._seen, *(one.stageId() for one in every)])
        return new

    def measured(self, run: Callable[[], object]) -> Measured:
        """One run. A stage that reads the table is a query; those that come after it add up."""
        self.stages()
        busy, start = running(), time.perf_counter()
        run()
        elapsed, seconds = time.perf_counter() - start, running() - busy
        stages = self.stages()
        read = [one for one in stages if one.inputRecords()]
        python = [one for one in read if PYTHON in one.description().toString()]
        return Measured(
            len(read),
            sum(one.numTasks() for one in stages),
            sum(one.numTasks() for one in python),
            sum(one.inputBytes() for one in read),
            sum(one.inputBytes() for one in python),
            sum(one.resultSize() for one in stages),
            seconds,
            elapsed,
        )

    def best(self, run: Callable[[], object], rounds: int) -> Measured:
        """The round that took the fewest seconds."""
        return min((self.measured(run) for _ in range(rounds)), key=lambda one: one.seconds)


def write(path: Path, n: int) -> Path:
    """Correlated log-normal columns without a dictionary, in enough groups of rows for all partitions."""
    rng, size = np.random.default_rng(0), -(-n // max(PARTITIONS))
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in NAMES]), use_dictionary=False) as writer:
        for start in range(0, n, size):
            base = rng.normal(size=min(size, n - start))
            columns = {name: np.exp(base / 2 + rng.normal(size=base.size)) for name in NAMES}
            writer.write_table(pa.table(columns))
    return path


def cells(sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    """All partitions for two numbers of rows, and those in the middle for larger ones."""
    return [(n, parts) for i, n in enumerate(sorted(sizes)) for parts in (PARTITIONS if i < 2 else PARTITIONS[1:2])]


def line(name: str, n: int, columns: int, parts: int, cost: SparkCost, found: Measured, prices: Any) -> Row:
    """Measured beside modelled."""
    told, said = found.cost, float(prices @ cost.parts)

    def beside(measured: float, modelled: float) -> Ratio | None:
        return Ratio(measured / modelled) if modelled else None

    return {
        "release": name,
        "rows": n,
        "columns": columns,
        "partitions": parts,
        "queries": found.queries,
        "÷ model": beside(told.queries, cost.queries),
        "tasks": found.tasks,
        "÷ model ": beside(told.tasks, cost.tasks),
        "MB read": told.bytes / 1e6,
        "÷ model  ": beside(told.bytes, cost.bytes),
        "values": told.values,
        "÷ model   ": beside(told.values, cost.values),
        "s": found.seconds,
        "modelled, s": said,
        "ratio": beside(found.seconds, said),
        "elapsed, s": found.elapsed,
    }


Found = tuple[str, int, int, int, SparkCost, Measured]


def in_the_fit(session: Any, meter: Meter, paths: dict[int, Path]) -> Iterator[Found]:
    """All that the prices are fitted to, after runs that are not measured: what is new to Java takes longer."""
    warm = in_parts(session, paths[min(paths)], PARTITIONS[1])
    for release, _, columns in [*FITTED.values()] * WARM:
        release(warm, columns[-1])
    for n, parts in cells(tuple(paths)):
        frame = in_parts(session, paths[n], parts)
        for name, (release, cost, widths) in FITTED.items():
            for c in widths:
                yield name, n, c, parts, cost(n, parts, c), meter.best(partial(release, frame, c), ROUNDS)


def beside_the_fit(session: Any, meter: Meter, paths: dict[int, Path]) -> Iterator[Found]:
    """Larger releases of the smallest table: what they ask for is what Spark has counted."""
    n, parts = min(paths), PARTITIONS[1]
    frame = in_parts(session, paths[n], parts)
    for name, (release, c) in CHECKED.items():
        told = meter.best(partial(release, frame, c), 1)
        yield name, n, c, parts, told.cost, told


def rows_of(folder: Path, sizes: tuple[int, ...]) -> tuple[list[Row], list[Row], np.ndarray]:
    """Releases of the fit, releases that are not in it, and the prices."""
    session = cluster(folder)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # which executors can't import
    try:
        meter, paths = Meter(session), {n: write(folder / f"{n}.parquet", n) for n in sizes}
        found = list(in_the_fit(session, meter, paths))
        checked = list(beside_the_fit(session, meter, paths))
    finally:
        session.stop()  # before its folder goes
    prices = fitted([cost for *_, cost, _ in found], [told.seconds for *_, told in found])
    return [line(*one, prices) for one in found], [line(*one, prices) for one in checked], prices


def larger(prices: np.ndarray, group: int = 1 << 27) -> list[Row]:
    """What the model says of tables that nobody measured here, with a partition for every 128 MB of a column."""
    prices = np.where((np.arange(prices.size) == 3) & (prices == 0), 1 / READ, prices)
    found: list[Row] = []
    for n in LARGER:
        parts = max(math.ceil(8 * n / group), 2)
        for name, cost in (("median", median_cost(n, parts)), ("step, 5 columns", step_cost(n, parts, 5))):
            query, task, in_python, read, python, values = prices * cost.parts
            found.append(
                {
                    "release": name,
                    "rows": n,
                    "partitions": parts,
                    "tasks": cost.tasks,
                    "TB read": cost.bytes / 1e12,
                    "values": cost.values,
                    "one core, s": float(prices @ cost.parts),
                    f"{WORKERS} workers, s": query + (task + in_python + read + python) / WORKERS + values,
                }
            )
    return found


def said(prices: np.ndarray) -> str:
    """The prices in words."""
    query, task, in_python, read, python, values = prices

    def per_second(price: float) -> str:
        return f"{1 / price:.2e}" if price else "any number of"

    return (
        f"a = {query * 1000:.3g} ms per query, t = {task * 1000:.3g} ms per task, "
        f"u = {in_python * 1000:.3g} ms more in Python, B = {per_second(read)} and S = {per_second(python)} bytes "
        f"per second, D = {per_second(values)} values per second"
    )
