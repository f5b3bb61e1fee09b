"""Random disjoint pairs of rows, by the places that rows have in a scan.

**Theorem.** Whatever the order of a scan is, and however it depends on the rows: pairs of *rows* have a law that does
not depend on what rows hold. One row that is replaced, added or removed changes one pair at most.

*Proof.* Numbers are drawn for places, independently of the rows and of their order. `equal`: every ordered choice of so
many places is equally likely, and the order of a scan maps places to rows one to one. So every choice of pairs of rows
is equally likely. Let the same pairs act on two tables that differ in one row: the row is in one of them at most.
`chosen`: every row gets a number of its own, all independent and of one law. So let rows that are in both tables have
the same numbers. A slot's pair are the two rows with the least numbers in it, none where that is a tie with a third
row: it depends on the rows of the slot and on their numbers, not on their order. A row is in one slot. ∎

(The first two rows of a slot *in the order of a scan* would not do. An engine may scan a table that has one row more in
another order, and then other slots have other pairs.)

More than a public number of pairs are never made: scales need no more, and so memory is bounded however many rows there
are. Of rows in memory pairs are the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack.blocks.partition import equal_blocks
from uptack.noise import Entropy

Places = NDArray[np.int64]

MOST = 1 << 18
"""Pairs, where nobody asks for more."""

DENSE = 8
"""Up to so many rows per pair all of them are shuffled."""

CHUNK = 1 << 20
"""Numbers that are drawn at once."""


def equal(n: int, most: int, entropy: Entropy) -> Places:
    """So many pairs of n places, n/2 of them or `most`, each with the same chance. Two lines."""
    pairs = min(n // 2, most)
    if pairs == 0:
        return np.zeros((2, 0), np.int64)
    if n <= DENSE * most:
        return equal_blocks(n, n // 2, entropy)[:pairs, :2].T
    return _distinct(n, 2 * pairs, entropy).reshape(2, pairs)


def _distinct(n: int, size: int, entropy: Entropy) -> Places:
    """The first different ones of a sequence of uniform integers: so all choices and orders are equally likely."""
    found = np.empty(0, np.int64)
    while found.size < size:
        drawn = np.concatenate([found, entropy.integers(n, size)])
        found = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return found[:size]


def chosen(n: int, slots: int, most: int, entropy: Entropy) -> tuple[Places, Places]:
    """The pairs of the first `most` slots, for n rows that each choose one of them all: which slots, and two lines.

    A number below slots·2^b is a slot, and b bits that say who is first there.
    """
    bits = 63 - slots.bit_length()
    numbers, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for start in range(0, n, CHUNK):
        drawn = entropy.integers(slots << bits, min(CHUNK, n - start))
        kept = np.flatnonzero(drawn >> bits < most)
        numbers.append(drawn[kept])
        places.append(start + kept)
    return _least_two(np.concatenate(numbers), np.concatenate(places), bits)


def _least_two(numbers: Places, places: Places, bits: int) -> tuple[Places, Places]:
    """The slots with two rows, and the places of the two least numbers of each."""
    order = np.argsort(numbers)
    ordered = np.append(numbers[order], [-1, -1])
    slot = ordered >> bits
    first = np.flatnonzero(np.diff(slot[:-2], prepend=-1))
    paired = (slot[first] == slot[first + 1]) & (ordered[first + 1] != ordered[first + 2])
    kept = first[paired]
    return slot[kept], places[order[np.array([kept, kept + 1])]]
