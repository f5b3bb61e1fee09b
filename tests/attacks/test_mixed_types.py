"""A row of another type changes nothing but the value: not how other rows are read, not what comes back, not an error.

Rows that are read alike (all missing, or all the number 1) must give the very same result under the same randomness.
"""

import datetime as dt
import itertools
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import uptack as ut
from uptack import papers, random_dp
from uptack.discrete.domains import Domain
from uptack.kernels.machine_release import kernel_machine

N = 4000
RNG = np.random.default_rng(5)
REALS = RNG.normal(10, 3, N).round(2).tolist()
WHOLE = RNG.integers(0, 4, N).tolist()
OTHER = RNG.normal(size=N)
MISSING = [None, float("nan"), "x", pd.NaT, pd.NA, Decimal("NaN"), dt.datetime(2024, 1, 1), (1,), [], b"1", object()]
ONES = [1, 1.0, True, Decimal("1.00"), np.float32(1), np.int8(1), Fraction(1)]
NOT_TRUE = [None, float("nan"), "x", 1, 1.0, False, [], np.int64(1)]
CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "object array": lambda rows: np.fromiter(rows, object, len(rows)),
    "object series": lambda rows: pd.Series(rows, dtype=object),
    "polars objects": lambda rows: pl.Series(rows, dtype=pl.Object),
}


def seed():
    return ut.SeededEntropy(3)


def drop():
    return {"missing": "drop", "entropy": seed()}


NUMERIC = {
    "median": lambda x: ut.median(x, epsilon=1, **drop()),
    "median, low": lambda x: ut.median(x, epsilon=1, missing="low", entropy=seed()),
    "median, ptr": lambda x: ut.median(x, epsilon=1, delta=1e-6, method="ptr", **drop()),
    "quantile": lambda x: ut.quantile(x, [0.25, 0.75], epsilon=4, **drop()),
    "iqr": lambda x: ut.iqr(x, epsilon=2, **drop()),
    "interquantile_range": lambda x: ut.interquantile_range(x, 0.2, 0.7, epsilon=2, **drop()),
    "trimmed_mean": lambda x: ut.trimmed_mean(x, epsilon=2, **drop()),
    "winsorized_mean": lambda x: ut.winsorized_mean(x, epsilon=2, **drop()),
    "mean": lambda x: ut.mean(x, epsilon=2, **drop()),
    "median, by": lambda x: ut.median(x, by=WHOLE, groups=[0, 1], epsilon=4, missing="high", entropy=seed()),
    "per_group": lambda x: ut.per_group(ut.median, x, WHOLE, groups=[0, 1], epsilon=4, missing="high", entropy=seed()),
    "histogram, edges": lambda x: ut.histogram(x, edges=[0, 5, 15], epsilon=1, entropy=seed()),
    "kde": lambda x: ut.kde(x, epsilon=1, delta=1e-6, bandwidth=1.0, **drop()).value.at([5.0, 10.0]),
    "kde, two columns": lambda x: ut.kde(frame(x), epsilon=1, delta=1e-6, bandwidth=1.0, **drop()).value.at(
        [[10.0, 0.0]]
    ),
    "fourier": lambda x: ut.fourier_density(x, 1, low=0, high=20, **drop()).value.at([5.0, 10.0]),
    "shortcut_regression": lambda x: ut.shortcut_regression(
        x, OTHER, epsilon=4, blocks=200, missing="drop", progress=False, entropy=seed()
    ),
    "shortcut_regression, y": lambda x: ut.shortcut_regression(
        OTHER, x, epsilon=4, blocks=200, missing="drop", progress=False, entropy=seed()
    ),
    "hampel_regression": lambda x: ut.hampel_regression(
        x, OTHER, epsilon=4, delta=1e-6, missing="drop", entropy=seed()
    ),
    "prediction_interval": lambda x: random_dp.prediction_interval(x, 0.1),
    "session": lambda x: ut.open({"x": x}, entropy=seed())["x"].median(epsilon=1),
    "session, regression": lambda x: ut.open({"x": x, "y": OTHER}, entropy=seed()).regression("y", "x", epsilon=4),
    "session, density": lambda x: ut.open({"x": x}, entropy=seed())["x"].fourier_density(epsilon=1, low=0, high=20),
    "session, edges": lambda x: ut.open({"x": x}, entropy=seed())["x"].histogram(epsilon=1, edges=[0, 5, 15]),
    "session, by": lambda x: ut.open({"x": x, "w": WHOLE}, missing="high", entropy=seed())["x"].median(
        epsilon=4, by="w", groups=[0, 1]
    ),
    "describe": lambda x: ut.open({"x": x}, entropy=seed()).describe(),
    "Scale": lambda x: papers.Scale(x, 1, 1e-6, entropy=seed()),
}
COUNTED = {
    "histogram": lambda x: ut.histogram(x, epsilon=1, delta=1e-6, entropy=seed()),
    "histogram, keys": lambda x: ut.histogram(x, keys=[0, 1, None], epsilon=1, entropy=seed()),
    "histogram, number of keys": lambda x: ut.histogram(x, keys=4, epsilon=1, entropy=seed()),
    "sparse_histogram": lambda x: dict(ut.sparse_histogram(x, 2**62, 1, entropy=seed()).value),
    "margins": lambda x: ut.margins({"a": x}, domain=Domain({"a": [0, 1, 2, 3]}), epsilon=1, entropy=seed()).value["a"],
    "by": lambda x: ut.median(OTHER, by=x, epsilon=8, delta=1e-6, entropy=seed()),
    "session": lambda x: ut.open({"x": x}, entropy=seed())["x"].histogram(epsilon=1, delta=1e-6),
    "session, by": lambda x: ut.open({"x": x, "y": OTHER}, entropy=seed())["y"].median(epsilon=8, delta=1e-6, by="x"),
}
FLAGS = {
    "count": lambda x: ut.count(x, epsilon=1, entropy=seed()),
    "count, add/remove": lambda x: ut.count(x, epsilon=1, adjacency=ut.ADD_REMOVE, entropy=seed()),
    "proportion": lambda x: random_dp.binomial_proportion(x, epsilon=1, gamma=0.1, entropy=seed()),
    "session": lambda x: ut.open({"x": x}, entropy=seed())["x"].count(epsilon=1),
}


