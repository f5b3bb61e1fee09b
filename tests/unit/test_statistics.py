import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import uptack as ut
from uptack.account import Account
from uptack.mechanisms.inverse_sensitivity import LATTICES, steps_needed
from uptack.noise import MachineNumbers
from uptack.privacy import Privacy, cost
from uptack.privacy.loss import BoundedRange
from uptack.statistics.column_options import column as column_of
from uptack.statistics.column_options import read_question
from uptack.statistics.quantile_trees import Cells, WindowRows, below
from uptack.statistics.quantiles import round_interval
from uptack.table.memory.table import as_column
from uptack.table.protocol import Column

RNG = np.random.default_rng(11)
NORMAL = RNG.normal(size=20_000)
METHODS = {"inverse": {}, "ptr": {"delta": 1e-6}, "dwork-lei": {"delta": 1e-6}}
TOLERANCE = {"inverse": 0.02, "ptr": 1.0, "dwork-lei": 3.0}
ASKED = {
    "median": (lambda x, **o: ut.median(x, **o), 0.0),
    "quantile": (lambda x, **o: ut.quantile(x, 0.3, **o), -0.524),
    "iqr": (lambda x, **o: ut.iqr(x, **o), 1.349),
    "interquantile_range": (lambda x, **o: ut.interquantile_range(x, 0.1, 0.9, **o), 2.563),
    "trimmed_mean": (lambda x, **o: ut.trimmed_mean(x, 0.1, **o), 0.0),
    "winsorized_mean": (lambda x, **o: ut.winsorized_mean(x, 0.1, **o), 0.0),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ASKED)
def test_answers_are_close_and_cost_what_was_asked(name, method):
    ask, truth = ASKED[name]
    errors = []
    for seed in range(5):
        r = ask(NORMAL, epsilon=1, method=method, entropy=ut.SeededEntropy(seed), **METHODS[method])
        assert r, r
        assert r.privacy == cost(r.loss)
        assert r.privacy == Privacy(1, METHODS[method].get("delta", 0))
        errors.append(abs(r.value - truth))
    assert np.median(errors) < TOLERANCE[method]


def test_mean():
    x = np.random.default_rng(0).normal(3, 1, 100_000)
    for adjacency in (ut.SUBSTITUTE, ut.ADD_REMOVE):
        r = ut.mean(x, epsilon=1, adjacency=adjacency, entropy=ut.SeededEntropy(0))
        assert r.value == pytest.approx(3, abs=0.02)
        assert r.privacy == Privacy(1, 0, adjacency)
    with pytest.raises(ut.InvalidArgument, match="unknown option 'method' of mean"):
        ut.mean(x, epsilon=1, delta=1e-6, method="ptr")


@pytest.mark.parametrize("method", METHODS)
def test_an_outlier_changes_nothing(method):
    x = NORMAL.copy()
    x[:50] = 1e300
    for name in ("median", "iqr", "trimmed_mean"):
        ask, truth = ASKED[name]
        r = ask(x, epsilon=1, method=method, entropy=ut.SeededEntropy(1), **METHODS[method])
        assert r.value == pytest.approx(truth, abs=2 * TOLERANCE[method])


def test_with_very_few_rows_no_reply_is_decided_by_public_numbers_and_costs_nothing():
    for x in (np.zeros(60), NORMAL[:60]):
        r = ut.median(x, epsilon=1)
        assert not r
        assert r.privacy == Privacy(0)
        assert r.advice.n == 181
        assert ut.median(NORMAL[: r.advice.n], epsilon=1)
        assert ut.median(x, epsilon=r.advice.epsilon)


def test_with_few_rows_it_depends_on_the_data_and_costs():
    """All rows at a number that is none of the lattice's: two points of it are near. Normal rows: very many are."""
    few = np.full(120, 0.1), NORMAL[:120]
    (tied, *others), replies = ([ut.median(x, epsilon=1) for _ in range(30)] for x in few)
    assert not tied
    assert not any(others)
    assert tied.privacy == Privacy(1)
    assert tied.advice.n == 181
    assert all(replies)
    assert max(abs(r.value) for r in replies) < 1


