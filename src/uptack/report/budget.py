"""How a total budget is divided over the columns of a table: by public numbers and the schema alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    "regression": 2,
}
"""Shares before the user weighs them: counts are exact enough with less than numbers need."""

CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True)
class Part:
    """What one column, or the regression, may spend."""

    name: str
    kind: str
    epsilon: Fraction
    delta: Fraction

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
        return self.kind == "boolean" or (self.kind == "text" and self.delta > 0)

    @property
    def skipped(self) -> str:
        """Why nothing is released; "" where something is."""
        if self.numeric or self.countable:
            return ""
        if self.kind == "text":
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
    """The parts of a report: one a column, and one named "" for the regression, if there is one.

    ε is divided by `WEIGHTS` times the shares (1 for each column that is not named), δ evenly over the parts that use
    some.
    """
    whole, slack = checks.positive("epsilon", epsilon), checks.delta("delta", delta)
    kinds = session.source.columns
    names = tuple(kinds) if columns is None else tuple(columns)
    for name in (*names, *(shares or {})):
        known(name, kinds)
    wanted = {name: checks.positive(f"share of {name}", (shares or {}).get(name, 1)) for name in names}
    weights = {name: share * WEIGHTS.get(kinds[name], 1) for name, share in wanted.items()}
    if target is not None:
        known(target, kinds, NUMERIC)
        weights[""] = Fraction(WEIGHTS["regression"])
    made = {name: Part(name, kinds.get(name, "regression"), Fraction(0), slack) for name in weights}
    used = [name for name, part in made.items() if not part.skipped or name == ""]
    if not used:
        raise InvalidArgument(
            "columns", "at least one that can be reported", "none", "See uptack.open(...).describe()."
        )
    total = sum((weights[name] for name in used), Fraction(0))
    careful = [name for name in used if name != "" and kinds[name] != "boolean"]
    return [
        Part(
            name,
            part.kind,
            whole * weights[name] / total if name in used else Fraction(0),
            slack / len(careful) if name in careful else slack if name not in used else Fraction(0),
        )
        for name, part in made.items()
    ]


def most(parts: Sequence[Part], session: Session) -> Privacy:
    """What the parts cost together, at most."""
    epsilon = sum((part.epsilon for part in parts), Fraction(0))
    delta = sum((part.delta for part in parts if not part.skipped), Fraction(0))
    return Privacy(epsilon, delta, session.adjacency)
