"""What is asked in a replay: a function by its public path, options, and the kind of data it is asked about."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from uptack.audit import corpus, makers
from uptack.audit.corpus import Pairs
from uptack.audit.patching import owner_of
from uptack.audit.people import PEOPLES, peopled
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
    make: Callable[..., Any] = makers.one
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
            pairs = corpus.fewer(pairs)
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
        pairs = {name: pair for name, pair in self.pairs(every=False).items() if typed or name not in corpus.RETYPED}
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
    return corpus.missing() | corpus.other_types()


def _numbers() -> Pairs:
    return corpus.finite() | corpus.narrow()


def _any() -> Pairs:
    return _numbers() | corpus.missing()


def _by_group() -> Pairs:
    """Numbers with the group of each row; the row in question has a group of its own kind."""
    x = np.arange(float(corpus.ROWS)) % 7
    return {name: ((x, d), (x, e)) for name, (d, e) in corpus.labels().items()}


def _single() -> Pairs:
    return {f"{a} and {b}": (a, b) for a, b in ((0.0, 1.0), (-0.0, 0.0), (2**64, 2**64 + 1), (1e308, -1e308))} | {
        "a number and NaN": (0.0, np.nan),
        "wide integers": (np.array(2**63 - 1), np.array(-(2**63))),
    }


def _vectors() -> Pairs:
    values = np.array([0.5, 0.25])
    pairs: Pairs = {name: (values, ended) for name in corpus.FINITE for ended in [np.r_[0.5, corpus.FINITE[name]]]}
    return pairs | {"NaN": (values, np.r_[0.5, np.nan])}


def _squares() -> Pairs:
    return {name: (np.diag(d), np.diag(e)) for name, (d, e) in _vectors().items()}


def _planes() -> Pairs:
    return {name: (np.column_stack([d, d]), np.column_stack([e, d])) for name, (d, e) in corpus.finite().items()}


def _keyed() -> Pairs:
    return {name: ({"a": d, "b": d}, {"a": e, "b": d}) for name, (d, e) in corpus.labels().items()}


def _integers() -> Pairs:
    x = np.arange(corpus.ROWS) % 5
    return {str(v): (x, corpus.ended(x, v)) for v in (0, 7, -1, 2**62, -(2**63))}


def _labelled() -> Pairs:
    """A classification: labels of ±1, and a row that has another label, or lies elsewhere."""
    (x, _), _ = corpus.tables()["y, a tie"]
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    moved: Pairs = {f"x, {n}": ((x, y), (corpus.ended(x, v), y)) for n, v in corpus.FINITE.items()}
    return moved | {"another label": ((x, y), (x, corpus.ended(y, -y[-1])))}


def _groups() -> Pairs:
    """Numbers with the label of each row: a row that has another value, another label, or none."""
    x, n = np.arange(float(corpus.ROWS)) % 7, corpus.ROWS
    labels = np.arange(n) % 2
    pairs: Pairs = {f"x, {name}": ((x, labels), (corpus.ended(x, v), labels)) for name, v in corpus.FINITE.items()}
    pairs |= {f"label, {v}": ((x, labels), (x, corpus.ended(labels, v))) for v in (0, 7, -(2**63))}
    moved = corpus.ended(x, 1e308), corpus.ended(labels, 0)
    return pairs | {"both": ((x, labels), moved)}


def _values_of_groups() -> Pairs:
    """Only values differ: neighbours where labels are public."""
    return {name: pair for name, pair in _groups().items() if name.startswith("x, ")}


def _gapped_groups() -> Pairs:
    """The same with values that are missing, and labels of other types."""
    x, n = np.arange(float(corpus.ROWS)) % 7, corpus.ROWS
    labels = np.arange(n) % 2
    pairs: Pairs = {f"x, {name}": ((x, labels), (corpus.ended(x, v), labels)) for name, v in corpus.NOT_FINITE.items()}
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
    return {"another flag": (x, corpus.ended(x, not x[-1]))}


def _functions() -> Pairs:
    rows = corpus.base()
    return {n: (rows, corpus.ended(rows, v)) for n, v in {**corpus.FINITE, **corpus.NOT_FINITE}.items()}


def _block_rows() -> Pairs:
    pairs = corpus.labels() | {f"numbers, {n}": p for n, p in corpus.finite().items()}
    records = [{"v": float(i % 7)} for i in range(corpus.ROWS)]
    return pairs | {
        "records": (records, [*records[:-1], {"v": None}]),
        "records, a key": (records, [*records[:-1], {}]),
    }


DATA: dict[str, Callable[[], Pairs]] = {
    "numbers": _numbers,
    "any numbers": _any,
    "gaps": _gapped,
    "times": corpus.times,
    "flags": corpus.flags,
    "labels": corpus.labels,
    "by group": _by_group,
    "number": _single,
    "vector": _vectors,
    "square": _squares,
    "plane": _planes,
    "columns": _keyed,
    "integers": _integers,
    "table": corpus.tables,
    "table with gaps": partial(corpus.tables, gaps=True),
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