GENERATORS = {
    "around 0": lambda n, rng: rng.normal(size=n),
    "far from 0": lambda n, rng: 1e4 + rng.normal(size=n),
    "heavy tails": lambda n, rng: rng.pareto(1.5, size=n) + 1,
    "ages": lambda n, rng: np.round(rng.normal(45, 15, n)).astype(int),
    "years": lambda n, rng: 2013 + rng.integers(0, 5, n),
}


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("options", [{}, {"adjacency": ut.ADD_REMOVE}], ids=str)
def test_most_columns_are_answered_with_half_of_the_rows(kind, options):
    """At ε = 1 a median from 145 rows on, a quartile from 300: in 99 of 100 draws, and never beyond the data."""
    make, rng = GENERATORS[kind], np.random.default_rng(3)
    for p, n in ((0.5, 145), (0.25, 300)):
        silent = 0
        for seed in range(20):
            x = make(n, rng)
            found = ut.quantile(x, p, epsilon=1, entropy=ut.SeededEntropy(seed), **options)
            silent += not found
            assert not found or x.min() <= found.value <= x.max()
        assert silent <= 5  # of 20, where one in 100 is expected: 1e-6


@pytest.mark.parametrize("options", [{}, {"adjacency": ut.ADD_REMOVE}, {"missing": "drop"}], ids=str)
def test_hardly_any_data_are_answered_from_beyond_them(options):
    """Half of the rows at either end of the lattice: all between is as near, and none of it may be replied silently."""
    x = np.array([-1e300] * 60 + [1e300] * 60)
    for ask in (ut.median, ut.iqr, ut.trimmed_mean, lambda x, **o: ut.quantile(x, [0.3, 0.6], **o)):
        for seed in range(8):
            found = ask(x[:90], epsilon=1, entropy=ut.SeededEntropy(seed), **options)
            assert not found or np.abs(found.value).max() <= 2e300


@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_from_which_n_on_there_is_a_reply(epsilon):
    """At ε = 1 a median from n = 200 and an IQR from n = 400 on; ten times as many rows at ε = 0.1."""
    times = round(1 / epsilon)
    assert ut.median(NORMAL[: 200 * times], epsilon=epsilon)
    assert ut.iqr(NORMAL[: 400 * times], epsilon=epsilon)


@pytest.mark.parametrize("n", range(5))
def test_tiny_tables_get_no_reply(n):
    for method, options in METHODS.items():
        for ask, _ in ASKED.values():
            r = ask(np.arange(float(n)), epsilon=1, method=method, **options)
            assert not r
            assert r.advice.n > n
        assert not ut.quantile(np.arange(float(n)), [0.2, 0.4], epsilon=1, method=method, **options)
    assert not ut.mean(np.arange(float(n)), epsilon=1)


def test_the_number_of_rows_is_paid_for_where_it_is_secret_and_needed():
    secret = {"epsilon": 1, "adjacency": ut.ADD_REMOVE}
    many = [k / 20 for k in range(1, 20)]
    two = ut.median(NORMAL, interval=0.9, epsilon=1, adjacency=ut.ADD_REMOVE, rows_per_person=2)
    for r in (ut.quantile(NORMAL, many, **secret), two):
        assert r.privacy == Privacy(1, 0, r.privacy.adjacency)
        assert float(r.loss.parts[0].epsilon) == 0.1
    one = ut.median(NORMAL, interval=0.9, **secret)
    assert one.loss.parts == (BoundedRange(Fraction(1, 3)),) * 3
    assert one.rows is None
    refused = ut.quantile(NORMAL[:20], many, **secret)
    assert refused.privacy == Privacy(0.1, 0, ut.ADD_REMOVE)
    assert ut.quantile(NORMAL, [0.3, 0.6], **secret).loss == BoundedRange(1)


