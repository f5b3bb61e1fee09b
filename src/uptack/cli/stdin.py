"""Rows from standard input, kept only while the command runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

HANDLES = Path("/proc/self/fd")
"""Where Linux lets a process reopen a file that it has open, even one without a name."""


@contextmanager
def standard_input(stream: BinaryIO) -> Iterator[Path]:
    """The path of a CSV file with the content of the stream, in a folder that only this user may enter.

    If the system allows it, the rows never have a name on the disk, and the path is a link that works in this process
    alone. So they are gone when the process ends, however it ends. On other systems they are removed when the command
    ends or is stopped (Ctrl-C, SIGTERM, SIGHUP: `uptack.cli.main.run`). Only a killed process can leave them behind.
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
    """Whether the link opens this file."""
    try:
        return os.path.samestat(link.stat(), os.fstat(handle))
    except OSError:
        return False
