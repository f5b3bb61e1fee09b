"""Randomness that is written down, so that a release can be run again on a neighbour with the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.noise import Entropy


class TapeEntropy(Entropy):
    """Question number i gets the first bytes of a stream of its own.

    Neighbours that ask for more or less in one place still get the same everywhere else. It says that it is private,
    since a stamp on the result is one of the things that are compared. It is for audits alone.

    >>> TapeEntropy(1).bytes(2) == TapeEntropy(1).bytes(4)[:2]
    True
    """

    private = True

    def __init__(self, seed: int) -> None:
        self.seed, self.asked = seed, 0

    def _stream(self) -> np.random.Generator:
        self.asked += 1
        return np.random.Generator(np.random.Philox(key=[self.seed, self.asked]))

    def bytes(self, count: int) -> bytes:
        """So many bytes of the next stream."""
        return self._stream().bytes(count)

    def below(self, bound: int) -> int:
        """One question, however often a draw must be repeated."""
        words = -(-bound.bit_length() // 64) + 1
        return int.from_bytes(self._stream().bytes(8 * words), "little") % bound

    def integers(self, bound: int, size: int) -> NDArray[np.int64]:
        """One question too."""
        return self._stream().integers(bound, size=size, dtype=np.int64)

    def __repr__(self) -> str:
        return f"TapeEntropy({self.seed})"


class CoupledTape(TapeEntropy):
    """A tape on which random columns belong to rows, as the theorems about them couple neighbours.

    Whole columns of random integers start alike wherever they are asked for: the blocks that rows go to. The rows of a
    cell get the first digits of one sequence, so where a neighbour has one row more in a cell, all others have the same
    digits. Whoever asks for a cell's digits a second time gets others.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._cells: dict[int, int] = {}

    def rewind(self) -> None:
        """Begin again, for the run on the neighbour."""
        self.asked = 0
        self._cells.clear()

    def integers(self, bound: int, size: int) -> NDArray[np.int64]:
        """The first of one sequence for each bound."""
        stream = np.random.Generator(np.random.Philox(key=[self.seed, bound % (1 << 61)]))
        return stream.integers(bound, size=size, dtype=np.int64)

    def digits(self, bound: int, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first of one sequence for each cell."""
        digits = np.zeros(keys.size, np.int64)
        for key in np.unique(keys).tolist():
            times, rows = self._cells.get(key, 0), keys == key
            self._cells[key] = times + 1
            stream = np.random.Generator(np.random.Philox(key=[self.seed + ((times + 1) << 32), key % (1 << 63)]))
            digits[rows] = stream.integers(bound, size=np.count_nonzero(rows), dtype=np.int64)
        return digits