@pytest.mark.parametrize("name", ASKED)
def test_one_order_statistic_needs_no_number_of_rows(name):
    ask, truth = ASKED[name]
    for options in ({"adjacency": ut.ADD_REMOVE}, {"missing": "drop"}):
        r = ask(NORMAL, epsilon=1, entropy=ut.SeededEntropy(1), **options)
        assert float(r.loss.epsilon) == 1
        assert r.value == pytest.approx(truth, abs=0.06)
        for few in (0, 1, 20):  # so many have a value; the number of all rows is public under SUBSTITUTE
            left = NORMAL[:few] if "adjacency" in options else np.append(NORMAL[:few], [np.nan] * (2000 - few))
            refused = ask(left, epsilon=1, entropy=ut.SeededEntropy(1), **options)
            assert not refused
            assert refused.privacy == r.privacy  # whether there are few rows is secret
            empty = NORMAL[:2] if "adjacency" in options else np.full(2000, np.nan)
            assert refused.advice == ask(empty, epsilon=1, **options).advice


@pytest.mark.parametrize("adjacency", [ut.SUBSTITUTE, ut.ADD_REMOVE])
def test_advice_is_good(adjacency):
    for name in ("median", "iqr", "trimmed_mean", "mean"):
        ask = ut.mean if name == "mean" else ASKED[name][0]
        options = {"adjacency": adjacency, "entropy": ut.SeededEntropy(4)}
        refused = ask(NORMAL[:50], epsilon=1, **options)
        assert not refused
        assert ask(NORMAL[: refused.advice.n], epsilon=1, **options)
        if refused.advice.epsilon is not None:
            assert ask(NORMAL[:50], epsilon=refused.advice.epsilon, **options)


def test_advice_of_the_tests_does_not_depend_on_n_while_that_is_small():
    few, more = (ut.median(NORMAL[:n], epsilon=1, delta=1e-6, method="ptr").advice.n for n in (50, 1000))
    assert few == more
    options = {"epsilon": 1, "delta": 1e-6, "method": "ptr"}
    replies = [bool(ut.median(NORMAL[:few], entropy=ut.SeededEntropy(s), **options)) for s in range(10)]
    assert sum(replies) > 5


def test_answers_that_would_drown_in_noise_are_refused_for_nothing():
    for ask in (ut.median, ut.iqr):
        r = ask(NORMAL, epsilon=0.1, delta=1e-6, method="dwork-lei")
        assert not r
        assert r.privacy == Privacy(0)
        assert "inverse" in str(r.advice)


def test_people_with_many_rows_need_more_of_them():
    r = ut.median(NORMAL, epsilon=1, rows_per_person=5)
    assert r.privacy.adjacency == ut.SUBSTITUTE.per_person(5)
    assert not ut.median(NORMAL[:300], epsilon=1, rows_per_person=5)
    assert ut.median(NORMAL[:300], epsilon=1, rows_per_person=5).advice.n >= 5 * 180


def test_integers_ties_and_constants():
    ages = np.random.default_rng(1).integers(18, 90, 2000)
    values = [ut.median(ages, epsilon=1, entropy=ut.SeededEntropy(s)).value for s in range(20)]
    assert all(v == round(v) for v in values)
    assert max(abs(v - np.median(ages)) for v in values) <= 1
    assert {ut.median(np.full(1000, 42), epsilon=1).value for _ in range(20)} == {42.0}
    assert {ut.iqr(np.full(1000, 42), epsilon=1).value for _ in range(20)} == {0.0}
    assert ut.iqr(np.full(1000, 42.0), epsilon=1, delta=1e-6, method="ptr").value == 0
    assert ut.iqr(np.full(20_000, 42.0), epsilon=1, delta=1e-6, method="dwork-lei").value == 0
    cents = np.round(np.random.default_rng(2).lognormal(3, 1, 3000), 2)
    price = ut.median(cents, epsilon=1, granularity=0.01).value
    assert round(price, 2) == price
    flags = np.arange(1000) < 700
    assert ut.median(flags, epsilon=1).value == 1.0


