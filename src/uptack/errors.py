"""Every error that uptack raises has one root, and carries what it is about as attributes.

Exceptions are for misuse. A refusal to answer (⊥) is a value: see `uptack.NoReply`.
"""

from __future__ import annotations

from typing import Any


class UptackError(Exception):
    """The root of all errors of this library."""


class InvalidArgument(UptackError, ValueError):
    """An argument is not what it must be. Raised before any data is read and before anything is spent."""

    def __init__(self, name: str, must: str, got: object, fix: str = "") -> None:
        self.name, self.must, self.got, self.fix = name, must, got, fix
        super().__init__(f"{name} must be {must}, got {got}." + (f" {fix}" if fix else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.must, self.got, self.fix)


class NoReplyError(UptackError):
    """`unwrap()` was called on a ⊥. The refused result is the attribute `reply`."""

    def __init__(self, reply: object) -> None:
        self.reply = reply
        super().__init__(f"there is no value to unwrap: {reply}")


class NoInterval(UptackError):
    """The release does not know the law of its noise, so it can't give an interval."""


class UnknownLoss(UptackError, TypeError):
    """A loss tree holds a node that the interpreter has no theorem for."""


class Incomparable(UptackError, TypeError):
    """Two guarantees speak about different neighbours, or of different kinds of privacy."""
