"""Stand-ins for data that must not be read yet.

A release is rehearsed before its debit: the same function is run on a column that knows its public side only, with
randomness that can't be drawn from. If it returns ⊥ or raises, that was decided by public numbers alone, and nothing is
owed. Where it asks for rows or for randomness it stops with `Touched`: from there on it would look at people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from uptack.noise import Entropy


class Touched(Exception):
    """The rehearsal came to where data or randomness are needed."""


class NoEntropy(Entropy):
    """Randomness that stops whoever asks for it."""

    private = True

    def bytes(self, count: int) -> bytes:
        """Stops the rehearsal."""
        raise Touched


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

    def ordered(self, windows: Sequence[tuple[int, int]]) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def sums(self, f: Callable[[Any], list[Any]]) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched


@dataclass(frozen=True)
class UnreadGroups:
    """Groups of which nothing is known but the type of what is in them."""

    integers: bool

    def sizes(self) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def rows(self, group: object) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def nothing(self) -> UnreadColumn:
        """A column without rows."""
        return UnreadColumn(0, self.integers)
