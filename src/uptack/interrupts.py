"""What may leave a call that reads rows: its value, errors that say nothing of rows, and a real interrupt.

A real interrupt is recognised by its signal, never by the type of an exception. Rows may be objects with methods of
their own, and a method can raise anything: KeyboardInterrupt, SystemExit or GeneratorExit, with a row in its text, or
to say by its type alone that a row is there. So code that runs rows' methods catches BaseException. What a signal's
handler raises must still get through. Therefore handlers are watched:

- While `watched(run)` is under way in the main thread, each Python handler of `SIGNALS` is wrapped. The wrapper keeps
  what the handler raises, and lets it go on.
- Code that catches BaseException then calls `check()`, which raises what was kept.
- When `watched` ends it raises what was kept, whatever `run` returned or raised. A row, or a library, that swallowed
  the exception does not swallow the interrupt.

So a watched call ends with an interrupt if and only if a signal came. That does not depend on rows.

*Limits.* Python runs handlers in the main thread only: in other threads every exception counts as one of the rows, also
one that somebody throws there from outside (`PyThreadState_SetAsyncExc`, gevent). Handlers that are not Python's can't
be watched. A row whose methods send a signal or set handlers runs code of its own in this process, and so could do
anything else.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from uptack.errors import Failed, UptackError

P = ParamSpec("P")
T = TypeVar("T")

SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGBREAK")
    if hasattr(signal, name)
)
"""Signals whose handlers commonly raise."""


class Stop(BaseException):
    """What uptack itself raises through every guard, such as the end of a dry run. It says nothing of rows."""


class _State:
    """What is being watched. Only the main thread changes it."""

    def __init__(self) -> None:
        self.depth, self.held = 0, False
        self.raised: BaseException | None = None
        self.replaced: dict[int, tuple[Any, Any]] = {}


STATE = _State()


class _Watch:
    """One `watched` call. While `held`, handlers keep what they raise: nothing is left half done."""

    entered = False

    def enter(self) -> None:
        STATE.held = True
        if STATE.depth == 0:
            STATE.raised = None
            for number in SIGNALS:
                if callable(handler := signal.getsignal(number)):
                    STATE.replaced[number] = handler, _keeping(handler)
                    signal.signal(number, STATE.replaced[number][1])
        STATE.depth, self.entered = STATE.depth + 1, True
        STATE.held = False

    def leave(self) -> BaseException | None:
        """What a handler raised, if one did."""
        if not self.entered:
            return None
        STATE.held = True
        STATE.depth, self.entered, raised = STATE.depth - 1, False, STATE.raised
        if STATE.depth == 0:
            for number, (handler, ours) in STATE.replaced.items():
                if signal.getsignal(number) is ours:  # else somebody has set another one meanwhile
                    signal.signal(number, handler)
            STATE.replaced, raised, STATE.raised = {}, STATE.raised, None
        STATE.held = False
        return raised


def _keeping(handler: Callable[..., Any]) -> Callable[..., Any]:
    """The same handler, which keeps what it raises."""

    def received(number: int, frame: Any) -> None:
        try:
            handler(number, frame)
        except BaseException as raised:
            if STATE.depth == 0 and not STATE.held:  # somebody put it back after the watch
                raise
            STATE.raised = raised
            if not STATE.held:
                raise

    return received


def _here() -> bool:
    return threading.current_thread() is threading.main_thread()


def watching() -> bool:
    """Whether a call is being watched, or there is no need to: handlers run in the main thread."""
    return STATE.depth > 0 or not _here()


def check() -> None:
    """Raise what a signal's handler raised during the watch: to be called where BaseException is caught."""
    if STATE.raised is not None and STATE.depth > 0 and _here():
        raise STATE.raised


def attempt(run: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """What `run()` returns; what `otherwise()` does where a row's own methods raised anything."""
    try:
        return run()
    except BaseException:
        check()
    return otherwise()


def watched(run: Callable[[], T]) -> T:
    """What `run()` returns or raises; where a signal's handler raised meanwhile, that and nothing behind it.

    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores Ctrl-C
    >>> def swallow():
    ...     try:
    ...         signal.raise_signal(signal.SIGINT)
    ...     except KeyboardInterrupt:
    ...         return "nothing happened"
    >>> try:
    ...     watched(swallow)
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    if not _here():
        return run()
    watch, failure, interrupt, result = _Watch(), None, None, None
    try:
        watch.enter()
        result = run()
    except BaseException as error:
        failure = error
    finally:
        try:
            interrupt = watch.leave()
        except BaseException:  # of a signal at its very door, before it was held
            interrupt = watch.leave()
    try:
        if interrupt is not None:
            interrupt.__cause__ = interrupt.__context__ = None
            raise interrupt.with_traceback(None)
        if failure is not None:
            raise failure
        return result  # type: ignore[return-value]
    finally:
        del failure, interrupt  # an error holds this frame, and must not be held by it


# ----------------------------------------------------------------------------------------------------------- the guard


class _Silence:
    """Python's warnings are ignored while a thread is inside. The filters are the process's, so threads are counted."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._outer: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._outer = warnings.catch_warnings()
                self._outer.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._outer.__exit__()


SILENCE = _Silence()


def guard(release: Callable[P, T]) -> Callable[P, T]:
    """The function behind the guard: nothing leaves it, besides the released value, that depends on rows.

    Inside a release a row may overflow, divide by zero or make a library warn, and an engine's error may show a cell.
    None of that may be seen. So around every release

    - NumPy's floating-point errors and Python's warnings are silent;
    - an error of ours (`UptackError`), whose text is made from public things, leaves without the errors behind it;
    - any other error becomes `Failed`, which says nothing about the rows; also KeyboardInterrupt, SystemExit and
      GeneratorExit, which a row's own methods can raise;
    - what the handler of a signal raised leaves, without anything behind it (`watched`).

    `UPTACK_DEBUG=1` in the environment, for work on uptack itself, lets every error through unchanged.

    """

    @functools.wraps(release)
    def behind(*arguments: P.args, **options: P.kwargs) -> T:
        def run() -> T:
            with SILENCE, np.errstate(all="ignore"):
                return release(*arguments, **options)

        return _withheld(run, lambda: Failed(release.__name__), (UptackError, ImportError))

    return behind


UNREADABLE = "the rows could not be read (the message of the engine is withheld, since it may quote a row)"


def without_engine_errors(read: Callable[[], T], instead: UptackError | None = None) -> T:
    """What `read()` returns. An error of an engine may quote a row, so another one takes its place."""
    return _withheld(read, lambda: instead or UptackError(UNREADABLE), (UptackError,))


def _withheld(run: Callable[[], T], instead: Callable[[], UptackError], shown: tuple[type[Exception], ...]) -> T:
    """What `run()` returns. Errors of these types leave alone, and all others as another one.

    Errors are raised after the `except` block. Inside it Python would keep the first error as the context of the
    second, `from None` or not, and with it the rows.
    """

    def reading() -> T:
        try:
            return run()
        except Stop:
            raise
        except shown as known:
            error: Exception = known
        except BaseException:  # an interrupt is recognised by its signal, and passes
            if os.environ.get("UPTACK_DEBUG") == "1":
                raise
            error = instead()
        error.__cause__ = error.__context__ = None
        try:
            raise error.with_traceback(None)
        finally:
            del error  # else the frame and the error would keep each other, and a file open

    return watched(reading)
