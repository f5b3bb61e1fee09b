"""The private profile of a table: every figure, what it cost, and ⊥ where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uptack.errors import BudgetExceeded, InvalidArgument, NoInterval, UptackError
from uptack.exact import Rational
from uptack.kernels.density import DensityCurve
from uptack.privacy import Privacy
from uptack.progress import track
from uptack.release import NoReply
from uptack.report.budget import CONFIDENCE, Part, divide, most
from uptack.session import Plan, Request, Session
from uptack.session.requests import Made

GRID = 160
"""Points of a drawn density."""

SECRET_ROWS = 1000
"""What a bandwidth takes the number of rows for where it is secret: the fifth root of it is all that matters."""

BEYOND = 2
"""How many interquartile ranges beyond the quartiles a density is drawn."""


@dataclass(frozen=True)
class Figure:
    """One released figure, or what came in its place. Without a cost it was worked out from released ones."""

    label: str
    value: Any
    interval: tuple[Any, Any] | None = None
    note: str = ""
    how: str = ""
    cost: Privacy | None = None

    @staticmethod
    def of(label: str, result: Made, cost: Privacy) -> Figure:
        """The figure of a release, and what was debited for it."""
        how = result.mechanism
        if isinstance(result, NoReply):
            return Figure(label, None, None, f"a reply needs {result.advice}", how, cost)
        return Figure(label, result.value, _interval(result), " ".join(result.notes), how, cost)

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


class _Releases:
    """The releases of a report, one after the other.

    All that can be wrong with a request is found before the first debit. Where a release fails all the same, those
    before it are paid for and stay in the report, and none is tried after it.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._failure, self._any = "", False

    def make(self, label: str, request: Request) -> Figure:
        """One figure. What it cost is what the session debited for it, whatever came of it."""
        if self._failure:
            return Figure(label, None, None, self._failure)
        before = self.session.spent
        try:
            made = self.session.run(request)
        except UptackError as error:
            if not self._any:
                raise
            early = isinstance(error, BudgetExceeded)
            self._failure = "not made: " + ("the budget was used up meanwhile" if early else "the rows can't be read")
            cost = _difference(self.session.spent, before)
            return Figure(label, None, None, self._failure, "withheld", cost)
        self._any = True
        return Figure.of(label, made, _difference(self.session.spent, before))


def _difference(after: Privacy, before: Privacy) -> Privacy:
    epsilon, delta = after.exact_epsilon - before.exact_epsilon, after.exact_delta - before.exact_delta
    return Privacy(epsilon, delta, after.adjacency)


def _interval(result: Any) -> tuple[Any, Any] | None:
    try:
        low, high = result.interval(CONFIDENCE)
        return low, high
    except NoInterval:
        return None


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def requests(parts: Sequence[Part], session: Session) -> list[Request]:
    """Everything that a report asks for."""
    asked = [request for part in parts if not part.fitted for request in part.requests()]
    return asked + [_regression(session, part) for part in parts if part.fitted]


def plan(session: Session, epsilon: Rational, delta: Rational = 0, **choices: Any) -> Plan:
    """The costs and expected errors of a report, from public numbers alone."""
    return session.plan(requests(divide(session, epsilon, delta, **choices), session))


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
    asked, before, rows = most(parts, session), session.spent, _public_rows(session)
    if rows == 0:
        raise InvalidArgument("data", "a table with at least one row", "none", "Nothing was spent.")
    session.plan(requests(parts, session))  # whatever is wrong with a request is found before the first debit
    if session.remaining is not None and not asked.under(session.remaining.adjacency) <= session.remaining:
        raise BudgetExceeded(asked, session.remaining)
    releases = _Releases(session)
    found = [_column(releases, part) for part in track([p for p in parts if not p.fitted], "columns", show=progress)]
    fits = [_fitted(releases, part) for part in parts if part.fitted]
    spent = _difference(session.spent, before)
    return Profile(title, rows, tuple(found), fits[0] if fits else None, asked, spent, session.private)


def _public_rows(session: Session) -> int | None:
    """The number of rows, where it is public."""
    return session.source.rows if session.adjacency.size_is_public else None


def _column(releases: _Releases, part: Part) -> ColumnProfile:
    """The figures of a column in their order, and what is worked out from them."""
    made: dict[str, Figure] = {}
    where: dict[str, Any] = {}
    for figure in part.figures:
        if figure.label == "density" and not (where := _where(releases.session, made["quartiles"])):
            made["density"] = Figure("density", None, None, "no density without a spread of the quartiles")
        else:
            made[figure.label] = releases.make(figure.label, part.request(figure, {"where": where} if where else {}))
    shown: list[Figure] = []
    for label, one in made.items():
        shown += _quartiles(one) if label == "quartiles" else [] if label == "density" else [one]
    return ColumnProfile(part, tuple(shown), _drawn(made["density"], where) if "density" in made else None)


def _quartiles(whole: Figure) -> tuple[Figure, Figure, Figure]:
    """Both quartiles, and their difference, which costs nothing more."""
    whole, labels = replace(whole, label="lower quartile"), ("upper quartile", "interquartile range")
    if whole.value is None:
        second, third = (Figure(label, None, None, whole.note) for label in labels)
        return whole, second, third
    low, high = map(float, whole.value)
    return (
        replace(whole, value=low, interval=None, note=""),
        Figure(labels[0], high, note="from the same draw"),
        Figure(labels[1], high - low, note="upper less lower quartile"),
    )


def _where(session: Session, quartiles: Figure) -> dict[str, Any]:
    """The range of a density that released quartiles suggest, and Silverman's bandwidth from them; {} without any."""
    low, high = (0.0, 0.0) if quartiles.value is None else map(float, quartiles.value)
    spread = high - low
    if not spread > 0:
        return {}
    bandwidth = 0.9 * spread / 1.34 * max(_public_rows(session) or SECRET_ROWS, 2) ** -0.2
    return {"bandwidth": bandwidth, "low": low - BEYOND * spread, "high": high + BEYOND * spread}


def _drawn(density: Figure, where: Mapping[str, Any]) -> Figure:
    """A released density as a curve over its range."""
    if density.value is None:
        return density
    points = np.linspace(where["low"], where["high"], GRID)
    return replace(density, value=DensityCurve.on_grid(points, density.value.at(points)), interval=None)


def _regression(session: Session, part: Part) -> Request:
    names = (part.name, *session.predictors(part.name, None))
    return Request("regression", *names, epsilon=part.epsilon, standard_errors=True, missing="ignore")


def _fitted(releases: _Releases, part: Part) -> tuple[tuple[str, ...], Figure]:
    request = _regression(releases.session, part)
    return request.columns, releases.make("regression", request)
