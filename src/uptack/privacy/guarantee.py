"""Privacy as a value: (ε, δ) under an adjacency, computed in rationals and shown as floats that are rounded up."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from uptack import checks
from uptack.errors import Incomparable
from uptack.exact import Rational, Real, ball, round_up
from uptack.privacy.adjacency import SUBSTITUTE, Adjacency, adjacency

LARGEST_EXPONENT = 10_000
"""Where ε is larger, e^ε is not written out: the guarantee says nothing."""


@dataclass(frozen=True, init=False, eq=True, repr=False)
class Privacy:
    """(ε, δ)-differential privacy: P(M(D) in S) ≤ e^ε·P(M(D') in S) + δ for all neighbours D, D' and all sets S.

    `exact_epsilon` and `exact_delta` are rationals. `epsilon` and `delta` are the least floats that are not below them.
    `a <= b` means that a is at least as strong as b in both parameters. This is a partial order.

    >>> Privacy(0.1) + Privacy(0.2, 1e-6) <= Privacy(0.3, 1e-6)
    True
    >>> Privacy(1.0).under(SUBSTITUTE.per_person(3)).epsilon
    3.0
    """

    exact_epsilon: Fraction
    exact_delta: Fraction
    adjacency: Adjacency

    def __init__(self, epsilon: Rational, delta: Rational = 0, adjacency: Adjacency = SUBSTITUTE) -> None:
        fix = "Use SUBSTITUTE or ADD_REMOVE."
        object.__setattr__(self, "exact_epsilon", checks.nonnegative("epsilon", epsilon))
        object.__setattr__(self, "exact_delta", checks.delta("delta", delta))
        object.__setattr__(self, "adjacency", checks.instance("adjacency", adjacency, Adjacency, "an adjacency", fix))

    @staticmethod
    def _implied(epsilon: Fraction, delta: Fraction, adjacency: Adjacency) -> Privacy:
        """A guarantee that others imply. Its δ may come to 1, which promises nothing and fits no budget."""
        result = Privacy(epsilon, 0, adjacency)
        object.__setattr__(result, "exact_delta", min(delta, Fraction(1)))
        return result

    @property
    def epsilon(self) -> float:
        """ε, rounded up."""
        return round_up(self.exact_epsilon)

    @property
    def delta(self) -> float:
        """δ, rounded up."""
        return round_up(self.exact_delta)

    @property
    def pure(self) -> bool:
        """Whether δ = 0."""
        return self.exact_delta == 0

    def _same_neighbours(self, other: object) -> Privacy:
        if not isinstance(other, Privacy):
            raise Incomparable(f"a Privacy can't be set against a {type(other).__name__}")
        if self.adjacency != other.adjacency:
            raise Incomparable(
                f"these guarantees are about different neighbours ({self.adjacency}; {other.adjacency}); "
                "bring both under one adjacency with .under(...)"
            )
        return other

    def __le__(self, other: Privacy) -> bool:
        other = self._same_neighbours(other)
        return self.exact_epsilon <= other.exact_epsilon and self.exact_delta <= other.exact_delta

    def __ge__(self, other: Privacy) -> bool:
        return self._same_neighbours(other) <= self

    def __lt__(self, other: Privacy) -> bool:
        return self <= other and self != other

    def __gt__(self, other: Privacy) -> bool:
        return self >= other and self != other

    def __add__(self, other: Privacy) -> Privacy:
        """Basic composition: both parameters add, even if the first answer decides what the second mechanism is."""
        other = self._same_neighbours(other)
        epsilon, delta = self.exact_epsilon + other.exact_epsilon, self.exact_delta + other.exact_delta
        return Privacy._implied(epsilon, delta, self.adjacency)

    def group(self, steps: int) -> Privacy:
        """Group privacy for tables k steps apart: (kε, δ·(1 + e^ε + ... + e^((k-1)ε))), with δ rounded up."""
        steps = checks.integer("steps", steps, least=1)
        grown = self.exact_delta
        if steps > 1 and grown > 0:
            grown = shorter(_grown(grown, self.exact_epsilon, steps))
        return Privacy._implied(steps * self.exact_epsilon, grown, self.adjacency)

    def under(self, relation: Adjacency) -> Privacy:
        """The guarantee that this one implies under another adjacency."""
        wider = self.group(self.adjacency.steps_to(adjacency(relation)))
        return Privacy._implied(wider.exact_epsilon, wider.exact_delta, relation)

    def power(self, size: Rational) -> float:
        """The largest power of a test between two values of one row, for an attacker who knows all other rows.

        Hall, Prop. 1.2.2: a test of size γ has power at most e^ε·γ + δ. Exchanging the hypotheses, it has power at most
        1 - e^-ε·(1 - γ - δ). The smaller bound is returned.
        """
        gamma = checks.probability("size", size)
        if self.exact_epsilon > LARGEST_EXPONENT:
            return 1.0 if gamma > 0 else self.delta

        def bound() -> arb:
            rise = ball(self.exact_epsilon).exp()
            plain = rise * ball(gamma) + ball(self.exact_delta)
            swapped = 1 - (1 - ball(gamma) - ball(self.exact_delta)).nonnegative_part() / rise
            return plain.min(swapped)

        return min(1.0, round_up(Real(bound).bounds()[1]))

    def explain(self, size: Rational = 0.05) -> str:
        """The guarantee in words, as a bound on the power of any attacker.

        >>> print(Privacy(1.0).explain())
        ε = 1.0 (substitute): an attacker who knows every other row, and accepts 5% false alarms, detects
        your value with probability at most 13.6%.
        """
        alarm, caught = float(checks.probability("size", size)), self.power(size)
        one = self.adjacency.rows_per_person == 1 and not self.adjacency.person
        yours = "your value" if one else "your rows"
        there = "whether your row is there" if one else "whether your rows are there"
        what = yours if self.adjacency.size_is_public else there
        others = "every other row" if one else "everybody else's rows"
        text = (
            f"{self}: an attacker who knows {others}, and accepts {100 * alarm:.3g}% false alarms, detects {what} with "
            f"probability at most {math.ceil(1000 * caught) / 10:.3g}%."
        )
        return textwrap.fill(text, 100)

    def __str__(self) -> str:
        delta = "" if self.pure else f", δ = {self.delta}"
        return f"ε = {self.epsilon}{delta} ({self.adjacency})"

    def __repr__(self) -> str:
        delta = "" if self.pure else f", delta={self.delta}"
        relation = "" if self.adjacency == SUBSTITUTE else f", adjacency={self.adjacency!r}"
        return f"Privacy(epsilon={self.epsilon}{delta}{relation})"

    def to_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency.kind,
            "rows_per_person": self.adjacency.rows_per_person,
            **({"person": list(self.adjacency.person)} if self.adjacency.person else {}),
        }


def _grown(delta: Fraction, epsilon: Fraction, steps: int) -> Fraction:
    """At least δ·(1 + e^ε + ... + e^((k-1)ε)) = δ·(e^(kε) - 1)/(e^ε - 1), or 1."""
    if epsilon == 0:
        return min(delta * steps, Fraction(1))
    if steps * epsilon > LARGEST_EXPONENT:
        return Fraction(1)
    factor = Real(lambda: ball(steps * epsilon).expm1() / ball(epsilon).expm1())
    return min(delta * factor.bounds()[1], Fraction(1))


def shorter(value: Fraction) -> Fraction:
    """A rational with 64 bits of numerator at or above this one, so that repeated conversions stay short."""
    unit = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length() - 63)
    return math.ceil(value / unit) * unit


def total(parts: Iterable[Privacy], adjacency: Adjacency = SUBSTITUTE) -> Privacy:
    """The sum of guarantees. An empty sum is (0, 0)."""
    return total_of(((part, 1) for part in parts), adjacency)


def total_of(parts: Iterable[tuple[Privacy, int]], adjacency: Adjacency = SUBSTITUTE) -> Privacy:
    """The sum of guarantees, each so many times."""
    nothing, epsilon, delta = Privacy(0, 0, adjacency), Fraction(0), Fraction(0)
    for part, times in parts:
        one = nothing._same_neighbours(part)
        epsilon, delta = epsilon + times * one.exact_epsilon, delta + times * one.exact_delta
    return Privacy._implied(epsilon, delta, adjacency)


@dataclass(frozen=True)
class RandomPrivacy:
    """(α, β, γ)-random differential privacy (Hall, ch. 5): **weaker than `Privacy`, and never mixed with it.**

    (α, β)-differential privacy holds for a random sample of n + 1 rows with probability at least 1 - γ over the sample.
    It protects typical rows of the population, and promises nothing for an unusual one.
    """

    alpha: Rational
    beta: Rational = 0
    gamma: Rational = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", checks.nonnegative("alpha", self.alpha))
        object.__setattr__(self, "beta", checks.delta("beta", self.beta))
        object.__setattr__(self, "gamma", checks.delta("gamma", self.gamma))

    def __add__(self, other: RandomPrivacy) -> RandomPrivacy:
        """Composition (Prop. 5.1.2, with β added as well): all three parameters add."""
        if not isinstance(other, RandomPrivacy):
            raise Incomparable(f"RandomPrivacy is weaker than, and not to be added to, {type(other).__name__}")
        mine, theirs = self._exact(), other._exact()
        return RandomPrivacy(*(a + b for a, b in zip(mine, theirs, strict=True)))

    def _exact(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(v) for v in (self.alpha, self.beta, self.gamma))

    def __str__(self) -> str:
        alpha, beta, gamma = (round_up(v) for v in self._exact())
        return f"α = {alpha}, β = {beta}, γ = {gamma} (random differential privacy)"

    def to_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        alpha, beta, gamma = (round_up(v) for v in self._exact())
        return {"kind": "random differential privacy", "alpha": alpha, "beta": beta, "gamma": gamma}
