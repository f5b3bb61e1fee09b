"""An answer as a page shows it: its table, its picture, its files, and the same request in Python.

Pictures are those of the report (`uptack.report.pictures`). Whatever is shown is released, or public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from markupsafe import Markup

from uptack.display import FigureTable, PlottedValue
from uptack.display.numbers import is_number, number
from uptack.display.tabular import columns as as_columns
from uptack.display.tabular import csv_text
from uptack.kernels.curves import FourierDensity
from uptack.labels import label
from uptack.release import NoReply
from uptack.report.pictures import columns_picture, density_picture, line_picture, rows_picture
from uptack.report.text import sentence
from uptack.wire.requests import as_tuple
from uptack.wire.stored_report import StoredReport

MOST_LINES = 60
"""Lines of an answer that a page shows; all of them are in the CSV file."""
MOST_ROWS, MOST_POINTS = 40, 240
"""Values in one picture, and points of a curve."""
MOST_NOTES = 4
"""Different notes on lines that are shown below a table. If there are more, they stay in a column."""
PREVIEW = 8
"""Synthetic rows that a page shows."""


@dataclass(frozen=True)
class AnswerView:
    """What a page shows of an answer. `page` is the HTML of a report, and empty for others."""

    table: FigureTable
    replied: bool
    picture: Markup | None
    notes: tuple[str, ...]
    private: bool
    page: str
    synthetic: bool
    folded: bool


def view(made: Any, title: str) -> AnswerView:
    """The view of an answer; `title` is the request in words."""
    made = as_curve(made)
    report, rows = isinstance(made, StoredReport), hasattr(getattr(made, "value", None), "to_arrow")
    table, beside = split_notes(synthetic_table(made.value) if rows else made.table())
    counted = (str(made.rows),) if getattr(made, "rows", None) is not None else ()
    said = (*beside, *getattr(made, "notes", ()), *counted)
    notes = tuple(made.value.summary().splitlines()) if rows else (made.reason,) if isinstance(made, NoReply) else said
    return AnswerView(
        table=table,
        replied=not isinstance(made, NoReply),
        picture=None if report or rows else picture(made, title),
        notes=() if report else notes if rows else tuple(map(sentence, notes)),  # a summary has sentences, and names
        private=made.private,
        page=made.to_html() if report else "",
        synthetic=rows,
        folded=hasattr(getattr(made, "value", None), "points"),
    )


def split_notes(table: FigureTable) -> tuple[FigureTable, tuple[str, ...]]:
    """A table without its column of notes, and each note once with the lines that it is about.

    >>> lines = ("a", "1", ""), ("b", "⊥", "too few"), ("c", "⊥", "too few")
    >>> table = FigureTable("", ("group", "value", "note"), lines)
    >>> split_notes(table)[0].lines, split_notes(table)[1]
    ((('a', '1'), ('b', '⊥'), ('c', '⊥')), ('For b, c: too few',))
    """
    if "value" not in table.head or table.head[-1] != "note":
        return table, ()
    named, about = table.head.index("value"), dict[str, list[str]]()
    for line in table.lines:
        about.setdefault(line[-1], []).append(", ".join(line[:named]))
    about.pop("", None)
    if len(about) > MOST_NOTES:
        return table, ()
    every = len(table.lines)
    notes = tuple(note if len(names) == every else f"For {', '.join(names)}: {note}" for note, names in about.items())
    return replace(table, head=table.head[:-1], lines=tuple(line[:-1] for line in table.lines)), notes


def as_curve(made: Any) -> Any:
    """A released series of one column as the curve that it is; other answers unchanged."""
    value = getattr(made, "value", None)
    if isinstance(value, FourierDensity) and value.dimension == 1:
        return replace(made, value=value.curve, noise=None)
    return made


def synthetic_table(value: Any) -> FigureTable:
    """The first synthetic rows."""
    held = value.to_arrow().slice(0, PREVIEW).to_pydict()
    cells = tuple(tuple(label(one) for one in row) for row in zip(*held.values(), strict=True))
    right = frozenset(i for i, name in enumerate(held) if value.kinds[name] in ("integer", "number"))
    return FigureTable(f"The first {len(cells)} of {len(value):,} synthetic rows", tuple(held), cells, (), right)


def picture(made: Any, title: str) -> Markup | None:
    """The picture of an answer, where it has one: a curve, counts, one number per group, or quantiles.

    None also where no axis can show the numbers: too large, or the same but for their last digits.
    """
    try:
        return _picture(made, title)
    except (ArithmeticError, ValueError):
        return None


def _picture(made: Any, title: str) -> Markup | None:
    value: Any = getattr(made, "value", None)
    if hasattr(value, "points") and np.ndim(value.points) == 1:
        step = max(1, len(value.points) // MOST_POINTS)
        return density_picture(value.points[::step].tolist(), value.values[::step].tolist(), title=title)
    if hasattr(value, "knots") and len(value.knots) > 1:
        step = max(1, len(value.knots) // MOST_POINTS)
        shown = value.knots[::step].tolist(), value.shares[::step].tolist()
        return line_picture(*shown, title=title, unit="share of rows", dots=False)
    quantiles = isinstance(value, np.ndarray) and value.ndim == 1 and all(map(is_number, made.labels or ("",)))
    return _rows(made, title) if isinstance(value, PlottedValue) or quantiles else None


def _rows(made: Any, title: str) -> Markup | None:
    """One number per line."""
    lines = made.records()
    numbers = all(one["value"] is None or is_number(one["value"]) for one in lines)
    names = [", ".join(label(v) for k, v in one.items() if k not in APART) for one in lines]
    silent = all(one["value"] is None for one in lines)
    if silent or not 2 <= len(lines) <= MOST_ROWS or not numbers or len(set(names)) < len(names):
        return None
    pairs = [None if one["low"] is None else (one["low"], one["high"]) for one in lines]
    ends = [p if p is not None and all(is_number(e) for e in p) else None for p in pairs]
    if any(p is not None and not np.isfinite(p).all() for p in ends):  # a dot without its interval would look exact
        return None
    counts = hasattr(made.value, "counts")
    if counts and made.value.of_edges:
        errors = [0.0 if p is None else (p[1] - p[0]) / 2 for p in ends]
        heights = [float(one["value"] or 0) for one in lines]
        return columns_picture([number(one["from"]) for one in lines], heights, errors, title=title, unit="count")
    return rows_picture(names, [one["value"] for one in lines], ends, title=title, bars=counts)


APART = ("value", "low", "high", "epsilon", "delta", "note", "standard_error")
"""What a line of an answer holds beside what it is of."""


def as_csv(made: Any) -> str:
    """All lines of an answer, or all synthetic rows, as CSV."""
    made = as_curve(made)
    rows = hasattr(getattr(made, "value", None), "to_arrow")
    columns: Mapping[str, Sequence[Any]] = made.value.to_arrow().to_pydict() if rows else as_columns(made.records())
    return csv_text(columns, zip(*columns.values(), strict=True))


def in_python(url: str, dataset: str, statistic: str, body: Mapping[str, Any]) -> str:
    """The same request in Python."""
    lines = ["import uptack as ut", "", f"session = ut.connect({url!r}, token='...', dataset={dataset!r})"]
    for one in body.get("where", ()):
        written = {k: as_tuple(v) for k, v in one.items()} if isinstance(one, Mapping) else one
        lines.append(f"session = session.where({written!r})")
    options = {name: _python(value) for name, value in body["options"].items()}
    words = [*map(repr, body.get("columns", ())), *(f"{name}={value!r}" for name, value in options.items())]
    return "\n".join([*lines, f"session.{statistic}({', '.join(words)})"])


def _python(value: Any) -> Any:
    """An option as Python has it: a group of several columns is a tuple."""
    return [as_tuple(one) for one in value] if isinstance(value, list) else value


def error_picture(curve: Sequence[tuple[float, float | None]], epsilon: float) -> Markup | None:
    """Half the width of an interval over ε, with the ε that was asked for; None where there is no interval at all."""
    if len(curve) < 3 or not any(error is not None for _, error in curve):
        return None
    title = "Half the width of a 95% interval, on made-up rows, by ε"
    return line_picture(
        [e for e, _ in curve], [w for _, w in curve], title=title, unit="± (95%), made-up rows", axis_title="ε",
        mark=epsilon,
    )  # fmt: skip
