"""Functions of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack.audit import callers
from uptack.audit.moving_neighbours.table_pairs import DELTA, N, Pair, case, gap, removed, ties
from uptack.audit.neighbours import changed, two_values
from uptack.audit.replay import Replay
from uptack.privacy import ADD_REMOVE


def _spoiler(rows: Any) -> float:
    """A function that changes what it is given."""
    total = float(sum(row["v"] for row in rows))
    for row in rows:
        row["v"] = total
    return total


def _peak(rows: Any) -> float:
    """The largest row."""
    return float(np.max(rows))


class Keeper:
    """A function that remembers."""

    def __init__(self) -> None:
        self.total = 0.0

    def __call__(self, rows: Any) -> float:
        """Everything so far."""
        self.total += float(np.sum(rows))
        return self.total

    def __reduce__(self) -> Any:
        return Keeper, ()


def _records(n: int = N) -> Pair:
    rows = [{"v": float(i)} for i in range(n // 2)]
    shared = [*rows, *rows]  # each twice: a block that changes one changes the other
    return shared, [*shared[:-1], {"v": 999.0}]


def _texts(n: int = N) -> Pair:
    """A column of short texts, and the same with a long one: NumPy makes all of them wide."""
    return np.full(n, "a"), np.array(["a"] * (n - 1) + ["a long text"])


def _width(rows: Any) -> float:
    return float(rows.dtype.itemsize)


def _mixed(n: int = N) -> Pair:
    """A list of numbers, and the same with one that is missing."""
    return [float(i) for i in range(n)], [*(float(i) for i in range(n - 1)), None]


def _kinds(rows: Any) -> float:
    return float(len({type(row) for row in rows}))


def blocks() -> list[Replay]:
    """Functions of blocks."""
    votes = two_values(N, 90)
    path, stable = "uptack.subsample_aggregate", "uptack.stable_value"
    here: dict[str, Any] = {"trusted": True}  # a process for every block takes long
    pair = {"f": callers.pair, "aggregate": "vector_median", "fallback": [0.0, 0.0]}
    return [
        case("stable value", stable, votes, callers.blocks, f=callers.outcome, blocks=N, delta=DELTA, **here),
        case("A_samp", "uptack.papers.A_samp", changed(np.zeros(N), slice(0, 1), 1.0), callers.blocks, f=_peak, eps=30,
              delta=0.1, progress=False, **here),
        case("block median", path, ties(), callers.blocks, f=callers.number, blocks=N, **here),
        case("block median, twice", path, ties(), callers.blocks, f=callers.number, blocks=2 * N, times=2, **here),
        case("block median, add/remove", path, removed(gap()), callers.blocks, f=callers.number, blocks=60,
              adjacency=ADD_REMOVE, **here),
        case("vector median", path, ties(), callers.blocks, blocks=N, **pair, **here),
        case("blocks of records", path, _records(), callers.blocks, f=_spoiler, blocks=24),
        case("blocks of records, trusted", path, _records(), callers.blocks, f=_spoiler, blocks=60, **here),
        case("blocks of texts", path, _texts(), callers.blocks, f=_width, blocks=24),
        case("blocks of objects", path, _mixed(), callers.blocks, f=_kinds, blocks=24),
        case("blocks in turn", path, gap(), callers.blocks, f=Keeper(), blocks=24),
    ]  # fmt: skip
