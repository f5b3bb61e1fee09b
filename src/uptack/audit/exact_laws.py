"""Audits without chance: where the law of a mechanism is known, the least ε between two neighbours is computed.

A law is given as cells: pairs of probabilities on D and on D', in ball arithmetic. The mechanism is (ε, δ)-private
between the two iff h(ε) = Σ(p - e^ε·q)₊ ≤ δ, and the same with p and q exchanged.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb

from uptack.audit.neighbours import hostile, two_values
from uptack.discrete import CountMechanism, minimax_count_mechanism, optimal_count_mechanism
from uptack.discrete.count_noise import cell_noise
from uptack.discrete.sparse_histograms import RISING
from uptack.exact import Rational, ball, read, working
from uptack.mechanisms.additive_noise import SMOOTHING
from uptack.mechanisms.inverse_sensitivity import LATTICES, Boxes, boxes, decay
from uptack.mechanisms.ptr import diameter
from uptack.noise import IntegerGaussian, IntegerLaplace, IntegerLaw
from uptack.noise.coins import Coin, exp_minus
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy, gaussian_noise_multiplier
from uptack.reach import InterquantileRange, LStatistic, Reach
from uptack.reach.l_statistics import quartiles, trimmed_mean, winsorized_mean

Cells = list[tuple[arb, arb]]
ONE = Privacy(1)
BITS = 256
"""The working precision: values are right to far more digits than they are shown with."""
ROUNDING = 1e-9
HALVINGS = 60
"""Of the interval that the least ε lies in."""
REACH = 60
"""Integers up to here are cells of their own."""


@dataclass(frozen=True, eq=False)
class ExactLaw:
    """A mechanism whose law is known: `cells()` are the probabilities of its outcomes on D and on D', as balls.

    Outcomes may be taken together where both probabilities are multiplied by the same.
    """

    name: str
    cells: Callable[[], Cells]
    claimed: Privacy = ONE

    @property
    def epsilon(self) -> float:
        """The least ε that goes with the claimed δ."""
        return least_epsilon(self.cells, self.claimed.exact_delta)

    @property
    def problems(self) -> list[str]:
        """What is wrong: it is computed to far more digits than it is compared with."""
        epsilon, claimed = self.epsilon, self.claimed.epsilon
        return [f"has ε = {epsilon:.4g} of {claimed:.4g}"] if epsilon > claimed * (1 + ROUNDING) else []


def least_epsilon(cells: Callable[[], Cells], delta: Rational = 0) -> float:
    """The least ε for which a law is (ε, δ)-private both ways round between D and D'; inf where there is none.

    >>> from uptack.noise import IntegerLaplace
    >>> round(least_epsilon(lambda: noise_cells(IntegerLaplace(2), 1)), 12)
    0.5
    """
    with working(BITS):
        pairs, slack = cells(), ball(read(delta))
        return max(_least(one, slack) for one in (pairs, [(q, p) for p, q in pairs]))


def _least(pairs: Cells, delta: arb) -> float:
    """For one direction: by a maximum for δ = 0, else by halving, since h falls in ε."""
    if not sum((p for p, q in pairs if q == 0), arb(0)) <= delta:  # the limit of h
        return math.inf
    low, high = 0.0, max((float((p / q).log().mid()) for p, q in pairs if q > 0 and p > 0), default=0.0)
    if delta == 0 or high <= 0:
        return max(high, 0.0)

    def private(epsilon: float) -> bool:
        rise = arb(epsilon).exp()
        return bool(sum(((p - rise * q).nonnegative_part() for p, q in pairs), arb(0)) <= delta)

    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return 0.0 if private(0.0) else high


# --------------------------------------------------------------------------------------------------------------- cells


def noise_cells(law: IntegerLaw, shift: int, reach: int = REACH) -> Cells:
    """Integer noise on 0 and on `shift`: one cell each from -reach to reach, and what lies beyond on either side.

    Taking a tail as one cell loses nothing for laws with geometric tails, whose ratio is constant there.
    """
    return cutoff_cells(law, 0, shift, -reach, reach)


def cutoff_cells(law: IntegerLaw, count: int, count_prime: int, cutoff: int, reach: int = REACH) -> Cells:
    """A noisy count that is shown only at or above a cutoff: silence, one cell each up to `reach`, and the rest."""

    def cells(c: int) -> list[arb]:
        masses = [law.exact_pmf(k - c).expression() for k in range(cutoff, reach + 1)]
        return [1 - law.exact_tail(cutoff - c).expression(), *masses, law.exact_tail(reach + 1 - c).expression()]

    return list(zip(cells(count), cells(count_prime), strict=True))


def joint_cells(*parts: Callable[[], Cells]) -> Cells:
    """Independent answers given together."""
    product = itertools.product(*(part() for part in parts))
    return [(_product(p for p, _ in cells), _product(q for _, q in cells)) for cells in product]


def _product(factors: Iterable[arb]) -> arb:
    return math.prod(factors, start=arb(1))


def reply_cells(passing: arb, passing_prime: arb, same: bool) -> Cells:
    """A test that replies with a value as it is: the same value on both sides, or another one on each."""
    silent = (1 - passing, 1 - passing_prime)
    return [silent, (passing, passing_prime)] if same else [silent, (passing, arb(0)), (arb(0), passing_prime)]


def false_pass_cells(law: IntegerLaw, threshold: int, tests: int = 1) -> Cells:
    """Another value on each side, which is shown if noise alone carries one of several tests over the threshold."""
    passing = 1 - (1 - law.exact_tail(threshold).expression()) ** tests
    return reply_cells(passing, passing, same=False)


def ptr_cells(reaches: tuple[Reach, Reach], bound: int, epsilon: tuple[Fraction, Fraction], delta: Fraction) -> Cells:
    """Propose-test-release of an integer by the diameter of its reach: ε for the test and for the answer."""
    noise, answer = IntegerLaplace(1 / epsilon[0]), IntegerLaplace(bound / epsilon[1])
    holds, t = diameter(bound), noise.cutoff(delta)
    far = [next(k for k in itertools.count() if not holds(*r.interval(k))) for r in reaches]
    p, q = (noise.exact_tail(1 + t - a).expression() for a in far)
    value, value_prime = (int(r.value) for r in reaches)
    return [(1 - p, 1 - q), *((p * a, q * b) for a, b in cutoff_cells(answer, value, value_prime, -REACH))]


def inverse_cells(shells: Boxes, shells_prime: Boxes, rho: Fraction) -> Cells:
    """The law of inverse sensitivity of a number: a cell for each run of candidates with the same two scores."""
    both = (shells, shells_prime)
    (first, last), *_ = shells.whole
    ends = {int(v) for b in both for v in b.lows[0]} | {int(v) + 1 for b in both for v in b.highs[0]}
    starts = sorted({first, *(v for v in ends if first <= v <= last)})
    sizes = [b - a for a, b in itertools.pairwise([*starts, last + 1])]
    decay = ball(rho)

    def law(one: Boxes) -> list[arb]:  # the score of y is the least k with y in box k; boxes grow
        below = np.searchsorted(-one.lows[0], -np.array(starts), "left")
        above = np.searchsorted(one.highs[0], starts, "left")
        scores = np.maximum(below, above).tolist()
        return _shares([ball(size) * decay**score for score, size in zip(scores, sizes, strict=True)])

    return list(zip(law(shells), law(shells_prime), strict=True))


def _shares(weights: list[arb]) -> list[arb]:
    total = sum(weights, arb(0))
    return [w / total for w in weights]


def choice_cells(scores: Sequence[int], scores_prime: Sequence[int], rate: Fraction, flips: bool) -> Cells:
    """The exponential mechanism on two lists of scores, or permute-and-flip."""

    def law(scores: Sequence[int]) -> list[arb]:
        coins = [ball(rate * (s - max(scores))).exp() for s in scores]
        if not flips:
            return _shares(coins)
        law = [arb(0)] * len(scores)  # a uniform one of those whose coins say heads, over all ways they may fall
        for heads in itertools.product((False, True), repeat=len(scores)):
            chance = _product(c if up else 1 - c for c, up in zip(coins, heads, strict=True))
            law = [p + chance / sum(heads) if up else p for p, up in zip(law, heads, strict=True)]
        return law

    return list(zip(law(scores), law(scores_prime), strict=True))


# ---------------------------------------------------------------------------------------------------------- all of ours

EPSILON, DELTA = Fraction(1), Fraction(1, 50)
STEPS = 40
"""K: intervals that the inverse engine is given here; any number of them is private."""


def exact_laws() -> list[ExactLaw]:
    """All of them."""
    return [ExactLaw(*line) for line in (*_inverse(), *_noise(), *_choices(), *_tests())]


def _inverse() -> Iterator[tuple[Any, ...]]:
    n = 2 * STEPS + 2  # so that the last interval looks at every row
    twice, some = SUBSTITUTE.per_person(2), ("ties at the rank", "a gap", "extreme magnitudes")
    near, pairs, high = hostile(n, n // 2), hostile(n, n // 2, twice), hostile(n, quartiles(n)[1])

    def law(name: str, build: Callable[[Any], Reach], pair: Any, claim: Privacy = ONE, **how: Any) -> tuple[Any, ...]:
        def cells() -> Cells:
            d, d_prime = (boxes([build(x)], STEPS, LATTICES[-1], **how) for x in pair)
            return inverse_cells(d, d_prime, decay(EPSILON))

        return name, cells, claim

    def quantile(x: Any, rows: int = 1) -> Reach:
        return LStatistic.quantile(x, n // 2, STEPS, rows)

    def spread(x: Any) -> Reach:
        return InterquantileRange(x, quartiles(n), STEPS)

    def mean(weights: Any) -> Callable[[Any], Reach]:
        return lambda x: LStatistic.of(x, weights(Fraction(1, 4), n), STEPS)

    for what, pair in near.items():
        yield law(f"median: {what}", quantile, pair)
    for what, pair in {**near, "from 0 to 50": two_values(n, n // 2, high=50.0)}.items():
        yield law(f"median, a granularity of 1: {what}", quantile, pair, widen=0.5)
    for what, pair in pairs.items():
        of_two = partial(quantile, rows=2)
        yield law(f"median, 2 rows per person: {what}", of_two, pair, Privacy(1, 0, twice), widen=0.5)
    for what in some:
        yield law(f"interquartile range: {what}", spread, high[what], nonnegative=True)
        name = f"interquartile range, a granularity of 1: {what}"
        yield law(name, spread, high[what], widen=0.5, nonnegative=True)
        yield law(f"trimmed mean: {what}", mean(trimmed_mean), near[what])
        yield law(f"Winsorized mean: {what}", mean(winsorized_mean), near[what])


def _noise() -> Iterator[tuple[Any, ...]]:
    steps, two, secret = 20, Privacy(1, 0, SUBSTITUTE.per_person(2)), Privacy(1, 0, ADD_REMOVE)
    normal = IntegerGaussian((gaussian_noise_multiplier(EPSILON, DELTA) * steps) ** 2 + SMOOTHING)
    even, alone = cell_noise(EPSILON, SUBSTITUTE), cell_noise(EPSILON, ADD_REMOVE)
    skewed = cell_noise(EPSILON, SUBSTITUTE, RISING)
    moved = partial(joint_cells, partial(noise_cells, even, 1, 20), partial(noise_cells, even, -1, 20))

    def cells(law: Any, cutoff: int) -> Callable[[], Cells]:
        """Two cells at a cutoff, between which a row moves."""
        return partial(joint_cells, partial(cutoff_cells, law, 6, 5, cutoff), partial(cutoff_cells, law, 3, 4, cutoff))

    def table(mechanism: CountMechanism, i: int) -> Cells:
        """Two rows of a table of probabilities."""
        p = mechanism.probability
        return [(ball(p(i, j)), ball(p(i + 1, j))) for j in range(mechanism.n + 1)]

    yield "count: one row", partial(noise_cells, IntegerLaplace(1 / EPSILON), 1)
    yield "count, 2 rows per person: two rows", partial(noise_cells, IntegerLaplace(2 / EPSILON), 2), two
    yield "integer Gaussian noise: 20 steps", partial(noise_cells, normal, steps, 400), Privacy(1, DELTA)
    yield "histogram: from cell to cell", moved
    yield "histogram, add/remove: one row fewer", partial(noise_cells, alone, 1), secret
    yield "sparse histogram, printed: two cells", cells(even, 4)
    yield "sparse histogram, adaptive: two cells", cells(skewed, 1)
    yield "sparse histogram, add/remove: one cell", partial(cutoff_cells, alone, 6, 5, 4), secret
    for kind, mechanism in (("minimax", minimax_count_mechanism(8, 1)), ("optimal", optimal_count_mechanism(8, 1))):
        for i in (0, 4):
            yield f"{kind} count: {i} and {i + 1}", partial(table, mechanism, i)


def _choices() -> Iterator[tuple[Any, ...]]:
    tie, rise = ([3, 3, 0], [4, 2, 0]), ([2, 2, 2, 2, 2], [3, 2, 2, 2, 2])
    for name, flips in (("exponential mechanism", False), ("report noisy max", True)):
        yield f"{name}: a tie broken", partial(choice_cells, *tie, EPSILON / 2, flips)
        yield f"{name}, monotone: one score rises", partial(choice_cells, *rise, EPSILON, flips)

    def coin() -> Cells:
        """Heads with probability e^-2, by the digits that it is flipped with, against one that always says heads."""
        digits = Coin(exp_minus(Fraction(2)))
        return [(ball(1), ball(Fraction(sum(digits.digit(k) * 256 ** (15 - k) for k in range(16)), 256**16)))]

    yield "coins: e^-2 and 1", coin, Privacy(Fraction(2) + Fraction(1, 10**9))


def _tests() -> Iterator[tuple[Any, ...]]:
    law, claimed, ptr = IntegerLaplace(1 / EPSILON), Privacy(1, DELTA), Privacy(2, DELTA)
    t = law.cutoff(DELTA)

    def median(zeros: int, ones: int) -> Cells:
        """The median, row 20 of 0, 1 and 9, with noise for a move of at most 1, tested; a zero goes."""
        columns = (np.r_[np.zeros(z), np.ones(ones), np.full(40 - z - ones, 9.0)] for z in (zeros, zeros - 1))
        d, d_prime = (LStatistic.quantile(column, 20, 20) for column in columns)
        return ptr_cells((d, d_prime), 1, (EPSILON, EPSILON), DELTA)

    def at_cutoff() -> Cells:
        return reply_cells(law.exact_tail(1).expression(), law.exact_tail(0).expression(), same=True)

    yield "propose-test-release: a jump beyond the proposal", partial(median, 20, 0), ptr
    yield "propose-test-release: at the cutoff", partial(median, 20 + t, 0), ptr
    yield "propose-test-release: a jump within the proposal, at the cutoff", partial(median, 20, t), ptr
    yield "release if stable: another value", partial(false_pass_cells, law, t), claimed
    yield "release if stable: at the cutoff", at_cutoff, claimed
    yield "Scale: a range of 0 or 1", partial(false_pass_cells, law, law.cutoff(DELTA / 2), 2), ptr


def broken_laws() -> list[ExactLaw]:
    """Printed constants that the papers got wrong, and a mistake that libraries have shipped.

    Algorithm 12 replies iff R > 1 + ln(1/δ), whatever ε is: for a wrong proposal noise of so much carries it. A_dist
    with ε = 2 and P(z ≥ 1) = 0.119 has the threshold 1; with 0 in its place 0.881 pass.
    """
    low, small, tied, at = Fraction(1, 10), Fraction(1, 10**6), IntegerLaplace(Fraction(1, 2)), Fraction(12, 100)
    each, printed = partial(noise_cells, IntegerLaplace(1), 1), math.floor(math.log(1 / small)) + 1
    twelve, shown = partial(false_pass_cells, IntegerLaplace(1 / low), printed, 2), tied.cutoff(at) - 1
    return [
        ExactLaw("R_H: Lap(h/ε) on each of p coordinates, as printed", partial(joint_cells, each, each)),
        ExactLaw("Algorithm 12: its printed threshold", twelve, Privacy(4 * low, small)),
        ExactLaw("A_dist: mass at the threshold forgotten", partial(false_pass_cells, tied, shown), Privacy(2, at)),
    ]
