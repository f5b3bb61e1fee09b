"""Columns of an engine as codes: numbers for their canonical values, as rows are read."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.table.engine.expressions import valued
from uptack.table.values.field import CodedField, Field
from uptack.table.values.kinds import Kind, canonical, in_order

Integers = NDArray[np.int64]


class Codes:
    """One column, read batch by batch. Values that are equal in their canonical form have one code."""

    def __init__(self, rows: int, kind: Kind) -> None:
        self._codes, self._kind, self._places = np.zeros(rows, np.int64), kind, dict[Hashable, int]()

    def read(self, values: Any, start: int) -> None:
        """The values of a record batch, of rows from `start` on."""
        encoded = values.dictionary_encode("encode")
        plain = (canonical(valued(one, self._kind)) for one in encoded.dictionary.to_pylist())
        ours = np.array([self._places.setdefault(one, len(self._places)) for one in plain], np.int64)
        self._codes[start : start + len(values)] = ours[encoded.indices.to_numpy(zero_copy_only=False)]

    def labels(self) -> list[Hashable]:
        """The values that occur, in order, a missing one last."""
        return sorted(self._places, key=in_order)

    def numbers(self) -> Integers:
        """Each row's place among the labels."""
        ordered = self.labels()
        ranks = np.empty(len(ordered), np.int64)
        ranks[[self._places[one] for one in ordered]] = np.arange(len(ordered))
        return ranks[self._codes] if ordered else self._codes


def joined(columns: Sequence[Integers]) -> Integers:
    """One number for every combination that occurs, 0, 1, 2, ... in order."""
    made: Integers = np.zeros(columns[0].size, np.int64)
    for codes in columns:  # numbered anew after each column, so that they stay below rows²
        made = np.unique(made * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return made


def fields(columns: Sequence[Codes], kinds: Sequence[Kind]) -> list[Field]:
    """Columns that were read as codes, as columns of their kinds."""
    return [CodedField(kind, one.labels(), one.numbers()) for one, kind in zip(columns, kinds, strict=True)]
