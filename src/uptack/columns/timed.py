"""A column of times or durations: a column of ticks, wherever it is kept, and how its ticks are shown.

Behind `uptack.statistics.column_input.column` it is a column of whole numbers like any other. What is found there in
ticks is shown as times or durations when its account is closed (`uptack.statistics.time_outcomes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uptack.columns.masked import MaskedColumn
from uptack.columns.numeric import Column
from uptack.columns.selection import Floats, Window
from uptack.errors import InvalidArgument
from uptack.table.values import containers
from uptack.table.values.entrance import HELD, field
from uptack.table.values.field import Field
from uptack.table.values.times import TIMED, Form


@dataclass(frozen=True, eq=False)
class TimedColumn:
    """Ticks, in any kind of column, and the form in which they are shown. What is known of people is the ticks'."""

    ticks: Any
    form: Form

    @property
    def size(self) -> int:
        """The number of rows, or of people."""
        return int(self.ticks.size)

    @property
    def integers(self) -> bool:
        """Whether all are whole ticks, by the type."""
        return bool(self.ticks.integers)

    @property
    def of_people(self) -> bool:
        """Whether it says whose rows they are."""
        return bool(getattr(self.ticks, "of_people", False))

    @property
    def weighted(self) -> bool:
        """Whether ranks are those of people's rows."""
        return bool(getattr(self.ticks, "weighted", False))

    @property
    def size_is_secret(self) -> bool:
        """Whether the size depends on how many rows people have."""
        return bool(getattr(self.ticks, "size_is_secret", False))

    @property
    def codes(self) -> Any:
        """Whose each row is."""
        return self.ticks.codes

    @property
    def people(self) -> int:
        """How many people have rows."""
        return int(self.ticks.people)

    def finite(self) -> bool:
        """Whether no row is missing."""
        return bool(self.ticks.finite())

    def filled(self, missing: float) -> TimedColumn:
        """Rows without a value replaced by so many ticks."""
        return replace(self, ticks=self.ticks.filled(missing))

    def present(self) -> TimedColumn:
        """The rows that have a value."""
        return replace(self, ticks=self.ticks.present())

    def floats(self) -> TimedColumn:
        """The ticks as floats."""
        return replace(self, ticks=self.ticks.floats())

    def away(self, centre: float) -> TimedColumn:
        """Durations: how far rows are from a moment."""
        return TimedColumn(self.ticks.away(centre), self.form.spread)

    def ordered(self, windows: Sequence[Window]) -> Any:
        """Order statistics, in ticks."""
        return self.ticks.ordered(windows)

    def sums(self, f: Callable[[Floats], list[Any]]) -> list[Any]:
        """Σ f over batches of ticks."""
        return list(self.ticks.sums(f))

    def only(self, rows: Any) -> TimedColumn:
        """Some rows of people."""
        return replace(self, ticks=self.ticks.only(rows))

    def taken(self, rows: Any) -> TimedColumn:
        """Some rows of a column in memory."""
        return replace(self, ticks=self.ticks.taken(rows))

    def by_rows(self, at_most: int) -> TimedColumn:
        """Rows of people with up to so many weigh alike."""
        return replace(self, ticks=self.ticks.by_rows(at_most))

    def each(self, how: str, order: Any = None) -> Column:
        """One moment per person; a number, if it is that of her rows."""
        if how == "sum" and self.form.kind == "time":
            raise InvalidArgument(
                "per_person", "another than 'sum' for a column of times", "'sum'", "Times don't add up."
            )
        made: Column = self.ticks.each(how, order)
        return made if how == "count" else TimedColumn(made, self.form)


def timed(found: Field) -> TimedColumn:
    """A field of times or durations in memory as a column."""
    return TimedColumn(MaskedColumn(*found.ticks()), found.form)


def ticked(ticks: Floats, form: Form) -> Field:
    """Ticks as a field of times or durations; NaN is a row without a value."""
    gone = np.isnan(ticks)
    whole = np.where(gone, 0.0, ticks).astype(np.int64)
    return Field(
        form.kind, ticks.size, lambda: (whole.view("m8[us]" if form.kind == "duration" else "M8[us]"), gone), form=form
    )


def unlike(name: str, form: Form) -> InvalidArgument:
    """What is said where times are of no use."""
    what, fix = HELD[form.kind]
    return InvalidArgument(name, "a one-dimensional column of numbers", f"a column of {what}", fix)


def whole(x: Any) -> Any:
    """Times and durations as a column that remembers how they are shown; anything else as it is.

    An array of NumPy, into which groups of rows would otherwise be cut, forgets the zone.
    """
    if isinstance(x, Column) or containers.frame(x) is not None:
        return x
    try:
        found = field("x", x)
    except InvalidArgument:  # a table, or something of its own: whoever takes it says what is wrong
        return x
    return timed(found) if found.kind in TIMED else x
