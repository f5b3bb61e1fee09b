"""Noise for counts of cells; the number of cells per person; unknown categories, listed where they have enough rows.

When a row is replaced, one cell of a table rises by one and another falls by one. The two directions may be hidden
unequally, which is what `SkewedLaplace` is for.

A count of *people with at least one row* in a cell has noise in proportion to the number g of cells that one person may
count in. A small g leaves people out of some of their cells; a large one adds noise to all cells.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from uptack import checks
from uptack.account import Account, AssumptionFailed, Mechanism
from uptack.errors import InvalidArgument
from uptack.exact import Rational, Real, ball, least, logarithm, working
from uptack.mechanisms.inverse_sensitivity import WeightedCandidates, decay
from uptack.noise import Entropy, Geometric, IntegerLaplace, IntegerLaw
from uptack.noise.integer_laws import Integers, check_scale, refuse_tiny
from uptack.privacy import Adjacency, Privacy, loss
from uptack.privacy.loss import Approximate
from uptack.table.protocol import Column
from uptack.table.unit import ROW, PrivacyUnit
from uptack.table.values.kinds import in_order

GUARD = 128
"""Bits of working precision beyond the digits of U that a binomial draw compares."""


@dataclass(frozen=True)
class SkewedLaplace(IntegerLaw):
    """The integer Laplace law with a scale of its own on either side: P(z = k) = c·e^(-k/up), c·e^(k/down) below 0.

    It is the law of G - H for geometric G of scale `up` and H of scale `down`; with u = e^(-1/up) and d = e^(-1/down),
    c = (1 - u)(1 - d)/(1 - ud).

    **Theorem.** Let one row that is replaced raise one count by one and lower another by one (SUBSTITUTE). Independent
    noise on every count is ε-differentially private iff 1/up + 1/down ≤ ε; where a row is added or removed (ADD_REMOVE)
    iff max(1/up, 1/down) ≤ ε. With g rows per person, ε/g instead of ε.

    *Proof.* P(z = k - 1)/P(z = k) is e^(1/up) for k ≥ 1 and e^(-1/down) for k ≤ 0. So a count that rises by one
    multiplies the probability of an output by at most e^(1/up) and at least e^(-1/down), and one that falls by one by
    at most e^(1/down). A substitution does both, to two independent cells; an added or removed row does one. ∎

    Only the sum of the rates is fixed, so noise may be kept from rising at the price that it falls further: a table
    that is mostly empty has all its false cells from noise that rises.

    >>> law = SkewedLaplace(up=1, down=4)
    >>> law.cutoff(1e-6), SkewedLaplace("8/5", "8/5").cutoff(1e-6)
    (13, 22)
    """

    up: Rational
    down: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "up", check_scale("up", self.up))
        object.__setattr__(self, "down", check_scale("down", self.down))

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """The difference of two geometric vectors."""
        return self.beyond(size, entropy) - Geometric(self.down).draw(size, entropy)

    def beyond(self, size: int, entropy: Entropy) -> Integers:
        """z - t given z ≥ t, the same for every t ≥ 0: geometric, which has no memory."""
        return Geometric(self.up).draw(size, entropy)

    def exact_pmf(self, k: int) -> Real:
        """c·u^k for k ≥ 0 and c·d^-k below."""
        scale = Fraction(self.up if k >= 0 else self.down)
        return Real(lambda: self._times(lambda u, d: (1 - u) * (1 - d), abs(k), scale))

    def exact_tail(self, k: int) -> Real:
        """(1 - d)/(1 - ud)·u^k for k ≥ 0, and 1 - (1 - u)/(1 - ud)·d^(1 - k) below."""
        if k >= 0:
            return Real(lambda: self._times(lambda u, d: 1 - d, k, Fraction(self.up)))
        return Real(lambda: 1 - self._times(lambda u, d: 1 - u, 1 - k, Fraction(self.down)))

    def price(self, move: Sequence[int], delta: Fraction = Fraction(0)) -> float:
        """The dearer of the move and its reverse: 1/up for each step up, 1/down for each step down."""
        up, down = float(Fraction(self.up)), float(Fraction(self.down))
        rise, fall = sum(m for m in move if m > 0), -sum(m for m in move if m < 0)
        return max(rise / up + fall / down, fall / up + rise / down)

    def _times(self, factor: Callable[[arb, arb], arb], k: int, scale: Fraction) -> arb:
        u, d = (ball(-1 / Fraction(rate)).exp() for rate in (self.up, self.down))
        return factor(u, d) * ball(-k / scale).exp() / (1 - u * d)


def cell_noise(
    epsilon: Fraction, relation: Adjacency, rising: Fraction = Fraction(1, 2), most: int = 1
) -> SkewedLaplace:
    """Noise that makes all cells of a table of counts together ε-private: see `SkewedLaplace`.

    Under SUBSTITUTE `rising` is the share of ε that hides a rising count; a half gives the integer Laplace law of scale
    2/ε. Under ADD_REMOVE either side has all of ε: scale 1/ε. For tables of units (`uptack.table.unit`) `most` is
    how many of them a person has: units are to people what rows are.
    """
    budget = epsilon / (relation.rows_per_person * most)
    shares = (rising, 1 - rising) if relation.size_is_public else (Fraction(1), Fraction(1))
    up, down = (1 / (budget * share) for share in shares)
    refuse_tiny(epsilon, max(up, down), " for such a table")
    return SkewedLaplace(up, down)


def binomial(trials: int, chance: Real, entropy: Entropy) -> int:
    """An exact binomial draw with an irrational probability: the X with F(X - 1) ≤ U < F(X).

    F is summed in ball arithmetic, and digits of U are drawn until the place of U is certain. The time is proportional
    to the outcome, not to the number of trials.
    """
    drawn, bits = entropy.below(1 << 64), 64
    while trials:
        place = _place(trials, chance, drawn, bits)
        if place is not None:
            return place
        drawn, bits = drawn << 64 | entropy.below(1 << 64), bits + 64
    return 0


def _place(trials: int, chance: Real, drawn: int, bits: int) -> int | None:
    """The X for every U that starts with these digits, or None if they do not determine it."""
    with working(bits + GUARD):
        p = chance.expression()
        odds, term, total = p / (1 - p), (trials * (-p).log1p()).exp(), arb(0)
        low, high = ball(Fraction(drawn, 1 << bits)), ball(Fraction(drawn + 1, 1 << bits))
        for k in range(trials):
            total += term
            if total > high:
                return k
            if not total < low:
                return None
            term *= odds * (trials - k) / (k + 1)
    return trials


def one_count(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """The noise of a single count, with 95% confidence."""
    law = IntegerLaplace(cost.adjacency.rows_per_person / cost.exact_epsilon)
    return f"within ±{int(given.get('at_most') or 1) * law.interval(Fraction(95, 100))[1]}"


def each_count(given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
    """The noise of each cell of a histogram, with 95% confidence."""
    law = cell_noise(cost.exact_epsilon, cost.adjacency)
    return f"each count within ±{int(given.get('at_most') or 1) * law.interval(Fraction(95, 100))[1]}"


# ------------------------------------------------------------------------------------------------------ cells of people


SHARE = Fraction(1, 10)
"""The part of ε that chooses g, if g is not stated."""

LIMITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""The candidates for g: numbers about √2 apart, since a g that is k times too large makes k times the noise."""

