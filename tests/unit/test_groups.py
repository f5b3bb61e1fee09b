"""Unknown categories and statistics per group: how values are read, what is shown, who gets which budget."""

import datetime as dt
import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import uptack as ut
from tests.helpers import CountingEntropy, assert_fits
from uptack.account import AssumptionFailed
from uptack.discrete.categories import Capped, Screen
from uptack.discrete.histograms import count, histogram
from uptack.grouping import DEPENDENT, as_groups, per_group
from uptack.noise import IntegerLaplace
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy, cost, loss
from uptack.release import Advice, NoReply, Release
from uptack.table.memory.counts import MemoryGroups
from uptack.table.opening import open_table
from uptack.table.reads import GroupedData
from uptack.table.values.entrance import field

NAN = float("nan")
HUGE = 10**6  # an ε at which the noise is 0

# ------------------------------------------------------------------------------------------------- how values are read


def numbered(name, column):
    """The categories of a column, and the number of each row's."""
    return field(name, column, "a one-dimensional column of categories").codes()


@pytest.mark.parametrize(
    "column",
    [
        [3, None, 1, 3],
        np.array([3, None, 1, 3], object),
        np.array([3.0, NAN, 1.0, 3.0]),
        np.array([3.0, NAN, 1.0, 3.0], np.float32),
        pd.Series([3, None, 1, 3]),
        pd.Series([3, None, 1, 3], dtype="Int64"),
        pd.Series([3, None, 1, 3], dtype="category"),
        pl.Series([3, None, 1, 3]),
        pa.array([3, None, 1, 3]),
        pa.chunked_array([[3, None], [1, 3]]),
        (3.0, pd.NA, True, np.int8(3)),
    ],
    ids=lambda c: type(c).__module__ + "." + type(c).__name__,
)
def test_columns_of_all_kinds_are_read_alike(column):
    cells, place = numbered("x", column)
    assert cells == [1, 3, None]
    assert place.tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize(
    "column",
    [
        ["b", "a", None, "b"],
        np.array(["b", "a", "b"]),
        pd.Series(["b", "a", None, "b"], dtype="string"),
        pd.Series(["b", "a", NAN, "b"], dtype="category"),
        pl.Series(["b", "a", None, "b"], dtype=pl.Categorical),
        pa.array(["b", "a", None, "b"]).dictionary_encode(),
    ],
    ids=lambda c: type(c).__module__ + "." + type(c).__name__,
)
def test_texts_of_all_kinds_are_read_alike(column):
    cells, place = numbered("x", column)
    assert [cells[i] for i in place] == (["b", "a", "b"] if len(place) == 3 else ["b", "a", None, "b"])
    assert all(type(cell) in (str, type(None)) for cell in cells)


def test_other_types():
    day = dt.date(2024, 2, 29)
    assert numbered("x", np.array(["2024-02-29", "NaT"], "M8[D]"))[0] == [day, None]
    assert numbered("x", np.array(["2024-02-29", "NaT"], "M8[s]"))[0] == [dt.datetime(2024, 2, 29), None]
    assert numbered("x", [day, dt.date(2023, 10, 1), day])[0] == [dt.date(2023, 10, 1), day]
    assert numbered("x", [(1, "a"), (True, "a"), (2, None)])[0] == [(1, "a"), (2, None)]
    assert numbered("x", np.array([True, False, True]))[0] == [False, True]
    assert numbered("x", [[1, 2], Decimal("1.50"), {}])[0] == [1.5, "{}", (1, 2)]  # also what can't be hashed
    assert numbered("x", [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)])[0] == [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]
    assert numbered("x", [0.5, 10, 2, "b", "a", None])[0] == [0.5, 2, 10, "a", "b", None]
    assert numbered("x", [])[0] == []


values = st.sampled_from([0, 0.0, -0.0, False, 1, 1.0, True, "1", "", None, NAN, 2.5, b"1", (1,), (1.0,), (True,)])


