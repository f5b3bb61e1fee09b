"""Cards of categories: truth values, texts, and columns without a declared type, counted and drawn as bars."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from uptack.discrete.categories import ONCE, SkewedLaplace
from uptack.labels import label
from uptack.noise import IntegerLaplace
from uptack.progress import track
from uptack.report.column import (
    CONFIDENCE,
    PRESENT,
    PRESENT_DRAW,
    Card,
    CardView,
    ColumnDraw,
    ColumnFigure,
    ColumnProfile,
    Figure,
    FigureLine,
    Part,
    Quantiles,
    percent,
    percent_interval,
    size_text,
)
from uptack.report.text import TextStyle
from uptack.session import Request
from uptack.statistics.proportions import ProportionInterval
from uptack.table.csv.time_cells import MONTHS


def counts_request(part: Part, epsilon: Fraction, released: Quantiles) -> Request:
    """How often the truth values occur, or the public categories, or whatever categories there are."""
    if part.kind == "boolean" or part.keys:
        keys = list(part.keys) or [False, True]
        return Request("histogram", part.name, epsilon=epsilon, keys=keys)
    return Request("histogram", part.name, epsilon=epsilon, delta=part.delta)


def delta_reason(part: Part) -> str:
    """Categories that no schema lists need some δ."""
    if part.delta > 0 or part.keys:
        return ""
    return "Counting categories that are not listed needs δ > 0. Pass --delta 1e-6, or list them in the schema."


def run(part: Part, make: Callable[[ColumnDraw, Quantiles], Figure]) -> ColumnProfile:
    """The counts, the share of those that are true, and how many rows have a value."""
    draws = {draw.label: make(draw, {}) for draw in track(part.draws, part.name, inner=True)}
    counts = draws.get("counts", Figure("counts", None))
    column = ColumnProfile(part, (counts,), releases=tuple(draws.values()), present=draws.get("n"))
    share = true_share(counts, column)
    return column if share is None else replace(column, figures=(counts, share))


HOW_SHARED = ("of", "with mostly", "with at least one")
"""A share of rows, of people who count once, and of people who may count twice."""


def true_share(counts: Figure, column: ColumnProfile) -> Figure | None:
    """The share of 1, or of True, with an interval for the population, where 0 and 1 are the values of a column.

    It is worked out from two noisy counts of one law. They are all values where no other one is frequent, nor all of
    the others together, and where they add up to most rows and, but for noise, to the rows with a value. If it was too
    dear to count these, they add up to all rows. Of people who are counted where they have at least one such row it is
    the share of people who have one. How many of them meet the conditions of a session is secret, so there it has none.
    """
    part = column.part
    if part.people and part.narrowed:
        return None
    cells = {} if counts.value is None else dict(counts.value.items())
    law = getattr(counts.noise, "law", None)
    if not ({0, 1} <= set(cells) and isinstance(law, SkewedLaplace) and law.up == law.down):
        return None
    categories = {bar.name: bar for bar in bars(counts)}
    others = [bar for name, bar in categories.items() if name not in (0, 1)]
    spread = math.hypot(*(bar.error for bar in others))
    if any(bar.rows > CLEAR * bar.error for bar in others) or sum(bar.rows for bar in others) > CLEAR_SUM * spread:
        return None
    one, zero = (round(max(cells[key], 0)) for key in (1, 0))
    rows = part.rows if part.people else one + zero
    if not rows or (part.rows is not None and not part.narrowed and 2 * rows < part.rows):
        return None
    for filled, low in () if part.people else _filled_rows(column):
        if filled - rows > math.hypot(filled - low, categories[0].error, categories[1].error):
            return None
    noise = ProportionInterval(one, rows, IntegerLaplace(law.up), not part.people)
    value = min(one / rows, 1.0)
    truth = "True" if part.kind == "boolean" else "1"
    how = HOW_SHARED[0 if not part.people else 1 if counted_once(counts) else 2]
    return Figure(f"share {how} {truth}", value, noise.around(value, CONFIDENCE), "Computed from the counts.")


def _filled_rows(column: ColumnProfile) -> list[tuple[float, float]]:
    """How many rows have a value, and the least that may have one; at most all rows, if only these are known."""
    part = column.part
    if column.numbers:
        n = column.numbers[0]
        return [(n.value, (n.interval or (n.value, n.value))[0])]
    return [] if part.rows is None or part.narrowed else [(part.rows, part.rows)]


def details(column: ColumnProfile, style: TextStyle, unit: str) -> list[str]:
    """The categories, largest first."""
    if not column.answered or column.counts is None:
        return []
    categories, size = shares(bars(column.counts), column.part, counted_once(column.counts)), size_text(column.numbers)
    lines = [share_line(one) for one in column.figures[1:]]
    sentences = [f"{size}."] if size else []
    sentences += [f"{line.label[:1].upper()}{line.label[1:]}: {line.value} ({line.interval})." for line in lines]
    names = [style.name(bar.name) for bar in categories]
    table = counts_table("category", names, categories, column.counts.note, style, unit)
    return [*([" ".join(sentences), ""] if sentences else []), *table]


def counts_table(
    head: str, names: list[str], categories: list[Bar], note: str, style: TextStyle, unit: str
) -> list[str]:
    """Counts with their errors, and percentages."""
    rows = [
        [name, f"{max(bar.rows, 0):,}", f"{bar.error:,}" if bar.error else "", bar.percent]
        for name, bar in zip(names, categories, strict=True)
    ]
    return style.table([head, unit, "±", "%"], rows, note)


def view(anchor: str, column: ColumnProfile, unit: str) -> CardView:
    """Bars, or what would help."""
    if column.part.skip_reason:
        return CardView(anchor, column, [], note=column.part.skip_reason)
    figure, *others = column.figures
    lines = [share_line(one) for one in others]
    categories = None if figure.value is None else shares(bars(figure), column.part, counted_once(figure))
    rest = remainder(categories or [], column.part)
    return CardView(anchor, column, lines, note=" ".join(filter(None, (figure.note, rest))), bars=categories)


def share_line(figure: Figure) -> FigureLine:
    """A share as a percentage."""
    ends = figure.interval
    return FigureLine(figure.label, percent(figure.value, ends), "" if ends is None else percent_interval(ends))


COUNTS = ColumnFigure("counts", 1, "counts", lambda rows: 0.0)

_card = partial(Card, numeric=False, run=run, overview=lambda column: {}, details=details, view=view)

TRUTH_VALUES = _card(
    name="truth values",
    kinds=("boolean",),
    figures=(COUNTS, PRESENT),
    draws=(ColumnDraw("counts", Fraction(1, 8), counts_request), PRESENT_DRAW),
    skip_reason=lambda part: "",
)
CATEGORIES = _card(
    name="categories",
    kinds=("text", "any"),
    figures=(COUNTS, PRESENT),
    draws=(ColumnDraw("counts", Fraction(1, 3), counts_request), PRESENT_DRAW),
    skip_reason=delta_reason,
)
OTHERS = _card(
    name="others",
    kinds=(),
    figures=(),
    draws=(),
    skip_reason=lambda part: f"Columns of type {part.kind} are not reported.",
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
    percent: str = ""
    """The share of all rows, or of all people, as it is shown."""


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
    categories = [
        Bar(name, int(count), round(100 * max(count, 0) / widest, 1), error, round(100 * error / widest, 1))
        for (name, count), error in zip(cells.items(), errors, strict=True)
    ]
    return calendar_order(categories) or sorted(categories, key=lambda bar: -bar.rows)


def counted_once(counts: Figure) -> bool:
    """Whether people are counted, each in one category."""
    return counts.note.startswith(ONCE)


def shares(categories: list[Bar], part: Part, once: bool = False) -> list[Bar]:
    """The same with percentages: of all rows, or of all people, where their number is public; else of those shown.

    How many rows meet the conditions of a session is secret.

    Each row is in one category, so percentages of rows are brought to add up to at most 100; what they lack is in
    categories that are not listed. Of a column of truth values all are listed, so percentages are of those with a value
    if the rest is within the noise. People may be in several categories unless each counts `once`, and their
    percentages need not add up. The counts in JSON are as they were released. Here none is more than all rows, or all
    people, where their number is public.
    """
    most = max([0, *(bar.rows for bar in categories)]) if part.rows is None else part.rows
    categories = [bar._replace(rows=min(bar.rows, most)) for bar in categories]
    counts = [max(bar.rows, 0) for bar in categories]
    whole = part.rows if part.rows is not None and not part.narrowed else sum(counts)
    if (
        part.kind == "boolean"
        and not part.people
        and whole - sum(counts) <= math.hypot(*(bar.error for bar in categories))
    ):
        whole = sum(counts)
    whole = max(whole, 1) if part.people and not once else max(whole, sum(counts), 1)
    digits = 1 if all(100 * bar.error < 2 * whole for bar in categories) else 0
    exact = [100 * count * 10**digits / whole for count in counts]
    lower = [math.floor(value) for value in exact]
    up = round(sum(exact)) - sum(lower)  # those with the largest remainders are rounded up, so that the sum is right
    order = sorted(range(len(categories)), key=lambda i: lower[i] - exact[i])
    raised = {*order[:up]}
    percentages = [(lower[i] + (i in raised)) / 10**digits for i in range(len(categories))]
    return [bar._replace(percent=f"{share:.{digits}f}%") for bar, share in zip(categories, percentages, strict=True)]


def remainder(categories: list[Bar], part: Part) -> str:
    """What the percentages of rows lack to 100, in a sentence; "" where that is less than the noise in them."""
    if part.rows is None or part.people or part.narrowed or not categories:
        return ""
    left = 100 - sum(float(bar.percent.rstrip("%")) for bar in categories)
    noise = 100 * math.hypot(*(bar.error for bar in categories)) / max(part.rows, 1)
    digits = 1 if "." in categories[0].percent else 0
    return "" if left <= noise else f"The remaining {left:.{digits}f}% have a value that is not listed, or none."


DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def calendar_order(categories: list[Bar]) -> list[Bar]:
    """Months and days of the week in the order of the calendar; [] for other categories.

    >>> [bar.name for bar in calendar_order([Bar(name, 1, 1.0, 0) for name in ("Mar", None, "Jan", "Feb")])]
    ['Jan', 'Feb', 'Mar', None]
    """
    if not all(bar.name is None or isinstance(bar.name, str) for bar in categories):
        return []
    names = {bar.name: str(bar.name).strip().rstrip(".").lower() for bar in categories if bar.name is not None}
    for words in (MONTHS, DAYS):
        places = {word[:length]: i for i, word in enumerate(words) for length in (3, len(word))}
        if len(names) > 1 and all(name in places for name in names.values()):
            return sorted(categories, key=lambda bar: len(words) if bar.name is None else places[names[bar.name]])
    return []


CLEAR = 3
"""Times the 95% error of a count: of 80 empty cells one in 200 tables has a count above it."""
CLEAR_SUM = 1.25
"""The same for one sum: of counts of values that do not occur, one in 140 is above it."""


def ordered_bars(figure: Figure, low: float = -math.inf, high: float = math.inf) -> list[Bar]:
    """The same for few integers, or times, in their order and in this range, without noise at both ends.

    An end is cut off where no bar is larger than `CLEAR` times its error: of many bars some exceed it by chance.
    """
    ordered = sorted(bars(figure), key=lambda bar: bar.name)  # type: ignore[arg-type,return-value]
    ordered = [bar for bar in ordered if not isinstance(bar.name, int) or low <= bar.name <= high]
    seen = [i for i, bar in enumerate(ordered) if bar.rows > CLEAR * bar.error]
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
