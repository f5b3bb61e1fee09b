"""Neighbours that really move a release: each brings its mechanisms to the edge of what their theorems allow.

An audit on tables whose answer hardly moves sees no fault. Here a row, or a person, goes from one side to the other, at
the rank, the lead, the pole or the label that counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack.audit.neighbours import MORE, changed, fewer, two_values
from uptack.audit.scenario import Pair, Pairs, PersonRows
from uptack.privacy import SUBSTITUTE, Adjacency

N, PEOPLE = 120, 60
"""Rows, and people, of most tables."""
TWO = SUBSTITUTE.per_person(2)
Row = tuple[float, float]


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


def days() -> Pair:
    """Days in nanoseconds, int64, with ties at the lower quartile. Floats of that size are 256 apart."""
    day, start = 86_400 * 10**9, 1_699_920_000 * 10**9
    x = start + day * np.r_[np.zeros(795, int), np.ones(200, int), 2 + np.arange(3005) // 4]
    return changed(x, slice(0, 1), x[-1])


def poles(d: float, e: float, n: int = N) -> Pair:
    """A column at 3, of which the last row goes from one place to another."""
    return np.append(np.full(n - 1, 3.0), d), np.append(np.full(n - 1, 3.0), e)


# --------------------------------------------------------------------------------------------------------------- lines


def noisy_line(n: int) -> tuple[Any, Any]:
    """y = 2x + noise, at either side of 0."""
    rng = np.random.default_rng(3)
    x = rng.choice([-1.0, 1.0], size=(n, 1)) * rng.uniform(0.5, 1.5, size=(n, 1))
    return x, 2 * x[:, 0] + 0.1 * rng.normal(size=n)


def line(n: int = N, columns: int = 1) -> Pair:
    """A noisy line, and one row of it on the other side; perhaps with a second column, which has no say."""
    x, y = noisy_line(n)
    far = int(np.argmin(y / x[:, 0]))
    other = changed(y, slice(far, far + 1), 9 * x[far, 0])[1]
    x = np.column_stack([x, np.random.default_rng(1).normal(size=n)])[:, :columns]
    return (x, y), (x, other)


def far() -> Pair:
    """A noisy line, of which one row goes very far away."""
    x, y = noisy_line(400)
    return (x, y), (x, changed(y, slice(0, 1), 1e6 * x[0, 0])[1])


def placed(d: Row, e: Row, rows: int = 1, n: int = 2500, table: bool = False) -> Pair:
    """A noisy line whose last rows (x, y) go from one place to another, as (X, y) or as one table."""
    x, y = noisy_line(n)

    def at(row: Row) -> Any:
        a, b = x.copy(), y.copy()
        a[-rows:], b[-rows:] = row
        return np.column_stack([a, b]) if table else (a, b)

    return at(d), at(e)


def across(rows: int = 1) -> Pair:
    """Rows at the end of the line, which go to its other side. Rows further out are gross errors, and count less."""
    return placed((1.5, 3.0), (1.5, -3.0), rows)


def classed() -> Pair:
    """A row as far out as counts in full, in one class and in the other."""
    place = 1.5 * float(np.quantile(np.abs(noisy_line(2500)[0]), 0.75))
    return placed((place, 1.0), (place, -1.0))


def counted() -> Pair:
    """A row as far out as counts in full, with a number beyond all others and with none."""
    (x, y), _ = classed()
    y = np.rint(np.abs(y))
    return (x, np.append(y[:-1], 1e6)), (x, np.append(y[:-1], 0.0))


MOVES: tuple[tuple[Row, Row], ...] = (
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
    ((40.0, 300.0), (40.0, -300.0)),
)
"""Where a row (x, y) of a noisy line goes from and to. Together they move nearly every sum of a fit by half or more of
what one row may."""


def moves(table: bool = False) -> Pairs:
    """All of them."""
    return {f"{d} to {e}": placed(d, e, table=table) for d, e in MOVES}


def mixed(secret: bool = False) -> Pair:
    """Categories and numbers: one row has a category and a number that no other has, or goes."""
    kinds, x = np.repeat(["a", "b"], 200), np.r_[np.zeros(150), np.arange(250.0)]
    here = {"kind": kinds, "x": x}
    if secret:
        return here, {name: column[:-1] for name, column in here.items()}
    return here, {"kind": np.append(kinds[:-1], "c"), "x": np.append(x[:-1], 1e9)}


def clear(n: int = 400) -> Pair:
    """A fit that holds for all rows but a few below it, of which one goes above: all certificates move by two rows."""
    x = np.ones((n, 1))
    y = np.r_[np.zeros(10), np.full(n - 10, 2.0)]
    return (x, y), (x, changed(y, slice(0, 1), 4.0)[1])


def split(n: int = N, far: float = 1.0) -> Pair:
    """Half of the rows on either of two lines: one row, which goes far, decides."""
    x, y = np.ones((n, 1)), ties(n)[0]
    return (x, y), (x, changed(y, slice(0, 1), far)[1])


# -------------------------------------------------------------------------------------------------------------- people


def person(rest: Any, ids: Any, d: Any, e: Any) -> Any:
    """The rows of everybody else with their ids, and one person's rows in D and in D'; without any she is gone."""

    def beside(part: Any, rows: Any) -> Any:
        return np.concatenate([part, np.reshape(rows, (len(rows), *part.shape[1:])).astype(part.dtype)])

    def side(rows: Any) -> PersonRows:
        if isinstance(rest, tuple):
            data: Any = tuple(beside(part, [row[i] for row in rows]) for i, part in enumerate(rest))
        else:
            data = beside(rest, rows)
        return PersonRows(data, np.append(ids, np.full(len(rows), np.max(ids) + 1)))

    return side(d), side(e)


def person_moved(least: float = 0.0, most: float = 1.0, n: int = PEOPLE, secret: bool = False) -> Any:
    """Half of the people at either of two values; one goes over, with several rows in place of one, or is gone."""
    rest = np.repeat([least, most], n // 2)[1:]
    return person(rest, np.arange(n - 1), [least] * MORE, [] if secret else [most])


def person_over(n: int = 240) -> Any:
    """Everybody at a place of their own, and the least, with several rows, who goes above all others."""
    return person(np.arange(1.0, n), np.arange(n - 1), [0.0] * MORE, [9.0 * n])


def person_spread(n: int = PEOPLE, secret: bool = False) -> Any:
    """Everybody in three cells, and one whose rows are in two others, three times as many."""
    rest, ids, others = np.tile([0, 1, 2], n - 1), np.repeat(np.arange(n - 1), 3), [3] * 4 + [4] * 4
    return person(rest, ids, others, []) if secret else person(rest, ids, [0, 1, 2], others)


def person_alone(n: int = PEOPLE) -> Any:
    """Everybody in the first cell, and one with all her rows in the second, or in the first."""
    return person(np.zeros(2 * n - 2, np.int64), np.repeat(np.arange(n - 1), 2), [1, 1], [0, 0])


def person_flags(n: int = PEOPLE) -> Any:
    """One person with many rows that are all true, or one that is not."""
    return person(np.arange(n) % 2 == 0, np.arange(n), [True] * 9, [False])


def person_line(n: int = 240) -> Any:
    """A noisy line of people with two rows each, and one of them far off, with more."""
    x, y = noisy_line(2 * n)
    rest = x[2:], y[2:]
    return person(rest, np.repeat(np.arange(n - 1), 2), list(zip(x[:2], y[:2], strict=True)), [(1.0, -50.0)] * MORE)


def person_across(n: int = 2500, secret: bool = False) -> Any:
    """A noisy line of people with two rows each, and one at its end, who goes to the other side, or is gone."""
    ids = np.repeat(np.arange(n), 2)
    return person(noisy_line(2 * n), ids, [(1.5, 3.0)] * MORE, [] if secret else [(1.5, -3.0)])


def person_turned(n: int = 2500) -> Any:
    """The same as a table, and one person in the middle, or with more rows very far away: another direction."""
    table = np.column_stack(noisy_line(2 * n))
    return person(table, np.repeat(np.arange(n), 2), [(0.0, 0.0)], [(1e9, 0.0)] * MORE)


def person_sided(n: int = PEOPLE, secret: bool = False) -> Any:
    """A classification in which all are in one place and of one class, but for one person and her rows."""
    rest = np.zeros((n - 1, 1)), np.ones(n - 1)
    return person(rest, np.arange(n - 1), [(0.0, -1.0)] * MORE, [] if secret else [(0.0, 1.0)])


def person_ranked(n: int = PEOPLE, label: bool = False) -> Any:
    """One person each rank, and the uppermost, with several rows, who goes below all others, or to the other group."""
    x = np.arange(float(n))
    second = np.repeat([0, 1], n // 2) if label else x
    below = -1.0, 0 if label else second[-1]
    return person((x[:-1], second[:-1]), np.arange(n - 1), [(x[-1], second[-1])] * MORE, [below])


def person_groups(n: int = 2 * PEOPLE) -> Any:
    """One person with rows in two groups, whose medians she holds, or not there."""
    rest = np.tile([0.0, 1.0], n), np.repeat([0, 1], n)
    return person(rest, np.arange(2 * n), [(0.0, 0), (0.0, 0), (0.0, 1)], [])