@settings(max_examples=200, deadline=None)
@given(st.lists(values, max_size=8), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_another_row_changes_how_a_row_is_read(rows, random):
    """Else the first of several equal values, or a single text among numbers, would show."""

    def shown(column):
        cells, place = numbered("x", column)
        return [repr(cells[i]) for i in place]

    order = random.sample(range(len(rows)), len(rows))
    assert shown([rows[i] for i in order]) == [shown(rows)[i] for i in order]
    assert shown(rows) == [shown([row])[0] for row in rows]
    cells = numbered("x", rows)[0]
    assert len({repr(cell) for cell in cells}) == len(set(cells)) == len(cells)


@pytest.mark.parametrize("bad", ["abc", 7, None, np.zeros((2, 2)), {"a": 1}, iter([1])])
def test_what_is_no_column_is_refused(bad):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument, match=r"^x must be a one-dimensional column of categories"):
        histogram(bad, epsilon=1, delta=1e-6, entropy=entropy)
    assert entropy.taken == 0


# -------------------------------------------------------------------------------------------------- unknown categories


class Scripted:
    """A law whose draws are known."""

    def __init__(self, *noise, most=5):
        self.noise, self.most = noise, most

    def draw(self, size, entropy):
        assert size == len(self.noise)  # occupied cells only
        return np.array(self.noise, np.int64)


def test_what_is_shown():
    cells, counts = ["a", "b", "c", "d", "e"], np.array([5, 0, 7, 9, 1])
    screen = Screen(loss.Approximate(1, 0.1), Scripted(1, -1, -4, 5), ADD_REMOVE)
    shown, noisy = screen.draw((cells, counts), None)
    assert (shown, noisy.tolist()) == (("a", "c", "e"), [6, 6, 6])
    assert Screen(loss.Approximate(1, 0.1), Scripted(), ADD_REMOVE).draw(([], np.array([], int)), None)[0] == ()


@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE, ADD_REMOVE.per_person(3)])
def test_a_histogram_of_unknown_categories(relation):
    x = ["flu"] * 5000 + ["gout"] * 3000 + [None] * 1000 + ["rabies"]
    made = [histogram(r, epsilon=1, delta=1e-6, adjacency=relation, entropy=ut.SeededEntropy(5)) for r in (x, x[::-1])]
    assert made[0].value.cells == made[1].value.cells == ("flu", "gout", None)
    assert made[0].value.counts.tolist() == made[1].value.counts.tolist()
    assert made[0].privacy == Privacy(1, 1e-6, relation)
    cutoff = Screen.of(Fraction(1), Fraction(1, 10**6), relation).cutoff
    assert made[0].mechanism == f"histogram (unknown categories, cutoff {cutoff})"
    low, high = made[0].interval(0.9999)
    assert all(a <= n <= b for a, n, b in zip(low, (5000, 3000, 1000), high, strict=True))
    assert json.loads(made[0].to_json())["value"]["cells"] == ["flu", "gout", None]
    with pytest.raises(KeyError):
        made[0].value["rabies"]


def test_cutoffs():
    def cutoff(epsilon, relation):
        return Screen.of(Fraction(epsilon), Fraction(1, 10**6), relation).cutoff

    relations = (ADD_REMOVE, SUBSTITUTE, ADD_REMOVE.per_person(2))
    assert [cutoff(1, relation) for relation in relations] == [15, 26, 28]
    assert cutoff("1/10", ADD_REMOVE) == 110
    assert cutoff(HUGE, ADD_REMOVE) == 2


@pytest.mark.parametrize(
    ("epsilon", "rows"), [("1", (15, 15, 14)), ("0.1", (133, 110, 109)), ("0.01", (1314, 853, 853))]
)
def test_the_table_of_the_documentation(epsilon, rows):
    """Rows to be shown half of the time: without the cap, with it, and by the best possible way to pick categories."""
    eps, delta = float(epsilon), 1e-6
    screen = Screen.of(Fraction(epsilon), Fraction(1, 10**6), ADD_REMOVE)
    plain = screen.law.law.cutoff(delta) + 1

    def half(law, cutoff):
        return next(n for n in itertools.count(1) if law.tail(cutoff - n) >= 0.5)

    best = list(
        itertools.accumulate(
            range(2000),
            lambda p, _: min(1, math.exp(eps) * p + delta, 1 - math.exp(-eps) * (1 - p - delta)),
            initial=0.0,
        )
    )
    optimum = next(n for n, chance in enumerate(best) if chance >= 0.5)
    assert (half(screen.law.law, plain), half(screen.law, screen.cutoff), optimum) == rows


