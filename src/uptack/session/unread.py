"""Stand-ins for randomness and groups that must not be touched yet: see `uptack.columns.unread`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from uptack.columns.unread import Touched
from uptack.noise import Entropy
from uptack.session.grouping import SourceGroups


class NoEntropy(Entropy):
    """Randomness that stops whoever asks for it."""

    private = True

    def bytes(self, count: int) -> bytes:
        """Stops the rehearsal."""
        raise Touched


@dataclass(frozen=True)
class UnreadGroups:
    """Groups of which nothing is known but the types of what is in them."""

    groups: SourceGroups

    @property
    def of_people(self) -> bool:
        """Whether they are people's."""
        return self.groups.of_people

    def each(self, how: str, order: str | None = None) -> UnreadGroups:
        """One number per person."""
        return UnreadGroups(self.groups.each(how, order))

    def by_rows(self, at_most: int) -> UnreadGroups:
        """Rows of people with up to so many weigh alike."""
        return UnreadGroups(self.groups.by_rows(at_most))

    def sizes(self) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def rows(self, group: object) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def nothing(self) -> Any:
        """What a statistic reads of no rows."""
        return self.groups.nothing()
