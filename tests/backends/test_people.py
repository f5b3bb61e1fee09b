"""One battery for people's rows in every place that rows may be kept in: the same answers, to the last bit."""

from collections import Counter

import numpy as np
import pytest

import uptack
from tests.backends.panels import IDS, by_person, floats, owners, pseudo, sequential, table
from uptack import ADD_REMOVE, SeededEntropy
from uptack.columns.people import UNIT, People
from uptack.columns.selection import exact_sum
from uptack.columns.spread import Weights
from uptack.data import ordering
from uptack.data.people import PeopleSource, people
from uptack.errors import InvalidArgument
from uptack.table.id_candidates import repeats
from uptack.table.values.kinds import LARGEST

TABLE = table()
pytestmark = pytest.mark.parametrize("ids", IDS.values(), ids=IDS)


@pytest.fixture(autouse=True)
def one_kind_of_id_per_format(request, ids):
    """All kinds of ids in memory and in an engine; in each file format, frame and cluster those of one kind."""
    everywhere = request.node.callspec.id.split("-")[0] in ("arrays", "duckdb")
    if not everywhere and ids != next(iter(IDS.values())):
        pytest.skip("this kind of id is checked in memory and in an engine")


@pytest.fixture
def few(monkeypatch):
    """Samples and fetches so small that a table of 700 rows needs several."""
    monkeypatch.setattr(ordering, "SMALL", 150)
    monkeypatch.setattr(ordering, "FETCHED", 250)


@pytest.fixture(scope="module")
def put(panel):
    """The table in one place, once."""
    return panel(TABLE)