def test_the_capped_law_is_drawn_as_it_says():
    law = Capped(IntegerLaplace(4), 3)
    draws = law.draw(100_000, ut.SeededEntropy(8))
    assert draws.max() == 3
    assert_fits(draws, law, Capped(IntegerLaplace(4), 4))
    assert_fits(draws, law, Capped(IntegerLaplace("21/5"), 3))
    assert np.isclose(sum(law.pmf(k) for k in range(-200, 9)), 1)
    assert np.isclose(law.tail(-2), sum(law.pmf(k) for k in range(-2, 9)))


def test_rows_in_cells_that_are_listed_need_no_delta():
    assert histogram([1, 1], keys=[1], epsilon=1, delta=1e-6).privacy == Privacy(1)
    assert dict(histogram([1, 1, 2], epsilon=HUGE, delta=1e-6, nonnegative=True).value) == {1: 2}


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("edges", {"delta": 0}),
        ("delta", {"delta": 1}),
        ("delta", {"delta": -1e-9}),
        ("outside", {"outside": "clamp"}),
        ("outside", {"outside": "magic"}),
        ("total", {"total": True}),
        ("epsilon", {"epsilon": 1e-16}),
        ("epsilon", {"epsilon": 0}),
        ("rows_per_person", {"rows_per_person": 0}),
    ],
)
def test_arguments_of_unknown_categories(argument, options):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument, match=f"^{argument} must be") as caught:
        histogram(["a"], **{"epsilon": 1, "delta": 1e-6, "entropy": entropy} | options)
    assert caught.value.name == argument
    assert entropy.taken == 0


# ----------------------------------------------------------------------------------------------------------- per group


def spy(rows, *, epsilon, adjacency, entropy, delta=0, note=None, calls=None):
    """A statistic that tells what it was given, as no statistic should."""
    if calls is not None:
        calls.append((sorted(np.asarray(rows).tolist()), Fraction(epsilon), Fraction(delta), adjacency, note))
    tree = loss.Approximate(epsilon, delta) if delta else loss.Pure(epsilon)
    return Release(len(rows), cost(tree, adjacency), "spy", tree, None, entropy.private)


def test_every_group_is_run_on_its_rows_with_all_of_epsilon():
    calls = []
    made = per_group(
        spy, [1, 2, 3, 4, 5], ["b", "a", "b", None, "z"], groups=["b", None, "q", "a"], epsilon=1, note="n", calls=calls
    )
    assert {k: r.value for k, r in made.value.items()} == {"b": 2, None: 1, "q": 0, "a": 1}
    assert list(made.value) == ["b", None, "q", "a"]
    rehearsal, *runs = calls
    assert rehearsal[0] == []
    assert [rows for rows, *_ in runs] == [[1, 3], [4], [], [2]]
    assert {tuple(rest) for _, *rest in calls} == {(1, 0, ADD_REMOVE, "n")}
    assert made.privacy == Privacy(1, 0, ADD_REMOVE)
    assert made.loss == loss.Disjoint((loss.Pure(1),))
    assert made.privacy.under(SUBSTITUTE) == Privacy(2)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array], ids=lambda k: k.__name__)
def test_columns_of_all_kinds(kind):
    rng = np.random.default_rng(1)
    by, x = rng.integers(0, 5, 300), rng.normal(size=300)
    calls = []
    made = per_group(spy, kind(x.tolist()), kind(by.tolist()), groups=5, epsilon=1, calls=calls)
    assert [rows for rows, *_ in calls[1:]] == [sorted(x[by == g].tolist()) for g in range(5)]
    assert sum(r.value for r in made.value.values()) == 300


def test_rows_may_be_of_several_columns():
    table = np.arange(12).reshape(6, 2)
    data = as_groups(table, list("abaaba"))
    assert data.of(data.groups.part("b"))[0].tolist() == [[2, 3], [8, 9]]
    assert data.of(data.groups.nothing())[0].shape == (0, 2)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([1, 1.0, True, "1", None, NAN, -0.0, 0, (1,)]), max_size=12))
