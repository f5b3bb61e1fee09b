"""Replay: one release on two neighbours with the same recorded randomness.

With its randomness fixed a release is a map from tables to what an observer sees: type, dtype and shape, labels, notes,
mechanism, cost, warnings, errors, log lines, output, and what a session and its ledger show. All of that but the value
must be the same on neighbours. Equal values must look alike: 1.0 and 1.00 tell two rows apart.
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
from numpy.typing import NDArray

from uptack.audit.scenario import Pair, Scenario, Shown
from uptack.errors import UptackError
from uptack.noise import Entropy
from uptack.release import NoReply, Release

TEXT = 400
"""Characters of a text that a difference shows."""


def replay(scenario: Scenario, pair: Pair, seed: int = 0) -> list[str]:
    """What tells the neighbours apart, and what no release may show on either."""
    d, d_prime = (observe(lambda data=data: scenario.call(data, TapeEntropy(seed))) for data in pair)  # type: ignore[misc]
    return list(dict.fromkeys([*differences(d, d_prime, scenario.may), *flaws(d), *flaws(d_prime)]))


class TapeEntropy(Entropy):
    """Recorded randomness: request number i gets the first bytes of a stream of its own.

    Neighbours that use more or less of one stream still get the same everywhere else. It claims to be private, since
    the stamp on the result is one of the things that are compared. For audits alone.

    >>> TapeEntropy(1).bytes(2) == TapeEntropy(1).bytes(4)[:2]
    True
    """

    private = True

    def __init__(self, seed: int) -> None:
        self.seed, self.requests = seed, 0

    def _stream(self) -> np.random.Generator:
        self.requests += 1
        return np.random.Generator(np.random.Philox(key=[self.seed, self.requests]))

    def bytes(self, count: int) -> bytes:
        """So many bytes of the next stream."""
        return self._stream().bytes(count)

    def below(self, bound: int) -> int:
        """One request, however often a draw must be repeated."""
        words = -(-bound.bit_length() // 64) + 1
        return int.from_bytes(self._stream().bytes(8 * words), "little") % bound

    def integers(self, bound: int, size: int) -> NDArray[np.int64]:
        """One request too."""
        return self._stream().integers(bound, size=size, dtype=np.int64)

    def __repr__(self) -> str:
        return f"TapeEntropy({self.seed})"


# --------------------------------------------------------------------------------------------------------- observation


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
    """Listen to the loggers of this package alone, and collect no garbage meanwhile.

    What a driver, another thread or an older object says is not part of the release.
    """
    ours, collecting = logging.getLogger("uptack"), gc.isenabled()
    level = ours.level
    ours.addHandler(log)
    ours.setLevel(1)
    gc.disable()
    try:
        yield
    finally:
        ours.removeHandler(log)
        ours.setLevel(level)
        if collecting:
            gc.enable()


def observe(f: Callable[[], Any]) -> Observation:
    """Call f and write down what is seen. f may return a `Shown`.

    >>> import uptack as ut
    >>> observe(lambda: ut.median([1.0, float("nan")], epsilon=1)).error
    ("InvalidArgument: x must be free of NaN and infinities. ...",)
    """
    log, output, made = _Log(), io.StringIO(), Shown(f, lambda: None)
    answer: SeenAnswer | None = None
    error: tuple[str, ...] = ()
    with (
        _listening(log),
        warnings.catch_warnings(record=True) as caught,
        np.errstate(all="warn", under="ignore"),  # NumPy's own default
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
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
    warned = tuple(f"{w.category.__name__}: {w.message}" for w in caught)
    return Observation(answer, error, warned, tuple(log.lines), output.getvalue(), shown)


def _chain(error: BaseException | None) -> Iterator[str]:
    """An error and all that is behind it: what a traceback, or a caller who catches it, shows."""
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
        said = (result.privacy, result.mechanism, repr(result.loss), result.private, str(result.advice))
        return SeenAnswer("⊥", said)
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
    """What an observer could tell two neighbours apart by, other than the value and what is `free`."""
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
    labels, others = ([_look(label) for label in side.labels] for side in (one, other))
    for name, key, a, b in (
        ("form", "type", one.form, other.form),
        ("stamps", "stamps", one.stamps, other.stamps),
        ("labels", "labels", labels, others),
    ):
        if a != b and key not in free:
            found.append(f"{name}: {a} or {b}")
    found += [f"equal labels: {text}" for text in _alike(one.labels, other.labels)]
    if not isinstance(one.value, np.ndarray | Mapping):
        found += [f"equal values: {text}" for text in _alike((one.value,), (other.value,))]
    for key in one.parts.keys() & other.parts.keys():
        found += [f"{key}: {text}" for text in _told_apart(one.parts[key], other.parts[key], free)]
    return found


def _look(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


def _alike(ones: tuple[Any, ...], others: tuple[Any, ...]) -> Iterator[str]:
    """Values that are equal and do not look so."""
    for one in ones:
        for other in others:
            try:
                equal = bool(one == other)
            except Exception:
                equal = False
            if equal and _look(one) != _look(other):
                yield f"{_look(one)} or {_look(other)}"
