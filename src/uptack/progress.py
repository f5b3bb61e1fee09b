"""A progress line for long work, on standard error, if that is a terminal.

    columns [█████████                     ] 3/10 · age 1/4

It shows the current steps, the outermost first, and how many of the planned steps are done. Steps, their names and
their number are planned from public numbers before any row is read. Nothing in the line is counted from rows. So it
reveals only when a step ended, which anyone who waits can see anyway.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
Step = Callable[..., None]
PATIENCE = 1.0
"""Seconds before the line appears. Short work shows nothing."""
WIDTH = 30


@dataclass(eq=False)
class _Task:
    """Steps in sequence: the name of the current one, how many are done, and how many there are.

    Tasks are compared by identity, since two may have the same texts.
    """

    label: str
    count: int | None
    done: int = -1

    def step(self, label: str | None = None) -> None:
        self.done, self.label = self.done + 1, self.label if label is None else label

    def text(self, outermost: bool) -> str:
        label, done = "".join(sign if sign.isprintable() else "?" for sign in self.label), max(self.done, 0)
        if self.count == 1:
            return label
        if not self.count:
            return f"{label} {done}"
        filled = WIDTH * min(done, self.count) // self.count
        bar = f" [{'█' * filled}{' ' * (WIDTH - filled)}]" if outermost else ""
        return f"{label}{bar} {done}/{self.count}"


class _Line:
    """The tasks of one thread, drawn in one line. It also appears in the middle of a long step."""

    def __init__(self) -> None:
        self.tasks: list[_Task] = []
        self._start, self._shown, self._over = time.monotonic(), False, False
        self._lock, self._timer = threading.Lock(), threading.Timer(PATIENCE, self.draw, (True,))
        self._timer.daemon = True

    def begin(self) -> None:
        self._timer.start()

    def draw(self, now: bool = False) -> None:
        """Draw the current steps, unless the work may still be short."""
        with self._lock:
            if self._over or not (now or time.monotonic() - self._start >= PATIENCE):
                return
            parts = [task.text(place == 0) for place, task in enumerate(list(self.tasks))]
            text = " · ".join(parts)[: max(shutil.get_terminal_size().columns - 1, 1)]
            _write(f"\r{text}\x1b[K")
            self._shown = True

    def close(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._shown:
                _write("\r\x1b[K")


def _write(text: str) -> None:
    """Write, and ignore errors: a release that has been paid for must not depend on a progress line."""
    with suppress(OSError, ValueError, AttributeError):  # gone, closed or of another encoding; or there is none
        sys.stderr.write(text)
        sys.stderr.flush()


def _on_terminal() -> bool:
    with suppress(OSError, ValueError, AttributeError):
        return sys.stderr.isatty()
    return False


_LINE: ContextVar[_Line | None] = ContextVar("line", default=None)
"""The line of this thread."""


@contextmanager
def steps(label: str, count: int | None = None, *, show: bool | None = None, inner: bool = False) -> Iterator[Step]:
    """A block of `count` steps. It yields a function to call at the beginning of each step, optionally with its name.

    Nested steps share one line. `show=None` shows it if standard error is a terminal. With `inner` steps are shown only
    inside others, for functions that are quiet by themselves.
    """
    line = _LINE.get()
    outermost = line is None
    wanted = show if show is not None else not outermost or (not inner and _on_terminal())
    if not wanted or (outermost and inner):
        yield lambda label=None: None
        return
    line = line or _Line()
    _LINE.set(line)
    task = _Task(label, count)
    line.tasks.append(task)
    if outermost:
        line.begin()

    def step(label: str | None = None) -> None:
        task.step(label)
        line.draw()

    try:
        yield step
    finally:
        line.tasks.remove(task)
        if outermost:
            _LINE.set(None)
            line.close()


def track(
    items: Iterable[T], label: str, *, show: bool | None = None, total: int | None = None, inner: bool = False
) -> Iterator[T]:
    """The items, with a line that shows the progress: see `steps`.

    >>> list(track(range(3), "counting"))
    [0, 1, 2]
    """
    count = total if total is not None else len(items) if isinstance(items, Sized) else None
    with steps(label, count, show=show, inner=inner) as step:
        for item in items:
            step()
            yield item
