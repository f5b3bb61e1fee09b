"""Releases from tables that are larger than memory may be: time beside the engine's own quantiles, and memory.

A Parquet file of floats is written to a temporary folder. Each row is one release, arguments to answer, in a process of
its own; its peak is all the memory that the process ever had. DuckDB gets two threads on both sides. We tell it to keep
to 1 GB, which its own exact `quantile_cont` can't do: that gets what it wants. On Spark the yardstick is its
approximate percentile: the exact one is slower by far. The memory of Spark's own process is not counted.

    python benchmarks/scale.py --json out/scale.json

With `--people` the rows belong to people, a hundred each on average, few of whom have thousands. The same releases are
made with people as the unit and with rows, and the ratio of the two times is what is wanted.

    python benchmarks/scale.py --people --json out/scale-people.json

With `--regression` the tables have ten predictors and a response, and the releases are `linear_regression` and
`scatter`, which read the table some fifteen times, in batches. Beside them stands one pass of the same file without
privacy: the normal equations of least squares, in batches with NumPy.

    python benchmarks/scale.py --regression --json out/scale-regression.json
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import Row, best_seconds, machine, table, with_ratios, write_json

import uptack
from uptack.table.opening import open_table

SIZES = (10**6, 10**7, 10**8)
ON_SPARK = 2 * 10**7
CHUNK = 1 << 20
MEMORY, THREADS, ROUNDS = "1GB", 2, 3
LEVELS = {"median": [0.5], "iqr": [0.25, 0.75]}
WANTED_RATIO, WANTED_GB, WANTED_EXPONENT = 1.5, 2.0, 1.1
ROWS_EACH, WANTED_FOR_PEOPLE = 100, 3.0
PREDICTORS, OF_REGRESSIONS = 10, (10**7, 10**8)


def write(path: Path, n: int) -> None:
    """So many log-normal rows, a chunk at a time."""
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, pa.schema([("x", pa.float64())])) as writer:
        for start in range(0, n, CHUNK):
            writer.write_table(pa.table({"x": rng.lognormal(size=min(CHUNK, n - start))}))


def write_people(path: Path, n: int) -> None:
    """The same rows, which belong to people: ids in no order, Pareto numbers of rows."""
    rng = np.random.default_rng(0)
    number = max(n // ROWS_EACH, 1)
    shares = 1 + rng.pareto(1.5, number)
    ends = np.cumsum(shares / shares.sum())
    with pq.ParquetWriter(path, pa.schema([("id", pa.int64()), ("x", pa.float64())])) as writer:
        for start in range(0, n, CHUNK):
            size = min(CHUNK, n - start)
            ids = np.minimum(np.searchsorted(ends, rng.random(size)), number - 1)
            writer.write_table(pa.table({"id": ids, "x": rng.lognormal(size=size)}))


def write_regression(path: Path, n: int) -> None:
    """Ten correlated predictors on scales from 1e-3 to 1e4, and a response whose every coefficient matters alike."""
    rng = np.random.default_rng(0)
    scales = 10.0 ** np.linspace(-3, 4, PREDICTORS)
    mixed = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(PREDICTORS), np.arange(PREDICTORS))))
    names = [*(f"x{i}" for i in range(PREDICTORS)), "y"]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for start in range(0, n, CHUNK):
            x = rng.normal(size=(min(CHUNK, n - start), PREDICTORS)) @ mixed.T
            y = 1 + x.sum(axis=1) + rng.normal(size=len(x))
            writer.write_table(pa.table(dict(zip(names, [*(x * scales + scales).T, y], strict=True))))


def alone(task: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a task in a fresh process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(task, *arguments).result()


def ours(path: str, statistic: str) -> tuple[float, float]:
    """Best seconds of a release, and the peak of the process in GB."""

    def release() -> None:
        column = open_table(path, memory=MEMORY, threads=THREADS).column("x")
        assert getattr(uptack, statistic)(column, epsilon=1.0)

    return best_seconds(release, ROUNDS), peak()


def peoples(path: str, statistic: str) -> tuple[float, float]:
    """The same of a release with people as the unit."""

    def release() -> None:
        column = open_table(path, person="id", memory=MEMORY, threads=THREADS).column("x")
        assert getattr(uptack, statistic)(column, epsilon=1.0, adjacency=uptack.SUBSTITUTE.by_person("id"))

    return best_seconds(release, ROUNDS), peak()


def duckdbs(path: str, statistic: str) -> tuple[float, float]:
    """The same of DuckDB's exact quantiles."""
    import duckdb

    con = duckdb.connect(config={"threads": THREADS})
    query = f"SELECT quantile_cont(x, {LEVELS[statistic]}) FROM '{path}'"
    return best_seconds(lambda: con.execute(query).fetchall(), ROUNDS), peak()


