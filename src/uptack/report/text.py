"""A profile as tables of text: Markdown, and the same for a terminal. Cells are padded, so both are easy to read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from uptack.labels import label, markdown, unmarked
from uptack.privacy.explanation import promise
from uptack.report.cards import RANGE, Figure
from uptack.report.profile import ColumnProfile, Profile
from uptack.report.writing import (
    answered,
    bars,
    between,
    coefficients,
    counted,
    grouped,
    integer_bars,
    ordered,
    sentence,
    short,
    summary,
)
from uptack.shown.numbers import number

Cell = Callable[[object], str]
"""How a name is written."""

RANGES = {
    "quartiles": ("lower quartile", "upper quartile"),
    "5% to 95%": ("5% quantile", "95% quantile"),
    "IQR": (RANGE,),
    "trimmed mean": ("trimmed mean",),
}
"""Columns of the table of numbers beside the median: what each is made of."""

MARGIN = 3
"""A list of categories is cut off where it leaves out more than so many."""


def to_markdown(profile: Profile) -> str:
    """The whole report as Markdown: names are text in it, and never marks."""
    return "\n".join([*_figures(profile, markdown, True), *_bill(profile, markdown)])


def to_text(profile: Profile, bill: bool = False, most: int | None = None) -> str:
    """The same for a terminal, with or without what each figure cost; of categories those with `most` rows."""
    return "\n".join([*_figures(profile, label, False, most), *(_bill(profile, label) if bill else [])])


def _figures(profile: Profile, cell: Cell, whole: bool, most: int | None = None) -> list[str]:
    whose = f"{_prose(profile.whose, cell)} {promise(profile.spent)}".strip()
    lines = [f"# Private profile of {cell(profile.title)}", "", whose, ""]
    lines += [" · ".join(summary(profile)), ""]
    lines += [line for hint in profile.hints for line in (_prose(hint, cell), "")]
    if not profile.private:
        lines += ["**Not private**: the noise was drawn from a seeded source, for tests.", ""]
    lines += _numbers([c for c in profile.columns if c.part.numeric and answered(c)], cell)
    for column in profile.columns:
        figure = counted(column) if column.part.numeric else column.figures[0] if answered(column) else None
        if figure is not None and (whole or not column.part.numeric):
            lines += [f"## {cell(column.part.name)}", "", *_counts(column, figure, cell, profile.unit, most), ""]
    lines += _silent([column for column in profile.columns if not answered(column)], cell)
    if profile.regression is not None:
        target = cell(profile.regression[0][0])
        lines += [f"## Regression of {target}", "", *_regression_lines(profile.regression, cell), ""]
    if profile.correlations is not None:
        lines += ["## Correlations", "", *_correlation_lines(profile.correlations[1], cell, most), ""]
    return lines


def _prose(text: str, cell: Cell) -> str:
    """A sentence that may have names in it."""
    return unmarked(text) if cell is markdown else text


def padded(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """A table of Markdown that lines up as text, too. But for `left` columns, cells are at the right.

    >>> print(*padded(["ward", "rows"], [["north", "12"]]), sep="\\n")
    | ward  | rows |
    |-------|-----:|
    | north |   12 |
    """
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = (
            text.ljust(w) if i < left else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths, strict=True))
        )
        return f"| {' | '.join(cells)} |"

    rule = ("-" * (w + 2) if i < left else "-" * (w + 1) + ":" for i, w in enumerate(widths))
    return [line(head), f"|{'|'.join(rule)}|", *map(line, rows)]


def _numbers(columns: list[ColumnProfile], cell: Cell) -> list[str]:
    """All columns of numbers and times in one table: a line each, and no column of it that is empty."""
    heads = ["median", "95% interval", *RANGES]
    rows = [[_median(column), _interval(column), *(_range(column, of) for of in RANGES.values())] for column in columns]
    kept = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    table = [[cell(c.part.name), *(row[i] for i in kept)] for c, row in zip(columns, rows, strict=True)]
    return [*padded(["column", *(heads[i] for i in kept)], table), ""] if table else []


def _median(column: ColumnProfile) -> str:
    return _said(column["median"], column.scale)


def _interval(column: ColumnProfile) -> str:
    ends = column["median"].interval
    return "" if ends is None else between(ends, column.scale)


def _range(column: ColumnProfile, labels: Sequence[str]) -> str:
    """One figure, or from one to another; nothing where they were not asked for."""
    asked = [figure for figure in column.figures if figure.label in labels]
    said = [_said(figure, column.scale) for figure in asked]
    return said[0] if said and (len(said) == 1 or "⊥" in said) else " to ".join(said)


def _said(figure: Figure, scale: float) -> str:
    return "⊥" if figure.value is None else number(figure.value, scale)


def _counts(column: ColumnProfile, figure: Figure, cell: Cell, unit: str, most: int | None) -> list[str]:
    shown = integer_bars(figure) if column.part.numeric else bars(figure)
    note = [_prose(sentence(figure.note), cell)] if figure.note else []
    names = ordered(shown) if column.part.numeric else [cell(bar.name) for bar in shown]
    rows = [
        [name, f"{max(bar.rows, 0):,}", f"{bar.error:,}" if bar.error else ""]
        for name, bar in zip(names, shown, strict=True)
    ]
    listed, more = _cut(rows, most)
    table = padded(["value" if column.part.numeric else "category", unit, "±"], listed)
    said = [line for line in (more, *note) if line]
    return [*table, *([""] if said else []), *said]


def _silent(columns: list[ColumnProfile], cell: Cell) -> list[str]:
    """The columns without an answer, together by what would help."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        note = column.part.skipped or next((figure.note for figure in column.figures), "")
        groups.setdefault(note, []).append(cell(column.part.name))
    lines = [f"- ⊥ {', '.join(names)}: {_prose(note, cell)}" for note, names in groups.items()]
    return ["## Without an answer", "", *lines, ""] if lines else []


