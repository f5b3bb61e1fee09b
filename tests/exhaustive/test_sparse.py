"""Tables of counts: exact laws by enumeration, and the privacy inequality of each, on tiny universes."""

import itertools
from collections import Counter
from fractions import Fraction

import pytest
from flint import arb, ctx

from tests.exhaustive.universe import substituted, tables
from uptack.discrete.categories import SkewedLaplace, _place, cell_noise
from uptack.discrete.sparse_histograms import RISING
from uptack.exact import ball, upper
from uptack.privacy import ADD_REMOVE, SUBSTITUTE

EPSILONS = [Fraction(1, 2), Fraction(2)]
CELLS = 3
FAR = 7
"""Noisy counts are told apart up to here; those beyond are one outcome, which is post-processing."""


def cell_law(law, count, cutoff):
    """What the dense mechanism shows of a cell: None below the cutoff, else its noisy count, at most FAR."""
    shown = {k: law.exact_pmf(k - count).expression() for k in range(cutoff, FAR)}
    shown[FAR] = law.exact_tail(FAR - count).expression()
    return {None: 1 - law.exact_tail(cutoff - count).expression(), **shown}


def dense_law(law, counts, cutoff):
    """The law of the whole table, cell by cell."""
    cells = [cell_law(law, count, cutoff) for count in counts]
    out = {}
    for outcome in itertools.product(*cells):
        chance = arb(1)
        for cell, shown in zip(cells, outcome, strict=True):
            chance *= cell[shown]
        out[outcome] = chance
    return out


def binomial_chance(trials, p, k):
    return arb(trials).fac() / (arb(k).fac() * arb(trials - k).fac()) * p**k * (1 - p) ** (trials - k)


def sparse_law(law, counts, cutoff, start=0):
    """The law of the sampler: a binomial number of empty cells, a uniform set, cutoff plus a geometric value.

    `start=1` is a sampler that forgets the mass at the cutoff.
    """
    empty = [i for i, count in enumerate(counts) if count == 0]
    p, rate = law.exact_tail(cutoff + start).expression(), 1 / Fraction(law.up)
    value = {k: -ball(-rate).expm1() * ball(-rate * (k - cutoff - start)).exp() for k in range(cutoff + start, FAR)}
    value[FAR] = ball(-rate * (FAR - cutoff - start)).exp()
    out = {}
    for outcome, chance in dense_law(law, counts, cutoff).items():
        passing = [i for i in empty if outcome[i] is not None]
        chance = binomial_chance(len(empty), p, len(passing))
        chance /= binomial_chance(len(empty), arb("0.5"), len(passing)) * 2 ** len(empty)
        for i in range(CELLS):
            if i in empty:
                chance *= value.get(outcome[i], arb(0)) if outcome[i] is not None else 1
            else:
                chance *= cell_law(law, counts[i], cutoff)[outcome[i]]
        out[outcome] = chance
    return out


def noises(epsilon, adjacency):
    return cell_noise(epsilon, adjacency), cell_noise(epsilon, adjacency, RISING)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("counts", [(0, 0, 0), (0, 3, 0), (1, 0, 5), (1, 1, 1)])
@pytest.mark.parametrize("cutoff", [1, 4])
def test_the_sparse_law_is_the_dense_law(epsilon, counts, cutoff):
    with ctx.workprec(150):
        for law in noises(epsilon, SUBSTITUTE):
            dense, sparse = dense_law(law, counts, cutoff), sparse_law(law, counts, cutoff)
            assert all(abs(float(dense[o] - sparse[o])) < 1e-30 for o in dense)
            assert float(abs(sum(dense.values(), arb(0)) - 1)) < 1e-30


def test_a_sampler_that_forgets_the_mass_at_the_cutoff_is_rejected():
    with ctx.workprec(150):
        law = cell_noise(Fraction(1), SUBSTITUTE)
        dense, wrong = dense_law(law, (0, 3, 0), 4), sparse_law(law, (0, 3, 0), 4, start=1)
        assert sum(abs(float(dense[o] - wrong[o])) for o in dense) > 0.05


