"""How a total budget is divided over the columns of a table: by public numbers and the schema alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from uptack import checks
from uptack.data.protocol import NUMERIC, known
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.privacy import Privacy
from uptack.session import Request, Session


@dataclass(frozen=True)
class FigureShare:
    """A figure of a column: what it is called, its part of the column's ε, and the release that it is.

    `ask(part, epsilon, released)` makes the request. `released` are the figures before it: empty in a plan, where what
    is asked stands for any question of the same cost.
    """

    label: str
    share: Fraction
    ask: Callable[[Part, Fraction, Mapping[str, Any]], Request]


def _median(part: Part, epsilon: Fraction, released: Mapping[str, Any]) -> Request:
    return Request("median", part.name, epsilon=epsilon, interval=CONFIDENCE)


def _quartiles(part: Part, epsilon: Fraction, released: Mapping[str, Any]) -> Request:
    return Request("quantile", part.name, epsilon=epsilon, p=[0.25, 0.75])


def _trimmed_mean(part: Part, epsilon: Fraction, released: Mapping[str, Any]) -> Request:
    return Request("trimmed_mean", part.name, epsilon=epsilon, cut=0.1)


def _density(part: Part, epsilon: Fraction, released: Mapping[str, Any]) -> Request:
    """With Gaussian-process noise, or by Fourier coefficients where δ = 0; where, the quartiles say."""
    where = released.get("where", {"bandwidth": 1.0, "low": 0.0, "high": 1.0})
    if part.delta:
        return Request("kde", part.name, epsilon=epsilon, delta=part.delta, bandwidth=where["bandwidth"])
    return Request("fourier_density", part.name, epsilon=epsilon, low=where["low"], high=where["high"])


def _counts(part: Part, epsilon: Fraction, released: Mapping[str, Any]) -> Request:
    """Of the two truth values, or of whatever categories there are."""
    if part.kind == "boolean":
        return Request("histogram", part.name, epsilon=epsilon, keys=[False, True])
    return Request("histogram", part.name, epsilon=epsilon, delta=part.delta)


def whole(*figures: FigureShare) -> tuple[FigureShare, ...]:
    """Figures whose shares add up to one: with less some ε would be lost, with more it would be overspent."""
    total = sum(figure.share for figure in figures)
    if total != 1:
        raise InvalidArgument("figures", "shares that add up to 1", float(total))
    return figures


NUMBERS = whole(
    FigureShare("median", Fraction(35, 100), _median),
    FigureShare("quartiles", Fraction(25, 100), _quartiles),
    FigureShare("trimmed mean", Fraction(20, 100), _trimmed_mean),
    FigureShare("density", Fraction(20, 100), _density),
)
"""The figures of a numeric column, in the order in which they are made. What else is shown is worked out from these."""

CATEGORIES = whole(FigureShare("counts", Fraction(1), _counts))

WEIGHTS: dict[str, Fraction | int] = {
    "integer": 1,
    "number": 1,
    "boolean": Fraction(1, 8),
    "text": Fraction(1, 3),
    "any": Fraction(1, 3),
    "regression": Fraction(5, 2),
}
"""Shares before the user weighs them: counts are exact enough with less than numbers need."""

COUNTED = ("text", "any")
"""Kinds whose categories nobody listed beforehand: texts, and columns without a declared type."""

CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True)
class Part:
    """What one column, or the regression, may spend."""

    name: str
    kind: str
    epsilon: Fraction
    delta: Fraction

    @property
    def fitted(self) -> bool:
        """Whether it is the regression."""
        return self.kind == "regression"

    @property
    def numeric(self) -> bool:
        """Whether it is a column of numbers."""
        return self.kind in ("integer", "number")

    @property
    def figures(self) -> tuple[FigureShare, ...]:
        """The figures of a column."""
        return NUMBERS if self.numeric else CATEGORIES if self.countable else ()

    def requests(self) -> list[Request]:
        """The releases of a column, in the order in which they are made."""
        return [self.request(figure) for figure in self.figures]

    def request(self, figure: FigureShare, released: Mapping[str, Any] = MappingProxyType({})) -> Request:
        """One of them, given what has been released."""
        return figure.ask(self, self.epsilon * figure.share, released)

    @property
    def countable(self) -> bool:
        """Whether its categories can be counted: those of a text are not known beforehand, which needs some δ."""
        return self.kind == "boolean" or (self.kind in COUNTED and self.delta > 0)

    @property
    def careful(self) -> bool:
        """Whether it uses some δ."""
        return self.delta > 0 and (self.numeric or self.kind in COUNTED)

    @property
    def skipped(self) -> str:
        """Why nothing is released; "" where something is."""
        if self.numeric or self.countable or self.fitted:
            return ""
        if self.kind in COUNTED:
            return "Counting categories that nobody listed beforehand needs δ > 0: pass --delta 1e-6."
        return f"Columns of type {self.kind} are not reported."


def divide(
    session: Session,
    epsilon: Rational,
    delta: Rational = 0,
    *,
    columns: Sequence[str] | None = None,
    shares: Mapping[str, Rational] | None = None,
    target: str | None = None,
) -> list[Part]:
    """The parts of a report: one per column, and one for the regression, if there is one.

    ε is divided by `WEIGHTS` times the shares (1 for each column that is not named), δ evenly over the parts that use
    some.
    """
    whole, slack = checks.epsilon(epsilon), checks.delta("delta", delta)
    kinds = session.source.columns
    names = tuple(kinds) if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
    for name in (*names, *(shares or {})):
        known(name, kinds)
    parts = [_weighed(Part(name, kinds[name], Fraction(0), slack), (shares or {}).get(name, 1)) for name in names]
    if target is not None:
        known(target, kinds, NUMERIC)
        if not session.predictors(target, None):
            raise InvalidArgument("target", "one of several columns of numbers", repr(target))
        parts.append(_weighed(Part(target, "regression", Fraction(0), Fraction(0)), 1))
    total = sum((part.epsilon for part in parts), Fraction(0))
    if not total:
        raise InvalidArgument(
            "columns", "at least one that can be reported", "none", "See uptack.open(...).describe()."
        )
    careful = sum(part.careful for part in parts)
    return [
        replace(part, epsilon=whole * part.epsilon / total, delta=slack / careful if part.careful else Fraction(0))
        for part in parts
    ]


def _weighed(part: Part, share: Rational) -> Part:
    """A part with its weight in place of ε: 0 where nothing is released, and then δ says whether some was given."""
    weight = checks.positive(f"share of {part.name}", share) * WEIGHTS.get(part.kind, 1)
    return part if part.skipped else replace(part, epsilon=weight)


def most(parts: Sequence[Part], session: Session) -> Privacy:
    """What the parts cost together, at most."""
    epsilon = sum((part.epsilon for part in parts), Fraction(0))
    delta = sum((part.delta for part in parts if part.careful), Fraction(0))
    return Privacy(epsilon, delta, session.adjacency)
