"""The private profile of a table: every figure, what it cost, and ⊥ where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uptack.errors import NoInterval
from uptack.exact import Rational
from uptack.functions.density import DensityCurve
from uptack.privacy import Privacy
from uptack.progress import track
from uptack.release import NoReply
from uptack.report.budget import CONFIDENCE, Part, divide
from uptack.session import Plan, Request, Session
from uptack.session.plan import total_cost
from uptack.session.requests import Made

GRID = 160
"""Points of a drawn density."""

BEYOND = 2
"""How many interquartile ranges beyond the quartiles a density is drawn."""


@dataclass(frozen=True)
class Figure:
    """One released figure, or what came in its place. `derived` ones are worked out from released ones, for free."""

    label: str
    result: Made | None
    value: Any
    interval: tuple[Any, Any] | None = None
    note: str = ""
    derived: bool = False

    @staticmethod
    def of(label: str, result: Made) -> Figure:
        """The figure of a release."""
        if isinstance(result, NoReply):
            return Figure(label, result, None, None, f"a reply needs {result.advice}")
        return Figure(label, result, result.value, _interval(result), " ".join(result.notes))

    @property
    def cost(self) -> Privacy | None:
        """What it cost; None for a derived one."""
        return None if self.derived or self.result is None else _privacy(self.result)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        value = self.value.to_dict() if hasattr(self.value, "to_dict") else _plain(self.value)
        ends = None if self.interval is None else [_plain(end) for end in self.interval]
        cost = None if self.cost is None else self.cost.to_dict()
        return {"label": self.label, "value": value, "interval": ends, "note": self.note, "privacy": cost}


@dataclass(frozen=True)
class ColumnProfile:
    """What is published about one column."""

    part: Part
    figures: tuple[Figure, ...]
    density: Figure | None = None

    @property
    def scale(self) -> float:
        """How large a difference is, in this column: its released interquartile range."""
        return float(self["interquartile range"].value or 0.0) if self.part.numeric and self.figures else 0.0

    def __getitem__(self, label: str) -> Figure:
        return next(figure for figure in self.figures if figure.label == label)

    @property
    def all_figures(self) -> tuple[Figure, ...]:
        """The figures, the density among them."""
        return self.figures if self.density is None else (*self.figures, self.density)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        figures = [figure.to_dict() for figure in self.all_figures]
        return {"name": self.part.name, "kind": self.part.kind, "figures": figures, "skipped": self.part.skipped}


@dataclass(frozen=True)
class Profile:
    """A whole report, before it is written."""

    title: str
    rows: int | None
    columns: tuple[ColumnProfile, ...]
    regression: tuple[tuple[str, ...], Figure] | None
    asked: Privacy
    spent: Privacy
    private: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = None
        if self.regression is not None:
            names, figure = self.regression
            found = {"target": names[0], "predictors": list(names[1:]), **figure.to_dict()}
        return {
            "table": self.title,
            "rows": self.rows,
            "privacy": {"asked": self.asked.to_dict(), "spent": self.spent.to_dict()},
            "private": self.private,
            "columns": [column.to_dict() for column in self.columns],
            "regression": found,
        }


def _privacy(result: Made) -> Privacy:
    assert isinstance(result.privacy, Privacy)
    return result.privacy


def _interval(result: Any) -> tuple[Any, Any] | None:
    try:
        low, high = result.interval(CONFIDENCE)
        return low, high
    except NoInterval:
        return None


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def requests(parts: Sequence[Part], session: Session, target: str | None) -> list[Request]:
    """Everything that a report asks for."""
    asked = [request for part in parts if part.name for request in part.requests()]
    return asked + [_regression(session, part, str(target)) for part in parts if not part.name]


def plan(session: Session, epsilon: Rational, delta: Rational = 0, **choices: Any) -> Plan:
    """The costs and expected errors of a report, from public numbers alone."""
    return session.plan(requests(divide(session, epsilon, delta, **choices), session, choices.get("target")))


def profile(
    session: Session,
    epsilon: Rational,
    delta: Rational = 0,
    *,
    title: str = "table",
    columns: Sequence[str] | None = None,
    shares: Mapping[str, Rational] | None = None,
    target: str | None = None,
    progress: bool | None = None,
) -> Profile:
    """The private profile of a table for (ε, δ) in all.

    **Theorem.** Each figure is a release of the session with its own (ε, δ), chosen from released values at most; they
    add up to no more than what was asked for (basic composition, which allows for such choices).
    """
    parts = divide(session, epsilon, delta, columns=columns, shares=shares, target=target)
    before = session.spent
    found = [_column(session, part) for part in track([p for p in parts if p.name], "columns", show=progress)]
    fits = [_fitted(session, part, str(target)) for part in parts if not part.name]
    costs = [figure.cost for column in found for figure in column.all_figures if figure.cost is not None]
    costs += [figure.cost for _, figure in fits if figure.cost is not None]
    asked = Privacy(sum(p.epsilon for p in parts), sum(p.delta for p in parts if not p.skipped), before.adjacency)
    rows = session.source.rows if session.adjacency.kind == "substitute" else None
    return Profile(
        title, rows, tuple(found), fits[0] if fits else None, asked, total_cost(costs, before), session.private
    )


def _column(session: Session, part: Part) -> ColumnProfile:
    if part.skipped:
        return ColumnProfile(part, ())
    if not part.numeric:
        return ColumnProfile(part, (Figure.of("counts", session.run(part.histogram())),))
    median, quartiles = session.run(part.median()), session.run(part.quartiles())
    mean = session.run(part.mean())
    lower, upper, spread = _quartiles(quartiles)
    figures = (Figure.of("median", median), lower, upper, spread, Figure.of("trimmed mean", mean))
    return ColumnProfile(part, figures, _density(session, part, lower.value, upper.value))


def _quartiles(result: Made) -> tuple[Figure, Figure, Figure]:
    """Both quartiles, and their difference, which costs nothing more."""
    if isinstance(result, NoReply):
        note = f"a reply needs {result.advice}"
        second, third = (Figure(label, None, None, None, note) for label in ("upper quartile", "interquartile range"))
        return Figure.of("lower quartile", result), second, third
    low, high = map(float, result.value)
    return (
        Figure("lower quartile", result, low),
        Figure("upper quartile", None, high, note="from the same draw", derived=True),
        Figure("interquartile range", None, high - low, note="upper less lower quartile", derived=True),
    )


def _density(session: Session, part: Part, low: float | None, high: float | None) -> Figure:
    """The density over a range that the released quartiles suggest, with Silverman's bandwidth from them."""
    if low is None or high is None or not high > low:
        return Figure("density", None, None, None, "no density without a spread of the quartiles")
    spread = high - low
    left, right = low - BEYOND * spread, high + BEYOND * spread
    rows = max(session.source.rows, 2) if session.adjacency.kind == "substitute" else 1000
    bandwidth = 0.9 * spread / 1.34 * rows**-0.2
    result = session.run(part.density(bandwidth, left, right))
    if isinstance(result, NoReply):
        return Figure.of("density", result)
    points = np.linspace(left, right, GRID)
    return Figure("density", result, DensityCurve.on_grid(points, result.value.at(points)))


def _regression(session: Session, part: Part, target: str) -> Request:
    names = (target, *session.predictors(target, None))
    return Request("regression", *names, epsilon=part.epsilon, standard_errors=True, missing="ignore")


def _fitted(session: Session, part: Part, target: str) -> tuple[tuple[str, ...], Figure]:
    request = _regression(session, part, target)
    return request.columns, Figure.of("regression", session.run(request))
