"""Keys that floats can't tell apart, and options that no lattice can: neighbours must stay neighbours.

A chain of quantiles puts rows into cells, and breaks ties by random digits. If a cell's number is a float, 2^53 + 1 is
2^53, a tied group at the edge of a window counts no rows at all, and one replaced row moves the answer in full.
"""

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import uptack as ut
from uptack.account import Account
from uptack.mechanisms.quantile_chain import Bin, Chain
from uptack.noise import MachineNumbers
from uptack.statistics import quantile_trees
from uptack.statistics.quantile_trees import Cells
from uptack.table.memory.table import as_column
from uptack.table.opening import open_table as source
from uptack.table.values.kinds import LARGEST

DAY, START = 86_400 * 10**9, 1_699_920_000 * 10**9
STEPS = (None, "1e-75", "1e-15", "0.01", 1, 10**9, "1e75")
TIED = {
    "small": [3, 3, 3, 4],
    "2^53": [2**53, 2**53, 2**53, 2**53 + 2],
    "2^62": [2**62, 2**62, 2**62 + 1, -(2**62)],
    "±1e308": [1e308, 1e308, -1e308, -1e308],
    "missing rows at both ends": [-LARGEST, -LARGEST, LARGEST, 0.5],
    "subnormal": [5e-324, 5e-324, -5e-324, -5e-324],
    "zeros": [0.0, -0.0, 0.0, 1e-300],
    "around a half": [0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), -0.5],
}


def step(given):
    return None if given is None else Fraction(given)


# ------------------------------------------------------------------------------------- as it was seen from outside