def test_a_trimmed_mean_far_from_zero_does_not_jump_by_a_rounding():
    """1e15 + {0, 1}: one more 1 moves the mean by 1/160,000, and its float by 1/8, far beyond the noise."""
    answers = []
    for ones in (30_000, 30_001):
        x = 1e15 + (np.arange(200_000) < ones)
        entropy = ut.SeededEntropy(0)
        draws = [ut.trimmed_mean(x, 0.1, epsilon=3, delta=1e-6, method="dwork-lei", entropy=entropy) for _ in range(20)]
        answers.append({r.value for r in draws if r})
    assert answers[0] & answers[1]


def test_a_scale_at_the_end_of_the_floats_gets_no_reply():
    x = np.where(np.arange(20_000) < 10_000, -8e307, 8e307)
    assert not ut.trimmed_mean(x, 0.1, epsilon=3, delta=1e-6, method="dwork-lei", entropy=ut.SeededEntropy(0))


def test_missing_values():
    x = NORMAL[:3000].copy()
    x[:10], x[10:12], x[12] = np.nan, np.inf, -np.inf
    with pytest.raises(ut.InvalidArgument, match="missing="):
        ut.median(x, epsilon=1)
    for missing in ("low", "high", 0, 17.5):
        for ask, truth in ASKED.values():
            assert ask(x, epsilon=1, missing=missing).value == pytest.approx(truth, abs=0.2)
        assert ut.mean(x, epsilon=1, missing=missing).value == pytest.approx(0, abs=0.2)


def test_frames_go_in_and_plain_values_come_out():
    class Series:
        """What pandas, polars and Arrow columns have in common."""

        def __array__(self, dtype=None, copy=None):
            return NORMAL

    r = ut.median(Series(), epsilon=1)
    assert type(r.value) is float
    assert type(ut.quantile(list(NORMAL), [0.5, 0.9], epsilon=1).value) is np.ndarray


def test_several_quantiles_come_sorted_and_closer_than_one_by_one():
    levels = [0.1 * i for i in range(1, 10)]
    truth = np.quantile(NORMAL, levels, method="inverted_cdf")

    def ranks(values):
        return np.abs(np.searchsorted(np.sort(NORMAL), values) - np.searchsorted(np.sort(NORMAL), truth)).mean()

    together, apart = [], []
    for seed in range(10):
        r = ut.quantile(NORMAL, levels, epsilon=1, entropy=ut.SeededEntropy(seed))
        assert (np.diff(r.value) >= 0).all()
        together.append(ranks(r.value))
        entropy = ut.SeededEntropy(seed)
        apart.append(ranks([ut.quantile(NORMAL, p, epsilon=1 / 9, entropy=entropy).value for p in levels]))
    assert np.mean(together) < 0.45 * np.mean(apart)


def test_several_quantiles_of_awkward_columns():
    rng = np.random.default_rng(5)
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    columns = {
        "constant": np.full(20_000, 3.5),
        "many zeros": np.where(rng.random(20_000) < 0.4, 0.0, rng.lognormal(size=20_000)),
        "integers": rng.poisson(3, 20_000),
        "huge": rng.choice([-1e300, 1e-300, 0.0, 7.0, 1e300], 20_000),
        "flags": rng.random(20_000) < 0.7,
    }
    for name, x in columns.items():
        for options in ({}, {"adjacency": ut.ADD_REMOVE}, {"rows_per_person": 3}):
            r = ut.quantile(x, levels, epsilon=1, entropy=ut.SeededEntropy(2), **options)
            assert r.privacy.exact_epsilon == 1
            low, high = (np.quantile(x.astype(float), np.clip(np.array(levels) + d, 0, 1)) for d in (-0.02, 0.02))
            clamped = np.clip(r.value, -1e76, 1e76)
            assert (clamped >= np.clip(low, -1e76, 1e76) - 1e-6).all(), (name, r)
            assert (clamped <= np.clip(high, -1e76, 1e76) + 1e-6).all(), (name, r)


