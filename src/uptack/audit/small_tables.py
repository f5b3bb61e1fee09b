"""Tables of next to nobody: no rows, nobody, one row, one person, nothing but missing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uptack.audit.person_neighbours import PersonRows
from uptack.audit.scenario import Pairs
from uptack.registry import Declaration

TABLES = ("no rows", "nobody", "one row", "one person", "all missing")
SIZES = {"no rows": 0, "nobody": 3, "one row": 1, "one person": 3, "all missing": 3}


def small_table(name: str) -> dict[str, Any]:
    """Numbers a, b and c, labels g, truth values t and ids, of one of the tables."""
    rows, gone = SIZES[name], name == "all missing"
    values = {"a": 0.5, "b": 1.0, "c": 2.0, "g": 1.0}
    columns: dict[str, Any] = {key: np.full(rows, np.nan if gone else value) for key, value in values.items()}
    owners = {"nobody": np.full(rows, np.nan), "one person": np.zeros(rows)}  # an id that is missing is nobody's
    flags = np.ma.MaskedArray(np.ones(rows, bool), np.full(rows, gone))
    return columns | {"t": flags, "id": owners.get(name, np.arange(rows) * 1.0)}


def small_pairs(made: Declaration, secret: bool, people: bool) -> Pairs:
    """Neighbours among such tables, as the data of a declared function. Missing values where it takes them."""
    gone = np.nan if "missing" in made.allowed else 7.0
    if people:
        return _of_people(made, gone, secret)
    rows: dict[str, tuple[Sequence[float], Sequence[float]]] = {
        "one row, another": ([0.5], [2.0]),
        "one row, missing": ([0.5], [gone]),
        "all missing but one": ([gone] * 3, [gone, gone, 0.5]),
    }
    if secret:
        rows = {
            "one row or none": ([0.5], []),
            "two rows or one": ([0.5, 1.0], [0.5]),
            "missing or not there": ([gone], []),
        }
    return {name: (shaped(made, d), shaped(made, e)) for name, (d, e) in rows.items()}


def _of_people(made: Declaration, gone: float, secret: bool) -> Pairs:
    def owned(rows: Sequence[float], owner: float = 0.0) -> PersonRows:
        return PersonRows(shaped(made, rows), np.full(len(rows), owner))

    if secret:
        return {
            "one person or nobody": (owned([0.5] * 3), owned([0.5] * 3, np.nan)),
            "one person or no rows": (owned([0.5] * 3), owned([])),
        }
    return {
        "one person, other rows": (owned([0.5] * 3), owned([2.0])),
        "one person, missing": (owned([0.5] * 3), owned([gone] * 2)),
    }


def shaped(made: Declaration, rows: Sequence[float]) -> Any:
    """Rows as the data arguments of a declared function."""
    x, shape = np.array(rows, np.float64), made.reads.shape
    if shape == "flags":
        return x > 1
    if shape in ("columns", "design"):
        table = np.tile(x[:, None], (1, max(made.reads.least, 2)))
        return (table, x) if shape == "design" else table
    if shape == "labelled" or (shape == "sides" and made.reads.least == 2):
        return x, np.ones(x.size) if shape == "labelled" else x
    return x