def test_every_row_is_in_exactly_one_group(by):
    groups = as_groups(np.arange(len(by)), by)
    cells, counts = groups.groups.sizes()
    rows = [groups.of(groups.groups.part(cell))[0].tolist() for cell in cells]
    assert [len(r) for r in rows] == counts.tolist()
    assert sorted(itertools.chain(*rows)) == list(range(len(by)))


def test_several_rows_a_person():
    """ε/g and δ/S for each row, and what g rows cost is the budget again."""
    calls = []
    made = per_group(spy, [1, 2], ["a", "b"], groups=["a", "b"], epsilon=1, delta=1e-6, rows_per_person=4, calls=calls)
    (_, epsilon, delta, adjacency, _), *_ = calls
    assert (epsilon, adjacency) == (Fraction(1, 4), ADD_REMOVE)
    assert np.isclose(float(delta), 1e-6 / sum(np.exp(i / 4) for i in range(4)), rtol=1e-9)
    assert made.privacy.adjacency == ADD_REMOVE.per_person(4)
    assert made.privacy.exact_epsilon == 1
    assert Fraction(999, 1000) < made.privacy.exact_delta * 10**6 <= 1
    same = per_group(spy, [1], ["a"], groups=["a"], epsilon=1, adjacency=ADD_REMOVE.per_person(2), rows_per_person=2)
    assert same.privacy == Privacy(1, 0, ADD_REMOVE.per_person(4))


def test_a_large_delta_is_still_kept_to():
    made = per_group(spy, [1], ["a"], groups=["a"], epsilon=9, delta=0.5, rows_per_person=3)
    assert made.privacy <= Privacy(9, 0.5, ADD_REMOVE.per_person(3))


def test_unknown_groups():
    by = ["b"] * 400 + ["a"] * 300 + [None] * 200 + ["lonely"]
    calls = []
    made = per_group(spy, range(901), by, epsilon=1, delta=1e-6, share=0.25, entropy=ut.SeededEntropy(2), calls=calls)
    assert list(made.value) == ["a", "b", None]
    assert {k: r.value for k, r in made.value.items()} == {"a": 300, "b": 400, None: 200}
    assert {(epsilon, delta) for _, epsilon, delta, *_ in calls} == {(Fraction(3, 4), 0)}
    assert made.loss == loss.Composed((loss.Approximate(0.25, 1e-6), loss.Disjoint((loss.Pure(0.75),))))
    assert made.privacy == Privacy(1, 1e-6, ADD_REMOVE)
    assert made.mechanism == "spy per group (unknown groups, cutoff 48)"
    assert set(made.value.sizes.value) == {"a", "b", None}
    assert not made.private
    plain = json.loads(made.to_json())["value"]
    assert plain["groups"] == ["a", "b", None]
    assert [reply["value"] for reply in plain["replies"]] == [300, 400, 200]


def test_no_group_is_found():
    made = per_group(spy, [1, 2], ["a", "b"], epsilon=1, delta=1e-6)
    assert len(made.value) == 0
    assert made.privacy == Privacy(0.1, 1e-6, ADD_REMOVE)
    assert repr(made.value) == "Groups({})"


def test_groups_are_run_together_where_their_list_was_made_for_several_rows_a_person():
    by = ["a"] * 3000 + ["b"] * 3000
    made = per_group(spy, range(6000), by, epsilon=1, delta=1e-6, rows_per_person=3)
    assert made.privacy == Privacy(1, 1e-6, ADD_REMOVE.per_person(3))
    assert {r.privacy for r in made.value.values()} == {Privacy(Fraction(3, 10), 0, ADD_REMOVE)}


@pytest.mark.parametrize(
    "f", [ut.median, ut.iqr, ut.trimmed_mean, ut.winsorized_mean, ut.mean, count], ids=lambda f: f.__name__
)
def test_statistics(f):
    rng = np.random.default_rng(3)
    by = rng.integers(0, 3, 60_000)
    x = rng.normal(10 * by, 1)
    made = per_group(f, x, by, groups=4, epsilon=2, entropy=ut.SeededEntropy(1))
    if f is count:
        for group in range(4):
            assert abs(made.value[group].value - (by == group).sum()) < 20
    else:
        true = {ut.iqr: lambda v: np.subtract(*np.quantile(v, [0.75, 0.25]))}.get(f, np.mean)
        for group in range(3):
            assert abs(made.value[group].value - true(x[by == group])) < 0.2
        assert not made.value[3]
    assert made.privacy == Privacy(2, 0, ADD_REMOVE)


