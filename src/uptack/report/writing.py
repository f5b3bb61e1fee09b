"""A profile as one HTML file that works offline, as Markdown, and as JSON."""

from __future__ import annotations

import html
import json
import math
import os
import tempfile
from importlib import metadata, resources
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from uptack.errors import InvalidArgument
from uptack.privacy import Privacy
from uptack.report.pictures import coefficients_picture, density_picture, number
from uptack.report.profile import ColumnProfile, Figure, Profile

FORMATS = (".html", ".json", ".md")


class Bar(NamedTuple):
    """A category and how many rows it has."""

    name: str
    rows: int
    share: float
    error: int


class Coefficient(NamedTuple):
    """A coefficient of a regression."""

    name: str
    value: float
    ends: tuple[float, float] | None

    @property
    def scale(self) -> float:
        """How large a difference is: the width of its interval."""
        return 0.0 if self.ends is None else self.ends[1] - self.ends[0]


class Charge(NamedTuple):
    """A line of the bill."""

    column: str
    label: str
    how: str
    cost: Privacy


def bars(figure: Figure) -> list[Bar]:
    """The categories of a histogram, largest first."""
    cells = dict(figure.value.items())
    widest = max([*cells.values(), 1])
    errors = [0] * len(cells)
    if figure.interval is not None:
        errors = [(int(high) - int(low) + 1) // 2 for low, high in zip(*figure.interval, strict=True)]
    found = [
        Bar("missing" if name is None else str(name), int(count), round(100 * max(count, 0) / widest, 1), error)
        for (name, count), error in zip(cells.items(), errors, strict=True)
    ]
    return sorted(found, key=lambda bar: -bar.rows)


def coefficients(regression: tuple[tuple[str, ...], Figure]) -> list[Coefficient]:
    """The coefficients of a regression by their names."""
    names, figure = regression
    ends = [None] * len(names) if figure.interval is None else list(zip(*figure.interval, strict=True))
    labels = ("intercept", *names[1:])
    return [Coefficient(*row) for row in zip(labels, map(float, figure.value), ends, strict=True)]


def charges(profile: Profile) -> list[Charge]:
    """What each figure cost."""
    found = [(c.part.name, f) for c in profile.columns for f in c.all_figures]
    if profile.regression is not None:
        found.append((profile.regression[0][0], profile.regression[1]))
    labels = {"lower quartile": "quartiles"}
    return [Charge(name, labels.get(f.label, f.label), f.how, f.cost) for name, f in found if f.cost is not None]


def _picture(column: ColumnProfile) -> Markup | None:
    if column.density is None or column.density.value is None:
        return None
    curve, median = column.density.value, column["median"]
    return density_picture(
        curve.points.tolist(),
        curve.values.tolist(),
        title=f"Density of {column.part.name}",
        quartiles=(column["lower quartile"].value, column["upper quartile"].value),
        median=median.value,
        interval=median.interval,
    )


def _pictures(profile: Profile) -> dict[str, Markup | None]:
    found = {column.part.name: _picture(column) for column in profile.columns}
    if profile.regression is not None and profile.regression[1].value is not None:
        rows = coefficients(profile.regression)[1:]
        title = f"regression of {profile.regression[0][0]}"
        ends = [row.ends or (row.value, row.value) for row in rows]
        found[title] = coefficients_picture([r.name for r in rows], [r.value for r in rows], ends, title=title)
    return found


def short(value: float) -> str:
    """A privacy parameter, rounded up in its third digit.

    >>> short(0.285714), short(1e-6), short(0)
    ('0.286', '1e-06', '0')
    """
    if value == 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(float(value))) - 2)
    return f"{math.ceil(float(value) / unit * (1 - 1e-12)) * unit:.3g}"


def to_html(profile: Profile) -> str:
    """One self-contained page."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = resources.files("uptack.report").joinpath("template.html").read_text("utf-8")
    return environment.from_string(text).render(
        profile=profile,
        pictures=_pictures(profile),
        bars=bars,
        coefficients=coefficients,
        costs=charges(profile),
        number=number,
        short=short,
        factor=math.exp(profile.spent.epsilon),
        version=metadata.version("uptack"),
    )


def to_markdown(profile: Profile) -> str:
    """Tables of text."""
    rows = "a secret number of" if profile.rows is None else f"{profile.rows:,}"
    lines = [f"# Private profile of {_cell(profile.title)}", "", f"{rows} rows; spent: {profile.spent}", ""]
    if not profile.private:
        lines += ["**Not private**: the noise was drawn from a seeded source, for tests.", ""]
    for column in profile.columns:
        lines += [f"## {_cell(column.part.name)}", "", *_column_lines(column), ""]
    if profile.regression is not None:
        lines += [f"## Regression of {_cell(profile.regression[0][0])}", "", *_regression_lines(profile.regression), ""]
    lines += ["## What each figure cost", "", "| column | figure | how | ε | δ |", "|---|---|---|---:|---:|"]
    lines += [
        f"| {_cell(c.column)} | {c.label} | {c.how} | {short(c.cost.epsilon)} | {short(c.cost.delta)} |"
        for c in charges(profile)
    ]
    lines += ["", profile.spent.explain().replace("\n", " "), ""]
    return "\n".join(lines)


def _cell(text: object) -> str:
    return html.escape(str(text), quote=False).replace("|", "\\|").replace("\n", " ")


def _column_lines(column: ColumnProfile) -> list[str]:
    if column.part.skipped:
        return [column.part.skipped]
    if column.part.numeric:
        head = ["| figure | value | 95% interval |", "|---|---:|---:|"]
        return head + [_figure_line(figure, column.scale) for figure in column.figures]
    figure = column.figures[0]
    if figure.value is None:
        return [f"⊥ ({figure.note})"]
    head = ["| category | rows | ± |", "|---|---:|---:|"]
    return head + [f"| {_cell(bar.name)} | {bar.rows:,} | {bar.error or ''} |" for bar in bars(figure)]


def _figure_line(figure: Figure, scale: float) -> str:
    if figure.value is None:
        return f"| {figure.label} | ⊥ | {figure.note} |"
    ends = "" if figure.interval is None else " to ".join(number(end, scale) for end in figure.interval)
    return f"| {figure.label} | {number(figure.value, scale)} | {ends} |"


def _regression_lines(regression: tuple[tuple[str, ...], Figure]) -> list[str]:
    if regression[1].value is None:
        return [f"⊥ ({regression[1].note})"]
    head = ["| coefficient | value | 95% interval |", "|---|---:|---:|"]
    return head + [
        f"| {_cell(row.name)} | {number(row.value, row.scale)} | {_between(row)} |" for row in coefficients(regression)
    ]


def _between(row: Coefficient) -> str:
    return "" if row.ends is None else " to ".join(number(end, row.scale) for end in row.ends)


def to_json(profile: Profile) -> str:
    """Plain values."""
    return json.dumps(profile.to_dict(), indent=2, ensure_ascii=False, default=str) + "\n"


def check_target(path: str | Path) -> Path:
    """Where a report may be written, checked before any budget is spent."""
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise InvalidArgument("output", "a file that ends in .html, .json or .md", repr(str(path)))
    folder = target.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidArgument("output", "in a folder that exists and can be written to", repr(str(folder)))
    return target


def write(profile: Profile, path: str | Path) -> Path:
    """Write the report as its extension says, all of it or nothing."""
    target = check_target(path)
    text = {".html": to_html, ".json": to_json, ".md": to_markdown}[target.suffix.lower()](profile)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target
