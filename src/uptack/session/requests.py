"""A release that is asked for and not yet made, and what each kind of it reads."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from uptack import checks, discrete, functions, regression, statistics
from uptack.data import Source
from uptack.data.protocol import NUMERIC, known
from uptack.errors import InvalidArgument
from uptack.functions.fourier import fourier_density
from uptack.groups import per_group
from uptack.labels import label
from uptack.noise import Entropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy
from uptack.privacy.adjacency import adjacency as check_adjacency
from uptack.release import NoReply, Release
from uptack.session.grouping import SourceGroups
from uptack.session.unread import NoEntropy, Touched, UnreadColumn, UnreadGroups
from uptack.statistics.arguments import COUNT_SHARE

Made = Release[Any] | NoReply
COUNTED = (*NUMERIC, "text")
"""Kinds of columns whose values can be counted, or be groups."""


@dataclass(frozen=True)
class Kind:
    """A function that makes releases, and how its data are read from a source.

    `read(source, columns)` gives its data arguments; `unread` gives stand-ins that show public numbers only. `missing`
    is what the function is told of missing values where the request and the session leave it open; None where it is
    not told. `grouped` says whether it can be asked by group.
    """

    function: Callable[..., Made]
    read: Callable[[Source, tuple[str, ...]], tuple[Any, ...]]
    unread: Callable[[Source, tuple[str, ...]], tuple[Any, ...]]
    columns: tuple[Any, ...] = NUMERIC
    most: int | None = 1
    missing: str | None = "drop"
    grouped: bool = False


def _column(source: Source, names: tuple[str, ...]) -> tuple[Any, ...]:
    return (source.column(names[0]),)


def _unread_column(source: Source, names: tuple[str, ...]) -> tuple[Any, ...]:
    return (UnreadColumn(source.rows, source.columns[names[0]] != "number"),)


def _true(x: Any) -> list[int]:
    return [int(np.count_nonzero(x == 1.0))]


def _flags(source: Source, names: tuple[str, ...]) -> tuple[Any, ...]:
    """How many rows are true; without a column, how many there are."""
    return tuple(source.column(names[0]).sums(_true)) if names else (source.rows,)


def _tally(source: Source, names: tuple[str, ...]) -> tuple[Any, ...]:
    keys, counts = source.counts(names)
    return (discrete.Tally(tuple(key[0] for key in keys), counts),)


def _matrix(source: Source, names: tuple[str, ...]) -> tuple[Any, ...]:
    """The response, which is named first, goes last."""
    values = source.matrix(names)
    return values[:, 1:], values[:, 0]


def _unread_matrix(source: Source, names: tuple[str, ...]) -> tuple[Any, ...]:
    zeros = np.broadcast_to(0.0, (source.rows, len(names)))
    return zeros[:, 1:], zeros[:, 0]


def _points(source: Source, names: tuple[str, ...]) -> tuple[Any, ...]:
    return _column(source, names) if len(names) == 1 else (source.matrix(names),)


def _no_points(source: Source, names: tuple[str, ...]) -> tuple[Any, ...]:
    return _unread_column(source, names) if len(names) == 1 else (np.zeros((source.rows, len(names))),)


def _nothing(source: Source, names: tuple[str, ...]) -> tuple[Any, ...]:
    return (discrete.Tally((), np.zeros(0, np.int64)),)


def _ordered(function: Callable[..., Made]) -> Kind:
    return Kind(function, _column, _unread_column, grouped=True)


KINDS = {
    "median": _ordered(statistics.median),
    "quantile": _ordered(statistics.quantile),
    "iqr": _ordered(statistics.iqr),
    "interquantile_range": _ordered(statistics.interquantile_range),
    "trimmed_mean": _ordered(statistics.trimmed_mean),
    "winsorized_mean": _ordered(statistics.winsorized_mean),
    "mean": _ordered(statistics.mean),
    "count": Kind(discrete.count, _flags, lambda s, c: (0,), ("boolean",), missing=None),
    "histogram": Kind(discrete.histogram, _tally, _nothing, COUNTED, missing=None),
    "kde": Kind(functions.kde, _points, _no_points, most=3),
    "fourier_density": Kind(fourier_density, _points, _no_points, most=3),
    "regression": Kind(regression.shortcut_regression, _matrix, _unread_matrix, most=None, missing="ignore"),
    "robust_regression": Kind(regression.hampel_regression, _matrix, _unread_matrix, most=None, missing="ignore"),
}


@dataclass(frozen=True, init=False)
class Request:
    """One release, not yet made.

    >>> request = Request("median", "age", epsilon=0.1)
    >>> request, request.cost
    (median of age, ε = 0.1, Privacy(epsilon=0.1))
    """

    statistic: str
    columns: tuple[str, ...]
    options: tuple[tuple[str, Any], ...]

    def __init__(self, statistic: str, *columns: str, **options: Any) -> None:
        if statistic not in KINDS:
            raise InvalidArgument("statistic", f"one of {', '.join(KINDS)}", repr(statistic))
        if "epsilon" not in options:
            raise InvalidArgument("epsilon", "given for every release", "nothing")
        if "entropy" in options:
            raise InvalidArgument("entropy", "left to the session", "some", "Pass it to uptack.open.")
        if options.get("by", 0) is None:
            del options["by"]  # as if it had not been said
        if "by" in options and not KINDS[statistic].grouped:
            allowed = ", ".join(name for name, kind in KINDS.items() if kind.grouped)
            raise InvalidArgument("by", f"left out for {statistic}", checks.describe(options["by"]), f"Take {allowed}.")
        object.__setattr__(self, "statistic", statistic)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "options", tuple(options.items()))

    @property
    def kind(self) -> Kind:
        """How it is made."""
        return KINDS[self.statistic]

    @property
    def given(self) -> dict[str, Any]:
        """Its options."""
        return dict(self.options)

    @property
    def cost(self) -> Privacy:
        """The most that it can cost: what it asks for."""
        given = self.given
        relation = ADD_REMOVE if "by" in given else given.get("adjacency", SUBSTITUTE)
        relation = check_adjacency(relation, given.get("rows_per_person", 1))
        return Privacy(given["epsilon"], given.get("delta", 0), relation)

    def with_defaults(self, missing: Any, **defaults: Any) -> Request:
        """The same request, with what it leaves open filled in."""
        if self.kind.missing is not None:
            defaults["missing"] = missing if missing == "error" or self.kind.missing == "drop" else self.kind.missing
        if "by" in self.given:
            defaults.pop("adjacency", None)
        return Request(self.statistic, *self.columns, **{**defaults, **self.given})

    def rehearse(self, source: Source) -> NoReply | None:
        """⊥ where public numbers alone decide so, errors where the request is wrong; None where data are needed."""
        names = (*self.columns, self.given["by"]) if "by" in self.given else self.columns
        least = 2 if self.kind.most is None else 0 if self.statistic == "count" else 1
        if not least <= len(self.columns) <= (self.kind.most or len(self.columns)):
            must = f"at least {least}" if self.kind.most is None else f"{least} to {self.kind.most}"
            raise InvalidArgument("columns", f"{must} for {self.statistic}", len(self.columns))
        for name in names:
            known(name, source.columns, self.kind.columns if name in self.columns else COUNTED)
        if self.given.get("edges") is not None:
            known(self.columns[0], source.columns, NUMERIC)
        try:
            made = self._rehearsed(source)
        except Touched:
            return None
        return made if isinstance(made, NoReply) else None

    def _rehearsed(self, source: Source) -> Made:
        public = {**self.given, "entropy": NoEntropy()}
        by = public.pop("by", None)
        if by is not None:
            return per_group(self.kind.function, UnreadGroups(source.columns[self.columns[0]] != "number"), **public)
        drops = public.get("missing") == "drop" and self.cost.adjacency.kind == "substitute"
        if drops:  # as if no row were missing: what all rows can't do, some can't
            public |= {"missing": "error", "epsilon": self.cost.exact_epsilon * (1 - COUNT_SHARE)}
        made = self.kind.function(*self.kind.unread(source, self.columns), **public)
        if drops and isinstance(made, NoReply) and made.advice.epsilon is not None:
            least = math.ceil(1000 * made.advice.epsilon / float(1 - COUNT_SHARE)) / 1000
            return replace(made, advice=replace(made.advice, epsilon=least))
        return made

    def make(self, source: Source, entropy: Entropy) -> Made:
        """The release itself. Reads the data: whatever it costs must have been paid."""
        given, function = self.given, self.kind.function
        by = given.pop("by", None)
        if by is not None:
            return per_group(function, SourceGroups(source, self.columns[0], by), **given, entropy=entropy)
        read = self.kind.read
        if given.get("edges") is not None:
            read = _column  # counted as they are read: there may be as many values as rows
        return function(*read(source, self.columns), **given, entropy=entropy)

    def __repr__(self) -> str:
        others = {k: v for k, v in self.given.items() if k not in ("epsilon", "delta") and _telling(v)}
        extra = "".join(f", {k}={float(v) if isinstance(v, Fraction) else v!r}" for k, v in others.items())
        delta = f", δ = {self.cost.delta}" if self.cost.exact_delta else ""
        columns = ", ".join(map(label, self.columns)) or "rows"
        return f"{self.statistic} of {columns}{extra}, ε = {self.cost.epsilon}{delta}"


def _telling(value: object) -> bool:
    return isinstance(value, str | int | float | Fraction | list | tuple) and value != 1
