"""Public cells: of a table of categorical columns, and of a histogram, between edges, by key or by the calendar."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from types import MappingProxyType
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.labels import shell_word
from uptack.noise.integer_laws import Integers
from uptack.table.names import check_keys, check_kind, distinct
from uptack.table.protocol import Column
from uptack.table.values.entrance import HELD, Field, field
from uptack.table.values.kinds import NUMERIC, Kind, canonical
from uptack.table.values.times import CALENDAR, DAY, Form, label, tick_edges

LARGEST_DOMAIN = 1 << 62
"""Cells are numbered in 64 bits."""
MOST_GROUPS = 10_000
"""Public groups in one request: each is a release of its own."""


def check_size(name: str, value: object) -> int:
    """A number of cells, at most 2^62."""
    size = checks.integer(name, value, least=1)
    if size > LARGEST_DOMAIN:
        raise InvalidArgument(name, "at most 2^62 cells", size, "Merge categories or leave columns out.")
    return size


def levels_of(name: str, value: object) -> tuple[Hashable, ...] | int:
    """Categories in their order, or how many levels 0, 1, 2, … there are."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return checks.integer(name, value, least=1)
    must = "a list of distinct categories, as in ['A', 'B'], or k for the integers from 0 to k - 1"
    if not _is_list(value):
        raise InvalidArgument(name, must, checks.describe(value))
    checks.few(name, value, checks.MOST_CELLS, "categories")
    values = np.asarray(value).tolist() if isinstance(value, np.ndarray) else list(value)
    try:
        hash(tuple(values))  # with all parts of all values
        distinct_values = len(set(map(canonical, values))) == len(values) > 0
    except TypeError:
        distinct_values = False
    if not distinct_values:
        raise InvalidArgument(name, must, "an empty list, or one with a category twice")
    return tuple(values)


