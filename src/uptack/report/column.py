"""One column of a report: what is asked of it, and what is published about it.

A *card* says how, for a kind of column: numbers, times (`uptack.report.number_card`) and categories
(`uptack.report.category_card`). The releases of all columns are one plan, fixed beforehand and paid for together
(`uptack.report.budget`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from uptack.display import FigureTable, Record, of_value
from uptack.display.numbers import is_number, json_value
from uptack.labels import label
from uptack.privacy import Privacy
from uptack.release import NoReply
from uptack.session import Request
from uptack.session.requests import Made
from uptack.table.values.times import Form

if TYPE_CHECKING:
    from markupsafe import Markup

    from uptack.report.category_card import Bar
    from uptack.report.text import TextStyle

CONFIDENCE = Fraction(95, 100)

FIGURE_NAMES = {
    "tails": "5% and 95% quantiles", "interval": "interval of the median",
    "n": "number of rows with a value", "lower quartile interval": "interval of the lower quartile",
    "upper quartile interval": "interval of the upper quartile",
}  # fmt: skip
"""Figures, and the draws that they are read off, as a reader calls them."""


@dataclass(frozen=True)
class Figure:
    """One released figure, or what came in its place. Without a cost it was worked out from released ones.

    `noise` is what a reader may know about its error, for figures that are worked out from it.
    """

    label: str
    value: Any
    interval: tuple[Any, Any] | None = None
    note: str = ""
    how: str = ""
    cost: Privacy | None = None
    noise: Any = None

    @staticmethod
    def of(label: str, result: Made, cost: Privacy | None, advice: str = "") -> Figure:
        """The figure of a release, and what it cost. `advice` is what would help, in terms of the whole report."""
        how = result.mechanism
        if isinstance(result, NoReply):
            return Figure(label, None, None, advice or result.reason, how, cost)
        notes = list(result.notes)
        if len(notes) > 1:  # as one paragraph
            notes = [note[:1].upper() + note[1:] + ("" if note.endswith(".") else ".") for note in notes]
        return Figure(label, result.value, None, " ".join(notes), how, cost, result.noise)

    def to_dict(self) -> dict[str, Any]:
        value = self.value.to_dict() if hasattr(self.value, "to_dict") else json_value(self.value)
        ends = None if self.interval is None else [json_value(end) for end in self.interval]
        cost = None if self.cost is None else self.cost.to_dict()
        return {"label": self.label, "value": value, "interval": ends, "note": self.note, "privacy": cost}

    def records(self, column: str) -> list[Record]:
        """One line for it, of counts or groups one per category; none for a curve."""
        if hasattr(self.value, "points"):
            return []
        cost = None if self.cost is None else self.cost.to_dict()
        rest = {"epsilon": cost and cost["epsilon"], "delta": cost and cost["delta"], "note": self.note}
        records = []
        for line in of_value(self.value, self.interval):
            key = next((key for key in ("cell", "group") if key in line), "")
            category = {"category": line.pop(key)} if key else {}
            records.append({"column": column, "figure": self.label, **category, **line, **rest})
        return records


Quantiles = Mapping[Fraction, float]
"""Released quantiles of a column by their levels, times and durations in ticks."""


@dataclass(frozen=True)
class ColumnDraw:
    """A release about a column. `weight` is its ε where the quantiles of a column have 1.

    `ask(part, epsilon, released)` is the request, given the quantiles that have been released. In a plan there are
    none, and what is asked stands for any question of the same cost.
    """

    label: str
    weight: Fraction
    ask: Callable[[Part, Fraction, Quantiles], Request]


@dataclass(frozen=True)
class ColumnFigure:
    """What a reader may want to know of a column, by the label of its draw.

    Where the budget can't carry all figures, those of the highest `rank` are left out first. `least_epsilon(rows)` is
    the ε of the draw from which on a column of so many rows gets a good answer.
    """

    name: str
    rank: int
    draw: str
    least_epsilon: Callable[[int], float]


@dataclass(frozen=True)
class Card:
    """The declaration of a card: columns of these `kinds` have these `figures`, read off these `draws`, in their order.

    - `numeric`: whether it is about numbers, times or durations, which have a median.
    - `skip_reason(part)`: why nothing is released; "" where something is.
    - `run(part, make)`: the figures. `make(draw, released)` makes one draw, which is paid for.
    - `overview(column)`: its cells in the table of all columns, by their heads; {} where it has no line there.
    - `details(column, style, unit)`: lines of text below a heading of its own; [] where it has none.
    - `view(anchor, column, unit)`: what the page shows.
    """

    name: str
    kinds: tuple[str, ...]
    numeric: bool
    figures: tuple[ColumnFigure, ...]
    draws: tuple[ColumnDraw, ...]
    skip_reason: Callable[[Part], str]
    run: Callable[[Part, Callable[[ColumnDraw, Quantiles], Figure]], ColumnProfile]
    overview: Callable[[ColumnProfile], dict[str, str]]
    details: Callable[[ColumnProfile, TextStyle, str], list[str]]
    view: Callable[[str, ColumnProfile, str], CardView]


@dataclass(frozen=True)
class Part:
    """What is asked of one column: its figures, and `unit`, the ε of a draw of weight 1.

    `refusals` are draws that public numbers refuse: they are not made, and what they would cost goes to the others.
    `people` says whether people are the unit, `rows` is their number, or that of rows, where it is public, and
    `measure` is the unit of measurement, such as "years". `narrowed` says whether the session has conditions.
    """

    name: str
    kind: str
    card: Card
    share: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    plausible: tuple[Any, Any] | None = None
    figures: tuple[str, ...] = ()
    unit: Fraction = Fraction(0)
    refusals: Mapping[str, NoReply] = field(default_factory=dict, hash=False, compare=False)
    form: Form | None = None
    keys: tuple[Any, ...] = ()
    people: bool = False
    rows: int | None = None
    measure: str = ""
    narrowed: bool = False

    @property
    def alike(self) -> tuple[Any, ...]:
        """What decides, together with the unit, what its draws do to the data."""
        return self.card.name, self.share, self.delta, self.figures, tuple(self.refusals)

    @property
    def skip_reason(self) -> str:
        return self.card.skip_reason(self)

    @property
    def possible_figures(self) -> tuple[str, ...]:
        """The figures that it can have."""
        return () if self.skip_reason else tuple(figure.name for figure in self.card.figures)

    @property
    def draws(self) -> tuple[ColumnDraw, ...]:
        """Its releases, in the order in which they are made."""
        needed = {figure.draw for figure in self.card.figures if figure.name in self.figures}
        return tuple(draw for draw in self.card.draws if draw.label in needed)

    @property
    def accepted(self) -> tuple[ColumnDraw, ...]:
        """Those that public numbers do not refuse."""
        return tuple(draw for draw in self.draws if draw.label not in self.refusals)

    def epsilon(self, draw: ColumnDraw) -> Fraction:
        """What a draw may spend."""
        return self.unit * self.share * draw.weight

    def request(self, draw: ColumnDraw, released: Quantiles | None = None) -> Request:
        """The release of a draw, given the quantiles of its column that have been released."""
        return draw.ask(self, self.epsilon(draw), released or {})

    def least_units(self, rows: int) -> dict[str, float]:
        """The unit from which on the budget carries each figure that the column can have, given a number of rows."""
        weights = {draw.label: float(self.share * draw.weight) for draw in self.card.draws}
        figures = () if self.skip_reason else self.card.figures
        return {figure.name: figure.least_epsilon(rows) / weights[figure.draw] for figure in figures}


def _completeness(part: Part, epsilon: Fraction, released: Quantiles) -> Request:
    """The share of rows that have a value, or of people who have one."""
    return Request("completeness", part.name, epsilon=epsilon, **({"per_person": "any"} if part.people else {}))


PRESENT = ColumnFigure("n", 2, "n", lambda rows: 40 / max(rows, 1))  # within 10% of the rows, at 95%
PRESENT_DRAW = ColumnDraw("n", Fraction(1, 8), _completeness)


@dataclass(frozen=True)
class ColumnProfile:
    """What is published about one column.

    `quantiles` are the released ones, by their levels, `releases` what was asked for, each with its cost: figures are
    read off these. `present` is the share of rows, or of people, that have a value.
    """

    part: Part
    figures: tuple[Figure, ...]
    density: Figure | None = None
    quantiles: Quantiles | None = None
    releases: tuple[Figure, ...] = ()
    present: Figure | None = None

    @property
    def scale(self) -> float:
        """How large a difference is, in this column: its released interquartile range."""
        released = self.quantiles or {}
        return released[Fraction(3, 4)] - released[Fraction(1, 4)] if Fraction(1, 4) in released else 0.0

    @property
    def width(self) -> float:
        """How wide the interval of its median is; 0 for times, and where there is none of finite width."""
        ends = self["median"].interval
        wide = float(ends[1] - ends[0]) if ends is not None and all(map(is_number, ends)) else 0.0
        return wide if math.isfinite(wide) else 0.0

    def __repr__(self) -> str:
        return FigureTable.of(self.records(), f"{label(self.part.name)} ({self.part.kind})", []).text()

    def __getitem__(self, label: str) -> Figure:
        return next((figure for figure in self.figures if figure.label == label), Figure(label, None))

    @property
    def all_figures(self) -> tuple[Figure, ...]:
        """The figures, the density among them, and how many rows have a value."""
        figures = self.figures if self.density is None else (*self.figures, self.density)
        return (*figures, *self.numbers)

    @property
    def numbers(self) -> tuple[Figure, ...]:
        """How many rows, or people, have a value, and the share of those that have none.

        Rows that do not meet the conditions of a session count as rows without a value, so there is no such share then.
        """
        if self.present is None or self.present.value is None:
            return ()
        share = self.present.value
        whole = self.present.noise.each if self.part.people else 1
        n = self.present.noise.rows // max(whole, 1)
        off = math.ceil((self.present.noise.law.cutoff(Fraction(1, 40)) - 1) / max(whole, 1))
        count = round(share * n)
        between = max(count - off, 0), min(count + off, n)
        left = tuple(min(max(1 - end / max(n, 1), 0.0), 1.0) for end in reversed(between))
        lost = () if self.part.narrowed else (Figure("missing", 1 - share, (left[0], left[1])),)
        return Figure("n", count, between, self.present.note, self.present.how, self.present.cost), *lost

    @property
    def counts(self) -> Figure | None:
        """Its counts: of a category, or of few integers or times, where they take the place of a density."""
        figure = self.density if self.part.card.numeric else next(iter(self.figures), None)
        return figure if figure is not None and hasattr(figure.value, "items") else None

    @property
    def answered(self) -> bool:
        """Whether a reader learns anything about it: not from counts of no category."""
        figures = self.figures if self.counts is None else (*self.figures, self.counts)
        values = [figure.value for figure in figures if figure.value is not None]
        return not self.part.skip_reason and any(not hasattr(value, "items") or len(value) > 0 for value in values)

    @property
    def silence_reason(self) -> str:
        """What would help where it is not answered."""
        rows, ends = self.part.rows or 0, self.numbers[0].interval if self.numbers else None
        if ends is not None and not self.part.narrowed and 2 * ends[1] < rows:
            most = f"At most {ends[1]:,} of {rows:,} rows have a value of the type {self.part.kind}."
            return f"{most} If you expect more, declare another type (--type)."
        note = next((figure.note for figure in self.figures), "")
        if self.counts is not None:
            note = f"{note} To count all categories, list them in the schema (levels).".strip()
        return self.part.skip_reason or note or "Not computed at this budget."

    def to_dict(self) -> dict[str, Any]:
        figures = [figure.to_dict() for figure in self.all_figures]
        bill = [
            {"label": one.label, "how": one.how, "privacy": one.cost and one.cost.to_dict()} for one in self.releases
        ]
        own = {"name": self.part.name, "kind": self.part.kind, "skipped": self.part.skip_reason}
        return {**own, "figures": figures, "releases": bill}

    def records(self) -> list[Record]:
        """A line per number. Curves of densities are left out."""
        return [line for figure in self.all_figures for line in figure.records(self.part.name)]


# -------------------------------------------------------------------------------------------------------- on the page

KIND_WORDS = {
    "integer": "whole numbers", "number": "numbers", "text": "categories", "any": "categories",
    "boolean": "true or false", "time": "dates and times", "duration": "durations",
}  # fmt: skip

DESKTOP = ((4, 14), (3, 20), (2, 31))
PHONE = ((3, 14), (2, 22))
"""How many figures fit side by side in a card, if none has more letters than so many."""


class FigureLine(NamedTuple):
    """A figure of a card: what it is, its value and its interval in words; no value, and what would help, for ⊥."""

    label: str
    value: str
    interval: str = ""
    note: str = ""

    @property
    def letters(self) -> int:
        return max(len(self.label), len(self.value), len(self.interval)) if self.value else 99


def side_by_side(lines: list[FigureLine], room: tuple[tuple[int, int], ...]) -> int:
    """How many figures stand side by side: as many as fit, and so that none is alone in the last line if that can be.

    >>> short = FigureLine("median", "1")
    >>> [side_by_side([short] * k, DESKTOP) for k in (1, 3, 4, 5, 7, 9)], side_by_side([short] * 7, PHONE)
    ([1, 3, 4, 3, 4, 3], 3)
    >>> side_by_side([short] * 6, DESKTOP)
    3
    """
    longest = max((line.letters for line in lines), default=0)
    fitting = [many for many, letters in room if longest <= letters and many <= len(lines)] or [1]
    whole = [many for many in fitting if len(lines) % many == 0 and many > 1]
    return next((many for many in (*whole, *fitting) if len(lines) % many != 1 or many == 1), fitting[0])


class CardView(NamedTuple):
    """What the page shows of a column: figures, and the picture that fits its kind."""

    anchor: str
    column: ColumnProfile
    figures: list[FigureLine]
    picture: Markup | None = None
    bars: list[Bar] | None = None
    note: str = ""
    counted: bool = False
    """Whether the picture is of the bars."""

    @property
    def across(self) -> int:
        """How many figures stand side by side."""
        return side_by_side(self.figures, DESKTOP)

    @property
    def across_phone(self) -> int:
        return side_by_side(self.figures, PHONE)

    @property
    def lead(self) -> str:
        """Classes of the first figure: it has a line of its own where the last one would be alone in its line."""
        alone = {"lead": self.across, "lead-phone": self.across_phone}
        return " ".join(name for name, many in alone.items() if many > 1 and len(self.figures) % many == 1)

    @property
    def size(self) -> str:
        """How many rows, or people, have a value, and how many have none."""
        return size_text(self.column.numbers)

    @property
    def kind(self) -> str:
        form, kind = self.column.part.form, self.column.part.kind
        return "times, UTC" if form is not None and form.word == "utc" else KIND_WORDS.get(kind, kind)


def size_words(numbers: Sequence[Figure]) -> tuple[str, str]:
    """How many rows have a value, and the share of those that have none, in words; "" where that is not known.

    A number that may be that of all rows is given by its lower end, and the share by its upper one.
    """
    if not numbers:
        return "", ""
    n, *lost = numbers
    low, high = n.interval or (n.value, n.value)
    error = max(high - n.value, n.value - low)
    if not lost:
        return f"{n.value:,} ± {error:,}" if error else f"{n.value:,}", ""
    ends = lost[0].interval or (lost[0].value,) * 2
    if ends[0] <= 0:
        return f"≥ {low:,}", f"≤ {percent(ends[1], ends, math.ceil)}"
    return f"{n.value:,} ± {error:,}", f"{percent(lost[0].value, ends)} ({percent_interval(ends)})"


def size_text(numbers: Sequence[Figure]) -> str:
    """The same as one text; "" without any numbers."""
    n, missing = size_words(numbers)
    if not n:
        return ""
    rest = missing.replace("≤", "at most").replace("% (", "% missing (")
    rest += "" if "missing" in rest or not rest else " missing"
    return f"n {'' if n.startswith('≥') else '= '}{n}, {rest or 'where the conditions are met'}"


def percent(share: float, ends: tuple[float, float] | None = None, rounded: Callable[[float], int] = round) -> str:
    """A share as a percentage, with the digits that its interval supports: two of the interval's half width at most.

    >>> percent(0.12345, (0.12, 0.127)), percent(0.12345, (0.1, 0.2)), percent(0.5), percent(0.0, (0.0, 0.001))
    ('12.3%', '12%', '50%', '0.0%')
    """
    wide = 1.0 if ends is None else 100 * (ends[1] - ends[0])
    digits = 0 if wide >= 2 or ends is None else 1 if wide >= 0.02 else 2
    return f"{rounded(100 * share * 10**digits) / 10**digits:.{digits}f}%"


def percent_interval(ends: tuple[float, float]) -> str:
    """An interval of shares as percentages, rounded outward.

    >>> percent_interval((0.1249, 0.151)), percent_interval((0.0, 0.0))
    ('12% to 16%', '0.00% to 0.00%')
    """
    low, high = percent(ends[0], ends, math.floor), percent(ends[1], ends, math.ceil)
    return f"{low} to {high}"
