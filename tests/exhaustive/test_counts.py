"""Every inequality of a table in exact arithmetic; random differential privacy over every sample of a tiny universe."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

from uptack.discrete import minimax_count_mechanism, optimal_count_mechanism
from uptack.discrete.count_mechanism import TOTAL, Problem, optimal_table
from uptack.exact import ball, lower
from uptack.noise import IntegerLaplace
from uptack.random_dp import bare_cells, failure_probability, is_predictive, proportion_is_bare

MECHANISMS = {
    "one row": lambda: minimax_count_mechanism(1, 1),
    "equalizer": lambda: minimax_count_mechanism(9, 0.1, equalizer=True),
    "50 rows": lambda: minimax_count_mechanism(50, 0.1),
    "squared loss": lambda: minimax_count_mechanism(30, 1, "squared"),
    "another loss": lambda: minimax_count_mechanism(12, 2, lambda i, j: abs(i - j) ** 0.5),
    "zero-one": lambda: optimal_count_mechanism(15, 0.5, "zero-one"),
    "prior with gaps": lambda: optimal_count_mechanism(15, 3, prior=[0] * 8 + [1] * 8),
    "large ε": lambda: minimax_count_mechanism(5, 60),
    "small ε": lambda: minimax_count_mechanism(20, 0.001),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_inequality_holds_exactly(name):
    mechanism = MECHANISMS[name]()
    with ctx.workprec(200):
        rise = lower(ball(mechanism.epsilon).exp())  # below e^ε: what holds here holds there
    table = mechanism.weights.tolist()
    assert all(sum(row) == TOTAL and min(row) >= 0 for row in table)
    for row, following in itertools.pairwise(table):
        for a, b in zip(row, following, strict=True):
            assert a <= rise * b
            assert b <= rise * a


def test_floats_alone_would_not_do():
    """The solver's table as it comes, rounded to rationals, breaks the inequalities: the repair is needed."""
    table, _ = optimal_table(Problem.of(70, 1, "absolute"))
    with ctx.workprec(200):
        rise = lower(ball(1).exp())
    exact = [[Fraction(max(v, 0.0)) for v in row] for row in table.tolist()]
    assert any(a > rise * b for x, y in itertools.pairwise(exact) for a, b in zip(x, y, strict=True))


# ------------------------------------------------------------------------------------- random differential privacy

REACH = 40


def noisy(value, scale):
    law = IntegerLaplace(scale)
    return {value + k: law.pmf(k) for k in range(-REACH, REACH + 1)}


def share_law(gamma, epsilon, bare=proportion_is_bare):
    def law(rows):
        s, n = sum(rows), len(rows)
        return {s: 1.0} if bare(s, n, gamma) else noisy(s, 1 / epsilon)

    return law


@pytest.mark.parametrize("gamma", [Fraction(1, 5), Fraction(1, 3), Fraction(1, 2), Fraction(4, 5)])
@pytest.mark.parametrize("n", [4, 7, 12, 25])
def test_binomial_proportion(n, gamma):
    """(5.1): for every n + 1 rows privacy fails with probability at most γ over their order, and somewhere it does."""
    failures = [failures_of_shares(n, s, gamma) for s in range(n + 2)]
    assert max(failures) <= gamma
    assert max(failures) > 0 or gamma * n < 2


def failures_of_shares(n, s, gamma, bare=proportion_is_bare):
    """Exact outputs fail against anything else; noisy ones never do. Checked against the laws themselves below."""
    differ = Fraction(2 * s * (n + 1 - s), n * (n + 1))
    return differ if s and s <= n and (bare(s, n, gamma) or bare(s - 1, n, gamma)) else Fraction(0)


@pytest.mark.parametrize("s", range(8))
def test_the_laws_fail_where_they_are_said_to(s):
    n, gamma, epsilon = 6, Fraction(1, 2), Fraction(1)
    rows = [True] * s + [False] * (n + 1 - s)
    law = share_law(gamma, epsilon)
    found = failure_probability(windowed(law), rows, epsilon)
    assert found == failures_of_shares(n, s, gamma)


def windowed(law):
    """The law on a fixed window, so that no edge of it moves with the value."""
    return lambda rows: {key: mass for key, mass in law(rows).items() if abs(key) <= 15}


def test_a_looser_rule_is_caught():
    """Bare from (m + 1)/n ≤ γ on, without the factor 2, fails with a probability above γ."""
    loose = [failures_of_shares(25, s, Fraction(1, 5), lambda m, n, g: m + 1 <= g * n) for s in range(27)]
    assert max(loose) > Fraction(1, 5)


def histogram_failures(table, gamma, version):
    """Over the order of n + 1 rows with these cell counts: the probability that a bare cell is touched or changes."""
    n, failed = sum(table) - 1, Fraction(0)
    for a, b in itertools.permutations(range(len(table)), 2):
        if not (table[a] and table[b]):
            continue
        first, second = np.array(table), np.array(table)
        first[b] -= 1  # the rows without one of cell b, and without one of cell a
        second[a] -= 1
        masks = bare_cells(first, gamma, version), bare_cells(second, gamma, version)
        if (masks[0] != masks[1]).any() or masks[0][[a, b]].any():
            failed += Fraction(table[a] * table[b], n * (n + 1))
    return failed


@pytest.mark.parametrize("version", ["empty", "rare"])
@pytest.mark.parametrize("gamma", [Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize(("cells", "n"), [(2, 11), (3, 14), (4, 20)])
def test_sparse_histograms(version, gamma, cells, n):
    """(5.2) and (5.3), over every table of n + 1 rows."""
    tables = [t for t in itertools.product(range(n + 2), repeat=cells) if sum(t) == n + 1]
    failures = [histogram_failures(t, gamma, version) for t in tables]
    assert max(failures) <= gamma
    assert max(failures) > 0 or 2 * cells > gamma * n


def test_histogram_failures_are_those_of_the_laws():
    """The same by `failure_probability`, from the laws of three cells in a small window."""
    gamma, epsilon = Fraction(9, 10), Fraction(1)
    pmf = [IntegerLaplace(2 / epsilon).pmf(k) for k in range(40)]

    def law(rows):
        counts = np.bincount(rows, minlength=3)
        mask = bare_cells(counts, gamma, "rare")
        choices = [[c] if bare else range(-2, 12) for c, bare in zip(counts, mask, strict=True)]
        return {
            out: math.prod(1.0 if m else pmf[abs(v - c)] for v, c, m in zip(out, counts, mask, strict=True))
            for out in itertools.product(*choices)
        }

    for table in ((9, 0, 0), (7, 1, 1), (8, 1, 0), (4, 4, 1), (3, 3, 3)):
        rows = [cell for cell, times in enumerate(table) for _ in range(times)]
        assert failure_probability(law, rows, epsilon) == histogram_failures(table, gamma, "rare")


def test_bare_shares_are_not_predictive_and_noisy_ones_are():
    tables = [tuple([True] * s + [False] * (6 - s)) for s in range(7)]

    def both(rows):
        return [False, True]

    def usual(rows):
        return [False] if sum(rows) <= 1 else both(rows)

    bare, always = share_law(Fraction(4, 5), 1), share_law(Fraction(0), 1)
    assert is_predictive(windowed(always), tables, both, 1)
    assert not is_predictive(windowed(bare), tables, both, 1)
    assert not is_predictive(windowed(bare), tables, usual, 1)
    assert not is_predictive(windowed(always), tables, both, 0.9)
