"""A profile as tables of text: Markdown, and the same for a terminal."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from uptack.labels import label, markdown
from uptack.report.cards import Figure
from uptack.report.profile import ColumnProfile, Profile
from uptack.report.writing import Coefficient, bars, between, charges, coefficients, short
from uptack.shown.numbers import number

Cell = Callable[[object], str]
"""How a name is written."""


def to_markdown(profile: Profile) -> str:
    """The whole report as Markdown: names are text in it, and never marks."""
    return "\n".join([*_figures(profile, markdown), *_bill(profile, markdown)])


def to_text(profile: Profile, bill: bool = False) -> str:
    """The same for a terminal, with or without what each figure cost."""
    return "\n".join([*_figures(profile, label), *(_bill(profile, label) if bill else [])])


def _figures(profile: Profile, cell: Cell) -> list[str]:
    rows = "a secret number of" if profile.rows is None else f"{profile.rows:,}"
    lines = [f"# Private profile of {cell(profile.title)}", "", f"{rows} {profile.unit}; spent: {profile.spent}", ""]
    lines += [profile.whose, ""] if profile.whose else []
    lines += [line for hint in profile.hints for line in (hint, "")]
    if not profile.private:
        lines += ["**Not private**: the noise was drawn from a seeded source, for tests.", ""]
    for column in profile.columns:
        lines += [f"## {cell(column.part.name)}", "", *_column_lines(column, cell, profile.unit), ""]
    if profile.regression is not None:
        target = cell(profile.regression[0][0])
        lines += [f"## Regression of {target}", "", *_regression_lines(profile.regression, cell), ""]
    if profile.correlations is not None:
        lines += ["## Correlations", "", *_correlation_lines(profile.correlations[1], cell), ""]
    return lines


def _bill(profile: Profile, cell: Cell) -> list[str]:
    head = ["## What each figure cost", "", "| column | figure | how | ε | δ |", "|---|---|---|---:|---:|"]
    table = [
        f"| {cell(c.column)} | {c.label} | {c.how} | {short(c.cost.epsilon)} | {short(c.cost.delta)} |"
        for c in charges(profile)
    ]
    return [*head, *table, "", profile.spent.explain().replace("\n", " "), ""]


def _column_lines(column: ColumnProfile, cell: Cell, unit: str) -> list[str]:
    if column.part.skipped:
        return [column.part.skipped]
    if column.part.numeric:
        head = ["| figure | value | 95% interval |", "|---|---:|---:|"]
        return head + [_figure_line(figure, column.scale) for figure in column.figures]
    figure = column.figures[0]
    if figure.value is None:
        return [f"⊥ ({figure.note})"]
    head = [f"| category | {unit} | ± |", "|---|---:|---:|"]
    return head + [f"| {cell(bar.name)} | {bar.rows:,} | {bar.error or ''} |" for bar in bars(figure)]


def _figure_line(figure: Figure, scale: float) -> str:
    if figure.value is None:
        return f"| {figure.label} | ⊥ | {figure.note} |"
    ends = "" if figure.interval is None else between(figure.interval, scale)
    return f"| {figure.label} | {number(figure.value, scale)} | {ends} |"


def _regression_lines(regression: tuple[tuple[str, ...], Figure], cell: Cell) -> list[str]:
    if regression[1].value is None:
        return [f"⊥ ({regression[1].note})"]
    head = ["| coefficient | value | 95% interval |", "|---|---:|---:|"]
    return head + [
        f"| {cell(row.name)} | {number(row.value, row.scale)} | {_between(row)} |" for row in coefficients(regression)
    ]


def _correlation_lines(figure: Figure, cell: Cell) -> list[str]:
    if figure.value is None:
        return [f"⊥ ({figure.note})"]
    names, values = figure.value.names, figure.value.values
    pairs = itertools.combinations(range(len(names)), 2)
    head = ["| column | column | correlation |", "|---|---|---:|"]
    return head + [f"| {cell(names[i])} | {cell(names[j])} | {values[i, j]:.2f} |" for i, j in pairs]


def _between(row: Coefficient) -> str:
    return "" if row.ends is None else between(row.ends, row.scale)
