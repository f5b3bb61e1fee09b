"""A column whose values are known, and of which each row has the place of its value: as engines send them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from uptack.columns.fields import Field
from uptack.columns.kinds import Kind, labelled


class CodedField(Field):
    """A field of any kind from its canonical values, in order, and each row's place among them."""

    def __init__(self, kind: Kind, values: Sequence[Hashable], places: NDArray[np.int64]) -> None:
        self._labels, self._places = labelled(list(values), kind), places
        objects = np.empty(len(values), object)
        objects[:] = self._labels
        super().__init__(kind, places.size, lambda: (objects[places], None))

    def codes(self) -> tuple[list[Hashable], NDArray[np.int64]]:
        """The values, and each row's place."""
        return list(self._labels), self._places
