"""S, Scale and M on tables small enough to enumerate: distances against brute force, and the exact laws of the tests.

A table is a multiset of rows. Replacing k rows leads to every multiset that shares at least n - k rows with it.
"""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb, ctx

from uptack.exact import ball
from uptack.mechanisms import ptr
from uptack.noise import IntegerLaplace, SeededEntropy
from uptack.privacy import loss
from uptack.reach import InterquantileRange, LStatistic
from uptack.reach.l_statistics import quartiles

VALUES = (0.0, 1.0, 1.6, 2.0, 5.0)
RICH = (*VALUES, 1e-9, 0.5, 1.3, 2.7, 3.5, -4.0, -1e12, 1e12)
SIZES = (2, 3, 4, 5, 6)
FAR = 99  # no number of changes is enough


@cache
def tables(n, values=VALUES):
    return [np.array(t) for t in itertools.combinations_with_replacement(values, n)]


@cache
def distances(n, values=VALUES):
    """How many rows must be replaced to turn each table into each one over `values`: n less the rows they share."""

    def shared(v, n=n):
        return np.minimum.outer(*(np.array([np.sum(t == v) for t in tables(n, u)], np.int8) for u in (VALUES, values)))

    return n - sum(shared(v) for v in VALUES)


def scale_case(width, shift):
    """T, its reach, and the bins, for a scale."""
    return (
        lambda x: float(np.sort(x)[quartiles(x.size)[1] - 1] - np.sort(x)[quartiles(x.size)[0] - 1]),
        lambda x: InterquantileRange(x, quartiles(x.size), x.size),
        ptr.log_grid(width, shift),
    )


