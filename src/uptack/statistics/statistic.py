"""A statistic, described once: for the mechanisms that release it, and for its influence function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from uptack.reach import LStatistic, Reach, Segment
from uptack.reach.l_statistics import quartiles
from uptack.table.protocol import Column

Data = Column
Build = Callable[[Data, int, int, int], Reach]


@dataclass(frozen=True)
class Functional:
    """T(F) = weight·∫ F⁻¹(u) du over `between`, + Σ v·F⁻¹(p) over the `levels` (v, p)."""

    levels: tuple[tuple[Fraction, Fraction], ...] = ()
    weight: Fraction = Fraction(0)
    between: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))


@dataclass(frozen=True)
class Statistic:
    """What is to be known of a statistic before data are seen.

    `segments(n)` are the ranks that it rests on and their weights: T = Σ w·x(i) on n rows. `functional` is the same for
    a law; None where it has none of this form. `build(x, n, steps, rows)` is its reach, where that is not the reach of
    a sum with weights of at least 0 (`uptack.reach.LStatistic`).

    For propose-test-release: `spread(n)` are the ranks of an interquantile range, and the statistic moves by about
    `slope` times that range over n when one row changes. `scale` marks statistics that are scales themselves;
    `averaged(n)` is the number of rows that a trimmed mean is the mean of, where one row moves it by at most
    spread/averaged. A wrong slope costs replies or accuracy, never privacy.

    `whole` says that a column of integers has answers that are integers.

    `follows` says that ranks may be worked out from the true number of rows where that is secret: **adding or removing
    a row then moves T's reach by one step and no more**, although segments(n) moves too. `near` is a statistic of which
    that is true, within a rank of this one. Without either, a noisy number of rows is bought first.
    """

    name: str
    segments: Callable[[int], tuple[Segment, ...]]
    functional: Functional | None = None
    build: Build = field(default=None)  # type: ignore[assignment]
    spread: Callable[[int], tuple[int, int]] = quartiles
    slope: float = 1.0
    scale: bool = False
    averaged: Callable[[int], int] | None = None
    whole: bool = False
    follows: bool = False
    near: Statistic | None = None

    def __post_init__(self) -> None:
        if self.build is None:
            object.__setattr__(self, "build", self._weighted_sum)

    def _weighted_sum(self, x: Data, n: int, steps: int, rows: int) -> Reach:
        return LStatistic.of(x, self.segments(n), steps, rows)

    def ranks(self, n: int) -> tuple[int, ...]:
        """The first and the last rank of every segment."""
        return tuple(end for segment in self.segments(n) for end in (segment.first, segment.last))

    def room(self, n: int, size: int) -> int:
        """How many moves of one rank stay inside a table of so many rows, where the ranks are those of n rows."""
        ranks = self.ranks(n)
        return min(min(ranks) - 1, size - max(ranks))

    def fits(self, n: int, moves: int) -> bool:
        """Whether so many moves of one rank stay inside a table of n rows."""
        return self.room(n, n) >= moves


def least_n(fits: Callable[[int], bool]) -> int:
    """The number of rows from which on a public condition holds, to within one part in a thousand."""
    high = 1
    while not fits(high):
        high *= 2
    low = high // 2
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
