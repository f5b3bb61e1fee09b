"""How a total budget is divided over the columns of a table: by public numbers and the schema alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from uptack import checks
from uptack.data.protocol import NUMERIC, known
from uptack.errors import InvalidArgument
from uptack.exact import Rational
from uptack.privacy import Privacy
from uptack.session import Request, Session

MEDIAN, QUARTILES, MEAN, DENSITY = Fraction(35, 100), Fraction(25, 100), Fraction(20, 100), Fraction(20, 100)
"""What each figure of a numeric column gets of the column's ε. The interquartile range comes from the quartiles."""

WEIGHTS: dict[str, Fraction | int] = {
    "integer": 1,
    "number": 1,
    "boolean": Fraction(1, 8),
    "text": Fraction(1, 3),
    "any": Fraction(1, 3),
    "regression": 2,
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

    def requests(self) -> list[Request]:
        """The releases of a column, in the order in which they are made.

        The density comes last: its bandwidth is read off the released quartiles, so here it stands with some bandwidth,
        which its cost does not depend on.
        """
        if self.numeric:
            return [self.median(), self.quartiles(), self.mean(), self.density(1.0, 0.0, 1.0)]
        return [self.histogram()] if self.countable else []

    def median(self) -> Request:
        """The median, with an interval for the population."""
        return Request("median", self.name, epsilon=self.epsilon * MEDIAN, interval=CONFIDENCE)

    def quartiles(self) -> Request:
        """The lower and the upper quartile in one draw."""
        return Request("quantile", self.name, epsilon=self.epsilon * QUARTILES, p=[0.25, 0.75])

    def mean(self) -> Request:
        """The mean of the middle four fifths."""
        return Request("trimmed_mean", self.name, epsilon=self.epsilon * MEAN, cut=0.1)

    def density(self, bandwidth: float, low: float, high: float) -> Request:
        """The density: with Gaussian-process noise, or by Fourier coefficients where δ = 0."""
        epsilon = self.epsilon * DENSITY
        if self.delta:
            return Request("kde", self.name, epsilon=epsilon, delta=self.delta, bandwidth=bandwidth)
        return Request("fourier_density", self.name, epsilon=epsilon, low=low, high=high)

    def histogram(self) -> Request:
        """Counts of categories: of the two truth values, or of whatever texts there are."""
        if self.kind == "boolean":
            return Request("histogram", self.name, epsilon=self.epsilon, keys=[False, True])
        return Request("histogram", self.name, epsilon=self.epsilon, delta=self.delta)

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
    """The parts of a report: one a column, and one for the regression, if there is one.

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
