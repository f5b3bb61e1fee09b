"""Whatever the data, a statistic gives a finite value or ⊥, and never an error that depends on them."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import uptack as ut
from uptack.reach import InterquantileRange, LStatistic
from uptack.reach.l_statistics import quartiles, trimmed_mean, winsorized_mean
from uptack.table.exact_sum import as_float, as_floats, as_integer, as_integers, exact_sum
from uptack.table.memory.rows import order_of
from uptack.table.unit import ROW

finite = st.floats(allow_nan=False, allow_infinity=False)
hostile = st.one_of(
    finite, st.sampled_from([0.0, -0.0, 1.0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308])
)
columns = st.lists(hostile, min_size=1, max_size=60).map(np.array)
wild = arrays(np.float64, st.integers(0, 500), elements=st.one_of(hostile, st.floats()), fill=st.floats())


@given(columns)
def test_sums_are_exact(x):
    assert as_integers(x) == [as_integer(float(v)) for v in x]
    assert exact_sum(x) == sum(as_integers(x))


@given(columns, st.integers(1, 2**70))
def test_quotients_are_rounded_once(x, parts):
    units = [3**40 * whole for whole in as_integers(x)]  # some of them beyond all floats
    assert as_floats(units, parts).tolist() == [as_float(each, parts) for each in units]


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=60))
def test_sums_round_like_fsum(values):
    assert as_float(exact_sum(np.array(values))) == math.fsum(values)


@given(columns, st.data())
def test_selected_ranks_are_those_of_a_sort(x, data):
    a = data.draw(st.integers(-5, len(x) + 5))
    b = data.draw(st.integers(a, a + 10))
    got = order_of(x, [(a, b), (1, 1)], ROW).at(np.arange(a, b + 1))
    full = np.sort(x)
    for rank, value in zip(range(a, b + 1), got, strict=True):
        assert value == (-np.inf if rank < 1 else np.inf if rank > len(x) else full[rank - 1])


@given(columns, st.integers(0, 59), hostile, st.integers(1, 3))
def test_the_third_axiom_for_one_replaced_row(x, i, new, rows):
    from fractions import Fraction

    n, steps = len(x), 5
    other = x.copy()
    other[i % n] = new
    for build in (
        lambda t: LStatistic.quantile(t, (n + 1) // 2, steps, rows),
        lambda t: InterquantileRange(t, quartiles(n), steps, rows),
        lambda t: LStatistic.of(t, trimmed_mean(Fraction(1, 5), n), steps, rows),
        lambda t: LStatistic.of(t, winsorized_mean(Fraction(1, 5), n), steps, rows),
    ):
        (low, high), (low_other, high_other) = build(x).intervals(steps), build(other).intervals(steps)
        assert (low[1:] <= low_other[:-1]).all()
        assert (high_other[:-1] <= high[1:]).all()


@settings(deadline=None, max_examples=60)
@given(
    wild,
    st.sampled_from(["inverse", "ptr", "dwork-lei"]),
    st.sampled_from([ut.SUBSTITUTE, ut.ADD_REMOVE]),
    st.integers(1, 2),
    st.sampled_from(["low", "high", 0]),
    st.integers(0, 10**6),
)
def test_any_data_give_a_number_or_no_reply(x, method, adjacency, rows, missing, seed):
    options = {
        "epsilon": 2,
        "delta": 1e-6,
        "method": method,
        "adjacency": adjacency,
        "rows_per_person": rows,
        "missing": missing,
        "entropy": ut.SeededEntropy(seed),
    }
    for result in (
        ut.median(x, **options),
        ut.quantile(x, [0.25, 0.5], **options),
        ut.iqr(x, **options),
        ut.trimmed_mean(x, 0.2, **options),
        ut.winsorized_mean(x, 0.2, **options),
        ut.mean(x, **{name: value for name, value in options.items() if name != "method"}),
    ):
        assert not result.private
        if result:
            assert np.isfinite(result.value).all()
            assert result.privacy.exact_epsilon == 2
        else:
            assert result.value is None
            assert result.privacy.exact_epsilon <= 2


@settings(deadline=None, max_examples=40)
@given(arrays(np.int64, st.integers(200, 400), elements=st.integers(-(2**63), 2**63 - 1)), st.integers(0, 10**6))
def test_integer_columns_give_integers(x, seed):
    result = ut.median(x, epsilon=2, entropy=ut.SeededEntropy(seed))
    assert result.value == round(result.value)