def test_options_go_to_the_statistic():
    x, by = np.arange(40_000.0), ["a", "b"] * 20_000
    made = per_group(ut.quantile, x, by, groups=["a"], epsilon=1, p=[0.25, 0.75])
    assert np.allclose(made.value["a"].value, [10_000, 30_000], atol=200)
    ptr = per_group(ut.median, x, by, epsilon=2, delta=1e-6, method="ptr")
    assert {r.privacy.delta <= 0.5e-6 for r in ptr.value.values()} == {True}
    assert ptr.value["a"].mechanism.startswith("median by")
    assert ptr.privacy <= Privacy(2, 1e-6, ADD_REMOVE)
    public = per_group(ut.median, x, by, groups=["a"], epsilon=2, delta=1e-6, method="ptr")
    assert public.privacy == Privacy(2, 1e-6, ADD_REMOVE)
    tied = per_group(ut.median, np.full(4000, 7), by[:4000], groups=["a", "b"], epsilon=1)
    assert {r.value for r in tied.value.values()} == {7}


def test_an_epsilon_that_is_too_small_gets_no_reply_from_any_group():
    made = per_group(ut.median, range(1000), ["a", "b"] * 500, groups=["a", "b"], epsilon=1e-3)
    assert not any(made.value.values())
    assert made.privacy == Privacy(1e-3, 0, ADD_REMOVE)
    assert made.value["a"].advice.n > 1000
    silent = per_group(nothing_spent, [1], ["a"], groups=["a"], epsilon=1)
    assert silent.privacy == Privacy(0, 0, ADD_REMOVE)


def nothing_spent(rows, *, epsilon, adjacency, entropy):
    return NoReply(Privacy(0, 0, adjacency), "nothing", None, Advice(n=1))


def test_missing_values_of_x_are_the_statistics_business():
    x, by = np.where(np.arange(2000) == 7, NAN, 1.0), ["a", "b"] * 1000
    with pytest.raises(ut.InvalidArgument, match=r"^x must be free of NaN"):
        per_group(ut.median, x, by, groups=["b"], epsilon=1)
    assert per_group(ut.median, x, by, groups=["a"], epsilon=1).value["a"].value == 1
    assert per_group(ut.median, x, by, groups=["b"], epsilon=1, missing="low").value["b"].value == 1


def test_only_groups_that_are_shown_are_read():
    table = open_table({"g": np.array(["x"] * 500 + ["y"] * 2), "v": np.zeros(502)})
    read, part = [], MemoryGroups.part

    class Watched(MemoryGroups):
        def part(self, group):
            read.append(group)
            return part(self, group)

    shelves = GroupedData(Watched(table, ["g"]), (table.column("v"),), of_people=False)
    assert list(per_group(ut.median, shelves, epsilon=1, delta=1e-6).value) == ["x"]
    assert read == ["x"]


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("epsilon", {"epsilon": 0}),
        ("delta", {"delta": 1}),
        ("groups", {"groups": None}),
        ("groups", {"groups": []}),
        ("groups", {"groups": ["a", "a"]}),
        ("groups", {"groups": "ab"}),
        ("share", {"share": 0}),
        ("share", {"share": 1}),
        ("rows_per_person", {"rows_per_person": 0}),
        ("adjacency", {"adjacency": "add/remove"}),
        ("groups_per_person", {"groups_per_person": 2}),
        ("entropy", {"entropy": 7}),
        ("by", {"by": "ab"}),
        ("by", {"by": None}),
        ("by", {"by": ["a"]}),
        ("x", {"x": 7}),
        ("method", {"method": "magic"}),
        ("delta", {"method": "ptr"}),
        ("missing", {"missing": "magic"}),
        ("epsilon", {"epsilon": 1e-16, "delta": 1e-6, "groups": None}),
        ("missing", {"missing": "magic", "delta": 1e-6, "groups": None}),
    ],
)
def test_bad_input_is_named_before_anything_is_drawn(argument, options):
    entropy = CountingEntropy()
    call = {"x": [1, 2], "by": ["a", "b"], "groups": ["a"], "epsilon": 1, "entropy": entropy} | options
    with pytest.raises(ut.InvalidArgument, match=f"^{argument} must be") as caught:
        per_group(ut.median, **call)
    assert caught.value.name == argument
    assert entropy.taken == 0