MOST_STATED = 1 << 40
"""The largest g that can be stated: as many rows as one person can have."""


def check_groups_per_person(value: object) -> int:
    """The stated number of groups in which one person counts."""
    if checks.integer("groups_per_person", value, least=1) > MOST_STATED:
        fix = "It is the largest number of groups in which one person counts. If left out, it is chosen privately."
        raise InvalidArgument("groups_per_person", f"at most {MOST_STATED:,}", checks.describe(value), fix)
    return int(value)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True)
class CellLimit(Mechanism[Integers, int]):
    """The choice of g, with the ε that it takes.

    **Theorem.** Let s(g) be the number of people with rows in more than g cells. Drawing g with probability
    proportional to p(g)·ρ^s(g), ρ ≥ e^-ε, is ε-differentially private and of bounded range ε. *Proof.* A person with k
    cells counts in s(g) for all g < k. If she is added, removed, or replaced by one with k' cells, every s(g) moves by
    at most 1, and all that move do so in the same direction. So all weights are multiplied by factors from ρ to 1, or
    all by factors from 1 to 1/ρ, and so is their sum. ∎

    p(g) is proportional to 4^-g/g⁴. One more cell raises the cutoff of unknown categories by about ln(1/δ) over the ε
    of the counts, and 4^-g makes it worth as much as so many people who are left out, at δ = 1e-6 and a tenth of ε for
    the choice. If nobody is in two cells, g = 1 has probability 0.98.

    `most` is a public number of cells, beyond which g makes no difference.
    """

    epsilon: Fraction
    most: int | None = None

    @staticmethod
    def of(epsilon: Fraction, most: int | None = None) -> CellLimit:
        return CellLimit(loss.BoundedRange(epsilon), epsilon, most)

    @property
    def limits(self) -> tuple[int, ...]:
        """The candidates for g."""
        if self.most is None:
            return LIMITS
        return tuple(sorted({*(g for g in LIMITS if g < self.most), min(self.most, LIMITS[-1])}))

    @property
    def free(self) -> bool:
        """Whether there is only one candidate, and so nothing to pay."""
        return len(self.limits) == 1

    def choose(self, people: Callable[[], Integers], account: Account) -> int:
        """g, if people()[k] people have rows in k cells. They are counted only if there is a choice."""
        return self.limits[0] if self.free else account.draw(self, people())

    def scores(self, people: Integers) -> Integers:
        """For each g the number of people with rows in more cells."""
        return np.array([int(people[g + 1 :].sum()) for g in self.limits], np.int64)

    def draw(self, value: Integers, entropy: Entropy) -> int:
        beyond, weights = self.scores(value), [Fraction(1, 4**g * g**4) for g in self.limits]
        candidates = WeightedCandidates(self.limits, weights, beyond - beyond.min())
        chosen = candidates.draw(decay(2 * self.epsilon), entropy)
        assert chosen is not None
        return chosen

    def price(self, value: Integers, other: Integers, output: int) -> float:
        """ln(1/ρ) for each step by which a score moves. All that move must do so in the same direction."""
        moves = self.scores(other) - self.scores(value)
        if (moves > 0).any() and (moves < 0).any():
            raise AssumptionFailed("scores move in both directions")
        return int(np.abs(moves).max(initial=0)) * -logarithm(decay(2 * self.epsilon))


