"""A statistic as the engines see it, and how what they found becomes a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from uptack.columns import Column
from uptack.privacy import Privacy, cost, loss
from uptack.reach import Reach
from uptack.release import Advice, Noise, NoReply, Release
from uptack.statistics.arguments import Call, count_noise

Data = Column


@dataclass(frozen=True)
class Statistic:
    """What an engine must know of a statistic before it sees data.

    `ranks(n)` are the order statistics it rests on and `build(x, n, steps, rows)` its reach. For propose-test-release:
    `spread(n)` are the ranks of an interquantile range, and the statistic moves by about `slope` times that range over
    n when one row changes. `scale` marks statistics that are scales themselves; `averaged(n)` is the number of rows
    that a trimmed mean is the mean of, where one row moves it by at most spread/averaged.
    """

    ranks: Callable[[int], tuple[int, ...]]
    build: Callable[[Data, int, int, int], Reach]
    spread: Callable[[int], tuple[int, int]]
    slope: float = 1.0
    scale: bool = False
    averaged: Callable[[int], int] | None = None

    def fits(self, n: int, moves: int) -> bool:
        """Whether so many moves of one rank stay inside a table of n rows."""
        ranks = self.ranks(n)
        return min(ranks) - moves >= 1 and max(ranks) + moves <= n


def answered(request: Call, value: Any, tree: loss.Loss, how: str, noise: Noise | None = None) -> Release[Any]:
    """A release that accounts for everything spent on the way to it."""
    whole = loss.Composed((*request.spent, tree)) if request.spent else tree
    price = cost(whole, request.adjacency)
    return Release(value, price, f"{request.name} by {how}", whole, noise, request.entropy.private)


def refused(request: Call, tree: loss.Loss | None, how: str, advice: Advice) -> NoReply:
    """⊥, with everything spent on the way to it."""
    if request.size_is_secret:
        advice = _with_room_for_the_count(advice, request)
    parts = (*request.spent, *((tree,) if tree else ()))
    whole = loss.Composed(parts) if parts else None
    price = cost(whole, request.adjacency) if whole else Privacy(0, 0, request.adjacency)
    return NoReply(price, f"{request.name} by {how}", whole, advice, request.entropy.private)


def _with_room_for_the_count(advice: Advice, request: Call) -> Advice:
    """Advice for a call that first spends a tenth of ε on a noisy number of rows, which may come out too small."""
    below = count_noise(request).cutoff(Fraction(1, 1000))
    n = None if advice.n is None else advice.n + below
    return replace(advice, n=n, epsilon=None)  # the ε that would do depends on a number of rows that is secret


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
