"""Stand-ins for randomness and groups that must not be touched yet: see `uptack.columns.unread`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

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

    def sizes(self) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def rows(self, group: object) -> NoReturn:
        """Stops the rehearsal."""
        raise Touched

    def nothing(self) -> UnreadColumn:
        """A column without rows."""
        return UnreadColumn(0, self.integers)
