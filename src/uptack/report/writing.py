"""A profile as one HTML file that works offline, and as JSON."""

from __future__ import annotations

import math
from importlib import metadata, resources
from typing import Any, NamedTuple

from markupsafe import Markup

from uptack.labels import json_text, label, lines
from uptack.privacy import Privacy
from uptack.report.cards import Figure, coarse, in_ticks
from uptack.report.pictures import box_picture, coefficients_picture, density_picture, number
from uptack.report.profile import ColumnProfile, Profile


def between(ends: tuple[Any, Any], scale: float) -> str:
    """An interval in words, rounded outward."""
    return f"{number(ends[0], scale, 'low')} to {number(ends[1], scale, 'high')}"


class Bar(NamedTuple):
    """A category and how many rows, or people, it has."""

    name: object
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
        Bar(name, int(count), round(100 * max(count, 0) / widest, 1), error)
        for (name, count), error in zip(cells.items(), errors, strict=True)
    ]
    return sorted(found, key=lambda bar: -bar.rows)


def integer_bars(figure: Figure) -> list[Bar]:
    """The same for few integers, in their order, without those at both ends that are no more than noise."""
    ordered = sorted(bars(figure), key=lambda bar: bar.name)  # type: ignore[arg-type,return-value]
    seen = [i for i, bar in enumerate(ordered) if bar.rows > bar.error]
    return ordered[seen[0] : seen[-1] + 1] if seen else ordered


def coefficients(regression: tuple[tuple[str, ...], Figure]) -> list[Coefficient]:
    """The coefficients of a regression by their names."""
    names, figure = regression
    ends = [None] * len(names) if figure.interval is None else list(zip(*figure.interval, strict=True))
    labels = ("intercept", *names[1:])
    return [Coefficient(*row) for row in zip(labels, map(float, figure.value), ends, strict=True)]


def charges(profile: Profile) -> list[Charge]:
    """What each figure cost."""
    found = [(c.part.name, f) for c in profile.columns for f in c.releases]
    if profile.regression is not None:
        found.append((profile.regression[0][0], profile.regression[1]))
    return [Charge(name, f.label, f.how, f.cost) for name, f in found if f.cost is not None]


def _picture(column: ColumnProfile) -> Markup | None:
    median, found = column["median"], column.quantiles or {}
    quartiles = (column["lower quartile"].value, column["upper quartile"].value)
    if column.density is not None and hasattr(column.density.value, "points"):
        curve, title = column.density.value, f"Density of {label(column.part.name)}"
        shown = {"title": title, "quartiles": quartiles, "median": median.value, "interval": median.interval}
        return density_picture(curve.points.tolist(), curve.values.tolist(), **shown)
    if None in quartiles or quartiles[0] == quartiles[1]:
        return None
    title = f"Quantiles of {label(column.part.name)}"
    ends = None if median.interval is None else (in_ticks(median.interval[0]), in_ticks(median.interval[1]))
    return box_picture(sorted(found.values()), coarse(found), ends, title=title, form=column.part.form)


def counted(column: ColumnProfile) -> Figure | None:
    """The counts of a column of few integers, where they were released in place of a density."""
    density = column.density
    return density if density is not None and hasattr(density.value, "items") else None


def _coefficients_picture(regression: tuple[tuple[str, ...], Figure] | None) -> Markup | None:
    if regression is None or regression[1].value is None:
        return None
    rows = coefficients(regression)[1:]
    ends = [row.ends or (row.value, row.value) for row in rows]
    title = f"Regression of {label(regression[0][0])}"
    return coefficients_picture([label(r.name) for r in rows], [r.value for r in rows], ends, title=title)


def short(value: float) -> str:
    """A privacy parameter, rounded up in its third digit.

    >>> short(0.285714), short(1e-6), short(0)
    ('0.286', '1e-06', '0')
    """
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "∞"
    unit = 10.0 ** (math.floor(math.log10(float(value))) - 2)
    return f"{math.ceil(float(value) / unit * (1 - 1e-12)) * unit:.3g}"


def factor(epsilon: float) -> float:
    """e^ε, infinite where no float is as large.

    >>> factor(0.0), factor(1e6)
    (1.0, inf)
    """
    return math.exp(epsilon) if epsilon < 709 else math.inf


def to_html(profile: Profile) -> str:
    """One self-contained page. Whatever a name holds, it is text: escaped, and without what can't be printed."""
    from jinja2 import Environment, StrictUndefined

    def clean(value: Any) -> Any:
        return lines(value) if type(value) is str else value

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=clean
    )
    text = resources.files("uptack.report").joinpath("template.html").read_text("utf-8")
    return environment.from_string(text).render(
        profile=profile,
        picture=_picture,
        coefficients_picture=_coefficients_picture(profile.regression),
        bars=bars,
        integer_bars=integer_bars,
        counted=counted,
        coefficients=coefficients,
        costs=charges(profile),
        number=number,
        between=between,
        summed=sum(charge.cost.exact_epsilon for charge in charges(profile)) > profile.spent.exact_epsilon,
        short=short,
        label=label,
        factor=factor(profile.spent.epsilon),
        version=metadata.version("uptack"),
    )


def to_json(profile: Profile) -> str:
    """Plain values, exactly as they were released."""
    return json_text(profile.to_dict(), indent=2) + "\n"
