"""What is asked in a replay: a function by its public path, options, and the kind of data it is asked about."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from uptack.audit import callers, hostile_tables
from uptack.audit.hostile_tables import Pairs
from uptack.audit.patches import owner_of
from uptack.audit.person_neighbours import PEOPLES, peopled
from uptack.audit.replay import Replay
from uptack.privacy import ADD_REMOVE

FEW = 6
"""Pairs that an option is tried on where all are too many."""
INSIDE = 2
"""Pairs that are looked inside of."""


@dataclass(frozen=True, eq=False)
class Ask:
    """A function, its options, the kind of data that it is about, and how it is called."""

    function: str
    data: str
    options: Mapping[str, Any] = field(default_factory=dict)
    make: Callable[..., Any] = callers.one
    free: frozenset[str] = frozenset()
    basic: bool = False

    @property
    def name(self) -> str:
        """The function with its options."""
        shown = ({"person": "ids"} if self.of_people else {}) | {k: _short(v) for k, v in self.options.items()}
        return f"{self.function}({', '.join(f'{k}={v}' for k, v in shown.items())})"

    @property
    def of_people(self) -> bool:
        """Whether its rows have owners."""
        return self.data.startswith(PEOPLES)

    @property
    def inside(self) -> bool:
        """Whether its pairs are neighbours that the mechanisms inside are meant for, all of it in this process."""
        return self.data not in (*SUMMED, "function") and "workers" not in self.options and "ledger" not in self.options

    def pairs(self, every: bool = True) -> Pairs:
        """The neighbours that it is asked about: all, or a few of each kind where it is not the basic ask."""
        kind = self.data.removeprefix(PEOPLES)
        pairs, secret = DATA[kind](), self.options.get("adjacency") is ADD_REMOVE or kind == "by group"
        if self.of_people:
            pairs = peopled(pairs, secret)
        elif secret and self.data not in SUMMED:
            pairs = hostile_tables.fewer(pairs)
        if every or self.basic:
            return pairs
        few = FEW if "f" not in self.options or "trusted" in self.options else FEW // 3
        start = sum(map(ord, self.name)) % len(pairs)
        names = [*pairs, *pairs][start :: max(len(pairs) // few, 1)][:few]
        return {name: pairs[name] for name in names}

    def replays(self, every: bool = True) -> Iterator[Replay]:
        """One for each pair."""
        yield from self._of(self.pairs(every))

    def within(self) -> Iterator[Replay]:
        """A few to look inside of.

        Where a row of pandas changes the type of its column, all other rows change with it: without a declared type,
        as sessions have it, these are no neighbours for the mechanisms inside.
        """
        typed = self.function.startswith("uptack.session.")
        pairs = {
            name: pair for name, pair in self.pairs(every=False).items() if typed or name not in hostile_tables.RETYPED
        }
        yield from self._of(dict(itertools.islice(pairs.items(), INSIDE)))

    def _of(self, pairs: Pairs) -> Iterator[Replay]:
        call = partial(self.make, made(self.function), dict(self.options))
        for name, pair in pairs.items():
            yield Replay(f"{self.name}: {name}", call, pair, self.free, self.function, self.options)


def made(path: str) -> Any:
    """A public function by its path, whatever is bound to that name at the moment."""

    def call(*given: Any, **options: Any) -> Any:
        arguments = list(given)
        owner, name = owner_of(path)
        if isinstance(owner, type):  # a method, which may be made when it is asked for
            owner, *arguments = arguments
        return getattr(owner, name)(*arguments, **options)

    return call


def _short(value: Any) -> str:
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= 30 else text[:29] + "…"


def _gapped() -> Pairs:
    return hostile_tables.missing() | hostile_tables.other_types()


def _numbers() -> Pairs:
    return hostile_tables.finite() | hostile_tables.narrow()


def _any() -> Pairs:
    return _numbers() | hostile_tables.missing()


def _by_group() -> Pairs:
    """Numbers with the group of each row; the row in question has a group of its own kind."""
    x = np.arange(float(hostile_tables.ROWS)) % 7
    return {name: ((x, d), (x, e)) for name, (d, e) in hostile_tables.labels().items()}


def _single() -> Pairs:
    return {f"{a} and {b}": (a, b) for a, b in ((0.0, 1.0), (-0.0, 0.0), (2**64, 2**64 + 1), (1e308, -1e308))} | {
        "a number and NaN": (0.0, np.nan),
        "wide integers": (np.array(2**63 - 1), np.array(-(2**63))),
    }


def _vectors() -> Pairs:
    values = np.array([0.5, 0.25])
    pairs: Pairs = {
        name: (values, ended) for name in hostile_tables.FINITE for ended in [np.r_[0.5, hostile_tables.FINITE[name]]]
    }
    return pairs | {"NaN": (values, np.r_[0.5, np.nan])}


def _squares() -> Pairs:
    return {name: (np.diag(d), np.diag(e)) for name, (d, e) in _vectors().items()}


def _planes() -> Pairs:
    return {
        name: (np.column_stack([d, d]), np.column_stack([e, d])) for name, (d, e) in hostile_tables.finite().items()
    }


def _keyed() -> Pairs:
    return {name: ({"a": d, "b": d}, {"a": e, "b": d}) for name, (d, e) in hostile_tables.labels().items()}


def _integers() -> Pairs:
    x = np.arange(hostile_tables.ROWS) % 5
    return {str(v): (x, hostile_tables.ended(x, v)) for v in (0, 7, -1, 2**62, -(2**63))}


def _labelled() -> Pairs:
    """A classification: labels of ±1, and a row that has another label, or lies elsewhere."""
    (x, _), _ = hostile_tables.tables()["y, a tie"]
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    moved: Pairs = {f"x, {n}": ((x, y), (hostile_tables.ended(x, v), y)) for n, v in hostile_tables.FINITE.items()}
    return moved | {"another label": ((x, y), (x, hostile_tables.ended(y, -y[-1])))}


def _groups() -> Pairs:
    """Numbers with the label of each row: a row that has another value, another label, or none."""
    x, n = np.arange(float(hostile_tables.ROWS)) % 7, hostile_tables.ROWS
    labels = np.arange(n) % 2
    pairs: Pairs = {
        f"x, {name}": ((x, labels), (hostile_tables.ended(x, v), labels)) for name, v in hostile_tables.FINITE.items()
    }
    pairs |= {f"label, {v}": ((x, labels), (x, hostile_tables.ended(labels, v))) for v in (0, 7, -(2**63))}
    moved = hostile_tables.ended(x, 1e308), hostile_tables.ended(labels, 0)
    return pairs | {"both": ((x, labels), moved)}


def _values_of_groups() -> Pairs:
    """Only values differ: neighbours where labels are public."""
    return {name: pair for name, pair in _groups().items() if name.startswith("x, ")}


def _gapped_groups() -> Pairs:
    """The same with values that are missing, and labels of other types."""
    x, n = np.arange(float(hostile_tables.ROWS)) % 7, hostile_tables.ROWS
    labels = np.arange(n) % 2
    pairs: Pairs = {
        f"x, {name}": ((x, labels), (hostile_tables.ended(x, v), labels))
        for name, v in hostile_tables.NOT_FINITE.items()
    }
    for name, other in (("None", None), ("a text", "1"), ("a float", 1.0), ("a truth value", True), ("NaN", np.nan)):
        pairs[f"label, {name}"] = (x, labels.tolist()), (x, [*labels[:-1].tolist(), other])
    return pairs


def _scores() -> Pairs:
    return {
        "a tie": ([3, 3, 0], [4, 2, 0]),
        "huge": ([1e308, 0, 0], [-1e308, 0, 0]),
        "NaN": ([1, 0, 0], [np.nan, 0, 0]),
    }


def _distances() -> Pairs:
    return {"far": (("a", 9), ("a", 8)), "near": (("a", 0), ("b", 0)), "wide": (("a", 2**70), ("a", 2**70 - 1))}


def _proportions() -> Pairs:
    x = np.arange(400) % 2 == 0
    return {"another flag": (x, hostile_tables.ended(x, not x[-1]))}


def _functions() -> Pairs:
    rows = hostile_tables.base()
    return {
        n: (rows, hostile_tables.ended(rows, v))
        for n, v in {**hostile_tables.FINITE, **hostile_tables.NOT_FINITE}.items()
    }


def _block_rows() -> Pairs:
    pairs = hostile_tables.labels() | {f"numbers, {n}": p for n, p in hostile_tables.finite().items()}
    records = [{"v": float(i % 7)} for i in range(hostile_tables.ROWS)]
    return pairs | {
        "records": (records, [*records[:-1], {"v": None}]),
        "records, a key": (records, [*records[:-1], {}]),
    }


DATA: dict[str, Callable[[], Pairs]] = {
    "numbers": _numbers,
    "any numbers": _any,
    "gaps": _gapped,
    "times": hostile_tables.times,
    "flags": hostile_tables.flags,
    "labels": hostile_tables.labels,
    "by group": _by_group,
    "number": _single,
    "vector": _vectors,
    "square": _squares,
    "plane": _planes,
    "columns": _keyed,
    "integers": _integers,
    "table": hostile_tables.tables,
    "table with gaps": partial(hostile_tables.tables, gaps=True),
    "classes": _labelled,
    "groups": _groups,
    "groups with gaps": _gapped_groups,
    "values of groups": _values_of_groups,
    "scores": _scores,
    "distance": _distances,
    "proportion": _proportions,
    "function": _functions,
    "blocks": _block_rows,
}

SUMMED = ("number", "vector", "square", "scores", "distance")
"""What is a number of the data already: its neighbours are the same whatever the adjacency."""
