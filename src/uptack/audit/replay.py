"""Replay: one release on two neighbours with the same recorded randomness, and all that an observer sees of either.

A guarantee is about everything that is seen, not about the number alone. With its randomness fixed a release is a map
from tables to what is seen. All of that but the value must be the same on both: type, dtype and shape, labels, notes,
mechanism, cost, warnings, errors, log lines, output. So one run on each side shows what a million draws would not.

Where ⊥ or labels are part of the value, a case says so. Equal answers must look alike even there: a reader who can tell
1.0 from 1.00 has been told of a row.
"""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uptack.errors import UptackError
from uptack.noise import Entropy
from uptack.release import NoReply, Release

TEXT = 400
"""Characters of a text that a difference shows."""


class TapeEntropy(Entropy):
    """Randomness that is written down: question number i gets the first bytes of a stream of its own.

    Neighbours that ask for more or less in one place still get the same everywhere else. It says that it is private,
    since a stamp on the result is one of the things that are compared. It is for audits alone.

    >>> TapeEntropy(1).bytes(2) == TapeEntropy(1).bytes(4)[:2]
    True
    """

    private = True

    def __init__(self, seed: int) -> None:
        self.seed, self.asked = seed, 0

    def _stream(self) -> np.random.Generator:
        self.asked += 1
        return np.random.Generator(np.random.Philox(key=[self.seed, self.asked]))

    def bytes(self, count: int) -> bytes:
        """So many bytes of the next stream."""
        return self._stream().bytes(count)

    def below(self, bound: int) -> int:
        """One question, however often a draw must be repeated."""
        words = -(-bound.bit_length() // 64) + 1
        return int.from_bytes(self._stream().bytes(8 * words), "little") % bound

    def integers(self, bound: int, size: int) -> NDArray[np.int64]:
        """One question too."""
        return self._stream().integers(bound, size=size, dtype=np.int64)

    def __repr__(self) -> str:
        return f"TapeEntropy({self.seed})"


# --------------------------------------------------------------------------------------------------------- observations


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
    """Hear uptack's own loggers: what another library of this process logs, such as Spark's connection, is its own."""
    ours = logging.getLogger("uptack")
    level = ours.level
    ours.addHandler(log)
    ours.setLevel(1)  # everything: 0 would be the level of the root logger
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


class Shown(NamedTuple):
    """A call that is made by `result`, and what a session or a ledger has to show afterwards, whatever came of it."""

    result: Callable[[], Any]
    show: Callable[[], Any]


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


@dataclass(frozen=True, eq=False)
class Replay:
    """One release on two neighbours. `call(data, entropy)` makes it.

    `free` names what is part of the value: "⊥" where a test decides whether there is a reply, "labels" and "type" where
    they are what is released, "stamps" where they are worked out from a released number of rows. `function` and
    `options` say what it covers.
    """

    name: str
    call: Callable[[Any, Entropy], Any]
    pair: tuple[Any, Any]
    free: frozenset[str] = frozenset()
    function: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def seen(self, side: int, seed: int = 0) -> Observation:
        """What is seen on one side."""
        return observe(lambda: self.call(self.pair[side], TapeEntropy(seed)))


def replay(case: Replay, seed: int = 0) -> list[str]:
    """What tells the neighbours apart, and what no release may show on either."""
    d, d_prime = (case.seen(side, seed) for side in (0, 1))
    found = [*differences(d, d_prime, case.free), *flaws(d), *flaws(d_prime)]
    return list(dict.fromkeys(found))


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
    if "labels" not in free and _looks(one.labels) != _looks(other.labels):
        found.append(f"labels: {_looks(one.labels)} or {_looks(other.labels)}")
    found += [f"equal labels: {a} or {b}" for a, b in _alike(one.labels, other.labels)]
    if not isinstance(one.value, np.ndarray | Mapping):
        found += [f"equal values: {a} or {b}" for a, b in _alike((one.value,), (other.value,))]
    for key in one.parts.keys() & other.parts.keys():
        found += [f"{key}: {text}" for text in _told_apart(one.parts[key], other.parts[key], free)]
    return found


def _looks(labels: tuple[Any, ...]) -> tuple[str, ...]:
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
