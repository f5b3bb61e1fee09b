"""The rim of a release: what leaves it beside the released value is a function of public things alone.

Inside a release a row may overflow, divide by zero or make a library warn, and an engine's error may show a cell. None
of that may be seen. So there is one place around every release where

- NumPy's floating-point errors are silent;
- Python's warnings are silent;
- an error of ours (`UptackError`), which is worded from public things, leaves without the errors behind it;
- any other error becomes `Failed`, which says nothing about the rows; also KeyboardInterrupt, SystemExit and
  GeneratorExit, which a row's own methods can raise;
- what a signal's handler raised leaves, without anything behind it (`uptack.interrupts`).

For work on uptack itself, `UPTACK_DEBUG=1` in the environment lets every error through as it is.
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from uptack.errors import Failed, UptackError
from uptack.interrupts import Stop, watched

P = ParamSpec("P")
T = TypeVar("T")


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


def guarded(release: Callable[P, T]) -> Callable[P, T]:
    """The same function behind the rim.

    Errors are raised when the `except` block has been left: there Python would keep the first error as the context of
    the second, `from None` or not, and with it the rows.
    """

    @functools.wraps(release)
    def behind(*arguments: P.args, **options: P.kwargs) -> T:
        return watched(lambda: _quietly(release, arguments, options))

    return behind


def _quietly(release: Callable[..., T], arguments: tuple[Any, ...], options: dict[str, Any]) -> T:
    failure: BaseException
    try:
        with SILENCE, np.errstate(all="ignore"):
            return release(*arguments, **options)
    except Stop:
        raise
    except (UptackError, ImportError) as error:
        failure = error
    except BaseException:
        if os.environ.get("UPTACK_DEBUG") == "1":
            raise
        failure = Failed(release.__name__)
    failure.__cause__ = failure.__context__ = None
    raise failure.with_traceback(None)
