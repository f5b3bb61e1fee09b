"""What a search for order statistics asks an engine for, and how searches of several columns ask together."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from uptack.data.places import Counted, Gap, Known, Weighed


class Scans(Protocol):
    """What an engine is asked to do with the rows that have a value."""

    def counts(self, pivots: Sequence[float]) -> Counted:
        """How many units are below each pivot, and how many are up to it, in one scan."""
        ...

    def sample(self, gaps: Sequence[Gap], part: float) -> Weighed:
        """About such a part of the rows in the gaps, at random."""
        ...

    def fetch(self, gaps: Sequence[Gap]) -> Weighed:
        """All rows in the gaps."""
        ...

    def between(self, low: float, high: float, before: int) -> int:
        """Σ of x(r) strictly between two values in units of 2^-1074, exactly. `before` = F(low)."""
        ...


@dataclass(frozen=True)
class Sample:
    """Asks for about such a part of the rows in the gaps."""

    gaps: Sequence[Gap]
    part: float


@dataclass(frozen=True)
class Count:
    """Asks how many units are below each pivot, and up to it."""

    pivots: Sequence[float]


@dataclass(frozen=True)
class Fetch:
    """Asks for all rows in the gaps."""

    gaps: Sequence[Gap]


Search = Generator[Sample | Count | Fetch, Any, list[Known]]
"""What a search asks for, one thing after the other, and what it finds."""


class Together(Protocol):
    """Answers the same question about several columns, by one scan if it can."""

    def sample(self, asked: Mapping[int, Sample]) -> Mapping[int, Weighed]:
        """A part of the rows of each."""
        ...

    def count(self, asked: Mapping[int, Count]) -> Mapping[int, Counted]:
        """Units at the pivots of each."""
        ...

    def fetch(self, asked: Mapping[int, Fetch]) -> Mapping[int, Weighed]:
        """The rows of each."""
        ...


@dataclass(frozen=True)
class Alone:
    """One column after the other."""

    scans: Scans

    def sample(self, asked: Mapping[int, Sample]) -> Mapping[int, Weighed]:
        """A part of the rows of each."""
        return {column: self.scans.sample(ask.gaps, ask.part) for column, ask in asked.items()}

    def count(self, asked: Mapping[int, Count]) -> Mapping[int, Counted]:
        """Units at the pivots of each."""
        return {column: self.scans.counts(ask.pivots) for column, ask in asked.items()}

    def fetch(self, asked: Mapping[int, Fetch]) -> Mapping[int, Weighed]:
        """The rows of each."""
        return {column: self.scans.fetch(ask.gaps) for column, ask in asked.items()}


def together(scans: Together, searches: Mapping[int, Search]) -> dict[int, list[Known]]:
    """What searches find that go on side by side: what they ask for at the same time is asked together."""
    found, waiting = dict[int, list[Known]](), dict[int, Sample | Count | Fetch]()

    def go_on(column: int, answer: Any) -> None:
        try:
            waiting[column] = searches[column].send(answer)
        except StopIteration as end:
            found[column] = end.value

    for column in searches:
        go_on(column, None)
    while waiting:
        asked, waiting = waiting, {}
        for kind, answer in ((Sample, scans.sample), (Count, scans.count), (Fetch, scans.fetch)):
            some: dict[int, Any] = {column: ask for column, ask in asked.items() if isinstance(ask, kind)}
            for column, value in (answer(some) if some else {}).items():
                go_on(column, value)
    return found