def check_order(column, theirs, at_most=None):
    """z, its sums and F against a count of every row."""
    ranked, values, sums = pseudo(theirs, at_most)
    n = len(ranked)
    windows = [(-2, 3), (n // 2 - 4, n // 2 + 4), (n - 2, n + 3)]
    order = column.ordered(windows)
    assert column.size == order.n == n
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


@pytest.mark.parametrize("name", ["x", "visits", "seen"])
def test_weights_of_people(put, ids, name, few):
    table = getattr(people(put, ids).outer, "table", None)
    if name == "x" and table is not None and table.get_backend().name == "pyspark":
        pytest.skip("floats are asked for in four engines; in Spark that takes half a minute")
    theirs, column = people(put, ids), people(put, ids).column(name)
    whose, values = owners(TABLE, ids), floats(TABLE[name])
    assert isinstance(theirs, PeopleSource)
    assert isinstance(column, People)
    assert column.integers == (theirs.columns[name] != "number")
    assert theirs.rows == len(set(whose) - {None}) == column.size
    check_order(column.filled(-1.5), by_person(whose, [-1.5 if v is None else v for v in values]))
    there = by_person([None if v is None else who for who, v in zip(whose, values, strict=True)], values)
    check_order(column.present(), there)
    check_order(column.by_rows(3).present(), there, at_most=3)


def test_ids_are_hidden(put, ids):
    theirs = people(put, ids)
    assert not set(ids) & set(theirs.columns)
    for ask in (theirs.column, theirs.tally, theirs.settled, theirs.groups, lambda name: theirs.restricted(name, 1)):
        with pytest.raises(InvalidArgument, match="another one than the ids of people"):
            ask(ids[0])


def test_one_number_per_person(put, ids):
    whose, values = owners(TABLE, ids), floats(TABLE["x"])
    column, days = people(put, ids).column("x"), TABLE["day"].to_pylist()
    ways = {
        "mean": lambda rows: sequential(rows) / len(rows),
        "sum": sequential,
        "median": lambda rows: sorted(rows)[(len(rows) - 1) // 2],
        "count": len,
        "min": min,
        "max": max,
    }
    for missing in (None, 0.25):
        filled = [missing if v is None else v for v in values]
        theirs = by_person([None if v is None else who for who, v in zip(whose, filled, strict=True)], filled)
        for how, way in ways.items():
            made = column.each(how)
            found = made.present() if missing is None else made.filled(missing)
            wanted = [max(min(way(rows), LARGEST), -LARGEST) for rows in theirs.values()]
            np.testing.assert_array_equal(np.sort(found.values), np.sort(wanted), err_msg=how)
        last = column.each("last", people(put, ids).order("day"))
        dated = by_person(whose, list(zip(days, filled, strict=True)))
        wanted = [
            max(pair for pair in rows if pair[1] is not None)[1] for person, rows in dated.items() if person in theirs
        ]
        found = last.present() if missing is None else last.filled(missing)
        np.testing.assert_array_equal(np.sort(found.values), np.sort(wanted))


def test_means_of_people(put, ids):
    theirs = by_person(owners(TABLE, ids), [0.5 if v is None else v for v in floats(TABLE["x"])])
    column = people(put, ids).column("x").filled(0.5)
    terms = {who: [min(max(v, -2.0), 3.0) - 0.7 for v in rows] for who, rows in theirs.items()}
    for at_most in (None, 4):
        asked = column if at_most is None else column.by_rows(at_most)
        each = [sequential(rows) / max(len(rows), at_most or 1) for rows in terms.values()]
        assert np.sort(asked.averaged(lambda v: np.clip(v, -2.0, 3.0) - 0.7)).tolist() == sorted(each)
        values, up_to = asked.cumulated()
        assert values.tolist() == sorted(v for rows in theirs.values() for v in rows)
        unit, held, outside, _ = asked.inside(-2.0, 3.0)
        assert held + outside == up_to[-1] <= len(theirs) * unit


def test_units_of_categories(put, ids):
    whose = owners(TABLE, ids)
    for name in ("ward", "visits"):
        theirs = by_person(whose, TABLE[name].to_pylist())
        for weights in (Weights(), Weights("rows", 3)):
            wanted = Counter()
            for rows in theirs.values():
                for value in rows:
                    wanted[value] += min(UNIT // len(rows), weights.step)
            tally = people(put, ids).tally(name, weights)
            assert dict(zip(tally.values, tally.counts.tolist(), strict=True)) == wanted
            assert tally.people == len(theirs)
    assert people(put, ids).tally("ward").values[-1] is None


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


def test_counts_of_people(put, ids):
    theirs = by_person(owners(TABLE, ids), TABLE["seen"].to_pylist())
    for at_most in (None, 3):
        found = people(put, ids).counted("seen", at_most)
        assert found.count == sum(min(sum(rows), at_most or 1) for rows in theirs.values())
        assert people(put, ids).counted(None, at_most).count == sum(min(len(r), at_most or 1) for r in theirs.values())


def test_points(put, ids):
    found = people(put, ids).points(["x", "visits"])
    pairs = zip(TABLE["x"].to_pylist(), TABLE["visits"].to_pylist(), strict=True)
    plain = [tuple(-99.0 if v is None else float(v) for v in pair) for pair in pairs]
    wanted = by_person(owners(TABLE, ids), plain)
    groups: list[list] = [[] for _ in range(found.people)]
    for code, row in zip(
        found.codes, np.nan_to_num(found.values, nan=-99.0, posinf=np.inf, neginf=-np.inf), strict=True
    ):
        groups[code].append(tuple(row.tolist()))
    assert sorted(map(sorted, groups)) == sorted(map(sorted, wanted.values()))


def test_every_person_in_one_group(put, ids):
    theirs = by_person(owners(TABLE, ids), TABLE["ward"].to_pylist())
    best = {
        who: min(Counter(rows).items(), key=lambda pair: (-pair[1], pair[0] is None, pair[0] or ""))[0]
        for who, rows in theirs.items()
    }
    settled = people(put, ids).settled("ward")
    assert settled.rows == len(theirs)
    keys, sizes = settled.groups("ward")
    assert dict(zip((ward for (ward,) in keys), sizes.tolist(), strict=True)) == Counter(best.values())
    for ward in (None, "a", "B"):
        part = settled.restricted("ward", ward)
        assert part.rows == sum(other == ward for other in best.values())
        assert part.spread()[0] == sum(theirs[who].count(ward) for who, other in best.items() if other == ward)


def test_the_curator_can_ask(put, ids):
    theirs = by_person(owners(TABLE, ids), TABLE["ward"].to_pylist())
    (line,) = repeats(people(put, ids))
    sizes = [len(rows) for rows in theirs.values()]
    assert (line.rows, line.values, line.most) == (sum(sizes), len(sizes), max(sizes))
    assert line.missing == len(TABLE) - sum(sizes)


def test_an_empty_table(panel, ids):
    kept = panel(TABLE.slice(0, 0))
    if kept.columns["x"] != "number":
        return  # a CSV file without rows does not tell its types
    theirs = people(kept, ids)
    assert theirs.rows == 0
    assert theirs.column("x").filled(0.0).ordered([(-1, 2)]).at(np.arange(0, 2)).tolist() == [-np.inf, np.inf]
    assert theirs.column("x").each("mean").filled(0.0).size == 0
    assert theirs.tally("ward").counts.size == 0
    assert theirs.points(["x", "visits"]).people == 0


def test_releases_are_those_of_arrays(put, ids):
    """A session where the rows are, and one in memory, with the same randomness."""
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
    for name, options in requests:
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
