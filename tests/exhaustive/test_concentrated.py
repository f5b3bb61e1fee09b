"""Bounded range and zCDP against whole laws: every neighbour of tiny universes, and every adaptive choice of range."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from tests.exhaustive.chains import law as chain_law
from tests.exhaustive.test_inverse import apart, law
from tests.exhaustive.universe import STATISTICS, substituted, tables
from uptack.exact import Real, ball
from uptack.mechanisms.inverse_sensitivity import Boxes, boxes, decay
from uptack.mechanisms.quantile_chain import Bin, chain_decay
from uptack.noise import MachineNumbers
from uptack.privacy import concentrated_epsilon, loss, tight, zcdp
from uptack.privacy.accounting import bounded_range
from uptack.reach import LStatistic

ORDERS = (2, 3, 5, 20)
LATTICE = MachineNumbers(3, 2)


def pairs(laws, neighbours):
    return [(mine, laws[other]) for table, mine in laws.items() for other in neighbours(table)]


def spread(p, q):
    """e to the length of the interval that the log-ratios fill, exactly."""
    ratios = [a / b for a, b in apart(p, q)]
    return max(ratios) / min(ratios)


def concentrated_by(p, q, rho):
    """Whether D_α(P‖P') ≤ αρ, that is Σ P^α·P'^(1-α) ≤ e^(α(α-1)ρ), for some whole α."""
    both = {(id(p[y]), id(q[y])): (p[y], q[y]) for y in p}
    cells = Counter((id(p[y]), id(q[y])) for y in p)
    moments = {a: sum(times * both[k][0] ** a * both[k][1] ** (1 - a) for k, times in cells.items()) for a in ORDERS}
    return all(m == 1 or Real(lambda m=m: ball(m).log()) <= a * (a - 1) * rho for a, m in moments.items())


def two_candidates(table, rho):
    """The median of rows that are 0 or 1, drawn from 0 and 1 alone: the real reach, the smallest lattice."""
    steps = 2
    low, high = LStatistic.quantile(np.array(table), 2, steps).intervals(steps)
    box = Boxes(np.clip([low], 0, 1).astype(np.int64), np.clip([high], 0, 1).astype(np.int64), ((0, 1),))
    return law(box, rho)


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [*((name, Fraction(3)) for name in STATISTICS), ("median", Fraction(1, 2)), ("iqr", Fraction(1, 2))],
)
def test_inverse_draws_have_bounded_range(name, epsilon):
    n, steps, rho = 3, 2, decay(epsilon)
    build, scale = STATISTICS[name], name in ("iqr", "range")
    laws = {t: law(boxes([build(t, n, steps=steps)], steps, LATTICE, nonnegative=scale), rho) for t in tables(n)}
    found = pairs(laws, substituted)
    assert max(spread(p, q) for p, q in found) <= rho**-2  # ρ^-2 ≤ e^ε
    bound = zcdp(loss.BoundedRange(epsilon)).rho
    assert all(concentrated_by(p, q, bound) for p, q in found)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1)])
def test_the_constant_is_an_eighth_and_no_less(epsilon):
    """Half of the weight up and half down: a planted ε²/9 is caught, and so is a range of a smaller ε."""
    rho = decay(epsilon)
    laws = {t: two_candidates(t, rho) for t in tables(3, (0.0, 1.0))}
    found = pairs(laws, lambda t: substituted(t, (0.0, 1.0)))
    assert max(spread(p, q) for p, q in found) == rho**-2
    assert all(concentrated_by(p, q, zcdp(loss.BoundedRange(epsilon)).rho) for p, q in found)
    assert not all(concentrated_by(p, q, epsilon**2 / 9) for p, q in found)
    assert not all(concentrated_by(p, q, zcdp(loss.BoundedRange(epsilon * Fraction(9, 10))).rho) for p, q in found)


def test_a_pure_loss_does_not_have_the_constant():
    """Randomized response is ε-private with a range of 2ε: what is claimed for bounded range is false for it."""
    e = Fraction(3)
    p, q = {0: e / (1 + e), 1: 1 / (1 + e)}, {0: 1 / (1 + e), 1: e / (1 + e)}
    epsilon = Fraction(math.log(3))
    assert concentrated_by(p, q, zcdp(loss.Pure(epsilon)).rho)
    assert not concentrated_by(p, q, zcdp(loss.BoundedRange(epsilon)).rho)


def test_the_chain_has_bounded_range():
    epsilon, values = Fraction(1), (0, 2, 3, 6)
    q = chain_decay(epsilon)
    node = Bin(0, 8, 8, (5, 11), 16)
    laws = {t: chain_law(t, node, 2, q) for t in tables(8, values)}
    found = pairs(laws, lambda t: substituted(t, values))
    widest = max(spread(a, b) for a, b in found)
    assert q**-6 <= widest <= q**-8  # q^-8 ≤ e^ε
    assert all(concentrated_by(a, b, epsilon**2 / 8) for a, b in found)


def test_a_mixture_may_have_a_wider_range_and_keeps_what_is_claimed():
    """Draws that share a coin, which is even shown: the log-ratios fill more than ε, yet ρ is ε²/8 still."""
    r = Fraction(16, 9)  # e^ε
    epsilon = Fraction(math.log(r))
    coins = [ends(r, Fraction(5, 3)), ends(r, Fraction(17, 16))]
    p, q = ({(k, y): v / 2 for k, laws in enumerate(coins) for y, v in laws[side].items()} for side in (0, 1))
    assert all(spread(*laws) == r for laws in coins)
    assert spread(p, q) > r
    assert concentrated_by(p, q, epsilon**2 / 8)
    assert max(max(p[y] / q[y], q[y] / p[y]) for y in p) <= r


def ends(width, top):
    """The two laws whose ratio is `top` or `top/width` only."""
    b = (1 - top / width) / (top - top / width)
    return {0: top * b, 1: 1 - top * b}, {0: b, 1: 1 - b}


def excess(p, q, factor):
    return sum(max(p[y] - factor * q[y], 0) for y in p)


@pytest.mark.parametrize("seed", range(5))
def test_the_profile_of_bounded_range(seed):
    """The composed distribution's δ(x) is at least that of any two laws with the range, and met by some."""
    steps, step = 40, 0.01
    found = bounded_range(steps, step)
    masses = dict(zip(found.places.tolist(), found.masses.tolist(), strict=True))
    assert sum(masses.values()) == pytest.approx(1, abs=1e-12)
    rng = np.random.default_rng(seed)
    for k in range(-steps, steps + 1):
        x = k * step
        ours = sum(w * max(0.0, 1 - math.exp(x - j * step)) for j, w in masses.items())
        tops = [math.exp(t * step / 2) for t in range(2 * steps)]
        best = max(excess(*ends(math.exp(steps * step), top), math.exp(x)) for top in tops)
        assert ours == pytest.approx(best, abs=1e-12)
        ratios = np.exp(rng.uniform(-steps * step / 2, steps * step / 2, 6))
        q = rng.dirichlet(np.ones(6))
        p = q * ratios / (q @ ratios)
        assert np.maximum(p - math.exp(x) * q, 0).sum() <= ours + 1e-12


def worst_adaptive(epsilon, count, claimed, grid=8):
    """The largest δ at the claimed ε, over all ways to choose each interval [t - ε, t] from the answers before."""
    width = math.exp(epsilon)
    laws = [ends(width, math.exp(epsilon * i / grid)) for i in range(grid + 1)]

    @cache
    def worst(left, lost):
        """Over the draws still to come, in units of P: E(1 - e^(claimed - loss so far - loss to come))₊."""
        if left == 0:
            return max(0.0, 1 - math.exp(claimed - epsilon * lost / grid))
        return max(
            p[0] * worst(left - 1, lost + i) + p[1] * worst(left - 1, lost + i - grid) for i, (p, _) in enumerate(laws)
        )

    return worst(count, 0)


@pytest.mark.parametrize(
    ("epsilon", "count", "delta"), [(0.2, 15, 1e-3), (0.1, 60, 1e-6), (0.5, 4, 1e-4), (0.3, 30, 0.05)]
)
def test_composed_draws_keep_the_promise(epsilon, count, delta):
    draw = loss.BoundedRange(epsilon)
    by_zcdp = float(concentrated_epsilon(count * zcdp(draw).rho, delta))
    together = tight([draw] * count, delta)
    assert together.epsilon <= min(by_zcdp * (1 + 1e-12), count * epsilon)
    for claimed in (by_zcdp, together.epsilon):
        assert worst_adaptive(epsilon, count, claimed) <= delta
    assert worst_adaptive(epsilon, count, together.epsilon * 0.8) > delta  # the test has power


def test_two_draws_enumerated_on_all_neighbours():
    """The median, then the maximum or minimum depending on the first answer: the joint law itself, at several δ."""
    epsilon, n, steps, lattice = Fraction(1), 3, 2, MachineNumbers(2, 2)
    rho, values = decay(epsilon), (0.0, 1.0, 4.0)
    quantile = lambda t, rank: law(boxes([LStatistic.quantile(np.array(t), rank, steps)], steps, lattice), rho)  # noqa: E731
    laws = {
        (t, rank): {y: float(p) for y, p in quantile(t, rank).items()} for t in tables(n, values) for rank in (1, 2, 3)
    }
    for table in tables(n, values):
        for other in substituted(table, values):
            p, q = ({}, {})
            for out, t in ((p, table), (q, other)):
                for first, second in itertools.product(laws[t, 2], repeat=2):
                    rank = 3 if first > (0,) else 1
                    out[first, second] = laws[t, 2][first] * laws[t, rank][second]
            for delta in (0.2, 0.05, 0.01):
                claimed = concentrated_epsilon(2 * zcdp(loss.BoundedRange(epsilon)).rho, delta)
                assert excess(p, q, math.exp(claimed)) <= delta
                assert excess(p, q, math.exp(tight([loss.BoundedRange(epsilon)] * 2, delta).epsilon)) <= delta
