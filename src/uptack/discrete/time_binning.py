"""Cells of times: between declared times, or one per hour, day, week, month or year."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uptack import checks
from uptack.columns.spread import PeopleTally, PeopleValues
from uptack.columns.tally import Tally
from uptack.columns.timed import TimedColumn, unlike
from uptack.errors import InvalidArgument
from uptack.noise.integer_laws import Integers
from uptack.table.values.calendar import CALENDAR, begin, floored, label, tick_edges
from uptack.table.values.entrance import field
from uptack.table.values.field import Field
from uptack.table.values.times import DAY, FIRST, LAST, TIMED, Form, Ticks


@dataclass(frozen=True)
class TimeEdges:
    """Cells [e₀, e₁), [e₁, e₂), … of ticks, the last one with its right end unless they are units of the calendar."""

    edges: Ticks
    clamp: bool
    form: Form
    every: str | None

    @property
    def cells(self) -> tuple[Hashable, ...]:
        """Units by their first day or hour; other cells by the times at their ends."""
        if self.every is not None:
            return tuple(label(int(tick), self.every, self.form) for tick in self.edges[:-1])
        dated = self.form.word == "date" and not np.any(self.edges % DAY)
        form = Form("clock") if self.form.word == "date" and not dated else self.form
        return tuple(itertools.pairwise(form.show(int(tick)) for tick in self.edges))

    def places(self, x: Any) -> Integers:
        """The cell of every row, of a column or of a batch of ticks; -1 where there is none."""
        if isinstance(x, np.ndarray) and x.dtype == np.float64:
            gone, ticks, edges = np.isnan(x), x, self.edges.astype(np.float64)
        else:
            whole, gone = _known(x).ticks()
            ticks, edges = whole, self.edges  # type: ignore[assignment]
        last = len(edges) - 2
        place = np.where(gone, last + 1, np.searchsorted(edges, ticks, side="right") - 1)
        if self.every is None:
            place = np.where((ticks == edges[-1]) & ~gone, last, place)
        return np.clip(place, 0, last) if self.clamp else np.where((place >= 0) & (place <= last), place, -1)


def time_edges(x: Any, edges: Any, every: str | None, clamp: bool) -> TimeEdges | None:
    """The cells between edges that are times or durations; None where edges and data are numbers."""
    found = tick_edges(edges, every)
    form = form_of(x)
    if found is None:
        if form is not None:
            must = f"{'durations' if form.kind == 'duration' else 'times'} for a column of {form.held}"
            raise InvalidArgument("edges", must, checks.outline(edges))
        if every is not None:
            raise InvalidArgument("every", "left out where edges are numbers", repr(every))
        return None
    said, ticks = found
    if form is None:
        raise InvalidArgument("x", "a column of times or durations, as the edges are", checks.outline(x))
    if not all(one.fits(form) for one in said):
        fix = "Edges have a zone only where the column has one, and are durations where it holds such."
        raise InvalidArgument("edges", f"{form.held}, as x holds", "others", fix)
    return TimeEdges(ticks, clamp, form, every)


def form_of(x: Any) -> Form | None:
    """How a column shows its times, or durations; None for other data."""
    if isinstance(x, PeopleValues):
        return form_of(x.data)
    if isinstance(x, TimedColumn):
        return x.form
    try:
        found = field("x", x)
    except InvalidArgument:  # counted already, or no column at all: whoever counts says so
        return None
    return found.form if found.kind in TIMED else None


def _known(x: Any) -> Any:
    return field("x", x)


def check_every(every: object, keys: object, x: Any) -> None:
    """Whether units of the calendar go together with what else was said."""
    if every is not None:
        checks.choice("every", every, CALENDAR)
        if keys is not None:
            raise InvalidArgument(
                "keys", "left out where every is given", "some", "Units of the calendar are the cells."
            )
    kept = x.data if isinstance(x, PeopleValues) else x
    timed = isinstance(kept, TimedColumn) or (isinstance(kept, Field) and kept.kind in TIMED)
    form = kept.form if timed else None
    if form is not None and form.kind == "duration" and every is not None:
        raise InvalidArgument("every", "left out for a column of durations", repr(every), "Pass edges.")
    if form is not None and keys is not None:
        raise unlike("x", form)


def by_calendar(x: Any, every: str | None) -> Any:
    """Data by units of the calendar, as counts of unknown categories take them: each row by itself."""
    kept = x.data if isinstance(x, PeopleValues) else x
    if every is None and isinstance(kept, TimedColumn | Field):  # of a table: there, no value by itself is counted
        if kept.form.kind == "duration":
            raise InvalidArgument("edges", "given for a column of durations", "None", "Pass two or more durations.")
        fix = "Pass every='month', or another unit of the calendar, or edges."
        raise InvalidArgument("every", f"given for a column of {kept.form.held}", "None", fix)
    if every is None:
        return x
    if isinstance(x, Tally | PeopleTally):
        raise InvalidArgument("every", "left out for a column that holds no times", repr(every))
    if isinstance(x, PeopleValues):
        return replace(x, data=floored("x", x.data, every))
    return _tallied(x, every) if isinstance(x, TimedColumn) else floored("x", x, every)


def _tallied(x: TimedColumn, every: str) -> Tally:
    """How many rows each unit has, wherever the rows are kept: numbers of units are added up."""
    (counted,) = x.sums(partial(_units, every=every))
    names = (None if tick is None else label(tick, every, x.form) for tick in counted)
    return Tally(tuple(names), np.array(list(counted.values()), np.int64))


def _units(ticks: NDArray[np.float64], every: str) -> list[Any]:
    """How many of a batch of ticks are in each unit, by where it begins; None for rows without a value."""
    gone = np.isnan(ticks)
    whole = np.clip(ticks[~gone].astype(np.int64), FIRST, LAST)
    starts, counts = np.unique(begin(whole, every), return_counts=True)
    found: Counter[int | None] = Counter(dict(zip(starts.tolist(), counts.tolist(), strict=True)))
    if gone.any():
        found[None] = int(gone.sum())
    return [found]
