"""Scenarios: a release function with its options, and neighbours on which an audit looks at it.

Neighbours are chosen to tell a mechanism's secrets: one person's rows matter as much as they can. Under SUBSTITUTE they
take other values in D', under ADD_REMOVE they are missing from D'. Where a table has several columns, or is a frame, a
list or a tuple (X, y), its last row is the one that differs. From such a pair follow the pair for ADD_REMOVE
(`removals`) and the pair of tables of people (`person_pairs`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.noise import Entropy
from uptack.privacy import SUBSTITUTE, Adjacency

Pair = tuple[Any, Any]
Pairs = dict[str, Pair]
MAY_REFUSE = frozenset({"⊥"})
COUNTED = frozenset({"⊥", "stamps"})
"""Where the number of rows is secret, ⊥ and its advice follow from a released number."""
LABELS = frozenset({"labels", "type"})


class PersonRows(NamedTuple):
    """Rows, and the person whom each belongs to."""

    rows: Any
    ids: Any


class SessionCall(NamedTuple):
    """A call that is made by `result`, and what a session or a ledger shows afterwards, whatever came of it."""

    result: Callable[[], Any]
    show: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Scenario:
    """A release, `call(data, entropy)`, and pairs of neighbours by name.

    `may` names what is part of the value: "⊥" where a test decides whether there is a reply, "labels" and "type" where
    they are released, "stamps" where they follow from a released number of rows. `function` and `options` say what the
    scenario covers. `draws` is the number of draws of each mechanism on each side, where samplers are audited too.
    `priced` is False where neighbours are further apart than the caller has stated.
    """

    name: str
    call: Callable[[Any, Entropy], Any]
    pairs: Callable[[], Pairs]
    may: frozenset[str] = frozenset()
    function: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    draws: int = 0
    priced: bool = True

    @property
    def epsilon(self) -> float:
        """The ε of the request; infinite where only the result states one."""
        return float(self.options.get("epsilon", math.inf))

    def result(self, data: Any, entropy: Entropy) -> Any:
        """The result of the call; of a call in a session, that of the request."""
        result = self.call(data, entropy)
        return result.result() if isinstance(result, SessionCall) else result


Floats = NDArray[np.float64]
Columns = tuple[Floats, Floats]
HUGE = 1e300
TINY = 5e-324
MORE = 4
"""Rows of the person in question, where she has several."""


def change_rows(d: Floats, rows: slice, value: float, relation: Adjacency = SUBSTITUTE) -> Columns:
    """A column, and the same with some rows set to a value, or removed.

    >>> change_rows(np.arange(4.0), slice(0, 1), 9.0)[1].tolist()
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
    return change_rows(d, slice(lower - relation.rows_per_person, lower), high, relation)


def hostile(n: int, rank: int, relation: Adjacency = SUBSTITUTE) -> dict[str, Columns]:
    """Neighbouring columns of n rows by what is hostile about them, aimed at the order statistic of a rank.

    >>> sorted(hostile(10, 5))
    ['a gap', 'all equal', 'edges of the granularity', 'extreme magnitudes', 'one row far away', 'signed zeros',
     'subnormals', 'ties at the rank']
    """
    g = relation.rows_per_person
    checks.integer("rank", rank, least=g)
    gap, at = np.r_[np.linspace(0, 1, rank), np.linspace(1e6, 1e6 + 1, n - rank)], slice(rank - g, rank)
    ends = {
        "ties at the rank": (0.0, 1.0),
        "extreme magnitudes": (-HUGE, HUGE),
        "signed zeros": (-0.0, 0.0),
        "subnormals": (0.0, TINY),
        "edges of the granularity": (0.5, float(np.nextafter(0.5, 1))),
    }
    return {
        **{name: two_values(n, rank, relation, low=low, high=high) for name, (low, high) in ends.items()},
        "all equal": change_rows(np.ones(n), slice(0, g), 2.0, relation),
        "a gap": change_rows(gap, at, 1e6, relation),
        "one row far away": change_rows(np.arange(float(n)), at, -1e9, relation),
    }


def with_last(x: Any, value: Any) -> Any:
    """The column with another last row. Lists are rebuilt, not changed."""
    if isinstance(x, list):
        return [*x[:-1], value]
    other = x.copy()
    (other.iloc if hasattr(other, "iloc") else other)[-1] = value
    return other


def removals(pairs: Pairs) -> Pairs:
    """The same tables where the row in question is there, or not: for ADD_REMOVE."""
    return {name: (e, take(e, slice(-1))) for name, (_, e) in pairs.items()}


def person_pairs(pairs: Pairs, secret: bool = False) -> Pairs:
    """The same pairs for people; where their number is `secret`, she is there or not.

    All other rows belong to people with two rows each. The last row is a person of her own, and on one side she has it
    several times: so the number of rows and their weights differ between the neighbours too.
    """

    def side(data: Any, times: int) -> PersonRows:
        n = length(data)
        rows = [*range(n - 1), *[n - 1] * times]
        return PersonRows(take(data, rows), np.array([n if row == n - 1 else row // 2 for row in rows], np.int64))

    many_first = {name: i % 2 == 0 for i, name in enumerate(pairs)}
    return {
        name: (side(e if secret else d, MORE if many_first[name] else 1),
               side(e, 0 if secret else 1 if many_first[name] else MORE))
        for name, (d, e) in pairs.items()
    }  # fmt: skip


def length(data: Any) -> int:
    """The number of rows of a column, a frame, a dictionary of columns or a tuple of such."""
    if isinstance(data, dict):
        return length(next(iter(data.values())))
    return length(data[0]) if isinstance(data, tuple) else len(data)


def take(data: Any, rows: Any) -> Any:
    """Some rows of it: a slice, or a list of places."""
    if isinstance(data, dict):
        return {key: take(value, rows) for key, value in data.items()}
    if isinstance(data, tuple):
        return tuple(take(part, rows) for part in data)
    if isinstance(rows, slice):
        return (data.iloc if hasattr(data, "iloc") else data)[rows]
    if isinstance(data, list):
        return [data[i] for i in rows]
    places = np.array(rows, np.int64)
    if hasattr(data, "iloc"):
        return data.iloc[places].reset_index(drop=True)
    return data.take(places) if hasattr(data, "take") and not isinstance(data, np.ndarray) else data[places]
