"""Audits without chance: where the law of a mechanism is known, the least ε between two neighbours is computed.

A law is given as cells: pairs of probabilities on D and on D', in ball arithmetic. The mechanism is (ε, δ)-private
between the two iff h(ε) = Σ(p - e^ε·q)₊ ≤ δ, and the same with p and q exchanged.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
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
        found, claimed = self.epsilon, self.claimed.epsilon
        return [f"has ε = {found:.4g} of {claimed:.4g}"] if found > claimed * (1 + ROUNDING) else []


def least_epsilon(cells: Callable[[], Cells], delta: Rational = 0) -> float:
    """The least ε for which a law is (ε, δ)-private both ways round between D and D'; inf where there is none.

    >>> from uptack.noise import IntegerLaplace
    >>> round(least_epsilon(lambda: shifted(IntegerLaplace(2), 1)), 12)
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


# ---------------------------------------------------------------------------------------------------------------- laws


def shifted(law: IntegerLaw, shift: int, reach: int = REACH) -> Cells:
    """Integer noise on 0 and on `shift`: one cell each from -reach to reach, and what lies beyond on either side.

    Taking a tail as one cell loses nothing for laws with geometric tails, whose ratio is constant there.
    """
    return cut_off(law, 0, shift, -reach, reach)


def cut_off(law: IntegerLaw, count: int, count_prime: int, cutoff: int, reach: int = REACH) -> Cells:
    """A noisy count that is shown only at or above a cutoff: silence, one cell each up to `reach`, and the rest."""
    sides = [
        [
            1 - law.exact_tail(cutoff - c).expression(),
            *(law.exact_pmf(k - c).expression() for k in range(cutoff, reach + 1)),
            law.exact_tail(reach + 1 - c).expression(),
        ]
        for c in (count, count_prime)
    ]
    return list(zip(*sides, strict=True))


def together(*parts: Callable[[], Cells]) -> Cells:
    """Independent answers given together."""
    product = itertools.product(*(part() for part in parts))
    return [(_times(p for p, _ in cells), _times(q for _, q in cells)) for cells in product]


def _times(factors: Iterable[arb]) -> arb:
    return math.prod(factors, start=arb(1))


def passed(passing: arb, passing_prime: arb, same: bool) -> Cells:
    """A test that replies with a value as it is: the same value on both sides, or another one on each."""
    silent = (1 - passing, 1 - passing_prime)
    return [silent, (passing, passing_prime)] if same else [silent, (passing, arb(0)), (arb(0), passing_prime)]


def another_value(law: IntegerLaw, threshold: int, tests: int = 1) -> Cells:
    """Another value on each side, which is shown if noise alone carries one of several tests over the threshold."""
    passing = 1 - (1 - law.exact_tail(threshold).expression()) ** tests
    return passed(passing, passing, same=False)


def proposed(reaches: tuple[Reach, Reach], bound: int, epsilon: tuple[Fraction, Fraction], delta: Fraction) -> Cells:
    """Propose-test-release of an integer by the diameter of its reach: ε for the test and for the answer."""
    noise, answer = IntegerLaplace(1 / epsilon[0]), IntegerLaplace(bound / epsilon[1])
    holds, t = diameter(bound), noise.cutoff(delta)
    far = [next(k for k in itertools.count() if not holds(*r.interval(k))) for r in reaches]
    p, q = (noise.exact_tail(1 + t - a).expression() for a in far)
    value, value_prime = (int(r.value) for r in reaches)
    return [(1 - p, 1 - q), *((p * a, q * b) for a, b in cut_off(answer, value, value_prime, -REACH))]


def inverse(shells: Boxes, shells_prime: Boxes, rho: Fraction) -> Cells:
    """The law of inverse sensitivity of a number: a cell for each run of candidates with the same two scores."""
    both = (shells, shells_prime)
    (first, last), *_ = shells.whole
    ends = {int(v) for b in both for v in b.lows[0]} | {int(v) + 1 for b in both for v in b.highs[0]}
    starts = sorted({first, *(v for v in ends if first <= v <= last)})
    sizes = [b - a for a, b in itertools.pairwise([*starts, last + 1])]
    decay = ball(rho)
    columns = []
    for one in both:  # the score of y is the least k with y in box k; boxes grow
        below = np.searchsorted(-one.lows[0], -np.array(starts), "left")
        above = np.searchsorted(one.highs[0], starts, "left")
        scores = np.maximum(below, above).tolist()
        weights = [ball(size) * decay**score for score, size in zip(scores, sizes, strict=True)]
        total = sum(weights, arb(0))
        columns.append([w / total for w in weights])
    return list(zip(*columns, strict=True))


