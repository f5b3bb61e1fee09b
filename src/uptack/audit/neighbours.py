"""Neighbours chosen to tell a mechanism's secrets: columns where one person's rows matter as much as they can.

Every generator takes the adjacency that the promise is about: under SUBSTITUTE a person's rows take other values in D',
under ADD_REMOVE they are missing from D'.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.privacy import SUBSTITUTE, Adjacency

Floats = NDArray[np.float64]
Columns = tuple[Floats, Floats]
HUGE = 1e300
TINY = 5e-324


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


def lines(n: int, relation: Adjacency = SUBSTITUTE) -> dict[str, tuple[tuple[Floats, Floats], tuple[Floats, Floats]]]:
    """Neighbouring tables (X, y) of n rows, X with one column, for regressions."""
    x, rows = np.linspace(-1, 1, n), slice(0, relation.rows_per_person)
    shapes = {"a point of leverage": (x, 2 * x, 1e9), "a constant column": (np.ones(n), np.zeros(n), 1.0)}
    made = {}
    for name, (column, response, value) in shapes.items():
        a, a_prime = changed(column, rows, value, relation)
        b, b_prime = changed(response, rows, -value, relation)
        made[name] = ((a[:, None], b), (a_prime[:, None], b_prime))
    return made
