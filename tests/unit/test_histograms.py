"""Histograms, sparse histograms, domains and margins: cells, post-processing, messages."""

import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import uptack as ut
from tests.helpers import CountingEntropy
from uptack.discrete.categories import SkewedLaplace, cell_noise
from uptack.discrete.domains import Domain
from uptack.discrete.histograms import fit_counts, histogram
from uptack.discrete.margin_tables import margins, reconcile
from uptack.discrete.sparse_histograms import posterior_medians, printed_cutoff, sparse_histogram
from uptack.table.memory.table import as_column

HUGE = 10**6  # an ε at which the noise is 0
NAN = float("nan")


def exact(x, **options):
    return histogram(x, epsilon=HUGE, **options).value.counts.tolist()


def test_cells_by_edges_are_numpys():
    x = np.array([-1, 0, 0.5, 1, 1.5, 2, 3, 7, NAN, np.inf])
    edges = [0, 1, 2, 3]
    assert exact(x, edges=edges) == np.histogram(x[:-2], edges)[0].tolist() == [2, 2, 2]
    assert exact(x, edges=edges, outside="clamp") == [3, 2, 5]
    assert exact(np.array([0, 1, 2, 3]), edges=edges) == [1, 1, 2]


def test_cells_by_keys():
    assert exact(["b", "a", "b", "z"], keys=["a", "b", "c"]) == [1, 2, 0]
    assert exact([2, 0, 2, 5, -1], keys=3) == [1, 0, 2]
    mixed = np.array([1, "1", None, NAN, "1"], object)
    assert exact(mixed, keys=[1, "1", None]) == [1, 2, 2]


def test_a_histogram_is_a_mapping_that_json_knows():
    value = histogram(["b", "a", "b"], keys=["a", "b"], epsilon=HUGE).value
    assert dict(value) == {"a": 1, "b": 2}
    assert value["b"] == 2
    assert len(value) == 2
    with pytest.raises(KeyError):
        value["c"]
    with pytest.raises(ValueError, match="read-only"):
        value.counts[0] = 7
    assert json.loads(json.dumps(value.to_dict())) == {"cells": ["a", "b"], "counts": [1, 2]}
    edged = histogram([1.0], edges=[0, 1, 2], epsilon=HUGE).value
    assert edged[(1.0, 2.0)] == 1
    assert json.loads(json.dumps(edged.to_dict()))["cells"] == [[0.0, 1.0], [1.0, 2.0]]


@pytest.mark.parametrize(("adjacency", "scale"), [(ut.SUBSTITUTE, 2), (ut.ADD_REMOVE, 1)])
@pytest.mark.parametrize("rows", [1, 3])
def test_noise_and_intervals(adjacency, scale, rows):
    options = {"keys": 3, "epsilon": 0.5, "adjacency": adjacency, "rows_per_person": rows}
    release = histogram([0] * 500, entropy=ut.SeededEntropy(1), nonnegative=True, **options)
    law = release.noise.law
    assert (law.up, law.down) == (2 * scale * rows, 2 * scale * rows)
    assert release.privacy == ut.Privacy(0.5, 0, adjacency.per_person(rows))
    low, high = release.interval(0.999)
    assert all(a <= truth <= b for a, truth, b in zip(low, (500, 0, 0), high, strict=True))
    assert min(low) == 0


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=6), st.integers(0, 30), st.booleans())
def test_fitted_counts_are_the_nearest(noisy, total, nonnegative):
    noisy = np.array(noisy)
    out = fit_counts(noisy, total, nonnegative)
    assert out.sum() == total
    assert not nonnegative or out.min() >= 0
    error = ((out - noisy) ** 2).sum()
    for i, j in itertools.permutations(range(len(noisy)), 2):  # convex and separable: no single move may help
        moved = out.copy()
        moved[i], moved[j] = moved[i] + 1, moved[j] - 1
        assert (nonnegative and moved[j] < 0) or ((moved - noisy) ** 2).sum() >= error
    assert fit_counts(noisy, None, True).tolist() == np.maximum(noisy, 0).tolist()


