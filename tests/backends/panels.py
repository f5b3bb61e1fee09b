"""A table of rows that belong to people, with all ids that are hard, and what is true of it, in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date, timedelta

import numpy as np
import pyarrow as pa

from uptack.table.unit import U
from uptack.table.values.kinds import LARGEST

ROWS = 700
IDS = {
    "text": ("who",),
    "composite": ("town", "number"),
    "one person with all rows": ("all",),
    "one row each": ("each",),
}
"""Columns that say whose a row is. Of "who", "town" and "number" some are missing."""


def table() -> pa.Table:
    """Few people with many rows, many with few; ties, missing values, infinities; dates that tie."""
    rng = np.random.default_rng(11)
    people = np.minimum(rng.zipf(1.4, ROWS), 150)
    names = [f"O'Brien {p} ⊥" if p % 3 else f'say "{p}" \\' for p in people]
    x = np.round(rng.standard_cauchy(ROWS), 2)
    x[[3, 200]] = np.inf, -np.inf
    return pa.table(
        {
            "who": pa.array([None if i % 29 == 0 else name for i, name in enumerate(names)], pa.string()),
            "town": pa.array([None if i % 31 == 0 else f"t{p % 4}" for i, p in enumerate(people)], pa.string()),
            "number": pa.array([None if i % 37 == 0 else int(p) for i, p in enumerate(people)], pa.int64()),
            "all": pa.array(["me"] * ROWS, pa.string()),
            "each": pa.array(rng.permutation(ROWS) + 10**9, pa.int64()),
            "x": pa.array([None if i % 13 == 0 else v for i, v in enumerate(x.tolist())], pa.float64()),
            "visits": pa.array([None if v > 6 else int(v) for v in rng.zipf(1.5, ROWS)], pa.int64()),
            "ward": pa.array([[None, "a", "B", "ß", "a"][v] for v in rng.integers(0, 5, ROWS)], pa.string()),
            "day": pa.array([date(2024, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 9, ROWS)], pa.date32()),
            "seen": pa.array((rng.random(ROWS) < 0.3).tolist(), pa.bool_()),
        }
    )


def floats(values: pa.ChunkedArray) -> list[float | None]:
    """Numbers as they must be read once infinities are replaced; None where there is none."""
    return [None if v is None else max(min(float(v), LARGEST), -LARGEST) for v in values.to_pylist()]


def owners(rows: pa.Table, ids: tuple[str, ...]) -> list[tuple | None]:
    """Each row's person; None where a part of the id is missing."""
    keys = zip(*(rows[name].to_pylist() for name in ids), strict=True)
    return [None if None in key else key for key in keys]


def by_person(whose: list, values: list) -> dict[tuple, list]:
    """The values of each person's rows."""
    found = defaultdict(list)
    for person, value in zip(whose, values, strict=True):
        if person is not None:
            found[person].append(value)
    return dict(found)


def pseudo(people: dict[tuple, list], at_most: int | None = None) -> tuple[list[float], list[float], list[int]]:
    """x(1), x(2), ...; the distinct values; and F of each, in exact units."""
    units = Counter()
    for rows in people.values():
        for value in rows:
            units[value] += U // len(rows) if at_most is None else min(U // len(rows), U // at_most)
    values = sorted(units)
    sums = np.cumsum([units[v] for v in values]).tolist() if values else []
    n = len(people) if at_most is None else (sum(units.values()) + U // 2) // U
    ranked = [next(v for v, f in zip(values, sums, strict=True) if 2 * f >= (2 * r - 1) * U) for r in range(1, n + 1)]
    return ranked, values, sums


def sequential(values: list[float]) -> float:
    """The sum from the least on, and the largest float at most."""
    total = 0.0
    for value in sorted(values):
        total += value
    return total
