"""A report as a server keeps and sends it, which a client reads without any part of the server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uptack.display import FigureTable, Tabular
from uptack.display import Record as Line
from uptack.errors import InvalidArgument
from uptack.privacy import Privacy


@dataclass(frozen=True)
class StoredReport(Tabular):
    """The page of a report, and the same as Markdown, JSON and text."""

    page: str
    markdown: str
    content: str
    text: str
    lines: tuple[Line, ...]
    privacy: Privacy
    private: bool

    @property
    def spent(self) -> Privacy:
        """What the report has cost, as for a report that is made locally."""
        return self.privacy

    def to_html(self) -> str:
        return self.page

    def to_markdown(self) -> str:
        return self.markdown

    def to_json(self) -> str:
        return self.content

    def to_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.content)
        return made

    def save(self, path: str | Path) -> Path:
        """Write it as the end of the file's name says: .html, .md or .json."""
        made = {".html": self.page, ".md": self.markdown, ".json": self.content}.get(Path(path).suffix.lower())
        if made is None:
            raise InvalidArgument("path", "a file that ends in .html, .md or .json", repr(str(path)[:80]))
        Path(path).write_text(made, encoding="utf-8")
        return Path(path)

    def records(self) -> list[Line]:
        return list(self.lines)

    def table(self) -> FigureTable:
        return FigureTable.of(self.records(), "Private report", [f"spent: {self.privacy}"], private=self.private)

    def __repr__(self) -> str:
        return self.text
