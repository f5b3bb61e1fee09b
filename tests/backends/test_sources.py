"""One battery for every place that rows may be kept in: the same answers, to the last bit."""

from collections import Counter
from datetime import date, timedelta

import numpy as np
import pytest

import uptack
from tests.backends.tables import ROWS, TEXTS, floats, keys
from uptack import SeededEntropy
from uptack.columns.numeric import ArrayColumn, Column
from uptack.columns.selection import exact_sum
from uptack.data import Source, held, ordering, source
from uptack.errors import InvalidArgument
from uptack.table.values.kinds import LARGEST

WINDOWS = [(-3, 4), (140, 160), (290, 310), (305, 320), (450, 450), (ROWS - 1, ROWS + 5)]
RANKS = np.concatenate([np.arange(a, b + 1) for a, b in WINDOWS])


def filled(values: np.ndarray, missing: float) -> np.ndarray:
    return np.nan_to_num(values, nan=missing, posinf=LARGEST, neginf=-LARGEST)


def ranked(values: np.ndarray) -> np.ndarray:
    """x(r) for the ranks of the test, from a full sort."""
    padded = np.concatenate([[-np.inf], np.sort(values), [np.inf]])
    return padded[np.clip(RANKS, 0, values.size + 1)]


@pytest.fixture
def few(monkeypatch):
    """Samples and fetches so small that a table of 600 rows needs several, which is not read into memory either."""
    monkeypatch.setattr(held, "COLUMN", 0)
    monkeypatch.setattr(ordering, "SMALL", 100)
    monkeypatch.setattr(ordering, "FETCHED", 150)


def test_names_and_types(kept):
    assert isinstance(kept.source, Source)
    assert dict(kept.source.columns) == kept.kinds
    assert kept.source.rows == ROWS


def test_numeric_columns_are_columns(kept):
    for name in kept.numbers:
        column = kept.source.column(name)
        assert isinstance(column, Column)
        assert column.size == ROWS
        assert column.integers == (kept.kinds[name] != "number"), name
        assert not column.floats().integers


def test_finite(kept):
    for name in ("real", "gaps in it", "visits", "select"):
        assert kept.source.column(name).finite() == bool(np.isfinite(floats(kept.table[name])).all()), name


def test_order_statistics_of_every_column(kept):
    for name in kept.numbers:
        expected = ranked(filled(floats(kept.table[name]), -7.25))
        found = kept.source.column(name).filled(-7.25).ordered(WINDOWS).at(RANKS)
        np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize("name", ["real", "visits", "select", "one; value"])
def test_order_statistics_without_fetching_much(kept, few, name):
    windows, ranks = [(1, 4), (295, 305), (450, 450)], np.array([1, 4, 295, 299, 305, 450])
    values = filled(floats(kept.table[name]), LARGEST)
    ours, whole = kept.source.column(name).filled(LARGEST).ordered(windows), ArrayColumn(values).ordered(windows)
    np.testing.assert_array_equal(ours.at(ranks), whole.at(ranks))
    for first, last in ((2, 450), (296, 297)):
        assert ours.total(first, last) == whole.total(first, last)


def test_rows_without_a_value_come_last(kept):
    values = floats(kept.table["gaps in it"])
    found = kept.source.column("gaps in it").ordered(WINDOWS).at(RANKS)
    np.testing.assert_array_equal(found, ranked(values))


def test_rows_that_have_a_value(kept):
    for name in ("gaps in it", "visits"):
        values = floats(kept.table[name])
        present = kept.source.column(name).present()
        assert present.size == np.count_nonzero(~np.isnan(values))
        assert present.integers == (kept.kinds[name] != "number")
        expected = np.sort(filled(values[~np.isnan(values)], 0.0))
        np.testing.assert_array_equal(present.ordered([(1, 9)]).at(np.arange(1, 10)), expected[:9])


