"""Answers as records of one figure each, and as text, HTML, Markdown and data frames."""

from __future__ import annotations

import csv
import datetime as dt
import html
import importlib
import io
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from uptack.display.numbers import figure_text, is_number, json_value, plain
from uptack.errors import UptackError
from uptack.labels import escape_formulas, label, printable

Record: TypeAlias = dict[str, Any]
"""One figure: its name, then `value`, `low` and `high`, then its cost and a note. None is for a missing entry."""

Ends: TypeAlias = tuple[Any, Any] | None
"""The ends of an interval, in the same form as the value."""

NUMBERS = ("value", "low", "high", "epsilon", "delta")
"""Columns of numbers, even if all are missing."""

KEPT = (*NUMBERS, "note", "margin", "group")
"""Reserved names of columns."""

LARGEST = 1 << 63


def line(names: Record, value: Any, low: Any = None, high: Any = None) -> Record:
    """A figure with its name.

    >>> line({"group": "a"}, 3.5, 3, 4)
    {'group': 'a', 'value': 3.5, 'low': 3, 'high': 4}
    """
    return {**names, "value": plain(value), "low": plain(low), "high": plain(high)}


def unreserved_names(columns: Record) -> Record:
    """Names of columns from the data beside reserved ones: a name that is taken gets an underscore.

    >>> unreserved_names({"age": 3, "value": 4, "value_": 5})
    {'age': 3, 'value__': 4, 'value_': 5}
    """
    made: Record = {}
    for name, value in columns.items():
        free = name
        while free in KEPT or (free != name and free in columns):
            free = f"{free}_"
        made[free] = value
    return made


def of_value(value: Any, ends: Ends = None, labels: Sequence[Any] = ()) -> list[Record]:
    """One record per figure of a released value, with the ends of its intervals.

    A value with several figures lists them itself (`figures`). The entries of a vector are named by `labels`, or
    numbered.

    >>> of_value(np.array([2.0, 5.0]), ([1, 4], [3, 6]), [0.25, 0.75])[1]
    {'figure': 0.75, 'value': 5.0, 'low': 4, 'high': 6}
    """
    if hasattr(value, "figures"):
        made: list[Record] = value.figures(ends)
        return made
    low: Any
    high: Any
    low, high = (None, None) if ends is None else ends
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return [line({}, value, *((low, high) if np.ndim(low) == np.ndim(high) == 0 else ()))]
    places = list(np.ndindex(value.shape))
    if value.ndim == 1:
        named = list(labels) if len(labels) == value.size else range(value.size)
        names = [{"figure": name} for name in named]
    else:
        names = [{f"axis {i}": j for i, j in enumerate(place)} for place in places]
    bounds = [np.broadcast_to(np.asarray(end, object), value.shape) for end in (low, high)]
    return [line(name, value[at], *(end[at] for end in bounds)) for name, at in zip(names, places, strict=True)]


# --------------------------------------------------------------------------------------------------------- data frames


def columns(records: Sequence[Record]) -> dict[str, list[Any]]:
    """The records as columns that every library of data frames can hold: one type each, and valid Unicode.

    Values of one type stay as they are, integers among floats are floats, any others are labels.
    """

    def of_one_type(values: list[Any]) -> list[Any]:
        kinds = {type(value) for value in values if value is not None}
        if kinds <= {int, float} and not (kinds == {int} and all(v is None or abs(v) < LARGEST for v in values)):
            return [None if value is None else float(value) for value in values]
        if len(kinds) > 1 or not kinds <= {bool, int, str, dt.date, dt.datetime, dt.timedelta, dt.time}:
            values = [None if value is None else label(value) for value in values]
        return [v.encode("utf-8", "backslashreplace").decode() if isinstance(v, str) else v for v in values]

    names = dict.fromkeys(name for record in sorted(records, key=len, reverse=True) for name in record)
    return {name: of_one_type([plain(record.get(name)) for record in records]) for name in names}


