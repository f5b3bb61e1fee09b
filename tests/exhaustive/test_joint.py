"""Several order statistics at once: the exact law of the chain on whole tiny universes."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tests.helpers import FALSE_ALARM
from uptack.mechanisms.joint import Chain, chain_decay
from uptack.noise import SeededEntropy
from uptack.noise import choice as choice_module

SIZE, RANKS, STEPS = 7, (2, 6), 1  # windows of rows 1..4 and 5..8


def chain(rows, q, ranks=RANKS, steps=STEPS, size=SIZE):
    ordered = sorted(rows)
    edges = tuple(tuple(ordered[r - steps - 1 : r + steps + 1]) for r in ranks)
    return Chain(edges, size, q)


def law(made):
    """The probability of every sorted vector, from V alone."""
    out = {}
    for v in itertools.product(range(made.size), repeat=len(made.edges)):
        key = tuple(sorted(v))
        cells = [_cell(made.edges[j], key[j]) for j in range(len(key))]
        outside = any(c is None for c in cells)
        score = made.cap if outside else min(made.variation(cells), made.cap)
        out[key] = out.get(key, Fraction(0)) + made.q**score
    total = sum(out.values())
    return {k: w / total for k, w in out.items()}


def _cell(edges, v):
    return next((c for c in range(len(edges) - 1) if edges[c] <= v < edges[c + 1]), None)


def test_the_chain_is_private():
    """Every table of 8 rows over 4 values, every replaced row: P ≤ q^-8·P', and q^-8 ≤ e^ε."""
    q = chain_decay(Fraction(1))
    values = (0, 2, 3, 6)
    laws = {t: law(chain(t, q)) for t in itertools.combinations_with_replacement(values, 8)}
    for table, mine in laws.items():
        assert sum(mine.values()) == 1
        for i in range(8):
            for v in values:
                theirs = laws[tuple(sorted((*table[:i], v, *table[i + 1 :])))]
                assert all(p <= theirs[y] / q**8 for y, p in mine.items())


def test_a_decay_too_fast_is_caught():
    q = chain_decay(Fraction(1))
    a, b = law(chain((0, 1, 2, 3, 3, 4, 5, 6), q**4)), law(chain((0, 2, 3, 3, 3, 4, 5, 6), q**4))
    assert max(max(p / b[y], b[y] / p) for y, p in a.items()) > 1 / q**8


@pytest.mark.parametrize("slack", [choice_module.SLACK, 2.0])
@pytest.mark.parametrize(("ranks", "size"), [((2, 6), 7), ((2, 6, 10), 9), ((2,), 5)])
def test_draws_have_the_law(slack, ranks, size, monkeypatch):
    monkeypatch.setattr(choice_module, "SLACK", slack)  # as it is; and so that floats never decide
    rows = np.random.default_rng(1).integers(0, size, 4 * len(ranks))
    made = chain(rows.tolist(), Fraction(4, 5), ranks, 1, size)
    entropy, runs = SeededEntropy(3), 8000
    seen = Counter(tuple(made.draw(entropy)) for _ in range(runs))
    exact, wrong = law(made), law(chain(rows.tolist(), Fraction(2, 5), ranks, 1, size))
    assert set(seen) <= set(exact)
    cells = Counter()
    for y in exact:
        cells[y] = round(-math.log(float(exact[y])) * 2)  # vectors of about the same probability together
    groups = sorted(set(cells.values()))
    observed, right, off = (np.zeros(len(groups)) for _ in range(3))
    for y in exact:
        k = groups.index(cells[y])
        observed[k] += seen[y]
        right[k] += runs * float(exact[y])
        off[k] += runs * float(wrong[y])
    assert stats.chisquare(observed, right).pvalue > FALSE_ALARM
    if len(groups) > 1:
        assert stats.chisquare(observed, off * right.sum() / off.sum()).pvalue < FALSE_ALARM


def test_floats_and_rationals_agree():
    made = chain(
        sorted(np.random.default_rng(2).integers(0, 10**6, 40).tolist()), chain_decay(Fraction(1)), (8, 26), 6, 10**6
    )
    sums, scale = made._float_sums
    exact_sums = [made.sums(made.q, j) for j in range(2)]
    for j, exact in enumerate(exact_sums):
        largest = max(exact)
        assert np.allclose(sums[j], [float(e / largest) for e in exact], rtol=1e-9)
    assert scale == pytest.approx(math.log(max(exact_sums[-1])), rel=1e-9)
