"""Where a report goes: checked and opened before anything is spent, so that what was paid for is not lost.

`.zip` is a data package, as Frictionless Data describes it: CSV files of all released figures with their errors and
costs, and a descriptor, `datapackage.json`, with the type of each field. Names out of data are text: a cell that a
spreadsheet would take for a formula has an apostrophe before it.
"""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from uptack.display.numbers import plain
from uptack.display.tabular import csv_text
from uptack.errors import InvalidArgument
from uptack.labels import json_text, label, printable
from uptack.privacy.guarantee import promise
from uptack.report.category_card import bars
from uptack.report.page import to_html
from uptack.report.section import CsvTable, Row, registered_sections
from uptack.report.text import charges, to_markdown

if TYPE_CHECKING:
    from uptack.report.profile import Profile


def _figures(profile: Profile) -> Iterator[Row]:
    for column in profile.columns:
        for figure in column.figures if column.part.card.numeric else ():
            low, high = (None, None) if figure.interval is None else map(plain, figure.interval)
            own = {"column": column.part.name, "kind": column.part.kind, "figure": figure.label}
            yield {**own, "value": plain(figure.value), "low": low, "high": high, "note": figure.note}


def _counts(profile: Profile) -> Iterator[Row]:
    for column in profile.columns:
        for bar in bars(column.counts) if column.counts is not None else ():
            row = {"column": column.part.name, "category": label(bar.name)}
            yield {**row, "count": bar.rows, "error": bar.error or None}


def _densities(profile: Profile) -> Iterator[Row]:
    for column in profile.columns:
        density = column.density
        if density is not None and hasattr(density.value, "points"):
            curve, band = density.value, density.interval or (density.value.values,) * 2
            for x, y, low, high in zip(curve.points, curve.values, *band, strict=True):
                yield {"column": column.part.name, "x": plain(x), "density": plain(y), "low": low, "high": high}


def _costs(profile: Profile) -> Iterator[Row]:
    for charge in charges(profile):
        own = {"column": charge.columns[0], "figure": charge.figure, "how": charge.how}
        yield {**own, "epsilon": charge.cost.epsilon, "delta": charge.cost.delta}


TABLES: dict[str, CsvTable[Profile]] = {
    "figures": CsvTable(
        "Figures of the columns. No value means no reply (⊥): the note says what would help.",
        {"column": "string", "kind": "string", "figure": "string", "value": "number", "low": "number",
         "high": "number", "note": "string"},
        _figures,
    ),
    "counts": CsvTable(
        "Rows, or people, in each category, with the 95% error of the privacy noise.",
        {"column": "string", "category": "string", "count": "integer", "error": "integer"},
        _counts,
    ),
    "densities": CsvTable(
        "Density curves, or bars of equal width, with the band of two standard errors of the noise.",
        {"column": "string", "x": "number", "density": "number", "low": "number", "high": "number"},
        _densities,
    ),
    "costs": CsvTable(
        "The cost of each figure. The total, in the descriptor, is less than the sum: all were planned in advance.",
        {"column": "string", "figure": "string", "how": "string", "epsilon": "number", "delta": "number"},
        _costs,
    ),
}  # fmt: skip
"""The tables about columns, and the bill."""


def tables() -> dict[str, CsvTable[Any]]:
    """The tables of a package, by the names of their files."""
    return TABLES | {section.name: section.csv for section in registered_sections()}


def table_text(name: str, profile: Profile) -> str:
    """A table of a package as CSV. One of a section that was not asked for has no rows."""
    table = tables()[name]
    source = profile if name in TABLES else profile.sections.get(name)
    rows = () if source is None else table.rows(source)
    return csv_text(table.fields, ([row.get(field) for field in table.fields] for row in rows))


