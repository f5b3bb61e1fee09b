"""Private folders for rows that are on a disk for a while: nobody else can look inside, and they go away.

An engine that runs out of memory spills rows to a disk, and a CSV file is copied when it is opened. Both go to a
folder that only its owner may enter (mode 0700). It is removed with the connection that it is for, or when Python ends.
A process that is killed can't do that. So each folder holds a lock for as long as its process lives, and the
next process of the same user removes the folders whose lock is free.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows: a folder of a process that was killed stays until the system clears its temporary files
    fcntl = None  # type: ignore[assignment]

PREFIX = "uptack-rows-"
LOCK = "lock"


def folder(owner: object) -> Path:
    """A new private folder that goes away with its owner."""
    path, lock = _new_folder()
    weakref.finalize(owner, _remove, path, lock, os.getpid())
    return path


@contextlib.contextmanager
def temporary() -> Iterator[Path]:
    """A new private folder for a while."""
    path, lock = _new_folder()
    try:
        yield path
    finally:
        _remove(path, lock, os.getpid())


def _new_folder() -> tuple[Path, int]:
    """A folder, and its lock, which this process holds."""
    sweep()
    made = Path(tempfile.mkdtemp(prefix="uptack-new-"))
    lock = os.open(made / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    if fcntl is not None:
        fcntl.flock(lock, fcntl.LOCK_EX)
    kept = made.with_name(f"{PREFIX}{uuid4().hex}")
    made.rename(kept)  # only now that it is locked may others take it for one to sweep
    return kept, lock


def _remove(path: Path, lock: int, process: int) -> None:
    if os.getpid() != process:
        return  # a fork must not remove what its parent still reads
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.close(lock)


def sweep() -> None:
    """Remove this user's folders that no process holds any more."""
    if fcntl is None:
        return
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            lock = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
