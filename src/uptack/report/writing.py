"""What the pages of a report have in common, whatever they are written in: bars, coefficients and the bill."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, NamedTuple

from uptack.labels import label
from uptack.privacy import Privacy
from uptack.privacy.explanation import short as short
from uptack.report.cards import Figure
from uptack.report.profile import ColumnProfile, Profile
from uptack.shown import numbers

NAMES = 6
"""Up to so many columns of a line of the bill go by their names."""


def between(ends: tuple[Any, Any], scale: float) -> str:
    """An interval in words, rounded outward."""
    if not all(isinstance(end, date | timedelta) or math.isfinite(end) for end in ends):
        return "no interval: noise covers it"
    return numbers.between(ends, scale)


class Bar(NamedTuple):
    """A category and how many rows, or people, it has."""

    name: object
    rows: int
    share: float
    error: int
    reach: float = 0.0
    """The error in per cent of the widest bar, as `share` is."""


class Coefficient(NamedTuple):
    """A coefficient of a regression."""

    name: str
    value: float
    ends: tuple[float, float] | None

    @property
    def told(self) -> bool:
        """Whether there is an interval that says anything."""
        return self.ends is not None and math.isfinite(self.ends[1] - self.ends[0])

    @property
    def scale(self) -> float:
        """How large a difference is: the width of its interval."""
        return self.ends[1] - self.ends[0] if self.ends is not None and self.told else 0.0


class Charge(NamedTuple):
    """A line of the bill."""

    column: str
    label: str
    how: str
    cost: Privacy


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


def integer_bars(figure: Figure, low: float = -math.inf, high: float = math.inf) -> list[Bar]:
    """The same for few integers, or times, in their order and in this range, without noise at both ends.

    An end is cut off where no bar is larger than twice its error: of many bars some are larger than that by chance.
    """
    ordered = sorted(bars(figure), key=lambda bar: bar.name)  # type: ignore[arg-type,return-value]
    ordered = [bar for bar in ordered if not isinstance(bar.name, int) or low <= bar.name <= high]
    seen = [i for i, bar in enumerate(ordered) if bar.rows > 2 * bar.error]
    return ordered[seen[0] : seen[-1] + 1] if seen else ordered


def ordered(bars_shown: list[Bar]) -> list[str]:
    """The names of bars that have an order: of times no more than the unit of the calendar that they are.

    >>> ordered([Bar(date(2013, month, 1), 1, 1.0, 0) for month in (1, 2)])
    ['2013-01', '2013-02']
    """
    names = [bar.name for bar in bars_shown]
    if len(names) < 2 or not all(isinstance(name, date) for name in names):
        return [label(name) for name in names]
    if any(name.day != 1 for name in names):  # type: ignore[attr-defined]
        return [str(name)[:10] for name in names]
    return [str(name)[: 4 if all(n.month == 1 for n in names) else 7] for name in names]  # type: ignore[attr-defined]


def coefficients(regression: tuple[tuple[str, ...], Figure]) -> list[Coefficient]:
    """The coefficients of a regression by their names."""
    names, figure = regression
    ends = [None] * len(names) if figure.interval is None else list(zip(*figure.interval, strict=True))
    labels = ("intercept", *names[1:])
    return [Coefficient(*row) for row in zip(labels, map(float, figure.value), ends, strict=True)]


def charges(profile: Profile) -> list[Charge]:
    """What each figure cost."""
    found = [(c.part.name, f) for c in profile.columns for f in c.releases]
    found += [(", ".join(names[:1]), figure) for names, figure in filter(None, [profile.regression])]
    found += [(f"{len(names)} columns", figure) for names, figure in filter(None, [profile.correlations])]
    return [Charge(name, f.label, f.how, f.cost) for name, f in found if f.cost is not None]


class Group(NamedTuple):
    """Lines of the bill that are alike."""

    columns: tuple[str, ...]
    charge: Charge

    def names(self, cell: Callable[[object], str] = label) -> str:
        """The columns by their names, or how many they are."""
        many = len(self.columns)
        return ", ".join(map(cell, self.columns)) if many <= NAMES else f"{many:,} columns"


def grouped(profile: Profile) -> list[Group]:
    """What each figure cost: columns that were asked alike in one line."""
    found: dict[tuple[str, str, Privacy], list[Charge]] = {}
    for charge in charges(profile):
        found.setdefault((charge.label, charge.how, charge.cost), []).append(charge)
    return [Group(tuple(one.column for one in alike), alike[0]) for alike in found.values()]


def counted(column: ColumnProfile) -> Figure | None:
    """The counts of a column of few integers, where they were released in place of a density."""
    density = column.density
    return density if density is not None and hasattr(density.value, "items") else None


def sentence(text: str) -> str:
    """What is said in passing as sentences of their own.

    >>> sentence("no density without a spread; fewer columns")
    'No density without a spread. Fewer columns.'
    """
    parts = [part.strip() for part in text.replace("\n", " ").rstrip(".").split("; ")]
    return ". ".join(part[:1].upper() + part[1:] for part in parts) + "."


def answered(column: ColumnProfile) -> bool:
    """Whether a reader learns anything about a column: not from counts of no category."""
    values = [figure.value for figure in column.figures if figure.value is not None]
    return not column.part.skipped and any(not hasattr(value, "items") or len(value) > 0 for value in values)


def summary(profile: Profile) -> list[str]:
    """What a reader should know first: how much was answered, of how many rows, for how much."""
    rows = f"a secret number of {profile.unit}" if profile.rows is None else f"{profile.rows:,} {profile.unit}"
    rows = {"1 rows": "1 row", "1 people": "1 person"}.get(rows, rows)
    delta = f", δ = {short(profile.spent.delta)}" if profile.spent.delta else ""
    return [
        f"{sum(map(answered, profile.columns))} of {len(profile.columns)} columns answered",
        rows,
        f"ε = {short(profile.spent.epsilon)} of {short(profile.asked.epsilon)} spent{delta}",
    ]


def to_json(profile: Profile) -> str:
    """Plain values, exactly as they were released."""
    return profile.to_json()
