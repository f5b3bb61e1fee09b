"""A column whose values are known, and of which each row has the place of its value: as engines send them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from uptack.columns.fields import Array, Field, Mask
from uptack.columns.kinds import Kind, labelled


class CodedField(Field):
    """A field of any kind from its canonical values, in order, and each row's place among them."""

    def __init__(self, kind: Kind, values: Sequence[Hashable], places: NDArray[np.int64]) -> None:
        self._labels, self._places = labelled(list(values), kind), places
        super().__init__(kind, places.size, self._read_rows)

    def _read_rows(self) -> tuple[Array, Mask]:
        """The rows as the kind holds them. Whether any row is missing does not change their type."""
        gone = np.array([label is None for label in self._labels], bool)
        exact = {"boolean": np.bool_, "number": np.float64}.get(self.kind, object)
        held: Array = np.fromiter((False if label is None else label for label in self._labels), exact, gone.size)
        return held[self._places], gone[self._places]

    def codes(self) -> tuple[list[Hashable], NDArray[np.int64]]:
        """The values, and each row's place."""
        return list(self._labels), self._places
