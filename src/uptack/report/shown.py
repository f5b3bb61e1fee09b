"""What can be done with a report once it is made: pages, files, tables. It costs nothing: post-processing."""

from __future__ import annotations

import html
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from uptack.labels import json_text, label
from uptack.shown import Framed, Record, Table, of_value

if TYPE_CHECKING:
    from uptack.report.cards import Figure
    from uptack.report.profile import Profile

HEIGHT = 640
"""Pixels of a report in a notebook."""


class Written(Framed):
    """A report that can be written in every form. Made by `uptack.report`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""

    def to_html(self) -> str:
        """One self-contained page: no script, nothing from a network."""
        from uptack.report.page import to_html

        return to_html(cast("Profile", self))

    def to_markdown(self) -> str:
        """The same as Markdown."""
        from uptack.report.text import to_markdown

        return to_markdown(cast("Profile", self))

    def to_json(self) -> str:
        """The same as JSON, with values exactly as they were released."""
        return json_text(self.to_dict(), indent=2) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write it as the end of the file's name says: .html, .md or .json. All of it, or nothing."""
        from uptack.report.output import write

        return write(cast("Profile", self), path)

    def records(self) -> list[Record]:
        """One line per figure: `column`, `figure`, `category` where something is counted, then `value` and so on.

        A figure without a cost was worked out from those that have one. Curves of densities are left out.
        """
        profile = cast("Profile", self)
        made = [one for column in profile.columns for f in column.all_figures for one in _lines(column.part.name, f)]
        return made if profile.regression is None else [*made, *_fit(*profile.regression)]

    def table(self) -> Table:
        """The figures for people."""
        profile = cast("Profile", self)
        title = f"Private profile of {label(profile.title)}"
        return Table.of(self.records(), title, [f"spent: {profile.spent}", *profile.hints], private=profile.private)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, apart from the notebook's styles. Nothing runs in it."""
        style = "width:100%;border:1px solid currentColor"
        page = html.escape(self.to_html())
        return f'<iframe sandbox="" style="{style}" height="{HEIGHT}" srcdoc="{page}"></iframe>'

    def __repr__(self) -> str:
        from uptack.report.text import to_text

        return to_text(cast("Profile", self))


def _lines(column: str, figure: Figure) -> list[Record]:
    """The lines of one figure: of counts one per category."""
    cost = None if figure.cost is None else figure.cost.to_dict()
    told = {"epsilon": cost and cost["epsilon"], "delta": cost and cost["delta"], "note": figure.note}
    if hasattr(figure.value, "points"):  # a curve
        return []
    lines = of_value(figure.value, figure.interval)
    counted = [{"category": one.pop("cell")} if "cell" in one else {} for one in lines]
    return [
        {"column": column, "figure": figure.label, **cell, **one, **told}
        for cell, one in zip(counted, lines, strict=True)
    ]


def _fit(names: tuple[str, ...], figure: Figure) -> list[Record]:
    lines = _lines(names[0], figure)
    if figure.value is not None:
        named = zip(lines, ("intercept", *names[1:]), strict=True)
        lines = [{**one, "figure": "coefficient", "category": name} for one, name in named]
    return lines
