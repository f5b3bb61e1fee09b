"""The file of a ledger. It must have one path, and the lock must be on the file and not on a name.

SQLite keeps the journal of a transaction *beside* the file, under the file's name. A process that comes to the same
file by another name finds no journal. After a crash it would read half a transaction, and the journal would later undo
what it wrote. A write-ahead log is worse: its lock lies beside the file too, so two names make two locks. Hence:

- Symbolic links are followed first: they end at one name.
- A file with several hard links is refused, whenever it is opened: a link may be made at any time.
- A file that is a mount by itself is refused: it has another name elsewhere. A folder that is mounted twice is fine,
  since the journals in it are the same files.
- There is a rollback journal and no write-ahead log, so that all locks are on the file itself: a process that came by
  another name before these checks could see it still waits for the others.
- After a commit the name must still lead to the file that was opened. Otherwise the debit went into a file that
  will never be read again, and counts as not made.

The file is looked at by its name only and never opened here: POSIX gives up all locks of a process on a file as soon as
that process closes any handle to it, SQLite's own included.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from uptack import checks
from uptack.errors import InvalidArgument, LedgerError

MOUNTS = Path("/proc/self/mountinfo")
"""Where Linux lists what is mounted. Elsewhere single files are not mounted."""

Identity = tuple[int, int]
"""The identity of a file, whatever its name: its device and its inode."""


def resolved(place: str | Path) -> Path:
    """The resolved path of an existing or a new file."""
    if str(place) in ("", ".", ":memory:"):
        raise InvalidArgument("place", "the path of a file, or a URL", checks.describe(str(place)))
    try:
        path = Path(place).resolve()
        is_folder, has_folder = path.is_dir(), path.parent.is_dir()
    except (OSError, RuntimeError, ValueError):
        raise LedgerError(str(place), "is not a valid path") from None
    if is_folder:
        raise LedgerError(str(path), "is a directory", "Pass the path of a file in it.")
    if not has_folder:
        raise LedgerError(str(path), "is in a directory that does not exist", f"Create {path.parent} first.")
    return path


def identity(path: Path) -> Identity | None:
    """The identity of the file of that name; None if there is none yet. A file with other names is refused."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(str(path), f"can't be used: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(str(path), "is not a file", "Pass the path of a ledger, or of a new file.")
    if found.st_nlink > 1:
        raise LedgerError(
            str(path), "has several names (hard links)", "Remove all but one of them. A budget must have one file."
        )
    if is_mount(path):
        raise LedgerError(
            str(path),
            "is mounted as a single file",
            "Mount its folder instead, because the journal lies beside the file.",
        )
    return found.st_dev, found.st_ino


def is_mount(path: Path) -> bool:
    """Whether this path itself is a mount. The kernel writes blanks as a backslash and three octal digits."""
    try:
        lines = MOUNTS.read_bytes().splitlines()
    except OSError:
        return False
    points = (re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), line.split()[4]) for line in lines)
    return os.fsencode(path) in points
