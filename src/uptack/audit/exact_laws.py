"""Mechanisms whose exact law is known: no draws, no doubt."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from uptack.audit.exact_audit import (
    Cells,
    ExactLaw,
    chosen,
    cut_off,
    either,
    inverse,
    passed,
    proposed,
    shifted,
    together,
)
from uptack.audit.neighbours import hostile, two_values
from uptack.discrete import CountMechanism, minimax_count_mechanism, optimal_count_mechanism
from uptack.discrete.count_noise import cell_noise
from uptack.discrete.sparse_histograms import RISING
from uptack.exact import ball
from uptack.mechanisms.additive_noise import SMOOTHING
from uptack.mechanisms.inverse_sensitivity import LATTICES, boxes, decay
from uptack.noise import IntegerGaussian, IntegerLaplace
from uptack.noise.coins import Coin, exp_minus
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy, gaussian_noise_multiplier
from uptack.reach import InterquantileRange, LStatistic, Reach
from uptack.reach.l_statistics import quartiles, trimmed_mean, winsorized_mean

ONE = Privacy(1)
EPSILON, DELTA = Fraction(1), Fraction(1, 50)
QUARTER = Fraction(1, 4)
TABLES = ("minimax", "optimal")
STEPS = 40
"""K: intervals that the inverse engine is given here; any number of them is private."""

Build = Callable[[Any], Reach]


def exact_laws() -> list[ExactLaw]:
    """All of them."""
    return [*_inverse(), *_additive(), *_tables(), *_choices(), *_stable(), *_coins()]


@lru_cache(maxsize=4)
def mechanism(kind: str) -> CountMechanism:
    """A table of probabilities for counts up to 8, at ε = 1."""
    return minimax_count_mechanism(8, 1) if kind == "minimax" else optimal_count_mechanism(8, 1)


def _case(name: str, cells: Callable[[], Cells], claimed: Privacy = ONE) -> ExactLaw:
    return ExactLaw(name, cells, claimed)


# ------------------------------------------------------------------------------------------------ inverse sensitivity


def _law(build: Build, pair: Sequence[Any], widen: float = 0.0, nonnegative: bool = False) -> Callable[[], Cells]:
    def cells() -> Cells:
        d, d_prime = (boxes([build(x)], STEPS, LATTICES[-1], widen=widen, nonnegative=nonnegative) for x in pair)
        return inverse(d, d_prime, decay(EPSILON))

    return cells


def _inverse() -> list[ExactLaw]:
    n = 2 * STEPS + 2  # so that the last interval looks at every row
    both, some = SUBSTITUTE.per_person(2), ("ties at the rank", "a gap", "extreme magnitudes")
    near, pairs, high = hostile(n, n // 2), hostile(n, n // 2, both), hostile(n, quartiles(n)[1])
    whole = near | {"from 0 to 50": two_values(n, n // 2, high=50.0)}

    def quantile(x: Any, rows: int = 1) -> Reach:
        return LStatistic.quantile(x, n // 2, STEPS, rows)

    def spread(x: Any) -> Reach:
        return InterquantileRange(x, quartiles(n), STEPS)

    def trimmed(x: Any) -> Reach:
        return LStatistic.of(x, trimmed_mean(QUARTER, n), STEPS)

    def winsorized(x: Any) -> Reach:
        return LStatistic.of(x, winsorized_mean(QUARTER, n), STEPS)

    twice, two = partial(quantile, rows=2), Privacy(1, 0, both)
    found = [_case(f"median: {what}", _law(quantile, pair)) for what, pair in near.items()]
    found += [_case(f"median, a granularity of 1: {w}", _law(quantile, pair, 0.5)) for w, pair in whole.items()]
    found += [_case(f"median, 2 rows per person: {w}", _law(twice, pair, 0.5), two) for w, pair in pairs.items()]
    for what in some:
        found += [
            _case(f"interquartile range: {what}", _law(spread, high[what], nonnegative=True)),
            _case(f"interquartile range, a granularity of 1: {what}", _law(spread, high[what], 0.5, nonnegative=True)),
            _case(f"trimmed mean: {what}", _law(trimmed, near[what])),
            _case(f"Winsorized mean: {what}", _law(winsorized, near[what])),
        ]
    return found


# ----------------------------------------------------------------------------------------------- noise, tables, choices


def _additive() -> list[ExactLaw]:
    steps, two = 20, Privacy(1, 0, SUBSTITUTE.per_person(2))
    variance = (gaussian_noise_multiplier(EPSILON, DELTA) * steps) ** 2 + SMOOTHING
    normal = partial(shifted, IntegerGaussian(variance), steps, 400)
    return [
        _case("count: one row", partial(shifted, IntegerLaplace(1 / EPSILON), 1)),
        _case("count, 2 rows per person: two rows", partial(shifted, IntegerLaplace(2 / EPSILON), 2), two),
        _case("integer Gaussian noise: 20 steps", normal, Privacy(1, DELTA)),
    ]


def _tables() -> list[ExactLaw]:
    even, alone = cell_noise(EPSILON, SUBSTITUTE), cell_noise(EPSILON, ADD_REMOVE)
    skewed, secret = cell_noise(EPSILON, SUBSTITUTE, RISING), Privacy(1, 0, ADD_REMOVE)
    moved = partial(together, partial(shifted, even, 1, 20), partial(shifted, even, -1, 20))
    printed = partial(together, partial(cut_off, even, 6, 5, 4), partial(cut_off, even, 3, 4, 4))
    adaptive = partial(together, partial(cut_off, skewed, 6, 5, 1), partial(cut_off, skewed, 3, 4, 1))
    return [
        _case("histogram: from cell to cell", moved),
        _case("histogram, add/remove: one row fewer", partial(shifted, alone, 1), secret),
        _case("sparse histogram, printed: two cells", printed),
        _case("sparse histogram, adaptive: two cells", adaptive),
        _case("sparse histogram, add/remove: one cell", partial(cut_off, alone, 6, 5, 4), secret),
        *(_case(f"{kind} count: {i} and {i + 1}", partial(_rows, kind, i)) for kind in TABLES for i in (0, 4)),
    ]


def _rows(kind: str, i: int) -> Cells:
    """Two rows of a table of probabilities."""
    table = mechanism(kind)
    return [(ball(table.probability(i, j)), ball(table.probability(i + 1, j))) for j in range(table.n + 1)]


def _choices() -> list[ExactLaw]:
    half, tie, rise = EPSILON / 2, ([3, 3, 0], [4, 2, 0]), ([2, 2, 2, 2, 2], [3, 2, 2, 2, 2])
    found = []
    for name, flips in (("exponential mechanism", False), ("report noisy max", True)):
        found += [
            _case(f"{name}: a tie broken", partial(chosen, *tie, half, flips)),
            _case(f"{name}, monotone: one score rises", partial(chosen, *rise, EPSILON, flips)),
        ]
    return found


# -------------------------------------------------------------------------------------------------------------- tests


def _stable() -> list[ExactLaw]:
    law, claimed = IntegerLaplace(1 / EPSILON), Privacy(1, DELTA)
    t = law.cutoff(DELTA)

    def told(d: int, d_prime: int, same: bool) -> Callable[[], Cells]:
        return lambda: passed(law.exact_tail(t - d).expression(), law.exact_tail(t - d_prime).expression(), same)

    def grids() -> Cells:
        chance = either(law.exact_tail(law.cutoff(DELTA / 2)).expression())
        return passed(chance, chance, same=False)

    ptr = Privacy(2, DELTA)
    return [
        *(_case(f"propose-test-release: {what}", partial(_proposed, pair), ptr) for what, pair in _jumps(t).items()),
        _case("release if stable: another value", told(0, 0, False), claimed),
        _case("release if stable: at the cutoff", told(t - 1, t, True), claimed),
        _case("Scale: a range of 0 or 1", grids, Privacy(2, DELTA)),
    ]


def _jumps(t: int) -> dict[str, tuple[Any, Any]]:
    """Columns of 0, 1 and 9 whose median is row 20: what it moves by, and how far the nines are."""

    def column(zeros: int, ones: int) -> Any:
        return np.r_[np.zeros(zeros), np.ones(ones), np.full(40 - zeros - ones, 9.0)]

    return {
        "a jump beyond the proposal": (column(20, 0), column(19, 0)),
        "at the cutoff": (column(20 + t, 0), column(19 + t, 0)),
        "a jump within the proposal, at the cutoff": (column(20, t), column(19, t)),
    }


def _proposed(pair: tuple[Any, Any]) -> Cells:
    """The median with noise for a move of at most 1, tested."""
    d, d_prime = (LStatistic.quantile(x, 20, 20) for x in pair)
    return proposed((d, d_prime), 1, (EPSILON, EPSILON), DELTA)


# -------------------------------------------------------------------------------------------------------------- coins


def _coins() -> list[ExactLaw]:
    """A coin with heads probability e^-2, by the digits that it is flipped with, against one that always says heads."""

    def cells() -> Cells:
        digits = Coin(exp_minus(Fraction(2)))
        heads = ball(Fraction(sum(digits.digit(k) * 256 ** (15 - k) for k in range(16)), 256**16))
        return [(ball(1), heads)]

    return [ExactLaw("coins: e^-2 and 1", cells, Privacy(Fraction(2) + Fraction(1, 10**9)))]


# -------------------------------------------------------------------------------------------------- broken on purpose


LOW, SMALL = Fraction(1, 10), Fraction(1, 10**6)
TIED, TIED_DELTA = IntegerLaplace(Fraction(1, 2)), Fraction(12, 100)
"""ε = 2 and P(z ≥ 1) = 0.119: the threshold is 1, and with 0 in its place 0.881 pass."""


def printed_cutoff() -> int:
    """Algorithm 12 replies iff R > 1 + ln(1/δ), whatever ε is: for a wrong proposal noise of so much carries it."""
    return math.floor(math.log(1 / SMALL)) + 1


def broken_laws() -> list[ExactLaw]:
    """Printed constants that the papers got wrong, and a mistake that libraries have shipped."""
    law = IntegerLaplace(1 / LOW)

    def algorithm_12() -> Cells:
        chance = either(law.exact_tail(printed_cutoff()).expression())
        return passed(chance, chance, same=False)

    def off_by_one() -> Cells:
        chance = TIED.exact_tail(TIED.cutoff(TIED_DELTA) - 1).expression()
        return passed(chance, chance, same=False)

    each = partial(shifted, IntegerLaplace(1), 1)
    return [
        _case("R_H: Lap(h/ε) on each of p coordinates, as printed", partial(together, each, each)),
        _case("Algorithm 12: its printed threshold", algorithm_12, Privacy(4 * LOW, SMALL)),
        _case("A_dist: mass at the threshold forgotten", off_by_one, Privacy(2, TIED_DELTA)),
    ]