def median_case(width, shift):
    return (
        lambda x: float(np.sort(x)[(x.size + 1) // 2 - 1]),
        lambda x: LStatistic.quantile(x, (x.size + 1) // 2, x.size),
        ptr.grid(width, shift),
    )


CASES = {
    f"{name}, {label}, shift {shift}": make(width, shift)
    for shift in ptr.SHIFTS
    for name, make, widths in (
        ("S", scale_case, {"base 1 + 1/ln 6": ptr.log_width(6), "base 2": math.log(2)}),
        ("M", median_case, {"h 1": 1.0, "h 0.7": 0.7}),
    )
    for label, width in widths.items()
}


def reached(build, index, x):
    """A: the least k with interval k not in one bin. Interval n is the whole line."""
    reach, holds = build(x), ptr.same_bin(index)
    return next(k for k in range(1, x.size + 1) if not holds(*reach.interval(k)))


def median_formula(x, index):
    """min(k - #{x < l}, n - k + 1 - #{x ≥ r}) for the bin [l, r) of the order statistic k."""
    n, k = x.size, (x.size + 1) // 2
    own = index(np.sort(x)[k - 1])
    bins = [index(v) for v in x]
    return min(k - sum(b < own for b in bins), n - k + 1 - sum(b > own for b in bins))


def scale_formula(x, index):
    """Over t: rows to be at most t and at least t + U for the range to rise out of [L, U), or inside [t, t + L)."""
    (a, b), n = quartiles(x.size), x.size
    own = index(np.sort(x)[b - 1] - np.sort(x)[a - 1])
    beyond = [[index(v - t) if v >= t else -math.inf for v in x] for t in x]
    ways = []
    for t, bins in zip(x, beyond, strict=True):
        ways.append(max(a - sum(v <= t for v in x), 0) + max(n - b + 1 - sum(i > own for i in bins), 0))
        if own > -math.inf:
            ways.append(max(sum(v < t for v in x) - a + 1, 0) + max(sum(i >= own for i in bins) - n + b, 0))
    for t in x:  # t just low enough for a row v to be at t + U or beyond
        low = [v for v in x if v <= t and index(t - v) > own]
        ways.append(max(a - len(low), 0) + max(n - b + 1 - sum(v >= t for v in x), 0))
    return min([*ways, a, n - b + 1])  # t at -∞, and +∞


FORMULAS = {"S": scale_formula, "M": median_formula}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", SIZES)
def test_distances_are_those_of_brute_force_and_of_the_formulas(case, n):
    statistic, build, index = CASES[case]
    here, there = tables(n), tables(n, RICH)
    apart = distances(n, RICH)
    own, other = (np.array([index(statistic(x)) for x in side]) for side in (here, there))
    brute = np.where(own[:, None] != other[None, :], apart, FAR).min(axis=1)
    found = [reached(build, index, x) for x in here]
    assert found == brute.tolist()
    assert found == [FORMULAS[case[0]](x, index) for x in here]


@pytest.mark.parametrize("case", CASES)
def test_distances_move_by_at_most_one_between_neighbours(case):
    _, build, index = CASES[case]
    for n in SIZES:
        here = tables(n)
        a = np.array([reached(build, index, x) for x in here])
        neighbours = distances(n) <= 1
        assert np.abs(a[:, None] - a[None, :])[neighbours].max() <= 1


def test_one_row_has_no_range():
    """n = 1: the true range never leaves 0. The reach is larger than it must be, which is private all the same."""
    statistic, build, index = CASES["S, base 2, shift 0"]
    assert {statistic(x) for x in tables(1)} == {0.0}
    assert {reached(build, index, x) for x in tables(1)} == {1}


class Looks(ptr.Proposal):
    """A proposal whose interval is not drawn."""

    def look(self, entropy):
        return self.cutoff


@pytest.mark.parametrize("case", CASES)
def test_attempt_passes_where_the_distance_and_the_noise_say_so(case):
    """A + z ≥ 1 + t, with k = t - z."""
    _, build, index = CASES[case]
    for x in tables(5):
        a = reached(build, index, x)
        for k in (a - 2, a - 1, a, a + 1):  # on both sides of the threshold
            units = loss.Test(1, 0), loss.Answer(1)
            proposal = Looks(1.0, ptr.same_bin(index), *units, k)
            tested = ptr.TestedAnswer.of([proposal, proposal], scale=False)
            out = tested.draw(lambda steps, x=x: build(x), SeededEntropy(1))
            assert (out is not None) == (a - k >= 1)


# ------------------------------------------------------------------------------------------------- the tests' own law

LEVELS = {
    "printed, n = 6": ptr.Level.printed(Fraction(1), 6),
    "printed, small ε": ptr.Level.printed(Fraction(1, 10), 6),
    "explicit δ'": ptr.Level(Fraction(1), Fraction(1, 20)),
    "explicit δ', large ε": ptr.Level(Fraction(3), Fraction(1, 1000)),
}
ROOM = Fraction(1, 2**80)


@cache
def passing(level, a):
    """P(A + z ≥ 1 + t), exactly."""
    noise = IntegerLaplace(1 / level.epsilon)
    t = noise.cutoff(level.delta) if level.cutoff is None else level.cutoff
    return noise.exact_tail(1 + t - a)


def chance(level, a):
    """The same as a ball of the working precision."""
    return passing(level, a).expression()


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("case", CASES)
def test_the_tests_are_private(case, level):
    """p ≤ e^ε·p' and 1 - p ≤ e^ε·(1 - p') for all neighbours; and a wrong proposal passes with at most δ'."""
    statistic, build, index = CASES[case]
    here = tables(6)
    a = [reached(build, index, x) for x in here]
    own = np.array([index(statistic(x)) for x in here])
    near = distances(6) <= 1
    pairs = {(a[i], a[j]) for i, j in zip(*np.nonzero(near), strict=True)}
    exposed = {k for k, row, b in zip(a, near, own, strict=True) if (own[row] != b).any()}
    with ctx.workprec(120):
        rise = ball(level.epsilon).exp() * (1 + ball(ROOM))
        for k, m in pairs:
            p, q = chance(level, k), chance(level, m)
            assert p <= rise * q
            assert 1 - p <= rise * (1 - q)
        assert exposed == {1}
        assert passing(level, 1) <= level.delta


# ------------------------------------------------------------------------------------------- the whole cascade's law

PER_BIN = 4  # grid points to a bin in the exact law of the answer; the library has 2^16 and more


def position(name, value, width):
    """The answer's place on the noise's grid: None for a scale of 0, which stays 0."""
    if name == "S":
        return None if value == 0 else round(math.log(value) / width * PER_BIN)
    return round(value / width * PER_BIN)


@cache
def answer_law(epsilon):
    """Rounding adds a step to the sensitivity, as in `engines.laplace`."""
    return IntegerLaplace((PER_BIN + 1) / epsilon)


def excess(p, q, place, place_prime, epsilon, factor):
    """Σ over all outcomes of (P - e^2ε·P')₊: ⊥, and the answers on the grid.

    p, q: the chances to reply. Beyond both places the ratio of the laws is constant, so those sums are tails.
    """
    total = (1 - p - factor * (1 - q)).nonnegative_part()
    if place is None or place_prime is None:
        return total + ((p - factor * q).nonnegative_part() if place == place_prime else p)
    law = answer_law(epsilon)
    low, high = min(place, place_prime), max(place, place_prime)

    def part(mass, y):
        return p * mass(y - place).expression() - factor * q * mass(y - place_prime).expression()

    for y in range(low, high + 1):
        total += part(law.exact_pmf, y).nonnegative_part()
    total += part(lambda k: law.exact_tail(k + 1), high).nonnegative_part()
    return total + part(lambda k: law.exact_cdf(k - 1), low).nonnegative_part()


CASCADES = {
    "S": (scale_case, ptr.log_width(6)),
    "Scale": (scale_case, math.log(2)),
    "M": (median_case, 1.0),
    "M, fine": (median_case, 0.7),
}


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("name", CASCADES)
def test_the_cascade_is_private(name, level):
    """Two tests, one answer law: (2ε, 2δ'), for every pair of neighbours."""
    make, width = CASCADES[name]
    cases = [make(width, shift) for shift in ptr.SHIFTS]
    here = tables(6)
    a = [tuple(reached(build, index, x) for _, build, index in cases) for x in here]
    place = [position(name[0], cases[0][0](x), width) for x in here]
    with ctx.workprec(120):
        replies = {key: 1 - math.prod((1 - chance(level, k) for k in key), start=arb(1)) for key in set(a)}
        factor = (2 * ball(level.epsilon)).exp()
        tried = {(a[i], a[j], place[i], place[j]) for i, j in np.argwhere(distances(6) == 1)}
        tried = {(k, m, s, t) if None in (s, t) else (k, m, 0, t - s) for k, m, s, t in tried}
        worst = [excess(replies[k], replies[m], s, t, level.epsilon, factor * (1 + ball(ROOM))) for k, m, s, t in tried]
        assert all(found <= 2 * ball(level.delta) for found in worst)


def test_two_epsilon_is_needed():
    """The same law is not (1.9ε, 2δ')-private: ⊥ alone costs 2ε. So the check above has teeth."""
    level = LEVELS["explicit δ'"]
    with ctx.workprec(120):
        bottom = [(1 - chance(level, a)) ** 2 for a in (5, 6)]
        assert bottom[0] > (ball(Fraction(19, 10) * level.epsilon)).exp() * bottom[1]
        assert bottom[0] <= (2 * ball(level.epsilon)).exp() * bottom[1] * (1 + ball(ROOM))


def test_the_printed_threshold_of_algorithm_12_is_not_private():
    """⊥ iff R ≤ 1 + ln(1/δ) at ε = 0.1, δ = 1e-6: a wrong proposal passes with chance 0.13 in place of δ/2."""
    epsilon, delta = Fraction(1, 10), Fraction(1, 10**6)
    printed = ptr.Level(epsilon, delta / 2, cutoff=math.floor(math.log(1e6)) + 1)
    ours = ptr.Level(epsilon, delta / 2)
    assert 0.10 < float(passing(printed, 1)) < 0.13
    assert passing(ours, 1) <= delta / 2
    with ctx.workprec(120):
        reply = 1 - (1 - chance(printed, 1)) ** 2
        claimed = (4 * ball(epsilon)).exp()
        assert excess(reply, reply, None, 0, epsilon, claimed) > ball(Fraction(1, 5))  # claimed: (4ε, δ)


def trimmed(x, alpha):
    """m_α, its range and its number of rows, from the definition."""
    lo = math.ceil(x.size * alpha / 2)
    hi, rows = x.size - lo, x.size - 2 * lo - 1
    y = sorted(Fraction(v) for v in x.tolist())
    return sum(y[lo : hi - 1]) / rows, y[hi - 1] - y[lo - 1], rows


@pytest.mark.parametrize("alpha", [Fraction(7, 20), Fraction(1, 5), Fraction(1, 2)])
def test_a_row_moves_a_trimmed_mean_by_its_range_over_its_rows(alpha):
    """|Δm| ≤ (x(hi) - x(lo))/N, on either side, and no less will do. The printed divisor (1-α)n - 2 can be wrong."""
    found = [trimmed(x, alpha) for x in tables(6)]
    tight, printed = False, False
    for i, j in np.argwhere(distances(6) == 1):
        (m, width, rows), (other, _, _) = found[i], found[j]
        assert abs(m - other) <= width / rows
        tight |= abs(m - other) == width / rows > 0
        printed |= abs(m - other) > width / max((1 - alpha) * 6 - 2, Fraction(1, 100))
    assert tight
    assert printed == (alpha == Fraction(7, 20))