def streamed(path: str, statistic: str) -> tuple[float, float]:
    """Seconds of one release of all columns, and the peak of the process in GB."""
    return best_seconds(lambda: of_all_columns(open_table(path, memory=MEMORY, threads=THREADS), statistic), 1), peak()


def of_all_columns(rows: Any, statistic: str) -> None:
    """One release."""
    session = uptack.open(rows)
    assert session.scatter(epsilon=1.0) if statistic == "scatter" else session.regression("y", epsilon=1.0)


def normal_equations(path: str) -> tuple[float, float]:
    """The same of least squares without privacy, in one pass."""

    def fit() -> None:
        total = np.zeros((PREDICTORS + 2, PREDICTORS + 2))
        for batch in pq.ParquetFile(path).iter_batches(1 << 17):
            a = np.vstack([np.ones(batch.num_rows), *(column.to_numpy() for column in batch.columns)])
            total += a @ a.T
        scale = np.sqrt(np.diag(total))
        matrix = total / np.outer(scale, scale)
        assert np.isfinite(np.linalg.solve(matrix[:-1, :-1], matrix[:-1, -1])).all()

    return best_seconds(fit, 1), peak()


def spark_session() -> Any:
    """Spark on this machine, with two workers."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{THREADS}]").config("spark.ui.enabled", "false")
    return builder.config("spark.driver.memory", "4g").config("spark.log.level", "ERROR").getOrCreate()


def streamed_on_spark(path: str, statistic: str) -> tuple[float, float]:
    """Seconds of one release of all columns on Spark, and the peak of the driver's Python in GB."""
    session = spark_session()
    seconds = best_seconds(lambda: of_all_columns(open_table(session.read.parquet(path)), statistic), 1)
    session.stop()
    return seconds, peak()


def on_spark(path: str) -> dict[str, tuple[float, float]]:
    """Best seconds of releases on Spark, and of its approximate percentiles."""
    session, found = spark_session(), {}
    for statistic, levels in LEVELS.items():

        def release(statistic: str = statistic) -> None:
            assert getattr(uptack, statistic)(open_table(session.read.parquet(path)).column("x"), epsilon=1.0)

        def approximate(levels: list[float] = levels) -> None:
            array = ", ".join(map(str, levels))
            session.read.parquet(path).selectExpr(f"percentile_approx(x, array({array}))").collect()

        found[statistic] = best_seconds(release, 2), best_seconds(approximate, 2)
    session.stop()
    return found


