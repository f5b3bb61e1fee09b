"""The private profile of a table: every figure, what it cost, and ⊥ where there is none."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Concatenate, ParamSpec, TypeVar

from uptack.errors import BudgetExceeded, InvalidArgument, NoInterval, UptackError
from uptack.exact import Rational
from uptack.privacy import Privacy
from uptack.privacy.guarantee import total
from uptack.privacy.loss import Loss
from uptack.progress import Step, steps, track
from uptack.report.advice import FigureAdvice, hints
from uptack.report.beside import Beside
from uptack.report.budget import Division, Part, divide, losses
from uptack.report.cards import Figure, by_level, card, drawn, in_form, with_tails
from uptack.report.figures import CONFIDENCE, LEVELS, Draw, drawable, seen
from uptack.report.shown import Written
from uptack.session import Plan, PlannedRelease, Request, Session
from uptack.session.paid import PaidPlan
from uptack.session.requests import Made

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class ColumnProfile:
    """What is published about one column.

    `quantiles` are the released ones, by their levels, `releases` what was asked for, each with its cost: figures are
    read off these.
    """

    part: Part
    figures: tuple[Figure, ...]
    density: Figure | None = None
    quantiles: Mapping[Fraction, float] | None = None
    releases: tuple[Figure, ...] = ()

    @property
    def scale(self) -> float:
        """How large a difference is, in this column: its released interquartile range."""
        found = self.quantiles or {}
        return found[Fraction(3, 4)] - found[Fraction(1, 4)] if Fraction(1, 4) in found else 0.0

    def __getitem__(self, label: str) -> Figure:
        return next((figure for figure in self.figures if figure.label == label), Figure(label, None))

    @property
    def all_figures(self) -> tuple[Figure, ...]:
        """The figures, the density among them."""
        return self.figures if self.density is None else (*self.figures, self.density)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        figures = [figure.to_dict() for figure in self.all_figures]
        bill = [
            {"label": one.label, "how": one.how, "privacy": one.cost and one.cost.to_dict()} for one in self.releases
        ]
        own = {"name": self.part.name, "kind": self.part.kind, "skipped": self.part.skipped}
        return {**own, "figures": figures, "releases": bill}


@dataclass(frozen=True, repr=False)
class Profile(Written):
    """A whole report, before it is written. `rows` counts what the `unit` of privacy is: rows, or people."""

    title: str
    rows: int | None
    columns: tuple[ColumnProfile, ...]
    regression: tuple[tuple[str, ...], Figure] | None
    asked: Privacy
    spent: Privacy
    private: bool
    hints: tuple[str, ...] = ()
    unit: str = "rows"
    whose: str = ""
    correlations: tuple[tuple[str, ...], Figure] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = None
        if self.regression is not None:
            names, figure = self.regression
            found = {"target": names[0], "predictors": list(names[1:]), **figure.to_dict()}
        return {
            "table": self.title,
            self.unit: self.rows,
            "whose": self.whose,
            "privacy": {"asked": self.asked.to_dict(), "spent": self.spent.to_dict()},
            "private": self.private,
            "hints": list(self.hints),
            "columns": [column.to_dict() for column in self.columns],
            "regression": found,
            "correlations": None if self.correlations is None else self.correlations[1].to_dict(),
        }


class _Releases:
    """The releases of a report, one after the other, all paid for before the first.

    What can be wrong with a request is found before the debit, but for one that is made from released values: if it is
    refused, the others go on. Where rows can't be read, what was made stays in the report, and no more is tried.
    """

    def __init__(self, session: Session, division: Division, paid: PaidPlan | None) -> None:
        self.session, self._words, self._paid = session, FigureAdvice(session, division), paid
        self._failure, self._any = "", False
        self._trees: dict[Any, Loss] = {}

    def make(self, part: Part, draw: Draw, released: Mapping[Fraction, float]) -> Figure:
        """One figure of a column, which uses up its loss of the plan; ⊥ for nothing where public numbers refuse it."""
        if (refusal := part.refusals.get(draw.label)) is not None:
            return Figure.of(draw.label, refusal, None, self._advice(refusal, part, draw))
        request, paid = part.request(draw, released), self._paid
        tree = self._tree(part, draw)
        assert paid is not None, "a part without draws"
        figure, made = self._tried(draw.label, request, lambda: paid.run(request, tree))
        return figure if made is None else Figure.of(draw.label, made, figure.cost, self._advice(made, part, draw))

    def _tree(self, part: Part, draw: Draw) -> Loss:
        """The loss that was paid for. Columns that are asked alike lose alike."""
        key = (part.alike, draw.label)
        if key not in self._trees:
            self._trees[key] = self.session.loss_of(part.request(draw))
        return self._trees[key]

    def _advice(self, made: Made, part: Part, draw: Draw) -> str:
        return self._words(made, part.epsilon(draw))

    def beside(self, asked: Beside) -> tuple[tuple[str, ...], Figure]:
        """A release of several columns, which is paid for by itself."""
        request = asked.request
        if request is None:
            return asked.columns, Figure(asked.label, None, None, f"a reply needs {asked.refused}")
        return asked.columns, self._tried(asked.label, request, lambda: self.session.run(request))[0]

    def _tried(self, label: str, request: Request, make: Callable[[], Made]) -> tuple[Figure, Made | None]:
        """A figure, and the ⊥ that it is of."""
        if self._failure:
            return Figure(label, None, None, self._failure), None
        cost = self.session.complete(request).cost
        try:
            made = make()
        except UptackError as error:
            if not self._any:
                raise
            if isinstance(error, InvalidArgument):  # of this figure alone: what was asked came from released values
                return Figure(label, None, None, f"not made: {error}", "withheld", cost), None
            early = isinstance(error, BudgetExceeded)
            self._failure = "not made: " + ("the budget was used up meanwhile" if early else "the rows can't be read")
            return Figure(label, None, None, self._failure, "withheld", cost), None
        self._any = True
        figure = Figure.of(label, made, cost if made.loss is not None else None)
        return (figure, made) if made.value is None else (_with_interval(figure, made), None)


def _with_interval(figure: Figure, made: Any) -> Figure:
    """The figure with the interval of its release, where that has one."""
    try:
        low, high = made.interval(CONFIDENCE)
    except NoInterval:
        return figure
    return Figure(figure.label, figure.value, (low, high), figure.note, figure.how, figure.cost)


def in_one_state(make: Callable[Concatenate[Session, P], T]) -> Callable[Concatenate[Session, P], T]:
    """The same, with all that is counted and released from one state of the table: columns are read once."""

    @functools.wraps(make)
    def inside(session: Session, /, *given: P.args, **named: P.kwargs) -> T:
        with session.one_state():
            return make(session, *given, **named)

    return inside


@in_one_state
def plan(session: Session, /, epsilon: Rational, delta: Rational = 0, **choices: Any) -> Plan:
    """The costs and expected errors of a report, from public numbers alone."""
    division = divide(session, epsilon, delta, **choices)
    planned, free = session.plan(division.requests()), Privacy(0, 0, session.adjacency)
    refused = [
        PlannedRelease(part.request(draw), free, part.refusals[draw.label], "")
        for part in division.parts
        for draw in part.draws
        if draw.label in part.refusals
    ]
    said = hints(session, division, choices)
    return Plan((*planned.releases, *refused), most(division), planned.remaining, said)


def most(division: Division) -> Privacy:
    """What a report costs, at most: the columns together, and what there is beside them."""
    others = [one.cost for one in division.beside if one.cost is not None]
    return total([division.price, *others], division.price.adjacency)


@in_one_state
def profile(
    session: Session,
    epsilon: Rational,
    delta: Rational = 0,
    *,
    title: str = "table",
    columns: Sequence[str] | None = None,
    shares: Mapping[str, Rational] | None = None,
    target: str | None = None,
    correlations: bool = False,
    plausible: Mapping[str, tuple[Any, Any]] | None = None,
    progress: bool | None = None,
) -> Profile:
    """The private profile of a table for (ε, δ) in all.

    **Theorem.** The losses of all columns' releases are fixed before the first of them, and composed as such
    (`uptack.session.paid`); what is asked may depend on released values. Regression and correlations are releases of
    their own, and all add up to no more than what was asked for.
    """
    choices: dict[str, Any] = {"columns": columns, "shares": shares, "plausible": plausible}
    choices |= {"target": target, "correlations": correlations}
    with steps("planning", 1, show=progress):
        division = divide(session, epsilon, delta, **choices)
    before, rows = session.spent, session.source.rows if session.adjacency.size_is_public else None
    if rows == 0:
        raise InvalidArgument("data", "a table with at least one row", "none", "Nothing was spent.")
    price = most(division)
    if session.remaining is not None and not price.under(session.remaining.adjacency) <= session.remaining:
        raise BudgetExceeded(price, session.remaining)
    trees = losses(session, division.parts)
    paid = (
        session.pay(trees, division.budget.exact_delta, f"report of {len(division.parts)} columns") if trees else None
    )
    releases = _Releases(session, division, paid)
    with steps("figures of columns", len(division.parts) + len(division.beside), show=progress) as step:
        found = tuple(_column(releases, part) for part in _each(division.parts, step))
        others = {one.label: releases.beside(one) for one in _each(division.beside, step)}
    spent = _difference(session.spent, before)
    said = hints(session, division, choices, sum(map(_unanswered, found)))
    words = (said, session.adjacency.unit, session.whose)
    return Profile(
        title, rows, found, others.get("regression"), division.budget, spent, session.private, *words,
        correlations=others.get("correlations"),
    )  # fmt: skip


def _each(items: Iterable[T], step: Step) -> Iterator[T]:
    for item in items:
        step()
        yield item


def _difference(after: Privacy, before: Privacy) -> Privacy:
    epsilon, delta = after.exact_epsilon - before.exact_epsilon, after.exact_delta - before.exact_delta
    return Privacy(epsilon, delta, after.adjacency)


def _unanswered(column: ColumnProfile) -> bool:
    return column.part.numeric and column["median"].value is None


def _column(releases: _Releases, part: Part) -> ColumnProfile:
    """The figures of a column in their order, and what is worked out from them."""
    made: dict[str, Figure] = {}
    released: dict[Fraction, float] = {}
    for draw in track(part.draws, part.name, inner=True):
        if draw.label == "density" and not drawable(released):
            made["density"] = Figure("density", None, None, "no density, since the quantiles are too close together")
        elif draw.label == "interval" and not released:
            made["interval"] = Figure("interval", None, None, "no interval without a median")
        else:
            made[draw.label] = releases.make(part, draw, released)
        if draw.label in ("quantiles", "tails"):
            released = by_level(part.levels, made["quantiles"])
            released = with_tails(released, by_level(LEVELS["tails"], made.get("tails")))
    if not part.numeric:
        return ColumnProfile(part, tuple(made.values()), releases=tuple(made.values()))
    levels = (*part.levels, *LEVELS["tails"]) if "tails" in part.figures else part.levels
    shown = card(levels, released, made["quantiles"], made.get("interval"), part.kind == "integer")
    shown = shown if part.form is None else [in_form(figure, part.form) for figure in shown]
    shown += [made[label] for label in ("trimmed mean",) if label in made]
    density = drawn(made["density"], *seen(released)) if "density" in made else None  # drawable where there is one
    return ColumnProfile(part, tuple(shown), density, released, tuple(made.values()))
