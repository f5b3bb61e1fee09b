"""What would help where a report answers little, in terms of what the user typed: the report's ε, its columns.

All of it is worked out from public numbers, and from which replies were ⊥.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from uptack.labels import label
from uptack.privacy import tight
from uptack.release import NoReply
from uptack.report.budget import Division, divide
from uptack.report.cards.number_card import least_epsilon
from uptack.report.column import Part
from uptack.session import Session
from uptack.session.requests import Made

HOPELESS, USELESS = 1000, 20.0
"""A larger ε is not advised beyond this factor, or above this value: it would protect nobody."""

GROWTH, TRIED = 1.4, 12
"""An ε that would carry more is looked for in steps of this factor, so many of them at most."""


@dataclass(frozen=True)
class FigureAdvice:
    """What would get a reply in place of a ⊥, for the figures of one report."""

    session: Session
    division: Division
    _totals: dict[Fraction, float] = field(default_factory=dict)

    def __call__(self, made: Made, epsilon: Fraction) -> str:
        """What would help where a draw of so much ε came to ⊥: rows, or an ε of the whole report."""
        if not isinstance(made, NoReply):
            return ""
        ways, advice = [], made.advice
        if advice.n is not None:
            ways.append(f"n of at least {advice.n:,}")
        times = HOPELESS if advice.epsilon is None else advice.epsilon / float(epsilon)
        if times < HOPELESS and (total := self._total(Fraction(math.ceil(100 * times), 100))) <= USELESS:
            ways.append(f"ε of about {total:g} for the whole report")
        why = f"{advice.why}; " if advice.why else ""
        return f"{why}a reply needs " + (" or ".join(ways) or advice.other or "more rows")

    def _total(self, times: Fraction) -> float:
        """Worked out once: many columns lack the same."""
        if times not in self._totals:
            self._totals[times] = _total(self.session, self.division, times)
        return self._totals[times]


def _total(session: Session, division: Division, factor: Fraction) -> float:
    """The ε of a report whose columns have so many times the ε that they have. Sections keep their shares."""
    grown = [replace(part, unit=part.unit * factor, refusals={}) for part in division.parts]
    price = tight(division.losses.of_parts(grown), division.budget.exact_delta, session.adjacency).epsilon
    return _rounded_up(price / float(1 - sum(one.section.share for one in division.sections if one.accepted)))


def carrying(session: Session, division: Division, choices: Mapping[str, Any]) -> dict[str, float]:
    """For each figure that is left out somewhere, an ε of the whole report that carries it: by trying larger ones."""
    waiting, found = list(division.left_out()), dict[str, float]()
    for step in range(1, TRIED + 1):
        if not waiting:
            break
        total = _rounded_up(division.budget.epsilon * GROWTH**step)
        if total > USELESS:
            break
        larger = divide(session, total, division.budget.exact_delta, **choices, rough=True, losses=division.losses)
        found |= {figure: total for figure in waiting if figure not in larger.left_out()}
        waiting = [figure for figure in waiting if figure not in found]
    return found


def hints(session: Session, division: Division, choices: Mapping[str, Any], unanswered: int = 0) -> tuple[str, ...]:
    """What a report leaves out, and what would help most where it answers little. `choices` are those of `divide`."""
    numeric = [part for part in division.parts if part.numeric]
    poor = [part for part in numeric if "quartiles" not in part.figures]
    enough, lines = carrying(session, division, choices), list[str]()
    if unanswered:
        lines.append(f"{unanswered} of {len(numeric)} numeric columns have no median.")
    elif poor:
        lines.append(f"{len(poor)} of {len(numeric)} numeric columns have a median but no quartiles.")
    if lines:
        wanted = "median" if unanswered else "quartiles"
        times = max(part.lacks(wanted, division.rows) for part in numeric)
        total = (
            enough.get("quartiles")
            if not unanswered
            else _total(session, division, Fraction(times))
            if times > 1
            else None
        )
        lines.append(_help(division, numeric, times, total))
    return (*lines, *_left_out(division, enough))


def _help(division: Division, numeric: list[Part], times: float, enough: float | None) -> str:
    """More ε, fewer columns, or a guess: whichever the user can do. The columns lack so many times their ε."""
    ways = []
    if enough is not None and enough <= USELESS:
        ways.append(f"ε ≈ {enough:g} instead of {division.budget.epsilon:g}")
    kept = int(len(numeric) / (times if division.budget.pure else times**2))  # n draws of ε/√n each, about, with δ
    if 0 < kept < len(numeric):
        ways.append(f"fewer columns (--columns, about {kept} of these {len(numeric)})")
    unguessed = [part for part in numeric if part.plausible is None and _worth_guessing(part, division.rows)]
    if unguessed:
        option = f"--plausible {label(unguessed[0].name)}=LOW:HIGH"
        ways.append(f"a rough guess of the range of values ({option}), which need not be right")
    return "This would help most: " + "; ".join(ways) + "." if ways else "Only more rows would help."


def _worth_guessing(part: Part, rows: int) -> bool:
    """Whether a median could have a reply where all candidates are near it: a guess does no more than that."""
    draw = next(draw for draw in part.card.draws if draw.label == "quantiles")
    return least_epsilon(0.0, Fraction(1, 2))(rows) <= float(part.epsilon(draw))


def _left_out(division: Division, enough: Mapping[str, float]) -> tuple[str, ...]:
    """Figures that the budget does not carry, in the order of their worth."""
    lines = []
    for figure, names in division.left_out().items():
        where = "" if len(names) == sum(figure in p.possible for p in division.parts) else f" of {len(names)} columns"
        lines.append(f"{FIGURE_NAMES.get(figure, figure)}{where}" + _needs(enough.get(figure)))
    return ("Not computed at this budget: " + "; ".join(lines) + ".",) if lines else ()


FIGURE_NAMES = {"tails": "5% and 95% quantiles", "interval": "interval of the median", "n": "number of missing values"}
"""Figures as they are called in a sentence."""


def _needs(epsilon: float | None) -> str:
    return "" if epsilon is None else f" (needs ε ≈ {epsilon:g})"


def _rounded_up(value: float) -> float:
    """Two digits, rounded up.

    >>> _rounded_up(2.341), _rounded_up(0.0312), _rounded_up(31.2)
    (2.4, 0.032, 32.0)
    """
    if not math.isfinite(value) or value <= 0:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.3g}")
