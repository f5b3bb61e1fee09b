"""The regression of one column on all others: its coefficients, and on the page their effects on one scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from uptack.display import Record
from uptack.display.numbers import estimate, number
from uptack.errors import InvalidArgument
from uptack.labels import label
from uptack.report.pictures import Tick, labelled_ticks, powers
from uptack.report.section import CsvTable, NameText, Section, SectionAnswer, SectionTable, register
from uptack.session import Request, Session
from uptack.table.names import column_name
from uptack.table.values.kinds import MOST_LEVELS, NUMBERS, NUMERIC

if TYPE_CHECKING:
    from uptack.report.profile import Profile


def ask(session: Session, columns: Sequence[str], target: str, epsilon: Fraction) -> list[Request]:
    """The target on all other numbers, and on texts whose levels are public."""
    kinds = session.source.kinds
    column_name(target, kinds, NUMERIC)
    levels = {name: len(session.schema.column(name).levels or ()) for name in columns if kinds[name] == "text"}
    numbers = (name for name in columns if kinds[name] in NUMBERS and name != target)
    predictors = (*numbers, *(name for name, n in levels.items() if 1 < n <= MOST_LEVELS))
    if not predictors:
        raise InvalidArgument("target", "a numeric column of a table with at least two of them", repr(target))
    return [Request("regression", target, *predictors, epsilon=epsilon)]


def columns(session: Session, requests: Sequence[Request]) -> tuple[str, ...]:
    """The target and the columns of X: a level each for texts."""
    (request,) = requests
    return (request.columns[0], *session.complete(request).predictors(session.source.kinds))


class Coefficient(NamedTuple):
    """A coefficient of a regression."""

    name: str
    value: float
    ends: tuple[float, float] | None

    @property
    def resolved(self) -> bool:
        """Whether there is an interval that says anything."""
        return self.ends is not None and math.isfinite(self.ends[1] - self.ends[0])

    @property
    def scale(self) -> float:
        """How large a difference is: the width of its interval."""
        return self.ends[1] - self.ends[0] if self.ends is not None and self.resolved else 0.0


def coefficients(answer: SectionAnswer) -> list[Coefficient]:
    """The coefficients by their names, the intercept first."""
    names, ends = ("intercept", *answer.columns[1:]), answer.figure.interval
    intervals = [None] * len(names) if ends is None else list(zip(*ends, strict=True))
    return [Coefficient(*row) for row in zip(names, map(float, answer.value), intervals, strict=True)]


def table(answer: SectionAnswer, name_text: NameText) -> SectionTable:
    """A row per coefficient. One whose error is unknown is not shown: JSON and data frames have its value."""

    def texts(row: Coefficient) -> tuple[str, str]:
        if row.ends is None:
            return number(row.value), ""
        return estimate(row.value, row.ends) if row.resolved else ("–", "not resolved")

    rows = [[name_text(row.name), *texts(row)] for row in coefficients(answer)]
    return SectionTable(["coefficient", "value", "95% interval"], rows)


def to_dict(answer: SectionAnswer) -> dict[str, Any]:
    """The figure, and the names of its coefficients."""
    return {"target": answer.columns[0], "predictors": list(answer.columns[1:]), **answer.figure.to_dict()}


def records(answer: SectionAnswer) -> list[Record]:
    """A line per coefficient."""
    lines = answer.figure.records(answer.columns[0])
    if answer.value is None:
        return lines
    named = zip(lines, ("intercept", *answer.columns[1:]), strict=True)
    return [{**line, "figure": "coefficient", "category": name} for line, name in named]


def csv_rows(answer: SectionAnswer) -> Iterator[dict[str, Any]]:
    """A row per coefficient."""
    for row in coefficients(answer) if answer.value is not None else ():
        low, high = row.ends if row.ends is not None and row.resolved else (None, None)
        own = {"target": answer.columns[0], "coefficient": row.name, "value": row.value}
        yield {**own, "low": low, "high": high}


# --------------------------------------------------------------------------------------------------------- on the page


class Effect(NamedTuple):
    """A coefficient as an interval on a scale, in per cent of its width; no places where nothing is known."""

    row: Coefficient
    low: float | None = None
    point: float = 0.0
    high: float = 0.0
    value: str = ""
    beyond: str = ""
    """On which sides it goes on beyond the scale."""


class Effects(NamedTuple):
    """Coefficients on one scale, and what the scale measures."""

    rows: list[Effect]
    ticks: list[Tick]
    zero: float
    unit: str


def effects(answer: SectionAnswer, profile: Profile) -> Effects | None:
    """The coefficients on one scale: what y changes by when a column goes from its lower to its upper quartile.

    That needs no further release where all interquartile ranges were released. Where some were not, coefficients have
    no common unit, and each is drawn in half-widths of its own interval: how far it is from 0, in units of its error.
    """
    if answer.value is None:
        return None
    spreads = {column.part.name: column.scale for column in profile.columns}
    rows = [row for row in coefficients(answer)[1:] if row.resolved]
    common = bool(rows) and all(spreads.get(row.name, 0) > 0 for row in rows)
    units = [spreads[row.name] if common else 2 / max(row.scale, 1e-300) for row in rows]
    pairs = zip(rows, units, strict=True)
    ends = [tuple(e * unit for e in (*(row.ends or (0.0, 0.0)), row.value)) for row, unit in pairs]
    y = label(answer.columns[0])
    unit = f"change of {y} from the lower to the upper quartile of each column" if common else ""
    return on_scale(rows, ends, unit or "distance from 0, in half-widths of the interval")


def on_scale(rows: list[Coefficient], ends: list[tuple[float, ...]], unit: str) -> Effects:
    """Intervals on a scale that has 0 on it; those that are far wider than the effects are cut off at its ends."""
    far = 4 * max((abs(value) for _, _, value in ends), default=0.0) or 1.0
    low = min([0.0, *(max(a, -far) for a, _, _ in ends)])
    high = max([0.0, *(min(b, far) for _, b, _ in ends)])
    if not 1e-300 < high - low < 1e300:  # floats can't divide by it, or it is not a number
        return Effects([Effect(row) for row in rows], [], 0.0, unit)
    edge = (high - low) / 20
    low, high = low - edge, high + edge

    def share(value: float) -> float:
        return round(100 * (min(max(value, low), high) - low) / (high - low), 2)

    intervals = [
        Effect(
            row,
            share(a),
            share(v),
            share(b),
            powers(estimate(v, (a, b))[0]),
            "left" * (a < low) + " right" * (b > high),
        )
        for row, (a, b, v) in zip(rows, ends, strict=True)
    ]
    return Effects(intervals, labelled_ticks(low, high, room=300), share(0.0), unit)


HTML = """\
{% set effects = shown.view %}
{% if effects and effects.rows %}
<div class="bars effects">
{% for effect in effects.rows %}<div class="bar"><div class="name">{{ label(effect.row.name) }}</div><div class="track"><div class="zero" style="left: {{ effects.zero }}%"></div>{% if effect.low is not none %}<div class="reach {{ effect.beyond }}" style="left: {{ effect.low }}%; right: {{ 100 - effect.high }}%"></div><div class="point" style="left: {{ effect.point }}%"></div>{% endif %}</div><div class="value">{{ effect.value }}</div></div>
{% endfor %}
<div class="bar scalebar"><div class="name"></div><div class="scale">{% for tick in effects.ticks %}<span style="left: {{ (100 * tick.share) | round(2) }}%">{{ tick.text }}</span>{% endfor %}</div><div class="value"></div></div>
</div>
<p class="soft small">{{ effects.unit[0] | upper }}{{ effects.unit[1:] }}, with 95% intervals.{% if effects.rows | selectattr("beyond") | list %} Intervals that fade out extend beyond the scale.{% endif %}</p>
{% endif %}
{{ cells(shown.cells) -}}
"""  # noqa: E501


REGRESSION = register(
    Section(
        name="regression",
        place=1,
        option="target",
        takes=str,
        help="Also regress this column on all other numeric columns.",
        share=Fraction(1, 3),
        ask=ask,
        columns=columns,
        of_column=True,
        table=table,
        long=False,
        html=HTML,
        view=effects,
        to_dict=to_dict,
        records=records,
        csv=CsvTable(
            "Coefficients of the regression, with 95% intervals; none if the noise is too large.",
            {"target": "string", "coefficient": "string", "value": "number", "low": "number", "high": "number"},
            csv_rows,
        ),
    )
)