def data_frame(records: Sequence[Record], package: str) -> Any:
    """The records as a data frame of "pandas" or "polars". Columns of numbers are floats, even if all are missing."""
    try:
        frames = importlib.import_module(package)
    except ImportError as missing:
        raise UptackError(f'a table of {package} needs {package}: pip install "uptack[frames]"') from missing
    values = columns(records)
    empty = [name for name in NUMBERS if name in values and all(v is None for v in values[name])]
    if package == "pandas":
        return frames.DataFrame(values).astype(dict.fromkeys(empty, np.float64))
    return frames.DataFrame(values, schema_overrides=dict.fromkeys(empty, frames.Float64))


# ----------------------------------------------------------------------------------------------------------- CSV files


def csv_text(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A CSV file: numbers exactly, nothing for what is missing, and no text that is a formula or two lines.

    >>> csv_text(["name", "value"], [["=1+1", 0.1], ["a\\nb", None], [7, "-"]])
    "name,value\\n'=1+1,0.1\\na\\\\nb,\\n7,'-\\n"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_csv_cell(one) for one in row] for row in (head, *rows))
    return text.getvalue()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, str):
        return escape_formulas(printable(value))
    return float(value) if isinstance(value, float) else value


# ------------------------------------------------------------------------------------------------------- tables of text