columns = st.dictionaries(
    st.text(min_size=1, max_size=3),
    st.integers(1, 40) | st.lists(st.integers() | st.text(max_size=3), min_size=1, max_size=5, unique=True),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(columns, st.data())
def test_cells_round_trip(levels, data):
    domain = Domain(levels)
    cells = data.draw(st.lists(st.integers(0, domain.size - 1), max_size=20))
    assert domain.encode(domain.decode(cells)).tolist() == cells


def test_a_text_keeps_its_last_nul():
    domain = Domain({"c": ["a\0", "a"]})
    assert domain.encode(domain.decode([0, 1])).tolist() == [0, 1]


def test_domains():
    big = Domain({f"c{i}": 2**31 for i in range(2)})
    assert big.size == 2**62
    assert big.encode(big.decode([2**62 - 1, 0])).tolist() == [2**62 - 1, 0]
    sparse = sparse_histogram({"c0": [5] * 300, "c1": [7] * 300}, big, HUGE)
    assert {k: v.tolist() for k, v in sparse.value.columns().items()} == {"c0": [5], "c1": [7]}
    assert json.loads(json.dumps(sparse.value.to_dict()))["columns"] == {"c0": [5], "c1": [7]}


def test_sparse_lookup():
    value = sparse_histogram(np.array([4, 4, 9, -3, 10**9]), 10**6, HUGE, cutoff=1).value
    assert dict(value) == {4: 2, 9: 1}
    assert (value[4], value[5]) == (2, 0)
    with pytest.raises(KeyError):
        value[10**6]
    with pytest.raises(ut.InvalidArgument, match=r"^domain_size must be a Domain"):
        value.columns()


@pytest.mark.parametrize(("size", "epsilon"), [(1, 1), (2, 1), (65_536, 0.1), (2**62, 1), (2**62, 1e-9)])
def test_the_printed_cutoff_is_the_least_integer_above_tau(size, epsilon):
    for adjacency, scale in ((ut.SUBSTITUTE, 2), (ut.ADD_REMOVE, 1)):
        tau = scale / epsilon * math.log(size)
        assert printed_cutoff(size, cell_noise(Fraction(str(epsilon)), adjacency)) == math.floor(tau) + 1


@pytest.mark.parametrize("rule", ["printed", "adaptive"])
def test_huge_domains_are_not_listed(rule):
    keys = np.random.default_rng(1).integers(0, 2**62, 3000).repeat(200)
    value = sparse_histogram(keys, 2**62, 1, rule=rule).value
    assert 2900 < len(value.cells) < 4000
    assert (np.diff(value.cells) > 0).all()


def test_guesses_follow_the_noise_where_the_table_is_full():
    noisy = np.random.default_rng(2).integers(400, 500, 2000)
    guess = posterior_medians(noisy, 5, SkewedLaplace(2, 2), 2000)
    assert np.abs(guess - noisy).mean() < 3
    assert posterior_medians(np.array([], np.int64), 5, SkewedLaplace(2, 2), 2000).size == 0
    assert (posterior_medians(np.full(50, 9), 9, SkewedLaplace(2, 2), 10**6) == 0).all()


def brute_force(noisy, shape):
    """Least squares over all tables, by a matrix with one row for each cell of each margin."""
    cells = list(itertools.product(*map(range, shape)))
    rows, goal = [], []
    for names, array in noisy.items():
        for index in np.ndindex(array.shape):
            rows.append([all(cell[a] == i for a, i in zip(names, index, strict=True)) for cell in cells])
            goal.append(array[index])
    design = np.array(rows, float)
    return design @ np.linalg.lstsq(design, np.array(goal, float), rcond=None)[0]


@pytest.mark.parametrize(
    "which", [[(0,), (1,), (2,)], [(0, 1), (1, 2)], [(0, 1), (1,), (0, 2), (2,)], [(0, 1, 2), (0,)]]
)
def test_consistent_margins_are_the_least_squares(which):
    shape, rng = (2, 3, 2), np.random.default_rng(3)
    noisy = {names: rng.integers(-5, 30, [shape[a] for a in names]) for names in which}
    fit = reconcile(noisy)
    assert np.allclose(np.concatenate([a.ravel() for a in fit.values()]), brute_force(noisy, shape))
    assert all(a.sum() == pytest.approx(77) for a in reconcile(noisy, 77).values())


@pytest.mark.parametrize("through", ["direct", "table", "sparse", "auto"])
def test_margins_without_noise_are_the_margins(through):
    rng = np.random.default_rng(4)
    table = {"a": rng.integers(0, 2, 500), "b": rng.choice(["x", "y", "z"], 500), "c": rng.integers(0, 5, 500)}
    domain = Domain({"a": 2, "b": ["x", "y", "z"], "c": 4})
    inside = table["c"] < 4
    release = margins(table, [("c", "a"), "b"], domain=domain, epsilon=HUGE, through=through)
    assert list(release.value) == [("a", "c"), ("b",)]
    expected = [[int(((table["a"] == a) & (table["c"] == c)).sum()) for c in range(4)] for a in range(2)]
    assert np.allclose(release.value["a", "c"], expected)
    assert np.allclose(release.value["b"], [(inside & (table["b"] == b)).sum() for b in "xyz"])
    assert json.loads(json.dumps(release.value.to_dict()))["b"]
    assert release.privacy == ut.Privacy(HUGE)


def test_margins_know_their_noise_and_their_total():
    table, domain = {"a": [0, 1] * 400, "b": [1, 1] * 400}, Domain({"a": 2, "b": 2})
    direct = margins(table, domain=domain, epsilon=1, through="direct", total=True, entropy=ut.SeededEntropy(1))
    assert direct.noise.law == SkewedLaplace(4, 4)
    low, high = direct.interval(0.999)
    assert (low["a"] <= 400).all()
    assert (high["a"] >= 400).all()
    for through in ("direct", "table", "sparse"):
        value = margins(table, domain=domain, epsilon=1, through=through, total=True).value
        assert all(array.sum() == pytest.approx(800) for array in value.values())


def test_frames_go_in_and_values_survive_pickling():
    for frame in (pd.DataFrame, pl.DataFrame):
        table, domain = frame({"a": [0, 1] * 40, "b": ["x", "y"] * 40}), Domain({"a": 2, "b": ["x", "y"]})
        release = margins(table, 2, domain=domain, epsilon=HUGE)
        assert release.value["a", "b"].tolist() == [[40, 0], [0, 40]]
        assert pickle.loads(pickle.dumps(release)).value["a", "b"].tolist() == [[40, 0], [0, 40]]
        sparse = sparse_histogram(table, domain, HUGE)
        assert pickle.loads(pickle.dumps(sparse)).value.columns()["b"].tolist() == ["x", "y"]
        assert histogram(table["b"], keys=["x", "y"], epsilon=HUGE).value["x"] == 40


def test_auto_takes_the_way_that_errs_least():
    domain = Domain({f"c{i}": 2 for i in range(16)})
    table = {name: np.zeros(20_000, int) for name in domain.columns}
    taken = {(k, e): margins(table, k, domain=domain, epsilon=e).mechanism for k in (1, 3) for e in (0.1, 1)}
    assert taken == {
        (1, 0.1): "margins (direct)",
        (1, 1): "margins (direct)",
        (3, 0.1): "margins (sparse)",
        (3, 1): "margins (table)",
    }


DOMAIN = Domain({"a": 2, "b": ["x", "y"]})
CALLS = {
    "histogram": (histogram, {"x": [1.0, 2.0], "edges": [0, 1, 2], "epsilon": 1}),
    "keys": (histogram, {"x": [1, 2], "keys": 3, "epsilon": 1}),
    "sparse": (sparse_histogram, {"keys": [1, 2], "domain_size": 2**40, "epsilon": 1}),
    "margins": (margins, {"columns": {"a": [0, 1], "b": ["x", "y"]}, "domain": DOMAIN, "epsilon": 1}),
}
SHARED = [("epsilon", e) for e in (0, -1, NAN, "much", True, 1e-16)] + [
    ("adjacency", "substitute"),
    ("rows_per_person", 0),
    ("entropy", 7),
]
WRONG = [(call, *pair) for call in CALLS for pair in SHARED] + [
    ("histogram", "edges", [1]),
    ("histogram", "edges", [2, 1]),
    ("histogram", "edges", [0, NAN]),
    ("histogram", "edges", None),
    ("histogram", "outside", "wrap"),
    ("histogram", "x", np.array(["a"])),
    ("histogram", "x", np.ones((1, 1))),
    ("keys", "edges", [0, 1]),
    ("keys", "keys", []),
    ("keys", "keys", "abc"),
    ("keys", "keys", [1, 1]),
    ("keys", "outside", "clamp"),
    ("keys", "x", np.array(["a"])),
    ("sparse", "domain_size", 0),
    ("sparse", "domain_size", 2**62 + 1),
    ("sparse", "cutoff", 0),
    ("sparse", "cutoff", 1),
    ("sparse", "rule", "magic"),
    ("sparse", "keys", np.array(["a"])),
    ("margins", "which", 3),
    ("margins", "which", 0),
    ("margins", "which", [("a", "z")]),
    ("margins", "which", [("a",), ("a",)]),
    ("margins", "which", []),
    ("margins", "through", "magic"),
    ("margins", "domain", {"a": 2}),
    ("margins", "columns", {"a": [0, 1]}),
    ("margins", "columns", {"a": [0, 1], "b": ["x"]}),
]


@pytest.mark.parametrize(("call", "argument", "value"), WRONG)
def test_bad_input_is_named_before_anything_is_drawn(call, argument, value):
    function, arguments = CALLS[call]
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument, match=f"^{argument}.* must be ") as caught:
        function(**{**arguments, "entropy": entropy, argument: value})
    assert caught.value.name == argument
    assert entropy.taken == 0


