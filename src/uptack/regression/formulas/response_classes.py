"""The two classes of a response, declared and never read off the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.table.protocol import Column
from uptack.table.values.entrance import field
from uptack.table.values.kinds import canonical

Classes = tuple[Any, Any]
WHOLE = 2**53
"""From here on a float may stand for several integers, and engines hand on floats."""


def two_classes(classes: Any) -> Classes:
    """Two values that differ."""
    given = tuple(classes) if isinstance(classes, list | tuple | np.ndarray) else ()
    plain = all(isinstance(one, str | bool | int | float | np.generic) for one in given)
    both = {canonical(one) for one in given} if plain else set()
    if len(given) != 2 or len(both) != 2 or None in both:
        fix = (
            "Of more than two, each can be fitted against the others: y == 'a' is True or False."
            if len(both) > 2
            else ""
        )
        raise InvalidArgument("classes", "two values that differ, as in (0, 1)", checks.outline(classes), fix)
    if any(isinstance(one, int | float | np.integer | np.floating) and not -WHOLE < one < WHOLE for one in given):
        raise InvalidArgument("classes", "numbers below 2^53, which floats tell apart", checks.outline(classes))
    return given[0], given[1]


def labels_of(y: Any, classes: Classes) -> Any:
    """0 for rows of the first class, 1 for those of the second, NaN for others: each row by itself."""
    if isinstance(y, Column):
        return y.coded(*classes)
    found = field("y", y, "one column of classes")
    first, second = (found.equal(one) for one in classes)
    return np.where(second, 1.0, np.where(first, 0.0, np.nan))
