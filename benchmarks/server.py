"""Requests per second of a server, and how long they take: plans, releases, and questions to a released function.

The yardstick is the same release in a bare session of the same process, with the same ledger. Each line is one number
of clients that ask one after the other for a few seconds; the last column is the 99th percentile. A second table has
the rank correlation of the time of an answer with |noise| and with the table (one of two neighbours), with and without
time slots, and the standard error that it has without any correlation. No release is left out of it.

    python benchmarks/server.py --seconds 5 --json out/server.json

The second table alone, with enough releases to see a correlation of 0.02, its files in memory:

    TMPDIR=/dev/shm python benchmarks/server.py --seconds 0 --timed 20000 --json out/server_timing.json

With `--slots` it measures instead how long releases take, with the debit, beside the first slot that they would have.
`SECONDS_PER_COLUMN` and `SECONDS_PER_CELL` are chosen from it: less than 1% of the releases should take longer.

    python benchmarks/server.py --slots --json out/server_slots.json
"""

from __future__ import annotations

import argparse
import functools
import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import uvicorn
from common import Row, machine, table, write_json
from scipy import stats

import uptack as ut
from uptack.server.app import create_app
from uptack.server.config import DatasetConfig, ServerConfig
from uptack.server.service import Caller, Service
from uptack.server.time_slots import TimeSlots

ROWS = 20_000
BUDGET = 10**7
PLACE = "/api/datasets/t"
CLIENTS = (1, 10, 50)
TIMED_CLIENTS, TIMED_SLOT, TIMED_ROWS = 16, 0.5, 2_000
"""Clients of the table of times, half of them at each neighbour, its first slot in s, and its rows: 32 releases a
second, of little work each, so that thousands fit into minutes and few miss their slot."""
SIZES = (2_000, 100_000, 1_000_000)
COMMON: dict[str, tuple[list[str], dict[str, Any]]] = {
    "count": (["flag"], {}),
    "mean": (["x"], {}),
    "median": (["x"], {"interval": 0.95}),
    "quantile": (["x"], {"p": [0.1, 0.25, 0.5, 0.75, 0.9]}),
    "std": (["x"], {}),
    "histogram": (["ward"], {"keys": ["A", "B", "C", "D", "E"]}),
    "correlation": (["x", "y"], {}),
    "mean_difference": (["x", "ward"], {"groups": ["A", "B"]}),
    "linear_regression": (["y", "x", "age"], {"epsilon": 8}),
    "report": ([], {"delta": "1/1000000"}),
}
"""What people ask for, with columns and options."""


class Running:
    """A server in a thread of this process."""

    def __init__(self, folder: Path, rows: np.ndarray[Any, Any], *, slots: bool, seconds: float | None = None) -> None:
        path = folder / f"t{slots}{seconds}{rows[0]}.parquet"
        pq.write_table(pa.table({"x": rows}), path)
        dataset = DatasetConfig("t", str(path), BUDGET, "1/10", seconds=seconds)
        config = ServerConfig((dataset,), f"{path}.db", slots=slots, requests_per_second=1e9, requests_at_once=100)
        self.service = Service(config)
        self._server = uvicorn.Server(
            uvicorn.Config(create_app(self.service), port=0, log_level="error", access_log=False)
        )
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.headers = {"Authorization": f"Bearer {self.service.store.issue('ann', 'analyst')}"}

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()


def together(works: list[Callable[[], None]]) -> float:
    """Do all of it, each in a thread of its own: the seconds that it took."""
    start = time.perf_counter()
    with ThreadPoolExecutor(len(works)) as threads:
        for done in [threads.submit(work) for work in works]:
            done.result()
    return time.perf_counter() - start


