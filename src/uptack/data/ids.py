"""Whose rows they are: numbers for the ids of people, as rows are read."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.columns import canonical, in_order
from uptack.data.expressions import decoded

Integers = NDArray[np.int64]


class Ids:
    """One column of ids, read batch by batch. Ids that are equal in their canonical form are one."""

    def __init__(self, rows: int, texts: bool) -> None:
        self._codes, self._texts, self._places = np.zeros(rows, np.int64), texts, dict[Hashable, int]()

    def read(self, ids: Any, start: int) -> None:
        """The ids of a record batch, of rows from `start` on."""
        encoded = ids.dictionary_encode("encode")
        found = encoded.dictionary.to_pylist()
        plain = (canonical(decoded(one) if self._texts else one) for one in found)
        ours = np.array([self._places.setdefault(one, len(self._places)) for one in plain], np.int64)
        self._codes[start : start + len(ids)] = ours[encoded.indices.to_numpy(zero_copy_only=False)]

    def numbers(self) -> Integers:
        """Each row's number, in the order of the ids."""
        ordered = sorted(self._places, key=in_order)
        ranks = np.empty(len(ordered), np.int64)
        ranks[[self._places[one] for one in ordered]] = np.arange(len(ordered))
        return ranks[self._codes] if ordered else self._codes


def numbered(owners: Sequence[Ids], rows: int) -> Integers:
    """A number for the owner of each row: the same where all columns of ids agree; of its own where there is none."""
    return joined([owner.numbers() for owner in owners]) if owners else np.arange(rows)


def joined(columns: Sequence[Integers]) -> Integers:
    """One number for every combination that occurs, 0, 1, 2, ... in order."""
    made: Integers = np.zeros(columns[0].size, np.int64)
    for codes in columns:  # numbered anew after each column, so that they stay below rows²
        made = np.unique(made * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return made
