"""Canonical first, then counted: no category shows one row's spelling, and no group of one row is shown."""

import datetime as dt
import zoneinfo
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import uptack as ut
from uptack.grouping import as_groups
from uptack.mechanisms.stability import mode_distance, winner
from uptack.table.opening import open_table
from uptack.table.values.kinds import canonical

DAY = dt.datetime(2024, 6, 1, 12, tzinfo=dt.UTC)
PARIS = DAY.astimezone(zoneinfo.ZoneInfo("Europe/Paris"))
SPELLINGS = {
    "decimals": (Decimal("1.0"), Decimal("1.00")),
    "zones": (DAY, PARIS),
    "pandas": (dt.datetime(2024, 1, 1), pd.Timestamp("2024-01-01")),
    "signs": (-0.0, 0.0),
    "types": (1, True),
    "texts": ("a", np.str_("a")),
    "tuples": ((1, "a"), (True, "a")),
    "folds": (dt.datetime(2024, 1, 1, fold=0), dt.datetime(2024, 1, 1, fold=1)),
}


# ------------------------------------------------------------------------------------------------- labels of categories


@pytest.mark.parametrize("name", SPELLINGS)
def test_the_label_of_a_category_is_no_rows_own(name):
    one, other = SPELLINGS[name]
    for rows in ([one] * 600 + [other], [other] + [one] * 600, [one] + [other] * 600):
        for column in (rows, np.fromiter(rows, object, len(rows)), pd.Series(rows, dtype=object)):
            shown = ut.histogram(column, epsilon=1, delta=1e-6, entropy=ut.SeededEntropy(1)).value
            session = ut.open({"x": column}, entropy=ut.SeededEntropy(1))
            listed = session["x"].histogram(epsilon=1, delta=1e-6).value
            assert [repr(cell) for cell in shown] == [repr(cell) for cell in listed] == [repr(canonical(one))]


@pytest.mark.parametrize("name", ["decimals", "zones", "pandas", "signs", "folds", "tuples"])
def test_the_most_frequent_value_is_no_rows_own(name):
    one, other = SPELLINGS[name]
    tops = [winner(rows) for rows in ([one] * 9 + [other], [other] + [one] * 9, [other] * 9 + [one])]
    assert {repr(top) for top in tops} == {f"Winner(value={canonical(one)!r}, votes=10, gap=10)"}


@pytest.mark.parametrize("seed", [36, 299])  # where the block with the other spelling comes last
def test_a_stable_value_shows_no_blocks_own_spelling(seed):
    def made(spelling):
        rows = np.fromiter([Decimal("1.0")] * 679 + [spelling], object, 680)
        options = {"epsilon": 1, "delta": 1e-6, "trusted": True, "entropy": ut.SeededEntropy(seed)}
        return ut.stable_value(lambda block: max(block, key=str), rows, **options)

    assert repr(made(Decimal("1.00"))) == repr(made(Decimal("1.0")))


def test_distances_of_values_that_cannot_be_hashed_are_no_error():
    strange, plain = [1, 1, 1, 1, [], float("nan")], [1, 1, 1, 1, "a", "b"]
    assert mode_distance(strange, ut.ADD_REMOVE) == mode_distance(plain, ut.ADD_REMOVE)


# ------------------------------------------------------------------------------------------------------------- groups


MERGED = {
    "a text and a time": (str(DAY), DAY),
    "none and nat": (None, pd.NaT),
    "two zones": (DAY, PARIS),
    "decimals": (Decimal("2.0"), Decimal("2.00")),
}


@pytest.mark.parametrize("name", MERGED)
def test_no_group_of_one_row_is_shown(name):
    """Keys that were merged after they had been counted moved the counts of all that follow by one."""
    one, other = MERGED[name]
    many, alice = dt.datetime(2025, 1, 1), dt.datetime(2026, 1, 1)
    wards = [one, other, alice, *[many] * 3000]
    session = ut.open({"x": np.arange(len(wards)) * 1.0, "w": np.fromiter(wards, object, len(wards))})
    for _ in range(3):
        made = session["x"].median(epsilon=1, delta=1e-6, by="w").value
        assert list(made) == [many]


