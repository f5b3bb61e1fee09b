"""One battery for every place that rows may be kept in: the same answers, to the last bit."""

from collections import Counter
from datetime import date, timedelta

import numpy as np
import pytest

import uptack
from tests.answers import categories, in_order, matrix, part, part_size
from tests.backends.tables import ROWS, TEXTS, floats, keys
from uptack import SeededEntropy
from uptack.errors import InvalidArgument
from uptack.table import search
from uptack.table.engine import table as engine_table
from uptack.table.exact_sum import exact_sum
from uptack.table.memory.table import MemoryTable
from uptack.table.opening import open_table
from uptack.table.unit import ROW
from uptack.table.values import entrance
from uptack.table.values.kinds import LARGEST

WINDOWS = [(-3, 4), (140, 160), (290, 310), (305, 320), (450, 450), (ROWS - 1, ROWS + 5)]
RANKS = np.concatenate([np.arange(a, b + 1) for a, b in WINDOWS])


def filled(values: np.ndarray, missing: float) -> np.ndarray:
    return np.nan_to_num(values, nan=missing, posinf=LARGEST, neginf=-LARGEST)


def ranked(values: np.ndarray) -> np.ndarray:
    """x(r) for the ranks of the test, from a full sort."""
    padded = np.concatenate([[-np.inf], np.sort(values), [np.inf]])
    return padded[np.clip(RANKS, 0, values.size + 1)]


def of_array(values: np.ndarray):
    """A column of an array."""
    return MemoryTable.of({"x": entrance.of_numpy(values)}).column("x")


@pytest.fixture
def few(monkeypatch):
    """Samples and fetches so small that a table of 600 rows needs several, which is not read into memory either."""
    monkeypatch.setattr(engine_table, "COLUMN", 0)
    monkeypatch.setattr(search, "SMALL", 100)
    monkeypatch.setattr(search, "FETCHED", 150)


def test_names_and_types(kept):
    assert dict(kept.table.kinds) == kept.kinds
    assert kept.table.size == ROWS
    assert kept.table.unit == ROW
    assert open_table(kept.table) is kept.table
    for name in kept.numbers:
        column = kept.table.column(name)
        assert column.count() == ROWS
        assert column.integers == (kept.kinds[name] != "number"), name
        assert not column.floats().integers


def test_finite(kept):
    for name in ("real", "gaps in it", "visits", "select"):
        assert kept.table.column(name).finite() == bool(np.isfinite(floats(kept.rows[name])).all()), name


def test_order_statistics_of_every_column(kept):
    for name in kept.numbers:
        expected = ranked(filled(floats(kept.rows[name]), -7.25))
        found = kept.table.column(name).filled(-7.25).order(WINDOWS).at(RANKS)
        np.testing.assert_array_equal(found, expected, err_msg=name)
    found = kept.table.column("gaps in it").order(WINDOWS).at(RANKS)  # rows without a value come last
    np.testing.assert_array_equal(found, ranked(floats(kept.rows["gaps in it"])))


@pytest.mark.parametrize("name", ["real", "visits", "one; value"])
def test_order_statistics_without_fetching_much(kept, few, name):
    windows, ranks = [(1, 4), (295, 305), (450, 450)], np.array([1, 4, 295, 299, 305, 450])
    values = filled(floats(kept.rows[name]), LARGEST)
    ours, whole = kept.table.column(name).filled(LARGEST).order(windows), of_array(values).order(windows)
    np.testing.assert_array_equal(ours.at(ranks), whole.at(ranks))
    for first, last in ((2, 450), (296, 297)):
        assert ours.total(first, last) == whole.total(first, last)


def test_rows_that_have_a_value(kept):
    for name in ("gaps in it", "visits"):
        values = floats(kept.rows[name])
        present = kept.table.column(name).drop()
        assert present.count() == np.count_nonzero(~np.isnan(values))
        assert present.integers == (kept.kinds[name] != "number")
        expected = np.sort(filled(values[~np.isnan(values)], 0.0))
        np.testing.assert_array_equal(present.order([(1, 9)]).at(np.arange(1, 10)), expected[:9])


def describe(rows):
    """An additive function that pickles."""
    known = rows[np.isfinite(rows)]
    return [rows.size, int(np.isnan(rows).sum()), np.array([known.size, np.isinf(rows).sum()]), exact_sum(known)]