def peak() -> float:
    """All memory that this process ever had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9


def rows(folder: Path, sizes: tuple[int, ...], spark: int) -> Iterator[Row]:
    """Every statistic at every size; the exponent says by what power of n the time grew from the size before."""
    before: dict[str, float] = {}
    for n in sizes:
        path = folder / f"{n}.parquet"
        write(path, n)
        for statistic in LEVELS:
            seconds, gigabytes = alone(ours, str(path), statistic)
            exact, exact_gigabytes = alone(duckdbs, str(path), statistic)
            growth = math.log10(seconds / before[statistic]) if statistic in before else None
            before[statistic] = seconds
            yield row("DuckDB", statistic, n, seconds, exact, WANTED_RATIO if n == max(sizes) else None) | {
                "GB": gigabytes,
                "GB wanted": WANTED_GB,
                "engine's GB": exact_gigabytes,
                "exponent": growth,
                "exponent wanted": None if growth is None else WANTED_EXPONENT,
            }
        path.unlink()
    if spark:
        path = folder / "spark.parquet"
        write(path, spark)
        for statistic, (seconds, exact) in alone(on_spark, str(path)).items():
            empty = dict.fromkeys(("GB", "GB wanted", "engine's GB", "exponent", "exponent wanted"))
            yield row("Spark", statistic, spark, seconds, exact, WANTED_RATIO) | empty


def rows_of_people(folder: Path, sizes: tuple[int, ...]) -> Iterator[Row]:
    """Releases for people beside those for rows, of the same file."""
    for n in sizes:
        path = folder / f"people-{n}.parquet"
        write_people(path, n)
        for statistic in LEVELS:
            plain, _ = alone(ours, str(path), statistic)
            seconds, gigabytes = alone(peoples, str(path), statistic)
            made = {"release": statistic, "n": n, "people": n // ROWS_EACH, "seconds": seconds, "rows as unit": plain}
            wanted = {"ratio wanted": WANTED_FOR_PEOPLE if n == max(sizes) else None}
            yield (
                with_ratios(made, "seconds", {"rows as unit": "ratio"})
                | wanted
                | {
                    "GB": gigabytes,
                    "GB wanted": WANTED_GB,
                }
            )
        path.unlink()


def rows_of_regressions(folder: Path, sizes: tuple[int, ...], spark: int) -> Iterator[Row]:
    """Releases of all columns of a table, beside one pass without privacy."""
    runs = [("DuckDB", streamed, n) for n in sizes] + ([("Spark", streamed_on_spark, spark)] if spark else [])
    for engine, task, n in runs:
        path = folder / f"regression-{n}.parquet"
        write_regression(path, n)
        plain, plain_gigabytes = alone(normal_equations, str(path))
        for statistic in ("linear_regression", "scatter"):
            seconds, gigabytes = alone(task, str(path), statistic)
            made = {"engine": engine, "release": statistic, "n": n, "seconds": seconds, "one pass of OLS": plain}
            memory = {"GB": gigabytes, "GB wanted": WANTED_GB, "OLS's GB": plain_gigabytes}
            yield with_ratios(made, "seconds", {"one pass of OLS": "ratio"}) | memory
        path.unlink()


def row(engine: str, statistic: str, n: int, seconds: float, exact: float, wanted: float | None) -> dict[str, Any]:
    made = {"engine": engine, "release": statistic, "n": n, "seconds": seconds, "engine's own": exact}
    return with_ratios(made, "seconds", {"engine's own": "ratio"}) | {"ratio wanted": wanted}


def main() -> None:
    parser = argparse.ArgumentParser(description="Releases from large tables.")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--people", action="store_true", help="rows that belong to people, beside rows as the unit")
    parser.add_argument("--regression", action="store_true", help="releases of eleven columns, in batches")
    parser.add_argument("--rows", type=int, help="this many rows instead, of a regression")
    parser.add_argument("--no-spark", action="store_true", help="leave Spark out, which needs Java")
    options = parser.parse_args()
    part = 10 if options.quick else 1
    with tempfile.TemporaryDirectory() as folder:
        spark = 0 if options.no_spark else ON_SPARK // part
        sizes = tuple(n // part for n in SIZES)
        if options.regression:
            wanted = (options.rows,) if options.rows else tuple(n // part for n in OF_REGRESSIONS)
            found = list(rows_of_regressions(Path(folder), wanted, min(spark, *wanted, 10**7)))
        else:
            found = list(rows_of_people(Path(folder), sizes) if options.people else rows(Path(folder), sizes, spark))
    rounds = 1 if options.regression else ROUNDS
    print(f"Releases at ε = 1 from Parquet, best of {rounds}; {THREADS} threads, DuckDB told to keep to {MEMORY}.\n")
    print(table(found))
    if options.json:
        write_json(options.json, found, machine("uptack", "duckdb", "ibis-framework", "pyspark", "pyarrow"))
        print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
