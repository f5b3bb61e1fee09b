"""What was quick and went wrong: tiny δ, quantiles far out, threads that load functions."""

import math
import subprocess
import sys
import textwrap
from fractions import Fraction

import ibis
import numpy as np
import pytest
from scipy import stats

import uptack
from uptack.errors import InvalidArgument
from uptack.exact.reals import SMALLEST
from uptack.privacy import Privacy, calibrate, cost, tight
from uptack.privacy.calibration import boundary, excess
from uptack.privacy.loss import Approximate, BoundedRange, Pure, Subsample
from uptack.report.profile import profile
from uptack.statistics.quantile_intervals import _added, beyond, exceeds, rank_bounds


@pytest.mark.parametrize("delta", [1e-16, 1e-18, 1e-30, 1e-100, 1e-300])
def test_any_delta_can_be_composed(delta):
    for tenths in range(1, 40):
        for kind in (Pure, BoundedRange):
            epsilon = Fraction(tenths, 10)
            assert 0 < tight([kind(epsilon)] * 3, delta).exact_epsilon <= 3 * epsilon


def test_long_rationals_can_be_composed():
    long = 1 + Fraction(1, 10**5000)
    assert tight([Pure(long), Pure(1)], 1e-6).epsilon <= 2.000001


@pytest.mark.parametrize("digits", [20, 29, 40, 400])
def test_a_price_that_is_hardly_over_the_budget_is_over_it(digits):
    assert excess(1 + Fraction(1, 10**digits), Fraction(1)) > 0 > excess(1 - Fraction(1, 10**digits), Fraction(1))


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 3)])
def test_what_is_calibrated_is_within_the_budget_to_the_last_bit(epsilon):
    def build(e):
        return Subsample(Pure(e), rate=1)

    assert cost(build(calibrate(build, Privacy(epsilon)))) <= Privacy(epsilon)


@pytest.mark.parametrize("at_most", [0.0, -1e-9, -1e300])
@pytest.mark.parametrize("above", [1e-320, 1.0, 1e300])
def test_prices_that_jump_are_found_in_few_looks(at_most, above):
    for edge in (1, 512, 700, 1022):
        looks = []

        def over(x, edge=edge, looks=looks):
            looks.append(x)
            return above if x > 1 + Fraction(edge, 1024) else at_most

        assert boundary(over, Fraction(1), Fraction(2), 10) == 1 + Fraction(edge, 1024)
        assert len(looks) < 60
        assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("power", [0.1, 1, 1.1, 3])
def test_prices_that_are_powers_are_found_in_very_few_looks(power):
    """In few looks wherever the end is; and where all fits, or nothing does, the ends of the grid are found."""
    grid = {edge: 1 + Fraction(edge, 1024) for edge in (-1, 0, 1, 50, 512, 1022, 1023, 1024, 5000)}
    for edge, last in grid.items():
        looks = []

        def over(x, last=last, looks=looks):
            looks.append(x)
            return power * math.log((x + Fraction(1, 10**9)) / (last + Fraction(1, 2048)))

        found = boundary(over, Fraction(1), Fraction(2), 10)
        assert found == min(max(last, 1), 1 + Fraction(1023, 1024))
        assert len(looks) <= (1 if edge < 0 else 8)


@pytest.mark.parametrize("n", [10**8, 10**10, 10**12, 10**14])
@pytest.mark.parametrize("p", [Fraction(1, 10**4), Fraction(1, 10**8), Fraction(1, 10**12), 1 - Fraction(1, 10**10)])
@pytest.mark.parametrize("q", [Fraction(1, 50), Fraction(1, 10**12)])
def test_ranks_far_out_are_those_of_the_binomial(n, p, q):
    low, high = rank_bounds(n, n, p, q, people=False)
    for found, k in ((low, stats.binom.ppf(float(q), n, float(p))), (high, stats.binom.isf(float(q), n, float(p)) + 1)):
        assert abs(found - k) <= (p > Fraction(1, 2))  # 1 - 1e-10 is no float