def chosen(scores: Sequence[int], scores_prime: Sequence[int], rate: Fraction, flips: bool) -> Cells:
    """The exponential mechanism on two lists of scores, or permute-and-flip."""
    law = _flipped if flips else _weighted
    return list(zip(law(scores, rate), law(scores_prime, rate), strict=True))


def _weighted(scores: Sequence[int], rate: Fraction) -> list[arb]:
    weights = [ball(rate * (s - max(scores))).exp() for s in scores]
    total = sum(weights, arb(0))
    return [w / total for w in weights]


def _flipped(scores: Sequence[int], rate: Fraction) -> list[arb]:
    """A uniform one of those whose coins say heads, over all ways that the coins may fall."""
    coins = [ball(rate * (s - max(scores))).exp() for s in scores]
    law = [arb(0)] * len(scores)
    for heads in itertools.product((False, True), repeat=len(scores)):
        chance = _times(c if up else 1 - c for c, up in zip(coins, heads, strict=True))
        law = [p + chance / sum(heads) if up else p for p, up in zip(law, heads, strict=True)]
    return law


# ---------------------------------------------------------------------------------------------------------- all of ours

EPSILON, DELTA = Fraction(1), Fraction(1, 50)
STEPS = 40
"""K: intervals that the inverse engine is given here; any number of them is private."""


def exact_laws() -> list[ExactLaw]:
    """All of them."""
    return [*_inverse(), *_noise(), *_choices(), *_tests(), *_coins()]


