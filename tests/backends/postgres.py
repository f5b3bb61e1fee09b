"""A throw-away PostgreSQL server for tests: `from tests.backends.postgres import postgres_url` and take the fixture."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

USER = "postgres"


class NoServer(Exception):
    """Why no server could be started."""


def _programs() -> Path:
    """Where initdb and pg_ctl are: on the path, or where Debian and Ubuntu put the newest version."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name), reverse=True)
    for folder in folders:
        if (folder / "pg_ctl").exists() and (folder / "initdb").exists():
            return folder
    raise NoServer("PostgreSQL is not installed")


def _run(*command: object) -> None:
    """Run as the user postgres where we are root, which PostgreSQL refuses to run as."""
    words = [str(word) for word in command]
    if os.geteuid() == 0:
        words = ["runuser", "-u", USER, "--", *words]
    try:
        subprocess.run(words, check=True, timeout=60, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoServer(f"{Path(str(command[0])).name} failed: {error}") from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a fresh cluster in a temporary directory, stopped and removed at the end, or `NoServer`."""
    if not hasattr(os, "geteuid"):
        raise NoServer("starting a server is written for Unix")
    programs, port = _programs(), _free_port()
    home = Path(tempfile.mkdtemp(prefix="uptack-postgres-"))
    data = home / "data"
    try:
        if os.geteuid() == 0:
            try:
                shutil.chown(home, USER)
            except LookupError as error:
                raise NoServer("we are root, and there is no user postgres to run the server as") from error
        _run(programs / "initdb", "-D", data, "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
        options = f"-p {port} -k {home} -c listen_addresses=127.0.0.1 -c fsync=off"
        _run(programs / "pg_ctl", "start", "-w", "-D", data, "-l", home / "log", "-o", options)
        try:
            yield f"postgresql+psycopg://{USER}@127.0.0.1:{port}/postgres"
        finally:
            _run(programs / "pg_ctl", "stop", "-D", data, "-m", "immediate")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a server for the whole session; tests that need it are skipped where there can't be one."""
    pytest.importorskip("psycopg")
    server = postgres_server()
    try:
        url = server.__enter__()
    except NoServer as reason:
        pytest.skip(f"no PostgreSQL: {reason}")
    try:
        yield url
    finally:
        server.__exit__(None, None, None)