def descriptor(profile: Profile) -> dict[str, Any]:
    """What is in the package, field by field, and what all of it cost."""
    spent = profile.spent.to_dict()
    timed = any(column.part.form is not None for column in profile.columns)  # figures are then times and durations, too
    kinds = {"number": "any"} if timed else {}
    return {
        "name": "private-profile",
        "title": f"Private report: {printable(profile.title)}",
        "description": f"{profile.whose} {promise(profile.spent)}".strip(),
        "privacy": {"spent": spent, "private": profile.private, profile.unit: profile.rows},
        "resources": [
            {
                "name": name,
                "path": f"{name}.csv",
                "description": table.about,
                "schema": {
                    "fields": [
                        {"name": field, "type": kinds.get(kind, kind) if name == "figures" else kind}
                        for field, kind in table.fields.items()
                    ]
                },
            }
            for name, table in tables().items()
        ],
    }


def to_package(profile: Profile) -> bytes:
    """The zip file. The same report gives the same bytes."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        files = {f"{name}.csv": table_text(name, profile) for name in tables()}
        files["datapackage.json"] = json_text(descriptor(profile), indent=2) + "\n"
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text.encode("utf-8"))
    return held.getvalue()


def to_json(profile: Profile) -> str:
    """Plain values, exactly as they were released."""
    return profile.to_json()


FORMATS: dict[str, Callable[[Profile], str | bytes]] = {
    ".html": to_html,
    ".json": to_json,
    ".md": to_markdown,
    ".zip": to_package,
}


def content(profile: Profile, suffix: str) -> bytes:
    """The report in the format of a file that ends so."""
    text = FORMATS[suffix](profile)
    return text.encode("utf-8") if isinstance(text, str) else text


class Output:
    """A place for one report, held from before the first debit until the report is in it.

    An empty file is made beside the target, under a name of its own. The report is written to it, and only then does it
    take the target's name: whatever happens, the target is as it was, or whole. Where it is left without a report, the
    empty file goes away.

    Not all can be known beforehand: the disk may fill up, somebody may remove the folder. Then `write` raises, and
    `rescue` still saves the report elsewhere.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() not in FORMATS:
            must = "a file that ends in .html, .json, .md or .zip"
            raise InvalidArgument("output", must, repr(_shortened(str(path))))
        self._target = _target_file(self.path)
        try:
            self._handle, name = tempfile.mkstemp(dir=self._target.parent, prefix=".uptack-")
        except OSError:
            folder = repr(str(self._target.parent))
            raise InvalidArgument("output", "in a folder that exists and can be written to", folder) from None
        self._waiting: Path | None = Path(name)

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._release()

    def write(self, profile: Profile) -> Path:
        """Write the report as the extension says, all of it or nothing."""
        data = content(profile, self.path.suffix.lower())
        assert self._waiting is not None, "a place is for one report"
        with open(self._handle, "wb", closefd=False) as file:
            file.write(data)
            file.flush()
            os.fsync(self._handle)
        self._waiting.replace(self._target)
        self._release()
        return self.path

    def rescue(self, profile: Profile) -> Path:
        """Save a report that could not be written, in a new file that only this user can read; as JSON if need be."""
        suffix = self.path.suffix.lower()
        try:
            data = content(profile, suffix)
        except Exception:
            suffix, data = ".json", to_json(profile).encode("utf-8")
        handle, name = tempfile.mkstemp(prefix="uptack-report-", suffix=suffix)
        with open(handle, "wb") as file:
            file.write(data)
        return Path(name)

    def _release(self) -> None:
        """Let go of the file that was waiting, which is gone where it has become the report."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            os.close(self._handle)
            waiting.unlink(missing_ok=True)


def _target_file(path: Path) -> Path:
    """The file that a path leads to: not a folder, and with a name that the system can keep."""
    try:
        target = path.resolve()
        target.lstat()
    except FileNotFoundError:
        return target
    except (OSError, RuntimeError, ValueError):
        must = "a valid path of moderate length"
        raise InvalidArgument("output", must, repr(_shortened(str(path)))) from None
    if not target.is_file():
        raise InvalidArgument("output", "a file, or a new one", repr(str(path)))
    return target


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:40]}…{text[-39:]}"


def write(profile: Profile, path: str | Path) -> Path:
    """Write a report as the extension of its file says, all of it or nothing."""
    with Output(path) as output:
        return output.write(profile)
