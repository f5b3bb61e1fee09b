"""More people than integers of 64 bits have units for: from 1.7 billion on. Here a person has very many units instead.

All but the units is as it was, so what comes out must be: values to the last bit, and units as fractions of a person.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.answers import categories
from tests.helpers import people_column
from uptack import ADD_REMOVE, SeededEntropy, histogram
from uptack.densities.fourier import DensityBox, count_cells
from uptack.densities.kernel_density import Bins
from uptack.reach import differences
from uptack.reach.differences import PeopleRange
from uptack.statistics import moments
from uptack.table import search, unit
from uptack.table.engine.rows import QueryScans
from uptack.table.memory import rows as memory_rows
from uptack.table.memory.table import MemoryTable
from uptack.table.opening import open_table
from uptack.table.protocol import Columns
from uptack.table.search import Piece, WeightedRows, sum_of_ranks
from uptack.table.unit import ROOM, PrivacyUnit, U, wide
from uptack.table.values.entrance import field

MANY = 1 << 61
"""Units of a person, of which four are beyond 64 bits."""
PEOPLE = PrivacyUnit(("id",), "people")
CLUSTERS = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("spark", "postgres")]


def rows(n: int = 90) -> pa.Table:
    """People with one, two or four rows: powers of two, by which engines divide exactly, however many units."""
    rng = np.random.default_rng(5)
    owners = np.concatenate([np.repeat(np.arange(n), 1 << (np.arange(n) % 3))])
    x = np.round(rng.normal(size=owners.size), 1)
    gaps = np.repeat(np.arange(n), 1 << (np.arange(n) % 3)) % 7 == 3
    return pa.table({"who": owners, "x": pa.array(x, mask=gaps), "y": x, "ward": (owners % 5 * x > 0.3).astype(int)})


def halves(values: Any) -> Any:
    """Two cells of numbers, and none for those from 1 on."""
    floats = values.floats()
    return np.where(floats < 1.0, (floats > 0.0).astype(np.int64), -1)


def answers(kept, one):
    """What is asked of people, with units as fractions of one."""
    theirs = open_table(kept, person="who")
    column = theirs.column("x")
    gapless = column.drop()
    n = gapless.count()
    windows = [(5, 9), (n - 8, n - 3)]
    found = gapless.order(windows)
    beside = Columns([column, theirs.column("y")]).rows()
    ranks = np.concatenate([np.arange(a, b + 1) for a, b in windows])
    ordered = [each.at(ranks).tolist() for each in (found, *(beside.order(i, windows) for i in (0, 1)))]
    jumps = [[(v, Fraction(int(f), one)) for v, f in zip(*found.jumps(*w), strict=True)] for w in windows]
    spread = [PeopleRange(gapless, (20, 55), 6).interval(k) for k in range(7)]
    cells = [(key, Fraction(int(units), one)) for key, units in categories(theirs, "ward").items()]
    declared = [Fraction(int(units), one) for units in theirs.cells(theirs.column("y"), halves, 2)]
    total, held = found.total(6, windows[1][1]), sum(share for _, share in cells)
    return ordered, jumps, spread, cells, declared, total, theirs.size, beside.n, column.count(), held


def give_many(monkeypatch):
    """Everybody has many units from here on."""
    for module in (unit, differences, moments):
        monkeypatch.setattr(module, "U", MANY)


@pytest.mark.parametrize("panel", ["arrays", "duckdb"], indirect=True)
def test_units_beyond_64_bits(panel, monkeypatch):
    kept = panel(rows())
    monkeypatch.setattr(search, "SMALL", 30)
    monkeypatch.setattr(search, "FETCHED", 40)
    monkeypatch.setattr(memory_rows.ArrayScans, "small", 30)
    plain = answers(kept, U)
    give_many(monkeypatch)
    assert answers(kept, MANY) == plain
    assert plain[-1] * MANY > 1 << 66


@pytest.mark.parametrize("panel", CLUSTERS, indirect=True)
def test_engines_add_up_units_beyond_64_bits(panel, monkeypatch):
    """Spark went round, or raised. It takes a second per question, so these are few."""
    give_many(monkeypatch)
    theirs, table = open_table(panel(rows(30)), person="who"), rows(30).to_pydict()
    share = {who: Fraction(1, table["who"].count(who)) for who in table["who"]}
    asked = theirs.column("y").filled(0.0).rows
    assert asked._complete_size.units == 30 * MANY
    below = sum(share[who] for who, y in zip(table["who"], table["y"], strict=True) if y < 0.5)
    assert QueryScans(asked.complete, asked.unit, asked._weigh).count({0: [0.5]})[0].below == [below * MANY]
    assert sum(categories(theirs, "ward").values()) == 30 * MANY


def test_integers_are_those_of_64_bits_while_there_is_room():
    most = ROOM // U
    assert most * U < ROOM <= (most + 1) * U
    assert most > 860_000_000
    ranks = np.array([1, most, most + 1, 1 << 40])
    assert PEOPLE.place(wide(ranks[:2], most * U)).dtype == np.int64
    places = PEOPLE.place(wide(ranks, (1 << 40) * U))
    assert places.tolist() == [(2 * int(r) - 1) * U // 2 for r in ranks]
    assert PEOPLE.ranks(places).tolist() == ranks.tolist()
    far = Piece(1 << 80, (1 << 80) + 7, np.array([1.0, 2.0]), np.array([(1 << 80) + 3, (1 << 80) + 7]))
    assert far.at(np.array([1 << 80, (1 << 80) + 4])).tolist() == [1.0, 2.0]
    assert [f.tolist() for f in Piece(5, 1 << 80, np.array([3.0])).jumps()] == [[3.0], [1 << 80]]
    read = WeightedRows(np.array([1.0, 2.0, 4.0]), np.full(3, U))
    assert sum_of_ranks(read, (1 << 50) * U, PEOPLE) == sum_of_ranks(read, 0, PEOPLE) == 7 << 1074


@dataclass(frozen=True, eq=False)
class Counted(MemoryTable):
    """One row for each category, with units that are given, however people share theirs."""

    given: Any = None

    def _units(self, cells: Any, size: int) -> Any:
        found = np.zeros(size, self.given.dtype)
        np.add.at(found, cells[cells >= 0], self.given[cells >= 0])
        return found


def categories_with(units: Any) -> Any:
    """A column of categories a, b, ... that have so many units."""
    names = [chr(ord("a") + i) for i in range(len(units))]
    return Counted({"c": field("c", names)}, PEOPLE, np.arange(len(units)), 10**10, given=units).column("c")


def test_histograms_of_more_people_than_64_bits_have_units_for():
    few, many = np.array([2_000, 500, 7_000]) * U, np.array([3 * 10**9, 500, 10**10]).astype(object) * U
    for told in ({"keys": ["a", "c", "d"]}, {"delta": 1e-9}):
        told = {**told, "weights": "people", "epsilon": 1, "adjacency": ADD_REMOVE.by_person("id")}
        made = [
            histogram(categories_with(units), **told, entropy=SeededEntropy(1))
            for units in (few, few.astype(object), many)
        ]
        assert {one.value.counts.dtype for one in made} == {np.dtype(np.float64)}
        assert (made[0].value.counts == made[1].value.counts).all()
        assert list(made[0].interval()[0]) == list(made[1].interval()[0])
        assert abs(made[2].value["c"] - 10**10) < 100
        assert abs(made[2].value["a"] - 3 * 10**9) < 100


def in_memory(one):
    """What is made of rows in memory, with units as fractions of a person."""
    table = {name: np.array(values, dtype=float) for name, values in rows(90).to_pydict().items()}
    column = people_column(table["y"], table["who"].astype(int), 90)
    found = column.order([(5, 9), (80, 88)])
    values, up_to = column.order([(0, 91)]).jumps(0, 91)
    ends = moments.Tails.read(column, 3, 1, 1)
    return (
        found.at(np.r_[-1:1, 5:10, 80:89, 91:93]).tolist(),
        [(v, Fraction(int(f), one)) for v, f in zip(*found.jumps(5, 9), strict=True)],
        found.total(6, 85),
        (values.tolist(), [Fraction(int(f), one) for f in up_to]),
        [Fraction(each, one) for each in column.mass(-0.5, 0.7)],
        (column.sharing("rows", 2).count(), column.count()),
        [PeopleRange(column, (20, 55), 6).interval(k) for k in range(7)],
        ([Fraction(int(each), one) for each in ends.below(values)], Fraction(ends.outside(-1.0, 1.0), one)),
        [Fraction(int(each), one) for each in Bins.of(table["y"][:, None], np.ones(1), column.rows.weights).counts],
        [Fraction(int(each), one) for each in count_cells(Columns([column]), DensityBox((-1.0,), (1.0,)))[1]],
    )


def test_units_beyond_64_bits_in_memory(monkeypatch):
    """They went round: of 1.7 billion people, whose rows take some 80 GB."""
    monkeypatch.setattr(memory_rows.ArrayScans, "small", 30)
    plain = in_memory(U)
    give_many(monkeypatch)
    assert in_memory(MANY) == plain
    assert plain[3][1][-1] * MANY > 1 << 67