def test_rows_past_the_last_one_are_where_the_candidates_end():
    data, made = np.array([1.0, 2.0, 2.0, 5.0]), Cells.offered(4)[0]
    rows = WindowRows(as_column("x", data), 7, made, Account.elsewhere("rows", None))
    rows.reveal([(2, 7)])
    assert rows.places(np.arange(5, 8)).tolist() == [made.size] * 3
    assert made.values(rows.places(np.arange(1, 5))).tolist() == [1, 2, 2, 5]  # most rows were asked for
    assert rows.up_to(made.size - 1) == 4
    few = WindowRows(as_column("x", data), 3, made, Account.elsewhere("rows", None))  # fewer than there are
    few.reveal([(1, 3)])
    assert made.values(few.places(np.arange(1, 4))).tolist() == [1, 2, 2]
    assert few.up_to(made.size - 1) == 3


@pytest.mark.parametrize("granularity", [None, Fraction(1)])
@pytest.mark.parametrize("zeros", [400, 1000, 2000])
def test_a_row_has_one_place_whoever_asks(zeros, granularity):
    """Windows in one group of ties continue each other: digits drawn anew for each would put rows out of order."""
    data, made = np.where(np.arange(2000) < zeros, 0.0, 7.0), replace(Cells.offered(2000)[0], granularity=granularity)
    for seed in range(8):
        rows = WindowRows(as_column("x", data), 2000, made, Account.elsewhere("rows", ut.SeededEntropy(seed)))
        middle = (made.lattice.top << made.digits) + 3
        counted = rows.up_to(middle)  # of a cell that no window has seen
        seen = []
        for window in ((500, 560), (900, 950), (550, 910), (100, 300), (1300, 1400), (1, 2000)):
            rows.reveal([window])
            seen.append((window, rows.places(np.arange(window[0], window[1] + 1)).tolist()))
        whole = seen[-1][1]
        assert whole == sorted(whole)
        assert all(places == whole[a - 1 : b] for (a, b), places in seen)
        assert counted == rows.up_to(middle) == sum(p <= middle for p in whole)


@pytest.mark.parametrize("granularity", [None, Fraction(1), Fraction(1, 100), Fraction(10**9)])
def test_the_cell_of_a_candidate_holds_it(granularity):
    cells, rng = replace(Cells.offered(5000)[3], granularity=granularity), np.random.default_rng(3)
    for candidate in [0, cells.size - 1, cells.size // 2, *(int(c) for c in rng.integers(0, cells.size, 300))]:
        key = np.array([cells.key_of(candidate)])
        assert cells.starts(key)[0] <= candidate < cells.starts(key + 1)[0]


def test_intervals_cover_the_population():
    covered, width = 0, []
    for seed in range(120):
        x = np.random.default_rng(seed).normal(size=3000)
        r = ut.median(x, epsilon=1, interval=0.9, entropy=ut.SeededEntropy(seed))
        low, high = r.interval(0.9)
        covered += low <= 0 <= high
        width.append(high - low)
        assert r.privacy == Privacy(1)
    assert covered > 0.9 * 120  # the interval is wider than it must be, so this is no near thing
    assert np.median(width) < 0.5
    with pytest.raises(ut.errors.NoInterval, match=r"0\.9"):
        r.interval(0.95)
    assert not ut.median(NORMAL[:100], epsilon=1, interval=0.95)
    with pytest.raises(ut.errors.NoInterval):
        ut.median(NORMAL, epsilon=1).interval()


def test_a_tests_own_noise_gives_an_interval():
    r = ut.median(NORMAL, epsilon=1, delta=1e-6, method="ptr", entropy=ut.SeededEntropy(3))
    low, high = r.interval(0.95)
    assert low < r.value < high
    several = ut.quantile(NORMAL, [0.3, 0.5], epsilon=3, delta=1e-6, method="ptr", entropy=ut.SeededEntropy(3))
    assert len(several.interval(0.9)[0]) == 2
    s = ut.iqr(NORMAL, epsilon=1, delta=1e-6, method="ptr", entropy=ut.SeededEntropy(3))
    low, high = s.interval(0.95)
    assert 0 < low < s.value < high


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"method": "magic"}, "method"),
        ({"method": "ptr"}, "delta"),
        ({"method": "dwork-lei", "delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"rows_per_person": 0}, "rows_per_person"),
        ({"adjacency": "add"}, "adjacency"),
        ({"granularity": -1}, "granularity"),
        ({"missing": "skip"}, "missing"),
        ({"missing": float("nan")}, "missing"),
        ({"entropy": 3}, "entropy"),
    ],
)
def test_bad_arguments_are_named_before_the_data_are_read(argument, wrong):
    class Untouchable:
        def __array__(self, *args, **kwargs):
            raise AssertionError("the data were read")

    for ask in (
        ut.median,
        ut.iqr,
        ut.trimmed_mean,
        ut.winsorized_mean,
        ut.mean,
        lambda x, **o: ut.quantile(x, 0.3, **o),
    ):
        if ask is ut.mean and "method" in argument:
            continue  # which it has not
        data = Untouchable()
        with pytest.raises(ut.InvalidArgument) as caught:
            ask(data, **{"epsilon": 1, **argument})
        assert caught.value.name == wrong