def stated_unit(unit: PrivacyUnit) -> PrivacyUnit:
    """The unit, whose g must be stated: for functions that do not choose it."""
    if unit.share == "any" and unit.at_most is None:
        fix = "It is the largest number of cells in which one person counts."
        raise InvalidArgument("at_most", "given with weights='any' here", "nothing", fix)
    return unit


ONCE = "Counts are people. Each counts once"
"""How a note begins if no person counts in two categories, so that counts add up to at most all people."""


def counting_note(unit: PrivacyUnit, limit: CellLimit | None = None, cells: str = "categories") -> str:
    """A note on what is counted for people, and how g was chosen; "" for rows."""
    if unit.share == "people":
        return f"Counts are shares of people: a person with rows in several {cells} is divided among them."
    if unit.share == "rows":
        return f"Counts are rows, up to {unit.at_most:,} of each person."
    if unit.share != "any":
        return ""
    how = "" if limit is None or limit.free else " (a number chosen privately)"
    if unit.at_most == 1:
        one = {"categories": "category"}.get(cells, cells.removesuffix("s"))
        return f"{ONCE}, in the {one} of most of their rows{how and ' (chosen privately)'}."
    each = f"Each counts in at most {unit.at_most:,} {cells}{how}: those with most of their rows."
    return f"Counts are people with at least one row. {each}"


# ----------------------------------------------------------------------------------------------- values and categories


def category_counts(column: Column) -> tuple[list[Hashable], Integers]:
    """The categories of a column that occur, and the units of each: one for each row, or as the unit of people says.

    Categories are canonical values (`uptack.table.values.kinds.canonical`), so that no row decides how its category
    looks. Missing values are the category None.
    """
    counts = column.table.counts([column])
    return [key for (key,) in counts.keys], counts.units


# ---------------------------------------------------------------------------------------------------------- the screen


@dataclass(frozen=True)
class Capped(IntegerLaw):
    """A law given that z is at most `most`.

    >>> from uptack.noise import IntegerLaplace
    >>> law = Capped(IntegerLaplace(1), most=3)
    >>> law.tail(4), law.pmf(3) > IntegerLaplace(1).pmf(3)
    (0.0, True)
    """

    law: IntegerLaw
    most: int

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """Draws beyond the cap are drawn again."""
        out = self.law.draw(size, entropy)
        while (beyond := np.flatnonzero(out > self.most)).size:
            out[beyond] = self.law.draw(beyond.size, entropy)
        return out

    def exact_pmf(self, k: int) -> Real:
        """P(z = k)/P(z ≤ most)."""
        chance, cut = self.law.exact_pmf(k), self.law.exact_tail(self.most + 1)
        return Real.of(0) if k > self.most else Real(lambda: chance.expression() / (1 - cut.expression()))

    def exact_tail(self, k: int) -> Real:
        """P(k ≤ z ≤ most)/P(z ≤ most)."""
        tail, cut = self.law.exact_tail(k), self.law.exact_tail(self.most + 1)
        if k > self.most:
            return Real.of(0)
        return Real(lambda: (tail.expression() - cut.expression()) / (1 - cut.expression()))

    def price(self, move: Sequence[int], delta: Fraction = Fraction(0)) -> float:
        """That of the law, up to the cap; what the cap shows is for δ."""
        return self.law.price(move, delta)