def pad_cells(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[list[str]]:
    """The cells of a table, each as wide as its column. Those of the columns in `right` are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        [cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        for row in rows
    ]


def align_lines(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """One line per row, with two spaces between columns.

    >>> print(*align_lines([["ward", "rows"], ["north", "12"]], right={1}), sep="\\n")
    ward   rows
    north    12
    """
    return ["  ".join(cells).rstrip() for cells in pad_cells(rows, right)]


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """A table of Markdown that lines up as text, too. All columns but the first `left` are right-aligned.

    >>> print(*markdown_table(["ward", "rows"], [["north", "12"]]), sep="\\n")
    | ward  | rows |
    |-------|-----:|
    | north |   12 |
    """
    cells = pad_cells([head, *rows], right=range(left, len(head)))
    rule = ("-" * (len(cell) + 2) if i < left else "-" * (len(cell) + 1) + ":" for i, cell in enumerate(cells[0]))
    first, *others = (f"| {' | '.join(line)} |" for line in cells)
    return [first, f"|{'|'.join(rule)}|", *others]


# ---------------------------------------------------------------------------------------------------- tables for people

STAMP = "NOT PRIVATE: seeded randomness"
TEXT_LINES, HTML_LINES = 12, 60
"""How many lines are shown. A last line says how many more there are."""

_APART = ("value", "low", "high", "epsilon", "delta", "note")
_LEFT = "border:0;border-bottom:1px solid currentColor;padding:.1em .7em;text-align:left"
_RIGHT = _LEFT.replace("left", "right")
_WHOLE = "border-collapse:collapse;color:inherit;background:transparent;font-variant-numeric:tabular-nums"
_NOTE = "margin:.3em 0;color:inherit"


@dataclass(frozen=True)
class FigureTable:
    """A title, a head, cells of text, and notes below. `right` are the columns of numbers.

    Cells are shown as plain text: they are made printable, and escaped.

    >>> print(FigureTable("a title", ("", "value"), (("<b>", "1"), ("x", "20")), ("a note",), frozenset({1})).text())
    a title
         value
    <b>      1
    x       20
    a note
    """

    title: str
    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    right: frozenset[int] = frozenset()
    private: bool = True

    @staticmethod
    def of(
        records: Sequence[Record], title: str, notes: Sequence[str] = (), *, percent: str = "95%", private: bool = True
    ) -> FigureTable:
        """Figures with their intervals. The notes have the joint cost."""
        names = list(dict.fromkeys(name for record in records for name in record if name not in _APART))
        heads, numeric = [*names, "value"], {i for i, name in enumerate(names) if _numbers(records, name)}
        with_ends = any(record.get("low") is not None for record in records)
        with_notes = any(record.get("note") for record in records)
        lines = []
        for one in records:
            ends = plain(one.get("low")), plain(one.get("high"))
            value, interval = figure_text(one.get("value"), *ends)
            cells = [*(_cell(one[name], name) if name in one else "" for name in names), value]
            cells += [interval] if with_ends else []
            lines.append((*cells, *([str(one.get("note") or "")] if with_notes else [])))
        heads += [f"{percent} interval"] if with_ends else []
        right = frozenset(numeric | (set(range(len(names), len(heads))) if _numbers(records, "value") else set()))
        return FigureTable(
            title, (*heads, *(["note"] if with_notes else [])), tuple(lines), tuple(notes), right, private
        )

    def text(self, limit: int = TEXT_LINES) -> str:
        """Aligned lines, at most `limit` of them."""
        lines = [tuple(map(printable, cells)) for cells in (self.head, *self.lines[:limit])]
        below = [*self._more(limit), *self.notes, *([] if self.private else [STAMP])]
        return "\n".join([printable(self.title), *align_lines(lines, self.right), *map(printable, below)])

    def html(self) -> str:
        """A table of HTML in the colours of the page around it."""
        head = self._row(self.head, "th")
        body = "".join(self._row(cells, "td") for cells in self.lines[:HTML_LINES])
        stamp = "" if self.private else f'<p style="{_NOTE}"><strong>{STAMP}</strong></p>'
        below = "".join(
            f'<p style="{_NOTE}"><small>{_safe(t)}</small></p>' for t in (*self._more(HTML_LINES), *self.notes)
        )
        caption = f'<caption style="text-align:left;color:inherit"><strong>{_safe(self.title)}</strong></caption>'
        table = f'<table style="{_WHOLE}">{caption}<thead>{head}</thead><tbody>{body}</tbody></table>'
        return f'<div class="uptack">{stamp}{table}{below}</div>'

    def _row(self, cells: Sequence[str], tag: str) -> str:
        styles = [_RIGHT if i in self.right else _LEFT for i in range(len(cells))]
        inner = (f'<{tag} style="{s}">{_safe(cell)}</{tag}>' for s, cell in zip(styles, cells, strict=True))
        return f'<tr style="background:transparent">{"".join(inner)}</tr>'

    def _more(self, limit: int) -> list[str]:
        return [f"… and {len(self.lines) - limit:,} more"] if len(self.lines) > limit else []


def _safe(text: str) -> str:
    return html.escape(printable(text))


def _cell(value: object, name: str) -> str:
    """The name of a figure. Numbers in it are not rounded, since they identify the figure; standard errors are."""
    if name == "standard_error" and isinstance(value, float):
        return f"{value:.3g}"
    return label(plain(value))


def _numbers(records: Sequence[Record], name: str) -> bool:
    found = [plain(record.get(name)) for record in records]
    return all(value is None or is_number(value) for value in found)


class Tabular(ABC):
    """An answer of one or more figures. All its forms are made from released values and public numbers."""

    @abstractmethod
    def records(self) -> list[Record]:
        """One record per figure: its name, `value`, `low` and `high`, its cost, and a note."""

    @abstractmethod
    def table(self) -> FigureTable:
        """The same for people."""

    def to_pandas(self) -> Any:
        """The lines of `records` as a data frame of pandas. It needs pandas: `pip install "uptack[frames]"`."""
        return data_frame(self.records(), "pandas")

    def to_polars(self) -> Any:
        """The lines of `records` as a data frame of Polars. It needs Polars: `pip install "uptack[frames]"`."""
        return data_frame(self.records(), "polars")

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.table().html()


class ReleasedValue:
    """A dataclass of released numbers. Its arrays are read-only."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {field.name: json_value(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


class TabularValue(ReleasedValue, Tabular):
    """A released value of several figures. The release around it has their intervals."""

    @abstractmethod
    def figures(self, ends: Ends = None) -> list[Record]:
        """One line per figure, with the ends of its interval."""

    def records(self) -> list[Record]:
        """One line per figure."""
        return self.figures()

    def table(self) -> FigureTable:
        """The same for people."""
        return FigureTable.of(self.figures(), type(self).__name__)


class PlottedValue(TabularValue):
    """A value whose picture shows the intervals of the release around it."""

    @abstractmethod
    def plot(self, ax: Any = None, *, interval: Ends = None, **style: Any) -> Any:
        """Draw it, and return the axes."""
