"""X and y of a regression, made of the rows of a table in memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from uptack.table.exact_sum import Floats
from uptack.table.protocol import Category, RowDesign
from uptack.table.values import entrance
from uptack.table.values.field import Field
from uptack.table.values.kinds import canonical


def fields(design: RowDesign, columns: Mapping[str, Field]) -> dict[str, Field]:
    """The columns of X by number, and y."""

    def levels(category: Category) -> Floats:
        """The number of each row's level; NaN where a row counts as missing."""
        order = {canonical(level): place for place, level in enumerate(category.levels)}
        other = {"missing": np.nan, "first": 0.0, "own": float(len(category.levels))}[category.others]
        found, codes = columns[category.name].codes()
        each = [np.nan if value is None else order.get(canonical(value), other) for value in found]
        return np.array(each, np.float64)[codes] if each else np.empty(0)

    reads = [levels(one) if isinstance(one, Category) else columns[one].floats() for one in design.reads]
    with np.errstate(all="ignore"):
        made = design.make(reads)
    return {
        name: entrance.of_numpy(line) for name, line in zip([*map(str, range(design.width)), "y"], made, strict=True)
    }
