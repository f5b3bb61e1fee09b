"""Kinds of data that functions are audited on: each is a set of neighbours that differ in one hostile row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from uptack.audit import hostile_tables
from uptack.audit.containers import container_pairs
from uptack.audit.hostile_tables import FINITE, NOT_FINITE, ROWS, ended
from uptack.audit.scenario import Pairs


def _numbers() -> Pairs:
    return hostile_tables.finite() | hostile_tables.narrow()


def _gaps() -> Pairs:
    return hostile_tables.missing() | hostile_tables.other_types()


def _column() -> Any:
    return np.arange(float(ROWS)) % 7


def _by_group() -> Pairs:
    """Numbers with the group of each row; the row in question has a group of its own kind."""
    return {name: ((_column(), d), (_column(), e)) for name, (d, e) in hostile_tables.labels().items()}


def _single() -> Pairs:
    return {f"{a} and {b}": (a, b) for a, b in ((0.0, 1.0), (-0.0, 0.0), (2**64, 2**64 + 1), (1e308, -1e308))} | {
        "a number and NaN": (0.0, np.nan),
        "wide integers": (np.array(2**63 - 1), np.array(-(2**63))),
    }


def _vectors() -> Pairs:
    values = np.array([0.5, 0.25])
    return {name: (values, np.r_[0.5, last]) for name, last in {**FINITE, "NaN": np.nan}.items()}


def _squares() -> Pairs:
    return {name: (np.diag(d), np.diag(e)) for name, (d, e) in _vectors().items()}


def _planes(gaps: bool = False) -> Pairs:
    x = hostile_tables.base()
    rows = {name: ended(x, value) for name, value in (NOT_FINITE if gaps else FINITE).items()}
    return {name: (np.column_stack([x, x]), np.column_stack([e, x])) for name, e in rows.items()}


def _keyed() -> Pairs:
    return {name: ({"a": d, "b": d}, {"a": e, "b": d}) for name, (d, e) in hostile_tables.labels().items()}


def _integers() -> Pairs:
    x = np.arange(ROWS) % 5
    return {str(v): (x, ended(x, v)) for v in (0, 7, -1, 2**62, -(2**63))}


def _sides(gaps: bool = False) -> Pairs:
    """Two columns side by side."""
    return {n: ((x[:, 0], y), (a[:, 0], b)) for n, ((x, y), (a, b)) in hostile_tables.tables(gaps=gaps).items()}


def _labelled() -> Pairs:
    """A classification: labels of ±1, and a row that has another label, or lies elsewhere."""
    (x, _), _ = hostile_tables.tables()["y, a tie"]
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    moved: Pairs = {f"x, {n}": ((x, y), (ended(x, v), y)) for n, v in FINITE.items()}
    return moved | {"another label": ((x, y), (x, ended(y, -y[-1])))}


def _groups(gaps: bool = False, labels_move: bool = True) -> Pairs:
    """Numbers with the label of each row: a row that has another value, another label, or none."""
    x, labels = _column(), np.arange(ROWS) % 2
    values = NOT_FINITE if gaps else FINITE
    pairs: Pairs = {f"x, {name}": ((x, labels), (ended(x, v), labels)) for name, v in values.items()}
    if not labels_move:
        return pairs
    if gaps:
        others = (("None", None), ("a text", "1"), ("a float", 1.0), ("a truth value", True), ("NaN", np.nan))
        return pairs | {
            f"label, {n}": ((x, labels.tolist()), (x, [*labels[:-1].tolist(), other])) for n, other in others
        }
    pairs |= {f"label, {v}": ((x, labels), (x, ended(labels, v))) for v in (0, 7, -(2**63))}
    return pairs | {"both": ((x, labels), (ended(x, 1e308), ended(labels, 0)))}


def _block_rows() -> Pairs:
    pairs = hostile_tables.labels() | {f"numbers, {n}": p for n, p in hostile_tables.finite().items()}
    records = [{"v": float(i % 7)} for i in range(ROWS)]
    changed: Pairs = {"records": (records, [*records[:-1], {"v": None}])}
    return pairs | changed | {"records, a key": (records, [*records[:-1], {}])}


def _functions() -> Pairs:
    rows = hostile_tables.base()
    return {name: (rows, ended(rows, value)) for name, value in {**FINITE, **NOT_FINITE}.items()}


DATA: dict[str, Callable[[], Pairs]] = {
    "numbers": _numbers,
    "any numbers": lambda: _numbers() | hostile_tables.missing(),
    "gaps": _gaps,
    "times": hostile_tables.times,
    "flags": hostile_tables.flags,
    "labels": hostile_tables.labels,
    "containers": container_pairs,
    "containers by group": lambda: {
        n: ((np.zeros(len(d)), d), (np.zeros(len(e)), e)) for n, (d, e) in container_pairs().items()
    },
    "by group": _by_group,
    "number": _single,
    "vector": _vectors,
    "square": _squares,
    "plane": _planes,
    "plane with gaps": partial(_planes, gaps=True),
    "columns": _keyed,
    "integers": _integers,
    "table": hostile_tables.tables,
    "table with gaps": partial(hostile_tables.tables, gaps=True),
    "sides": _sides,
    "sides with gaps": partial(_sides, gaps=True),
    "classes": _labelled,
    "groups": _groups,
    "groups with gaps": partial(_groups, gaps=True),
    "values of groups": partial(_groups, labels_move=False),
    "scores": lambda: {
        "a tie": ([3, 3, 0], [4, 2, 0]),
        "huge": ([1e308, 0, 0], [-1e308, 0, 0]),
        "NaN": ([1, 0, 0], [np.nan, 0, 0]),
    },
    "distance": lambda: {
        "far": (("a", 9), ("a", 8)),
        "near": (("a", 0), ("b", 0)),
        "wide": (("a", 2**70), ("a", 2**70 - 1)),
    },
    "proportion": lambda: {"another flag": (np.arange(400) % 2 == 0, ended(np.arange(400) % 2 == 0, True))},
    "function": _functions,
    "blocks": _block_rows,
}

VALUES = ("number", "vector", "square", "scores", "distance")
"""What is a number of the data already: neighbours are the same whatever the adjacency, and move by any amount."""