def test_sums(kept):
    def describe(rows):
        known = rows[np.isfinite(rows)]
        return [rows.size, int(np.isnan(rows).sum()), np.array([known.size, np.isinf(rows).sum()]), exact_sum(known)]

    for name in ("real", "gaps in it"):
        values = floats(kept.table[name])
        for found, expected in zip(kept.source.column(name).sums(describe), describe(values), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_counts(kept):
    for names in (["text"], ["select", "text"], ["visits", "text", "select"], ["day"]):
        if kept.kinds["visits"] == "number" and "visits" in names:
            continue  # read as a float, one of its values is another number
        expected = Counter(zip(*(keys(kept.table[name]) for name in names), strict=True))
        found, counts = kept.source.counts(names)
        assert dict(zip(found, counts.tolist(), strict=True)) == expected
        assert all(type(part) in (int, float, str, type(None)) for key in found for part in key) or names == ["day"]
    assert kept.source.counts(["text"])[0][-1] == (None,)


def test_counts_of_floats(kept):
    for name in ("real", "gaps in it"):
        assert kept.source.categories(name) == Counter(keys(kept.table[name]))


def test_matrix(kept):
    names = ["gaps in it", "visits", "select", "whole"]
    found = kept.source.matrix(names)
    assert found.shape == (ROWS, 4)
    order, expected = np.lexsort(found.T), np.column_stack([floats(kept.table[name]) for name in names])
    np.testing.assert_array_equal(found[order], expected[np.lexsort(expected.T)])


def test_blocks_of_owners(kept):
    blocks, found = kept.source.blocks(["row", "select"], 5, id="text", entropy=SeededEntropy(1))
    owner = dict(zip(floats(kept.table["row"]), keys(kept.table["text"]), strict=True))
    pairs = {(owner[row], block) for row, block in zip(found[:, 0], blocks, strict=True)}
    assert len(pairs) == len(TEXTS)
    assert 1 < len(set(blocks)) <= 5


def test_blocks_of_rows_do_not_look_at_the_rows(kept):
    blocks = kept.source.blocks(["row"], 4, entropy=SeededEntropy(1))[0]
    np.testing.assert_array_equal(blocks, kept.source.blocks(["real"], 4, entropy=SeededEntropy(1))[0])
    assert set(blocks) == {0, 1, 2, 3}


def test_restricted(kept):
    for name in ("text", "visits", "select", 'a "flag"', "real", "day"):
        if name not in kept.kinds or (name, kept.kinds[name]) == ("visits", "number"):
            continue
        occurring = dict.fromkeys(keys(kept.table[name]))
        for value in list(occurring)[: len(TEXTS) if name == "text" else 3]:
            rows = [i for i, other in enumerate(keys(kept.table[name])) if other == value]
            part = kept.source.restricted(name, value)
            assert part.rows == len(rows), (name, value)
    part, rows = kept.source.restricted("text", None), kept.table.filter(kept.table["text"].is_null())
    np.testing.assert_array_equal(
        part.column("select").ordered([(1, part.rows)]).at(np.arange(1, part.rows + 1)), np.sort(floats(rows["select"]))
    )


def test_an_empty_table(kept):
    empty = kept.put(kept.table.slice(0, 0))
    assert empty.rows == 0
    if "real" not in empty.columns or empty.columns["real"] != "number":
        return  # a CSV file without rows does not tell its types
    column = empty.column("real")
    assert column.finite()
    assert column.filled(0.0).ordered([(-1, 2)]).at(np.arange(-1, 3)).tolist() == [-np.inf, -np.inf, np.inf, np.inf]
    assert column.sums(lambda rows: [rows.size, float(rows.sum())]) == [0, 0.0]
    assert empty.matrix(["real", "visits"]).shape == (0, 2)
    assert empty.counts(["text", "visits"])[0] == []
    assert empty.blocks(["real"], 3, entropy=SeededEntropy(1))[0].size == 0


def test_misuse_is_found_before_rows_are_read(kept):
    for misuse, word in (
        (lambda: kept.source.column("wholly"), "Did you mean 'whole'"),
        (lambda: kept.source.column("text"), "'text' of type text"),
        (lambda: kept.source.matrix(["real", "text"]), "'text' of type"),
        (lambda: kept.source.matrix("real"), "a list of one or more columns"),
        (lambda: kept.source.counts(["texts"]), "Did you mean 'text'"),
        (lambda: kept.source.blocks(["real"], 0), "count must be"),
        (lambda: kept.source.blocks(["real"], 2, id="who"), "column must be"),
        (lambda: kept.source.restricted("select", "1"), "value must be of type integer"),
        (lambda: kept.source.restricted("text", 1), "value must be of type text"),
    ):
        with pytest.raises(InvalidArgument, match=word):
            misuse()


def test_a_source_is_a_source(kept):
    assert source(kept.source) is kept.source


@pytest.mark.parametrize("name", ["gaps in it", "visits"])
def test_releases_are_those_of_an_array(kept, name):
    values = floats(kept.table[name])
    integers = kept.kinds[name] == "integer"
    for release in (
        lambda x: uptack.median(x, epsilon=2, missing="low", entropy=SeededEntropy(5)),
        lambda x: uptack.trimmed_mean(x, epsilon=2, missing=0, entropy=SeededEntropy(5)),
        lambda x: uptack.quantile(x, [0.4, 0.6], epsilon=2, missing="high", entropy=SeededEntropy(5)),
    ):
        ours, expected = release(kept.source.column(name)), release(ArrayColumn(values, integers))
        assert bool(expected)
        np.testing.assert_array_equal(ours.value, expected.value)


def test_times_are_the_same_ticks_everywhere(kept):
    if kept.kinds["day"] != "time":
        pytest.skip("days are objects here")
    days = [day for day in kept.table["day"].to_pylist() if day is not None]
    column = kept.source.column("day").present()
    found = column.ticks.ordered([(1, column.size)]).at(np.arange(1, column.size + 1))
    assert found.tolist() == sorted((day - date(1970, 1, 1)) / timedelta(microseconds=1) for day in days)
    assert column.form.show(found[0]) == min(days)
