"""The correlations of all columns of numbers, by ranks: a list of pairs, and on the page a map."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uptack.display import Record
from uptack.display.numbers import plain
from uptack.errors import InvalidArgument
from uptack.labels import label
from uptack.report.section import CsvTable, NameText, Section, SectionAnswer, SectionTable, register
from uptack.session import Request, Session
from uptack.table.values.kinds import NUMBERS

if TYPE_CHECKING:
    from uptack.report.profile import Profile


def ask(session: Session, columns: Sequence[str], wanted: bool, epsilon: Fraction) -> list[Request]:
    """The correlations of all columns of numbers; of people those of their means."""
    names = [name for name in columns if session.source.kinds[name] in NUMBERS]
    if len(names) < 2:
        raise InvalidArgument("correlations", "left out unless there are two numeric columns", "fewer")
    each = {"per_person": "mean"} if session.adjacency.person else {}
    return [Request("correlation_matrix", *names, epsilon=epsilon, **each)]


def table(answer: SectionAnswer, name_text: NameText) -> SectionTable:
    """The largest first: of many pairs these are read."""
    names, values, ends = answer.value.names, answer.value.values, answer.figure.interval
    pairs = sorted(itertools.combinations(range(len(names)), 2), key=lambda pair: -abs(float(values[pair])))
    rows = [
        [name_text(names[i]), name_text(names[j]), _two_digits(values[i, j])]
        + ([] if ends is None else [f"{_two_digits(ends[0][i][j])} to {_two_digits(ends[1][i][j])}"])
        for i, j in pairs
    ]
    return SectionTable(["column", "column", "correlation", *([] if ends is None else ["95% interval"])], rows, left=2)


def _two_digits(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00")


def records(answer: SectionAnswer) -> list[Record]:
    """A line per pair: one column in `column`, the other in `category`."""
    lines = answer.figure.records(answer.section.about(answer.requests[0]))
    if answer.value is None:
        return lines
    pairs = [{"column": line.pop("x"), "figure": "correlation", "category": line.pop("y")} for line in lines]
    return [{**line, **pair} for line, pair in zip(lines, pairs, strict=True)]


def csv_rows(answer: SectionAnswer) -> Iterator[dict[str, Any]]:
    """A row per pair."""
    if answer.value is not None:
        for line in answer.value.figures(answer.figure.interval):
            yield {name: plain(line.get(name)) for name in ("x", "y", "value", "low", "high")}


# --------------------------------------------------------------------------------------------------------- on the page


class HeatCell(NamedTuple):
    """A correlation of a heat map. It has a colour where noise does not cover which sign it has."""

    text: str
    title: str
    sign: str = ""
    much: float = 0.0


class HeatMap(NamedTuple):
    """Correlations as a map, and how large their noise is."""

    names: list[str]
    rows: list[list[HeatCell]]
    error: str = ""
    people: bool = False


def heat_map(answer: SectionAnswer, profile: Profile) -> HeatMap | None:
    """The correlations as a map; None for ⊥."""
    if answer.value is None:
        return None
    values, names = answer.value.values, [label(name) for name in answer.value.names]
    ends = answer.figure.interval
    low, high = (values, values) if ends is None else map(np.asarray, ends)

    def cell(i: int, j: int) -> HeatCell:
        if i == j:
            return HeatCell("", "", "same")
        sign = "plus" if low[i, j] > 0 else "minus" if high[i, j] < 0 else ""
        between = f"{_two_digits(low[i, j])} to {_two_digits(high[i, j])}"
        return HeatCell(_two_digits(values[i, j]), between, sign, round(60 * float(values[i, j]) ** 2, 1))

    rows = [[cell(i, j) for j in range(len(names))] for i in range(len(names))]
    errors = [max(high[i, j] - values[i, j], values[i, j] - low[i, j]) for i in range(len(names)) for j in range(i)]
    error = "" if ends is None else f"{math.ceil(100 * max(errors)) / 100:.2f}"
    return HeatMap(names, rows, error, profile.unit == "people")


STYLE = """\
.heat { width: auto; font-size: .86rem; } .heat td { text-align: center; padding: 5px 8px; min-width: 3.4em; border: 1px solid var(--card); white-space: nowrap; } .heat .same { background: var(--line); }
.heat th { min-width: 6em; max-width: 12em; font-weight: 400; vertical-align: middle; } .heat th.n { text-align: center; vertical-align: bottom; min-width: 0; padding: 4px 6px; }
.heat th[scope=row] { position: sticky; left: 0; background: var(--card); } .upright th span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 12em; overflow-wrap: anywhere; text-align: left; }
.plus { background: color-mix(in srgb, var(--main) var(--much), transparent); } .minus { background: color-mix(in srgb, var(--warm) var(--much), transparent); }
"""  # noqa: E501

HTML = """\
{% set heat = shown.view %}
{% set upright = heat.names | length > 6 and heat.names | map("length") | max > 7 %}
<div class="scroll"><table class="heat{{ " upright" if upright }}">
<tr><th></th>{% for name in heat.names %}<th class="n" scope="col"><span>{{ name }}</span></th>{% endfor %}</tr>
{% for row in heat.rows %}<tr><th scope="row">{{ heat.names[loop.index0] }}</th>{% for cell in row %}<td{% if cell.sign %} class="{{ cell.sign }}" style="--much: {{ cell.much }}%"{% endif %}{% if cell.title %} title="{{ cell.title }}"{% endif %}>{{ cell.text }}</td>{% endfor %}</tr>
{% endfor %}
</table></div>
<p class="soft small">{% if heat.error %}Each is within {{ heat.error }} of the correlation of the rows (95%); those without a colour cannot be told from 0. {% endif %}Estimated from ranks: Kendall's τ, converted to the correlation of a normal distribution.{% if heat.people %} For people, of the means of their rows.{% endif %}</p>
"""  # noqa: E501


CORRELATIONS = register(
    Section(
        name="correlations",
        place=2,
        option="correlations",
        help="Also show rank correlations of all numeric columns.",
        share=Fraction(1, 6),
        ask=ask,
        table=table,
        html=HTML,
        view=heat_map,
        style=STYLE,
        records=records,
        csv=CsvTable(
            "Rank correlations of numeric columns, with 95% intervals for the noise if available.",
            {"x": "string", "y": "string", "value": "number", "low": "number", "high": "number"},
            csv_rows,
        ),
    )
)
