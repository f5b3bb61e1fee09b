"""Medians and other quantiles, one or several, with an optional interval for the population."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Any, Unpack

import numpy as np
from flint import arb

from uptack import checks
from uptack.account import Outcome
from uptack.errors import InvalidArgument, NoInterval
from uptack.exact import Rational, Real, ball, least, read
from uptack.grouping import per_group
from uptack.mechanisms import inverse_sensitivity as inverse
from uptack.mechanisms.inverse_sensitivity import VECTOR_LATTICES, Refusal, slack_needed, steps_needed, worth_asking
from uptack.mechanisms.plausible_range import Lattice
from uptack.noise import MachineNumbers
from uptack.privacy import Privacy, loss
from uptack.reach import LStatistic, Reach, l_statistics
from uptack.reach.l_statistics import Floats, quantile_rank
from uptack.registry import release
from uptack.release import Advice, EachNoise, NoReply, Release
from uptack.statistics import quantile_trees
from uptack.statistics.column_options import (
    COUNT_SHARE,
    LEAST_SHARE,
    MOST_FOLLOWED,
    MeanOptions,
    Options,
    Question,
    column,
    in_ticks,
    least_n,
    level,
    public_size,
    read_question,
    size_bounds,
)
from uptack.statistics.statistic import (
    HOW,
    RARE,
    Functional,
    Statistic,
    interval_follows,
    inverse_draw,
    one_draw,
    outcome,
    outcome_for_size,
    ranks,
    secret_size,
    useful_steps,
)
from uptack.table.protocol import Column
from uptack.table.reads import MOMENTS
from uptack.table.values.times import parse_time

HALF = Fraction(1, 2)

END_SHARE = Fraction(1, 3)
"""The part of ε for each end of an interval; the value has the rest. At 95% an end moves out by about 33/ε ranks, and
a value by 2/ε. Groups of 500 get most replies with about a third; larger parts give narrower intervals, and
more often ⊥ (`benchmarks/quantiles.py --shares`)."""

OFFSETS = MachineNumbers(mantissa_bits=6)
"""Candidates for the distance of an end from the released quantile: a precision of 1% is enough."""


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
class ShiftedReach(Reach):
    """The reach of T less a released value. Subtraction keeps order, and so does clipping to ±8e307 first, which keeps
    the difference finite."""

    reach: Reach
    origin: float

    def intervals(self, steps: int) -> tuple[Floats, Floats]:
        low, high = (np.clip(end, -8e307, 8e307) for end in self.reach.intervals(steps))
        origin = min(max(self.origin, -8e307), 8e307)
        return low - origin, high - origin


def confidence_of(interval: Rational) -> Fraction:
    """The confidence of an interval, checked."""
    confidence = checks.inside_unit("interval", interval)
    if 1 - confidence < LEAST_SHARE:
        raise InvalidArgument("interval", f"at most 1 - {float(LEAST_SHARE)}", checks.describe(interval))
    return confidence


@dataclass(frozen=True)
class IntervalRanks:
    """The ranks (low, high) that the ends of an interval aim at in each sample, and by how many steps they may miss.

    **Theorem.** Let Q be the p-quantile of the population, α = 1 - confidence, and n the true number of rows. With a
    probability of at least 1 - α: n is in [least, most] but for α/10 (`size_bounds`; if n is public this is certain).
    Let l(m) be the q-quantile of Binomial(m, p), and u(m) one more than its upper q-quantile, q = 7α/20. By
    the law of the number of rows up to Q, x(l(n)) ≤ Q ≤ x(u(n)) but for 2q. Both l and u rise with m, so then also
    x(l(least)) ≤ Q ≤ x(u(most)). Each end aims a number of ranks further out, and misses by more, not being ⊥, with a
    chance of α/10 (`uptack.mechanisms.inverse_sensitivity`). In all α/10 + 7α/10 + 2α/10 = α. No step asks for
    independence of another. ∎

    **For people** who are a sample of a population of people, Q is the p-quantile of a random row of a random person.
    The rows of one person are not independent of each other, but people are. Let s_i be the share of the rows of person
    i that lie up to Q. These are independent numbers from 0 to 1 with a mean of at least p, however dependent the rows
    of one person are. By Bentkus (2004, *On Hoeffding's inequalities*, Annals of Probability 32), P(Σs ≥ h) is at most
    e·P(B ≥ h) for integers h and B binomial with the same mean; the same for 1 - s. So with l and u at q/e in place of
    q, Σs > l - 1, and for the shares below Q, Σs < u, but for 2q. Rounding loses less than half a person
    (`uptack.table.unit`). So F(Q) ≥ (l - 1 - 1/2)·U and F(Q-) < u·U, which is z(l - 1) ≤ Q ≤ z(u + 1). With
    one number per person it is as with rows.

    **With up to g rows per person** (`rows_per_person`) rows may be copies of each other: see `rank_bounds`.

    **A secret n** need not be bought if g = 1 (`following`). **Theorem.** Let L(n) = max(l(n) - K, ⌈l(n)/2⌉) and
    H(n) = min(u(n) + K, n - ⌊(n - u(n))/2⌋), K being the public number of steps. Ends drawn at the ranks L(n) and H(n)
    of the true n, with ⊥ as a candidate of κ = min(L(n) - 1, n - H(n)), are as private as ends at public ranks, and
    miss l(n) and u(n), not being ⊥, with a chance of α/10 each. *Proof.* Binomial(n + 1, p) is Binomial(n, p) or one
    more, so l and u rise by 0 or 1 with n. So do l - K, ⌈l/2⌉, u + K and n - ⌊(n - u)/2⌋, and therefore L and H, and
    κ moves by at most 1. That is what `uptack.statistics.statistic.outcome` asks of ranks. An end is within
    min(κ, K) steps of its rank but for α/10. If L = l - K, then L + K = l. Otherwise κ < L = ⌈l/2⌉ and L + κ ≤ l. The
    same holds for u. ∎ The binomial law is compared with q exactly (`tail_exceeds`): a rank that rounding puts off by
    one would move by two.

    All ranks that matter should be inside the table. If they are not for the number of steps that guarantees a reply
    (`sure`), ends aim less far out, and ⊥ is a candidate. It may not be `worth` trying.
    """

    ranks: tuple[tuple[int, int], ...]
    steps: int
    missing: Fraction
    sure: bool
    worth: bool

    @classmethod
    def of(
        cls, n: int, p: Fraction, confidence: Fraction, epsilon: Fraction, question: Question, people: bool = False
    ) -> IntervalRanks:
        """For a public number of rows, with ε for each end."""
        share = Fraction(7, 20) if question.size_is_secret else Fraction(8, 20)
        bounds = size_bounds(n, question, (1 - confidence) / 10)
        return cls.among((bounds,), p, confidence, share, epsilon, question.rows, people)

    @classmethod
    def among(
        cls,
        bounds: Sequence[tuple[int, int]],
        p: Fraction,
        confidence: Fraction,
        share: Fraction,
        epsilon: Fraction,
        rows: int,
        people: bool = False,
    ) -> IntervalRanks:
        """For one or more samples whose sizes lie in some ranges. Each of the ranks may fail with this `share` of α."""
        failing = 1 - confidence
        aimed = [rank_bounds(least, most, p, failing * share, people, rows) for least, most in bounds]
        room = min(min(low - 1, least - high) for (low, high), (least, _) in zip(aimed, bounds, strict=True))
        room, needed = room // (2 * rows), steps_needed(epsilon, OFFSETS.size, failing / 10)
        steps, sure = min(max(room, 0), needed), room >= needed
        worth = sure or worth_asking(room, epsilon, failure=failing / 10, near=NEAR)
        ranks = tuple((low - rows * steps, high + rows * steps) for low, high in aimed)
        return cls(ranks, steps, failing / 10, sure, worth)

    @classmethod
    def following(cls, n: int, p: Fraction, confidence: Fraction, epsilon: Fraction, people: bool) -> IntervalRanks:
        """For the true number of rows, which is secret. `sure` and `worth` are about a public n in its place."""
        failing = 1 - confidence
        low, high = rank_bounds(min(n, HUGE - 1), min(n, HUGE - 1), p, failing * Fraction(8, 20), people)
        steps, room = steps_needed(epsilon, OFFSETS.size, failing / 10), min(low - 1, n - high) // 2
        ranks = max(low - steps, -(-low // 2)), min(high + steps, n - (n - high) // 2)
        sure = room >= steps + slack_needed(epsilon)
        worth = worth_asking(room, epsilon, failure=failing / 10, near=NEAR)
        return cls((ranks,), useful_steps(steps, n, 1), failing / 10, sure, worth)

    def refusal(self, sizes: Sequence[int], question: Question) -> Refusal:
        """⊥, where the samples have so many rows, which may be secret."""
        inside = min(min(low - 1, n - high) for (low, high), n in zip(self.ranks, sizes, strict=True))
        return Refusal(inside // question.rows, question.size_is_secret, self.missing)


NEAR = Fraction(1, 256)
"""The share of all offsets that may be near an end: if ⊥ weighs more, the draw is not tried, and ⊥ is free."""

EULER = Fraction(272, 100)
"""A little more than e: what sums of bounded numbers pay beside the binomial."""

HUGE = 10**15
"""From so many rows on the binomial law is bounded instead of computed. No table with a secret number has as many."""


def rank_bounds(least: int, most: int, p: Fraction, q: Fraction, people: bool, rows: int = 1) -> tuple[int, int]:
    """Ranks between whose order statistics Q lies but for 2q: of rows, or of people with several.

    **Theorem.** Let people have up to g of the n rows, however dependent, and M = ⌈n/g⌉.
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
    """A number that Binomial(n, p) is below with probability at most q: the first k with P(B ≤ k) > q, or by
    Chernoff's bound. It is cached because all columns of a table need the same numbers."""
    if n >= HUGE:
        return math.floor(n * p) - _deviation(n, p, q)
    return _first_rank(n, lambda k: tail_exceeds(n - k, n, 1 - p, q), _approximate_quantile(n, p, q))


@lru_cache(256)
def _above(n: int, p: Fraction, q: Fraction) -> int:
    """A number that Binomial(n, p) is at or above with probability at most q: the first k with P(B ≥ k) ≤ q."""
    if n >= HUGE:
        return math.ceil(n * p) + _deviation(n, p, q) + 1
    return _first_rank(n, lambda k: not tail_exceeds(k + 1, n, p, q), _approximate_quantile(n, p, 1 - q)) + 1


def _first_rank(n: int, holds: Callable[[int], bool], near: int) -> int:
    """The first k from 0 to n - 1 from which on a statement holds, or n."""
    return least(lambda k: k >= n or (k >= 0 and holds(k)), near)


def tail_exceeds(k: int, n: int, p: Fraction, q: Fraction) -> bool:
    """Whether P(Binomial(n, p) ≥ k) is more than q: sums of terms decide it fast unless it is near q.

    The answer is exact if p is not very near 0 or 1, where ball arithmetic is slow: both are rationals and unless they
    are equal they differ by at least 1/(b^n·d) for the denominators b of p and d of q. Else the probability is rounded
    up.
    """
    if k > n * p:
        low, high = _tail_by_terms(k, n, p)
        if high <= q or low > q:
            return low > q
    if not RARE <= p <= 1 - RARE:
        return tail_bound(k, n, p) > q
    bits, least = 40 + n.bit_length(), n * p.denominator.bit_length() + q.denominator.bit_length()
    while True:
        low, high = _beta(k, n, p).bounds(bits)
        if high <= q or low > q:
            return low > q
        width = high - low
        if width.denominator.bit_length() - width.numerator.bit_length() > least:
            return False
        bits *= 2


def _beta(k: int, n: int, p: Fraction) -> Real:
    """P(Binomial(n, p) ≥ k) for 1 ≤ k ≤ n: the incomplete beta function of (k, n - k + 1) at p."""
    return Real(lambda: ball(p).beta_lower(arb(k), arb(n - k + 1), 1))


def tail_bound(k: int, n: int, p: Fraction) -> Fraction:
    """P(Binomial(n, p) ≥ k) for 1 ≤ k ≤ n, rounded up: by ball arithmetic, else by adding up terms, or 1."""
    if RARE <= p <= 1 - RARE:
        return _beta(k, n, p).bounds(40 + n.bit_length())[1]
    return _tail_by_terms(k, n, p)[1] if k > n * p else Fraction(1)


def _tail_by_terms(k: int, n: int, p: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of it for k > np: P(B = k)·(1 + r₀ + r₀r₁ + ...) with rᵢ = (n - k - i)/(k + 1 + i)·p/(1 - p), which falls.

    The factor is a sum of floats: some million terms have an error of at most 1e-8, which the bounds allow for. The
    first term left out, over 1 - rᵢ, bounds the sum of all terms left out.
    """
    odds, total, last, done, block = float(p / (1 - p)), 1.0, 1.0, 0, 1 << 10
    while done <= n - k:
        i = np.arange(done, min(done + block, n - k + 1), dtype=np.float64)
        ratios = (n - k - i) / (k + 1 + i) * odds
        terms = last * np.cumprod(ratios)
        total, last, done = total + float(terms.sum()), float(terms[-1]), done + i.size
        left = last * ratios[-1] / (1 - ratios[-1])
        if left <= total * 1e-9:
            break
        block = min(2 * block, 1 << 18)  # terms at a time, so that memory stays small

    def first() -> arb:
        ways = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
        return (ways + k * ball(p).log() + (n - k) * ball(1 - p).log()).exp()

    low, high = Real(first).bounds(96 + 2 * n.bit_length())
    return low * Fraction(total * (1 - 1e-6)), high * Fraction((total + left) * (1 + 1e-6))


def _approximate_quantile(n: int, p: Fraction, q: Fraction) -> int:
    """About the q-quantile of Binomial(n, p), by Cornish and Fisher's expansion."""
    z = NormalDist().inv_cdf(float(q))
    return round(float(n * p) + z * math.sqrt(float(n * p * (1 - p))) + (z * z - 1) * float(1 - 2 * p) / 6)


def _deviation(n: int, p: Fraction, q: Fraction) -> int:
    """sqrt(3·ns·ln(1/q)), s the smaller of p and 1 - p: P(|B - np| ≥ d·ns) ≤ e^(-d²ns/3) on either side for d ≤ 1.

    There are enough rows for that: ns is at least 1000 here, and ln(1/q) at most 30.
    """
    return math.ceil(math.sqrt(3 * float(n * min(p, 1 - p)) * -math.log(q)))


def ranks_follow_size(p: Fraction, question: Question) -> bool:
    """Whether the ends follow a secret number of rows, so that no noisy one is needed: see `IntervalRanks`."""
    return question.follows and question.rows == 1 and RARE <= p <= 1 - RARE


def rank_rule(p: Fraction, confidence: Fraction, question: Question, data: Column) -> Callable[[int], IntervalRanks]:
    """The ranks that both ends aim at, each with half of ε, by the number of rows."""
    if question.count is None and ranks_follow_size(p, question):
        return lambda n: IntervalRanks.following(n, p, confidence, question.epsilon / 2, data.unit.weighted)
    return lambda n: IntervalRanks.of(n, p, confidence, question.epsilon / 2, question, data.unit.weighted)


def public_refusal(rule: Callable[[int], IntervalRanks], n: int, question: Question) -> Outcome[Any] | None:
    """⊥ if public numbers rule an interval out: the number of rows, or the most that there can be if it is secret."""
    public = n if question.count is not None or not question.size_is_secret else question.at_most
    if public is None or rule(public).worth:
        return None
    return question.refuse(HOW, Advice(n=least_n(lambda size: rule(size).sure)))


def ends_around(
    data: Column, n: int, p: Fraction, confidence: Fraction, around: float, question: Question
) -> Outcome[tuple[float, float]]:
    """Both ends, with half of ε each, drawn on a coarse lattice around a public number: a released quantile."""
    rule = rank_rule(p, confidence, question, data)
    if (refused := public_refusal(rule, n, question)) is not None:
        return refused
    aim, ends = rule(n), list[float]()
    for rank, outward, side in zip(aim.ranks[0], (-1, 1), question.split(HALF, HALF), strict=True):
        reach = LStatistic.quantile(data, rank, aim.steps, question.rows)
        end = end_around(around, reach, aim.steps, aim.refusal((data.count(),), question), side, outward)
        if end is None:
            which = "lower" if outward < 0 else "upper"
            why = f"the {which} end of the {float(100 * confidence):g}% interval could not be placed"
            return question.refuse(HOW, Advice(n=least_n(lambda size: rule(size).sure)), why=why)
        ends.append(end)
    return Outcome(round_interval(min(ends), max(ends), question.granularity), HOW)


def end_around(around: float, reach: Reach, steps: int, refusal: Refusal, side: Question, outward: int) -> float | None:
    """One end of an interval around a public number, moved outward by the rounding of the lattice; None for ⊥."""
    nested = inverse.boxes([ShiftedReach(reach, around)], steps, OFFSETS)
    ordinals = side.draw(inverse.InverseDraw.of(side.epsilon), replace(nested, refusal=refusal))
    if ordinals is None:
        return None
    return around + OFFSETS.value(min(max(ordinals[0] + outward, -OFFSETS.top), OFFSETS.top))


def round_interval(low: float, high: float, granularity: Fraction | None) -> tuple[float, float]:
    """The ends of an interval as numbers that the column can hold, or with as many digits as its width warrants.

    **Theorem.** If all values are multiples of g, so is every quantile of the population. An interval that covers it
    still does if its ends move inward to the nearest multiples of g. If there is none inside, it covers no quantile,
    and the ends move outward. Without g both ends are rounded outward, to two digits
    beyond the first digit of the width, which adds at most 2% to it. ∎

    >>> round_interval(60.25, 66.04, Fraction(1)), round_interval(60.2512, 66.0412, None)
    ((61.0, 66.0), (60.25, 66.05))
    >>> round_interval(-8.6e-78, 8.6e-78, Fraction(1))
    (0.0, 0.0)
    """
    width = high - low
    if not math.isfinite(width) or (granularity is None and width == 0):
        return low, high
    if granularity is None:
        step = Fraction(10) ** (math.floor(math.log10(width)) - 2)
        first, last = math.floor(Fraction(low) / step), math.ceil(Fraction(high) / step)
    else:
        step = granularity
        first, last = sorted((math.ceil(Fraction(low) / step), math.floor(Fraction(high) / step)))
    return float(first * step) + 0.0, float(last * step) + 0.0  # no -0.0


def no_interval_of_rows(name: str, value: object, question: Question) -> None:
    """Refuse an interval for the population if rows of people weigh alike: no theorem is known for it."""
    if question.capped:
        fix = "Leave weights= out, or pass per_person=; both have an interval."
        raise InvalidArgument(name, "left out with weights='rows'", checks.describe(value), fix)


def spends(given: Mapping[str, Any], cost: Privacy, rows: int) -> loss.Loss:
    """A noisy number of rows, if it is secret and ranks do not follow it, and two draws of bounded range."""
    bought = secret_size(given, cost) and not interval_follows(given, cost)
    count = cost.exact_epsilon * COUNT_SHARE if bought else Fraction(0)
    ends = (loss.BoundedRange((cost.exact_epsilon - count) / 2),) * 2
    return loss.Composed((loss.Pure(count), *ends) if count else ends)


@release(reads=MOMENTS, examples=({"p": 0.5, "around": 0},), page="median", spends=spends, people=True)
def quantile_interval(
    x: Any,
    p: Rational,
    around: Rational,
    *,
    epsilon: Rational,
    confidence: Rational = Fraction(95, 100),
    granularity: Rational | None = None,
    **options: Unpack[MeanOptions],
) -> Release[tuple[float, float]] | NoReply:
    """A confidence interval (low, high) for the p-quantile of the population that the rows are a sample of.

    `around` is a public number near the quantile, such as one that was released before: the ends are drawn as
    distances from it, which takes fewer rows. A number far off makes the interval wide, never wrong: it covers with at
    least the `confidence`, for any population of numbers up to 1e77.

    **Theorem.** ε-differentially private: two draws of inverse sensitivity with half of ε each. If the number of rows
    is secret, the ranks follow it (`IntervalRanks`); with several rows per person, or a p within 1/1000 of 0 or 1, a
    tenth of ε is spent on a noisy number. The reach of an order statistic less a public number is a reach.

    The ends are multiples of `granularity`, a public step that all values are multiples of; for a column of integers
    they are integers. Other ends have three digits of the interval's width.

    >>> import numpy as np
    >>> from uptack import SeededEntropy, median
    >>> x = np.random.default_rng(1).normal(50, 10, 20_000)
    >>> middle = median(x, epsilon=0.5, entropy=SeededEntropy(2)).value
    >>> low, high = quantile_interval(x, 0.5, middle, epsilon=0.5, entropy=SeededEntropy(3)).value
    >>> 49 < low < 50 < high < 51
    True
    """
    at, sure = level("p", p), confidence_of(confidence)
    near = float(checks.rational("around", in_ticks(around), "a number"))
    question = read_question("quantile interval", epsilon, {**options, "granularity": granularity})
    question = replace(question, time_options=(*question.time_options, ("around", parse_time(around))))
    data, question = column(x, question, times="place")
    no_interval_of_rows("confidence", confidence, question)
    n, question = (data.count(), question) if ranks_follow_size(at, question) else public_size(data.count(), question)
    return question.close(ends_around(data, n, at, sure, near, question))


# ------------------------------------------------------------------------------------------------------------ quantiles


MOST_LEVELS = 1000
"""Quantiles of one request."""


def statistic(p: Fraction) -> Statistic:
    """The p-quantile. In the tails the density is lower, and the slope higher."""
    name, at = "median" if p == HALF else "quantile", Functional(levels=((Fraction(1), p),))
    segments = partial(l_statistics.quantile, p)
    return Statistic(name, segments, at, slope=1.75 / float(p * (1 - p)), whole=True, follows=True)


@release(
    reads=MOMENTS,
    by=per_group,
    plan=ranks,
    examples=({}, {"interval": 0.9}),
    statistic=lambda: statistic(HALF),
    spends=one_draw,
    people=True,
)
def median(
    x: Any, *, epsilon: Rational, interval: Rational | None = None, **options: Unpack[Options]
) -> Release[float] | NoReply:
    """The median x(⌊(n+1)/2⌋), with no bounds on the data: `quantile(x, 1/2, ...)`.

    **Theorem.** As for `quantile`.

    >>> from uptack import SeededEntropy
    >>> median(range(1001), epsilon=1, entropy=SeededEntropy(4))
    Release(501.0, median by inverse sensitivity, ε = 1.0 (substitute), NOT PRIVATE: seeded randomness)
    """
    return _one("median", x, HALF, interval, epsilon, options)


@release(
    reads=MOMENTS,
    by=per_group,
    plan=ranks,
    examples=({"p": 0.3}, {"p": [0.25, 0.75]}, {"p": 0.4, "interval": 0.9}),
    statistic=lambda p: statistic(level("p", p)),
    spends=one_draw,
    people=True,
)
def quantile(
    x: Any, p: Any, *, epsilon: Rational, interval: Rational | None = None, **options: Unpack[Options]
) -> Release[Any] | NoReply:
    """The p-quantile x(⌈pn⌉), or several at once for one ε, with no bounds on the data.

    **Theorem.** `method="inverse"` is ε-differentially private (`uptack.mechanisms.inverse_sensitivity`). `"ptr"` and
    `"dwork-lei"` are (ε, δ)-differentially private (`uptack.mechanisms.ptr`). If the
    number of rows is secret, up to eleven quantiles by the inverse method do without it
    (`uptack.statistics.statistic.outcome`), and so does an interval of one row per person. For more quantiles and for
    the other methods, a tenth of ε goes into a noisy one. All of this holds for people with up to `rows_per_person`
    rows.

    For an increasing list of p the inverse method draws all quantiles at once: nine of them have a third of the error
    of nine releases with an equal part of ε each.

    `interval=0.95` gives two thirds of ε to an interval for the quantile of the *population* that the rows are a sample
    of; `result.interval(0.95)` returns it. It covers with at least that probability, for any population of numbers up
    to 1e77, also if the number of rows is secret. The confidence can be up to 1 - 1e-12. With `person=` it is for the
    population of people, and their rows need not be independent.

    The options are listed in `uptack.statistics.Options`.

    >>> from uptack import SeededEntropy
    >>> quantile(np.arange(10_001), [0.25, 0.75], epsilon=1, entropy=SeededEntropy(4)).value
    array([2497., 7501.])
    """
    fix = "For the whole distribution use uptack.ecdf."
    if not isinstance(p, int | np.ndarray | str):
        checks.few("p", p, MOST_LEVELS, "levels", fix)
    if np.ndim(p) == 0:
        return _one("quantile", x, level("p", p), interval, epsilon, options)
    checks.few("p", len(p), MOST_LEVELS, "levels", fix)
    levels = tuple(level(f"p[{i}]", q) for i, q in enumerate(p))
    if not levels or list(levels) != sorted(set(levels)):
        must = "a number, or an increasing list of numbers, between 0 and 1"
        raise InvalidArgument("p", must, list(map(float, levels)))
    if interval is not None:
        fix = "Ask for the quantiles one by one."
        raise InvalidArgument("interval", "None for several quantiles", checks.describe(interval), fix)
    data, question = column(x, read_question("quantiles", epsilon, options), times="place")
    n = data.count()
    if not question.follows or len(levels) > MOST_FOLLOWED:
        n, question = public_size(n, question)
    return question.close(replace(quantiles(data, n, levels, question), labels=tuple(map(float, levels))))


def _one(
    name: str, x: Any, p: Fraction, interval: Rational | None, epsilon: Rational, options: Options
) -> Release[float] | NoReply:
    confidence = None if interval is None else confidence_of(interval)
    data, question = column(x, read_question(name, epsilon, options), times="place")
    if confidence is None:
        return question.close(outcome(statistic(p), data, question))
    no_interval_of_rows("interval", interval, question)
    n, question = (data.count(), question) if ranks_follow_size(p, question) else public_size(data.count(), question)
    return question.close(_with_interval(data, n, p, confidence, question))


def _with_interval(data: Column, n: int, p: Fraction, confidence: Fraction, question: Question) -> Outcome[float]:
    """A third of ε for the quantile, and a third for each end."""
    point, ends_part = question.split(1 - 2 * END_SHARE, 2 * END_SHARE)
    if (refused := public_refusal(rank_rule(p, confidence, ends_part, data), n, ends_part)) is not None:
        return refused
    middle = (
        outcome(statistic(p), data, point)
        if ranks_follow_size(p, point)
        else outcome_for_size(statistic(p), data, n, point)
    )
    if middle.value is None:
        return middle
    ends = ends_around(data, n, p, confidence, middle.value, ends_part)
    if ends.value is None:
        return replace(middle, value=None, advice=ends.advice)
    note = f"Two thirds of ε were spent on the {float(100 * confidence):g}% interval for the population."
    return replace(middle, noise=PopulationInterval(confidence, *ends.value), notes=(note,))


# --------------------------------------------------------------------------------------------- several for one ε

CANDIDATES = VECTOR_LATTICES[:-8]
"""Lattices of 24 bits and more: with fewer, 10,001 and 10,002 are hardly distinguished."""


def quantiles(data: Column, n: int, levels: tuple[Fraction, ...], question: Question) -> Outcome[Floats]:
    """All quantiles at once by the inverse method; one after the other, with equal parts of ε, by the others.

    If n allows it, they are drawn by a chain, or if there are many by a tree of chains
    (`uptack.mechanisms.quantile_chain`): each quantile is nearly as close as if it alone had all of ε, since a changed
    row moves them all together.

    Otherwise by nested boxes. **Theorem.** The product of the quantiles' intervals is a reach of their vector: each of
    the three axioms holds coordinate by coordinate. So one draw over nested boxes
    (`uptack.mechanisms.inverse_sensitivity`) is ε-private. The score of a draw is about 2m/ε and each of m coordinates
    lies anywhere within that many ranks: an error of about m/ε ranks, half of that of m releases with ε/m each. Sorting
    is post-processing. The choice between the two depends on n, ε and the levels alone. Chains count rows, so boxes are
    used for people's weighted rows.

    **Theorem.** Boxes at ranks computed from the true number of rows are ε-private if it is secret, with ⊥ as a
    candidate. *Proof.* The score of a vector is the largest of its coordinates' scores, and κ the least of theirs. Each
    moves by at most one step if a row is added, removed or replaced (`uptack.statistics.statistic.outcome`), and so do
    these. ∎ A chain would first have to buy a noisy number of rows, whose noise moves all its targets: up to
    `MOST_FOLLOWED` quantiles have less error by boxes.
    """
    if question.method != "inverse":
        each: list[Outcome[float]] = []
        for p, part in zip(levels, question.split(*[Fraction(1, len(levels))] * len(levels)), strict=True):
            each.append(outcome_for_size(statistic(p), data, n, part))
            if not each[-1]:
                return Outcome(None, each[-1].how, advice=each[-1].advice)
        drawn_values = np.array([one.value for one in each])
        order = np.argsort(drawn_values)
        return Outcome(drawn_values[order], each[0].how, EachNoise(tuple(each[i].noise for i in order)))
    ranks, g = [quantile_rank(p, n) for p in levels], question.rows
    bought = not question.size_is_secret or question.count is not None
    chained = len(levels) > 1 and bought and not data.unit.weighted
    if chained and (values := quantile_trees.tree_quantiles(data, n, ranks, question)) is not None:
        return Outcome(values, HOW)

    def room(size: int) -> int:
        return min(quantile_rank(levels[0], size) - 1, size - quantile_rank(levels[-1], size)) // g

    def reaches(steps: int, _: Lattice) -> list[Reach]:
        segments = [l_statistics.quantile(p, n) for p in levels]
        selected = data.order([window for s in segments for window in LStatistic.windows(s, steps, g)])
        return [LStatistic(selected, s, g) for s in segments]

    def advise(advice: Advice) -> Advice:
        return quantile_trees.advice(advice, n, levels, question.epsilon, g) if chained else advice

    def secret_room() -> tuple[int, int]:
        return data.count(), min(ranks[0] - 1, data.count() - ranks[-1]) // g

    vector = inverse_draw(
        question, n, room, secret_room, reaches, dimension=len(levels), lattices=CANDIDATES, advise=advise
    )
    return vector if vector.value is None else replace(vector, value=np.sort(np.atleast_1d(vector.value)))
