"""What an observer sees of a release: type, dtype and shape, labels, notes, mechanism, cost, warnings, errors, log
lines, output, and what a session and its ledger show. All of that but the value must be the same on neighbours.

Equal values must look alike: a reader who can tell 1.0 from 1.00 has been told of a row.
"""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from uptack.audit.scenario import Shown
from uptack.errors import UptackError
from uptack.release import NoReply, Release

TEXT = 400
"""Characters of a text that a difference shows."""


@dataclass(frozen=True)
class SeenAnswer:
    """What is seen of one result: how it is made (`form`), what it says of itself (`stamps`), labels, the value."""

    form: Any
    stamps: Any = None
    labels: tuple[Any, ...] = ()
    value: Any = field(default=None, compare=False)
    parts: Mapping[str, SeenAnswer] = field(default_factory=dict)


@dataclass(frozen=True)
class Observation:
    """All that an observer sees of one call."""

    answer: SeenAnswer | None
    error: tuple[str, ...]
    warned: tuple[str, ...]
    logged: tuple[str, ...]
    printed: str
    shown: Any = None


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__(0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {record.name}: {record.getMessage()}")


@contextlib.contextmanager
def _listening(log: _Log) -> Iterator[None]:
    """Only to loggers of this package: what a driver or another thread writes is nothing that a release says."""
    ours = logging.getLogger("uptack")
    level = ours.level
    ours.addHandler(log)
    ours.setLevel(1)
    try:
        yield
    finally:
        ours.removeHandler(log)
        ours.setLevel(level)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage is collected meanwhile: what an older object says when it goes is nothing that this call has said."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def observe(f: Callable[[], Any]) -> Observation:
    """Call f and write down what is seen. f may return a `Shown`.

    >>> import uptack as ut
    >>> observe(lambda: ut.median([1.0, float("nan")], epsilon=1)).error
    ("InvalidArgument: x must be free of NaN and infinities, got some. ...",)
    """
    log, output, made = _Log(), io.StringIO(), Shown(f, lambda: None)
    answer: SeenAnswer | None = None
    error: tuple[str, ...] = ()
    with (
        _uncollected(),
        warnings.catch_warnings(record=True) as caught,
        np.errstate(all="warn", under="ignore"),  # NumPy's own default
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
        _listening(log),
    ):
        warnings.simplefilter("always")
        try:
            result = f()
            if isinstance(result, Shown):
                made, result = result, result.result()
            answer = described(result)
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # whatever it is, it is seen
            error = tuple(_chain(raised))
        shown = made.show()
    said = tuple(f"{w.category.__name__}: {w.message}" for w in caught)
    return Observation(answer, error, said, tuple(log.lines), output.getvalue(), shown)


def _chain(error: BaseException | None) -> Iterator[str]:
    """An error and all that is behind it: what a traceback, or whoever catches it, shows."""
    while error is not None:
        typed = "" if isinstance(error, UptackError | TypeError) else " (not of ours)"
        yield f"{type(error).__name__}: {error}{typed}"
        error = error.__cause__ or error.__context__


def described(result: Any) -> SeenAnswer:
    """A result as an observer sees it."""
    if isinstance(result, Release):
        inner = described(result.value)
        stamps = (result.privacy, result.mechanism, repr(result.loss), result.private, result.notes)
        noise = type(result.noise).__name__
        rows = None if result.rows is None else (result.rows.unit, repr(result.rows.law), result.rows.times)
        return SeenAnswer(("Release", inner.form, noise, rows), stamps, inner.labels, inner.value, inner.parts)
    if isinstance(result, NoReply):
        return SeenAnswer(
            "⊥", (result.privacy, result.mechanism, repr(result.loss), result.private, str(result.advice))
        )
    if isinstance(result, np.ndarray):
        return SeenAnswer(("ndarray", result.dtype.str, result.shape), value=result)
    if isinstance(result, Mapping):
        parts = {repr(key): described(value) for key, value in result.items()}
        return SeenAnswer(type(result).__name__, labels=tuple(result), value=result, parts=parts)
    if isinstance(result, list | tuple):
        return SeenAnswer((type(result).__name__, *(described(part).form for part in result)), value=result)
    return SeenAnswer(type(result).__name__, value=result)


# ---------------------------------------------------------------------------------------------------------- comparison


def flaws(seen: Observation) -> list[str]:
    """What may be seen on no table: warnings, errors of other libraries, errors with another one behind them."""
    found = [f"a warning: {text[:TEXT]}" for text in seen.warned]
    found += [f"an error that is not ours: {text[:TEXT]}" for text in seen.error if text.endswith("(not of ours)")]
    return found + [f"an error behind the error: {text[:TEXT]}" for text in seen.error[1:]]


def differences(d: Observation, d_prime: Observation, free: frozenset[str] = frozenset()) -> list[str]:
    """What an observer could tell two neighbours apart by, other than the value."""
    found = []
    for name in (f.name for f in fields(Observation) if f.name != "answer"):
        one, other = getattr(d, name), getattr(d_prime, name)
        if one != other:
            found.append(f"{name}: {str(one)[:TEXT]!r} or {str(other)[:TEXT]!r}")
    if d.answer is not None and d_prime.answer is not None:
        found += _told_apart(d.answer, d_prime.answer, free)
    return found


def _told_apart(one: SeenAnswer, other: SeenAnswer, free: frozenset[str]) -> list[str]:
    if (one.form == "⊥") != (other.form == "⊥"):
        return [] if "⊥" in free else [f"a reply: {one.form} or {other.form}"]
    found = []
    if one.form != other.form and "type" not in free:
        found.append(f"form: {one.form} or {other.form}")
    if one.stamps != other.stamps and "stamps" not in free:
        found.append(f"stamps: {one.stamps} or {other.stamps}")
    if "labels" not in free and _label_looks(one.labels) != _label_looks(other.labels):
        found.append(f"labels: {_label_looks(one.labels)} or {_label_looks(other.labels)}")
    found += [f"equal labels: {a} or {b}" for a, b in _alike(one.labels, other.labels)]
    if not isinstance(one.value, np.ndarray | Mapping):
        found += [f"equal values: {a} or {b}" for a, b in _alike((one.value,), (other.value,))]
    for key in one.parts.keys() & other.parts.keys():
        found += [f"{key}: {text}" for text in _told_apart(one.parts[key], other.parts[key], free)]
    return found


def _label_looks(labels: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(map(_look, labels))


def _look(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


def _alike(ones: tuple[Any, ...], others: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    """Pairs of values that are equal and do not look so."""
    for one in ones:
        for other in others:
            if _equal(one, other) and _look(one) != _look(other):
                yield _look(one), _look(other)


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:
        return False
