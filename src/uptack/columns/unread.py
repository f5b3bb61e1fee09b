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
    """A column of which only the number of rows, or of people, and the type are known.

    Where `of_people`, it stands for a column of people's rows; `weighted` and `size_is_secret` are those of
    `uptack.columns.people.People`.
    """

    size: int
    integers: bool
    of_people: bool = False
    weighted: bool = False
    size_is_secret: bool = False

    def each(self, how: str, order: object = None) -> UnreadColumn:
        """One number per person; which of them are whole is the type's."""
        return replace(self, weighted=False, integers=how == "count" or (self.integers and how != "mean"))

    def by_rows(self, at_most: int) -> UnreadColumn:
        """The size depends on how many rows people have."""
        return replace(self, size_is_secret=True)

    def averaged(self, f: Callable[[Any], Any]) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def cumulated(self) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def inside(self, low: float, high: float) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

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


@dataclass(frozen=True)
class UnreadRows:
    """Rows of numbers, or of values in groups, of which only their number and their types are known.

    Where `of_people`, they stand for one line per person, and `size` is the number of people.
    """

    size: int
    whole: bool = False
    in_table: bool = True
    sizes: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    of_people: bool = False

    def each(self, how: str, order: object = None) -> UnreadRows:
        """One number per person; which of them are whole is the type's."""
        return replace(self, whole=how == "count" or (self.whole and how != "mean"))

    @property
    def values(self) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched
