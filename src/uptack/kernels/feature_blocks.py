"""Features of rows, a block of them at a time.

How many rows people have is secret. So neither the memory that is needed nor the rounding of a sum may have a limit
that depends on it: sums are taken inside blocks first, and those of blocks in pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from uptack.kernels.kernel import Floats
from uptack.kernels.machine_function import features

BLOCK = 1 << 10
"""Rows of one block."""
TERMS = BLOCK + 64
"""A sum of fewer than 2^64 blocks errs by at most so many roundoffs of the sum of absolute values: one for each row of
a block, and one for each round of pairs."""
KEPT = 1 << 29
"""Numbers that are kept at once, 4 GiB. Where there are more they are worked out again whenever they are needed."""


class Features:
    """φ(x) of every row, for the frequencies of `uptack.kernels.machine_function.features`."""

    def __init__(self, x: Floats, omega: Floats) -> None:
        self._x, self._omega = x, omega

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows there are, and how long φ is."""
        return len(self._x), 2 * len(self._omega)

    def __iter__(self) -> Iterator[Floats]:
        return iter(self._kept) if self.shape[0] * self.shape[1] <= KEPT else self._made()

    def times(self, w: Floats) -> Floats:
        """w·φ of every row."""
        return np.concatenate([np.empty(0), *(phi @ w for phi in self)])

    def added(self, weights: Floats) -> Floats:
        """Σ weight·φ over all rows: see `TERMS`."""
        parts = [weights[i * BLOCK :][: len(phi)] @ phi for i, phi in enumerate(self)] or [np.zeros(self.shape[1])]
        while len(parts) > 1:
            parts = [*map(np.add, parts[::2], parts[1::2]), *parts[len(parts) & ~1 :]]
        return parts[0]

    def squared(self, weights: Floats) -> Floats:
        """Σ weight·φφᵀ for weights of at least 0. Rows that weigh nothing take no part."""
        total = np.zeros((self.shape[1], self.shape[1]))
        for i, phi in enumerate(self):
            here = weights[i * BLOCK :][: len(phi)]
            root = phi[here > 0] * np.sqrt(here[here > 0])[:, None]
            total += root.T @ root
        return total

    def _made(self) -> Iterator[Floats]:
        return (features(self._x[i : i + BLOCK], self._omega) for i in range(0, len(self._x), BLOCK))

    @cached_property
    def _kept(self) -> list[Floats]:
        return list(self._made())
