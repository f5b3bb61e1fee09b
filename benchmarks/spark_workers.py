"""One regression on a Spark cluster of two workers, and the same on DuckDB: the same coefficients, to the last bit.

Spark's own "local cluster" has a master and two workers, each with executors in processes of their own: rows and sums
go from one to the other as they do between machines. The table is one Parquet file with ten predictors, of which each
worker reads a part. It is fitted with rows as the unit and with people, ten rows each on average, which are
in both parts. The randomness is seeded, so that results can be compared. It needs Java.

    python benchmarks/spark_workers.py --json out/spark-workers.json
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import Row, machine, table, write_json
from scale import CHUNK, PREDICTORS, write_regression

import uptack
from uptack.table.opening import open_table

WORKERS, MEGABYTES, ROWS_EACH = 2, 1024, 10


def write(folder: Path, n: int) -> Path:
    """The table of the other benchmark, and whose rows they are."""
    plain, path, rng = folder / "plain.parquet", folder / "people.parquet", np.random.default_rng(1)
    write_regression(plain, n)
    kept = pq.ParquetFile(plain)
    with pq.ParquetWriter(path, pa.schema([("id", pa.int64()), *kept.schema_arrow])) as writer:
        for batch in kept.iter_batches(CHUNK // 8):
            ids = rng.integers(0, max(n // ROWS_EACH, 1), batch.num_rows)
            writer.write_table(pa.table({"id": ids, **dict(zip(batch.schema.names, batch.columns, strict=True))}))
    plain.unlink()
    return path


def cluster(folder: Path) -> Any:
    """A session on a cluster of this machine. What its workers write goes to the folder, not to Spark's own."""
    import pyspark
    from pyspark.sql import SparkSession

    home = folder / "spark"
    home.mkdir()
    for part in Path(pyspark.__file__).parent.iterdir():
        (home / part.name).symlink_to(part)
    os.environ |= {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    builder = SparkSession.builder.master(f"local-cluster[{WORKERS},1,{MEGABYTES}]").config("spark.ui.enabled", "false")
    settings = {
        "executor.memory": f"{MEGABYTES}m",
        "driver.memory": "2g",
        "log.level": "ERROR",
        "sql.shuffle.partitions": 2 * WORKERS,
        "executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    return builder.getOrCreate()


def in_parts(session: Any, path: Path, parts: int = WORKERS) -> Any:
    """The file in as many parts as there are workers, or in so many, in its order."""
    session.conf.set("spark.sql.files.maxPartitionBytes", -(-path.stat().st_size // parts))
    session.conf.set("spark.sql.files.openCostInBytes", 0)
    session.conf.set("spark.sql.files.minPartitionNum", 1)
    return session.read.parquet(str(path))


def workers(frame: Any) -> int:
    """How many executors have read rows: each has a folder of its own."""

    def place(batches: Iterator[Any]) -> Iterator[Any]:
        if sum(batch.num_rows for batch in batches):
            yield pa.RecordBatch.from_pydict({"place": [os.getcwd()]})

    return int(frame.mapInArrow(place, "place string").distinct().count())


def fitted(rows: Any, person: str | None) -> tuple[float, list[float]]:
    """Seconds of a release, and the coefficients."""
    session, start = uptack.open(open_table(rows), person=person, entropy=uptack.SeededEntropy(1)), time.perf_counter()
    found = session.regression("y", [f"x{i}" for i in range(PREDICTORS)], epsilon=1.0)
    return time.perf_counter() - start, found.value.tolist() if found else []


def rows(folder: Path, n: int) -> Iterator[Row]:
    """Both units."""
    path, session = write(folder, n), cluster(folder)
    frame = in_parts(session, path)
    for unit, person in (("rows", None), ("people", "id")):
        on_spark, on_duckdb = fitted(frame, person), fitted(str(path), person)
        same = on_spark[1] == on_duckdb[1] != []
        yield {"unit": unit, "n": n, "workers": workers(frame), "partitions": frame.rdd.getNumPartitions(),
               "seconds": on_spark[0], "DuckDB's": on_duckdb[0], "same to the last bit": same}  # fmt: skip
    session.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="One regression on two workers of Spark, and on DuckDB.")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--rows", type=int, default=10**6, help="of the table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(rows(Path(folder), options.rows))
    print("linear_regression at ε = 1 from Parquet, one run each.\n")
    print(table(found))
    if options.json:
        write_json(options.json, found, machine("uptack", "duckdb", "ibis-framework", "pyspark", "pyarrow"))
        print(f"\nNumbers: {options.json}")


if __name__ == "__main__":
    main()