def load(
    run: Callable[[httpx.Client], int], clients: int, url: str, headers: Any, seconds: float
) -> tuple[float, float]:
    """Replies per second of so many clients, and the 99th percentile of their times in seconds."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    def ask() -> None:
        with httpx.Client(base_url=url, headers=headers, timeout=120) as http:
            while time.perf_counter() < end:
                start = time.perf_counter()
                while (status := run(http)) == 503:  # the server is busy: ask again
                    time.sleep(0.05)
                assert status == 200, status
                times.append(time.perf_counter() - start)

    took = together([ask] * clients)
    return len(times) / took, float(np.quantile(times, 0.99))


def speed(seconds: float) -> Iterator[Row]:
    """Replies per second."""
    rows = np.random.default_rng(0).normal(size=ROWS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(pa.table({"x": rows}), folder / "bare.parquet")
        session = ut.open(folder / "bare.parquet", ledger=ut.Ledger(folder / "bare.db", BUDGET, "1/10"))
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            session["x"].mean(epsilon=1)
            count += 1
        bare = count / (time.perf_counter() - start)
        yield {"what": "mean in a bare session", "clients": 1, "per second": bare, "over bare": 1.0, "99%, s": None}
        body = {"columns": ["x"], "options": {"epsilon": 1}}
        curve = {"columns": ["x"], "options": {"epsilon": 1, "delta": 1e-6}}
        for slots in (False, True):
            with Running(folder, rows, slots=slots) as server:
                made = httpx.post(
                    f"{server.url}{PLACE}/releases/kde", json=curve, headers=server.headers, timeout=60
                ).json()
                asks: dict[str, Callable[[httpx.Client], int]] = {
                    "plan": lambda http: http.post(f"{PLACE}/plans/mean", json=body).status_code,
                    "mean": lambda http: http.post(f"{PLACE}/releases/mean", json=body).status_code,
                    "function at 100 points": lambda http, id=made["id"]: (
                        http.get(f"/api/releases/{id}/at", params={"x": list(range(100))}).status_code
                    ),
                }
                for what, ask in asks.items() if not slots else [("mean", asks["mean"])]:
                    for clients in CLIENTS:
                        rate, slow = load(ask, clients, server.url, server.headers, seconds)
                        label = f"{what}, {'with' if slots else 'without'} time slots" if what == "mean" else what
                        yield {
                            "what": label,
                            "clients": clients,
                            "per second": rate,
                            "over bare": rate / bare,
                            "99%, s": slow,
                        }


def timing(count: int) -> Iterator[Row]:
    """Rank correlations of the time of an answer with the size of its noise, and with which of two tables it is of."""
    rows = np.random.default_rng(1).random(TIMED_ROWS)
    other = np.concatenate([[1e9], rows[1:]])
    with tempfile.TemporaryDirectory() as name:
        for slots in (False, True):
            seconds = TIMED_SLOT if slots else None
            many = count if slots else min(count, 2_000)
            with (
                Running(Path(name), rows, slots=slots, seconds=seconds) as one,
                Running(Path(name), other, slots=slots, seconds=seconds) as two,
            ):
                took, times, sizes, which = timed([one, two], many)
            yield {
                "answers": "at time slots" if slots else "at once",
                "releases": len(times),
                "in s": took,
                "|ρ| with |noise|": abs(float(stats.spearmanr(times, sizes).statistic)),
                "|ρ| with the table": abs(float(stats.spearmanr(times, which).statistic)),
                "standard error of ρ": 1 / (len(times) - 1) ** 0.5,
                "beyond the first slot": sum(t > 1.5 * seconds for t in times) if seconds else None,
            }


def timed(servers: list[Running], count: int) -> tuple[float, list[float], list[float], list[int]]:
    """The seconds of all releases together, and for each its seconds, the size of its noise, and whose it is.

    The noise of an answer is its distance from the median of the answers about its table; ⊥ has none.
    """
    times, values, whose = list[float](), list[float](), list[int]()
    numbers, lock = itertools.count(), threading.Lock()

    def ask(which: int) -> None:
        body = {"columns": ["x"], "options": {"epsilon": "1/2"}}
        with httpx.Client(base_url=servers[which].url, headers=servers[which].headers, timeout=120) as http:
            while next(numbers) < count:
                start = time.perf_counter()
                value = http.post(f"{PLACE}/releases/mean", json=body).json()["result"]["value"]
                took = time.perf_counter() - start
                with lock:
                    times.append(took)
                    values.append(np.nan if value is None else value)
                    whose.append(which)

    took = together([functools.partial(ask, number % len(servers)) for number in range(TIMED_CLIENTS)])
    made, of = np.array(values), np.array(whose)
    centres = np.array([np.nanmedian(made[of == which]) for which in range(len(servers))])
    return took, times, np.nan_to_num(abs(made - centres[of])).tolist(), whose


class TimedService(Service):
    """A service that knows how long each of its releases took, with the debit."""

    times: list[float]

    def _make(self, job: Any) -> Any:
        start = time.perf_counter()
        made = super()._make(job)
        self.times.append(time.perf_counter() - start)
        return made

    def measure(self, statistic: str, body: Any, seconds: float, least: int, clients: int) -> np.ndarray[Any, Any]:
        """The seconds of releases that some clients ask for at once."""
        self.times, numbers, end = [], itertools.count(), time.perf_counter() + seconds

        def ask() -> None:
            while (number := next(numbers)) < least or time.perf_counter() < end:
                record = self.ask(Caller("ann", "analyst"), "t", statistic, body, f"{statistic} {number}")
                assert not isinstance(record, ut.NoReply), statistic
                if (running := self.running(record)) is not None:
                    running.result()

        together([ask] * clients)
        assert not self.store.list_releases(state="withheld"), statistic
        return np.array(self.times)


def durations(seconds: float, least: int, clients: int) -> Iterator[Row]:
    """How long releases take without slots, beside the first slot that they would have."""
    rng = np.random.default_rng(2)
    for rows in SIZES:
        with tempfile.TemporaryDirectory() as name:
            x, ward = np.exp(rng.normal(3, 0.6, rows)), np.array(list("ABCDE"))[rng.integers(0, 5, rows)]
            columns = {"x": x, "y": x + rng.normal(size=rows), "age": rng.integers(0, 95, rows)}
            pq.write_table(pa.table({**columns, "ward": ward, "flag": x > 25}), Path(name) / "t.parquet")
            dataset = DatasetConfig("t", str(Path(name) / "t.parquet"), BUDGET, "1/10")
            service = TimedService(ServerConfig((dataset,), str(Path(name) / "t.db"), slots=False))
            for statistic, (read, options) in COMMON.items():
                body = {"columns": read, "options": {"epsilon": 1, **options}}
                request = body if read else {"options": body["options"]}
                times = service.measure(statistic, request, seconds, least, clients)
                first = TimeSlots.of(rows, len(read) or len(columns) + 2).first
                yield {
                    "statistic": statistic,
                    "rows": rows,
                    "clients": clients,
                    "releases": times.size,
                    "median, s": float(np.median(times)),
                    "99%, s": float(np.quantile(times, 0.99)),
                    "max, s": float(times.max()),
                    "first slot, s": first,
                    "beyond it": float(np.mean(times > first)),
                }
            service.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each line; 0 for none")
    parser.add_argument("--timed", type=int, default=4000, help="releases of the table of times; 0 for none")
    parser.add_argument("--slots", action="store_true", help="how long releases take, to choose the first slot")
    parser.add_argument("--least", type=int, default=100, help="releases of each line of --slots, at least")
    parser.add_argument("--clients", type=int, default=1, help="who ask at once, for --slots")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.slots:
        measures = [durations(options.seconds, options.least, options.clients)]
    else:
        measures = [speed(options.seconds)] if options.seconds else []
        measures += [timing(options.timed)] if options.timed else []
    tables = []
    for rows in measures:
        tables.append(list(rows))
        print(table(tables[-1]), flush=True)
    if options.json:
        write_json(options.json, [row for made in tables for row in made], machine("uptack", "fastapi", "uvicorn"))


if __name__ == "__main__":
    main()