def test_other_bad_arguments():
    with pytest.raises(ut.InvalidArgument, match="cut must be"):
        ut.trimmed_mean(NORMAL, 0.5, epsilon=1)
    with pytest.raises(ut.InvalidArgument, match="high must be above low"):
        ut.interquantile_range(NORMAL, 0.5, 0.4, epsilon=1)
    with pytest.raises(ut.InvalidArgument, match="p must be"):
        ut.quantile(NORMAL, [0.5, 0.2], epsilon=1)
    with pytest.raises(ut.InvalidArgument, match="p must be"):
        ut.quantile(NORMAL, 1, epsilon=1)
    with pytest.raises(ut.InvalidArgument, match="x must be a one-dimensional column"):
        ut.median(np.zeros((3, 3)), epsilon=1)
    with pytest.raises(ut.InvalidArgument, match="x must be a one-dimensional column"):
        ut.median(np.array(["a", "b"]), epsilon=1)
    with pytest.raises(TypeError, match="unknown option 'eps' of median"):
        ut.median(NORMAL, epsilon=1, eps=3)


def test_the_lattice_gets_coarser_before_there_is_no_reply():
    sizes = [lattice.size for lattice in LATTICES]
    assert sizes == sorted(sizes, reverse=True)
    assert steps_needed(1, sizes[0]) > steps_needed(1, sizes[-1]) >= 80


@pytest.mark.parametrize("holes", [0, 1])
@pytest.mark.parametrize(
    "made",
    [
        lambda rows: pd.array(rows, dtype="Int64"),
        lambda rows: pd.Series(rows, dtype="Int32"),
        lambda rows: pl.Series(rows, dtype=pl.Int64),
        lambda rows: pa.array(rows, pa.int64()),
        lambda rows: pa.chunked_array([rows, []], pa.int64()),
    ],
)
def test_a_missing_value_does_not_change_the_type_of_a_column(made, holes):
    rows = [1, 2, 2] * 500
    rows[:holes] = [None] * holes
    column, request = column_of(made(rows), read_question("median", 1, {"missing": "high"}))
    assert request.granularity == 1
    assert column.integers
    assert ut.median(made(rows), epsilon=1, missing="high", entropy=ut.SeededEntropy(1)).value == 2.0
    if holes:
        with pytest.raises(ut.InvalidArgument, match="free of NaN"):
            ut.median(made(rows), epsilon=1)


@pytest.mark.parametrize(
    "text", [pd.Series(["a"] * 9, dtype="string"), pl.Series(["a"] * 9), pa.array(["a"] * 9), np.array(["a"] * 9)]
)
def test_a_column_of_texts_is_refused(text):
    with pytest.raises(ut.InvalidArgument, match="column of numbers"):
        ut.median(text, epsilon=1)


