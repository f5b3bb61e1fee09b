"""Rows from standard input, kept for as long as the command runs and no longer."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

HANDLES = Path("/proc/self/fd")
"""Where Linux lets a process open once more what it has open, also when no name is left."""


@contextmanager
def kept(stream: BinaryIO) -> Iterator[Path]:
    """The path of a CSV file with what the stream holds, in a folder that only this user may enter.

    Where the system allows it, the rows have no name on the disk from the first byte on, and the path is a link that
    leads to them in this process alone. So they are gone when the process ends, however it ends. Elsewhere they
    are removed when the command ends or is asked to (Ctrl-C, SIGTERM, SIGHUP: `uptack.cli.main.run`), and nothing but
    a process that is killed outright can leave them behind.
    """
    with tempfile.TemporaryDirectory(prefix="uptack-") as folder, tempfile.TemporaryFile(dir=folder) as unnamed:
        path = Path(folder) / "stdin.csv"
        link = HANDLES / str(unnamed.fileno())
        if _leads_to(link, unnamed.fileno()):
            path.symlink_to(link)
            shutil.copyfileobj(stream, unnamed)
            unnamed.flush()
        else:
            with path.open("xb") as file:
                shutil.copyfileobj(stream, file)
        yield path


def _leads_to(link: Path, handle: int) -> bool:
    """Whether the link opens this very file."""
    try:
        return os.path.samestat(link.stat(), os.fstat(handle))
    except OSError:
        return False
