"""A progress line for long work, on standard error, if that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 1.0
"""Seconds of silence before the line appears: short work shows nothing."""


def track(items: Iterable[T], label: str, *, show: bool | None = None, total: int | None = None) -> Iterator[T]:
    """The items, with a line that shows the progress. `show=None` shows it if standard error is a terminal.

    >>> list(track(range(3), "counting"))
    [0, 1, 2]
    """
    wanted = sys.stderr.isatty() if show is None else show
    count = total if total is not None else len(items) if isinstance(items, Sized) else None
    start, shown = time.monotonic(), False
    for done, item in enumerate(items):
        if wanted and time.monotonic() - start > PATIENCE:
            _show(label, done, count)
            shown = True
        yield item
    if shown:
        sys.stderr.write("\r\x1b[K")


def _show(label: str, done: int, count: int | None) -> None:
    if count:
        filled = 30 * done // count
        line = f"{label} [{'█' * filled}{' ' * (30 - filled)}] {done}/{count}"
    else:
        line = f"{label} {done}"
    sys.stderr.write(f"\r{line}\x1b[K")
    sys.stderr.flush()
