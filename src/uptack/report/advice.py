"""What would help where a report answers little, in terms of what the user typed: the report's ε, its columns.

All of it is worked out from public numbers, and from which replies were ⊥.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from uptack.labels import label
from uptack.privacy import Privacy, tight
from uptack.release import NoReply
from uptack.report.budget import Division, Part, losses
from uptack.session import Session
from uptack.session.requests import Made

HOPELESS = 1000
"""From so many times the ε on, ε is no advice."""


def total_for(session: Session, division: Division, times: float, figure: str = "") -> float:
    """The ε of a whole report whose columns have so many times the ε that they have, and one figure more."""
    factor = Fraction(math.ceil(1000 * times), 1000)
    grown = [
        replace(part, unit=part.unit * factor, figures=(*part.figures, *_added(part, figure)))
        for part in division.parts
    ]
    price = tight(losses(session, grown), division.budget.exact_delta, session.adjacency)
    fit = 0.0 if division.regression is None else division.regression.cost.epsilon
    return _rounded_up(price.epsilon + fit)


def _added(part: Part, figure: str) -> tuple[str, ...]:
    return (figure,) if figure in part.possible and figure not in part.figures else ()


def enough(session: Session, division: Division, figure: str) -> float:
    """The ε of a whole report that carries one figure more of all columns that can have it; infinite beyond reason."""
    rows = division.rows
    wanted = ((part, f) for part in division.parts for f in (*part.figures, *_added(part, figure)))
    times = max(part.lacks(f, rows) for part, f in wanted)
    return total_for(session, division, times, figure) if times < HOPELESS else math.inf


def figure_advice(session: Session, division: Division, made: Made, cost: Privacy) -> str:
    """What would get a reply in place of a ⊥: rows, or an ε of the whole report."""
    if not isinstance(made, NoReply):
        return ""
    ways, advice = [], made.advice
    if advice.n is not None:
        ways.append(f"n of at least {advice.n:,}")
    factor = None if advice.epsilon is None else advice.epsilon / cost.epsilon
    if factor is not None and factor < HOPELESS:
        ways.append(f"ε of about {total_for(session, division, factor):g} for the whole report")
    return "a reply needs " + (" or ".join(ways) if ways else str(advice))


def hints(session: Session, division: Division, unanswered: int = 0) -> tuple[str, ...]:
    """What a report leaves out, and what would help most where it answers little."""
    numeric = [part for part in division.parts if part.numeric]
    poor = [part for part in numeric if "quartiles" not in part.figures]
    said = []
    if unanswered:
        said.append(f"{unanswered} of {len(numeric)} columns of numbers have no median.")
    elif poor:
        said.append(f"{len(poor)} of {len(numeric)} columns of numbers have a median and no quartiles.")
    if said:
        said.append(_help(session, division, numeric))
    return (*said, *_left_out(session, division))


def _help(session: Session, division: Division, numeric: list[Part]) -> str:
    """More ε, fewer columns, or a guess: whichever the user can do."""
    ways = []
    total = enough(session, division, "quartiles")
    if division.budget.epsilon < total < math.inf:
        ways.append(f"an ε of about {total:g} in place of {division.budget.epsilon:g}")
    times = max(part.lacks("quartiles", division.rows) for part in numeric)
    kept = int(len(numeric) / (times if division.budget.pure else times**2))  # n draws of ε/√n each, about, with δ
    if 0 < kept < len(numeric):
        ways.append(f"fewer columns (--columns, about {kept} of these {len(numeric)})")
    unguessed = [part for part in numeric if part.plausible is None]
    if unguessed:
        ways.append(f"a guess of where values lie (--plausible {label(unguessed[0].name)}=LOW:HIGH), right or wrong")
    return "What would help most: " + "; ".join(ways) + "." if ways else "Only more rows would help."


def _left_out(session: Session, division: Division) -> tuple[str, ...]:
    """Figures that the budget does not carry, in the order of their worth."""
    lines = []
    for figure, names in division.left_out().items():
        total, all_of_them = enough(session, division, figure), sum(figure in p.possible for p in division.parts)
        where = "" if len(names) == all_of_them else f" of {len(names)} columns"
        lines.append(f"{figure}{where}" + (f" (from ε of about {total:g} on)" if total < math.inf else ""))
    return ("Left out, since the budget does not carry it: " + "; ".join(lines) + ".",) if lines else ()


def _rounded_up(value: float) -> float:
    """Two digits, rounded up.

    >>> _rounded_up(2.341), _rounded_up(0.0312), _rounded_up(31.2)
    (2.4, 0.032, 32.0)
    """
    if not math.isfinite(value) or value <= 0:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.3g}")
