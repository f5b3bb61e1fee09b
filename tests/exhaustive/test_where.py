"""Conditions on rows: exact laws and sensitivities on tiny universes, with rows inside and outside the condition."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from tests.answers import categories, matrix
from tests.exhaustive.people import FOLLOWING, LATTICE, Law, private
from uptack import open as open_session
from uptack.mechanisms.inverse_sensitivity import Refusal, boxes, decay
from uptack.table.reads import CATEGORIES, DESIGN, FLAGS

RHO = decay(Fraction(1))
ROWS = [("in", 1.0), ("in", 3.0), ("in", 7.0), ("in", None), ("out", 1.0), ("out", 7.0)]
PEOPLE = [((a,), (a, b))[two] for a, b in itertools.product(ROWS[::2], ROWS[1::2]) for two in (0, 1)]
STEPS, FAILURE = 9, Fraction(1, 100)


def session(rows, people=None):
    """A session on the rows inside."""
    data = {"part": np.array([p for p, _ in rows], object), "x": np.array([v for _, v in rows], float)}
    kinds = {"part": "text", "x": "number"}
    ids = {} if people is None else {"id": np.array(people)}
    return open_session({**data, **ids}, types=kinds, person=None if people is None else "id").where(part="in")


def owned(table):
    """The rows of people, and whose they are."""
    return [row for person in table for row in person], [i for i, person in enumerate(table) for _ in person]


def law(source, statistic):
    """The law of an order statistic of the column x, where rows without a value are dropped."""
    present = source.column("x").drop()
    n = present.count()
    shells = boxes([statistic.reach(present, n, STEPS, 1)], STEPS, LATTICE, nonnegative=statistic.scale)
    return Law(shells, RHO, shells.cap(RHO, Refusal(statistic.room(n, n), True, FAILURE)))


def replaced(tables, universe):
    """All pairs of tables that differ in one place."""
    for table in tables:
        for i, other in itertools.product(range(len(table)), universe):
            yield table, tuple(sorted((*table[:i], other, *table[i + 1 :]), key=repr))


def all_tables(n, universe):
    return [tuple(sorted(t, key=repr)) for t in itertools.combinations_with_replacement(universe, n)]


@pytest.mark.parametrize("name", ["median", "trimmed mean", "iqr"])
def test_statistics_of_rows_that_meet_a_condition_are_private_for_replaced_rows(name):
    laws = {t: law(session(t).source, FOLLOWING[name]) for t in all_tables(3, ROWS)}
    assert private(laws, replaced(laws, ROWS), RHO**-2)


def test_a_condition_that_asks_for_other_rows_is_caught():
    """Why there are no conditions but on single rows: one row above all others would leave those out."""
    laws = {}
    for table in all_tables(4, ROWS[:3]):
        asked = session(table)
        laws[table] = law(asked.where(x=("==", max(v for _, v in table))).source, FOLLOWING["median"])
    assert not private(laws, replaced(laws, ROWS[:3]), RHO**-2)


def test_the_median_is_private_for_rows_that_come_and_go():
    laws = {t: law(session(t).source, FOLLOWING["median"]) for n in (1, 2, 3) for t in all_tables(n, ROWS)}
    pairs = ((t, t[:i] + t[i + 1 :]) for t in laws if len(t) > 1 for i in range(len(t)))
    assert private(laws, pairs, RHO**-2)


def test_the_median_is_private_for_people_some_of_whose_rows_meet_a_condition():
    universe = sorted(set(PEOPLE), key=repr)
    laws = {t: law(session(*owned(t)).source, FOLLOWING["median"]) for t in all_tables(3, universe)}
    assert private(laws, replaced(laws, universe), RHO**-2)


@pytest.mark.parametrize("of_people", [False, True])
def test_counts_move_as_they_do_without_a_condition(of_people):
    """A count by 1, a table of counts by 1 up and 1 down; the number of all rows or people is seen, and no other."""
    universe = sorted(set(PEOPLE), key=repr) if of_people else ROWS
    seen = {}
    for table in all_tables(3, universe):
        asked = session(*(owned(table) if of_people else (table,))).source
        (column,), (flags,) = CATEGORIES.read(asked, ("x",), {}), FLAGS.read(asked, (), {})
        cells = {value: units / asked.unit.step for value, units in categories(asked, column.name).items()}
        seen[table] = flags.trues(None), [cells.get(v, 0.0) for v in (1.0, 3.0, 7.0, None)]
        assert asked.size == 3
    for one, other in replaced(seen, universe):
        (n, cells), (m, others) = seen[one], seen[other]
        moved = np.array(others) - cells
        assert abs(n - m) <= 1
        assert max(moved.clip(0).sum(), -moved.clip(max=0).sum()) <= 1 + 1e-9


def test_a_table_has_as_many_rows_as_before_and_nothing_in_those_outside():
    for table in all_tables(3, ROWS):
        _, y = DESIGN.read(session(table).source, ("x", "x"), {})
        assert [v == v for v in matrix(y.table, y.name)[:, 0]] == [p == "in" and v is not None for p, v in table]