def test_sums(kept):
    for name in ("real", "gaps in it"):
        values = floats(kept.rows[name])
        for found, expected in zip(kept.table.column(name).sum(describe), describe(values), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_counts(kept):
    for names in (["text"], ["select", "text"], ["visits", "text", "select"], ["day"], ["real"], ["gaps in it"]):
        if kept.kinds["visits"] == "number" and "visits" in names:
            continue  # read as a float, one of its values is another number
        expected = Counter(zip(*(keys(kept.rows[name]) for name in names), strict=True))
        counted = kept.table.counts([kept.table.column(name) for name in names])
        assert dict(zip(counted.keys, counted.units.tolist(), strict=True)) == expected
        plain = all(type(part) in (int, float, str, type(None)) for key in counted.keys for part in key)
        assert plain or names == ["day"]
    assert list(categories(kept.table, "text"))[-1] is None


def test_rows_side_by_side(kept):
    names = ["gaps in it", "visits", "select", "whole"]
    found = matrix(kept.table, *names)
    assert found.shape == (ROWS, 4)
    order, expected = np.lexsort(found.T), np.column_stack([floats(kept.rows[name]) for name in names])
    np.testing.assert_array_equal(found[order], expected[np.lexsort(expected.T)])


def test_groups_have_the_rows_of_their_value(kept):
    for name in ("text", "visits", "select", 'a "flag"', "real", "day"):
        if name not in kept.kinds or (name, kept.kinds[name]) == ("visits", "number"):
            continue
        occurring = Counter(keys(kept.rows[name]))
        groups, sizes = kept.table.groups([name]).sizes()
        assert dict(zip(groups, sizes.tolist(), strict=True)) == occurring
        for value in list(occurring)[: len(TEXTS) if name == "text" else 3]:
            assert part_size(kept.table, name, value) == occurring[value], (name, value)
    some, rows = part(kept.table, "text", None), kept.rows.filter(kept.rows["text"].is_null())
    np.testing.assert_array_equal(in_order(some.column("select")), np.sort(floats(rows["select"])))


def count_and_add(rows):
    """An additive function that pickles."""
    return [rows.size, float(rows.sum())]


def test_an_empty_table(kept):
    empty = kept.put(kept.rows.slice(0, 0))
    assert empty.size == 0
    if empty.kinds.get("real") != "number":
        return  # a CSV file without rows does not tell its types
    column = empty.column("real")
    assert column.finite()
    assert column.filled(0.0).order([(-1, 2)]).at(np.arange(-1, 3)).tolist() == [-np.inf, -np.inf, np.inf, np.inf]
    assert column.sum(count_and_add) == [0, 0.0]
    assert matrix(empty, "real", "visits").shape == (0, 2)
    assert categories(empty, "text", "visits") == {}
    assert empty.groups(["text"]).sizes()[0] == []
    assert part_size(empty, "text", "select") == 0


def test_misuse_is_found_before_rows_are_read(kept):
    session = uptack.open(kept.table)
    for misuse, word in (
        (lambda: kept.table.column("wholly"), "Did you mean 'whole'"),
        (lambda: session["wholly"], "Did you mean 'whole'"),
        (lambda: session["text"].median(epsilon=1), "^column 'text' must be of type"),
        (lambda: session.scatter("real", "text", epsilon=1), "^column 'text' must be of type"),
        (lambda: session["real"].median(epsilon=1, by="texts", groups=["a"]), "Did you mean 'text'"),
        (lambda: session.where(select="1"), "must be a finite number"),
        (lambda: session.where(text=1), "must be a text"),
    ):
        with pytest.raises(InvalidArgument, match=word):
            misuse()


@pytest.mark.parametrize("name", ["gaps in it", "visits"])
def test_releases_are_those_of_an_array(kept, name):
    values = floats(kept.rows[name])
    for release in (
        lambda x: uptack.median(x, epsilon=2, missing="low", entropy=SeededEntropy(5)),
        lambda x: uptack.trimmed_mean(x, epsilon=2, missing=0, entropy=SeededEntropy(5)),
        lambda x: uptack.quantile(x, [0.4, 0.6], epsilon=2, missing="high", entropy=SeededEntropy(5)),
    ):
        ours = kept.table.column(name).floats()
        made, expected = release(ours), release(of_array(values))
        assert bool(expected)
        np.testing.assert_array_equal(made.value, expected.value)


def test_times_are_the_same_ticks_everywhere(kept):
    if kept.kinds["day"] != "time":
        pytest.skip("days are objects here")
    days = [day for day in kept.rows["day"].to_pylist() if day is not None]
    column = kept.table.column("day").drop()
    found = in_order(column)
    assert found.tolist() == sorted((day - date(1970, 1, 1)) / timedelta(microseconds=1) for day in days)
    assert column.form.show(found[0]) == min(days)
