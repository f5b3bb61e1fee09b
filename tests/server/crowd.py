"""Kill server processes while many analysts ask, and check that nothing is charged twice, lost or answered for free.

    python -m tests.server.crowd --kills 200 --analysts 50                 # SQLite
    python -m tests.server.crowd --kills 200 --analysts 50 --postgres      # PostgreSQL, which is restarted too

Analysts send requests with keys, again and again until each has an end (answered, withheld or refused), to whichever
server process is alive. Meanwhile processes are killed with SIGKILL and started again. Requests are small until the
last tenth of the kills, and larger from then on, so that answers are made until near the end and the budget is used up.
At the end:

- no answer without its debit, and no debit twice for one key: the price of each request is one that no other has;
- every answer that a client has seen is stored, unchanged;
- the budget is used up and not exceeded, and the chain of the ledger is intact.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import uvicorn

from tests.postgres import postgres_server
from uptack.ledger import Ledger
from uptack.server.app import ENVIRONMENT, app_from_environment
from uptack.server.config import DatasetConfig, ServerConfig
from uptack.server.release_store import ReleaseStore
from uptack.server.service import open_dataset
from uptack.wire import answers

EPSILON = 2
SMALL, LARGE = 40_000, 20
"""Requests are for 1/SMALL or less, and for 1/LARGE or less in the last tenth of the kills. It takes 80,000 small ones
or more to use up the budget, and 40 to 100 large ones."""
MOST_LOST = 100
"""Server processes that may end by themselves: a few do whenever PostgreSQL is restarted."""
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["uptack.server.app", "uptack.statistics", "uptack.discrete", "uptack.table.engine.table"])


def serve_on(port: int, config: str) -> None:
    """A server process, with everything imported by the process that it was forked from."""
    os.environ[ENVIRONMENT] = config
    uvicorn.run(app_from_environment(), host="127.0.0.1", port=port, log_level="error", access_log=False)


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


class Servers:
    """Server processes that are started again when they die."""

    def __init__(self, config: ServerConfig, count: int) -> None:
        self._config = config.to_text()
        self._lost, self.ports = 0, [free_port() for _ in range(count)]
        self._processes = [self._start(port) for port in self.ports]

    def _start(self, port: int) -> Any:
        process = FORKS.Process(target=serve_on, args=(port, self._config), daemon=True)
        process.start()
        return process

    def kill(self, place: int) -> None:
        """Kill a process at once, and start another."""
        self._processes[place].kill()
        self._processes[place].join()
        self._processes[place] = self._start(self.ports[place])

    def ready(self) -> int:
        """How many processes answer. One that has ended by itself, because its database was away, is started again."""
        count = 0
        for place, port in enumerate(self.ports):
            if not self._processes[place].is_alive():
                self._lost += 1
                assert self._lost < MOST_LOST, "server processes do not start"
                self._processes[place] = self._start(port)
            with contextlib.suppress(httpx.TransportError):
                count += httpx.get(f"http://127.0.0.1:{port}/ready", timeout=10, verify=False).status_code == 200
        return count

    def stop(self) -> None:
        """Kill all processes."""
        for process in self._processes:
            process.kill()
            process.join()


class Analyst(threading.Thread):
    """Sends requests, each with a key, until it has an end, whatever happens to the servers."""

    def __init__(self, name: str, token: str, ports: list[int], stop: threading.Event, seed: int) -> None:
        super().__init__(daemon=True)
        self.seen: dict[str, tuple[str, Any]] = {}
        self.prices: dict[str, Fraction] = {}
        self.least, self.refused = SMALL, False
        self.analyst, self._ports, self._stop_asking = name, ports, stop
        self._http = httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=30, verify=False)
        self._random = random.Random(seed)

    def run(self) -> None:
        """Ask until told to stop."""
        number = 0
        while not self._stop_asking.is_set():
            number += 1
            key = f"{self.analyst}-{number}"
            about = self._random.randint(self.least, 5 * self.least // 2)
            self.prices[key] = 1 / (about + Fraction(number, 10**6))
            body = {"columns": ["x"], "options": {"epsilon": str(self.prices[key])}}
            self.seen[key] = self._finish(key, body)
            if self.seen[key][0] == "refused":  # at once, so it would ask for nothing else
                self.refused = True
                time.sleep(1)

    def _finish(self, key: str, body: Any) -> tuple[str, Any]:
        while True:
            port = self._random.choice(self._ports)
            try:
                reply = self._http.post(
                    f"http://127.0.0.1:{port}/api/datasets/t/releases/count",
                    json=body,
                    headers={"Idempotency-Key": key},
                )
                content = reply.json()
            except (httpx.TransportError, ValueError):
                time.sleep(0.05)
                continue
            if reply.status_code in (200, 409) and content.get("state") != "running":
                return content.get("state", "refused"), content.get("result")
            if reply.status_code >= 500 and reply.status_code != 503:
                return f"HTTP {reply.status_code}", None
            time.sleep(0.05)


def run(
    kills: int, analysts: int, place: str, folder: Path, restart: Any = None, every: int = 2, processes: int = 2
) -> dict[str, Any]:
    """Kill, ask, and check. Raises AssertionError if anything was charged twice, lost or answered for free."""
    rng = np.random.default_rng(1)
    pq.write_table(pa.table({"x": rng.random(2000) < 0.3}), folder / "t.parquet")
    dataset = DatasetConfig("t", str(folder / "t.parquet"), EPSILON, seconds=0.1)
    config = ServerConfig((dataset,), place, requests_per_second=1e6)
    store = ReleaseStore(place)
    open_dataset(dataset, store)
    stop, servers = threading.Event(), Servers(config, processes)
    try:
        crowd = [Analyst(f"a{i}", store.issue(f"a{i}", "analyst"), servers.ports, stop, i) for i in range(analysts)]
        for one in crowd:
            one.start()
        chance = random.Random(7)
        for number in range(kills):
            for one in crowd if number >= 0.9 * kills - 1 else ():
                one.least = LARGE
            deadline = time.monotonic() + 60
            while servers.ready() < processes and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(chance.uniform(0.05, 0.6))
            if number % 20 == 0:
                print(f"{number} kills, {sum(len(one.seen) for one in crowd)} requests", file=sys.stderr, flush=True)
            servers.kill(number % processes)
            if restart is not None and number % every == every // 2:
                restart()
        deadline = time.monotonic() + 300
        while not all(one.refused for one in crowd) and time.monotonic() < deadline:
            time.sleep(0.1)
        stop.set()
        for one in crowd:
            one.join(120)
        assert not any(one.is_alive() for one in crowd), "an analyst waits for ever"
    finally:
        servers.stop()
    return check(store, Ledger(place, dataset="t"), crowd)


def check(store: ReleaseStore, ledger: Ledger, crowd: list[Analyst]) -> dict[str, Any]:
    """What must hold at the end."""
    records = {(one.analyst, one.key): one for one in store.list_releases(limit=1_000_000)}
    debits = Counter((line.analyst, line.cost.exact_epsilon) for line in ledger.history())
    states: Counter[str] = Counter()
    asked = set()
    for one in crowd:
        for key, (state, result) in one.seen.items():
            states[state] += 1
            asked.add((one.analyst, one.prices[key]))
            count = debits[one.analyst, one.prices[key]]
            assert count <= (state in ("answered", "withheld")), (key, state, count)
            if state != "answered":
                continue
            assert count == 1, "an answer without a debit"
            record = store.release(records[one.analyst, key].id)
            assert record.state == "answered", "an answer that was seen is not stored"
            made = answers.loads(record.answer).to_dict()
            assert json.loads(json.dumps(made)) == result, "a stored answer differs from the one that was seen"
    assert +debits <= Counter(asked), "a debit that nobody has asked for"
    assert ledger.verify(), ledger.verify()
    assert ledger.spent() <= ledger.budget
    assert states["answered"], states
    assert states["refused"], ("the budget was not used up", states)
    failures = {state: count for state, count in states.items() if state.startswith("HTTP")}
    assert not failures, failures
    return {
        "states": dict(states),
        "debits": sum(debits.values()),
        "spent": str(ledger.spent()),
        "chain": str(ledger.verify()),
    }


def crash_postgres(folder: Path) -> None:
    """Restart PostgreSQL as after a crash, without a checkpoint."""
    import pgserver

    command = [str(Path(pgserver.__file__).parent / "pginstall" / "bin" / "pg_ctl"), "-D", str(folder), "-w"]
    owner = folder.owner()
    as_owner = [] if os.getuid() else ["setpriv", f"--reuid={owner}", "--clear-groups"]
    subprocess.run([*as_owner, *command, "-m", "immediate", "restart", "-l", str(folder / "log")], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--analysts", type=int, default=50)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, start, every = Path(name), time.monotonic(), max(2, options.kills // 5)
        if options.postgres:
            with postgres_server() as (uri, data):
                url = uri.replace("postgresql:", "postgresql+psycopg:", 1)
                made = run(options.kills, options.analysts, url, folder, lambda: crash_postgres(data), every)
        else:
            made = run(options.kills, options.analysts, str(folder / "store.db"), folder)
        made |= {"kills": options.kills, "analysts": options.analysts, "seconds": round(time.monotonic() - start)}
    print(json.dumps(made, indent=2))
    if options.json:
        options.json.write_text(json.dumps(made))


if __name__ == "__main__":
    main()
