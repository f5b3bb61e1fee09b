"""Bounded sums, scores, medians and pairs of people: one person moves them by no more than one row would."""

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from tests.exhaustive.people import removed, replaced, tables
from tests.helpers import sampled
from uptack.account import Account, observed_by
from uptack.multivariate import private_sums as levels
from uptack.multivariate import row_sums as steps
from uptack.multivariate import standardise
from uptack.multivariate.private_sums import LENGTH, bounded, shared, shares_of
from uptack.multivariate.row_sums import BATCH, Squares, Tally, Vectors, products
from uptack.multivariate.standardise import DROPPED, Frame, scale_ends
from uptack.noise import SeededEntropy
from uptack.privacy import ADD_REMOVE
from uptack.regression.linear import HuberLoss, LeastSquaresLoss
from uptack.regression.logistic import LogisticLoss
from uptack.regression.poisson import PoissonLoss
from uptack.regression.quantile import CheckLoss
from uptack.regression.solver import FitRows, RowWeights
from uptack.table.unit import U as UNIT

GONE = ((np.nan,),)
"""A person all of whose rows lack a value."""


def matrix(people):
    """People, each a tuple of rows of numbers."""
    rows = [row for person in people for row in person]
    codes = np.repeat(np.arange(len(people)), [len(person) for person in people])
    return sampled(np.array(rows, float).reshape(len(rows), len(rows[0]) if rows else 1), codes, len(people))


# ---------------------------------------------------------------------------------------------------------------- sums

HOSTILE = (0.0, -0.0, 5e-324, 1e-9, 1.0, 1e9, -1.7e308, 1.7e308)
RNG = np.random.default_rng(0)
FRAME = Frame((0, 1, 2), np.array([1.0, 2.0**-60, 2.0**60]), np.array([0.0, 3.0, -1e9]))
LOSSES = (LeastSquaresLoss(), HuberLoss(), LogisticLoss(), PoissonLoss(), CheckLoss(0.9))
WHITENING, TURN, BETA = np.tril(RNG.normal(size=(3, 3))), np.tril(RNG.normal(size=(4, 4))), RNG.normal(size=3)
CALM = [tuple(map(tuple, RNG.normal(size=(m, 3)) * [1, 1e-18, 1e18])) for m in (1, 1, 2, 5)]


def gradient(batch, loss):
    rows = FitRows(FRAME, 0, loss, WHITENING, RowWeights(WHITENING, BETA, 2.5))
    found = rows.gradients(batch, BETA, 1.9)
    both = shared(*rows.split_gradients(batch, BETA, 1.9, 1.5), 1.5)
    return [
        Vectors(bounded(rows.equations(batch, BETA, 1.9, 0.7, 1.5), 1.5)),
        Vectors(shares_of(found**2, 1.5)),
        Vectors(both),
    ]


def directions(batch):
    return [bounded(products(TURN, FRAME.standardised(batch)))]


def hostile():
    """People with few and many rows, all at one place or at opposite ends, and one who has hardly a complete row."""
    ends = [tuple(RNG.choice(HOSTILE, 3)) for _ in range(12)]
    yield from ([row] * times for row in ends for times in (1, 2, 7, 24, 1000))
    yield from ([a] * 3 + [b] * times for a, b in itertools.pairwise(ends) for times in (1, 40))
    yield [(np.nan, 0.0, 0.0)] * 9 + [ends[0]]
    yield [(np.nan, 0.0, 0.0)] * 9


def summed(people, loss):
    data = matrix(people)
    with np.errstate(all="ignore"):
        return [data.sums(lambda b: [Squares(directions(b)[0])])[0], *data.sums(partial(gradient, loss=loss))]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_person_adds_more_than_one_row_can(loss):
    """So two of them, one in the place of the other, move sums by no more than twice that: exactly, in fractions."""
    without, found = summed(CALM, loss), []
    for rows in hostile():
        second, first, inside, both = (a - b for a, b in zip(summed([*CALM, rows], loss), without, strict=True))
        assert sum(np.diag(second)) <= LENGTH**2
        assert np.linalg.eigvalsh(second.astype(float))[0] >= -1e-9 * LENGTH**2
        assert sum(Fraction(v) ** 2 for v in first) <= LENGTH**2
        halves = [math.sqrt(sum(Fraction(v) ** 2 for v in half)) for half in (both[:3], both[3:])]
        assert sum(halves) <= LENGTH * (1 + 1e-12)
        assert min(inside) >= 0
        assert sum(inside) <= LENGTH
        found.append((float(sum(np.diag(second))), float(sum(Fraction(v) ** 2 for v in first))))
    trace, length = np.array(found).T
    assert trace.max() > 0.999 * LENGTH**2  # it is as much as one row can
    assert length.max() > 0.99 * LENGTH**2
    assert trace.min() == length.min() == 0


