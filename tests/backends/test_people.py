"""One battery for people's rows in every place that rows may be kept in: the same answers, to the last bit."""

from collections import Counter

import numpy as np
import pytest

import uptack
from tests.answers import categories, in_order
from tests.backends.panels import IDS, by_person, floats, owners, pseudo, sequential, table
from uptack import ADD_REMOVE, SeededEntropy
from uptack.errors import InvalidArgument
from uptack.table import search
from uptack.table.engine.table import EngineTable
from uptack.table.exact_sum import exact_sum
from uptack.table.ids import repeats
from uptack.table.opening import open_table
from uptack.table.protocol import Columns
from uptack.table.unit import PrivacyUnit, U
from uptack.table.values.kinds import LARGEST

TABLE = table()
CLUSTERS = ("spark", "postgres")
PLACES = [(place, name) for place in ("arrays", "duckdb") for name in IDS]
PLACES += [(place, "text") for place in CLUSTERS]
"""All kinds of ids in memory and in an engine; those of one kind in a server and a cluster."""
FRAMES_AND_FILES = [(place, "text") for place in ("pandas", "polars", "csv", "parquet")]
"""What is read into memory, or by DuckDB: rows of every place are compared in `test_tables`."""


def cases(places):
    """One case for each place and kind of ids."""
    made = [
        pytest.param(p, IDS[name], id=f"{p}, {name}", marks=[pytest.mark.xdist_group(p)] * (p in CLUSTERS))
        for p, name in places
    ]
    return pytest.mark.parametrize(("panel", "ids"), made, indirect=["panel"])


in_engines, everywhere = cases(PLACES), cases([*PLACES, *FRAMES_AND_FILES])


@pytest.fixture
def few(monkeypatch):
    """Samples and fetches so small that a table of 700 rows needs several."""
    monkeypatch.setattr(search, "SMALL", 150)
    monkeypatch.setattr(search, "FETCHED", 250)


@pytest.fixture(scope="module")
def put(panel):
    """The table in one place, once."""
    return panel(TABLE)


@pytest.fixture
def people(put, ids):
    """The same by person."""
    return open_table(put, person=ids)


def on_spark(table):
    return isinstance(table, EngineTable) and table.table.get_backend().name == "pyspark"


