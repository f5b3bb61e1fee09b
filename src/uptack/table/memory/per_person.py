"""One number per person: her rows are added in the order of their size, so that the table's order has no say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack.table.unit import Integers
from uptack.table.values.kinds import LARGEST


def numbers(values: NDArray[Any], codes: Integers, people: int, how: str, order: Integers | None) -> NDArray[Any]:
    """The numbers of all who have a row, in the order of their codes; `order` says which of their rows is the last."""
    m = np.bincount(codes, minlength=people)
    there = m > 0
    if how == "count":
        return m[there]
    if how in ("mean", "sum"):
        floats = values.astype(np.float64)
        turn = np.argsort(floats, kind="stable")
        sums = np.bincount(codes[turn], weights=floats[turn], minlength=people)[there]
        return np.clip(sums / m[there] if how == "mean" else sums, -LARGEST, LARGEST)
    rows = np.lexsort((values, codes) if order is None else (values, order, codes))
    ends, m = np.cumsum(m)[there], m[there]
    place = {"min": ends - m, "median": ends - m + (m - 1) // 2}.get(how, ends - 1)
    picked: NDArray[Any] = values[rows[place]]
    return picked
