"""A draw by a chain of quantiles as a mechanism: by how much its scores move, over all candidates, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uptack.account import AssumptionFailed, Mechanism
from uptack.exact import logarithm
from uptack.mechanisms.quantile_chain import Chain
from uptack.noise import Entropy

Ints = NDArray[np.int64]
NEVER = 1 << 40


@dataclass(frozen=True)
class ChainDraw(Mechanism[Chain, tuple[list[int], list[int] | None]]):
    """A vector of candidates by the law of a chain, and the rows up to each, which are not released."""

    q: Fraction

    def draw(self, value: Chain, entropy: Entropy) -> tuple[list[int], list[int] | None]:
        """By the theorem above."""
        return value.draw(entropy)

    def public(self, output: tuple[list[int], list[int] | None]) -> tuple[list[int], None]:
        """The vector alone. A neighbour has numbers of rows of its own, and counts them where it knows none."""
        return output[0], None

    def price(self, value: Chain, other: Chain, output: tuple[list[int], list[int] | None]) -> float:
        """2·ln(1/q) for each step by which the score of some vector moves."""
        public = [(c.bin.low, c.bin.high, c.bin.targets, c.bin.total, c.steps, c.q) for c in (value, other)]
        if public[0] != public[1] or value.q != self.q:
            raise AssumptionFailed("gaps, bins or a decay that depend on the data")
        return 2 * largest_move(value, other) * -logarithm(self.q)


class _Cells(NamedTuple):
    """Stretches of candidates that both chains count alike: where each starts and ends, and D for both chains."""

    starts: Ints
    ends: Ints
    away: tuple[Ints, Ints]
    inside: tuple[NDArray[np.bool_], NDArray[np.bool_]]


def _cells(one: Chain, other: Chain) -> list[_Cells]:
    out = []
    for mine, theirs in zip(one.edges, other.edges, strict=True):
        points = np.unique(np.concatenate([[one.bin.low], mine, theirs, [one.bin.high]]))
        starts, seen = points[:-1], []
        for chain, edges in ((one, mine), (other, theirs)):
            cell = np.searchsorted(edges, starts, side="right") - 1
            seen.append((2 * (chain.first + cell) + chain.bin.parity, (cell >= 0) & (cell < edges.size - 1)))
        out.append(_Cells(starts, points[1:], (seen[0][0], seen[1][0]), (seen[0][1], seen[1][1])))
    return out


def largest_move(one: Chain, other: Chain) -> int:
    """The largest move of min(V, |E| + c) over all vectors of candidates, for two chains with the same public numbers.

    Where both windows hold all coordinates it is at most the largest |V - V'|, by dynamic programming over cells of
    both, or that of |E|. Where one does not, its score is |E| + c, and that less the least V of the other counts.
    """
    cells, excess, found = _cells(one, other), (one.bin.excess, other.bin.excess), 0
    for d, e in ((0, 1), (1, 0)):
        limit = abs(excess[e]) + one.cap
        found = max(found, abs(excess[e]) - abs(excess[d]), _widest(cells, d, e, excess))
        found = max(found, limit - _least_outside(cells, d, e, excess[d]))
    return found


def _sorted(before: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Which cells can follow which: some candidate of the one is at most some candidate of the other."""
    follows: NDArray[np.bool_] = before[None, :] < ends[:, None]
    return follows


def _widest(cells: list[_Cells], d: int, e: int, excess: tuple[int, int]) -> int:
    """The largest V' - V of vectors inside of both."""
    best, last = np.zeros(1, np.int64), (np.zeros(1, np.int64), np.zeros(1, np.int64))
    starts = np.array([-NEVER])
    for cell in cells:
        both = cell.inside[0] & cell.inside[1]
        if not both.any():
            return 0
        here, there = cell.away[d][both], cell.away[e][both]
        gain = np.abs(np.subtract.outer(there, last[1])) - np.abs(np.subtract.outer(here, last[0]))
        allowed = _sorted(starts, cell.ends[both])
        best = np.where(allowed, gain + best, -NEVER).max(axis=1)
        last, starts = (here, there), cell.starts[both]
    return int((best + np.abs(excess[e] - last[1]) - np.abs(excess[d] - last[0])).max())


def _least_outside(cells: list[_Cells], d: int, e: int, excess: int) -> int:
    """The least V of vectors inside of the first of which the second does not hold all coordinates."""
    least = np.array([[0], [NEVER]], np.int64)  # all inside so far, or not
    last, starts = np.zeros(1, np.int64), np.array([-NEVER])
    for cell in cells:
        mine = cell.inside[d]
        if not mine.any():  # an empty window: every row of it is tied beyond the candidates
            return NEVER
        here, held = cell.away[d][mine], cell.inside[e][mine]
        away = np.where(_sorted(starts, cell.ends[mine]), np.abs(np.subtract.outer(here, last)), NEVER)
        kept, lost = ((away + row).min(axis=1) for row in least)
        least = np.array([np.where(held, kept, NEVER), np.minimum(lost, np.where(held, NEVER, kept))])
        last, starts = here, cell.starts[mine]
    return int((least[1] + np.abs(excess - last)).min())