def test_keys_that_are_canonically_equal_are_one_group_with_all_rows():
    keys = (DAY, PARIS, Decimal("1.0"), Decimal("1.00"), 1, None, pd.NaT)
    wards = [key for i, key in enumerate(keys) for _ in range(i + 1)]
    places = [float(i) for i in range(len(keys)) for _ in range(i + 1)]
    table = open_table({"x": np.array(places), "w": np.fromiter(wards, object, len(wards))})
    groups = table.groups(["w"])
    assert dict(zip(*groups.sizes(), strict=True)) == {DAY: 3, 1: 12, None: 13}
    rows = groups.part(Decimal("1.000")).column("x")
    assert (rows.count(), rows.integers, rows.finite()) == (12, False, True)
    order = rows.drop().floats().order([(1, 12)])
    assert order.at(np.arange(0, 14)).tolist() == [-np.inf, *[2.0] * 3, *[3.0] * 4, *[4.0] * 5, np.inf]
    assert rows.sum(lambda x: [x.size, x.sum()]) == [12, 38.0]
    assert groups.part("nowhere").column("x").count() == 0


def test_tables_in_memory_merge_before_they_count():
    wards = np.fromiter([DAY, PARIS, Decimal("1.0"), 1, True, None, pd.NaT, float("nan"), "x"], object, 9)
    table = open_table({"w": wards, "x": np.arange(9.0)})
    counted = table.counts([table.column("w")])
    assert list(zip(counted.keys, counted.units.tolist(), strict=True)) == [
        ((1,), 3),
        ((DAY,), 2),
        (("x",), 1),
        ((None,), 3),
    ]
    for (key,), count in zip(counted.keys, counted.units, strict=True):
        assert table.groups(["w"]).part(key).column("x").count() == count
    assert table.groups(["w"]).part(Decimal("1.000")).column("x").count() == 3


def test_public_groups_are_found_whatever_they_are_spelled():
    wards = np.array([1.0, 2.0, 2.0])
    for two in (2, 2.0, Decimal(2), np.float32(2)):
        data = as_groups(np.arange(3), wards)
        assert data.of(data.groups.part(two))[0].tolist() == [1, 2]
    flags = as_groups(np.arange(3), np.array([True, False, True]))
    assert flags.groups.sizes()[0] == [False, True]
    assert [type(label) for label in flags.groups.sizes()[0]] == [bool, bool]
    with pytest.raises(ut.InvalidArgument, match=r"^groups must be"):
        ut.median([1, 2], by=[1, 2], groups=[1, Decimal("1.0")], epsilon=1)


def test_rows_that_cannot_be_hashed_are_outside_all_cells():
    hostile = [([],), [], {}, {1: []}, "a", "b"]
    made = ut.histogram(hostile, keys=["a", "b"], epsilon=10**6).value
    assert dict(made) == {"a": 1, "b": 1}
    domain = ut.Domain({"x": ["a", "b"], "y": 2})
    for rows in (hostile, np.fromiter(hostile, object, 6), pd.Series(hostile)):
        table = {"x": rows, "y": [0, 1, ([],), None, 1, 0]}
        assert ut.margins(table, domain=domain, epsilon=10**6, through="direct").value["x"].sum() == 2


def test_categories_keep_integers_beyond_floats_apart():
    keys = [2**62, 2**62 + 1, 2**64 + 1]
    assert list(ut.histogram([*keys, None], keys=keys, epsilon=10**6).value.counts) == [1, 1, 1]
    data = as_groups(np.arange(2), np.array([2**64 - 1, 2**64 - 2], np.uint64))
    assert data.of(data.groups.part(2**64 - 2))[0].tolist() == [1]
    shown = dict(ut.sparse_histogram([2**61 + 1] * 99, 2**62, 5, entropy=ut.SeededEntropy(1)).value)
    assert 2**61 + 1 in shown
    assert 2**61 not in shown  # which a float would have made of it
