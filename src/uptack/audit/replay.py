"""Replay: one release on two neighbours with the same recorded randomness.

With its randomness fixed a release is a map from tables to what an observer sees: type, dtype and shape, labels, notes,
mechanism, cost, warnings, errors, log lines, output, and what a session and its ledger show. All of that but the value
must be the same on neighbours. Equal values must look alike: 1.0 and 1.00 tell two rows apart.
"""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.audit.scenario import Pair, Scenario, SessionCall
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
        return self._stream().bytes(count)

    def below(self, bound: int) -> int:
        """One request, however often a draw must be repeated."""
        words = -(-bound.bit_length() // 64) + 1
        return int.from_bytes(self._stream().bytes(8 * words), "little") % bound

    def integers(self, bound: int, size: int) -> NDArray[np.int64]:
        return self._stream().integers(bound, size=size, dtype=np.int64)

    def __repr__(self) -> str:
        return f"TapeEntropy({self.seed})"


@dataclass(frozen=True)
class Appearance:
    """What is seen of one result: how it is made (`form`), what it says of itself (`stamps`), labels, the value."""

    form: Any
    stamps: Any = None
    labels: tuple[Any, ...] = ()
    value: Any = field(default=None, compare=False)
    parts: Mapping[str, Appearance] = field(default_factory=dict)


@dataclass(frozen=True)
class Observation:
    """All that an observer sees of one call."""

    answer: Appearance | None
    error: tuple[str, ...]
    warned: tuple[str, ...]
    logged: tuple[str, ...]
    printed: str
    session: Any = None


class _LogLines(logging.Handler):
    """What the loggers of this package say, and no others: a driver or another thread is not part of the release."""

    def __init__(self) -> None:
        super().__init__(0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {record.name}: {record.getMessage()}")

    @contextlib.contextmanager
    def capture(self) -> Iterator[None]:
        """Listen, and collect no garbage meanwhile: older objects may log when they go."""
        ours, collecting = logging.getLogger("uptack"), gc.isenabled()
        level = ours.level
        ours.addHandler(self)
        ours.setLevel(1)
        gc.disable()
        try:
            yield
        finally:
            ours.removeHandler(self)
            ours.setLevel(level)
            if collecting:
                gc.enable()


def observe(f: Callable[[], Any]) -> Observation:
    """Call f and write down what is seen. f may return a `SessionCall`.

    >>> import uptack as ut
    >>> observe(lambda: ut.median([1.0, float("nan")], epsilon=1)).error
    ("InvalidArgument: x must be free of NaN and infinities. ...",)
    """
    log, output, call = _LogLines(), io.StringIO(), SessionCall(f, lambda: None)
    answer: Appearance | None = None
    error: tuple[str, ...] = ()
    with (
        log.capture(),
        warnings.catch_warnings(record=True) as caught,
        np.errstate(all="warn", under="ignore"),  # NumPy's own default
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        warnings.simplefilter("always")
        try:
            result = f()
            if isinstance(result, SessionCall):
                call, result = result, result.result()
            answer = appearance(result)
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # whatever it is, it is seen
            error = tuple(_chain(raised))
        session = call.show()
    warned = tuple(f"{w.category.__name__}: {w.message}" for w in caught)
    return Observation(answer, error, warned, tuple(log.lines), output.getvalue(), session)


def _chain(error: BaseException | None) -> Iterator[str]:
    """An error and all that is behind it: what a traceback, or a caller who catches it, shows."""
    while error is not None:
        origin = "" if isinstance(error, UptackError | TypeError) else " (not of ours)"
        yield f"{type(error).__name__}: {error}{origin}"
        error = error.__cause__ or error.__context__


def appearance(result: Any) -> Appearance:
    """A result as an observer sees it."""
    if isinstance(result, Release):
        inner = appearance(result.value)
        stamps = (result.privacy, result.mechanism, repr(result.loss), result.private, result.notes)
        rows = None if result.rows is None else (result.rows.unit, repr(result.rows.law), result.rows.times)
        form = "Release", inner.form, type(result.noise).__name__, rows
        return Appearance(form, stamps, inner.labels, inner.value, inner.parts)
    if isinstance(result, NoReply):
        advice = str(result.advice)
        return Appearance("⊥", (result.privacy, result.mechanism, repr(result.loss), result.private, advice))
    if isinstance(result, np.ndarray):
        return Appearance(("ndarray", result.dtype.str, result.shape), value=result)
    if isinstance(result, Mapping):
        parts = {repr(key): appearance(value) for key, value in result.items()}
        return Appearance(type(result).__name__, labels=tuple(result), value=result, parts=parts)
    if isinstance(result, list | tuple):
        return Appearance((type(result).__name__, *(appearance(part).form for part in result)), value=result)
    return Appearance(type(result).__name__, value=result)


def flaws(one: Observation) -> list[str]:
    """What may be seen on no table: warnings, errors of other libraries, errors with another one behind them."""
    flaws = [f"a warning: {text[:TEXT]}" for text in one.warned]
    flaws += [f"an error that is not ours: {text[:TEXT]}" for text in one.error if text.endswith("(not of ours)")]
    return flaws + [f"an error behind the error: {text[:TEXT]}" for text in one.error[1:]]


def differences(d: Observation, d_prime: Observation, free: frozenset[str] = frozenset()) -> list[str]:
    """What an observer could tell two neighbours apart by, other than the value and what is `free`."""
    names = [f.name for f in fields(Observation) if f.name != "answer"]
    sides = [(name, getattr(d, name), getattr(d_prime, name)) for name in names]
    texts = [f"{name}: {str(a)[:TEXT]!r} or {str(b)[:TEXT]!r}" for name, a, b in sides if a != b]
    if d.answer is not None and d_prime.answer is not None:
        texts += _answer_differences(d.answer, d_prime.answer, free)
    return texts


def _answer_differences(one: Appearance, other: Appearance, free: frozenset[str]) -> Iterator[str]:
    if (one.form == "⊥") != (other.form == "⊥"):
        if "⊥" not in free:
            yield f"a reply: {one.form} or {other.form}"
        return
    labels, others = ([_text(label) for label in side.labels] for side in (one, other))
    for name, key, a, b in (
        ("form", "type", one.form, other.form),
        ("stamps", "stamps", one.stamps, other.stamps),
        ("labels", "labels", labels, others),
    ):
        if a != b and key not in free:
            yield f"{name}: {a} or {b}"
    yield from (f"equal labels: {text}" for text in _unlike_equals(one.labels, other.labels))
    if not isinstance(one.value, np.ndarray | Mapping):
        yield from (f"equal values: {text}" for text in _unlike_equals((one.value,), (other.value,)))
    for key in one.parts.keys() & other.parts.keys():
        yield from (f"{key}: {text}" for text in _answer_differences(one.parts[key], other.parts[key], free))


def _text(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


def _unlike_equals(ones: tuple[Any, ...], others: tuple[Any, ...]) -> Iterator[str]:
    """Values that are equal and do not look so."""
    for one, other in itertools.product(ones, others):
        try:
            equal = bool(one == other)
        except Exception:
            equal = False
        if equal and _text(one) != _text(other):
            yield f"{_text(one)} or {_text(other)}"
