"""What a private computation returns: a value with its cost, or ⊥ with its cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Generic, Literal, NoReturn, Protocol, TypeVar

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument, NoInterval, NoReplyError
from uptack.exact import Rational
from uptack.labels import lines
from uptack.privacy import Privacy, RandomPrivacy
from uptack.privacy.loss import Loss

T = TypeVar("T")


class Noise(Protocol):
    """What a reader may know about the error of a released value."""

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """Bounds that cover the estimated quantity with this confidence, separately for each coordinate."""
        ...


@dataclass(frozen=True)
class EachNoise:
    """The noise of a vector whose coordinates were released one by one."""

    parts: tuple[Noise | None, ...]

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """The bounds of every coordinate."""
        if any(part is None for part in self.parts):
            raise NoInterval("some coordinate has no law that a reader may know")
        ends = [part.around(v, confidence) for part, v in zip(self.parts, value, strict=True) if part is not None]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def _python(value: Any) -> Any:
    """NumPy values as Python's own."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _plain(value: Any) -> Any:
    """A value as JSON can hold it: what it says of itself, where it does. Times are written as ISO 8601 has it."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    plain = _python(value)
    if isinstance(plain, list | tuple):
        return [_plain(part) for part in plain]
    return plain.isoformat() if isinstance(plain, date) else str(plain) if isinstance(plain, timedelta) else plain


def _frozen(value: Any) -> Any:
    """A read-only copy of an array; other values unchanged."""
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.setflags(write=False)
    return value


@dataclass(frozen=True, eq=False)
class Release(Generic[T]):
    """A value that may be published, with what it cost and how it was made.

    `private` is False if the noise came from a seeded source. Such a value must not be published.
    """

    value: T
    privacy: Privacy | RandomPrivacy
    mechanism: str
    loss: Loss
    noise: Noise | None = None
    private: bool = True
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _frozen(self.value))

    def __bool__(self) -> Literal[True]:
        return True

    def unwrap(self) -> T:
        """The value. (On ⊥ the same call raises `NoReplyError`.)"""
        return self.value

    def interval(self, confidence: Rational = 0.95) -> tuple[Any, Any]:
        """An interval for the value without noise, at this confidence. It accounts for the privacy noise only.

        If the release was made with an interval for the population, that interval is returned. For a vector, each
        coordinate has its own interval, and each holds with this confidence.
        """
        checks.inside_unit("confidence", confidence)
        if self.noise is None:
            raise NoInterval(f"the error of this {self.mechanism} depends on the data, so no reader may know its law")
        low, high = self.noise.around(self.value, confidence)
        return _python(low), _python(high)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "reply": True,
            "value": _plain(self.value),
            "mechanism": self.mechanism,
            "privacy": self.privacy.to_dict(),
            "private": self.private,
            "notes": list(self.notes),
        }

    def to_json(self, **options: Any) -> str:
        """The same as a JSON text; options go to `json.dumps`."""
        return json.dumps(self.to_dict(), default=str, **options)

    def __repr__(self) -> str:
        stamp = "" if self.private else ", NOT PRIVATE: seeded randomness"
        return lines(f"Release({_python(self.value)!r}, {self.mechanism}, {self.privacy}{stamp})")


@dataclass(frozen=True)
class Advice:
    """What would give a reply, computed from public numbers only. Any one of the changes is enough.

    It always includes more rows or another question. A larger ε is never the only option.
    """

    n: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    other: str = ""

    def __post_init__(self) -> None:
        if self.n is None and not self.other:
            must = "named (or another way out), since ε must not be the only one"
            raise InvalidArgument("n", must, "None", "Say which number of rows would do.")

    def __str__(self) -> str:
        ways = [
            f"n of at least {self.n:,}" if self.n is not None else "",
            f"ε of at least {self.epsilon:.3g}" if self.epsilon is not None else "",
            f"δ of at least {self.delta:.3g}" if self.delta is not None else "",
            self.other,
        ]
        return " or ".join(way for way in ways if way)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"n": self.n, "epsilon": self.epsilon, "delta": self.delta, "other": self.other}


@dataclass(frozen=True, eq=False)
class NoReply:
    """⊥: no reply. It holds the cost of the attempt, and nothing about the data.

    >>> reply = NoReply(Privacy(0), "median", None, Advice(n=200, epsilon=2.5))
    >>> reply
    ⊥ (median, ε = 0.0 (substitute); a reply needs n of at least 200 or ε of at least 2.5)
    >>> bool(reply), reply.value
    (False, None)
    """

    privacy: Privacy | RandomPrivacy
    mechanism: str
    loss: Loss | None
    advice: Advice
    private: bool = True
    value: None = field(default=None, init=False)

    def __bool__(self) -> Literal[False]:
        return False

    def unwrap(self) -> NoReturn:
        """Raises `NoReplyError`: there is no value."""
        raise NoReplyError(self)

    def interval(self, confidence: Rational = 0.95) -> NoReturn:
        """Raises `NoReplyError`: there is no value to put an interval around."""
        raise NoReplyError(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "reply": False,
            "value": None,
            "mechanism": self.mechanism,
            "privacy": self.privacy.to_dict(),
            "private": self.private,
            "advice": self.advice.to_dict(),
        }

    def to_json(self, **options: Any) -> str:
        """The same as a JSON text; options go to `json.dumps`."""
        return json.dumps(self.to_dict(), **options)

    def __repr__(self) -> str:
        return lines(f"⊥ ({self.mechanism}, {self.privacy}; a reply needs {self.advice})")
