"""Intervals for a quantile of the population: two ranks that most likely enclose it, each drawn privately."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Any

import numpy as np
from flint import arb

from uptack import checks
from uptack.account import Outcome
from uptack.errors import InvalidArgument, NoInterval
from uptack.exact import Rational, Real, ball, read
from uptack.mechanisms.inverse_sensitivity import InverseDraw, Refusal, ScoredBoxes, boxes, steps_needed, worth_asking
from uptack.noise import MachineNumbers
from uptack.reach import LStatistic, Reach
from uptack.reach.protocol import Floats
from uptack.release import Advice
from uptack.statistics.column_options import LEAST_SHARE, Question, size_bounds
from uptack.statistics.joint_quantiles import HOW
from uptack.statistics.statistic import Data, least_n

HALF = Fraction(1, 2)

OFFSETS = MachineNumbers(exponent_bits=9, mantissa_bits=6, tapered=True)
"""ScoredBoxes for how far an end lies from the released quantile: a precision of one part in a hundred is enough."""


@dataclass(frozen=True)
class PopulationInterval:
    """An interval that was paid for, at one confidence."""

    confidence: Fraction
    low: float
    high: float

    def around(self, value: Any, confidence: Rational) -> tuple[Any, Any]:
        """The interval; only at the confidence it was made for."""
        if read(confidence) != self.confidence:
            raise NoInterval(f"this release has an interval at a confidence of {float(self.confidence)} only")
        return self.low, self.high


@dataclass(frozen=True)
class Shifted:
    """A reach seen from a released value: subtracting it keeps order. So does bringing huge numbers to ±8e307 first,
    which keeps the difference a float.
    """

    reach: Reach
    origin: float

    @property
    def value(self) -> float:
        """T, seen from there."""
        return float(self._seen(np.array(self.reach.value)))

    def interval(self, k: int) -> tuple[float, float]:
        """The ends for one k."""
        low, high = self._seen(np.array(self.reach.interval(k)))
        return float(low), float(high)

    def intervals(self, steps: int) -> tuple[Floats, Floats]:
        """The ends for k = 0, ..., steps."""
        low, high = self.reach.intervals(steps)
        return self._seen(low), self._seen(high)

    def _seen(self, x: Floats) -> Floats:
        seen: Floats = np.clip(x, -8e307, 8e307) - min(max(self.origin, -8e307), 8e307)
        return seen


def confidence_of(interval: Rational) -> Fraction:
    """The confidence of an interval, which is not quite 1."""
    confidence = checks.inside_unit("interval", interval)
    if 1 - confidence < LEAST_SHARE:
        raise InvalidArgument("interval", f"at most 1 - {float(LEAST_SHARE)}", checks.describe(interval))
    return confidence


@dataclass(frozen=True)
class IntervalRanks:
    """The ranks that the two ends of an interval aim at, the steps that each may miss by, and the chance that it does.

    **Theorem.** Let Q be the p-quantile of the population, α = 1 - confidence, and n the true number of rows. With a
    probability of at least 1 - α: n is in [least, most] but for α/10 (`size_bounds`; where n is public there is nothing
    to fail). Let l(m) be the q-quantile of Binomial(m, p), and u(m) one more than its upper q-quantile, q = 7α/20. By
    the law of the number of rows up to Q, x(l(n)) ≤ Q ≤ x(u(n)) but for 2q. Both l and u rise with m, so then also
    x(l(least)) ≤ Q ≤ x(u(most)). Each end aims a number of ranks further out, and misses by more, not being ⊥, with a
    chance of α/10 (`uptack.mechanisms.inverse_sensitivity`). In all α/10 + 7α/10 + 2α/10 = α. No step asks for
    independence of another. ∎

    **For people** who are a sample of a population of people, Q is the p-quantile of a random row of a random person.
    The rows of one person are not independent of each other, but people are. Let s_i be the share of the rows of person
    i that lie up to Q. These are independent numbers from 0 to 1 with a mean of at least p, whatever the rows have to
    do with each other. By Bentkus (2004, *On Hoeffding's inequalities*, Annals of Probability 32), P(Σs ≥ h) is at most
    e·P(B ≥ h) for integers h and B binomial with the same mean; the same for 1 - s. So with l and u at q/e in place of
    q, Σs > l - 1, and for the shares below Q, Σs < u, but for 2q. Rounding loses less than half a person
    (`uptack.table.unit`). So F(Q) ≥ (l - 1 - 1/2)·U and F(Q-) < u·U, which is z(l - 1) ≤ Q ≤ z(u + 1). Where
    there is one number per person it is as with rows.

    **With up to g rows per person** (`rows_per_person`) rows may be copies of each other: see `rank_bounds`.
    """

    low: int
    high: int
    steps: int
    missing: Fraction
    sure: bool
    worth: bool

    @classmethod
    def of(
        cls, n: int, p: Fraction, confidence: Fraction, epsilon: Fraction, question: Question, people: bool = False
    ) -> IntervalRanks:
        """For a public number of rows, and an ε for each end.

        All ranks that are looked at should be inside the table. Where that can't be for the steps that a reply for sure
        needs (`sure`), ends aim less far out, and ⊥ is a candidate. It may not be `worth` trying.
        """
        failing, rows = 1 - confidence, question.rows
        least, most = size_bounds(n, question, failing / 10)
        share = failing * (Fraction(7, 20) if question.size_is_secret else Fraction(8, 20))
        low, high = rank_bounds(least, most, p, share, people, rows)
        room, needed = min(low - 1, least - high) // (2 * rows), steps_needed(epsilon, OFFSETS.size, failing / 10)
        steps, sure = min(max(room, 0), needed), room >= needed
        worth = sure or worth_asking(room, epsilon, failure=failing / 10, near=NEAR)
        return cls(low - rows * steps, high + rows * steps, steps, failing / 10, sure, worth)

    def refusal(self, size: int, question: Question) -> Refusal:
        """⊥, where the table has so many rows, which may be secret."""
        bears = min(self.low - 1, size - self.high) // question.rows
        return Refusal(bears, question.size_is_secret, self.missing)


NEAR = Fraction(1, 256)
"""The share of all offsets that may be near an end: where ⊥ weighs more, it is not tried, and free."""

EULER = Fraction(272, 100)
"""A little more than e: what sums of bounded numbers pay beside the binomial."""

RARE, FEW = Fraction(1, 1000), 50
"""For smaller shares that have more rows, balls are slow, or too wide to say anything."""

BLOCK, LARGEST_BLOCK = 1 << 10, 1 << 18
"""Terms that are added up at a time: at first, and at most."""

HUGE = 10**15
"""From so many rows on the law of the binomial is not computed but bounded."""


def rank_bounds(least: int, most: int, p: Fraction, q: Fraction, people: bool, rows: int = 1) -> tuple[int, int]:
    """Ranks between whose order statistics Q lies but for 2q: of rows, or of people with several.

    **Theorem.** Let people own up to g of the n rows, which may have anything to do with each other, and M = ⌈n/g⌉.
    With b and a what Binomial(M, p) is below, and at or above, with a probability of at most q/e each, Q lies between
    the order statistics of ranks g(b - 2) + 2 and g·a but for 2q. *Proof.* The number of rows below Q is at most g·B in
    increasing convex order, B binomial with M and p: copies are the least independent that rows can be. So it is g·a or
    more with a chance of at most e·P(B ≥ a) ≤ q (Bentkus 2004, as above). If the row of the lower rank is above Q, at
    least n - g(b - 2) - 1 ≥ g(M - b + 1) rows are, which has at most e·P(B ≤ b - 1) ≤ q, in the same way. Both ranks
    rise with n. ∎
    """
    if people:
        return _below(least, p, q / EULER) - 1, _above(most, p, q / EULER) + 1
    if rows == 1:
        return _below(least, p, q), _above(most, p, q)
    fewest, all_copies = -(-least // rows), -(-most // rows)
    return rows * (_below(fewest, p, q / EULER) - 2) + 2, rows * _above(all_copies, p, q / EULER)


@lru_cache(256)
def _below(n: int, p: Fraction, q: Fraction) -> int:
    """A number that Binomial(n, p) is below with a probability of at most q: exact, or by Chernoff's bound.

    It is the first k with P(B ≤ k) > q. All columns of a table ask for the same numbers.
    """
    if n >= HUGE:
        return math.floor(n * p) - _deviation(n, p, q)
    return _first(n, _near(n, p, q), lambda k: exceeds(n - k, n, 1 - p, q))


@lru_cache(256)
def _above(n: int, p: Fraction, q: Fraction) -> int:
    """A number that Binomial(n, p) is at or above with a probability of at most q: the first k with P(B ≥ k) ≤ q."""
    if n >= HUGE:
        return math.ceil(n * p) + _deviation(n, p, q) + 1
    return _first(n, _near(n, p, 1 - q), lambda k: not exceeds(k + 1, n, p, q)) + 1


def exceeds(k: int, n: int, p: Fraction, q: Fraction) -> bool:
    """Whether P(Binomial(n, p) ≥ k), rounded up, is more than q: sums of terms tell it soon where it is not near q."""
    if k > n * p:
        low, high = _added(k, n, p)
        if high <= q or low > q:
            return low > q
    return beyond(k, n, p) > q


def beyond(k: int, n: int, p: Fraction) -> Fraction:
    """P(Binomial(n, p) ≥ k) for 1 ≤ k ≤ n, rounded up: the incomplete beta function of (k, n - k + 1) at p.

    Balls know it where p is not very near 0 or 1, or where there are few rows on one side; else its terms are added up.
    """
    s = min(p, 1 - p)
    if s >= RARE or n * s <= FEW:
        return Real(lambda: ball(p).beta_lower(arb(k), arb(n - k + 1), 1)).bounds(40 + n.bit_length())[1]
    return _added(k, n, p)[1] if k > n * p else Fraction(1)


def _added(k: int, n: int, p: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of it for k > np: P(B = k)·(1 + r₀ + r₀r₁ + ...) with rᵢ = (n - k - i)/(k + 1 + i)·p/(1 - p), which falls.

    The factor is found in floats: some million terms have an error of 1e-8 at most, for which more is added, or taken.
    The first that is left out, over 1 - rᵢ, is at least what all that are left out come to.
    """
    odds, total, last, done, block = float(p / (1 - p)), 1.0, 1.0, 0, BLOCK
    while done <= n - k:
        i = np.arange(done, min(done + block, n - k + 1), dtype=np.float64)
        ratios = (n - k - i) / (k + 1 + i) * odds
        terms = last * np.cumprod(ratios)
        total, last, done = total + float(terms.sum()), float(terms[-1]), done + i.size
        left = last * ratios[-1] / (1 - ratios[-1])
        if left <= total * 1e-9:
            break
        block = min(2 * block, LARGEST_BLOCK)

    def first() -> arb:
        ways = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
        return (ways + k * ball(p).log() + (n - k) * ball(1 - p).log()).exp()

    low, high = Real(first).bounds(96 + 2 * n.bit_length())
    return low * Fraction(total * (1 - 1e-6)), high * Fraction((total + left) * (1 + 1e-6))


def _near(n: int, p: Fraction, q: Fraction) -> int:
    """About the q-quantile of Binomial(n, p), by Cornish and Fisher's expansion."""
    z = NormalDist().inv_cdf(float(q))
    return round(float(n * p) + z * math.sqrt(float(n * p * (1 - p))) + (z * z - 1) * float(1 - 2 * p) / 6)


def _first(n: int, near: int, holds: Callable[[int], bool]) -> int:
    """The first k < n from which on a statement holds, or n. It is most likely next to `near`."""
    low, high, step = 0, n, 1
    while low < high:
        middle = min(max(near, low), high - 1)
        if holds(middle):
            high, near = middle, max(middle - step, (low + middle) // 2)
        else:
            low, near = middle + 1, min(middle + step, (middle + high) // 2)
        step *= 2
    return high


def _deviation(n: int, p: Fraction, q: Fraction) -> int:
    """sqrt(3·ns·ln(1/q)), s the smaller of p and 1 - p: P(|B - np| ≥ d·ns) ≤ e^(-d²ns/3) on either side for d ≤ 1.

    There are enough rows for that: ns is at least 1000 here, and ln(1/q) at most 30.
    """
    return math.ceil(math.sqrt(3 * float(n * min(p, 1 - p)) * -math.log(q)))


def aiming(p: Fraction, confidence: Fraction, question: Question, people: bool) -> Callable[[int], IntervalRanks]:
    """What the ends of an interval aim at in a table of so many rows, with half of the question's ε each."""
    return lambda size: IntervalRanks.of(size, p, confidence, question.epsilon / 2, question, people)


def ends_around(
    data: Data, n: int, p: Fraction, confidence: Fraction, around: float, question: Question
) -> Outcome[tuple[float, float]]:
    """Both ends, with half of ε each, drawn on a coarse lattice around a number that is public: a released quantile."""
    aim = aiming(p, confidence, question, data.unit.weighted)
    sides, ends = question.split(HALF, HALF), []
    aimed, advice = aim(n), partial(least_n, lambda size: aim(size).sure)
    if not aimed.worth:
        return question.refuse(HOW, Advice(n=advice()))
    for rank, outward, side in ((aimed.low, -1, sides[0]), (aimed.high, 1, sides[1])):
        reach = Shifted(LStatistic.quantile(data, rank, aimed.steps, question.rows), around)
        nested, refusal = boxes([reach], aimed.steps, OFFSETS), aimed.refusal(data.count(), question)
        drawn = side.account.draw(InverseDraw.of(side.epsilon), ScoredBoxes(nested, refusal))
        if drawn is None:
            end = "lower" if outward < 0 else "upper"
            why = f"the {end} end of the {float(100 * confidence):g}% interval could not be placed"
            return question.refuse(HOW, Advice(n=advice()), why=why)
        past = min(max(drawn[0] + outward, -OFFSETS.top), OFFSETS.top)  # past the rounding
        ends.append(around + OFFSETS.value(past))
    return Outcome(on_grid(min(ends), max(ends), question.granularity), HOW)


DIGITS = 2
"""Decimal digits of an end beyond the first digit of the interval's width. Outward rounding adds at most 2% to it."""


def on_grid(low: float, high: float, granularity: Fraction | None) -> tuple[float, float]:
    """The ends of an interval as numbers that the column can hold, or with as many digits as its width warrants.

    **Theorem.** Where all values are multiples of g, so is every quantile of the population. An interval that covers it
    still does if its ends move inward to the nearest multiples of g. If there is none inside, it covers no quantile,
    and the ends move outward. Without g both ends are rounded outward. ∎

    >>> on_grid(60.25, 66.04, Fraction(1)), on_grid(-8.6e-78, 8.6e-78, Fraction(1)), on_grid(60.2512, 66.0412, None)
    ((61.0, 66.0), (0.0, 0.0), (60.25, 66.05))
    """
    width = high - low
    if not math.isfinite(width):
        return low, high
    if granularity is None:
        if width == 0:
            return low, high
        step = Fraction(10) ** (math.floor(math.log10(width)) - DIGITS)
        return _multiple(math.floor(Fraction(low) / step) * step), _multiple(math.ceil(Fraction(high) / step) * step)
    first, last = math.ceil(Fraction(low) / granularity), math.floor(Fraction(high) / granularity)
    if first > last:
        first, last = last, first
    return _multiple(first * granularity), _multiple(last * granularity)


def _multiple(value: Fraction) -> float:
    """A rational as a float, +0.0 for zero."""
    return float(value) + 0.0


def no_interval_of_rows(name: str, value: object, question: Question) -> None:
    """Refuses an interval for the population where rows of people weigh alike: no theorem is known for it."""
    if question.capped:
        fix = "Leave weights= out, or pass per_person=; both have an interval."
        raise InvalidArgument(name, "left out with weights='rows'", checks.describe(value), fix)