def _inverse() -> list[ExactLaw]:
    n = 2 * STEPS + 2  # so that the last interval looks at every row
    twice, some = SUBSTITUTE.per_person(2), ("ties at the rank", "a gap", "extreme magnitudes")
    near, pairs, high = hostile(n, n // 2), hostile(n, n // 2, twice), hostile(n, quartiles(n)[1])
    whole = near | {"from 0 to 50": two_values(n, n // 2, high=50.0)}

    def law(name: str, build: Callable[[Any], Reach], pair: Any, claim: Privacy = ONE, **how: Any) -> ExactLaw:
        def cells() -> Cells:
            d, d_prime = (boxes([build(x)], STEPS, LATTICES[-1], **how) for x in pair)
            return inverse(d, d_prime, decay(EPSILON))

        return ExactLaw(name, cells, claim)

    def quantile(x: Any, rows: int = 1) -> Reach:
        return LStatistic.quantile(x, n // 2, STEPS, rows)

    def spread(x: Any) -> Reach:
        return InterquantileRange(x, quartiles(n), STEPS)

    def mean(weights: Any) -> Callable[[Any], Reach]:
        return lambda x: LStatistic.of(x, weights(Fraction(1, 4), n), STEPS)

    of_two = partial(quantile, rows=2)
    found = [law(f"median: {what}", quantile, pair) for what, pair in near.items()]
    found += [law(f"median, a granularity of 1: {what}", quantile, pair, widen=0.5) for what, pair in whole.items()]
    found += [
        law(f"median, 2 rows per person: {what}", of_two, pair, Privacy(1, 0, twice), widen=0.5)
        for what, pair in pairs.items()
    ]
    for what in some:
        found += [
            law(f"interquartile range: {what}", spread, high[what], nonnegative=True),
            law(f"interquartile range, a granularity of 1: {what}", spread, high[what], widen=0.5, nonnegative=True),
            law(f"trimmed mean: {what}", mean(trimmed_mean), near[what]),
            law(f"Winsorized mean: {what}", mean(winsorized_mean), near[what]),
        ]
    return found


def _noise() -> list[ExactLaw]:
    steps, two, secret = 20, Privacy(1, 0, SUBSTITUTE.per_person(2)), Privacy(1, 0, ADD_REMOVE)
    normal = IntegerGaussian((gaussian_noise_multiplier(EPSILON, DELTA) * steps) ** 2 + SMOOTHING)
    even, alone = cell_noise(EPSILON, SUBSTITUTE), cell_noise(EPSILON, ADD_REMOVE)
    skewed = cell_noise(EPSILON, SUBSTITUTE, RISING)

    def cells(law: Any, cutoff: int) -> Callable[[], Cells]:
        """Two cells at a cutoff, between which a row moves."""
        return partial(together, partial(cut_off, law, 6, 5, cutoff), partial(cut_off, law, 3, 4, cutoff))

    def table(made: CountMechanism, i: int) -> Callable[[], Cells]:
        """Two rows of a table of probabilities."""
        return lambda: [(ball(made.probability(i, j)), ball(made.probability(i + 1, j))) for j in range(made.n + 1)]

    moved = partial(together, partial(shifted, even, 1, 20), partial(shifted, even, -1, 20))
    tables = {"minimax": minimax_count_mechanism(8, 1), "optimal": optimal_count_mechanism(8, 1)}
    return [
        ExactLaw("count: one row", partial(shifted, IntegerLaplace(1 / EPSILON), 1)),
        ExactLaw("count, 2 rows per person: two rows", partial(shifted, IntegerLaplace(2 / EPSILON), 2), two),
        ExactLaw("integer Gaussian noise: 20 steps", partial(shifted, normal, steps, 400), Privacy(1, DELTA)),
        ExactLaw("histogram: from cell to cell", moved),
        ExactLaw("histogram, add/remove: one row fewer", partial(shifted, alone, 1), secret),
        ExactLaw("sparse histogram, printed: two cells", cells(even, 4)),
        ExactLaw("sparse histogram, adaptive: two cells", cells(skewed, 1)),
        ExactLaw("sparse histogram, add/remove: one cell", partial(cut_off, alone, 6, 5, 4), secret),
        *(ExactLaw(f"{kind} count: {i} and {i + 1}", table(made, i)) for kind, made in tables.items() for i in (0, 4)),
    ]


def _choices() -> list[ExactLaw]:
    tie, rise = ([3, 3, 0], [4, 2, 0]), ([2, 2, 2, 2, 2], [3, 2, 2, 2, 2])
    found = []
    for name, flips in (("exponential mechanism", False), ("report noisy max", True)):
        found += [
            ExactLaw(f"{name}: a tie broken", partial(chosen, *tie, EPSILON / 2, flips)),
            ExactLaw(f"{name}, monotone: one score rises", partial(chosen, *rise, EPSILON, flips)),
        ]
    return found


def _tests() -> list[ExactLaw]:
    law, claimed, ptr = IntegerLaplace(1 / EPSILON), Privacy(1, DELTA), Privacy(2, DELTA)
    t = law.cutoff(DELTA)

    def column(zeros: int, ones: int) -> Any:
        """Rows of 0, 1 and 9 whose median is row 20."""
        return np.r_[np.zeros(zeros), np.ones(ones), np.full(40 - zeros - ones, 9.0)]

    def median(zeros: int, ones: int) -> Callable[[], Cells]:
        """The median with noise for a move of at most 1, tested; a zero goes."""

        def cells() -> Cells:
            d, d_prime = (LStatistic.quantile(column(z, ones), 20, 20) for z in (zeros, zeros - 1))
            return proposed((d, d_prime), 1, (EPSILON, EPSILON), DELTA)

        return cells

    def at_cutoff() -> Cells:
        return passed(law.exact_tail(1).expression(), law.exact_tail(0).expression(), same=True)

    return [
        ExactLaw("propose-test-release: a jump beyond the proposal", median(20, 0), ptr),
        ExactLaw("propose-test-release: at the cutoff", median(20 + t, 0), ptr),
        ExactLaw("propose-test-release: a jump within the proposal, at the cutoff", median(20, t), ptr),
        ExactLaw("release if stable: another value", partial(another_value, law, t), claimed),
        ExactLaw("release if stable: at the cutoff", at_cutoff, claimed),
        ExactLaw("Scale: a range of 0 or 1", partial(another_value, law, law.cutoff(DELTA / 2), 2), ptr),
    ]


def _coins() -> list[ExactLaw]:
    """A coin with heads probability e^-2, by the digits that it is flipped with, against one that always says heads."""

    def cells() -> Cells:
        digits = Coin(exp_minus(Fraction(2)))
        return [(ball(1), ball(Fraction(sum(digits.digit(k) * 256 ** (15 - k) for k in range(16)), 256**16)))]

    return [ExactLaw("coins: e^-2 and 1", cells, Privacy(Fraction(2) + Fraction(1, 10**9)))]


def broken_laws() -> list[ExactLaw]:
    """Printed constants that the papers got wrong, and a mistake that libraries have shipped.

    Algorithm 12 replies iff R > 1 + ln(1/δ), whatever ε is: for a wrong proposal noise of so much carries it. A_dist
    with ε = 2 and P(z ≥ 1) = 0.119 has the threshold 1; with 0 in its place 0.881 pass.
    """
    low, small, tied, at = Fraction(1, 10), Fraction(1, 10**6), IntegerLaplace(Fraction(1, 2)), Fraction(12, 100)
    each, printed = partial(shifted, IntegerLaplace(1), 1), math.floor(math.log(1 / small)) + 1
    twelve = partial(another_value, IntegerLaplace(1 / low), printed, 2)
    return [
        ExactLaw("R_H: Lap(h/ε) on each of p coordinates, as printed", partial(together, each, each)),
        ExactLaw("Algorithm 12: its printed threshold", twelve, Privacy(4 * low, small)),
        ExactLaw("A_dist: mass at the threshold forgotten", partial(another_value, tied, tied.cutoff(at) - 1),
                 Privacy(2, at)),
    ]  # fmt: skip
