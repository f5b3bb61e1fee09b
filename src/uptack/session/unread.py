"""Stand-ins for randomness and groups that must not be touched yet: see `uptack.columns.unread`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

from uptack.columns.moments import Form
from uptack.columns.timed import TimedColumn
from uptack.columns.unread import Touched, UnreadColumn
from uptack.noise import Entropy


class NoEntropy(Entropy):
    """Randomness that stops whoever asks for it."""

    private = True

    def bytes(self, count: int) -> bytes:
        """Stops the rehearsal."""
        raise Touched


@dataclass(frozen=True)
class UnreadGroups:
    """Groups of which nothing is known but the type of what is in them."""

    integers: bool
    of_people: bool = False
    column: Any = None
    form: Form | None = None

    def each(self, how: str, order: object = None) -> UnreadGroups:
        """One number per person."""
        return replace(self, column=self.nothing().each(how, order))

    def by_rows(self, at_most: int) -> UnreadGroups:
        """Rows of people with up to so many weigh alike."""
        return replace(self, column=self.nothing().by_rows(at_most))

    def sizes(self) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def rows(self, group: object) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def nothing(self) -> Any:
        """A column without rows."""
        if self.column is not None:
            return self.column
        unread = UnreadColumn(0, self.integers or self.form is not None, self.of_people, self.of_people)
        return unread if self.form is None else TimedColumn(unread, self.form)