def test_sums_are_means_of_rows_in_units():
    rows = np.arange(1.0, 8.0)
    people = [[(v,) for v in part] for part in (rows[:1], rows[1:4], rows[4:])]
    (found,) = matrix(people).sums(lambda b: [Vectors(b)])
    assert found.tolist() == [1 + 3 + 6]
    many = matrix([[(1.0,)] * 25]).sums(lambda b: [Vectors(b)])[0][0]
    assert many == Fraction(25 * (UNIT // 25), UNIT) < 1


def test_rounded_sums_of_people_have_room_to_be_rounded():
    """Five sums end in .4, and one person adds .8 to each: all are rounded up, so that they move by Λ + 1."""
    few, rest = np.zeros((5, 5)), np.full((5, 5), LENGTH // 5)
    few[:2] = 1
    rest[~np.eye(5, dtype=bool)] += 1  # each row adds up to Λ
    assert (rest.sum(axis=1) == LENGTH).all()

    def drawn(*people):
        found, rows = [], matrix([tuple(map(tuple, person / LENGTH)) for person in people])
        account = Account.open("sums", 1, adjacency=ADD_REMOVE.by_person("id"), entropy=SeededEntropy(1))
        with observed_by(lambda mechanism, value, draw: (found.append((mechanism, value)), draw())[1]):
            levels.variances(rows, lambda batch: batch, 1.0, 10.0, levels.Allowance(account))
        return found[0]

    (mechanism, value), (same, other) = drawn(few), drawn(few, rest)
    assert mechanism == same
    assert np.abs(other - value).sum() == LENGTH + 1
    assert mechanism.price(value, other, None) <= 1


def test_units_times_contributions_are_exact():
    """The largest entries, units and batches, in any runs of equal units: as Python's own integers say."""
    rng, top = np.random.default_rng(1), UNIT
    for size, most in ((0, 1), (1, 1), (50, 9), (8200, 0), (BATCH, 40)):
        units = np.sort(np.r_[top, rng.integers(1, top, most)][rng.integers(0, most + 1, size)])
        u = np.where(rng.random((3, size)) < 0.5, LENGTH, -LENGTH + rng.integers(0, 9, (3, size))).astype(float)
        whole, times = u.astype(np.int64).astype(object), units.astype(object)
        assert (Vectors(u).weighed(units) == (whole * times).sum(axis=1)).all()
        for many in (1, 1000, 8200):  # sums from 2^63 to 2^64, too
            (found,) = steps.sum_rows(lambda b: [Vectors(b[0])], len(u), np.abs(u[:, :many]), units[:many])
            assert found == (abs(whole[0]) * times)[:many].sum()
        assert (Squares(u).weighed(units) == (whole * times) @ whole.T).all()
        at = rng.integers(0, 4, size)
        assert Tally(at, 4).weighed(units).tolist() == [sum(times[at == level]) for level in range(4)]


# -------------------------------------------------------------------------------------------------- scores and medians

VALUES = (-3.0, 0.5, 1.0, 9.0)
PERSONS = [tuple((v,) for v in rows) for m in (1, 2, 3) for rows in itertools.combinations_with_replacement(VALUES, m)]


def reach(found, near):
    """Whether interval k of each table is inside interval k + 1 of its neighbours, both ways."""
    for t, others in near.items():
        for other in others:
            for one, two in ((t, other), (other, t)):
                for (a, b), (c, d) in zip(found[two], found[one][1:], strict=False):
                    assert c <= a <= b <= d


def universe(chosen, most):
    """All tables of up to so many people, all neighbours by a replaced one, one who has no row left, or one less."""
    listed = [t for n in range(most + 1) for t in tables(n, chosen)]
    return {t: {*(replaced(t, chosen) if t else ()), *removed(t)} for t in listed}


def ends(lows, highs):
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(3, 4)])
def test_intervals_of_sizes_are_a_reach(share):
    near = universe(PERSONS[::3], 3)

    def of(people):
        (counts,) = matrix(people).sums(lambda b: [Tally(np.searchsorted(VALUES, b[0]), len(VALUES))])
        return ends(*levels.intervals(counts, share, 5))

    reach({t: of(t) for t in near}, near)


def test_intervals_of_centres_are_a_reach():
    near = universe(PERSONS[::2], 3)

    def of(people):
        return ends(*standardise.centre_ends(matrix(people), 0, 0.5, 4))

    reach({t: of(t) for t in near}, near)


def test_a_person_without_a_complete_row_is_nobody_in_sums_and_medians():
    people = [PERSONS[5], GONE, PERSONS[20]]
    with_her, without = matrix(people), matrix([PERSONS[5], PERSONS[20]])
    assert (with_her.size, with_her.count()) == (3, 2)
    assert ends(*standardise.centre_ends(with_her, 0, 0.5, 4)) == ends(*standardise.centre_ends(without, 0, 0.5, 4))
    for step in (lambda b: [Vectors(b)], lambda b: [levels.SIZES.counts(np.abs(b[0]))]):
        assert (with_her.sums(step)[0] == without.sums(step)[0]).all()


# --------------------------------------------------------------------------------------------------------------- pairs


class Coupled(SeededEntropy):
    """People who are in both tables choose alike."""

    def integers(self, bound, size):
        return np.random.default_rng(self.seed).integers(bound, size=size)


def pairs(people, slots=None):
    seen = []
    data = matrix(people)
    data.pairs(
        lambda a, b: (seen.extend(zip(a[0], b[0], strict=True)), [np.zeros(1)])[1],
        slots,
        Account.elsewhere("pairs", Coupled(5)),
    )
    return seen


def owned(n, seed=0):
    """Everybody's rows are her own number and a bit."""
    rng = np.random.default_rng(seed)
    return [tuple((i + v,) for v in rng.random(rng.integers(1, 6))) for i in range(n)]


@pytest.mark.parametrize("slots", [None, 1, 7, 60])
def test_one_person_changes_one_pair(slots):
    people = owned(101)
    ours = pairs(people, slots)
    assert len(ours) == (50 if slots is None else len(ours)) <= (slots or 50)
    for other in ([(1e9,)] * 50, [(-1.0,)], GONE, [(np.nan,), (7.0,)]):
        for place in (0, 50, 100) if slots is None else (100,):
            theirs = pairs([*people[:place], other, *people[place + 1 :]], slots)
            assert len(set(ours) - set(theirs)) <= 1
            assert len(set(theirs) - set(ours)) <= 1
    if slots is not None:
        theirs = pairs(people[:-1], slots)
        assert max(len(set(ours) - set(theirs)), len(set(theirs) - set(ours))) <= 1
    assert all(int(a) != int(b) for a, b in ours)
    assert pairs(people[:1], slots) == []


def test_pairs_do_not_depend_on_the_order_of_rows_and_hold_all_of_them():
    people = [tuple((float(v),) for v in range(10)) for _ in range(2000)]
    found = np.array(pairs(people))
    assert found.tolist() == np.array(pairs([rows[::-1] for rows in people])).tolist()
    counts = np.histogram2d(*found.T, bins=10, range=[[0, 10], [0, 10]])[0]
    assert ((counts - 10) ** 2 / 10).sum() < 200  # χ² of 99 degrees: above with a chance of 1e-8 for random rows
    assert (counts > 0).sum() > 90  # the same row of both would be 10


@pytest.mark.parametrize("wanted", [1, 3])
def test_scales_of_people_are_a_reach(wanted):
    """A person moves the counts of differences as one pair does: what is tried for pairs of rows holds."""

    def of(people):
        (counts,) = matrix(people).pairs(
            lambda a, b: standardise._exponents(a, b), None, Account.elsewhere("pairs", Coupled(3))
        )
        return ends(*scale_ends(counts[0], wanted, 6))

    assert max(high for _, high in of(owned(4))) <= DROPPED
    listed = list(itertools.product(PERSONS[::5], repeat=4))[::17]
    near = {t: [(*t[:i], p, *t[i + 1 :]) for i in range(4) for p in PERSONS[1::6]] for t in listed[::9]}
    found = {t: of(t) for t in {*near, *itertools.chain(*near.values())}}
    reach(found, near)
