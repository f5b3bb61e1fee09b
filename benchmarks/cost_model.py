"""The cost model of docs/scale.md beside what is measured: scans, rows on the driver, and seconds of the processor.

Releases are made from Parquet files of floats with DuckDB, as from tables that are too large to be held: a sample, a
count, and a fetch. What the model says of queries and rows is worked out from the number of rows alone. Then

    seconds = a·queries + bytes/B + rows/D

is fitted to the median of 2e5 to 1e7 rows and to both quartiles, by least squares with no negative part. Seconds are
those that all threads of the process were running, the least of some rounds, so that other processes matter little.
The fit is set beside every measurement, and says what larger tables would take: one core, and a hundred workers.

    python benchmarks/cost_model.py --json out/cost_model.json
    python benchmarks/cost_model.py --rows 1000000 10000000 100000000

With `--spark` the same is done on a Spark standalone cluster of two workers on this machine (`spark_costs.py`).

    python benchmarks/cost_model.py --spark --json out/cost_model_spark.json
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from common import Ratio, Row, machine, table, write_json
from scale import write
from scipy.optimize import nnls

import uptack
from uptack.table.engine import connection
from uptack.table.engine import table as engine_table
from uptack.table.search import DEVIATIONS, FETCHED, SMALL, sample_size

SIZES = (2 * 10**5, 10**6, 2 * 10**6, 5 * 10**6, 10**7)
"""The first is mostly the price of queries."""
LARGER = (10**8, 10**9, 10**10, 10**11)
WORKERS, ROUNDS = 100, 3
RELEASES: dict[str, tuple[tuple[float, ...], Callable[[Any], object]]] = {
    "median": ((0.5,), lambda column: column.median(epsilon=1)),
    "quartiles": ((0.25, 0.75), lambda column: column.quantile([0.25, 0.75], epsilon=1)),
}
BEFORE = 2
"""Queries before a search: the number of rows, which Parquet knows, and a scan for rows without a value."""


@dataclass(frozen=True)
class Cost:
    """What a release asks of the engine and of the driver."""

    queries: float
    bytes: float
    rows: float

    @property
    def parts(self) -> list[float]:
        """In the order of the prices."""
        return [self.queries, self.bytes, self.rows]


def searched(n: int, levels: tuple[float, ...]) -> tuple[int, float, float]:
    """Scans, rows on the driver, and how many of these the last scan fetches, by the number of rows alone.

    It is the recursion of docs/scale.md, for ranks that share their scans.
    """
    gaps, scans, rows = dict.fromkeys(levels, float(n)), 1, 0.0
    first = True
    while sum(gaps.values()) / (len(levels) if first else 1) > (SMALL if first else FETCHED):
        whole = n if first else sum(gaps.values())
        k = sample_size(math.ceil(whole))
        scans, rows = scans + 2, rows + k
        for p, gap in gaps.items():
            share = k if first else k * gap / whole
            gaps[p] = gap * (2 * DEVIATIONS * math.sqrt(p * (1 - p) / share) + 2 / share)
        first = False
    left = sum(gaps.values())
    return scans, rows + left, left


def modelled(n: int, levels: tuple[float, ...]) -> Cost:
    """By the number of rows alone."""
    scans, rows, _ = searched(n, levels)
    return Cost(BEFORE + scans, 8.0 * n * (1 + scans), rows)


@dataclass
class Meter:
    """Counts queries, and the rows that come out of them."""

    queries: int = 0
    rows: int = 0
    plain: Callable[..., Iterator[Any]] = field(default=connection.batches)

    def __call__(self, con: Any, asked: Any) -> Iterator[Any]:
        """In place of `uptack.table.engine.connection.batches`."""
        self.queries += 1
        for batch in self.plain(con, asked):
            self.rows += batch.num_rows
            yield batch


def measured(path: Path, make: Callable[[Any], object]) -> tuple[Meter, float]:
    """What one release asked for, and the least seconds of the processor over some rounds."""
    best, meter = math.inf, Meter()
    for _ in range(ROUNDS):
        column = uptack.open(path)["x"]
        meter = Meter()
        connection.batches = meter  # type: ignore[assignment]
        start = time.process_time()
        make(column)
        best = min(best, time.process_time() - start)
        connection.batches = meter.plain
    return meter, best


def fitted(costs: Sequence[Any], seconds: list[float]) -> np.ndarray:
    """The prices of the parts: of a query, a byte and a row. Large and small tables weigh alike."""
    rows = np.array([cost.parts for cost in costs]) / np.array(seconds)[:, None]
    scale = rows.max(axis=0)
    found: np.ndarray = nnls(rows / scale, np.ones(len(seconds)))[0] / scale
    return found


def rows_of(sizes: tuple[int, ...], folder: Path) -> tuple[list[Row], np.ndarray]:
    """Measured beside modelled, and the prices."""
    found = []
    for n in sizes:
        path = folder / "rows.parquet"
        write(path, n)
        found += [(name, n, modelled(n, levels), *measured(path, make)) for name, (levels, make) in RELEASES.items()]
        path.unlink()
    prices = fitted([cost for _, _, cost, _, _ in found], [seconds for *_, seconds in found])
    rows: list[Row] = [
        {
            "release": name,
            "rows": n,
            "queries": meter.queries,
            "modelled": cost.queries,
            "on the driver": meter.rows,
            "modelled rows": cost.rows,
            "s": seconds,
            "modelled, s": float(prices @ cost.parts),
            "ratio": Ratio(seconds / float(prices @ cost.parts)),
        }
        for name, n, cost, meter, seconds in found
    ]
    return rows, prices


def larger(prices: np.ndarray) -> list[Row]:
    """What the model says of a median of tables that nobody measured here."""
    found: list[Row] = []
    for n in LARGER:
        cost = modelled(n, (0.5,))
        query, read, rows = prices * cost.parts
        found.append(
            {
                "rows": n,
                "scans": cost.bytes / (8 * n),
                "GB read": cost.bytes / 1e9,
                "on the driver": cost.rows,
                "one core, s": query + read + rows,
                f"{WORKERS} workers, s": query + read / WORKERS + rows,
            }
        )
    return found


def on_spark(sizes: Sequence[int] | None, out: Path | None) -> None:
    """The same on Spark: see `spark_costs`."""
    import spark_costs

    with tempfile.TemporaryDirectory() as name:
        rows, checked, prices = spark_costs.rows_of(Path(name), tuple(sizes or spark_costs.SIZES))
    print(table(rows), spark_costs.said(prices), table(checked), table(spark_costs.larger(prices)), sep="\n\n")
    if out:
        write_json(
            out, [*rows, *checked, *spark_costs.larger(prices)], machine("uptack", "pyspark", "numpy", "pyarrow")
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--rows", type=int, nargs="+", help="numbers of rows")
    parser.add_argument("--spark", action="store_true", help="on a Spark cluster of two workers; it needs Java")
    arguments = parser.parse_args()
    if arguments.spark:
        on_spark(arguments.rows, arguments.json)
        return
    engine_table.COLUMN = 0  # as if every table were too large to be held
    with tempfile.TemporaryDirectory() as name:
        rows, prices = rows_of(tuple(arguments.rows or SIZES), Path(name))
    print(table(rows))
    _, read, fetched = (f"{1 / price:.2e}" if price else "any number of" for price in prices)
    print(f"\na = {prices[0] * 1000:.3g} ms per query, B = {read} bytes per second, D = {fetched} rows per second\n")
    print(table(larger(prices)))
    if arguments.json:
        write_json(arguments.json, [*rows, *larger(prices)], machine("uptack", "duckdb", "numpy"))


if __name__ == "__main__":
    main()
