"""Neighbours that really move a release: each brings its mechanisms to the edge of what their theorems allow.

An audit on tables whose answer hardly moves sees no fault. Here a row, or a person, goes from one side to the other, at
the rank, the lead, the pole or the label that counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack.audit.hostile_tables import fewer
from uptack.audit.neighbours import changed, two_values
from uptack.audit.person_neighbours import MORE, PersonRows
from uptack.audit.scenario import Pair, Pairs
from uptack.privacy import SUBSTITUTE, Adjacency

N, PEOPLE = 120, 60
"""Rows, and people, of most tables."""
TWO = SUBSTITUTE.per_person(2)


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
    """Rows with all the leverage there can be, above the line, which go below it."""
    (x, y), _ = line(n)
    x, y, far = x.copy(), y.copy(), y.copy()
    x[-rows:], y[-rows:], far[-rows:] = 1e9, 1e12, -1e12
    return (x, y), (x, far)


def classed(n: int = 2500) -> Pair:
    """A row as far out as counts in full, in one class and in the other."""
    (x, y), _ = line(n)
    x, y, other = x.copy(), y.copy(), y.copy()
    x[-1], y[-1], other[-1] = 1.5 * np.quantile(np.abs(x), 0.75), 1.0, -1.0
    return (x, y), (x, other)


def counted(n: int = 2500) -> Pair:
    """A row as far out as counts in full, with a number beyond all others and with none."""
    (x, y), (_, other) = classed(n)
    y, other = np.rint(np.abs(y)), np.rint(np.abs(other))
    y[-1], other[-1] = 1e6, 0.0
    return (x, y), (x, other)


MOVES = (
    ((0.0, 0.0), (1e9, 1e12)),
    ((1.0, 9.0), (-1.0, 9.0)),
    ((1e9, 0.0), (0.0, 1e9)),
    ((1e9, 1e12), (1.5, -3.0)),
    ((1.0, 9.0), (1.5, -3.0)),
    ((1.5, 3.0), (1.5, -3.0)),
    ((0.0, 1e9), (0.0, -1e9)),
    ((1e9, -1e12), (0.0, -1e9)),
    ((1e9, 1e12), (1e9, -1e12)),
    ((1.0, 9.0), (1.5, 3.0)),
    ((0.0, 0.0), (-1.0, 9.0)),
    ((0.0, 1e9), (1.5, -3.0)),
)
"""Where a row (x, y) of a noisy line goes from and to. Together they move nearly every sum of a fit by half or more of
what one row may."""


def moves(n: int = 2500, table: bool = False) -> Pairs:
    """A noisy line whose last row goes from one place to another, as (X, y) or as one table."""
    (x, y), _ = line(n)

    def at(row: tuple[float, float]) -> Any:
        a, b = x.copy(), y.copy()
        a[-1], b[-1] = row
        return np.column_stack([a, b]) if table else (a, b)

    return {f"{d} to {e}": (at(d), at(e)) for d, e in MOVES}


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


def diagonal() -> Pair:
    """A row that goes to where all real and imaginary parts are large: an eighth of a turn, and five."""
    return np.r_[np.full(N - 1, 3.0), 1.25], np.r_[np.full(N - 1, 3.0), 6.25]


def records(n: int = N) -> Pair:
    """Records of which each is there twice, and the same with another last one."""
    rows = [{"v": float(i)} for i in range(n // 2)]
    shared = [*rows, *rows]  # each twice: a block that changes one changes the other
    return shared, [*shared[:-1], {"v": 999.0}]


def texts(n: int = N) -> Pair:
    """A column of short texts, and the same with a long one: NumPy makes all of them wide."""
    return np.full(n, "a"), np.array(["a"] * (n - 1) + ["a long text"])


def mixed(n: int = N) -> Pair:
    """A list of numbers, and the same with one that is missing."""
    return [float(i) for i in range(n)], [*(float(i) for i in range(n - 1)), None]


# -------------------------------------------------------------------------------------------------------------- people


def person_moved(least: float = 0.0, most: float = 1.0, rows: int = MORE, n: int = PEOPLE, secret: bool = False) -> Any:
    """Half of the people at either of two values; one goes over, with several rows in place of one, or is gone."""
    values = np.repeat([least, most], n // 2)
    d = np.append(values, np.full(rows - 1, least))
    ids = np.append(np.arange(n), np.zeros(rows - 1, np.int64))
    if secret:
        return PersonRows(d, n - ids), PersonRows(values[1:], n - np.arange(1, n))
    e = values.copy()
    e[0] = most
    return PersonRows(d, ids), PersonRows(e, np.arange(n))


def person_over(n: int = 240, rows: int = MORE) -> Any:
    """Everybody at a place of their own, and the least, with several rows, who goes above all others."""
    x = np.arange(float(n))
    first = PersonRows(np.append(x, np.zeros(rows - 1)), np.append(np.arange(n), np.zeros(rows - 1, np.int64)))
    return first, PersonRows(np.append(9.0 * n, x[1:]), np.arange(n))


def person_spread(n: int = PEOPLE, secret: bool = False) -> Any:
    """Everybody in three cells, and one whose rows are in two others, three times as many."""
    x, ids = np.tile([0, 1, 2], n), np.repeat(np.arange(n), 3)
    rest = ids > 0
    other = np.append(x[rest], np.repeat([3, 4], 4)), np.append(ids[rest], np.zeros(8, np.int64))
    return (PersonRows(*other), PersonRows(x[rest], ids[rest])) if secret else (PersonRows(x, ids), PersonRows(*other))


def person_alone(n: int = PEOPLE) -> Any:
    """Everybody in the first cell, and one with all her rows in the second, or in the first."""
    x, ids = np.zeros(2 * n, np.int64), np.repeat(np.arange(n), 2)
    return PersonRows(np.where(ids == 0, 1, x), ids), PersonRows(x, ids)


def person_flags(n: int = PEOPLE, rows: int = 9) -> Any:
    """One person with many rows that are all true, or one that is not."""
    first = np.append(np.full(rows, True), np.arange(n) % 2 == 0), np.append(np.zeros(rows, int), np.arange(1, n + 1))
    second = np.append(False, np.arange(n) % 2 == 0), np.arange(n + 1)
    return PersonRows(*first), PersonRows(*second)


def person_line(n: int = 240, rows: int = MORE) -> Any:
    """A noisy line of people with two rows each, and one of them far off, with more."""
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(n), 2)
    x = rng.choice([-1.0, 1.0], size=(2 * n, 1)) * rng.uniform(0.5, 1.5, size=(2 * n, 1))
    y = 2 * x[:, 0] + 0.1 * rng.normal(size=2 * n)
    rest = ids > 0
    far = np.vstack([np.full((rows, 1), 1.0), x[rest]]), np.append(np.full(rows, 50.0), y[rest])
    return PersonRows((x, y), ids), PersonRows(far, np.append(np.zeros(rows, np.int64), ids[rest]))


def person_leverage(n: int = 2500, rows: int = MORE, secret: bool = False) -> Any:
    """A noisy line of people with two rows each, and one with all the leverage there can be, above it or below it."""
    (x, y), ids = person_line(n)[0]
    rest = ids > 0

    def beside(far: float, times: int) -> PersonRows:
        hers = np.full((times, 1), 1e9), np.full(times, far)
        made = np.vstack([x[rest], hers[0]]), np.append(y[rest], hers[1])
        return PersonRows(made, np.append(ids[rest], np.full(times, n)))

    return beside(1e12, rows), PersonRows((x[rest], y[rest]), ids[rest]) if secret else beside(-1e12, 1)


def person_turned(n: int = 2500, rows: int = MORE) -> Any:
    """The same as a table, and one person in the middle, or with more rows very far away: another direction."""
    (x, y), ids = person_line(n)[0]
    table, rest = np.column_stack([x, y]), ids > 0
    far = np.vstack([table[rest], np.tile([1e9, 0.0], (rows, 1))])
    first = PersonRows(np.vstack([table[rest], [[0.0, 0.0]]]), np.append(ids[rest], n))
    return first, PersonRows(far, np.append(ids[rest], np.full(rows, n)))


def person_sided(n: int = PEOPLE, rows: int = MORE, secret: bool = False) -> Any:
    """A classification in which all are in one place and of one class, but for one person and her rows."""
    hers = np.append(np.ones(n - 1), np.full(rows, -1.0))
    first = PersonRows((np.zeros((hers.size, 1)), hers), np.append(np.arange(n - 1), np.full(rows, n)))
    left = n - 1 if secret else n
    return first, PersonRows((np.zeros((left, 1)), np.ones(left)), np.append(np.arange(n - 1), [n])[:left])


def person_ranked(n: int = PEOPLE, rows: int = MORE, label: bool = False) -> Any:
    """One person each rank, and the uppermost, with several rows, who goes below all others, or to the other group."""
    x, second = np.arange(float(n)), np.repeat([0, 1], n // 2) if label else np.arange(float(n))
    up = np.append(x, np.full(rows - 1, x[-1])), np.append(second, np.full(rows - 1, second[-1]))
    down = np.append(x[:-1], -1.0), np.append(second[:-1], 0 if label else second[-1])
    return PersonRows(up, np.append(np.arange(n), np.full(rows - 1, n - 1))), PersonRows(down, np.arange(n))


def person_groups(n: int = 2 * PEOPLE) -> Any:
    """One person with rows in two groups, whose medians she holds, or not there. Her number is the last."""
    x, by, ids = np.tile([0.0, 1.0], n), np.repeat([0, 1], n), np.arange(2 * n)
    more = np.append(x, [0.0, 0.0, 0.0]), np.append(by, [0, 0, 1])
    return PersonRows(more, np.append(ids, [2 * n] * 3)), PersonRows((x, by), ids)