def check_order(column, theirs, at_most=None):
    """z, its sums and F against a count of every row."""
    ranked, values, sums = pseudo(theirs, at_most)
    n = len(ranked)
    windows = [(-2, 3), (n // 2 - 4, n // 2 + 4), (n - 2, n + 3)]
    order = column.order(windows)
    assert column.count() == order.n == n
    padded = np.array([-np.inf, *ranked, np.inf])
    for first, last in windows:
        ranks = np.arange(first, last + 1)
        np.testing.assert_array_equal(order.at(ranks), padded[np.clip(ranks, 0, n + 1)])
        low, high = padded[np.clip([first, last], 0, n + 1)]
        wanted = [(v, f) for v, f in zip(values, sums, strict=True) if low <= v <= high]
        found = order.jumps(first, last)
        assert [tuple(pair) for pair in zip(*(part.tolist() for part in found), strict=True)] == wanted
    first, last = min(2, n), max(n // 2, 1)
    assert order.total(first, last) == exact_sum(np.array(ranked[first - 1 : last]))


def turn(ids, people):
    """0 or 1: each kind of ids has one of them in memory, and the other one in an engine."""
    return (list(IDS.values()).index(ids) + isinstance(people, EngineTable)) % 2


@in_engines
def test_weights_of_people(people, ids, few):
    """Of floats and of integers: of one in memory, and of the other in an engine."""
    if on_spark(people):
        pytest.skip("tests/table compares what Spark answers with memory")
    name = ("x", "visits")[turn(ids, people)]
    column = people.column(name)
    whose, values = owners(TABLE, ids), floats(TABLE[name])
    assert column.of_people
    assert column.unit == PrivacyUnit(ids, "people")
    assert column.integers == (people.kinds[name] != "number")
    assert people.size == len(set(whose) - {None}) == column.count()
    check_order(column.filled(-1.5), by_person(whose, [-1.5 if v is None else v for v in values]))
    there = by_person([None if v is None else who for who, v in zip(whose, values, strict=True)], values)
    check_order(column.drop(), there)
    check_order(column.sharing("rows", 3).drop(), there, at_most=3)


@everywhere
def test_ids_are_hidden(people, ids):
    assert not set(ids) & set(people.kinds)
    session = uptack.open(people)
    with pytest.raises(InvalidArgument, match=f"no column named {ids[0]!r}"):
        people.column(ids[0])
    for ask in (
        lambda: session[ids[0]],
        lambda: session["x"].median(epsilon=1, by=ids[0], groups=[1]),
        lambda: session.where({ids[0]: None}),
    ):
        with pytest.raises(InvalidArgument, match="column must be other than the ids"):
            ask()
    assert set(ids) <= set(people.as_rows().kinds)


@in_engines
def test_one_number_per_person(people, ids):
    if on_spark(people):
        pytest.skip("Spark computes them as DuckDB does; its functions are compared in tests/table")
    whose, values = owners(TABLE, ids), floats(TABLE["x"])
    column, days = people.column("x"), TABLE["day"].to_pylist()
    ways = {
        "mean": lambda rows: sequential(rows) / len(rows),
        "sum": sequential,
        "median": lambda rows: sorted(rows)[(len(rows) - 1) // 2],
        "count": len,
        "min": min,
        "max": max,
    }
    missing = (None, 0.25)[turn(ids, people)]
    asked = column.drop() if missing is None else column.filled(missing)
    filled = [missing if v is None else v for v in values]
    theirs = by_person([None if v is None else who for who, v in zip(whose, filled, strict=True)], filled)
    for how, way in ways.items():
        wanted = [max(min(way(rows), LARGEST), -LARGEST) for rows in theirs.values()]
        np.testing.assert_array_equal(in_order(asked.per_person(how)), np.sort(wanted), err_msg=how)
    dated = by_person(whose, list(zip(days, filled, strict=True)))
    wanted = [
        max(pair for pair in rows if pair[1] is not None)[1] for person, rows in dated.items() if person in theirs
    ]
    np.testing.assert_array_equal(in_order(asked.per_person("last", "day")), np.sort(wanted))
    assert asked.per_person("mean").unit == PrivacyUnit(ids)


@in_engines
def test_means_of_people(people, ids):
    theirs = by_person(owners(TABLE, ids), [0.5 if v is None else v for v in floats(TABLE["x"])])
    column = people.column("x").filled(0.5)
    terms = {who: [min(max(v, -2.0), 3.0) - 0.7 for v in rows] for who, rows in theirs.items()}
    for at_most in (None, 4):
        asked = column if at_most is None else column.sharing("rows", at_most)
        each = [sequential(rows) / max(len(rows), at_most or 1) for rows in terms.values()]
        assert np.sort(asked.person_means(lambda v: np.clip(v, -2.0, 3.0) - 0.7)).tolist() == sorted(each)
        _, values, sums = pseudo(theirs, at_most)
        shares = dict(zip(values, np.diff([0, *sums]).tolist(), strict=True))
        inside, outside, tied = asked.mass(-2.0, 3.0)
        held = [units for value, units in shares.items() if -2.0 <= value <= 3.0]
        assert (inside, outside, tied) == (sum(held), sums[-1] - sum(held), max(held))


@in_engines
@pytest.mark.parametrize("share", ["people", "rows", "any"])
def test_units_of_categories(people, ids, share):
    unit = PrivacyUnit.of_people(ids, share, {"rows": 3, "any": 1}.get(share))
    whose = owners(TABLE, ids)
    for name in ("ward", "visits"):
        theirs, wanted = by_person(whose, TABLE[name].to_pylist()), Counter()
        for rows in theirs.values():
            if share == "any":
                wanted[favourite(rows)] += 1
            else:
                wanted.update(dict.fromkeys(rows, 0))
                for value in rows:
                    wanted[value] += min(U // len(rows), unit.step)
        found = categories(people.with_unit(unit), name)
        assert found == wanted
    if share != "any":
        assert list(categories(people.with_unit(unit), "ward"))[-1] is None


def favourite(rows):
    """The value that most rows have, of several the first."""
    return min(Counter(rows).items(), key=lambda pair: (-pair[1], pair[0] is None, pair[0] or ""))[0]


@in_engines
def test_bins(put, ids):
    """Between edges as in memory, where every row is put into its bin."""
    edges = [-2.0, -0.5, 0.0, 0.01, 3.0]
    for options in ({}, {"weights": "rows", "at_most": 3}):
        made = [
            uptack.open(kept, person=list(ids), entropy=SeededEntropy(1)).run(
                uptack.Request("histogram", "x", edges=edges, epsilon=1, **options)
            )
            for kept in (put, TABLE)
        ]
        np.testing.assert_array_equal(made[0].value.counts, made[1].value.counts)


@in_engines
def test_counts_of_people(people, ids):
    theirs = by_person(owners(TABLE, ids), TABLE["seen"].to_pylist())
    for at_most in (1, 3):
        assert people.trues("seen", at_most) == sum(min(sum(rows), at_most) for rows in theirs.values())
        assert people.trues(None, at_most) == sum(min(len(rows), at_most) for rows in theirs.values())


@in_engines
def test_rows_side_by_side(people, ids):
    found = Columns([people.column("visits"), people.column("x")]).rows("drop").in_memory()
    pairs = zip(TABLE["visits"].to_pylist(), TABLE["x"].to_pylist(), strict=True)
    complete = [None if None in pair or np.isinf(pair[1]) else tuple(map(float, pair)) for pair in pairs]
    whose = [None if pair is None else who for who, pair in zip(owners(TABLE, ids), complete, strict=True)]
    wanted = by_person(whose, complete)
    groups = by_person([(code,) for code in found.codes.tolist()], [tuple(row) for row in found.lines.T.tolist()])
    assert found.n == len(wanted)
    assert sorted(map(sorted, groups.values())) == sorted(map(sorted, wanted.values()))


@in_engines
def test_every_person_in_one_group(people, ids):
    theirs = by_person(owners(TABLE, ids), TABLE["ward"].to_pylist())
    best = {who: favourite(rows) for who, rows in theirs.items()}
    groups = people.groups(["ward"])
    found, sizes = groups.sizes()
    assert dict(zip(found, sizes.tolist(), strict=True)) == Counter(best.values())
    for ward in (None, "a", "B"):
        part = groups.part(ward)
        assert part.trues(None) == sum(other == ward for other in best.values())
        assert part.spread()[0] == sum(theirs[who].count(ward) for who, other in best.items() if other == ward)


@in_engines
def test_the_curator_can_ask(people, ids):
    theirs = by_person(owners(TABLE, ids), TABLE["ward"].to_pylist())
    (line,) = repeats(people)
    sizes = [len(rows) for rows in theirs.values()]
    assert (line.rows, line.values, line.most) == (sum(sizes), len(sizes), max(sizes))
    assert line.missing == len(TABLE) - sum(sizes)


@in_engines
def test_an_empty_table(panel, ids):
    kept = panel(TABLE.slice(0, 0))
    if kept.kinds["x"] != "number":
        return  # a CSV file without rows does not tell its types
    people = open_table(kept, person=ids)
    assert people.size == 0
    assert people.column("x").filled(0.0).order([(-1, 2)]).at(np.arange(0, 2)).tolist() == [-np.inf, np.inf]
    assert people.column("x").filled(0.0).per_person("mean").count() == 0
    assert categories(people, "ward") == {}
    assert Columns([people.column("x"), people.column("visits")]).rows().in_memory().n == 0


@everywhere
def test_releases_are_those_of_arrays(put, ids):
    """A session where the rows are, and one in memory, with the same randomness.

    All requests of engines with one kind of ids, and half of them elsewhere and with each other kind.
    """
    requests = [
        ("median", {}),
        ("iqr", {"adjacency": ADD_REMOVE}),
        ("trimmed_mean", {"missing": 0}),
        ("mean", {}),
        ("median", {"per_person": "mean"}),
        ("median", {"weights": "rows", "at_most": 2}),
        ("superiority", {"groups": ("a", "B"), "per_person": "last", "order": "day"}),
        ("kendall_tau", {"per_person": "min"}),
    ]
    beside = {"superiority": ("ward",), "kendall_tau": ("visits",)}
    every = isinstance(put, EngineTable) and ids == IDS["text"] and not on_spark(put)
    for name, options in requests if every else requests[list(IDS.values()).index(ids) % 2 :: 2]:
        made = [
            uptack.open(kept, person=list(ids), entropy=SeededEntropy(3)).run(
                uptack.Request(name, "x", *beside.get(name, ()), epsilon=20, **options)
            )
            for kept in (put, TABLE)
        ]
        assert [bool(one) for one in made] in ([True, True], [False, False]), name
        assert str(made[0].privacy) == str(made[1].privacy)
        if made[0]:
            assert made[0].value == made[1].value, name