def test_totals_need_rows_that_are_public_and_all_counted():
    with pytest.raises(ut.InvalidArgument, match=r"^total must be False"):
        histogram([1], keys=3, epsilon=1, total=True, adjacency=ut.ADD_REMOVE)
    with pytest.raises(ut.InvalidArgument, match=r"^outside must be 'clamp'"):
        histogram([1], edges=[0, 1, 2], epsilon=1, total=True)
    for columns in ({}, {"a": 0}, {"a": "abc"}, {"a": [1, 1]}, {"a": 2**40, "b": 2**40}, "a"):
        with pytest.raises(ut.InvalidArgument, match=r"^columns.* must be "):
            Domain(columns)


@pytest.mark.parametrize(
    ("keys", "rows", "counts"),
    [([1], [1, 1, 1, "a"], [3]), (3, [0, 1, 1, None], [1, 2, 0]), (3, [0, 1, 2, 2.5], [1, 1, 1])],
)
def test_one_row_does_not_change_how_others_are_read(keys, rows, counts):
    """NumPy reads a list with one text as texts, and one with a missing value as floats."""
    found = ut.histogram(rows, keys=keys, epsilon=10**6)
    assert found.value.counts.tolist() == counts


def test_a_column_gives_what_the_rows_give():
    rows = np.array([0, 1, 1, 2, 2, 2, 7])
    for options in ({"keys": 3}, {"edges": [0, 2, 5]}, {"delta": 0.5}):
        first, second = (
            ut.histogram(x, epsilon=10**4, entropy=ut.SeededEntropy(1), **options).value
            for x in (rows, as_column("x", rows))
        )
        assert dict(first) == dict(second)


def test_unlisted_dates_and_numbers_come_in_their_order_and_names_by_their_counts():
    rng = np.random.default_rng(1)
    days = np.datetime64("2024-02-26", "D") + rng.integers(0, 28, 4000).astype("timedelta64[D]")
    weeks = list(ut.histogram(days, every="week", epsilon=1, delta=1e-6).value)
    assert len(weeks) == 4
    assert weeks == sorted(weeks)
    assert list(ut.histogram([3] * 500 + [1] * 300 + [2] * 900, epsilon=1, delta=1e-6).value) == [1, 2, 3]
    assert list(ut.histogram(["a"] * 300 + ["b"] * 900, epsilon=1, delta=1e-6).value) == ["b", "a"]
