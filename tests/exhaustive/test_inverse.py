"""The exact, rational output law of the inverse engine against the privacy inequality, on whole tiny universes."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tests.exhaustive.universe import STATISTICS, VALUES, substituted, tables
from tests.helpers import FALSE_ALARM
from uptack.exact import Real, ball
from uptack.mechanisms.inverse import Boxes, boxes, decay, steps_needed
from uptack.noise import MachineNumbers, SeededEntropy
from uptack.noise import choice as choice_module
from uptack.noise.choice import pick

LATTICE = MachineNumbers(3, 2)


def law(shells: Boxes, rho: Fraction) -> dict[tuple[int, ...], Fraction]:
    """The probability of every candidate, from its score alone."""
    steps = shells.lows.shape[1]
    total = sum(shells.weights(rho), Fraction(0))
    out = {}
    for point in itertools.product(*(range(a, b + 1) for a, b in shells.whole)):
        score = next(k for k in range(steps + 1) if inside(point, shells.ends(k)))
        out[point] = rho**score / total
    return out


def inside(point, ends):
    return all(a <= v <= b for v, (a, b) in zip(point, ends, strict=True))


def assert_private(laws, neighbours, bound):
    for table, mine in laws.items():
        for other in neighbours(table):
            theirs = laws[other]
            assert all(p <= bound * theirs[y] for y, p in mine.items())


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(2)])
def test_the_decay_is_on_the_safe_side(epsilon):
    rho = decay(epsilon)
    assert Real(lambda: (-ball(epsilon / 2)).exp()) <= rho < 1


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("widen", [0.0, 0.5])
def test_every_statistic_is_private(name, widen):
    n, steps, rho = 4, 2, decay(Fraction(1))
    build, scale = STATISTICS[name], name in ("iqr", "range")
    laws = {
        t: law(boxes([build(t, n, steps=steps)], steps, LATTICE, widen=widen, nonnegative=scale), rho)
        for t in tables(n)
    }
    assert all(sum(mine.values()) == 1 for mine in laws.values())
    assert_private(laws, substituted, rho**-2)  # ρ^-2 ≤ e^ε


@pytest.mark.parametrize("name", STATISTICS)
def test_dropped_rows_keep_neighbours_neighbours(name):
    """A replaced row may come, go or stay once missing ones are dropped; the ranks are those of a public n."""
    n, steps, rho, values = 3, 2, decay(Fraction(1)), (None, *VALUES[1:4])
    build, scale = STATISTICS[name], name in ("iqr", "range")
    laws = {}
    for table in itertools.product(values, repeat=n):
        present = tuple(sorted(v for v in table if v is not None))
        laws[table] = law(boxes([build(present, n, steps=steps)], steps, LATTICE, nonnegative=scale), rho)
    for table, mine in laws.items():
        for i, value in itertools.product(range(n), values):
            theirs = laws[(*table[:i], value, *table[i + 1 :])]
            assert all(p <= rho**-2 * theirs[y] for y, p in mine.items())


def test_two_quantiles_at_once_are_private():
    n, steps, rho, lattice = 3, 1, decay(Fraction(1)), MachineNumbers(2, 2)
    parts = [STATISTICS[name] for name in ("median", "maximum")]
    values = VALUES[1:]
    laws = {t: law(boxes([b(t, n, steps=steps) for b in parts], steps, lattice), rho) for t in tables(n, values)}
    assert_private(laws, lambda t: substituted(t, values), rho**-2)


def test_a_decay_that_is_too_fast_is_caught():
    n, steps = 4, 2
    rho = decay(Fraction(1))
    laws = {t: law(boxes([STATISTICS["median"](t, n)], steps, LATTICE), rho**2) for t in tables(n)}
    with pytest.raises(AssertionError):
        assert_private(laws, substituted, rho**-2)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_draws_have_the_law(dimension):
    """Chi-square against the exact law, and a law with another ε is rejected."""
    lattice, steps, rho = MachineNumbers(2, 2), 2, Fraction(7, 10)
    tables_ = ((-3.0, 0.0, 0.5, 1.0, 4.0), (0.0, 0.25, 0.5, 0.75, 1.0), (0.5, 0.5, 0.5, 2.0, 3.0))[:dimension]
    shells = boxes([STATISTICS["median"](t, 5) for t in tables_], steps, lattice)
    entropy, runs = SeededEntropy(5), 30_000
    seen = Counter(tuple(shells.draw(rho, entropy)) for _ in range(runs))
    exact, wrong = law(shells, rho), law(shells, rho * Fraction(8, 10))
    assert set(seen) <= set(exact)
    steps_of = {y: next(k for k in range(steps + 2) if inside(y, shells.ends(k))) for y in exact}
    observed, expected, off = (np.zeros(2 * (steps + 2)) for _ in range(3))
    for y in exact:
        cell = 2 * steps_of[y] + (sum(y) % 2)  # the score, and a half of the points that have it
        observed[cell] += seen[y]
        expected[cell] += runs * exact[y]
        off[cell] += runs * wrong[y]
    used = expected > 0
    assert stats.chisquare(observed[used], expected[used]).pvalue > FALSE_ALARM
    assert stats.chisquare(observed[used], off[used]).pvalue < FALSE_ALARM


def test_a_uniform_point_of_a_shell_is_uniform():
    shells = Boxes(np.array([[4, 2], [3, 3]]), np.array([[5, 6], [4, 5]]), ((0, 7), (0, 7)))
    entropy, runs = SeededEntropy(6), 40_000
    seen = Counter(tuple(shells.draw(Fraction(1), entropy)) for _ in range(runs))
    assert len(seen) == 64
    assert stats.chisquare(list(seen.values())).pvalue > FALSE_ALARM


def test_the_exact_way_of_picking_has_the_same_law(monkeypatch):
    weights = [Fraction(1, 3), Fraction(0), Fraction(1, 2), Fraction(1, 6)]
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([float(w) for w in weights]))
    for slack in (choice_module.SLACK, 2.0):  # as it is; and so that floats never decide
        monkeypatch.setattr(choice_module, "SLACK", slack)
        entropy = SeededEntropy(7)
        seen = Counter(pick(logs, lambda: [ball(w) for w in weights], entropy) for _ in range(20_000))
        assert seen[1] == 0
        observed = [seen[0], seen[2], seen[3]]
        assert stats.chisquare(observed, [20_000 * float(weights[i]) for i in (0, 2, 3)]).pvalue > FALSE_ALARM


def test_the_guarantee_of_k_steps():
    """P(score > K) ≤ failure whatever the data, also where all weight lies outside."""
    epsilon, failure = Fraction(8), Fraction(1, 100)
    steps = steps_needed(epsilon, LATTICE.size, failure)
    assert steps <= 3
    for name in ("median", "iqr"):
        for table in tables(5):
            shells = boxes([STATISTICS[name](table, 5)], steps, LATTICE)
            weights = list(shells.weights(decay(epsilon)))
            assert weights[-1] <= failure * sum(weights)