def other_neighbours(rows, *, epsilon, adjacency, entropy):
    return spy(rows, epsilon=epsilon, adjacency=SUBSTITUTE, entropy=entropy)


def greedy(rows, *, epsilon, adjacency, entropy):
    return spy(rows, epsilon=2 * epsilon, adjacency=adjacency, entropy=entropy)


@pytest.mark.parametrize("f", [other_neighbours, greedy, lambda rows, **_: 7, partial(spy, delta=0.1)])
def test_a_statistic_must_keep_to_its_budget(f):
    with pytest.raises(ut.InvalidArgument, match=r"^f must be a statistic whose reply costs at most"):
        per_group(f, [1, 2], ["a", "b"], groups=["a"], epsilon=1)


@pytest.mark.parametrize(
    ("statistic", "arguments"),
    [
        (ut.median, ()),
        (ut.quantile, (0.4,)),
        (ut.iqr, ()),
        (ut.interquantile_range, (0.1, 0.9)),
        (ut.trimmed_mean, (0.2,)),
        (ut.winsorized_mean, ()),
        (ut.mean, ()),
    ],
)
def test_statistics_take_by(statistic, arguments):
    rng = np.random.default_rng(2)
    town, age = np.array(["a", "b"])[rng.integers(2, size=8000)], rng.integers(20, 80, 8000)
    found = statistic(age, *arguments, by=town, epsilon=4, delta=1e-6, entropy=ut.SeededEntropy(1))
    alone = statistic(age[town == "a"], *arguments, epsilon=4, entropy=ut.SeededEntropy(1))
    assert list(found.value) == ["a", "b"]
    assert abs(found.value["a"].value - alone.value) < 4
    listed = statistic(age, *arguments, by=town, groups=["b"], epsilon=4, entropy=ut.SeededEntropy(1))
    assert list(listed.value) == ["b"]
    assert listed.privacy == ut.Privacy(4, 0, ut.ADD_REMOVE)


def test_groups_without_by_are_an_error():
    with pytest.raises(ut.InvalidArgument, match="groups"):
        ut.median([1.0], epsilon=1, groups=["a"])


# --------------------------------------------------------------------------------- what is asked is what is debited

WARDS = np.array(["a", "b", "c", "d"] * 5000)
STAYS = np.random.default_rng(2).integers(1, 30, WARDS.size)
BUDGET = {"epsilon": 1, "delta": 1e-6}


@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE, SUBSTITUTE.per_person(2)], ids=str)
@pytest.mark.parametrize("groups", [None, ["a", "d"]])
@pytest.mark.parametrize("method", ["inverse", "ptr"])
def test_groups_cost_what_was_asked_for(relation, groups, method):
    """Under SUBSTITUTE the list of groups and the answers cost twice the ε, and 3.7 times the δ."""
    asked = BUDGET if groups is None or method == "ptr" else {"epsilon": 1}
    made = ut.median(STAYS, by=WARDS, groups=groups, adjacency=relation, method=method, **asked)
    assert made.privacy.epsilon <= 1
    assert made.privacy.delta <= asked.get("delta", 0)
    assert made.privacy.adjacency == relation
    if method == "inverse":
        assert made.privacy.epsilon == 1
        assert set(made.value) == set(groups or "abcd")


