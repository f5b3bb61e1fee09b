"""A PostgreSQL server for tests, thrown away afterwards."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def postgres_server() -> Iterator[tuple[str, Path]]:
    """Its address, and its folder.

    Root starts it as another user, who must be able to enter the folder. Folders of pytest are closed to others
    whenever another run of pytest starts.
    """
    pgserver = pytest.importorskip("pgserver")
    with tempfile.TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True) as name:
        folder = Path(name) / "data"
        server = pgserver.get_server(folder, cleanup_mode="delete")
        try:
            yield server.get_uri(), folder
        finally:
            server.cleanup()
