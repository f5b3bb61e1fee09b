"""Blocks of people: people are dealt, and all rows of a person go with her.

**Lemma.** Let people be dealt to blocks without a look at the data, each to t of them, and let each result be a
function of the rows of its block alone. Then one person, however many rows she has, changes at most t of the results.
*Proof.* Her rows are in her blocks and nowhere else, and where others are depends on their numbers alone. Under
SUBSTITUTE these are the same for both tables; under ADD_REMOVE each person chooses her blocks by herself. ∎

How many rows there are is secret, in a block as in all of them. So block sizes, and what is refused for too few, are in
people. The rows of a person keep their order, and people come in a random one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.blocks.block_copies import number_of_rows
from uptack.table.arguments import Owned
from uptack.table.ids import NOBODY

Indices = NDArray[np.int64]


def units(data: Any) -> int:
    """How many rows, or people, there are to deal."""
    if not isinstance(data, Owned):
        return number_of_rows(data)
    data.whose.check("data", number_of_rows(data.data))
    return data.whose.people


def dealt_rows(data: Any, blocks: Sequence[Indices]) -> tuple[Any, Sequence[Indices]]:
    """The table, and the rows of each block of rows, or of people."""
    return (data.data, rows_of(blocks, data.whose.codes)) if isinstance(data, Owned) else (data, blocks)


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