def _bill(profile: Profile, cell: Cell) -> list[str]:
    table = [
        [
            one.charge.label,
            one.names(cell),
            one.charge.how,
            *map(short, (one.charge.cost.epsilon, one.charge.cost.delta)),
        ]
        for one in grouped(profile)
    ]
    bill = padded(["figure", "of", "how", "ε each", "δ each"], table, left=3)
    return ["## What each figure cost", "", *bill, "", sentence(profile.spent.explain().partition(": ")[2]), ""]


def _regression_lines(regression: tuple[tuple[str, ...], Figure], cell: Cell) -> list[str]:
    if regression[1].value is None:
        return [f"⊥ ({_prose(regression[1].note, cell)})"]
    rows = [
        [cell(row.name), number(row.value, row.scale), "" if row.ends is None else between(row.ends, row.scale)]
        for row in coefficients(regression)
    ]
    note = [_prose(sentence(regression[1].note), cell)] if regression[1].note else []
    return [*padded(["coefficient", "value", "95% interval"], rows), *([""] if note else []), *note]


def _correlation_lines(figure: Figure, cell: Cell, most: int | None) -> list[str]:
    """The largest first: of many pairs these are read."""
    if figure.value is None:
        return [f"⊥ ({_prose(figure.note, cell)})"]
    names, values, ends = figure.value.names, figure.value.values, figure.interval
    pairs = sorted(itertools.combinations(range(len(names)), 2), key=lambda pair: -abs(float(values[pair])))
    rows = [
        [cell(names[i]), cell(names[j]), f"{values[i, j]:.2f}"]
        + ([] if ends is None else [f"{ends[0][i][j]:.2f} to {ends[1][i][j]:.2f}"])
        for i, j in pairs
    ]
    shown, more = _cut(rows, most)
    head = ["column", "column", "correlation", *([] if ends is None else ["95% interval"])]
    return [*padded(head, shown, left=2), *(["", more] if more else [])]


def _cut(rows: list[list[str]], most: int | None) -> tuple[list[list[str]], str]:
    """The first lines of a table, and how many more there are."""
    if most is None or len(rows) <= most + MARGIN:
        return rows, ""
    return rows[:most], f"and {len(rows) - most:,} more"