def test_a_column_of_ones_own_is_enough():
    """Statistics ask a column for order statistics and sums, and nothing else."""

    class Halves(Column):
        """Adds up two halves one after the other."""

        def sum(self, f):
            values = self.rows.lines[0]
            parts = [f(values[: values.size // 2]), f(values[values.size // 2 :])]
            return [a + b for a, b in zip(*parts, strict=True)]

    def halves(x):
        made = as_column("x", x)
        return Halves(made.table, made.expr, made.kind)

    for release in (
        lambda x: ut.median(x, epsilon=1, entropy=ut.SeededEntropy(1)).value,
        lambda x: ut.mean(x, epsilon=1, entropy=ut.SeededEntropy(1)).value,
        lambda x: ut.quantile(x, [0.25, 0.75], epsilon=1, entropy=ut.SeededEntropy(1)).value.tolist(),
        lambda x: ut.trimmed_mean(x, 0.1, epsilon=1, entropy=ut.SeededEntropy(1)).value,
    ):
        assert release(halves(NORMAL)) == release(NORMAL)


@pytest.mark.parametrize("name", ASKED)
def test_missing_rows_can_be_dropped(name):
    ask, truth = ASKED[name]
    holes = np.where(np.arange(NORMAL.size) % 3 == 0, np.nan, NORMAL)
    found = ask(holes, epsilon=2, missing="drop", entropy=ut.SeededEntropy(5))
    assert abs(found.value - truth) < 0.06
    assert found.privacy == Privacy(2)
    hollow = np.append(holes[:30], [np.nan] * (holes.size - 30))
    refused = ask(hollow, epsilon=2, missing="drop", entropy=ut.SeededEntropy(5))
    assert not refused
    assert refused.privacy == Privacy(2)  # it was looked at how many rows have a value
    free = ask(holes[:30], epsilon=0.1, missing="drop", entropy=ut.SeededEntropy(5))
    assert free.privacy == Privacy(0)  # so few would not be enough if they all had one


def test_the_mean_of_what_is_there():
    holes = np.where(np.arange(NORMAL.size) % 3 == 0, np.nan, NORMAL + 5)
    found = ut.mean(holes, epsilon=2, missing="drop", entropy=ut.SeededEntropy(5))
    assert abs(found.value - 5) < 0.1


@pytest.mark.parametrize("bits", [(2, 2), (9, 20)])
def test_rows_are_counted_by_lattice_cell_without_being_rounded(bits):
    cells = Cells(MachineNumbers(*bits), 8)
    rows = np.concatenate([RNG.normal(size=500), RNG.normal(size=50) * 1e300, -RNG.random(50) * 1e-300, [0.0, -0.0]])
    keys = cells.keys(rows)
    found = np.unique(keys)
    for beyond in (found, found + 1):
        assert below(rows, cells.bounds(beyond).tolist()) == [np.sum(keys < key) for key in beyond]


def test_lists_hold_any_number():
    assert ut.median([None, 10**400, -(10**400), *range(2000)], epsilon=1, missing="low")


# --------------------------------------------------------------------------------------------- a guess that can't hurt


@pytest.mark.parametrize("options", [{}, {"adjacency": ut.ADD_REMOVE}], ids=str)
def test_a_guess_gets_replies_with_fewer_rows_and_need_not_be_right(options):
    x = np.random.default_rng(0).normal(10_000, 1, 120)
    replies = {}
    for guess in (None, (9990, 10_010), (0, 100)):
        made = [ut.median(x, epsilon=1, plausible=guess, entropy=ut.SeededEntropy(s), **options) for s in range(40)]
        replies[guess] = sum(map(bool, made))
        assert all(abs(r.value - 10_000) < 1 for r in made if r)
        assert {r.privacy.epsilon for r in made} == {1}
    assert replies[9990, 10_010] > 35
    assert replies[None] < 25
    assert replies[0, 100] <= replies[None]


def test_a_guess_is_for_all_order_statistics():
    x = np.random.default_rng(0).normal(10_000, 1, 5000)
    for ask, truth in (
        (lambda **o: ut.quantile(x, 0.1, **o), 9998.72),
        (lambda **o: ut.quantile(x, 0.9, **o), 10_001.28),
        (lambda **o: ut.iqr(x, **o), 1.35),
        (lambda **o: ut.trimmed_mean(x, **o), 10_000),
        (lambda **o: ut.median(x, interval=0.9, **o), 10_000),
    ):
        for guess in ((9000, 11_000), (-5, 5)):
            found = ask(epsilon=1, plausible=guess, entropy=ut.SeededEntropy(2))
            assert found.value == pytest.approx(truth, abs=0.15)
    few = x[:400]
    both = ut.quantile(few, [0.25, 0.75], epsilon=1, plausible=[9990, 10_010], entropy=ut.SeededEntropy(2))
    assert both.value == pytest.approx([9999.3, 10_000.7], abs=0.5)


@pytest.mark.parametrize(
    "guess",
    [(1, 1), (2, 1), (1,), (0, 1, 2), (np.nan, 1), (0, np.inf), "ab", 5, ("a", "b"), (True, 3), (0, 10**400)],
    ids=str,
)
def test_bad_guesses_are_named(guess):
    for ask in (ut.median, ut.iqr, ut.trimmed_mean):
        with pytest.raises(ut.InvalidArgument, match="plausible must be a pair of numbers"):
            ask(object(), epsilon=1, plausible=guess)


def test_a_guess_is_for_the_inverse_method():
    with pytest.raises(ut.InvalidArgument, match="plausible must be left out unless method='inverse'"):
        ut.median(NORMAL, epsilon=1, delta=1e-6, method="ptr", plausible=(0, 1))
    with pytest.raises(ut.InvalidArgument, match="unknown option 'plausible' of mean"):
        ut.mean(NORMAL, epsilon=1, plausible=(0, 1))


@pytest.mark.parametrize("guess", [(-1e308, 1e308), (1e300, 1e301), (0, 1e-300), (1, 1 + 1e-15), (-1e-320, 0)], ids=str)
def test_guesses_at_the_limits_are_answered(guess):
    for ask in (ut.median, ut.iqr, ut.trimmed_mean):
        assert ask(NORMAL, epsilon=1, plausible=guess)


# ------------------------------------------------------------------------------------- intervals on the column's grid


def test_ends_of_intervals_are_values_that_the_column_can_hold():
    """The interval of the median of 0/1 integers was (-8.6e-78, 8.6e-78), and that of ages 60.25 to 66.04."""
    rng = np.random.default_rng(3)
    asked = {"epsilon": 1, "interval": 0.95}
    assert ut.median((rng.random(5000) < 0.3).astype(int), **asked, entropy=ut.SeededEntropy(1)).interval() == (0, 0)
    ages = rng.integers(20, 90, 3000)
    for p in (0.25, 0.5, 0.75):
        made = ut.quantile(ages, p, **asked, entropy=ut.SeededEntropy(1))
        low, high = made.interval()
        assert low <= np.quantile(np.arange(20, 90), p) <= high
        assert low.is_integer()
        assert high.is_integer()
    stepped = ut.median(ages / 4, granularity="0.25", **asked, entropy=ut.SeededEntropy(1)).interval()
    assert all((4 * end).is_integer() for end in stepped)
    around = ut.quantile_interval(ages / 4, 0.5, 13, granularity="0.25", epsilon=1, entropy=ut.SeededEntropy(1)).value
    assert all((4 * end).is_integer() for end in around)
    low, high = ut.median(rng.normal(size=3000), **asked, entropy=ut.SeededEntropy(1)).interval()
    assert (low, high) == (round(low, 3), round(high, 3))


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9), st.sampled_from([None, Fraction(1), Fraction(1, 4), Fraction(7)]))
def test_ends_on_a_grid_keep_what_they_cover(low, width, step):
    high = low + width
    first, last = round_interval(low, high, step)
    assert first <= last
    if step is None:
        assert first <= low <= high <= last
        assert last - first <= width * 1.02 + 1e-6 * abs(high)
    else:
        assert all((Fraction(end) / step).denominator == 1 for end in (first, last))
        inside = [k * step for k in {math.ceil(Fraction(low) / step), math.floor(Fraction(high) / step)}]
        assert all(first <= k <= last for k in inside if low <= k <= high)
        assert (low <= first and last <= high) or not any(low <= k <= high for k in inside)
