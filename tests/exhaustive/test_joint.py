"""Several order statistics at once: the exact law of the chain on whole tiny universes."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tests.exhaustive.chains import chain, inside, law, some_bins, variation
from tests.exhaustive.test_inverse import added, apart, assert_private
from tests.exhaustive.universe import substituted
from tests.helpers import FALSE_ALARM
from uptack.mechanisms import quantile_chain
from uptack.mechanisms.quantile_chain import Bin, chain_decay, window_sums
from uptack.noise import SeededEntropy, coins

Q = Fraction(4, 5)


@pytest.mark.parametrize("steps", [1, 2, 6])
@pytest.mark.parametrize(("n", "targets"), [(8, (3, 11)), (5, (1, 5, 5)), (6, (4, 6))])
def test_the_chain_is_private(steps, n, targets):
    """Every table over 4 values of 7, every replaced row: P ≤ q^-8·P', and q^-8 ≤ e^ε."""
    q, values = chain_decay(Fraction(1)), (0, 2, 3, 6)
    node = Bin(0, 7, n, targets, 2 * n)
    laws = {t: law(t, node, steps, q) for t in itertools.combinations_with_replacement(values, n)}
    assert all(added([*mine.values()]) == 1 for mine in laws.values())
    assert_private(laws, lambda t: substituted(t, values), q**-8)


def test_rows_that_change_bins_cost_no_more():
    """Two bins with secret numbers of rows, drawn one after the other: still P ≤ q^-8·P' in all."""
    q, values, n = chain_decay(Fraction(1)), range(7), 4

    def laws(table):
        out = []
        for low, high, targets, total in ((0, 3, (1, 3), 4), (3, 7, (2,), 4)):
            rows = inside(table, low, high)
            out.append(law(rows, Bin(low, high, len(rows), targets, total), 1, q))
        return out

    found = {t: laws(t) for t in itertools.combinations_with_replacement(values, n)}
    worst = 1
    for table, mine in found.items():
        for i, v in itertools.product(range(n), values):
            theirs = found[tuple(sorted((*table[:i], v, *table[i + 1 :])))]
            ratio = math.prod(max(p / q for p, q in apart(a, b)) for a, b in zip(mine, theirs, strict=True))
            worst = max(worst, ratio)
    assert q**-3 < worst <= q**-8


def test_a_decay_too_fast_is_caught():
    q, node = chain_decay(Fraction(1)), Bin(0, 7, 8, (3, 11), 16)
    a, b = (law(rows, node, 1, q**4) for rows in ((0, 1, 2, 3, 3, 4, 5, 6), (0, 2, 3, 3, 3, 4, 5, 6)))
    assert max(max(p / b[y], b[y] / p) for y, p in a.items()) > 1 / q**8


@pytest.mark.parametrize("seed", range(6))
def test_sums_are_those_of_the_definition(seed):
    """All vectors in the windows are counted once with q^V', and no vector outside has V' below c."""
    for rows, node, steps in some_bins(seed, 25):
        made, total = chain(rows, node, steps, Q), Fraction(0)
        for v in itertools.product(range(node.low, node.high), repeat=len(node.targets)):
            counts = [sum(r <= p for r in rows) for p in sorted(v)]
            excess = variation(rows, node, sorted(v)) - abs(node.excess)
            assert excess == made.variation(counts)
            if all(c - base in node.window(steps) for c, base in zip(counts, node.bases, strict=True)):
                total += Q**excess
            else:
                assert excess >= made.cap
        whole, within = made.parts(Q)
        assert whole == Q**made.cap * node.size ** len(node.targets)
        assert within == total
        floats = made._floats.total + math.lgamma(len(node.targets) + 1) + len(node.targets) * math.log(node.size)
        assert not total or floats == pytest.approx(math.log(total), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("slack", "seed"), [(coins.SHARE_SLACK, 0), (2.0, 4)])
def test_draws_have_the_law(slack, seed, monkeypatch):
    monkeypatch.setattr(coins, "SHARE_SLACK", slack)  # as it is; and so that floats never decide
    rows, node, steps = next(b for b in some_bins(seed, 50) if b[1].size > 4 and len(b[1].targets) > 1 and b[0])
    made, entropy, runs = chain(rows, node, steps, Q), SeededEntropy(3), 3000
    seen = Counter(tuple(made.draw(entropy)[0]) for _ in range(runs))
    exact, wrong = law(rows, node, steps, Q), law(rows, node, steps, Q**3)
    assert set(seen) <= set(exact)
    kept = [y for y in exact if runs * exact[y] > 5]
    observed, right, off = (
        np.append([runs * float(c) for c in cells], runs * float(1 - sum(cells)))
        for cells in ([Fraction(seen[y], runs) for y in kept], [exact[y] for y in kept], [wrong[y] for y in kept])
    )
    some = right > 1
    assert stats.chisquare(observed[some], right[some] * observed[some].sum() / right[some].sum()).pvalue > FALSE_ALARM
    assert stats.chisquare(observed[some], off[some] * observed[some].sum() / off[some].sum()).pvalue < FALSE_ALARM


def test_draws_say_how_many_rows_there_are_up_to_each():
    for rows, node, steps in some_bins(9, 40):
        drawn, counts = chain(rows, node, steps, Q).draw(SeededEntropy(1))
        assert drawn == sorted(drawn)
        assert all(node.low <= v < node.high for v in drawn)
        assert counts is None or counts == [sum(r <= v for r in rows) for v in drawn]


def test_where_floats_would_underflow_intervals_decide(monkeypatch):
    """With sums below e^-600 nothing is left to floats; the law is the same."""
    monkeypatch.setattr(quantile_chain, "SURE", 1e9)
    rows, node, entropy = [1, 1, 4, 5], Bin(0, 6, 4, (3, 5), 8), SeededEntropy(5)
    made, runs = chain(rows, node, 1, Q), 1500
    seen = Counter(tuple(made.draw(entropy)[0]) for _ in range(runs))
    exact = law(rows, node, 1, Q)
    pairs = [(seen[y], runs * float(p)) for y, p in exact.items()]
    assert stats.chisquare(*zip(*pairs, strict=True)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("decay", [0.0, -0.01, -3.0])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 100, 101, 400])
def test_windows_are_added_up_by_doubling(width, decay):
    x = np.random.default_rng(1).random(101)
    plain = [sum(x[t + j] * math.exp(decay * j) for j in range(min(width, 101 - t))) for t in range(101)]
    assert window_sums(x, width, decay) == pytest.approx(plain, rel=1e-13)


def test_floats_and_rationals_agree():
    rng = np.random.default_rng(2)
    rows = np.sort(rng.integers(0, 10**6, 40)).tolist()
    for total in (80, 66, 90):
        made = chain(rows, Bin(0, 10**6, 40, (15, 21, 51), total), 8, chain_decay(Fraction(1)))
        exact = made.exact(made.q)
        for floats, rationals in (
            (made._floats.last(), exact.last()),
            (made._floats.before(1, 9), exact.before(1, 9)),
            (made._floats.weights_of(1, 5), exact.weights_of(1, 5)),
        ):
            largest = max(rationals)
            shares = [float(r / largest) for r in rationals]
            assert np.allclose(np.exp(floats - floats.max()), shares, rtol=1e-9, atol=0)
