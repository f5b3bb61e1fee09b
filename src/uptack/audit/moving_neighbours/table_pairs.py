"""Pairs of tables, and how one release is asked about both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from uptack.audit import callers
from uptack.audit.hostile_tables import fewer
from uptack.audit.neighbours import changed, two_values
from uptack.audit.replay import Replay
from uptack.audit.replay_request import made
from uptack.privacy import SUBSTITUTE, Adjacency

N = 120
DELTA = 0.01
TWO = SUBSTITUTE.per_person(2)
Pair = tuple[Any, Any]


def case(name: str, path: str, pair: Pair, make: Callable[..., Any] = callers.one, **options: Any) -> Replay:
    """One release at ε = 20 unless it says otherwise."""
    told = {} if "eps" in options else {"epsilon": 20}
    return Replay(name, partial(make, made(path), {**told, **options}), pair, frozenset(), path, {**told, **options})


def ties(n: int = N) -> Pair:
    """Half of the rows at either of two values, and one that goes over."""
    return two_values(n, n // 2)


def removed(pair: Pair) -> Pair:
    """The second table, and the same without its last row."""
    return fewer({"": pair[::-1]})[""]


def gap(n: int = N) -> Pair:
    """A column of integers with ties, of which one row goes from the least to the largest."""
    x = np.repeat(np.arange(n // 4), 4).astype(np.float64)
    return changed(x, slice(0, 1), x[-1])


def leaves(row: int, relation: Adjacency = SUBSTITUTE) -> Pair:
    """A column of integers with ties, of which a person's rows go from inside to far away: all counts outside move."""
    return changed(gap(400)[0], slice(row, row + relation.rows_per_person), 1e9, relation)


def thick(n: int = N) -> Pair:
    """A column that spreads out from its quartiles, and the same without a row between them: n is a multiple of 4."""
    quarter = 2.0 ** np.arange(n // 4)
    x = np.r_[-quarter[::-1], np.linspace(-0.5, 0.5, n // 2), quarter]
    return x, np.delete(x, n // 2)


def times() -> Pair:
    """Days in nanoseconds, int64, with ties at the lower quartile. Floats of that size are 256 apart."""
    day, start = 86_400 * 10**9, 1_699_920_000 * 10**9
    x = start + day * np.r_[np.zeros(795, int), np.ones(200, int), 2 + np.arange(3005) // 4]
    other = x.copy()
    other[0] = x[-1]
    return x, other


def line(n: int = N, seed: int = 3, intercept: bool = False) -> Pair:
    """A noisy line, and one row of it on the other side."""
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.0, 1.0], size=(n, 1)) * rng.uniform(0.5, 1.5, size=(n, 1))
    y = 2 * x[:, 0] + 0.1 * rng.normal(size=n)
    other = y.copy()
    far = int(np.argmin(y / x[:, 0]))
    other[far] = 9 * x[far, 0]
    return (x, y), (x, other)


def far() -> Pair:
    """A noisy line, of which one row goes very far away."""
    (x, y), _ = line(400)
    return (x, y), (x, changed(y, slice(0, 1), 1e6 * x[0, 0])[1])


def leverage(rows: int = 1, n: int = 2500) -> Pair:
    """Rows as far out as counts in full, above the line, which go below it. Beyond are gross errors."""
    (x, y), _ = line(n)
    x, y, far = x.copy(), y.copy(), y.copy()
    x[-rows:], y[-rows:], far[-rows:] = 100.0, 200.0, -200.0
    return (x, y), (x, far)


def classed(n: int = 2500) -> Pair:
    """A row as far out as counts in full, in one class and in the other."""
    (x, y), _ = line(n)
    x, y, other = x.copy(), y.copy(), y.copy()
    x[-1], y[-1], other[-1] = 1.5 * np.quantile(np.abs(x), 0.75), 1.0, -1.0
    return (x, y), (x, other)


def counted(n: int = 2500) -> Pair:
    """A row as far out as counts in full, with a count beyond all others and with none."""
    (x, y), (_, other) = classed(n)
    y, other = np.rint(np.abs(y)), np.rint(np.abs(other))
    y[-1], other[-1] = 100.0, 0.0
    return (x, y), (x, other)


def away() -> Pair:
    """A row in the middle, which goes very far away: another direction."""
    (x, y), _ = line(2500)
    table = np.column_stack([x, y])
    middle, far = table.copy(), table.copy()
    middle[-1], far[-1] = 0.0, [1e9, 0.0]
    return middle, far


def clear(n: int = 400) -> Pair:
    """A fit that holds for all rows but a few below it, of which one goes above: all certificates move by two rows."""
    x = np.ones((n, 1))
    y = np.r_[np.zeros(10), np.full(n - 10, 2.0)]
    return (x, y), (x, changed(y, slice(0, 1), 4.0)[1])


def split(n: int = N, far: float = 1.0) -> Pair:
    """Half of the rows on either of two lines: one row, which goes far, decides."""
    x, y = np.ones((n, 1)), two_values(n, n // 2)[0]
    return (x, y), (x, changed(y, slice(0, 1), far)[1])


def plane(n: int = N) -> Pair:
    """The line with a second column, which has no say."""
    (x, y), (_, other) = line(n)
    wide = np.column_stack([x[:, 0], np.random.default_rng(1).normal(size=n)])
    return (wide, y), (wide, other)
