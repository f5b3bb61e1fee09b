"""People as the unit: the lemma, the reaches and the exact laws, on whole universes of people with up to three rows."""

import itertools
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest

from tests.exhaustive.people import (
    FOLLOWING,
    LATTICE,
    STATISTICS,
    VALUES,
    Law,
    column,
    persons,
    private,
    removed,
    replaced,
    tables,
)
from uptack.errors import NoInterval
from uptack.mechanisms.inverse_sensitivity import Refusal, boxes, decay
from uptack.noise import MachineNumbers, SeededEntropy
from uptack.reach import InterquantileRange, LStatistic, Segment
from uptack.reach.differences import PeopleRange
from uptack.statistics.means import std, variance
from uptack.statistics.moments import ONE, ColumnFrame, diameter, exact_sums, in_frame, sensitivity, whole_numbers
from uptack.table.ids import Owners
from uptack.table.memory.rows import weighted_order
from uptack.table.memory.table import MemoryTable, as_column
from uptack.table.protocol import Column
from uptack.table.unit import U as UNIT
from uptack.table.values.entrance import field

ALL = [p for p in persons() if len(p) < 3 or p in ((1.0, 1.0, 7.0), (1.0, 3.0, 7.0), (3.0, 7.0, 7.0))]
PLAIN = [p for p in ALL if p not in ((3.0, 3.0), (7.0, 7.0))]
"""Without a cap, two equal rows weigh as one does: one person with two is enough."""
RANKS = np.arange(-2, 8)
RHO = decay(Fraction(1))
CAPS = [None, 1, 2]
STEPS = 5
"""More than there are people: with all of them replaced every value is within reach."""


def capped(names):
    """Each statistic without a cap; one of each kind of reach with one, which changes the units of a column alone."""
    reaches = ("median", "trimmed mean", "iqr")
    return [(name, None) for name in names] + [(name, 2) for name in reaches] + [("median", 1)]


def nested(inner, outer):
    """Whether intervals k of one lie inside intervals k + 1 of the other."""
    return (inner[0][:-1] >= outer[0][1:]).all() and (inner[1][:-1] <= outer[1][1:]).all()


# --------------------------------------------------------------------------------------------------------- the lemma


def by_hand(table, rank, at_most=None):
    """z(r) by its definition, with rationals in place of units."""
    if rank < 1:
        return -np.inf
    rows = sorted((v, min(Fraction(1, len(p)), Fraction(1, at_most or 1))) for p in table for v in p)
    for v, total in zip((v for v, _ in rows), itertools.accumulate(w for _, w in rows), strict=True):
        if total >= rank - Fraction(1, 2):
            return v
    return np.inf


@pytest.mark.parametrize("at_most", CAPS)
def test_the_pseudo_order_statistics_are_those_of_the_definition(at_most):
    for table in tables(3, ALL):
        found = column(table, at_most).order([(0, 99)]).at(RANKS)
        assert found.tolist() == [by_hand(table, r, at_most) for r in RANKS.tolist()]


@pytest.mark.parametrize("at_most", CAPS)
def test_one_person_moves_every_rank_by_one_at_most(at_most):
    z = {t: column(t, at_most).order([(0, 99)]).at(RANKS) for n in (2, 3) for t in tables(n, ALL)}
    for table in tables(3, ALL):
        for other in replaced(table, ALL):
            assert (z[other][:-1] <= z[table][1:]).all()
        for fewer in removed(table):
            assert (z[table] <= z[fewer]).all()
            assert (z[fewer][:-1] <= z[table][1:]).all()


@pytest.mark.parametrize("at_most", CAPS)
def test_the_size_moves_by_one_at_most(at_most):
    sizes = {t: column(t, at_most).count() for n in (2, 3) for t in tables(n, ALL)}
    for table in tables(3, ALL):
        assert all(abs(sizes[table] - sizes[other]) <= 1 for other in replaced(table, ALL))
        assert all(sizes[table] - sizes[fewer] in (0, 1) for fewer in removed(table))


def test_one_row_each_is_the_column_itself():
    for n in (1, 2, 4):
        for table in itertools.combinations_with_replacement(VALUES, n):
            mine, rows = column([(v,) for v in table]).order([(0, 99)]), as_column("x", np.array(table)).order([(1, n)])
            assert mine.at(RANKS).tolist() == rows.at(RANKS).tolist()
            assert mine.total(1, n) == rows.total(1, n)