@functools.lru_cache(maxsize=256)
def capped_law(law: IntegerLaw, delta: Fraction, rows: int) -> Capped:
    """The law with the least cap m ≥ 0 that leaves P(z > m - g) ≤ δ, for g rows per person: see `Screen`.

    It takes public numbers only, and columns of a report share it.

    >>> from uptack.noise import IntegerLaplace
    >>> [capped_law(IntegerLaplace(g), Fraction(1, 10**6), g).most for g in (1, 2, 10)]
    [14, 27, 137]
    """
    most = least(lambda m: m >= 0 and Capped(law, m).exact_tail(m - rows + 1) <= delta)
    return Capped(law, most)


Table = tuple[Sequence[Hashable], Integers]
"""Cells, which are canonical values, and the units of each."""


@dataclass(frozen=True)
class Screen(Mechanism[Table, tuple[tuple[Hashable, ...], Integers]]):
    """Noise of at most m on the number of rows of every category that occurs; those that reach m + 1 are shown.

    **Theorem.** Let z be the noise of `cell_noise`, which is ε-private on all cells of a table together, given that
    z ≤ m. The screen is (ε, δ)-differentially private, for people with up to g rows, if and only if P(z > m - g) ≤ δ.

    *Proof.* Think of such noise on every category that could occur: one without rows never reaches m + 1, so to leave
    its noise out changes nothing, and the rest is post-processing. Where D' has a_i more rows than D in category i, D
    never gets what D' gets with z_i > m - a_i. That happens anywhere with probability 1 - Π P(z ≤ m - a_i). All else
    has probabilities within a factor e^ε, since up to the cap they have the ratios of the law without it; and a count
    that falls meets no cap. It remains to find the worst a with Σ a_i ≤ g. The law is log-concave, so P(z ≤ k) is,
    and f(a) = -ln P(z ≤ m - a) is convex with f(0) = 0. Hence Σ f(a_i) ≤ f(g): all rows in one category. ∎

    Without the cap, which keeps empty categories silent at no cost, the least cutoff is higher: 133 instead of 110
    at ε = 0.1, δ = 1e-6 (ADD_REMOVE), where no method at all shows a category of fewer than 109 rows half of the time
    (Desfontaines, Voss, Gipson and Mandayam 2022).

    *People.* Where counts are units of people (`uptack.table.unit`), of which one person has at most u, in any
    categories, the theorem holds with g = u: units are to people what rows are, and the proof asks for no more than
    Σ a_i ≤ g. So a person who spreads over many categories is hidden as well as one who does not.

    Categories are shown in the order of their noisy counts, then of their values, which reveals nothing about rows.
    """

    law: Capped
    adjacency: Adjacency
    step: int = 1

    @staticmethod
    def of(epsilon: Fraction, delta: Fraction, relation: Adjacency, unit: PrivacyUnit = ROW) -> Screen:
        """The screen with the least cap: made from public numbers, before any data is read."""
        law = capped_law(cell_noise(epsilon, relation, most=unit.most), delta, relation.rows_per_person * unit.most)
        return Screen(Approximate(epsilon, delta), law, relation, unit.step)

    @property
    def cutoff(self) -> int:
        """The least noisy count that is shown, in units."""
        return self.law.most + 1

    def draw(self, value: Table, entropy: Entropy) -> tuple[tuple[Hashable, ...], Integers]:
        """The categories that pass, and their noisy counts. Cells must be canonical: see `category_counts`."""
        cells, counts = value
        occupied = np.flatnonzero(counts > 0)
        noisy = counts[occupied] + self.law.draw(occupied.size, entropy)
        passing = noisy >= self.cutoff
        passed = [(cells[i], n) for i, n in zip(occupied[passing].tolist(), noisy[passing].tolist(), strict=True)]
        passed.sort(key=lambda pair: (-pair[1], in_order(pair[0])))
        return tuple(cell for cell, _ in passed), np.array([count for _, count in passed], counts.dtype)

    def price(self, value: Table, other: Table, output: tuple[tuple[Hashable, ...], Integers]) -> float:
        move = table_moves(value, other)
        assert isinstance(self.loss, Approximate)
        rise = max(sum(m for m in move if m > 0), -sum(m for m in move if m < 0))  # at worst in one category
        if rise and not self.law.exact_tail(self.law.most - rise + 1) <= Fraction(self.loss.delta):
            raise AssumptionFailed("a category of few rows is shown with a probability above δ")
        return self.law.price(move)


def table_moves(value: Table, other: Table) -> list[int]:
    """By how much the count of each cell differs."""
    one, two = ({(type(c), repr(c)): int(n) for c, n in zip(*table, strict=True)} for table in (value, other))
    return [two.get(cell, 0) - one.get(cell, 0) for cell in {**one, **two}]