def test_a_session_debits_what_was_asked_for(tmp_path):
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=3, delta=1e-5)
    session = ut.open({"ward": WARDS, "stay": STAYS}, ledger=ledger)
    made = session["stay"].median(by="ward", **BUDGET)
    assert made.privacy == session.spent == Privacy(1, 1e-6)
    assert (ledger.remaining().epsilon, ledger.remaining().delta) == pytest.approx((2, 9e-6))
    assert set(made.value) == set("abcd")
    assert made.notes[-1].startswith("Groups with fewer than about")
    assert session.count(by="ward", **BUDGET).privacy == Privacy(1, 1e-6)
    assert session.spent == Privacy(2, 2e-6)


def test_a_part_of_a_group_costs_its_share():
    """The exact group budgets add up to what was asked for, and no larger ones would."""
    tree = loss.Disjoint((loss.Approximate(Fraction(1, 10), 1e-7),), 3)
    person = ADD_REMOVE.by_person("id")
    assert cost(tree, person) == Privacy(Fraction(3, 10), Fraction(3, 10**7), person)
    replaced = cost(tree, SUBSTITUTE.by_person("id"))
    assert replaced.exact_epsilon == Fraction(6, 10)
    assert float(replaced.exact_delta) == pytest.approx(3e-7 * (1 + math.exp(0.1)))


# ------------------------------------------------------------------------------------- one mechanism for one question

