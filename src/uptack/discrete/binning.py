"""Public cells of a histogram: between edges of numbers or times, one per key, or by the calendar."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.discrete.domains import levels_of, places
from uptack.errors import InvalidArgument
from uptack.labels import shell_word
from uptack.noise.integer_laws import Integers
from uptack.table.names import check_kind, distinct
from uptack.table.protocol import Column
from uptack.table.values.entrance import HELD, Field
from uptack.table.values.kinds import NUMERIC, Kind
from uptack.table.values.times import CALENDAR, DAY, Form, label, tick_edges


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
        """The keys."""
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
        raise InvalidArgument("edges", "two or more rising numbers", checks.describe(ends))
    return Edges(ends, outside == "clamp")