@pytest.mark.parametrize("trials", [1, 5, 2**62])
def test_the_binomial_inversion_has_its_law(trials):
    """X is k exactly for the U between F(k - 1) and F(k): checked at the first digits on either side."""
    law = cell_noise(Fraction(1), SUBSTITUTE)
    chance = law.exact_tail(2 if trials < 9 else 84)
    with ctx.workprec(400):
        p, total = chance.expression(), arb(0)
        for k in range(min(trials, 5)):
            coefficient = arb(1)
            for j in range(k):
                coefficient *= arb(trials - j) / (j + 1)
            total += coefficient * p**k * (1 - p) ** (trials - k)
            digits = int((total * arb(2) ** 128).floor().unique_fmpz())
            assert _place(trials, chance, digits - 1, 128) == k
            assert _place(trials, chance, digits + 1, 128) == k + 1
            assert _place(trials, chance, digits, 128) is None


def histograms(n):
    """The counts of all tables of n rows over the cells."""
    return {t: tuple(Counter(t)[cell] for cell in range(CELLS)) for t in tables(n, range(CELLS))}


def worst(law, a, b, cutoff):
    """The largest ratio of probabilities of an outcome: the product over the cells, which are independent."""
    ratio = arb(1)
    for old, new in zip(a, b, strict=True):
        p, q = cell_law(law, old, cutoff), cell_law(law, new, cutoff)
        ratio *= max((p[shown] / q[shown] for shown in p), key=upper)
    return upper(ratio)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cutoff", [-9, 2])
def test_tables_are_private_when_a_row_is_replaced(epsilon, cutoff):
    """With and without a cutoff that hides something, with even and with skewed noise."""
    counts = histograms(2)
    with ctx.workprec(100):
        rise = upper(ball(epsilon).exp()) * (1 + Fraction(1, 2**60))
        for law in noises(epsilon, SUBSTITUTE):
            ratios = [worst(law, counts[t], counts[s], cutoff) for t in counts for s in substituted(t, range(CELLS))]
            assert max(ratios) <= rise
            assert max(ratios) > rise * Fraction(99, 100)  # and tight


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_tables_are_private_when_a_row_is_added(epsilon):
    with ctx.workprec(100):
        rise = upper(ball(epsilon).exp()) * (1 + Fraction(1, 2**60))
        for law in noises(epsilon, ADD_REMOVE):
            for t, counts in histograms(2).items():
                for cell in range(CELLS):
                    more = tuple(Counter((*t, cell))[c] for c in range(CELLS))
                    assert worst(law, counts, more, 2) <= rise
                    assert worst(law, more, counts, 2) <= rise


def test_rates_that_add_up_to_more_than_epsilon_are_caught():
    law = SkewedLaplace(1, 2)
    with ctx.workprec(100):
        assert worst(law, (2, 0, 0), (1, 1, 0), 1) > upper(ball(Fraction(6, 5)).exp())


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("adjacency", [SUBSTITUTE, ADD_REMOVE])
def test_direct_margins_are_private(epsilon, adjacency):
    """Two binary columns, both one-way margins: the ratio is e^(ℓ1 change/scale), at most and tightly e^ε."""
    law, cells = cell_noise(epsilon / 2, adjacency), list(itertools.product((0, 1), repeat=2))
    assert law.up == law.down
    changes = set()
    for old, new in itertools.product(cells, repeat=2):
        moved = [(new[c] == v) - (old[c] == v) for c in range(2) for v in range(2)]
        added = [int(new[c] == v) for c in range(2) for v in range(2)]
        changes.add(sum(map(abs, moved if adjacency is SUBSTITUTE else added)))
    assert max(changes) / Fraction(law.up) == epsilon