# ------------------------------------------------------------------------------------------------------------ reaches


@pytest.mark.parametrize(("name", "at_most"), capped(STATISTICS))
def test_the_axioms_hold_for_people(name, at_most):
    """1, 2 and 3 for replaced people, and 3 for one who comes or goes, with ranks of a public n."""
    n, steps, people = 3, 4, ALL if at_most else PLAIN
    reaches = {t: STATISTICS[name].reach(column(t, at_most), n, steps, 1) for m in (2, 3) for t in tables(m, people)}
    ends = {t: r.intervals(steps) for t, r in reaches.items()}
    for table, (low, high) in ends.items():
        assert low[0] == reaches[table].value == high[0]
        assert (low[1:] <= low[:-1]).all()
        assert (high[1:] >= high[:-1]).all()
    for table in tables(n, people):
        assert all(nested(ends[other], ends[table]) for other in replaced(table, people))
        for fewer in removed(table):
            assert nested(ends[fewer], ends[table])
            assert nested(ends[table], ends[fewer])


def by_splitting(table, ranks, k):
    """Interval k by trying every split in sixths of a unit, which people with up to three rows have."""
    rows = sorted((v, UNIT // len(p)) for p in table for v in p)

    def inverse(units):
        if units <= 0:
            return -np.inf
        up_to = itertools.accumulate(w for _, w in rows)
        return next((v for (v, _), total in zip(rows, up_to, strict=True) if total >= units), np.inf)

    a, b = ((2 * r - 1) * UNIT // 2 for r in ranks)
    moved, splits = k * UNIT, range(0, k * UNIT + 1, UNIT // 6)
    with np.errstate(invalid="ignore"):
        narrow = [np.float64(inverse(b - moved + i)) - inverse(a + i) for i in splits]
        wide = [np.float64(inverse(b + moved - i)) - inverse(a - i) for i in splits]
    return max(0.0, min(np.nan_to_num(narrow, nan=0.0))), max(np.where(np.isnan(wide), np.inf, wide))


@pytest.mark.parametrize("ranks", [(1, 3), (1, 2), (2, 3), (2, 2)])
def test_the_range_of_people_is_that_of_all_splits(ranks):
    for table in tables(3, ALL):
        reach = PeopleRange(column(table), ranks, 2)
        for k in (0, 1, 2):
            assert reach.interval(k) == by_splitting(table, ranks, k)


@pytest.mark.parametrize("ranks", [(1, 3), (1, 2), (2, 3)])
def test_the_range_of_people_holds_whatever_one_person_becomes(ranks):
    """Also people with rows far away. Here and there the interval is larger than it must be, and mostly it is not."""
    far, tight, few = 1e6, 0, persons(VALUES, 2)
    wide = [p for p in persons((-far, *VALUES, far), 3) if len(p) < 3 or len(set(p)) == 3]
    whole, value = tables(3, few), cache(lambda table: PeopleRange(column(table), ranks, 0).value)
    for table in whole:
        low, high = PeopleRange(column(table), ranks, 1).interval(1)
        values = [value(t) for t in replaced(table, wide)]
        assert low <= min(values)
        assert max(values) <= high
        tight += low == min(values) and (max(values) == high or max(values) >= far / 8)
    assert tight > 0.5 * len(whole)


def test_the_example_that_needs_units_to_be_split():
    table, other = [(1.0, 7.0), (3.0,), (3.0, 7.0)], [(3.0,), (3.0,), (3.0, 7.0)]
    assert PeopleRange(column(table), (1, 3), 1).interval(0) == (6.0, 6.0)
    assert PeopleRange(column(table), (1, 3), 1).interval(1)[0] == 0.0
    assert PeopleRange(column(other), (1, 3), 1).value == 0.0
    assert InterquantileRange(column(table), (1, 3), 1).interval(1)[0] == 2.0


def test_a_range_that_splits_whole_people_is_caught():
    """A planted fault: the reach for rows, on people."""
    ends = {t: InterquantileRange(column(t), (1, 3), 3).intervals(3) for t in tables(3, ALL)}
    assert not all(nested(ends[other], ends[table]) for table in ends for other in replaced(table, ALL))


# --------------------------------------------------------------------------------------------------------- exact laws


def law(statistic, table, n, *, at_most=None, secret=False, failure=Fraction(1, 100), steps=STEPS):
    """The exact law of a release that looks at n for its ranks."""
    data = column(table, at_most)
    reach = statistic.reach(data, n, steps, 1)
    shells = boxes([reach], steps, LATTICE, nonnegative=statistic.scale)
    return Law(shells, RHO, shells.cap(RHO, Refusal(statistic.room(n, data.count()), secret, failure)))


def of_replaced(laws, people=ALL):
    return ((table, other) for table in laws for other in replaced(table, people))


@pytest.mark.parametrize(("name", "at_most"), capped(STATISTICS))
def test_replaced_people_are_private(name, at_most):
    """The number of people is public; with `weights="rows"` a public number takes its place, and ⊥ is of a secret."""
    people = ALL if at_most else PLAIN
    laws = {t: law(STATISTICS[name], t, 3, at_most=at_most, secret=at_most is not None) for t in tables(3, people)}
    assert private(laws, of_replaced(laws, people), RHO**-2)


@pytest.mark.parametrize(("name", "at_most"), capped(FOLLOWING))
def test_people_who_come_or_go_are_private(name, at_most):
    """The number of people is secret, and ranks follow it."""
    laws = {
        t: law(FOLLOWING[name], t, column(t, at_most).count(), at_most=at_most, secret=True)
        for n in (1, 2, 3)
        for t in tables(n, ALL if at_most else PLAIN)
    }
    pairs = ((table, fewer) for table in laws if len(table) > 1 for fewer in removed(table))
    assert private(laws, pairs, RHO**-2)


@pytest.mark.parametrize("name", ["median", "trimmed mean", "midhinge", "iqr"])
def test_people_who_drop_out_for_lack_of_a_value_are_private(name):
    """Rows without a value are left out before rows are weighed, and with their last row people go."""
    values = [*persons(VALUES, 2), (), (3.0,), (np.nan, 1.0), (np.nan, np.nan, 7.0)]
    tables_ = list(itertools.combinations_with_replacement(range(len(values)), 3))

    def of(table):
        rows = [values[i] or (np.nan,) for i in table]
        present = column(rows).drop()
        statistic, n = FOLLOWING[name], present.count()
        shells = boxes([statistic.reach(present, n, STEPS, 1)], STEPS, LATTICE, nonnegative=statistic.scale)
        return Law(shells, RHO, shells.cap(RHO, Refusal(statistic.room(n, n), True, Fraction(1, 100))))

    laws = {t: of(t) for t in tables_}
    assert private(laws, of_replaced(laws, range(len(values))), RHO**-2)


def test_ranks_that_follow_rows_of_replaced_people_are_caught():
    """Why a noisy size is bought there: with `weights="rows"` n and F can move apart by nearly two people."""
    laws = {t: law(FOLLOWING["median"], t, column(t, 2).count(), at_most=2, secret=True) for t in tables(3, ALL)}
    assert not private(laws, of_replaced(laws), RHO**-2)


class Doubled(Column):
    """A column of people whose rows have twice their units."""

    def order(self, windows):
        return weighted_order(self.rows.values[0], 2 * self.rows.weights, self.rows.n, self.rows.unit, windows)


@pytest.mark.parametrize("planted", ["a decay too fast", "rows for people", "units of two people"])
def test_planted_faults_are_caught(planted):
    laws = {}
    for table in tables(3, ALL):
        data = column(table)
        if planted == "rows for people":
            data = as_column("x", np.array([v for person in table for v in person]))
        if planted == "units of two people":
            data = Doubled(data.table, data.expr, data.kind)
        shells = boxes([STATISTICS["median"].reach(data, 3, 9, 1)], 9, LATTICE)
        laws[table] = Law(shells, RHO**2 if planted == "a decay too fast" else RHO)
    assert not private(laws, of_replaced(laws), RHO**-2)


@pytest.mark.parametrize("at_most", [None, 2])
def test_several_quantiles_at_once_are_private(at_most):
    lattice, steps, few = MachineNumbers(2, 2), 2, persons((1.0, 3.0), 3)

    def of(table):
        data = column(table, at_most).order([(0, 99)])
        reaches = [LStatistic(data, (Segment(r, r),)) for r in (1, 3)]
        return Law(boxes(reaches, steps, lattice), RHO)

    laws = {t: of(t) for t in tables(3, few)}
    assert private(laws, of_replaced(laws, few), RHO**-2)


@pytest.mark.parametrize("how", ["mean", "sum", "median", "count", "min", "max", "last"])
def test_one_number_per_person_is_private(how):
    """Each person's rows are in the order of her list, whatever that is."""
    few = [p for p in ALL if len(p) < 3] + [(7.0, 1.0, 3.0)]
    statistic = STATISTICS["iqr"]

    def of(table):
        rows = np.array([v for person in table for v in person])
        codes = np.repeat(np.arange(len(table)), [len(p) for p in table])
        whose = Owners(codes, len(table), ("id",))
        fields = {"x": field("x", rows), "place": field("place", np.arange(rows.size))}
        each = MemoryTable.of(fields, whose).column("x").per_person(how, "place" if how == "last" else None)
        shells = boxes([statistic.reach(each, 3, STEPS, 1)], STEPS, LATTICE, nonnegative=True)
        return Law(shells, RHO, shells.cap(RHO, Refusal(statistic.room(3, 3), False, Fraction(1, 100))))

    laws = {t: of(t) for t in tables(3, few)}
    assert private(laws, of_replaced(laws, few), RHO**-2)


def test_the_sums_of_a_mean_move_by_one_persons_worth():
    frame = ColumnFrame(3.75, 1.0, 2.25, 2.25)
    for at_most in CAPS:

        def sums(table, at_most=at_most):
            means = column(table, at_most).person_means(partial(in_frame, frame=frame))
            return [int(v.sum()) for v in whole_numbers(means, -1)]

        found = {t: np.array(sums(t)) for n in (2, 3) for t in tables(n, ALL)}
        for table in tables(3, ALL):
            moved = [np.abs(found[table] - found[other]).sum() for other in replaced(table, ALL)]
            assert max(moved) <= sensitivity(-1, True)
            assert all(np.abs(found[table] - found[f]).sum() <= sensitivity(-1, False) for f in removed(table))


@pytest.mark.parametrize("power", [-1, 1])
def test_the_sums_of_a_variance_move_by_one_persons_worth(power):
    """The mean of her rows' squares, not the square of their mean: as far apart as two rows can be, and no further."""
    frame = ColumnFrame(3.75, 1.0, 2.25, 2.25)
    many = [(1.0,) * 999 + (7.0,), (1.0, 7.0) * 500, (0.1,) * 24 + (3.6,), (-1e300, 1e300)]
    for at_most in CAPS:

        def sums(table, at_most=at_most):
            made = exact_sums(column(table, at_most), frame, power, 3, 9, 0.0, of_rows=True)
            return np.array([made.first, made.second])

        people = [*ALL, *many]
        rest = [(3.0,), (1.0, 7.0)]
        found = np.array([sums([person, *rest]) for person in people])
        apart = np.abs(found[:, None] - found).sum(axis=2)
        assert diameter(power) * ONE * 0.7 < apart.max() <= sensitivity(power, True)
        assert np.abs(found - sums(rest)).sum(axis=1).max() <= sensitivity(power, False)
    spread = sums_of([(1.0, 7.0)] * 3, frame, power), sums_of([(4.0,)] * 3, frame, power)
    assert spread[0].second > 3 * spread[1].second  # a mean of people's means would see none


def sums_of(table, frame, power):
    return exact_sums(column(table), frame, power, 3, 9, 0.0, of_rows=True)


def test_a_variance_of_people_is_that_of_a_random_row_of_a_random_person():
    rng = np.random.default_rng(1)
    rows = rng.integers(1, 9, 4000)
    ids = np.repeat(np.arange(4000), rows)
    x = 3 * rng.normal(size=4000)[ids] + 4 * rng.normal(size=ids.size) * (rows[ids] > 4)
    own = {"epsilon": 4, "entropy": SeededEntropy(1), "person": ids}
    weights = (1 / rows)[ids] / 4000
    exact = weights @ (x - weights @ x) ** 2
    found = variance(x, **own)
    low, high = found.interval(0.95)
    assert low < exact < high
    assert abs(found.value / exact - 1) < 0.05
    assert abs(std(x, **own, weights="rows", at_most=4).value - np.sqrt(exact)) < 0.5
    with pytest.raises(NoInterval):
        std(x, **own, weights="rows", at_most=4).interval(0.95)
