"""A random partition of the rows into blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.noise import Entropy


def equal_blocks(n: int, blocks: int, entropy: Entropy) -> NDArray[np.int64]:
    """Rows in random order, one line per block; -1 fills the lines of blocks that are one row shorter."""
    order = _shuffled(n, entropy)
    size = -(-n // blocks)
    filled = np.full(blocks * size, -1)
    filled[:n] = order
    return filled.reshape(size, blocks).T.copy()


def chosen_blocks(n: int, blocks: int, entropy: Entropy) -> NDArray[np.int64]:
    """The block of each row, which it chooses by itself, as added and removed rows need it."""
    return entropy.integers(blocks, n)


def independent_blocks(n: int, blocks: int, entropy: Entropy) -> NDArray[np.int64]:
    """Each row in a block of its own choice; one line per block, filled with -1."""
    chosen = chosen_blocks(n, blocks, entropy)
    order = np.argsort(chosen, kind="stable")
    counts = np.bincount(chosen, minlength=blocks)
    place = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    filled = np.full((blocks, max(int(counts.max(initial=0)), 1)), -1)
    filled[chosen[order], place] = order
    return filled


def _shuffled(n: int, entropy: Entropy) -> NDArray[np.int64]:
    """A uniform permutation: the order of random keys, drawn again in the one case in 10^6 (n = 10^6) of a tie."""
    while True:
        keys = entropy.integers(1 << 63, n)
        order = np.argsort(keys)
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order
