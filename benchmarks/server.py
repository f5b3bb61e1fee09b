"""Requests per second of a server, and how long they take: plans, releases, and questions to a released function.

The yardstick is the same release in a bare session of the same process, with the same ledger. Each line is one number
of clients that ask one after the other for a few seconds; the last column is the 99th percentile. A second table has
the rank correlation of the time of an answer with |noise| and with the table (one of two neighbours), with and without
time slots.

    python benchmarks/server.py --seconds 5 --json out/server.json
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
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
from uptack.server.service import Service

ROWS = 20_000
BUDGET = 10**7
PLACE = "/api/datasets/t"
CLIENTS = (1, 10, 50)


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
                status = run(http)
                assert status == 200, status
                times.append(time.perf_counter() - start)

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(times) / (time.perf_counter() - start), float(np.quantile(times, 0.99))


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
    rng = np.random.default_rng(1)
    rows = rng.random(ROWS)
    other = np.concatenate([[1e9], rows[1:]])
    body = {"columns": ["x"], "options": {"epsilon": "1/2"}}
    with tempfile.TemporaryDirectory() as name:
        for slots in (False, True):
            seconds = 0.3 if slots else None
            with (
                Running(Path(name), rows, slots=slots, seconds=seconds) as one,
                Running(Path(name), other, slots=slots, seconds=seconds) as two,
            ):
                times, sizes, which = [], [], []
                clients = [httpx.Client(base_url=s.url, headers=s.headers, timeout=60) for s in (one, two)]
                for number in range(count):
                    start = time.perf_counter()
                    made = clients[number % 2].post("/api/datasets/t/releases/mean", json=body).json()
                    times.append(time.perf_counter() - start)
                    value = made["result"]["value"]
                    sizes.append(0.0 if value is None else abs(value - 0.5))
                    which.append(number % 2)
                late = sum(t > 2 * seconds for t in times) if seconds else None
                yield {
                    "answers": "at time slots" if slots else "at once",
                    "releases": count,
                    "|ρ| with |noise|": abs(float(stats.spearmanr(times, sizes).statistic)),
                    "|ρ| with the table": abs(float(stats.spearmanr(times, which).statistic)),
                    "beyond the first slot": late,
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--timed", type=int, default=400, help="releases of the table of times")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rates, times = list(speed(options.seconds)), list(timing(options.timed))
    print(table(rates))
    print(table(times))
    if options.json:
        write_json(options.json, [*rates, *times], machine("uptack", "fastapi", "uvicorn"))


if __name__ == "__main__":
    main()
