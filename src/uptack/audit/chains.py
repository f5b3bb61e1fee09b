"""By how much the score of a chain of quantiles moves between neighbours: over all candidates, exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Edges = Sequence[Sequence[int]]
NEVER = 1 << 40


def _deviations(edges: Sequence[int], points: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """f = 2(i - r) + 1 at each point, and whether it is inside of the window."""
    steps = len(edges) // 2 - 1
    cell = np.searchsorted(np.array(edges), points, side="right") - 1
    inside = (cell >= 0) & (cell < len(edges) - 1)
    return 2 * (cell - steps) + 1, inside


def largest_move(edges: Edges, edges_prime: Edges, cap: int) -> int:
    """The largest |min(V, c) - min(V', c)| over all vectors of candidates, V = |f_1| + |f_2 - f_1| + ... + |f_m|.

    Where both windows hold all coordinates it is at most the largest |V - V'|, by dynamic programming over cells of
    both; where one does not, its score is c, and c less the least V of the other counts.

    >>> largest_move([[1, 3, 5, 7]], [[1, 3, 5, 7]], 6), largest_move([[1, 3, 5, 7]], [[2, 4, 6, 8]], 6)
    (0, 4)
    """
    merged = [np.unique(np.concatenate([a, b])) for a, b in zip(edges, edges_prime, strict=True)]
    ones, others = (
        [_deviations(row, points) for row, points in zip(side, merged, strict=True)] for side in (edges, edges_prime)
    )
    found = 0
    for d, e in ((ones, others), (others, ones)):
        found = max(found, _widest(d, e), cap - _least_outside(d, e))
    return found


def _widest(d: list[tuple[Ints, NDArray[np.bool_]]], e: list[tuple[Ints, NDArray[np.bool_]]]) -> int:
    """The largest V' - V of vectors inside of both."""
    best, last = np.zeros(1, np.int64), (np.zeros(1, np.int64), np.zeros(1, np.int64))
    for (f, inside), (f_prime, inside_prime) in zip(d, e, strict=True):
        both = inside & inside_prime
        f, f_prime = f[both], f_prime[both]
        if not f.size:
            return 0
        gain = np.abs(np.subtract.outer(f_prime, last[1])) - np.abs(np.subtract.outer(f, last[0]))
        best, last = (gain + best).max(axis=1), (f, f_prime)
    return int((best + np.abs(last[1]) - np.abs(last[0])).max())


def _least_outside(d: list[tuple[Ints, NDArray[np.bool_]]], e: list[tuple[Ints, NDArray[np.bool_]]]) -> int:
    """The least V of vectors inside of the first of which the second does not hold all coordinates."""
    least = np.array([[0], [NEVER]], np.int64)  # all inside so far, or not
    last = np.zeros(1, np.int64)
    for (f, inside), (_, inside_prime) in zip(d, e, strict=True):
        if not inside.any():  # an empty window: every row of it is tied beyond the candidates
            return NEVER
        here, held = f[inside], inside_prime[inside]
        away = np.abs(np.subtract.outer(here, last))
        kept, lost = ((away + row).min(axis=1) for row in least)
        least = np.array([np.where(held, kept, NEVER), np.minimum(lost, np.where(held, NEVER, kept))])
        last = here
    return int((least[1] + np.abs(last)).min())
