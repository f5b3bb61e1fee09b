"""Which rows of a table in memory meet conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.table.conditions import ORDER, OTHER, Condition, settled
from uptack.table.values.field import Field
from uptack.table.values.kinds import canonical

Mask = NDArray[np.bool_]


def met(fields: Mapping[str, Field], conditions: Sequence[Condition]) -> Mask:
    """The rows that meet all conditions."""
    found: Mask = np.logical_and.reduce([_met(one, fields[one.column]) for one in conditions])
    return found


def _met(one: Condition, field: Field) -> Mask:
    """The rows of a column that meet a condition."""
    if one.kind not in ("integer", "number", "boolean"):
        found, codes = field.codes()
        return np.fromiter((one.met_by(canonical(value)) for value in found), bool, len(found))[codes]
    values, gone = field.numbers() if one.form is None else field.ticks()
    values = values if one.form is None else values.astype(np.float64)
    there = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(field.size, bool)
    there = there if gone is None else there & ~gone
    limits = _limits(values.dtype)
    if one.operation in ORDER or one.operation == "between":
        return reduce(np.logical_and, (_compared(sign, values, end, limits) for sign, end in one.ends), there)
    wanted: list[Any] = [value for value in one.values if value is not None]
    wanted = wanted if limits is None else [value for value in wanted if limits[0] <= value <= limits[1]]
    same = reduce(np.logical_or, (values == value for value in wanted), np.zeros(field.size, bool))
    if one.operation in OTHER:
        return there & ~same
    return (there & same) | ~there if None in one.values else there & same


def _limits(dtype: np.dtype[Any]) -> tuple[int, int] | None:
    """The least and the most that an array of whole numbers can hold."""
    return (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) if dtype.kind in "iu" else None


def _compared(sign: str, values: NDArray[Any], end: Any, limits: tuple[int, int] | None) -> Any:
    decided = settled(sign, end, limits)
    return ORDER[sign](values, end) if decided is None else decided
