"""Hostile ids, and people who are never taken for rows: nothing but the answer may tell of a row or of an id."""

import datetime as dt
import itertools
import warnings
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

import uptack as ut
from tests.helpers import CountingEntropy, people_column
from uptack.errors import Incomparable
from uptack.registry import declared
from uptack.registry.declaration import options_of
from uptack.table.ids import NOBODY, owners
from uptack.table.memory import rows as memory_rows
from uptack.table.reads import WIDE

N = 3000
RNG = np.random.default_rng(11)
VALUES = RNG.normal(10, 3, N).round(2)
IDS = np.repeat(np.arange(N // 3), 3)
WEIGHTED = {
    "median": lambda x, **o: ut.median(x, epsilon=1, **o),
    "quantiles": lambda x, **o: ut.quantile(x, [0.25, 0.75], epsilon=4, **o),
    "interval": lambda x, **o: ut.median(x, epsilon=4, interval=0.9, **o),
    "iqr": lambda x, **o: ut.iqr(x, epsilon=2, **o),
    "interquantile_range": lambda x, **o: ut.interquantile_range(x, 0.2, 0.7, epsilon=2, **o),
    "trimmed_mean": lambda x, **o: ut.trimmed_mean(x, epsilon=2, **o),
    "winsorized_mean": lambda x, **o: ut.winsorized_mean(x, epsilon=2, **o),
    "mean": lambda x, **o: ut.mean(x, epsilon=2, **o),
    "midhinge": lambda x, **o: ut.midhinge(x, epsilon=2, **o),
    "trimean": lambda x, **o: ut.trimean(x, epsilon=2, **o),
    "ptr": lambda x, **o: ut.median(x, epsilon=4, delta=1e-6, method="ptr", **o),
    "ptr of a scale": lambda x, **o: ut.iqr(x, epsilon=8, delta=1e-5, method="ptr", **o),
    "dwork-lei": lambda x, **o: ut.trimmed_mean(x, epsilon=16, delta=1e-4, method="dwork-lei", **o),
}
every = pytest.mark.parametrize("name", WEIGHTED)
ONE = [1, 1.0, True, Decimal("1.00"), np.int8(1), np.float32(1)]
NULLS = [None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT"), Decimal("NaN")]
UTC = dt.UTC
MOMENTS = [
    dt.datetime(2024, 1, 1, 12, tzinfo=UTC),
    dt.datetime(2024, 1, 1, 14, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    pd.Timestamp("2024-01-01 07:00", tz="America/New_York"),
]


def seen(release):
    """All that a reader sees of a release or ⊥."""
    shown = (
        {"ends": getattr(release.noise, "low", None), "high": getattr(release.noise, "high", None)} if release else {}
    )
    return repr(release), type(release), shown


# ------------------------------------------------------------------------------------------------------ reading of ids


@pytest.mark.parametrize("same", [ONE, MOMENTS, [0.0, -0.0, 0, False], [2**60, Decimal(2**60), float(2**60)]])
def test_ids_that_are_equal_are_one_person(same):
    found = owners([*same, "another"])
    assert found.people == 2
    assert len(set(found.codes[:-1].tolist())) == 1


@pytest.mark.parametrize("ids", [NULLS, np.array([np.nan, np.nan]), np.array(["NaT"], "M8[s]"), pd.Series([pd.NA])])
def test_rows_without_an_id_are_nobodys(ids):
    found = owners(ids)
    assert found.people == 0
    assert (found.codes == NOBODY).all()


def test_huge_integers_are_told_apart_and_floats_are_not():
    assert owners([2**53, 2**53 + 1, 2**64 + 1, 2**64]).people == 4
    assert owners(np.array([2**53, 2**53 + 1])).people == 2
    assert owners(np.array([2**63, 2**63 + 1], np.uint64)).people == 2
    assert owners(np.array([2.0**53, 2.0**53 + 1])).people == 1  # what the column holds is one id


def test_texts_are_compared_as_they_are():
    assert owners(["a", "a\0", "a ", "A", "ä", "a\u0308"]).people == 6
    assert owners(np.array(["a", "a\0"])).people == 1  # NumPy keeps no zeros at the end: one id for all
    assert owners(["1", 1]).people == 2


@pytest.mark.parametrize(
    "person",
    [
        (["a", "a", "b", "b"], [1, 2, 1, 1]),
        {"town": ["a", "a", "b", "b"], "number": [1, 2, 1, 1]},
        pd.DataFrame({"town": ["a", "a", "b", "b"], "number": [1, 2, 1, 1]}),
        pl.DataFrame({"town": ["a", "a", "b", "b"], "number": [1, 2, 1, 1]}),
        np.array([[1, 1], [1, 2], [2, 1], [2, 1]]),
    ],
)
def test_ids_of_several_columns(person):
    found = owners(person)
    assert found.people == 3
    assert found.codes[2] == found.codes[3]
    assert len(found.names) == 2


def test_one_null_part_makes_nobody():
    assert owners((["a", None, "b"], [1.0, 2.0, np.nan])).codes.tolist() == [0, NOBODY, NOBODY]


def test_composite_ids_do_not_run_into_each_other():
    wide = np.arange(3000)
    parts = tuple(wide % k for k in (3000, 2999, 2998, 2997, 2996))  # 2^57 combinations
    assert owners(parts).people == 3000
    assert owners((["ab", "a"], ["c", "bc"])).people == 2


class Nasty:
    """An id whose own methods misbehave."""

    def __eq__(self, other):
        raise RuntimeError("secret")

    def __hash__(self):
        raise RuntimeError("secret")

    def __str__(self):
        raise RuntimeError("secret")


def test_ids_of_any_type_raise_nothing():
    strange = [Nasty(), object(), [1, 2], {"a": 1}, {1, 2}, b"x", 1j, lambda: 0, np.array([1]), float("inf"), 10**400]
    assert owners(strange).size == len(strange)
    assert owners([[1, 2], (1, 2)]).people == 1


# -------------------------------------------------------------------------------------------- nothing else may be seen


@every
def test_whatever_one_id_is_made_of_the_release_is_the_same(name):
    """One row of a list of ids becomes another spelling of the same person."""
    results = set()
    for one in ONE:
        ids = IDS.tolist()
        ids[3:6] = [one, 1, 1]
        results.add(repr(seen(WEIGHTED[name](VALUES, person=ids, entropy=ut.SeededEntropy(3)))))
    assert len(results) == 1


@every
@pytest.mark.parametrize("options", [{}, {"weights": "rows", "at_most": 2}, {"per_person": "mean"}], ids=str)
def test_no_error_or_warning_depends_on_rows_or_ids(name, options):
    if name == "interval" and "weights" in options:
        return
    heavy = np.zeros(N, int)  # one person has all rows but two
    heavy[-2:] = 1, 2
    for ids, x in itertools.product(
        (IDS, heavy, np.arange(N)), (VALUES, np.zeros(N), np.where(IDS % 2, 1e308, -1e308), np.full(N, 5e-324))
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = WEIGHTED[name](x, person=ids, entropy=ut.SeededEntropy(3), **options)
        assert made.privacy.adjacency.person == ("person",)
        assert made.privacy.adjacency.rows_per_person == 1


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series])
def test_containers_of_ids_agree(kind):
    answers = {ut.median(VALUES, epsilon=1, person=kind(IDS.tolist()), entropy=ut.SeededEntropy(3)).value}
    assert answers == {ut.median(VALUES, epsilon=1, person=IDS, entropy=ut.SeededEntropy(3)).value}


@every
def test_the_order_of_rows_and_the_names_of_people_do_not_matter(name):
    rows, names = np.random.default_rng(1).permutation(N), np.random.default_rng(2).permutation(N)
    mine = WEIGHTED[name](VALUES, person=IDS, entropy=ut.SeededEntropy(3))
    other = WEIGHTED[name](VALUES[rows], person=names[IDS[rows]], entropy=ut.SeededEntropy(3))
    assert seen(mine) == seen(other)


@every
def test_with_one_row_each_it_is_the_release_without_a_person(name):
    mine = WEIGHTED[name](VALUES, person=np.arange(N), entropy=ut.SeededEntropy(3))
    plain = WEIGHTED[name](VALUES, entropy=ut.SeededEntropy(3))
    if name in ("quantiles", "mean", "interval"):  # boxes and not a chain; a bound for shares and not for rows
        assert bool(mine) == bool(plain)
    else:
        assert mine.value == plain.value
        assert mine.mechanism == plain.mechanism


@pytest.mark.parametrize("how", ["mean", "sum", "median", "min", "max", "last"])
def test_with_one_row_each_every_number_per_person_is_the_row(how):
    order = {"order": VALUES} if how == "last" else {}
    for f in (ut.median, ut.iqr, ut.mad):
        mine = f(VALUES, epsilon=1, person=np.arange(N), per_person=how, entropy=ut.SeededEntropy(3), **order)
        assert mine.value == f(VALUES, epsilon=1, entropy=ut.SeededEntropy(3)).value


def test_rows_of_nobody_are_left_out():
    ids = IDS.astype(object)
    ids[::7] = None
    some = np.flatnonzero([i is not None for i in ids])
    shifted = np.where([i is None for i in ids], 1e300, VALUES)
    mine = ut.trimean(shifted, epsilon=1, person=ids, entropy=ut.SeededEntropy(3))
    assert mine.value == ut.trimean(VALUES[some], epsilon=1, person=IDS[some], entropy=ut.SeededEntropy(3)).value


def test_missing_values_are_left_out_before_rows_are_weighed():
    x = VALUES.copy()
    x[::3] = np.nan
    there = np.flatnonzero(~np.isnan(x))
    mine = ut.median(x, epsilon=1, person=IDS, missing="drop", entropy=ut.SeededEntropy(3))
    again = ut.median(x[there], epsilon=1, person=IDS[there], missing="drop", entropy=ut.SeededEntropy(3))
    assert seen(mine) == seen(again)
    weights = [people_column(*some, N // 3).drop().rows.weights for some in ((x, IDS), (VALUES[there], IDS[there]))]
    assert weights[0].tolist() == weights[1].tolist()


# -------------------------------------------------------------------------------------------------------------- misuse

WRONG = {
    "another length": {"person": IDS[:-1]},
    "a text": {"person": "patient_id"},
    "a number": {"person": 3},
    "a tuple of ids": {"person": tuple(IDS.tolist())},
    "a list of columns": {"person": [IDS, IDS]},
    "no columns": {"person": ()},
    "columns of different lengths": {"person": (IDS, IDS[:-1])},
    "three dimensions": {"person": np.zeros((N, 1, 1))},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_are_no_ids_is_refused_by_name_and_nothing_is_drawn(name):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument, match=r"^person must be ") as caught:
        ut.median(VALUES, epsilon=1, entropy=entropy, **WRONG[name])
    assert entropy.taken == 0
    assert str(N) not in str(caught.value)  # how many rows there are is secret


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("rows_per_person", {"person": IDS, "rows_per_person": 3}),
        ("person", {"person": IDS, "adjacency": ut.SUBSTITUTE.by_person("id")}),
        ("adjacency", {"adjacency": ut.SUBSTITUTE.by_person("id")}),
        ("adjacency", {"adjacency": "substitute", "person": IDS}),
        ("per_person", {"per_person": "mean"}),
        ("per_person", {"person": IDS, "per_person": "mode"}),
        ("weights", {"weights": "rows", "at_most": 3}),
        ("weights", {"person": IDS, "weights": "heavy"}),
        ("weights", {"person": IDS, "weights": "rows", "at_most": 3, "per_person": "mean"}),
        ("at_most", {"person": IDS, "weights": "rows"}),
        ("at_most", {"person": IDS, "at_most": 3}),
        ("at_most", {"person": IDS, "weights": "rows", "at_most": 0}),
        ("order", {"person": IDS, "per_person": "last"}),
        ("order", {"person": IDS, "per_person": "mean", "order": IDS}),
        ("order", {"person": IDS, "per_person": "last", "order": IDS[1:]}),
        ("interval", {"person": IDS, "weights": "rows", "at_most": 3, "interval": 0.9}),
    ],
)
def test_misuse_names_the_argument(argument, options):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument, match=f"^{argument} must be ") as caught:
        ut.median(VALUES, epsilon=1, entropy=entropy, **options)
    assert caught.value.name == argument
    assert entropy.taken == 0


UNPROVED = {name: one for name, one in declared().items() if one.people is False}
EACH = {name: one for name, one in declared().items() if one.people == "each"}


@pytest.mark.parametrize("name", UNPROVED)
def test_what_is_not_proved_for_people_refuses_them(name):
    """Before it looks at any other argument."""
    told = {"person": IDS}, {"adjacency": ut.SUBSTITUTE.by_person("id")}
    for options in told if "adjacency" in UNPROVED[name].allowed else told[:1]:
        with pytest.raises(ut.InvalidArgument, match=f"person must be left out: {name} is not proved for people"):
            UNPROVED[name].public(*[VALUES] * len(UNPROVED[name].data), **options)


def each_of(declaration):
    """A call, but for what it says of people: columns side by side, or a column with labels."""
    data = [IDS % 3 if name == "labels" else VALUES for name in declaration.data]
    data = [np.column_stack([VALUES, -VALUES])] if declaration.reads is WIDE else data
    return partial(declaration.public, *data, **{**declaration.examples[0], "epsilon": 20})


@pytest.mark.parametrize("name", EACH)
def test_what_is_proved_for_one_number_per_person_asks_for_one(name):
    call = each_of(EACH[name])
    with pytest.raises(ut.InvalidArgument, match=r"per_person must be given with person"):
        call(person=IDS)
    assert call(person=IDS, per_person="mean", entropy=ut.SeededEntropy(1))


OWN = {"per_person": "mean", "weights": "rows", "at_most": 2, "order": VALUES}
NOT_OWN = [
    (name, option)
    for name, one in declared().items()
    if one.people not in (False, "stated") and not one.takes_any
    for option in OWN
    if option not in options_of(one.people, one.reads)
]


@pytest.mark.parametrize(("name", "option"), NOT_OWN)
def test_options_about_people_that_a_function_does_not_have_are_refused(name, option):
    """A histogram of one number per person counted units of rows, some 2^32 each, with the noise of one."""
    declaration, entropy = declared()[name], CountingEntropy()
    data = [VALUES] * len(declaration.data)
    with pytest.raises(ut.InvalidArgument, match=f"^{option} must be left out: {name} has no such option"):
        declaration.public(*data, person=IDS, epsilon=1, entropy=entropy, **{option: OWN[option]})
    assert entropy.taken == 0


def test_they_are_refused_before_a_debit_also_in_groups():
    session = ut.open({"x": VALUES, "by": IDS % 2, "id": IDS}, person="id")
    for statistic, options in (("histogram", {"edges": [0.0, 9.0]}), ("count", {"by": "by", "groups": [0, 1]})):
        with pytest.raises(ut.InvalidArgument, match=r"^per_person must be left out"):
            getattr(session, statistic)(*["x"] * (statistic == "histogram"), epsilon=1, per_person="mean", **options)
    assert session.spent.epsilon == 0
    for f, option in (
        (ut.histogram, {"edges": [0.0, 9.0], "per_person": "mean"}),
        (ut.kde, {"weights": "rows", "at_most": 2}),
    ):
        with pytest.raises(ut.InvalidArgument, match=f"must be left out: {f.__name__} has no such option"):
            ut.per_group(f, VALUES, IDS % 2, groups=[0, 1], epsilon=1, delta=1e-3, person=IDS, **option)
    assert ut.per_group(ut.median, VALUES, IDS % 2, groups=[0, 1], epsilon=4, person=IDS, per_person="mean")


def test_peoples_data_are_refused_without_their_adjacency():
    data = people_column(VALUES, IDS, N // 3)
    with pytest.raises(ut.InvalidArgument, match=r"^adjacency must be one by person"):
        ut.median(data, epsilon=1)
    made = ut.median(data, epsilon=1, adjacency=ut.SUBSTITUTE.by_person("id"), entropy=ut.SeededEntropy(3))
    assert made.value == ut.median(VALUES, epsilon=1, person=IDS, entropy=ut.SeededEntropy(3)).value


def test_guarantees_about_people_and_rows_are_not_mixed():
    people, rows = ut.SUBSTITUTE.by_person("id"), ut.SUBSTITUTE
    for a, b in ((people, rows), (rows, people), (people, ut.SUBSTITUTE.by_person("other"))):
        with pytest.raises(Incomparable, match="people by"):
            ut.Privacy(1, 0, a).under(b)
    assert ut.Privacy(1, 0, ut.ADD_REMOVE.by_person("id")).under(people).epsilon == 2


def test_selection_finds_what_sorting_finds(monkeypatch):
    """Also where the sample misleads: sorted tables, one person with most rows, ties, and rows at the largest float."""
    rng, n = np.random.default_rng(4), 4000
    tables = {
        "plain": (rng.normal(size=9 * n), np.repeat(np.arange(n), 9)),
        "sorted": (np.sort(rng.normal(size=9 * n)), np.repeat(np.arange(n), 9)),
        "ties": (rng.integers(0, 3, 9 * n), np.repeat(np.arange(n), 9)),
        "heavy": (rng.normal(size=9 * n), np.concatenate((np.arange(n), np.zeros(8 * n, int)))),
        "striped": (np.where(np.arange(9 * n) % 8 == 0, 1e308, -1e308) * rng.random(9 * n), np.repeat(np.arange(n), 9)),
    }
    for (x, ids), at_most in itertools.product(tables.values(), (None, 3)):
        data = people_column(x, ids, n, at_most)
        for windows in (
            [(1900, 2100)],
            [(900, 1100), (2900, 3100)],
            [(-50, 150)],
            [(3900, 4300)],
            [(990, 1010), (1000, 1100)],
        ):
            whole = data.order([(-50, 40_000)])
            with monkeypatch.context() as patch:
                patch.setattr(memory_rows.ArrayScans, "small", 0)
                patch.setattr(memory_rows.ArrayScans, "fetched", n)
                some = data.order(windows)
                for a, b in windows:
                    ranks = np.arange(a, b + 1)
                    assert some.at(ranks).tolist() == whole.at(ranks).tolist()
                    for mine, theirs in zip(some.jumps(a, b), whole.jumps(a, b), strict=True):
                        assert mine.tolist() == theirs.tolist()
                if windows[-1][0] == 2900 and whole.n >= 3100:
                    assert some.total(1000, 3000) == whole.total(1000, 3000)
