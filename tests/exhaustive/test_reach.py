"""The three axioms of a reach, and its exactness, against enumeration."""

import itertools
from functools import cache

import numpy as np
import pytest

from tests.exhaustive.universe import STATISTICS, VALUES, substituted, tables

every = pytest.mark.parametrize("name", STATISTICS)
STEPS = 4


def nested(inner, outer):
    """Whether intervals k of one lie inside intervals k + 1 of the other."""
    return (inner[0][:-1] >= outer[0][1:]).all() and (inner[1][:-1] <= outer[1][1:]).all()


@every
@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("rows", [1, 2])
def test_axioms_for_replaced_rows(name, n, rows):
    build = STATISTICS[name]
    reaches = {t: build(t, n, steps=STEPS, rows=rows) for t in tables(n)}
    ends = {t: r.intervals(STEPS) for t, r in reaches.items()}
    for table, (low, high) in ends.items():
        assert low[0] == reaches[table].value == high[0]  # 1
        assert (low[1:] <= low[:-1]).all()  # 2
        assert (high[1:] >= high[:-1]).all()
        for k in range(STEPS + 1):
            assert reaches[table].interval(k) == (low[k], high[k])
        people = {table}
        for _ in range(rows):
            people |= {u for t in people for u in substituted(t)}
        for other in people:
            assert nested(ends[other], ends[table])  # 3


@every
@pytest.mark.parametrize("n", [3, 4])
def test_axioms_for_added_rows_with_public_ranks(name, n):
    """Ranks and weights stay those of n while a row is added: what ADD_REMOVE uses."""
    build = STATISTICS[name]
    for table in tables(n):
        small = build(table, n, steps=STEPS).intervals(STEPS)
        for v in VALUES:
            large = build((*table, v), n, steps=STEPS).intervals(STEPS)
            assert nested(small, large)
            assert nested(large, small)


@pytest.mark.parametrize("name", [name for name in STATISTICS if name != "mad"])  # whose two medians move apart
@pytest.mark.parametrize("n", [3, 4])
def test_an_interval_is_no_larger_than_it_must_be(name, n):
    """Over a universe with far-away values, the finite ends are attained and the infinite ones approached."""
    build, far = STATISTICS[name], 1e6
    universe, value = (-far, *VALUES, far), cache(lambda t: build(t, n, steps=0).value)
    for table in tables(n):
        reach = build(table, n)
        reached = {table}
        for k in range(3):
            values = [value(t) for t in reached]
            low, high = reach.interval(k)
            assert low <= min(values)
            assert max(values) <= high
            assert min(values) == low if np.isfinite(low) else min(values) <= -far / 8
            assert max(values) == high if np.isfinite(high) else max(values) >= far / 8
            reached |= {u for t in reached for u in substituted(t, universe)}


def test_ties_and_extremes_do_not_break_the_axioms():
    values = (-np.finfo(float).max, 0.0, 5e-324, np.finfo(float).max)
    for name, build in STATISTICS.items():
        for table in tables(4, values):
            mine = build(table, 4).intervals(STEPS)
            for other in substituted(table, values):
                assert nested(build(other, 4).intervals(STEPS), mine), name


def test_a_wrong_reach_is_caught():
    """A reach that forgets a rank fails the third axiom: the test above can fail."""
    shorter = {t: STATISTICS["median"](t, 5).intervals(STEPS) for t in tables(5)}
    cut = {t: (np.append(low[:1], low[:-1]), np.append(high[:1], high[:-1])) for t, (low, high) in shorter.items()}
    pairs = itertools.chain.from_iterable(((t, u) for u in substituted(t)) for t in cut)
    assert not all(nested(cut[u], cut[t]) for t, u in pairs)
