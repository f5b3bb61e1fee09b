"""How a release is called in an audit: a function by its public path, with data where they belong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uptack.audit.patches import owner_of
from uptack.audit.person_neighbours import PersonRows
from uptack.noise import Entropy
from uptack.release import Release

POINTS = np.array([0.5, 3.0, 8.5])
Options = Mapping[str, Any]
Caller = Callable[[Any, Options, Any, Entropy], Any]


@dataclass(frozen=True)
class ScenarioCall:
    """A function by its path, whatever is bound to that name at the moment, its options, and where the data go."""

    path: str
    options: Options = field(default_factory=dict)
    caller: Caller | None = None

    def __call__(self, data: Any, entropy: Entropy) -> Any:
        """Make it, and ask the result what a reader may ask: its interval, and values of a released function."""
        owner, name = owner_of(self.path)
        function, options = getattr(owner, name), dict(self.options)
        if isinstance(data, PersonRows):
            options |= {"person": data.ids} | ({"order": np.arange(len(data.ids))} if "order" in options else {})
            data = data.rows
        return (self.caller or plain)(function, options, data, entropy)


def plain(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(data, ...), or f(X, y, ...) for a tuple."""
    made = function(*(data if isinstance(data, tuple) else (data,)), **options, entropy=entropy)
    if isinstance(made, Release) and hasattr(made.value, "at"):
        made.value.at(_points(data))
    elif isinstance(made, Release) and made.noise is not None and "interval" not in options:
        made.interval(0.9)
    return made


def _points(data: Any) -> Any:
    """Points of as many dimensions as the data have, one for a list."""
    table = data[0] if isinstance(data, tuple) else data
    return POINTS if np.ndim(table) < 2 else np.column_stack([POINTS] * np.shape(table)[1])


def by(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(x, by=groups, ...): the last part of the data is the group of every row."""
    *rows, groups = data
    return function(*rows, by=groups, **options, entropy=entropy)


def group(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """per_group(f, x, by, ...)."""
    owner, name = owner_of(options["f"])
    return function(getattr(owner, name), *data, **_without("f", options), entropy=entropy)


def classes(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(X, y, ...) of two classes: whether y is above 0. A row without a number has no class."""
    x, y = data
    return function(x, np.where(np.isnan(y), np.nan, y > 0), **options, entropy=entropy)


def named(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(table, ...) by a formula, with a column of texts that nobody listed; a hostile row has one of its own."""
    x, y = data
    rows = zip(x[:, 0].tolist(), y.tolist(), strict=True)
    kinds = ["b" if abs(a) < 9 and 0 != b < 99 else f"odd {a} {b}" for a, b in rows]
    kinds[: len(kinds) // 2] = ["a"] * (len(kinds) // 2)
    return function({"x": x[:, 0], "y": y, "kind": kinds}, **options, entropy=entropy)


def sized(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(D, n, ...)."""
    return function(data, len(data), **options, entropy=entropy)


def chosen(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(candidates, scores, ...)."""
    return function([f"candidate {i}" for i in range(len(data))], data, **options, entropy=entropy)


def blocks(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(function of rows, data, ...): that function is among the options."""
    name = "g" if "g" in options else "f"
    return function(options[name], data, **_without(name, options), entropy=entropy)


def process(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """A mean of bumps around the rows, released as a function, and its values at some points."""

    def bumps(where: Any) -> Any:
        with np.errstate(all="ignore"):  # a user's own function must see to its own warnings
            return np.exp(-2 * (where - np.asarray(data)[None, :]) ** 2).mean(axis=1)

    made = function(bumps, **options, entropy=entropy)
    made.value.at(POINTS)
    return made


def spectral(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """The coordinates of a mean embedding."""
    basis = options["basis"]
    told = {"sensitivity": basis.sensitivity(len(data)), "error": 0, **options}
    made = function(basis.mean(np.asarray(data)[:, None]), **told, entropy=entropy)
    made.value.at(POINTS)
    return made


def tabled(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """A draw from a table of probabilities: the number of ones, or a number."""
    true = int(data) if np.ndim(data) == 0 else int(np.count_nonzero(data == 1) % 8)
    return function(options["mechanism"], true, **_without("mechanism", options), entropy=entropy)


def tally(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """Counts of cells."""
    return function(np.bincount(data[(data >= 0) & (data < 5)], minlength=5), **options, entropy=entropy)


def analysed(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """A mean of clamped rows, by sensitivity analysis."""
    return function(np.mean, _apart, np.nan_to_num(data).clip(0, 9), **options, entropy=entropy)


def _apart(a: Any, b: Any) -> Any:
    return np.abs(a - b)


def _without(name: str, options: Options) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key != name}


# -------------------------------------------------------------------------------------------- functions of rows


def number(rows: Any) -> float:
    """The first row, as a number."""
    return float(rows[0]["v"] if isinstance(rows[0], dict) else rows[0])


def mean(rows: Any) -> float:
    """The mean of all rows."""
    return float(np.mean(rows))


def peak(rows: Any) -> float:
    """The largest row."""
    return float(np.max(rows, initial=0.0))


def pair(rows: Any) -> list[float]:
    """Two numbers."""
    return [number(rows), float(len(rows))]


def outcome(rows: Any) -> Any:
    """The first row, as it is."""
    return rows[0]["v"] if isinstance(rows[0], dict) else rows[0]


def distance(rows: Any) -> int:
    """How many rows must change before the first one does: it may be the very next."""
    return 0


def spoil(rows: Any) -> float:
    """A function that changes what it is given."""
    total = float(sum(row["v"] for row in rows))
    for row in rows:
        row["v"] = total
    return total


def width(rows: Any) -> float:
    """How many bytes an entry of the block takes."""
    return float(rows.dtype.itemsize)


def types(rows: Any) -> float:
    """How many types the block has."""
    return float(len({type(row) for row in rows}))


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