def test_both_ways_to_a_tail_agree():
    for n, p in ((1000, Fraction(1, 3)), (10**6, Fraction(1, 900)), (10**9, Fraction(99, 100))):
        for k in (int(n * p) + 1, int(n * p) + 30, n):
            exact, (low, high) = beyond(k, n, p), _added(k, n, p)
            assert low <= exact <= high <= exact * (1 + Fraction(1, 10**5))
            assert low >= exact * (1 - Fraction(1, 10**5)) or exact == Fraction(1, 1 << SMALLEST)
            for q in (low, exact, high, low / 2, 2 * high, exact * (1 - Fraction(1, 10**12))):
                assert exceeds(k, n, p, q) == (exact > q)


@pytest.mark.parametrize("p", [1e-8, 1e-10, 1 - 1e-9])
def test_a_quantile_far_out_is_refused_in_words(p):
    assert "a reply needs n" in str(uptack.quantile(np.arange(100.0), p, epsilon=1, interval=0.95))


def test_functions_are_loaded_by_two_threads_at_once():
    tried = """
        import threading, time
        from uptack.registry import declared, find

        one = threading.Thread(target=find, args=("kde",), daemon=True)
        other = threading.Thread(target=declared, daemon=True)
        one.start()
        time.sleep(0.05)
        other.start()
        one.join(250)
        other.join(250)
        print(one.is_alive() or other.is_alive())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(tried)], capture_output=True, text=True, timeout=600)
    assert done.stdout == "False\n", done.stderr


def test_a_function_of_a_name_is_the_same_before_and_after_all_are_loaded():
    tried = """
        from uptack.registry import declared, find, names, release

        class Point:
            def load(self):
                def median(x, *, epsilon):
                    "Another one."
                release()(median)

        names.entry_points = lambda group: [Point()]
        before = find("median")
        try:
            declared()
        except ValueError as refused:
            print(refused)
        print(before is find("median"))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(tried)], capture_output=True, text=True, timeout=600)
    said = "the name of __main__.median must be new, got 'median', which uptack.statistics.quantiles.median has."
    assert done.stdout == f"{said} One of the two needs another.\nTrue\n", done.stderr


def test_names_are_ours_also_where_another_package_is_imported_first():
    """Ours failed to be imported then, and with it whatever needs it."""
    tried = """
        from uptack.registry import release

        for name, also in (("median", ""), ("other", "regression")):
            def function(x, *, epsilon):
                "Another one."
            function.__name__, function.__module__ = name, "stranger"
            try:
                release(also=also)(function)
            except ValueError as refused:
                print(refused)
        import uptack
        print(uptack.median([1.0] * 3000, epsilon=1).value)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(tried)], capture_output=True, text=True, timeout=600)
    said = "the name of stranger.{} must be new, got {!r}, which uptack.{} has. One of the two needs another.\n"
    refused = said.format("median", "median", "statistics.quantiles.median")
    refused += said.format("other", "regression", "regression.linear.linear_regression")
    assert done.stdout == f"{refused}1.0\n", done.stderr


def test_what_is_wrong_with_one_of_two_columns_is_found_before_the_debit():
    session = uptack.open({"a": np.arange(3000.0), "b": np.arange(3000.0)})
    with pytest.raises(InvalidArgument, match="plausible"):
        profile(session, 2, 1e-6, plausible={"a": (1, 100), "b": (True, 100)}, progress=False)
    assert session.spent.exact_epsilon == 0


def test_functions_in_python_are_refused_until_their_results_are_kept():
    """One row could make such a function raise, and so decide between an error and an answer."""
    con = ibis.duckdb.connect()
    con.raw_sql("CREATE TABLE t AS SELECT range::DOUBLE AS x FROM range(3000)")

    @ibis.udf.scalar.python
    def twice(x: float) -> float:
        return 2 * x

    made = con.table("t").mutate(y=twice(ibis._.x))
    with pytest.raises(uptack.InvalidArgument, match="keep what it makes in a table"):
        uptack.open(made)
    session = uptack.open(con.create_table("kept", made))
    assert session["y"].quantile(0.5, epsilon=100).value == pytest.approx(3000, rel=0.05)


def test_hardly_anything_left_of_delta_is_nothing():
    delta = Fraction(2, 10**300)
    spent = delta * (1 - Fraction(11, 10**13))
    assert tight([Approximate(1, spent), Pure(1)], delta).exact_epsilon == 2