def frame(x):
    return pd.DataFrame({"x": pd.Series(x if isinstance(x, pd.Series) else list(x), dtype=object), "y": OTHER})


def seen(call, rows):
    """All that an observer sees, with warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = call(rows)
    return type(made), repr(made), getattr(made, "privacy", None), getattr(made, "notes", None)


def differing(call, rows, wrap, hostile):
    answers = {}
    for value in hostile:
        changed = list(rows)
        changed[7] = value
        answers.setdefault(seen(call, wrap(changed)), []).append(value)
    return list(answers.values())


@pytest.mark.parametrize("name", NUMERIC)
def test_whatever_is_no_number_is_missing(name):
    """In lists and in objects of pandas: all containers are read alike (below)."""
    wraps = ("list", "object series")[:: 1 if list(NUMERIC).index(name) % 2 else -1]
    for hostile, wrap in zip((MISSING, ONES), wraps, strict=True):
        assert len(differing(NUMERIC[name], REALS, CONTAINERS[wrap], hostile)) == 1


@pytest.mark.parametrize("wrap", CONTAINERS)
def test_containers_without_a_type_are_read_alike(wrap):
    for call, hostile in ((NUMERIC["median"], MISSING), (NUMERIC["histogram, edges"], ONES)):
        assert len(differing(call, REALS, CONTAINERS[wrap], hostile)) == 1
    plain = seen(COUNTED["histogram"], WHOLE)
    assert seen(COUNTED["histogram"], CONTAINERS[wrap](WHOLE)) == plain


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("wrap", ["list", "object array"])
def test_a_category_does_not_follow_its_spelling(name, wrap):
    assert len(differing(COUNTED[name], WHOLE, CONTAINERS[wrap], ONES)) == 1
    gone = [None, float("nan"), pd.NaT, pd.NA, Decimal("NaN"), np.datetime64("NaT")]
    assert len(differing(COUNTED[name], WHOLE, CONTAINERS[wrap], gone)) == 1


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("wrap", CONTAINERS)
def test_only_true_is_counted(name, wrap):
    rows = (np.arange(1001) % 100 == 0).tolist()
    groups = differing(FLAGS[name], rows, CONTAINERS[wrap], NOT_TRUE)
    assert len(groups) == 1
    assert seen(FLAGS[name], CONTAINERS[wrap](rows)) == seen(FLAGS[name], np.array(rows)) or "session" in name


def test_one_none_in_a_boolean_column_of_pandas_does_not_count_rows():
    flags = pd.Series([True] * 10 + [False] * 990)
    holes = pd.Series([True] * 10 + [None] + [False] * 990)
    assert holes.dtype == object
    made = [ut.count(x, epsilon=50, adjacency=ut.ADD_REMOVE).value for x in (flags, holes)]
    assert made == [10, 10]


def test_kernel_machines_read_numbers_of_all_spellings_alike():
    def made(x):
        return kernel_machine(
            x, np.where(OTHER > 0, 1, -1), epsilon=1, delta=1e-6, frequencies=4, entropy=seed()
        ).value.coefficients

    assert len(differing(made, REALS, list, ONES)) == 1


def test_a_list_of_rows_is_one_column_whatever_their_lengths():
    rows = np.column_stack([REALS, OTHER]).tolist()
    shape = [*rows[:5], [1.0], *rows[6:]]
    none = [*rows[:5], [None, None], *rows[6:]]
    asked = {"epsilon": 1, "delta": 1e-6, "bandwidth": 1}
    made = [seen(lambda x: ut.kde(x, **asked, **drop()), x) for x in (rows, shape, none)]
    assert made[0] == made[1] == made[2]


HOSTILE = [None, "x", [], 10**400, float("inf"), Decimal("1e999999"), object()]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda v: type(v).__name__)
def test_no_row_raises_or_warns_anywhere(value):
    """Every function gets every value, by turns in a list and in an array."""
    rows, calls = [value, *REALS[1:]], (*NUMERIC.values(), *COUNTED.values(), *FLAGS.values())
    for call, listed in zip(calls, itertools.cycle((True, False, False, True)), strict=False):
        seen(call, rows if listed == bool(HOSTILE.index(value) % 2) else np.fromiter(rows, object, N))
