"""Neighbours chosen to tell a mechanism's secrets: tables where one person's rows matter as much as they can.

Under SUBSTITUTE a person's rows take other values in D', under ADD_REMOVE they are missing from D'. Where a table has
several columns, or is a frame, a list or a tuple (X, y), its last row is the one that differs. From such a pair follow
the pair for ADD_REMOVE (`fewer`) and the pair of tables of people (`peopled`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.audit.scenario import Pairs, PersonRows
from uptack.errors import InvalidArgument
from uptack.privacy import SUBSTITUTE, Adjacency

Floats = NDArray[np.float64]
Columns = tuple[Floats, Floats]
HUGE = 1e300
TINY = 5e-324
MORE = 4
"""Rows of the person in question, where she has several."""


def changed(d: Floats, rows: slice, value: float, relation: Adjacency = SUBSTITUTE) -> Columns:
    """A column, and the same with some rows set to a value, or removed.

    >>> changed(np.arange(4.0), slice(0, 1), 9.0)[1].tolist()
    [9.0, 1.0, 2.0, 3.0]
    """
    if len(range(*rows.indices(d.size))) > relation.rows_per_person:
        raise InvalidArgument("rows", f"at most {relation.rows_per_person}, those of a person", rows)
    if not relation.size_is_public:
        return d, np.delete(d, rows)
    other = d.copy()
    other[rows] = value
    return d, other


def two_values(n: int, lower: int, relation: Adjacency = SUBSTITUTE, *, low: float = 0.0, high: float = 1.0) -> Columns:
    """`lower` rows with the low value and the rest with the high one; a person with low rows changes sides.

    With `lower` equal to a rank this is where an order statistic jumps. Further away it is where a test that counts
    rows wavers between passing and failing.
    """
    checks.integer("lower", lower, least=relation.rows_per_person)
    d = np.r_[np.full(lower, low), np.full(n - lower, high)]
    return changed(d, slice(lower - relation.rows_per_person, lower), high, relation)


def hostile(n: int, rank: int, relation: Adjacency = SUBSTITUTE) -> dict[str, Columns]:
    """Neighbouring columns of n rows by what is hostile about them, aimed at the order statistic of a rank.

    >>> sorted(hostile(10, 5))
    ['a gap', 'all equal', 'edges of the granularity', 'extreme magnitudes', 'one row far away', 'signed zeros',
     'subnormals', 'ties at the rank']
    """
    g = relation.rows_per_person
    checks.integer("rank", rank, least=g)
    gap = np.r_[np.linspace(0, 1, rank), np.linspace(1e6, 1e6 + 1, n - rank)]
    at = slice(rank - g, rank)
    return {
        "ties at the rank": two_values(n, rank, relation),
        "all equal": changed(np.ones(n), slice(0, g), 2.0, relation),
        "a gap": changed(gap, at, 1e6, relation),
        "one row far away": changed(np.arange(float(n)), at, -1e9, relation),
        "extreme magnitudes": two_values(n, rank, relation, low=-HUGE, high=HUGE),
        "signed zeros": two_values(n, rank, relation, low=-0.0, high=0.0),
        "subnormals": two_values(n, rank, relation, low=0.0, high=TINY),
        "edges of the granularity": two_values(n, rank, relation, low=0.5, high=float(np.nextafter(0.5, 1))),
    }


# ------------------------------------------------------------------------------------------- a last row that differs


def ended(x: Any, value: Any) -> Any:
    """The column with another last row."""
    other = x.copy()
    rows = other.iloc if hasattr(other, "iloc") else other
    rows[-1] = value
    return other


def fewer(pairs: Pairs) -> Pairs:
    """The same tables where the row in question is there, or not: for ADD_REMOVE."""
    return {name: (e, taken(e, slice(-1))) for name, (_, e) in pairs.items()}


def peopled(pairs: Pairs, secret: bool = False) -> Pairs:
    """The same pairs for people; where their number is `secret`, she is there or not.

    All other rows belong to people with two rows each. The last row is a person of her own, and on one side she has it
    several times: so the number of rows and their weights differ between the neighbours too.
    """
    made: Pairs = {}
    for i, (name, (d, e)) in enumerate(pairs.items()):
        there, here = (1, MORE) if i % 2 else (MORE, 1)
        made[name] = (_owned(e, there), _owned(e, 0)) if secret else (_owned(d, there), _owned(e, here))
    return made


def _owned(data: Any, times: int) -> PersonRows:
    """The last row so many times, all of them hers, and the others in twos."""
    n = length(data)
    rows = np.r_[np.arange(n - 1), np.full(times, n - 1)].astype(np.int64)
    return PersonRows(taken(data, rows), np.where(rows == n - 1, n, rows // 2))


def length(data: Any) -> int:
    """The number of rows of a column, a frame, a dictionary of columns or a tuple of such."""
    if isinstance(data, dict):
        return length(next(iter(data.values())))
    return length(data[0]) if isinstance(data, tuple) else len(data)


def taken(data: Any, rows: NDArray[np.int64] | slice) -> Any:
    """Some rows of it."""
    if isinstance(data, dict):
        return {key: taken(value, rows) for key, value in data.items()}
    if isinstance(data, tuple):
        return tuple(taken(part, rows) for part in data)
    if isinstance(rows, slice):
        return (data.iloc if hasattr(data, "iloc") else data)[rows]
    if isinstance(data, list):
        return [data[i] for i in rows.tolist()]
    if hasattr(data, "iloc"):
        return data.iloc[rows].reset_index(drop=True)
    return data.take(rows) if hasattr(data, "take") and not isinstance(data, np.ndarray) else data[rows]