def days():
    """A tied day at the first quartile, and its neighbour with one row of it replaced."""
    rows = START + DAY * np.r_[np.zeros(795, int), np.ones(200, int), 2 + np.arange(3005) // 4]
    other = rows.copy()
    other[0] = rows[-1]
    return rows, other


def test_nanoseconds_of_neighbours_have_like_quartiles():
    for rows in days():
        for seed in range(10):
            low, _ = ut.quantile(rows, [0.25, 0.75], epsilon=1, entropy=ut.SeededEntropy(seed)).value
            assert low < START + 20 * DAY


@pytest.mark.parametrize("granularity", ["1e-15", "1e-75", 1])
def test_ages_with_any_granularity_of_neighbours_have_like_quartiles(granularity):
    rows, other = ((x - START) / DAY + 18 for x in days())
    for x in (rows, other):
        for seed in range(10):
            options = {"granularity": granularity, "entropy": ut.SeededEntropy(seed)}
            assert ut.quantile(x, [0.25, 0.75], epsilon=1, **options).value[0] < 38


@pytest.mark.parametrize("granularity", ["0.01", 1, None])
def test_rows_set_to_the_lowest_number_count_in_full(granularity):
    """995 missing rows of 4000, just short of the first quartile: it lies in the gap above them, not beyond."""
    for gone in (995, 994):
        x = np.where(np.arange(4000) < gone, np.nan, np.arange(4000.0))
        for seed in range(5):
            options = {"missing": "low", "granularity": granularity, "entropy": ut.SeededEntropy(seed)}
            low, high = ut.quantile(x, [0.25, 0.75], epsilon=1, **options).value
            assert low < 1100
            assert abs(high - 3000) < 100


@pytest.mark.parametrize("granularity", [None, "1e-15", 7])
def test_rows_in_a_file_give_the_same_answers_to_the_last_bit(granularity, tmp_path):
    place = tmp_path / "days.parquet"
    for rows in days():
        pq.write_table(pa.table({"x": rows}), place)
        kept = source(place).column("x")
        for ask in (ut.median, lambda x, **o: ut.quantile(x, [0.25, 0.5, 0.75], **o)):
            options = {"epsilon": 1, "granularity": granularity}
            ours, theirs = (ask(x, entropy=ut.SeededEntropy(7), **options).value for x in (rows, kept))
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("levels", [[0.1, 0.5, 0.9], [0.25, 0.75]])
def test_integers_closer_than_the_lattice_are_still_near(levels):
    x = 2**53 + np.random.default_rng(1).integers(-5, 6, 20_000)
    for seed in range(5):
        found = ut.quantile(x, levels, epsilon=1, entropy=ut.SeededEntropy(seed)).value
        assert np.abs(found - 2.0**53).max() <= 2**17


# -------------------------------------------------------------------------------- cells keep order and hold candidates


@pytest.mark.parametrize("granularity", STEPS)
@pytest.mark.parametrize("which", [0, 10, -1])
def test_cells_keep_order_and_each_has_candidates(granularity, which):
    cells = replace(Cells.offered(1000)[which], granularity=step(granularity))
    special = [v for rows in TIED.values() for v in rows] + [np.inf, -np.inf, 1.5, 1e15, 1e76, -1e76, 1e78]
    rng = np.random.default_rng(3)
    turn = cells.lattice.value(cells._turn)
    near = turn * np.array([1, np.nextafter(1, 0), np.nextafter(1, 2), 0.999, 1.001])
    wide = rng.normal(size=2000) * 10.0 ** rng.uniform(-300, 300, 2000)
    x = np.sort(np.concatenate([special, near, -near, wide, rng.integers(-99, 99, 500)]))
    keys = cells.keys(x)
    assert keys.dtype == np.int64
    assert (np.diff(keys) >= 0).all()
    found = np.unique(keys)
    assert (cells.bounds(keys) <= x).all()
    assert (x < cells.bounds(keys + 1)).sum() + (x == np.inf).sum() == x.size
    starts, ends = cells.starts(found), cells.starts(found + 1)
    assert (ends - starts >= 1 << cells.digits).all()
    assert (starts[1:] >= ends[:-1]).all()
    assert starts[0] >= 0
    assert ends[-1] <= cells.size


def test_no_cell_of_a_granularity_is_beyond_what_floats_count():
    for cells in Cells.offered(1):
        for exponent in range(-75, 76):
            last = replace(cells, granularity=Fraction(10) ** exponent)._last
            assert last is not None
            assert last < 1 << 50


@pytest.mark.parametrize("granularity", [Fraction(1), Fraction(1, 4), Fraction(3)])
def test_all_cells_of_a_small_lattice(granularity):
    """Neighbouring cells share a bound and a candidate, from the first to the last, with none left out."""
    cells = Cells(MachineNumbers(5, 6), 2, granularity)
    first, last = (int(k) for k in cells.keys(np.array([-np.inf, np.inf])))
    keys = np.arange(first, last + 2)
    assert cells.starts(keys)[[0, -1]].tolist() == [0, cells.size]
    assert (np.diff(cells.starts(keys)) >= 1 << cells.digits).all()
    assert (np.diff(cells.bounds(keys)) > 0).all()
    assert (cells.keys(cells.bounds(keys[:-1])) == keys[:-1]).all()
    assert (cells.keys(np.nextafter(cells.bounds(keys[1:]), -np.inf)) == keys[:-1]).all()


# ------------------------------------------------------------------------- the theorems, with every digit there can be


class Tape(ut.SeededEntropy):
    """Digits that are given, not drawn."""

    def __init__(self, digits=()):
        super().__init__(0)
        self.given, self.taken = list(digits), 0

    def integers(self, bound, size):
        start, self.taken = self.taken, self.taken + int(size)
        return np.array((self.given or [0] * self.taken)[start : self.taken], np.int64)


@pytest.mark.parametrize(("rows", "granularity"), [(rows, STEPS[3 * i % 7]) for i, rows in enumerate(TIED.values())])
def test_windows_have_the_law_of_rows_that_are_changed_one_by_one(rows, granularity, monkeypatch):
    monkeypatch.setattr(quantile_trees, "BITS", 2)
    data, cells = np.array(rows), replace(Cells.offered(5)[0], granularity=step(granularity))

    def edges(entropy):
        seen = quantile_trees.WindowRows(as_column("x", data), 5, cells, Account.elsewhere("rows", entropy))
        seen.reveal([(1, 2)])
        seen.reveal([(1, 4)])  # windows of their own, one after the other
        return tuple(seen.places(np.arange(1, 6)).tolist())

    edges(blank := Tape())
    assert blank.taken == len(rows)  # each row is drawn once, in whichever windows it is seen
    found = Counter(edges(Tape(digits)) for digits in itertools.product(range(4), repeat=len(rows)))
    keys = cells.keys(data.astype(float))
    ends = zip(cells.starts(keys).tolist(), cells.starts(keys + 1).tolist(), strict=True)
    places = [[a + (d * (b - a) >> 2) for d in range(4)] for a, b in ends]
    wanted = Counter()
    for chosen in itertools.product(*places):
        wanted[(*sorted(chosen), cells.size)] += 1
    assert found == wanted


@pytest.mark.parametrize("granularity", STEPS)
def test_one_replaced_row_moves_the_variation_by_at_most_four(granularity):
    """With the same digits for all other rows: what the theorem of the chain asks of V."""
    rng, cells = np.random.default_rng(5), replace(Cells.offered(40)[0], granularity=step(granularity))
    digits = rng.integers(0, 1 << quantile_trees.BITS, 40)
    values = np.array([v for rows in TIED.values() for v in rows], np.float64)
    for base in (np.repeat(values, 2)[:40], np.full(40, 2.0**53), rng.choice(values, 40)):
        mine = _chain(cells, base, digits)
        for new in np.unique(values):
            other = base.copy()
            other[rng.integers(40)] = new
            theirs = _chain(cells, other, digits)
            points = sorted({p for chain in (mine, theirs) for e in chain.edges.flat for p in (int(e) - 1, int(e))})
            for v in itertools.combinations_with_replacement([p for p in points if 0 <= p < cells.size], 2):
                assert abs(_variation(mine, v) - _variation(theirs, v)) <= 4


def _chain(cells, rows, digits):
    keys = cells.keys(rows)
    starts = cells.starts(keys)
    placed = np.sort(starts + quantile_trees._share(digits, cells.starts(keys + 1) - starts))
    return Chain.of(Bin(0, cells.size, 40, (19, 59), 80), 2, Fraction(1, 2), lambda i: placed[i - 1])


def _variation(chain, v):
    cells = [int(np.searchsorted(edges, point, "right")) - 1 for edges, point in zip(chain.edges, v, strict=True)]
    if any(c < 0 or c > 2 * chain.steps for c in cells):
        return chain.cap
    return min(chain.variation([b + chain.first + c for b, c in zip(chain.bin.bases, cells, strict=True)]), chain.cap)


VALUES, SIZE = (-LARGEST, 0.0, 1.0, 2.0**53), 6


@pytest.mark.parametrize("granularity", [None, Fraction(1), Fraction(1, 4)])
def test_two_quantiles_with_random_digits_are_private(granularity):
    """The whole law, digits and all, over every table of 6 rows with 4 values: P ≤ q^-8·P' for a replaced row."""
    cells, q = Cells(MachineNumbers(2, 3), 1, granularity), 0.8
    keys = cells.keys(np.array(VALUES))
    ends = zip(cells.starts(keys).tolist(), cells.starts(keys + 1).tolist(), strict=True)
    places = [(a, a + (b - a) // 2) for a, b in ends]  # one random bit a row
    tables = list(itertools.combinations_with_replacement(range(len(VALUES)), SIZE))
    laws = {table: _law(table, places, cells.size, q) for table in tables}
    for table, mine in laws.items():
        for i, value in itertools.product(range(SIZE), range(len(VALUES))):
            theirs = laws[tuple(sorted((*table[:i], value, *table[i + 1 :])))]
            assert (mine <= theirs * q**-8 * (1 + 1e-9)).all()


def _law(table, places, size, q):
    """P of every pair of candidates: a mixture over the digits, of which only the number of ones a value matters."""
    sizes, total = [table.count(value) for value in range(len(places))], 0.0
    for ones in itertools.product(*(range(n + 1) for n in sizes)):
        rows = [
            places[v][bit] for v, n in enumerate(sizes) for bit, m in ((0, n - ones[v]), (1, ones[v])) for _ in range(m)
        ]
        chance = math.prod(math.comb(n, k) for n, k in zip(sizes, ones, strict=True)) / 2**SIZE
        deviations = [2 * (np.searchsorted(np.sort(rows), np.arange(size), "right") - r) + 1 for r in (2, 5)]
        first, second = deviations[0][:, None], deviations[1][None, :]
        score = np.minimum(np.abs(first) + np.abs(second - first) + np.abs(second), 6)
        weights = np.where(np.arange(size)[:, None] <= np.arange(size), q**score, 0.0)
        total = total + chance * weights / weights.sum()
    return total


def test_shares_of_a_width_are_exact():
    rng = np.random.default_rng(2)
    digits, widths = rng.integers(0, 1 << 40, 500), rng.integers(1, 1 << 62, 500) >> rng.integers(0, 61, 500)
    exact = [(int(d) * int(w)) >> 40 for d, w in zip(digits, widths, strict=True)]
    assert quantile_trees._share(digits, widths).tolist() == exact
