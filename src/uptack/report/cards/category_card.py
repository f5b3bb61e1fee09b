"""Cards of categories: truth values, texts, and columns without a declared type, counted and drawn as bars."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from uptack.display.align import markdown_table
from uptack.labels import label
from uptack.progress import track
from uptack.report.column import Card, CardView, ColumnDraw, ColumnFigure, ColumnProfile, Part, Quantiles
from uptack.report.figure import Figure
from uptack.report.text import TextStyle, sentence
from uptack.session import Request


def request(part: Part, epsilon: Fraction, released: Quantiles) -> Request:
    """How often the truth values occur, or the public categories, or whatever categories there are."""
    if part.kind == "boolean" or part.keys:
        keys = list(part.keys) or [False, True]
        return Request("histogram", part.name, epsilon=epsilon, keys=keys)
    return Request("histogram", part.name, epsilon=epsilon, delta=part.delta)


def needs_delta(part: Part) -> str:
    """Categories that no schema lists need some δ."""
    if part.delta > 0 or part.keys:
        return ""
    return "Counting categories that nobody listed beforehand needs δ > 0: pass --delta 1e-6, or list them."


def run(part: Part, make: Callable[[ColumnDraw, Quantiles], Figure]) -> ColumnProfile:
    """The counts."""
    made = tuple(make(draw, {}) for draw in track(part.draws, part.name, inner=True))
    return ColumnProfile(part, made, releases=made)


def overview(column: ColumnProfile) -> dict[str, str]:
    """Categories have a table of their own."""
    return {}


def details(column: ColumnProfile, style: TextStyle, unit: str) -> list[str]:
    """The categories, largest first."""
    if not column.answered or column.counts is None:
        return []
    shown = bars(column.counts)
    return counts_table("category", [style.name(bar.name) for bar in shown], shown, column.counts.note, style, unit)


def counts_table(head: str, names: list[str], shown: list[Bar], note: str, style: TextStyle, unit: str) -> list[str]:
    """Counts with their errors."""
    rows = [
        [name, f"{max(bar.rows, 0):,}", f"{bar.error:,}" if bar.error else ""]
        for name, bar in zip(names, shown, strict=True)
    ]
    listed, more = style.cut(rows)
    below = [line for line in (more, style.prose(sentence(note)) if note else "") if line]
    return [*markdown_table([head, unit, "±"], listed), *([""] if below else []), *below]


def view(anchor: str, column: ColumnProfile, unit: str) -> CardView:
    """Bars, or what would help."""
    if column.part.skipped:
        return CardView(anchor, column, [], note=column.part.skipped)
    figure = column.figures[0]
    return CardView(anchor, column, [], note=figure.note, bars=None if figure.value is None else bars(figure))


COUNTS = ColumnFigure("counts", 2, "counts", lambda rows: 0.0)

_card = partial(Card, numeric=False, run=run, overview=overview, details=details, view=view)

TRUTH_VALUES = _card(
    name="truth values",
    kinds=("boolean",),
    figures=(COUNTS,),
    draws=(ColumnDraw("counts", Fraction(1, 8), request),),
    skipped=lambda part: "",
)
CATEGORIES = _card(
    name="categories",
    kinds=("text", "any"),
    figures=(COUNTS,),
    draws=(ColumnDraw("counts", Fraction(1, 3), request),),
    skipped=needs_delta,
)
OTHERS = _card(
    name="others",
    kinds=(),
    figures=(),
    draws=(),
    skipped=lambda part: f"Columns of type {part.kind} are not reported.",
)
"""Columns of any other kind."""


# ---------------------------------------------------------------------------------------------------------------- bars


class Bar(NamedTuple):
    """A category and how many rows, or people, it has."""

    name: object
    rows: int
    share: float
    error: int
    reach: float = 0.0
    """The error in per cent of the widest bar, as `share` is."""


def bars(figure: Figure) -> list[Bar]:
    """The categories of a histogram, largest first.

    The error is the least e with the whole interval in ±e around what is shown. An interval is cut off at 0, so half of
    its width would be too little for small counts.
    """
    cells = dict(figure.value.items())
    widest = max([*cells.values(), 1])
    errors = [0] * len(cells)
    if figure.interval is not None:
        ends = zip(cells.values(), *figure.interval, strict=True)
        errors = [math.ceil(max(high - int(count), int(count) - low)) for count, low, high in ends]
    widest += max(errors, default=0)  # whiskers fit in
    found = [
        Bar(name, int(count), round(100 * max(count, 0) / widest, 1), error, round(100 * error / widest, 1))
        for (name, count), error in zip(cells.items(), errors, strict=True)
    ]
    return sorted(found, key=lambda bar: -bar.rows)


def ordered_bars(figure: Figure, low: float = -math.inf, high: float = math.inf) -> list[Bar]:
    """The same for few integers, or times, in their order and in this range, without noise at both ends.

    An end is cut off where no bar is larger than twice its error: of many bars some are larger than that by chance.
    """
    ordered = sorted(bars(figure), key=lambda bar: bar.name)  # type: ignore[arg-type,return-value]
    ordered = [bar for bar in ordered if not isinstance(bar.name, int) or low <= bar.name <= high]
    seen = [i for i, bar in enumerate(ordered) if bar.rows > 2 * bar.error]
    return ordered[seen[0] : seen[-1] + 1] if seen else ordered


def ordered_names(ordered: list[Bar]) -> list[str]:
    """The names of bars that have an order: of times no more than the unit of the calendar that they are.

    >>> ordered_names([Bar(date(2013, month, 1), 1, 1.0, 0) for month in (1, 2)])
    ['2013-01', '2013-02']
    """
    names = [bar.name for bar in ordered]
    if len(names) < 2 or not all(isinstance(name, date) for name in names):
        return [label(name) for name in names]
    if any(name.day != 1 for name in names):  # type: ignore[attr-defined]
        return [str(name)[:10] for name in names]
    return [str(name)[: 4 if all(n.month == 1 for n in names) else 7] for name in names]  # type: ignore[attr-defined]
