"""Functions of whole tables that users give: what they raise, return or change is not told."""

import os
import warnings

import numpy as np
import pytest

import uptack as ut
from tests.helpers import CountingEntropy
from uptack.papers import A_dist
from uptack.random_dp import binomial_proportion, sensitivity_analysis

X = np.random.default_rng(0).normal(size=5000)


def raises(*rows):
    raise ValueError(f"a row: {rows}")


def ends(*rows):
    os._exit(0)


def warns(*rows):
    warnings.warn(f"a row: {rows}", stacklevel=1)
    return rows[0].max()


def analysed(statistic, h, rows=X):
    return sensitivity_analysis(statistic, h, rows, epsilon=1, gamma=0.1, entropy=ut.SeededEntropy(1))


def apart(a, b):
    return abs(a - b)


@pytest.mark.parametrize("f", [raises, ends, lambda rows: "text", lambda rows: np.nan, lambda rows: rows])
def test_a_statistic_that_fails_is_the_fallback(f):
    assert analysed(f, apart).value == pytest.approx(0, abs=0.1)


def test_a_statistic_may_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert analysed(warns, apart).value == pytest.approx(X.max(), abs=0.1)


@pytest.mark.parametrize("h", [raises, ends, lambda a, b: [1.0], lambda a, b: "text", lambda a, b: a * np.nan])
def test_an_h_that_fails_is_the_largest(h):
    assert abs(analysed(np.mean, h).value) > 1e180


def test_functions_can_not_change_the_rows():
    def greedy(rows, others=None):
        rows[:] = 0
        return rows if others is not None else 0.0

    rows = X.copy()
    analysed(greedy, greedy, rows)
    assert (rows == X).all()


def test_rows_of_several_lengths_are_no_error():
    rows = [[float(x)] for x in X]
    for table in (rows, [*rows[:-1], [1.0, 2.0]]):
        assert analysed(lambda rows: float(rows[0][0]), lambda a, b: np.ones(len(a)), table)


def test_one_row_does_not_decide_what_a_column_of_truth_values_is():
    rows = [True, False] * 50
    for other in (None, "text", 2.5, [], np.nan, 1):
        pair = [binomial_proportion(r, epsilon=1, gamma=0.1, entropy=ut.SeededEntropy(1)).value for r in (
            [*rows[:-1], False], [*rows[:-1], other])]  # fmt: skip
        assert pair[0] == pair[1]
    mixed = np.array([*rows[:-1], None], object)
    assert binomial_proportion(mixed, epsilon=1, gamma=0.1, entropy=ut.SeededEntropy(1)).value == pair[0]


@pytest.mark.parametrize("g", [raises, ends, lambda x: float("nan")])
def test_a_value_that_fails_is_none(g):
    found = A_dist(g, [1] * 9, 1, 1e-6, distance=lambda x: 99, entropy=ut.SeededEntropy(1))
    assert found.value is None


@pytest.mark.parametrize("distance", [raises, ends, lambda x: 123456.5, lambda x: "far"])
def test_a_distance_that_fails_is_none_at_all(distance):
    assert not A_dist(max, [1] * 9, 1, 1e-6, distance=distance, entropy=ut.SeededEntropy(1))


def test_a_row_that_can_not_be_counted_is_a_missing_value():
    rows = ["a"] * 80
    for other in ([], {}, float("nan"), np.zeros(2)):
        assert A_dist("mode", [*rows, other], 1, 1e-6, entropy=ut.SeededEntropy(1)).value == "a"


def test_no_row_decides_the_sign_of_a_stable_zero():
    """-0.0 and 0.0 are one value to the distance. So they must be one to whoever reads the answer."""
    for negative in range(42):
        rows = [-0.0] * negative + [0.0] * (41 - negative)
        assert str(A_dist("median", rows, 1, 1e-6, entropy=ut.SeededEntropy(1)).value) == "0.0"


def test_what_a_statistic_of_groups_returns_is_not_shown():
    def careless(rows, **options):
        return 1234.5 if len(rows) else ut.median(rows, **options)

    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument) as caught:
        ut.per_group(careless, np.ones(50), ["a"] * 50, groups=["a"], epsilon=1, entropy=entropy)
    assert "1234" not in str(caught.value)
