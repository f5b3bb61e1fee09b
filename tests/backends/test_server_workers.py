"""`uptack serve` with two worker processes: requests that race for one key are one release, with one debit."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

pytest.importorskip("fastapi")
import pyarrow as pa
import pyarrow.parquet as pq

from tests.postgres import postgres_server
from uptack.ledger import Ledger
from uptack.server.release_store import ReleaseStore

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM"),
    pytest.mark.xdist_group("server"),
]
ANALYSTS, TIMES = ("ann", "bob", "cy"), 6
LEAST = 3
"""Keys of each analyst, at least: there are more until both workers have answered."""
PLAIN = {"timeout": 60, "verify": False}
"""There is no TLS: no connection needs to read the certificates of the machine."""
CONFIG = """
store = "{store}"
port = {port}
workers = 2
slots = false
requests_per_second = 100000
requests_at_once = 100
[datasets.t]
source = "t.parquet"
epsilon = 100
"""


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


@contextlib.contextmanager
def serving(folder, store):
    """A server with two workers in processes of its own, and its address."""
    pq.write_table(pa.table({"x": np.random.default_rng(1).random(2000) < 0.3}), folder / "t.parquet")
    port = free_port()
    (folder / "server.toml").write_text(CONFIG.format(store=store, port=port))
    command = [sys.executable, "-m", "uptack", "serve", "server.toml"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)
        try:
            end = time.monotonic() + 180
            while not ready(f"http://127.0.0.1:{port}"):
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < end, (folder / "log").read_text()
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(60)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def ready(url):
    try:
        return httpx.get(f"{url}/ready", timeout=10, verify=False).status_code == 200
    except httpx.TransportError:
        return False


def ask(url, token, key, gate):
    """The answer to one request. Each has a connection of its own, so the workers share them out."""
    gate.wait(60)
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    body = {"columns": ["x"], "options": {"epsilon": "1/2"}}
    for _ in range(600):
        reply = httpx.post(f"{url}/api/datasets/t/releases/count", json=body, headers=headers, **PLAIN)
        if reply.status_code == 200:
            return reply.json()
        assert reply.status_code in (202, 429, 503), reply.text
        time.sleep(0.1)
    raise AssertionError("no answer")


def race(url, tokens, key, crowd):
    """Each analyst sends one key many times at once, and all copies have the same answer."""
    gate = threading.Barrier(len(ANALYSTS) * TIMES)
    jobs = [(name, crowd.submit(ask, url, tokens[name], key, gate)) for name in ANALYSTS * TIMES]
    for name in ANALYSTS:
        made = [job.result() for whose, job in jobs if whose == name]
        assert all(one == made[0] for one in made)
        assert made[0]["state"] == "answered"


def workers_that_answered(url, token):
    """How many processes have answered releases. Each counts its own, and a new connection reaches any of them."""
    counts, headers = set(), {"Authorization": f"Bearer {token}"}
    for _ in range(40):
        text = httpx.get(f"{url}/metrics", headers=headers, **PLAIN).text
        counts |= set(re.findall(r'releases/count",status="200"} (\d+)', text))
        if len(counts) == 2:
            break
    return len(counts)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_requests_that_race_between_workers_are_charged_once(kind, tmp_path):
    with contextlib.ExitStack() as stack:
        place = str(tmp_path / "store.db")
        if kind == "postgres":
            uri, _ = stack.enter_context(postgres_server())
            place = uri.replace("postgresql:", "postgresql+psycopg:", 1)
        url = stack.enter_context(serving(tmp_path, place))
        store = ReleaseStore(place)
        tokens = {name: store.issue(name, "analyst") for name in ANALYSTS}
        curator, crowd = store.issue("chen", "curator"), stack.enter_context(ThreadPoolExecutor(len(ANALYSTS) * TIMES))
        rounds = 0
        while rounds < LEAST or (workers_that_answered(url, curator) < 2 and rounds < 20):
            race(url, tokens, f"k{rounds}", crowd)
            rounds += 1
        assert workers_that_answered(url, curator) == 2
        records, ledger = store.list_releases(), Ledger(place, dataset="t")
        keys = sorted((name, f"k{i}") for name in ANALYSTS for i in range(rounds))
        assert sorted((one.analyst, one.key) for one in records) == keys
        assert sorted(line.analyst for line in ledger.history()) == [name for name, _ in keys]
        assert ledger.spent().exact_epsilon * 2 == len(keys)
        assert ledger.verify()