CELLS = 20
PAIRS = {"a": np.arange(4000) % 4, "b": np.arange(4000) // 4 % 5}


def test_counts_by_group_are_a_histogram_of_the_groups():
    """By two columns 4 of 20 cells were shown, with a cutoff of 110; a histogram of the pairs showed all 20."""
    session = ut.open(PAIRS, entropy=ut.SeededEntropy(1))
    made = [session.count(by=["a", "b"], **BUDGET), session.histogram("a", "b", **BUDGET)]
    pairs = list(zip(PAIRS["a"].tolist(), PAIRS["b"].tolist(), strict=True))
    direct = histogram(pairs, **BUDGET, entropy=ut.SeededEntropy(1))
    for one in made:
        assert len(one.value) == len(direct.value) == CELLS
        assert one.mechanism.partition(" (")[2] == direct.mechanism.partition(" (")[2].replace("categories", "groups")
        assert all(abs(count - 200) < 60 for count in one.value.values())
        assert one.privacy == direct.privacy
        low, high = one.interval(0.999999)
        assert all(a <= 200 <= b for a, b in zip(low, high, strict=True))
    public = session.count(by=["a", "b"], groups=[(0, 0), (3, 4), (9, 9)], epsilon=1)
    assert list(public.value) == [(0, 0), (3, 4), (9, 9)]
    assert abs(public.value[9, 9]) < 40
    with pytest.raises(ut.InvalidArgument, match="share must be left out"):
        session.count(by="a", share=0.2, **BUDGET)
    assert (
        session["a"].histogram(epsilon=1, keys=4).value.cells == session.histogram("a", epsilon=1, keys=4).value.cells
    )


def test_counts_of_flags_by_group():
    flag = np.arange(4000) % 10 == 0
    session = ut.open({**PAIRS, "flag": flag}, entropy=ut.SeededEntropy(1))
    made = session["flag"].count(by="b", groups=[0, 1], epsilon=5)
    truth = [int((flag & (PAIRS["b"] == b)).sum()) for b in (0, 1)]
    assert list(made.value.values()) == pytest.approx(truth, abs=15)
    direct = count(flag, by=PAIRS["b"], groups=[0, 1], epsilon=5, entropy=ut.SeededEntropy(1))
    assert list(direct.value.values()) == pytest.approx(truth, abs=15)


def test_crosstabs_and_margins():
    session = ut.open(PAIRS, entropy=ut.SeededEntropy(1))
    table = session.crosstab("a", "b", **BUDGET)
    assert table.value.levels(0) == [0, 1, 2, 3]
    assert np.shape(table.value.grid()) == (4, 5)
    assert np.abs(np.array(table.value.grid(), float) - 200).max() < 60
    assert len(repr(table.value).splitlines()) == 5
    assert len(table.interval(0.9)[0]) == CELLS
    assert table.privacy == Privacy(1, 1e-6)
    before = session.spent
    margins = session.margins("a", "b", **BUDGET)
    assert list(margins) == [("a",), ("b",)]
    assert {m: len(one.value) for m, one in margins.items()} == {("a",): 4, ("b",): 5}
    assert session.spent.exact_epsilon - before.exact_epsilon == 1
    assert list(session.margins(["a", "b"], which=2, **BUDGET)) == [("a", "b")]
    with pytest.raises(ut.InvalidArgument, match="which"):
        session.margins("a", "b", which=3, **BUDGET)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("f", [ut.statistics.mean, ut.statistics.proportion, partial(ut.median, interval=0.9)])
def test_groups_say_that_their_intervals_take_rows_for_independent(f, rows):
    x = np.random.default_rng(1).normal(size=4000)
    asked = x > 0 if f is ut.proportion else x
    made = per_group(f, asked, np.arange(4000) % 2, groups=[0], epsilon=20, rows_per_person=rows)
    assert (DEPENDENT in made.value[0].notes) is (rows > 1)
    bare = per_group(ut.median, x, np.zeros(4000), groups=[0], epsilon=9, rows_per_person=2)
    assert DEPENDENT not in bare.value[0].notes


def test_the_price_of_a_screen_adds_up_what_rises():
    """Two new categories, one row each, are told apart twice as often as one: more than δ is for."""
    screen = Screen.of(Fraction(1), Fraction(1, 1000), ADD_REMOVE)
    one, two = (("a",), np.array([50])), (("a", "b", "c"), np.array([50, 1, 1]))
    assert screen.price(one, (("a", "b"), np.array([50, 1])), ((), np.array([]))) == pytest.approx(1)
    with pytest.raises(AssumptionFailed):
        screen.price(one, two, ((), np.array([])))


def test_groups_of_five_hundred_people_get_a_median_with_an_interval():
    """At ε = 2, with unknown groups, and advice that helps if it is followed at the ε of the whole release."""
    rng = np.random.default_rng(0)
    home, rows = rng.integers(0, 4, 2271), rng.integers(1, 9, 2271)
    patient = np.repeat(np.arange(2271), rows)
    ward, x = np.array(list("abcd"))[home][patient], np.round(rng.normal(60, 15, patient.size), 1)
    given = {"by": ward, "person": patient, "interval": 0.95, "delta": 1e-6, "adjacency": ut.SUBSTITUTE}
    made = ut.median(x, **given, epsilon=2, entropy=ut.SeededEntropy(1))
    assert all(made.value.values())
    assert all(low < 60 < high < low + 40 for low, high in (one.interval(0.95) for one in made.value.values()))
    few = ut.median(x, **given, epsilon=1, entropy=ut.SeededEntropy(1))
    assert not any(few.value.values())
    advice = few.value["a"].advice
    assert advice.unit == "people"
    enough = np.flatnonzero(patient < 4 * advice.n)  # a quarter of the people is in each ward
    again = np.repeat(enough, 1 + 4 * advice.n // 2271)
    copies = patient[again] + 2271 * (np.arange(again.size) % (1 + 4 * advice.n // 2271))
    given |= {"by": ward[again], "person": copies}
    assert all(ut.median(x[again], **given, epsilon=1, entropy=ut.SeededEntropy(1)).value.values())


@pytest.mark.parametrize("groups", [1, 2])
def test_people_in_several_groups_share_epsilon_and_delta(groups):
    ids, x = np.repeat(np.arange(2000), 2), np.arange(4000) % 50.0
    options = {"by": np.tile(["a", "b"], 2000), "groups": ["a", "b"], "person": ids, "groups_per_person": groups}
    made = ut.median(x, epsilon=8, delta=1e-3, method="ptr", entropy=ut.SeededEntropy(1), **options)
    assert (made.privacy.epsilon, made.privacy.delta) == (8, 1e-3)


def test_a_missing_argument_is_named_in_groups_too():
    session = ut.open({"x": np.arange(400.0), "ward": np.array(["a", "b"] * 200)})
    with pytest.raises(ut.InvalidArgument, match=r"^p must be given to quantile"):
        session["x"].quantile(by="ward", groups=["a", "b"], epsilon=1)
    with pytest.raises(ut.InvalidArgument, match=r"^low must be given to interquantile_range"):
        session["x"].interquantile_range(high=0.9, by="ward", groups=["a", "b"], epsilon=1)
