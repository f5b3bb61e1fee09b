"""How releases are called in audits: each `maker(function, options, data, entropy)` puts the data where they belong."""

from __future__ import annotations

from typing import Any

import numpy as np

from uptack.audit.patches import owner_of
from uptack.noise import Entropy
from uptack.release import Release

POINTS = np.array([0.5, 3.0, 8.5])
Options = dict[str, Any]


def one(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(data, ...)."""
    return function(data, **options, entropy=entropy)


def two(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(X, y, ...)."""
    return function(*data, **options, entropy=entropy)


def classes(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(X, y, ...) of two classes: whether y is above 0. A row without a number has no class."""
    x, y = data
    return function(x, np.where(np.isnan(y), np.nan, y > 0), **options, entropy=entropy)


def named(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(table, ...) by a formula."""
    x, y = data
    return function({"x": x[:, 0], "y": y}, **options, entropy=entropy)


def with_categories(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(table, ...) by a formula, with a column of texts that nobody listed; a hostile row has one of its own."""
    x, y = data
    rows = zip(x[:, 0].tolist(), y.tolist(), strict=True)
    kinds = ["b" if abs(a) < 9 and 0 != b < 99 else f"odd {a} {b}" for a, b in rows]
    kinds[: len(kinds) // 2] = ["a"] * (len(kinds) // 2)
    return function({"x": x[:, 0], "y": y, "kind": kinds}, **options, entropy=entropy)


def side_by_side(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(x, y, ...) of two columns, and what its interval says."""
    x, y = data
    made = function(x[:, 0] if np.ndim(x) == 2 else x, y, **options, entropy=entropy)
    if made and "public_labels" not in options and made.noise is not None:
        made.interval(options.get("interval", 0.9))
    return made


def by(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(x, by=groups, ...)."""
    x, groups = data
    needed = {key: options[key] for key in ("p", "low", "high", "cut") if key in options}
    rest = {key: value for key, value in options.items() if key not in needed}
    return function(x, *needed.values(), by=groups, **rest, entropy=entropy)


def group(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """per_group(f, x, by, ...)."""
    owner, name = owner_of(options["f"])
    rest = {key: value for key, value in options.items() if key != "f"}
    return function(getattr(owner, name), *data, **rest, entropy=entropy)


def sized(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(D, n, ...)."""
    return function(data, len(data), **options, entropy=entropy)


def value(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(value, ...), with what the release says of its error."""
    made = function(data, **options, entropy=entropy)
    made.interval(0.9)
    return made


def chosen(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(candidates, scores, ...)."""
    return function([f"candidate {i}" for i in range(len(data))], data, **options, entropy=entropy)


def blocks(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """f(function of rows, data, ...): the first of the options is that function."""
    name = "g" if "g" in options else "f"
    rest = {key: value for key, value in options.items() if key != name}
    return function(options[name], data, **rest, entropy=entropy)


def seen(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """A released function, and its values at some points."""
    made = function(data, **options, entropy=entropy)
    if isinstance(made, Release):
        made.value.at(POINTS if np.ndim(data) == 1 else np.column_stack([POINTS, POINTS]))
    return made


def fitted(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """A machine, and its values at some points."""
    made = function(*data, **options, entropy=entropy)
    if isinstance(made, Release):
        made.value.at(POINTS[:, None])
    return made


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
    made = function(options["basis"].mean(np.asarray(data)[:, None]), **options, entropy=entropy)
    made.value.at(POINTS)
    return made


def tabled(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """A draw from a table of probabilities."""
    rest = {key: value for key, value in options.items() if key != "mechanism"}
    return function(options["mechanism"], int(np.count_nonzero(data == 1) % 8), **rest, entropy=entropy)


def tally(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """Counts of cells."""
    return function(np.bincount(data[(data >= 0) & (data < 5)], minlength=5), **options, entropy=entropy)


def analysed(function: Any, options: Options, data: Any, entropy: Entropy) -> Any:
    """A mean of clamped rows, by sensitivity analysis."""
    return function(np.mean, _apart, np.nan_to_num(data).clip(0, 9), **options, entropy=entropy)


def _apart(a: Any, b: Any) -> Any:
    return np.abs(a - b)


# -------------------------------------------------------------------------------------------- functions of rows


def number(rows: Any) -> float:
    """The first row, as a number."""
    return float(rows[0]["v"] if isinstance(rows[0], dict) else rows[0])


def mean(rows: Any) -> float:
    """The mean of all rows."""
    return float(np.mean(rows))


def pair(rows: Any) -> list[float]:
    """Two numbers."""
    return [number(rows), float(len(rows))]


def outcome(rows: Any) -> Any:
    """The first row, as it is."""
    return rows[0]["v"] if isinstance(rows[0], dict) else rows[0]


def distance(rows: Any) -> int:
    """How many rows must change before the first one does: it may be the very next."""
    return 0
