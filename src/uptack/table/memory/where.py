"""Which rows of a table in memory meet conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from uptack.table.conditions import ORDER, Condition, decided
from uptack.table.values.field import Field, Mask
from uptack.table.values.kinds import canonical


def met(fields: Mapping[str, Field], conditions: Sequence[Condition]) -> Mask:
    """The rows that meet all conditions."""
    rows: Mask = np.logical_and.reduce([_met(one, fields[one.column]) for one in conditions])
    return rows


def _met(one: Condition, field: Field) -> Mask:
    """The rows of a column that meet a condition."""
    if one.kind not in ("integer", "number", "boolean"):
        labels, codes = field.codes()
        return np.fromiter((one.met_by(canonical(value)) for value in labels), bool, len(labels))[codes]
    values, gone = field.numbers() if one.form is None else field.ticks()
    values = values if one.form is None else values.astype(np.float64)
    there = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(field.size, bool)
    there = there if gone is None else there & ~gone
    limits = None
    if values.dtype.kind in "iu":
        limits = int(np.iinfo(values.dtype).min), int(np.iinfo(values.dtype).max)

    def same() -> Mask:
        wanted = [value for value in one.values if isinstance(value, int | float)]
        inside = [value for value in wanted if limits is None or limits[0] <= value <= limits[1]]
        return reduce(np.logical_or, (values == value for value in inside), np.zeros(field.size, bool))

    def ordered(sign: str, end: Any) -> Any:
        always = decided(sign, end, limits)
        return ORDER[sign](values, end) if always is None else always

    rows: Mask = one.met_where(there, same, ordered)
    return rows