def _is_list(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether it is a list of values: of one dimension, and no text."""
    flat = len(getattr(value, "shape", (0,))) == 1
    return flat and isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | memoryview)


def _level_array(levels: Sequence[Hashable]) -> NDArray[Any]:
    """Categories as an array, of objects where they differ in type, so that 1 and "1" stay two.

    Also where one ends in a NUL: NumPy's own texts would lose it.
    """
    array = np.array(levels, object)
    cut = any(isinstance(level, str | bytes) and level[-1:] in ("\0", b"\0") for level in levels)
    alike = len({type(level) for level in levels}) == 1 and array.ndim == 1
    return np.array(levels) if alike and not cut else array


def places(column: Any, levels: Sequence[Hashable] | int) -> Integers:
    """The place of every row's value among the levels, -1 where it is none of them.

    Both are compared in their canonical form (`uptack.table.values.kinds.canonical`), so each row by itself: 1, 1.0 and
    True are one level, None stands for a missing value, and a row of any other type is outside.
    """
    data = field("columns", column, "one-dimensional columns of equal length")
    if isinstance(levels, int):
        return _integer_places(data, levels)
    keys = distinct("columns", levels, [data.kind], "distinct values of the column's type")
    order = {key: i for i, key in enumerate(keys)}
    values, codes = data.codes()
    return np.array([order.get(canonical(value), -1) for value in values], np.int64)[codes]


def _integer_places(data: Field, levels: int) -> Integers:
    """The rows that are integers from 0 to levels - 1, and -1 for the others."""
    if data.kind not in NUMERIC:
        fix = "Columns with a number of levels hold the integers 0, 1, 2, …; list the categories for others."
        raise InvalidArgument("columns", "integers where the domain has a number of levels", data.kind, fix)
    if data.kind == "any":
        values, codes = data.codes()
        known = [v if isinstance(v, int) and 0 <= v < levels else -1 for v in values]
        return np.array(known, np.int64)[codes]
    numbers, missing = data.numbers()
    inside = (numbers >= 0) & (numbers < levels) & (np.floor(numbers) == numbers)
    inside = inside if missing is None else inside & ~missing
    return np.where(inside, np.where(inside, numbers, 0).astype(np.int64), -1)


@dataclass(frozen=True)
class Domain:
    """The product of public columns, each with its categories or with a number of levels 0, 1, 2, …

    Cells are numbered from 0, the last column running fastest. There may be up to 2^62 of them: nothing is listed.

    >>> domain = Domain({"sex": ["f", "m"], "ward": 3})
    >>> domain.size, domain.encode({"sex": ["m", "f", "x"], "ward": [2, 1, 0]}).tolist()
    (6, [5, 1, -1])
    >>> {name: column.tolist() for name, column in domain.decode([5, 1]).items()}
    {'sex': ['m', 'f'], 'ward': [2, 1]}
    """

    columns: Mapping[str, Sequence[Hashable] | int]

    def __post_init__(self) -> None:
        named = checks.instance("columns", self.columns, Mapping, "a mapping of names to categories")
        if not named:
            raise InvalidArgument("columns", "at least one column", "none")
        levels = {name: levels_of(f"columns[{name!r}]", value) for name, value in named.items()}
        object.__setattr__(self, "columns", MappingProxyType(levels))
        check_size("columns", self.size)

    def __reduce__(self) -> tuple[Any, ...]:
        return Domain, (dict(self.columns),)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(n if isinstance(n, int) else len(n) for n in self.columns.values())

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def indices(self, table: Any) -> tuple[list[Integers], NDArray[np.bool_]]:
        """For every column the place of each row's category, and which rows lie in the domain with all their columns.

        The table is a mapping of names to columns, or a data frame. Places of rows outside are 0.
        """
        try:
            columns = [table[name] for name in self.columns]
        except (KeyError, TypeError, IndexError, ValueError):
            must = f"a table with the columns {', '.join(map(str, self.columns))}"
            raise InvalidArgument("columns", must, checks.outline(table)) from None
        own_places = [places(column, levels) for column, levels in zip(columns, self.columns.values(), strict=True)]
        if len({len(column) for column in own_places}) > 1:
            raise InvalidArgument("columns", "one-dimensional columns of equal length", "columns of different lengths")
        inside = np.logical_and.reduce([column >= 0 for column in own_places])
        return [np.where(inside, column, 0) for column in own_places], inside

    def encode(self, table: Any) -> Integers:
        """The cell of every row; -1 where a value is none of the categories."""
        columns, inside = self.indices(table)
        return np.where(inside, self.ravel(columns), -1)

    def ravel(self, columns: Sequence[Integers]) -> Integers:
        """The cells of places among the levels of every column."""
        keys = np.zeros(columns[0].size, np.int64)
        for column, levels in zip(columns, self.shape, strict=True):
            keys = keys * levels + column
        return keys

    def unravel(self, cells: Any) -> list[Integers]:
        """The place of cells among the levels of every column."""
        keys = np.asarray(cells, np.int64)
        if keys.size and not (keys.min() >= 0 and keys.max() < self.size):
            raise InvalidArgument("cells", f"integers from 0 to {self.size - 1}", "others")
        digits = []
        for levels in reversed(self.shape):
            keys, place = np.divmod(keys, levels)
            digits.append(place)
        return digits[::-1]

    def decode(self, cells: Any) -> dict[str, NDArray[Any]]:
        """The categories of cells, column by column."""
        pairs = zip(self.columns.items(), self.unravel(cells), strict=True)
        return {name: at if isinstance(levels, int) else _level_array(levels)[at] for (name, levels), at in pairs}


def public_groups(groups: Any, name: str = "groups") -> tuple[Hashable, ...]:
    """Groups that are fixed before the data are seen: a list, or k for the integers below k."""
    checks.few(name, groups, MOST_GROUPS, name, "Ask about some of them at a time.")
    try:
        levels = Domain({name: groups}).columns[name]
    except InvalidArgument as error:
        fix = f"They must be public: chosen before anybody looks at the data. Pass None for unknown {name}."
        raise InvalidArgument(name, error.must, error.got, fix) from None
    return tuple(range(levels) if isinstance(levels, int) else levels)


def groups_of(groups: Any, columns: Mapping[str, Kind]) -> tuple[Hashable, ...]:
    """Public groups of the values of these columns, by names and kinds alone: values of one column, tuples of several.

    A mapping of the columns to lists stands for all combinations of their values.

    >>> groups_of({"sex": ["f", "m"], "ward": 2}, {"ward": "integer", "sex": "text"})
    ((0, 'f'), (0, 'm'), (1, 'f'), (1, 'm'))
    """
    if isinstance(groups, Mapping):
        public = _combinations(groups, tuple(columns))
    else:
        public = public_groups(groups if len(columns) == 1 else _group_tuples(groups, tuple(columns)))
    parts = [public] if len(columns) == 1 else zip(*public, strict=True)
    for part, (column, kind) in zip(parts, columns.items(), strict=True):
        check_kind("groups", dict.fromkeys(part), column, kind)
    distinct("groups", public, list(columns.values()), "a list of distinct values of the column's type")
    return public


def _combinations(groups: Mapping[Any, Any], columns: tuple[str, ...]) -> tuple[Hashable, ...]:
    """All combinations of the values of columns."""
    check_keys("groups", groups, columns)
    if len(groups) < len(columns):
        missing = next(repr(name) for name in columns if name not in groups)
        raise InvalidArgument("groups", "a mapping with a list for every column of by=", f"none for {missing}")
    lists = [public_groups(groups[name]) for name in columns]
    checks.few("groups", math.prod(map(len, lists)), MOST_GROUPS, "groups", "Ask about some of them at a time.")
    return lists[0] if len(lists) == 1 else tuple(itertools.product(*lists))


def _group_tuples(groups: Any, columns: tuple[str, ...]) -> list[Any]:
    """Groups of several columns, each a tuple of their values."""
    must = f"a list of tuples of {len(columns)} values"
    lists = ", ".join(f"{name!r}: [...]" for name in columns)
    fix = f"Each has one value for each of {', '.join(map(repr, columns))}; {{{lists}}} stands for all combinations."
    if not _is_list(groups):
        raise InvalidArgument("groups", must, checks.describe(groups), fix)
    checks.few("groups", groups, MOST_GROUPS, "groups", "Ask about some of them at a time.")
    listed = list(groups)
    for group in listed:
        if not isinstance(group, tuple) or len(group) != len(columns):
            got = f"a tuple of {len(group)}" if isinstance(group, tuple) else checks.describe(group)
            raise InvalidArgument("groups", must, f"one with {got}", fix)
    return listed


# ------------------------------------------------------------------------------------------------- cells of a histogram


@dataclass(frozen=True)
class Edges:
    """Cells [e₀, e₁), [e₁, e₂), … of numbers, or of ticks in a form; the last one with its right end, as in NumPy.

    Units of the calendar (`every`) are without their right end.
    """

    edges: NDArray[Any]
    clamp: bool
    form: Form | None = None
    every: str | None = None

    @property
    def cells(self) -> tuple[Hashable, ...]:
        """Units by their first day or hour; other cells by their ends."""
        form = self.form
        if form is None:
            return tuple(itertools.pairwise(self.edges.tolist()))
        if self.every is not None:
            return tuple(label(int(tick), self.every, form) for tick in self.edges[:-1])
        form = Form("clock") if form.word == "date" and np.any(self.edges % DAY) else form
        return tuple(itertools.pairwise(form.show(int(tick)) for tick in self.edges))

    def places(self, x: Field) -> Integers:
        """The cell of every row of a column; -1 for none. NaN is beyond the last edge."""
        values: Any
        if self.form is not None:
            (values, missing), edges = x.ticks(), self.edges
        else:
            values, edges = x.floats(), self.edges.astype(np.float64)
            missing = np.isnan(values)
        last = len(edges) - 2
        place = np.where(missing, last + 1, np.searchsorted(edges, values, side="right") - 1)
        if self.every is None:
            place = np.where((values == edges[-1]) & ~missing, last, place)
        return np.clip(place, 0, last) if self.clamp else np.where((place >= 0) & (place <= last), place, -1)


def time_edges(form: Form | None, edges: Any, every: str | None, clamp: bool) -> Edges | None:
    """The cells between edges that are times or durations; None if edges and data are numbers."""
    given = tick_edges(edges, every)
    if given is None:
        if form is not None:
            must = f"{'durations' if form.kind == 'duration' else 'times'} for a column of {form.plural}"
            raise InvalidArgument("edges", must, checks.outline(edges))
        checks.left_out("every", every, "if edges are numbers")
        return None
    times, ticks = given
    if form is None:
        raise InvalidArgument("x", "a column of times or durations, as the edges are", "one of another kind")
    if not all(one.fits(form) for one in times):
        fix = "Edges have a time zone if and only if the column has one. For a column of durations they are durations."
        raise InvalidArgument("edges", f"{form.plural}, as x holds", "others", fix)
    return Edges(ticks, clamp, form, every)


def check_calendar(x: Any, kind: Kind, edges: object, keys: object, every: object) -> None:
    """Check units of the calendar against keys and the kind of the column; a table's times need them, or edges."""
    if every is not None:
        if isinstance(every, Real):
            fix = "It divides times. For numbers pass edges, such as edges=[0, 10, 20, 30]."
            raise InvalidArgument("every", "a unit of the calendar, such as 'month'", checks.describe(every), fix)
        checks.choice("every", every, CALENDAR)
        checks.left_out("keys", keys, "if every= is given", "The calendar units are the cells.")
        if kind == "duration":
            raise InvalidArgument("every", "left out for a column of durations", repr(every), "Pass edges.")
    elif isinstance(x, Column) and x.form is not None and edges is None:
        if keys is not None:
            what, fix = HELD[x.kind]
            raise InvalidArgument("x", "a one-dimensional column of numbers", f"a column of {what}", fix)
        if x.form.kind == "duration":
            raise InvalidArgument("edges", "given for a column of durations", "None", "Pass two or more durations.")
        fix = "Pass every='month', or another unit of the calendar, or edges."
        raise InvalidArgument("every", f"given for a column of {x.form.plural}", "None", fix)


def by_calendar(x: Column, every: str | None) -> Column:
    """A column whose categories are to be counted, with times rounded down to units of the calendar."""
    if every is None:
        return x
    if x.kind != "time":
        how = f"types={{{x.name!r}: 'date:%d.%m.%Y'}} (--type {shell_word(f'{x.name}=date:%d.%m.%Y')})"
        fix = f"It is of type {x.kind}. If it holds dates, say how they are written, such as {how}."
        raise InvalidArgument("every", "left out for a column that holds no times", repr(every), fix)
    return x.floored(every)


@dataclass(frozen=True)
class KeyCells:
    """One cell for each key, or for each of the integers 0, 1, 2, …"""

    keys: tuple[Hashable, ...] | int

    @property
    def cells(self) -> tuple[Hashable, ...]:
        return tuple(range(self.keys)) if isinstance(self.keys, int) else self.keys

    def places(self, x: Field) -> Integers:
        """The number of the cell that each row is in; -1 for none."""
        return places(x, self.keys)


def binning_of(x: Column, edges: Any, keys: Any, every: str | None, outside: str) -> Edges | KeyCells:
    """The cells of edges, keys or units of the calendar, checked against the kind of the column alone."""
    if outside not in ("drop", "clamp"):
        raise InvalidArgument("outside", "'drop' or 'clamp'", checks.describe(outside))
    if edges is not None and keys is not None:
        raise InvalidArgument("edges", "given, or keys, but not both", "both")
    fix = "A sparse histogram (uptack.sparse_histogram) can have more."
    checks.few("keys", keys, checks.MOST_CELLS, "cells", fix)
    checks.few("edges", edges, checks.MOST_CELLS + 1, "edges", "Make the cells wider.")
    if keys is not None:
        if outside == "clamp":
            raise InvalidArgument("outside", "'drop' if keys= is given", "'clamp'")
        if isinstance(keys, int) and x.kind not in NUMERIC:
            fix = "keys=k stands for the integers from 0 to k - 1."
            raise InvalidArgument("x", "a one-dimensional column of keys", x.kind, fix)
        cells = KeyCells(levels_of("keys", keys))
        listed = () if isinstance(cells.keys, int) else cells.keys
        check_kind("keys", listed, x.name, "any" if x.name in x.table.categorical else x.kind)
        distinct("keys", listed, [x.kind], "distinct values of the column's type")
        return cells
    times = time_edges(x.form, edges, every, outside == "clamp")
    if times is not None:
        return times
    if x.kind not in NUMERIC:
        what, fix = HELD[x.kind]
        raise InvalidArgument("x", "a one-dimensional column of numbers", f"a column of {what}", fix)
    ends = checks.numbers("edges", edges, (1,))
    if ends.size < 2 or not (np.diff(ends) > 0).all():
        got = "one number" if ends.size == 1 else checks.describe(ends)
        raise InvalidArgument("edges", "two or more increasing numbers", got)
    return Edges(ends, outside == "clamp")
