"""More people than integers of 64 bits have units for: from 1.7 billion on. Here a person has very many units instead.

All but the units is as it was, so what comes out must be: values to the last bit, and units as fractions of a person.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import uptack.columns.people
from uptack import ADD_REMOVE, SeededEntropy, histogram
from uptack.columns import people_order, spread
from uptack.columns.numeric import ArrayColumn
from uptack.columns.people import UNIT, PeopleColumn
from uptack.columns.spread import PeopleTally, Weights
from uptack.columns.units import ROOM
from uptack.data import ordering, weights
from uptack.data.people import people
from uptack.data.places import Known, Scale, Weighed, crossed
from uptack.densities.density_boxes import DensityBox, counted
from uptack.densities.kernel_density import Bins
from uptack.reach.people_range import PeopleRange
from uptack.statistics import tail_counts

MANY = 1 << 61
"""Units of a person, of which four are beyond 64 bits."""
CLUSTERS = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("spark", "postgres")]


def rows(n: int = 90) -> pa.Table:
    """People with one, two or four rows: powers of two, by which engines divide exactly, however many units."""
    rng = np.random.default_rng(5)
    owners = np.concatenate([np.repeat(np.arange(n), 1 << (np.arange(n) % 3))])
    x = np.round(rng.normal(size=owners.size), 1)
    gaps = np.repeat(np.arange(n), 1 << (np.arange(n) % 3)) % 7 == 3
    return pa.table({"who": owners, "x": pa.array(x, mask=gaps), "y": x, "ward": (owners % 5 * x > 0.3).astype(int)})


def answers(kept, unit):
    """What is asked of people, with units as fractions of one."""
    theirs = people(kept, "who")
    column = theirs.column("x")
    gapless = column.present()
    windows = [(5, 9), (gapless.size - 8, gapless.size - 3)]
    found = gapless.ordered(windows)
    batches = theirs.batched(["x", "y"])
    ranks = np.concatenate([np.arange(a, b + 1) for a, b in windows])
    order = [one.at(ranks).tolist() for one in (found, *(batches.ordered(i, windows) for i in (0, 1)))]
    jumps = [[(v, Fraction(int(f), unit)) for v, f in zip(*found.jumps(*w), strict=True)] for w in windows]
    spread = [PeopleRange(gapless, (20, 55), 6).interval(k) for k in range(7)]
    keys, units = theirs._inner.units("ward", Weights())
    binned = theirs._inner.bins("y", [-1.0, 0.0, 1.0], Weights())
    counted = [
        [(key, Fraction(int(one), unit)) for key, one in zip(*some, strict=True)] for some in ((keys, units), binned)
    ]
    return (
        order,
        jumps,
        spread,
        counted,
        found.total(6, windows[1][1]),
        column.size,
        batches.count(),
        column.valued // unit,
    )


def give_many(monkeypatch):
    """Everybody has many units from here on."""
    monkeypatch.setattr(weights, "UNIT", MANY)
    monkeypatch.setattr(weights, "SCALE", Scale(MANY))
    monkeypatch.setattr(uptack.reach.people_range, "UNIT", MANY)


@pytest.mark.parametrize("panel", ["duckdb"], indirect=True)
def test_units_beyond_64_bits(panel, monkeypatch):
    kept = panel(rows())
    monkeypatch.setattr(ordering, "SMALL", 30)
    monkeypatch.setattr(ordering, "FETCHED", 40)
    plain = answers(kept, UNIT)
    give_many(monkeypatch)
    assert answers(kept, MANY) == plain
    assert plain[-1] * MANY > 1 << 66


@pytest.mark.parametrize("panel", CLUSTERS, indirect=True)
def test_engines_add_up_units_beyond_64_bits(panel, monkeypatch):
    """Spark went round, or raised. It takes a second per question, so these are few."""
    give_many(monkeypatch)
    theirs, table = people(panel(rows(30)), "who"), rows(30).to_pydict()
    share = {who: Fraction(1, table["who"].count(who)) for who in table["who"]}
    column = theirs.column("y")
    certain = replace(column, certain=True)
    assert certain.valued == 30 * MANY
    below = sum(share[who] for who, y in zip(table["who"], table["y"], strict=True) if y < 0.5)
    assert certain._scans.counts([0.5]).below == [below * MANY]
    (_, first), (_, second) = zip(*theirs._inner.units("ward", Weights()), strict=True)
    assert first + second == 30 * MANY


def test_integers_are_those_of_64_bits_while_there_is_room():
    most = ROOM // UNIT
    assert most * UNIT < ROOM <= (most + 1) * UNIT
    assert most > 860_000_000
    scale, ranks = Scale(UNIT), np.array([1, most, most + 1, 1 << 40])
    assert scale.places(ranks[:2]).dtype == np.int64
    assert scale.places(ranks).tolist() == [(2 * int(r) - 1) * UNIT // 2 for r in ranks]
    assert scale.ranks(scale.places(ranks)).tolist() == ranks.tolist()
    far = Known(1 << 80, (1 << 80) + 7, np.array([1.0, 2.0]), np.array([(1 << 80) + 3, (1 << 80) + 7]))
    assert far.at(np.array([1 << 80, (1 << 80) + 4])).tolist() == [1.0, 2.0]
    assert [f.tolist() for f in Known(5, 1 << 80, np.array([3.0])).jumps()] == [[3.0], [1 << 80]]
    read = Weighed(np.array([1.0, 2.0, 4.0]), np.full(3, UNIT))
    assert crossed(read, (1 << 50) * UNIT, scale) == crossed(read, 0, scale) == 7 << 1074


def test_histograms_of_more_people_than_64_bits_have_units_for():
    few, many = np.array([2_000, 500, 7_000]) * UNIT, np.array([3 * 10**9, 500, 10**10]).astype(object) * UNIT
    cells = ("a", "b", "c")
    for told in ({"keys": ["a", "c", "d"]}, {"delta": 1e-9}):
        told = {**told, "epsilon": 1, "adjacency": ADD_REMOVE.by_person("id")}
        made = [
            histogram(PeopleTally(cells, units, 10**10), **told, entropy=SeededEntropy(1))
            for units in (few, few.astype(object), many)
        ]
        assert {one.value.counts.dtype for one in made} == {np.dtype(np.float64)}
        assert (made[0].value.counts == made[1].value.counts).all()
        assert list(made[0].interval()[0]) == list(made[1].interval()[0])
        assert abs(made[2].value["c"] - 10**10) < 100
        assert abs(made[2].value["a"] - 3 * 10**9) < 100


def in_memory(unit):
    """What is made of rows in memory, with units as fractions of a person."""
    table = {name: np.array(values, dtype=float) for name, values in rows(90).to_pydict().items()}
    owners, cells = table["who"].astype(int), table["ward"].astype(int)
    column = PeopleColumn(ArrayColumn(table["y"], integers=False), owners, 90)
    found = column.ordered([(5, 9), (80, 88)])
    values, up_to = column.cumulated()
    ends = tail_counts.Tails.read(column, 3, 1, 1)
    return (
        found.at(np.arange(-1, 93)).tolist(),
        [(v, Fraction(int(f), unit)) for v, f in zip(*found.jumps(5, 9), strict=True)],
        found.total(6, 85),
        (values.tolist(), [Fraction(int(f), unit) for f in up_to]),
        [Fraction(one, unit) for one in column.inside(-0.5, 0.7)],
        (column.by_rows(2).size, column.size),
        [PeopleRange(column, (20, 55), 6).interval(k) for k in range(7)],
        [Fraction(int(one), unit) for one in spread.table(cells, owners, 90, Weights(), 2)],
        ([Fraction(int(one), unit) for one in ends.below(values)], Fraction(ends.outside(-1.0, 1.0), unit)),
        [Fraction(int(one), unit) for one in Bins.of(table["y"][:, None], np.ones(1), column.units).counts],
        [[Fraction(int(one), unit) for one in part] for part in counted([column], DensityBox((-1.0,), (1.0,)))[1:]],
    )


def test_units_beyond_64_bits_in_memory(monkeypatch):
    """They went round: of 1.7 billion people, whose rows take some 80 GB."""
    monkeypatch.setattr(people_order, "FEW", 30)
    monkeypatch.setattr(people_order, "SAMPLE", 40)
    plain = in_memory(UNIT)
    for module in (uptack.columns.people, spread, uptack.reach.people_range, tail_counts):
        monkeypatch.setattr(module, "UNIT", MANY)
    assert in_memory(MANY) == plain
    assert plain[3][1][-1] * MANY > 1 << 67
