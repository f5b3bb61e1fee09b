"""Time and memory of `uptack report`: the bundled sample, and 10 million rows of 5 columns in a Parquet file.

Each report is a process of its own, as a user runs it; the peak is that of its resident memory. Beside it, in the same
run: the same figures without privacy, by DuckDB's exact quantiles, averages, counts and a histogram as a density.

    python benchmarks/report.py --json out/report.json
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import Ratio, Row, machine, table, write_json

from uptack.samples import path as sample

CHUNK = 10**6
PLAIN = """
import sys, duckdb
con = duckdb.connect()
reader = "read_csv" if sys.argv[1].endswith(".csv") else "read_parquet"
rows = con.sql(f"from {reader}('{sys.argv[1]}')")
for name, kind in zip(rows.columns, rows.types):
    if str(kind) == "VARCHAR":
        con.sql(f'select "{name}", count(*) from rows group by 1').fetchall()
    elif str(kind) != "BOOLEAN":
        con.sql(f'select quantile_cont("{name}", [0.25, 0.5, 0.75]), avg("{name}") from rows').fetchall()
        con.sql(f'select histogram("{name}") from (select round("{name}") as "{name}" from rows)').fetchall()
"""


def make_parquet(path: Path, rows: int) -> None:
    """Four columns of numbers and one of texts, written in chunks."""
    rng, writer = np.random.default_rng(1), None
    for start in range(0, rows, CHUNK):
        size = min(CHUNK, rows - start)
        chunk = pa.table(
            {
                "age": rng.integers(0, 100, size),
                "cost": rng.lognormal(6, 1, size),
                "wait": rng.exponential(40, size),
                "score": rng.normal(size=size),
                "ward": pa.array(rng.choice(["north", "south", "east", "west"], size)),
            }
        )
        writer = writer or pq.ParquetWriter(path, chunk.schema)
        writer.write_table(chunk)
    if writer is not None:
        writer.close()


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds, and the peak of resident memory in GB, of a process."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{command[:4]} ended with status {status}")
    return seconds, usage.ru_maxrss / 2**20


def row(name: str, path: Path, rows: int, folder: Path) -> Row:
    report = [sys.executable, "-m", "uptack", "report", str(path), "--epsilon", "2", "-o", str(folder / "report.html")]
    seconds, peak = measured(report)
    plain, plain_peak = measured([sys.executable, "-c", PLAIN, str(path)])
    return {
        "table": name,
        "rows": rows,
        "report, s": seconds,
        "DuckDB, not private, s": plain,
        "times": Ratio(seconds / plain),
        "peak, GB": peak,
        "DuckDB's peak, GB": plain_peak,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--rows", type=int, default=10**7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large = folder / "large.parquet"
        make_parquet(large, arguments.rows)
        rows = [row("health (CSV)", sample("health"), 20_190, folder), row("5 columns", large, arguments.rows, folder)]
    print(table(rows))
    if arguments.json:
        write_json(arguments.json, rows, machine("uptack", "duckdb", "numpy"))


if __name__ == "__main__":
    main()
