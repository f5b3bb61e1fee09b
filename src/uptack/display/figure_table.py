"""A small table, as aligned text and as HTML in the colours of the page: no script, nothing from a network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from uptack.display.align import aligned
from uptack.display.numbers import interval_text, is_number, plain, value_text
from uptack.display.records import Record
from uptack.labels import label, printable

STAMP = "NOT PRIVATE: seeded randomness"
TEXT_LINES, HTML_LINES = 12, 60
"""How many lines are shown before it is said how many more there are."""

_APART = ("value", "low", "high", "epsilon", "delta", "note")
_LEFT = "border:0;border-bottom:1px solid currentColor;padding:.1em .7em;text-align:left"
_RIGHT = _LEFT.replace("left", "right")
_WHOLE = "border-collapse:collapse;color:inherit;background:transparent;font-variant-numeric:tabular-nums"
_NOTE = "margin:.3em 0;color:inherit"


@dataclass(frozen=True)
class FigureTable:
    """Cells of text under a head, a title, and what is to be said below. `right` are the columns of numbers.

    Whatever is in a cell is shown as text: it is made printable, and escaped.

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
        """Figures with their intervals. What all of them cost together is for the notes to say."""
        names = list(dict.fromkeys(name for record in records for name in record if name not in _APART))
        heads, numeric = [*names, "value"], {i for i, name in enumerate(names) if _numbers(records, name)}
        with_ends = any(record.get("low") is not None for record in records)
        with_notes = any(record.get("note") for record in records)
        lines = []
        for one in records:
            ends = plain(one.get("low")), plain(one.get("high"))
            cells = [*(_cell(one[name]) if name in one else "" for name in names), value_text(one.get("value"), *ends)]
            cells += [interval_text(*ends)] if with_ends else []
            lines.append((*cells, *([str(one.get("note") or "")] if with_notes else [])))
        heads += [f"{percent} interval"] if with_ends else []
        right = frozenset(numeric | (set(range(len(names), len(heads))) if _numbers(records, "value") else set()))
        return FigureTable(
            title, (*heads, *(["note"] if with_notes else [])), tuple(lines), tuple(notes), right, private
        )

    def text(self, limit: int = TEXT_LINES) -> str:
        """Aligned lines, so many at most."""
        lines = [tuple(map(printable, cells)) for cells in (self.head, *self.lines[:limit])]
        below = [*self._more(limit), *self.notes, *([] if self.private else [STAMP])]
        return "\n".join([printable(self.title), *aligned(lines, self.right), *map(printable, below)])

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


def _cell(value: object) -> str:
    """The name of a figure. Numbers are not rounded in it: it says which figure it is."""
    return label(plain(value))


def _numbers(records: Sequence[Record], name: str) -> bool:
    found = [plain(record.get(name)) for record in records]
    return all(value is None or is_number(value) for value in found)
