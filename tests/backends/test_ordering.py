"""Order statistics by sampling, counting and fetching: exact whatever the sample, and never more than a few rows."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uptack.errors import UptackError
from uptack.table import search
from uptack.table.exact_sum import exact_sum
from uptack.table.memory.rows import order_of
from uptack.table.search import PivotCounts, Size, WeightedRows, orders, sum_of_ranks
from uptack.table.unit import ROW, PrivacyUnit, U

PEOPLE = PrivacyUnit(("id",), "people")


def inside(rows, gaps):
    """Which rows lie in gaps."""
    kept = np.zeros(rows.size, bool)
    for gap in gaps:
        kept |= (rows > (-np.inf if gap.low is None else gap.low)) & (rows < (np.inf if gap.high is None else gap.high))
    return kept if any(gap.low is not None or gap.high is not None for gap in gaps) else np.ones(rows.size, bool)


@dataclass
class ArrayScans:
    """The questions of an engine about one column answered from an array, with any sampler; counts what is fetched."""

    rows: np.ndarray
    sampler: object
    weights: np.ndarray | None = None
    read_rows: list = field(default_factory=list)
    counted: int = 0

    @property
    def small(self):
        return search.SMALL

    @property
    def fetched(self):
        return search.FETCHED

    def units(self, kept):
        return int(kept.sum() if self.weights is None else self.weights[kept].sum())

    def count(self, asked):
        self.counted += 1
        sides = [[self.rows < p for p in asked[0]], [self.rows <= p for p in asked[0]]]
        units = [[self.units(kept) for kept in side] for side in sides]
        return {0: PivotCounts(*units, *([int(kept.sum()) for kept in side] for side in sides))}

    def read(self, places):
        return WeightedRows(self.rows[places], None if self.weights is None else self.weights[places])

    def sample(self, asked):
        gaps, part = asked[0]
        places = np.flatnonzero(inside(self.rows, gaps))
        return {0: self.read(places[self.sampler(self.rows[places], part)])}

    def fetch(self, asked):
        places = np.flatnonzero(inside(self.rows, asked[0]))
        self.read_rows.append(places.size)
        return {0: self.read(places)}

    def between(self, column, low, high, before, last):
        found = self.read((self.rows > low) & (self.rows < high)).sorted()
        return exact_sum(found.values) if self.weights is None else sum_of_ranks(found, before, PEOPLE)


def ordered(scans, windows, n=None, unit=ROW):
    """What the search finds of one column."""
    rows = scans.rows.size
    units = rows if scans.weights is None else int(scans.weights.sum())
    return orders(scans, unit, {0: Size(rows if n is None else n, units, rows)}, windows)[0]


def fair(seed=0):
    rng = np.random.default_rng(seed)
    return lambda rows, part: rng.random(rows.size) < part


SAMPLERS = {
    "fair": fair(),
    "nothing": lambda rows, part: np.zeros(rows.size, bool),
    "the smallest rows": lambda rows, part: np.argsort(rows)[: int(part * rows.size) + 1],
    "one row": lambda rows, part: np.arange(rows.size)[-1:],
}
VALUES = st.one_of(
    st.integers(-3, 3).map(float), st.sampled_from([1e308, -1e308, 5e-324, -0.0, 0.1, float(np.nextafter(0.1, 1))])
)


@pytest.fixture(autouse=True, scope="module")
def few():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "SMALL", 4)
        patch.setattr(search, "FETCHED", 4)
        patch.setattr(search, "SAMPLED", 8)
        yield


def asked_ranks(windows):
    return np.array(sorted({rank for a, b in windows for rank in range(a, b + 1)}), np.int64)


@pytest.mark.parametrize("sampler", SAMPLERS)
@given(
    rows=st.lists(VALUES, max_size=60).map(np.array),
    windows=st.lists(st.tuples(st.integers(-5, 70), st.integers(0, 5)).map(lambda w: (w[0], w[0] + w[1])), max_size=4),
)
def test_as_a_sort_would_have_it(sampler, rows, windows):
    rows = rows.astype(np.float64)
    found = ordered(ArrayScans(rows, SAMPLERS[sampler]), windows)
    whole, ranks = order_of(rows, windows, ROW), asked_ranks(windows)
    np.testing.assert_array_equal(found.at(ranks), whole.at(ranks))
    np.testing.assert_array_equal(
        found.at(ranks), np.r_[-np.inf, np.sort(rows), np.inf][np.clip(ranks, 0, rows.size + 1)]
    )
    known = [int(rank) for rank in ranks if 1 <= rank <= rows.size]
    for first, last in zip(known, known[::-1], strict=True):
        if first <= last:
            assert found.total(first, last) == whole.total(first, last) == exact_sum(np.sort(rows)[first - 1 : last])


@pytest.mark.parametrize("sampler", SAMPLERS)
@given(
    people=st.lists(st.lists(VALUES, min_size=1, max_size=7), max_size=25),
    windows=st.lists(st.tuples(st.integers(-5, 30), st.integers(0, 5)).map(lambda w: (w[0], w[0] + w[1])), max_size=4),
)
def test_rows_of_people_as_a_sort_would_have_it(sampler, people, windows):
    """x(r) is the least v that half a person beyond r - 1 people lie up to, each of whom is spread over her rows."""
    rows = np.array([v for person in people for v in person], np.float64)
    weights = np.array([U // len(person) for person in people for _ in person], np.int64)
    order = np.argsort(rows)
    sums, n = np.cumsum(weights[order]), len(people)
    whole = np.array([rows[order][np.searchsorted(sums, (2 * r - 1) * U // 2)] for r in range(1, n + 1)])
    found = ordered(ArrayScans(rows, SAMPLERS[sampler], weights), windows, n, PEOPLE)
    ranks = asked_ranks(windows)
    np.testing.assert_array_equal(found.at(ranks), np.r_[-np.inf, whole, np.inf][np.clip(ranks, 0, n + 1)])
    known = [int(rank) for rank in ranks if 1 <= rank <= n]
    for first, last in zip(known, known[::-1], strict=True):
        if first <= last:
            assert found.total(first, last) == exact_sum(whole[first - 1 : last])


@pytest.mark.parametrize(
    "rows",
    [np.ones(10**5), np.repeat([1.0, 2.0, 3.0], [40_000, 30_000, 30_000]), np.arange(10**5) // 1000 * 1.0],
    ids=["one value", "three", "a hundred"],
)
def test_ties_are_counted_and_not_fetched(rows, monkeypatch):
    monkeypatch.setattr(search, "FETCHED", 900)
    monkeypatch.setattr(search, "SAMPLED", 1000)
    scans = ArrayScans(np.random.default_rng(1).permutation(rows), fair())
    middle = ordered(scans, [(49_800, 50_200)])
    np.testing.assert_array_equal(middle.at(np.arange(49_800, 50_201)), np.sort(rows)[49_799:50_200])
    assert sum(scans.read_rows) <= 900
    assert scans.counted <= 3


def test_many_rows_need_two_scans_and_a_fetch_of_few(monkeypatch):
    monkeypatch.setattr(search, "FETCHED", 20_000)
    monkeypatch.setattr(search, "SAMPLED", 5_000)
    scans = ArrayScans(np.random.default_rng(1).normal(size=10**5), fair())
    ordered(scans, [(24_900, 25_100), (74_900, 75_100)])
    assert scans.counted == 1
    assert sum(scans.read_rows) < 20_000


def test_rows_without_a_value_come_last():
    found = ordered(ArrayScans(np.array([2.0, 1.0]), fair()), [(1, 4)], n=4)
    np.testing.assert_array_equal(found.at(np.arange(0, 6)), [-np.inf, 1, 2, np.nan, np.nan, np.inf])


def test_a_table_that_changes_meanwhile_is_noticed():
    with pytest.raises(UptackError, match="changed while it was read"):
        orders(ArrayScans(np.arange(3.0), fair()), ROW, {0: Size(4, 4, 4)}, [(1, 4)])
