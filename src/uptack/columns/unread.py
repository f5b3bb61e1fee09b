"""A stand-in for a column that must not be read yet.

A release is rehearsed before its debit: the same function is run on a column that knows its public side only, with
randomness that can't be drawn from. If it returns ⊥ or raises, that was decided by public numbers alone, and nothing is
owed. Where it asks for rows or for randomness it stops with `Touched`: from there on it would look at people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn


class Touched(BaseException):
    """The rehearsal came to where data or randomness are needed. Like an interrupt, it is nobody's to handle."""


@dataclass(frozen=True)
class UnreadColumn:
    """A column of which only the number of rows and the type are known."""

    size: int
    integers: bool

    def finite(self) -> bool:
        """Taken for granted."""
        return True

    def filled(self, missing: float) -> UnreadColumn:
        """The same column."""
        return self

    def present(self) -> UnreadColumn:
        """The same column: how many rows have a value is secret, and drawn before it is used."""
        return self

    def floats(self) -> UnreadColumn:
        """The same column, of floats."""
        return replace(self, integers=False)

    def away(self, centre: float) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def ordered(self, windows: Sequence[tuple[int, int]]) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def sums(self, f: Callable[[Any], list[Any]]) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched
