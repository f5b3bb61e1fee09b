"""Privacy as a value: (ε, δ) under an adjacency, computed in rationals and shown as floats that are rounded up.

An adjacency defines which tables are neighbours. `whose` and `promise` describe who is protected, and how well.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from flint import arb

from uptack import checks
from uptack.errors import Incomparable, InvalidArgument
from uptack.exact import Rational, Real, ball, round_up
from uptack.labels import label

_KINDS = ("substitute", "add/remove")


MOST_ROWS = 1 << 40
"""The most rows per person: more than any table holds, and as many as the noise can be drawn for."""


@dataclass(frozen=True)
class Adjacency:
    """Neighbours are tables that differ in the data of one person.

    - `SUBSTITUTE`: at most `rows_per_person` rows are replaced. The number of rows is public.
    - `ADD_REMOVE`: one table has at most `rows_per_person` rows more than the other. The number of rows is secret.

    `person` names the columns that say whose row each row is, and () where rows are the unit. With a person, all rows
    of one id count as one, however many they are, and the number of rows is secret:

    - `SUBSTITUTE.by_person("id")`: all rows of one person are replaced by others of the same person, one or more. The
      number of people is public.
    - `ADD_REMOVE.by_person("id")`: one table has one person more than the other. The number of people is secret too.

    >>> SUBSTITUTE.per_person(3)
    Adjacency('substitute', rows_per_person=3)
    >>> print(SUBSTITUTE.by_person("patient_id"))
    substitute, people by patient_id
    """

    kind: str
    rows_per_person: int = 1
    person: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            fix = "Use uptack.SUBSTITUTE or uptack.ADD_REMOVE."
            raise InvalidArgument("adjacency", "'substitute' or 'add/remove'", checks.describe(self.kind), fix)
        if checks.integer("rows_per_person", self.rows_per_person, least=1) > MOST_ROWS:
            got, fix = checks.describe(self.rows_per_person), "It is the most rows that one person has."
            raise InvalidArgument("rows_per_person", f"at most {MOST_ROWS:,}", got, fix)
        if not isinstance(self.person, tuple) or not all(isinstance(name, str) and name for name in self.person):
            raise InvalidArgument("person", "a tuple of names of columns", checks.describe(self.person))
        if self.person and self.rows_per_person != 1:
            fix = "However many rows a person has, they count as one; leave rows_per_person out."
            raise InvalidArgument("rows_per_person", "1 if people are protected", self.rows_per_person, fix)

    @property
    def size_is_public(self) -> bool:
        """Whether the number of units is public, because they are replaced and not added or removed."""
        return self.kind == "substitute"

    @property
    def moves_per_row(self) -> int:
        """The ℓ1 sensitivity of a histogram to one row: 2 if it is replaced, 1 if it is added or removed."""
        return 2 if self.size_is_public else 1

    @property
    def unit(self) -> str:
        """What is counted: "rows" or "people"."""
        return "people" if self.person else "rows"

    @property
    def one_added(self) -> Adjacency:
        """The relation of one added or removed row or person, as in one of several disjoint parts."""
        return Adjacency("add/remove", person=self.person)

    def per_person(self, rows: int) -> Adjacency:
        """The same relation for people with up to this many rows."""
        return self if type(rows) is int and rows == self.rows_per_person else replace(self, rows_per_person=rows)

    def by_person(self, *names: str) -> Adjacency:
        """The same relation for people: rows with the same values in these columns belong to one person."""
        if not names:
            raise InvalidArgument("person", "the name of one column or more", "none")
        return replace(self, person=tuple(names))

    def steps_to(self, wider: Adjacency) -> int:
        """The number of steps of this relation that connect any two neighbours under another one.

        Replacing h rows is removing h and adding h. A guarantee for tables of one size implies nothing for tables of
        different sizes, so `SUBSTITUTE` implies nothing about `ADD_REMOVE`. A guarantee for rows implies none for
        people, who may have any number of rows. One for people implies none if a row may change its owner.
        """
        if self.person != wider.person:
            raise Incomparable(
                f"a guarantee for {self.whose} implies none for {wider.whose}; make the release itself with another "
                "person="
            )
        if self.size_is_public and not wider.size_is_public:
            raise Incomparable(
                "a guarantee under SUBSTITUTE treats the number of rows as public and implies none under ADD_REMOVE; "
                "make the release itself with adjacency=ADD_REMOVE"
            )
        rounds = -(-wider.rows_per_person // self.rows_per_person)
        return rounds if self.kind == wider.kind else 2 * rounds

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and `Adjacency.from_dict`.

        >>> Adjacency("substitute", person=("id",)).to_dict()
        {'kind': 'substitute', 'rows_per_person': 1, 'person': ['id']}
        """
        people = {"person": list(self.person)} if self.person else {}
        return {"kind": self.kind, "rows_per_person": self.rows_per_person, **people}

    @staticmethod
    def from_dict(written: dict[str, Any]) -> Adjacency:
        """The adjacency with the values of `to_dict`. Its fields are checked again."""
        return Adjacency(**{**written, "person": tuple(written.get("person", ()))})

    def __repr__(self) -> str:
        rows = "" if self.rows_per_person == 1 else f", rows_per_person={self.rows_per_person}"
        return f"Adjacency({self.kind!r}{rows}{f', person={self.person!r}' if self.person else ''})"

    def __str__(self) -> str:
        rows = "" if self.rows_per_person == 1 else f", {self.rows_per_person} rows per person"
        return self.kind + rows + (f", {self.whose}" if self.person else "")

    @property
    def whose(self) -> str:
        """The unit with its ids: "rows", or "people by patient_id"."""
        return f"people by {' and '.join(map(label, self.person))}" if self.person else "rows"


SUBSTITUTE = Adjacency("substitute")
ADD_REMOVE = Adjacency("add/remove")


def adjacency(value: object, rows_per_person: int = 1) -> Adjacency:
    """The argument as an adjacency, with this many rows per person."""
    if not isinstance(value, Adjacency):
        fix = "Use uptack.SUBSTITUTE or uptack.ADD_REMOVE."
        raise InvalidArgument("adjacency", "SUBSTITUTE or ADD_REMOVE", checks.describe(value), fix)
    if type(rows_per_person) is int and rows_per_person == 1:
        return value
    return value.per_person(value.rows_per_person * checks.integer("rows_per_person", rows_per_person, least=1))


LARGEST_EXPONENT = 10_000
"""For a larger ε, e^ε is not computed: the guarantee is void."""


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
    def implied(epsilon: Fraction, delta: Fraction, adjacency: Adjacency) -> Privacy:
        """A guarantee that follows from a theorem, with numbers that have been checked.

        Its δ may reach 1, which promises nothing and exceeds every budget.
        """
        result = object.__new__(Privacy)
        vars(result).update(exact_epsilon=epsilon, exact_delta=min(delta, Fraction(1)), adjacency=adjacency)
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
            raise Incomparable(f"a Privacy can't be compared with a {type(other).__name__}, or added to it")
        if self.adjacency != other.adjacency:
            raise Incomparable(
                f"these guarantees are about different neighbours ({self.adjacency}; {other.adjacency}); "
                "convert both to one adjacency with .under(...)"
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
        return Privacy.implied(epsilon, delta, self.adjacency)

    def group(self, steps: int) -> Privacy:
        """Group privacy for tables k steps apart: (kε, δ·(1 + e^ε + ... + e^((k-1)ε))), with δ rounded up."""
        steps, one, grown = checks.integer("steps", steps, least=1), self.exact_epsilon, self.exact_delta
        if steps > 1 and grown > 0:
            factor = Fraction(steps)
            if one > 0:  # (e^(kε) - 1)/(e^ε - 1), or so much that δ is 1
                powers = Real(lambda: ball(steps * one).expm1() / ball(one).expm1())
                factor = powers.bounds()[1] if steps * one <= LARGEST_EXPONENT else 1 / grown
            grown = shorter(min(grown * factor, Fraction(1)))
        return Privacy.implied(steps * one, grown, self.adjacency)

    def under(self, relation: Adjacency) -> Privacy:
        """The guarantee that this one implies under another adjacency."""
        if relation == self.adjacency:
            return self
        wider = self.group(self.adjacency.steps_to(adjacency(relation)))
        return Privacy.implied(wider.exact_epsilon, wider.exact_delta, relation)

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
        one = one_row(self.adjacency)
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
        delta = "" if self.pure else f", δ = {in_digits(self.delta)}"
        return f"ε = {in_digits(self.epsilon)}{delta} ({self.adjacency})"

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
            **{key: value for key, value in self.adjacency.to_dict().items() if key != "kind"},
        }


def shorter(value: Fraction) -> Fraction:
    """The value rounded up to 64 bits, so that repeated conversions stay short."""
    unit = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length() - 63)
    return math.ceil(value / unit) * unit


def total(parts: Iterable[Privacy], adjacency: Adjacency = SUBSTITUTE) -> Privacy:
    """The sum of guarantees. An empty sum is (0, 0)."""
    return total_of(((part, 1) for part in parts), adjacency)


def total_of(parts: Iterable[tuple[Privacy, int]], adjacency: Adjacency = SUBSTITUTE) -> Privacy:
    """The sum of guarantees, each counted the given number of times."""
    epsilon = delta = Fraction(0)
    nothing = Privacy.implied(epsilon, delta, adjacency)
    for part, times in parts:
        one = nothing._same_neighbours(part)
        epsilon, delta = epsilon + times * one.exact_epsilon, delta + times * one.exact_delta
    return Privacy.implied(epsilon, delta, adjacency)


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
            raise Incomparable(f"RandomPrivacy is weaker than {type(other).__name__} and can't be added to it")
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


# ---------------------------------------- in words

WEAK = 3.0
"""Above this ε the protection is weak, and the sentence says so."""


def whose(relation: Adjacency, noun: str = "row") -> str:
    """The unit of privacy, in one sentence. `noun` is what one row of the table is.

    >>> print(whose(SUBSTITUTE, "person-year"))
    Each person-year is protected. People with several rows are less protected than ε suggests.
    >>> print(whose(SUBSTITUTE, "person"))
    Each row is one person, who is protected.
    >>> print(whose(SUBSTITUTE.by_person("patient_id")))
    Each person is protected with all their rows (those with the same patient_id). The number of people is public; the
    number of rows of each person is secret.
    """
    if relation.person:
        ids = " and ".join(map(label, relation.person))
        size = "The number of people is public; the number of rows of each person is secret."
        if not relation.size_is_public:
            size = "The number of people is secret, and so is the number of rows of each person."
        return f"Each person is protected with all their rows (those with the same {ids}). {size}"
    if relation.rows_per_person > 1:
        most = relation.rows_per_person
        return f"Each person with at most {most:,} rows is protected. This assumes that nobody has more rows."
    if noun in PEOPLE:
        return f"Each row is one {noun}, who is protected."
    return f"Each {noun} is protected. People with several rows are less protected than ε suggests."


PEOPLE = ("person", "patient", "respondent", "participant", "customer", "employee", "student", "child", "member")
"""What a row can be called where it is all that a table holds of somebody."""


def promise(privacy: Privacy) -> str:
    """What a guarantee promises, in one sentence that stays honest where ε is large.

    >>> print(promise(Privacy(0.5)))
    Changing one row changes the probability of any result by at most a factor of 1.65 (ε = 0.5).
    >>> print(promise(Privacy(7, 1e-6)))
    Changing one row changes the probability of any result by at most a factor of 1,100 (ε = 7, δ = 1e-6). This is weak
    protection: an attacker who knows every other row, and accepts 5% false alarms, may detect a value with probability
    up to 100%.
    """
    if privacy.epsilon == 0 and not privacy.delta:
        return "Nothing was released from the data, so nothing was spent (ε = 0)."
    relation, times = privacy.adjacency, short(factor(rounded(privacy.epsilon, 3)))
    whom = "all rows of one person" if relation.person else "one row" if one_row(relation) else "one person's rows"
    change = "Changing" if relation.size_is_public else "Adding or removing"
    delta = f", δ = {short(privacy.delta)}" if privacy.delta else ""
    values = f"(ε = {short(privacy.epsilon)}{delta})"
    text = f"{change} {whom} changes the probability of any result by at most a factor of {times} {values}."
    if privacy.epsilon <= WEAK:
        return text
    caught = math.ceil(100 * privacy.power(0.05))
    return (
        f"{text} This is weak protection: an attacker who knows every other row, and accepts 5% false alarms, may "
        f"detect a value with probability up to {caught}%."
    )


def one_row(relation: Adjacency) -> bool:
    """Whether the unit of privacy is a single row."""
    return relation.rows_per_person == 1 and not relation.person


def factor(epsilon: float) -> float:
    """e^ε, infinite where no float is as large.

    >>> factor(0.0), factor(1e6)
    (1.0, inf)
    """
    return math.exp(epsilon) if epsilon < 709 else math.inf


def in_digits(value: float) -> str:
    """A privacy parameter as it was asked for, without the error of floats in a composition that just stays below it.

    >>> in_digits(0.1), in_digits(1e-6), in_digits(0.9999999999998077), in_digits(1.999653391193424)
    ('0.1', '1e-06', '1.0', '1.999653391193424')
    """
    near = rounded(value, 6)
    return str(near if value <= near <= value * (1 + 1e-9) else value)


def short(value: float, *, down: bool = False) -> str:
    """A privacy parameter, rounded up in its third digit; `down` is for what is left of a budget.

    >>> short(0.285714), short(1e-6), short(0), short(1096.6), short(1.5e12), short(1.4009, down=True)
    ('0.286', '1e-6', '0', '1,100', '1.5e12', '1.4')
    """
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "∞"
    text = f"{rounded(value, 3, down=down):.3g}"
    return (
        f"{float(text):,.0f}"
        if 1000 <= value < 1e6
        else text.replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    )


def rounded(value: float, digits: int, *, down: bool = False) -> float:
    """A number rounded up, or down, to so many digits. What is off by an error of floats only keeps its digits.

    >>> rounded(0.285714, 3), rounded(1.4009, 3, down=True), rounded(0.1, 6), rounded(0.0, 3)
    (0.286, 1.4, 0.1, 0.0)
    """
    slack, rounding = (1 + 1e-12, ROUND_FLOOR) if down else (1 - 1e-12, ROUND_CEILING)
    return float(Context(prec=digits, rounding=rounding).create_decimal(Decimal(float(value) * slack)))
