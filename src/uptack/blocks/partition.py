"""Random partitions of rows, or of people with all their rows, into blocks.

**Lemma.** Let people be assigned to blocks independently of the data, each to t of them, and let each result be a
function of the rows of its block alone. Then one person, however many rows she has, changes at most t of the results.
*Proof.* Her rows are in her blocks and nowhere else, and the blocks of others depend on their numbers alone. Under
SUBSTITUTE these are the same for both tables; under ADD_REMOVE each person's blocks are drawn independently. ∎

The number of rows is secret, in a block as in all of them. So block sizes and their limits are in people. The rows of a
person keep their order, and people come in a random one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.blocks.block_copies import number_of_rows
from uptack.errors import InvalidArgument
from uptack.noise import Entropy
from uptack.table.ids import NOBODY
from uptack.table.reads import OwnedRows

Indices = NDArray[np.int64]


def equal_blocks(n: int, blocks: int, entropy: Entropy) -> Indices:
    """Rows in random order, one line per block; -1 fills the lines of blocks that are one row shorter.

    A uniform permutation is the order of random keys, drawn again in the one case in 10^6 (n = 10^6) of a tie.
    """
    while True:
        keys = entropy.integers(1 << 63, n)
        order = np.argsort(keys)
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            break
    size = -(-n // blocks)
    filled = np.full(blocks * size, -1)
    filled[:n] = order
    return filled.reshape(size, blocks).T.copy()


def chosen_blocks(n: int, blocks: int, entropy: Entropy) -> Indices:
    """The block of each row, drawn independently, as added and removed rows need it."""
    return entropy.integers(blocks, n)


def independent_blocks(n: int, blocks: int, entropy: Entropy) -> Indices:
    """Each row in a block of its own choice; one line per block, filled with -1."""
    chosen = chosen_blocks(n, blocks, entropy)
    order = np.argsort(chosen, kind="stable")
    counts = np.bincount(chosen, minlength=blocks)
    place = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    filled = np.full((blocks, max(int(counts.max(initial=0)), 1)), -1)
    filled[chosen[order], place] = order
    return filled


def random_blocks(n: int, blocks: int, entropy: Entropy, *, times: int = 1, substitute: bool = True) -> list[Indices]:
    """The positions of the rows of each block: `times` random partitions, each into blocks/times of them.

    >>> from uptack import SeededEntropy
    >>> np.bincount(np.concatenate(random_blocks(7, 6, SeededEntropy(1), times=3))).tolist()
    [3, 3, 3, 3, 3, 3, 3]
    """
    part = equal_blocks if substitute else independent_blocks
    lines = (line for _ in range(times) for line in part(n, blocks // times, entropy))
    return [line[line >= 0] for line in lines]


def check_times(times: int, blocks: int) -> int:
    """How many blocks each row is in: a divisor of the number of blocks."""
    t = checks.integer("times", times, least=1)
    if blocks % t:
        raise InvalidArgument("times", f"a divisor of blocks, {blocks}", t, f"Take {blocks - blocks % t or t} blocks.")
    return t


def units(data: Any) -> int:
    """The number of rows, or of people."""
    if not isinstance(data, OwnedRows):
        return number_of_rows(data)
    data.whose.check("data", number_of_rows(data.data))
    return data.whose.people


def rows_of(blocks: Sequence[Indices], codes: Indices) -> list[Indices]:
    """The rows of the people of each block, where row i is that of person codes[i].

    >>> [rows.tolist() for rows in rows_of([np.array([2, 0]), np.array([1])], np.array([0, 1, 2, 0, -1, 2]))]
    [[2, 5, 0, 3], [1]]
    """
    people = np.concatenate([*blocks, np.zeros(0, np.int64)])
    order = np.argsort(codes, kind="stable")
    order = order[np.count_nonzero(codes == NOBODY) :]
    counts = np.bincount(codes[order], minlength=int(people.max(initial=-1)) + 1)
    starts, lengths = (np.cumsum(counts) - counts)[people], counts[people]
    ends = np.cumsum(lengths)
    rows = order[np.repeat(starts - (ends - lengths), lengths) + np.arange(lengths.sum())]
    cuts = np.cumsum([block.size for block in blocks])[:-1]
    return np.split(rows, np.append(0, ends)[cuts])
