"""Neighbours for people: one person's rows become others, and more or fewer of them, or she comes or goes.

Every pair of tables that differ in their last row makes a pair of tables of people. All other rows belong to people
with two rows each. The last row is a person of her own, and on one side she has it several times: so how many rows
there are, and what they weigh, differs between the neighbours too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from uptack.audit.scenario import Pairs

MORE = 4
"""Rows of the person in question, where she has several."""


class PersonRows(NamedTuple):
    """Rows, and whose each is."""

    rows: Any
    ids: Any


def peopled(pairs: Pairs, secret: bool = False) -> Pairs:
    """The same pairs for people; where their number is `secret`, she is there or not."""
    made: Pairs = {}
    for i, (name, (d, e)) in enumerate(pairs.items()):
        there, here = (1, MORE) if i % 2 else (MORE, 1)
        made[name] = (_owned(e, there), _owned(e, 0)) if secret else (_owned(d, there), _owned(e, here))
    return made


def _owned(data: Any, times: int) -> PersonRows:
    """The last row so many times, all of them hers, and the others in twos."""
    n = _length(data)
    rows = np.r_[np.arange(n - 1), np.full(times, n - 1)].astype(np.int64)
    return PersonRows(_taken(data, rows), np.where(rows == n - 1, n, rows // 2))


def _length(data: Any) -> int:
    if isinstance(data, dict):
        return _length(next(iter(data.values())))
    return _length(data[0]) if isinstance(data, tuple) else len(data)


def _taken(data: Any, rows: Any) -> Any:
    if isinstance(data, dict):
        return {key: _taken(value, rows) for key, value in data.items()}
    if isinstance(data, tuple):
        return tuple(_taken(part, rows) for part in data)
    if isinstance(data, list):
        return [data[i] for i in rows.tolist()]
    if hasattr(data, "iloc"):
        return data.iloc[rows].reset_index(drop=True)
    return data[rows] if isinstance(data, np.ndarray) else data.take(rows) if hasattr(data, "take") else data[rows]
