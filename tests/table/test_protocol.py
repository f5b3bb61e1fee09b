"""A table of an engine answers as the same table in memory does, to the last bit, and both as a plain definition."""

import functools
import os
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.table.questions import PERSON, Comparison, made, narrowed
from uptack.table import search
from uptack.table.engine import rows
from uptack.table.engine import table as engine_table
from uptack.table.engine.rows import EngineRows
from uptack.table.memory import rows as memory_rows
from uptack.table.memory.rows import MemoryRows
from uptack.table.opening import open_table
from uptack.table.unit import PrivacyUnit, U
from uptack.table.values.kinds import LARGEST


@pytest.fixture(params=["held", "few at a time", "engine"])
def place(request, monkeypatch):
    """Small tables in memory, and in the engine with searches of several rounds or of one."""
    if request.param != "held":
        monkeypatch.setattr(engine_table, "COLUMN", 0)
    if request.param == "few at a time":
        for name in ("SMALL", "FETCHED"):
            monkeypatch.setattr(search, name, 60)
        monkeypatch.setattr(memory_rows, "SORTED", 60)
        monkeypatch.setattr(memory_rows.ArrayScans, "small", 60)
        monkeypatch.setattr(rows, "HELD", 200)
    return request.param


def opened(tmp_path, seed, n, person):
    """The same table in memory and in a file."""
    table, path = made(seed, n), tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=100)
    return open_table(path, person=person), open_table(table, person=person)


CASES = [
    *(("held", *case) for case in (("rows", "all"), ("people", "some"), ("two columns", "text"))),
    *(("held", *case) for case in (("rows", "text"), ("people", "none"), ("two columns", "some"))),
    *(("few at a time", *case) for case in (("rows", "some"), ("people", "all"), ("people", "text"))),
    *(("few at a time", *case) for case in (("rows", "none"), ("two columns", "some"))),
    *(("engine", *case) for case in (("rows", "all"), ("people", "some"), ("people", "none"))),
    *(("engine", *case) for case in (("rows", "text"), ("two columns", "all"))),
]
"""Where rows are held and in the engine: each kind of ids and each condition, one of them in a case."""
PART = {"held": (0.06, 0.01), "few at a time": (0.03, 0.01), "engine": (0.03, 0.01)}
"""How many of all questions a case asks of rows and of people, each another random part: some take many queries."""
RARE = 30
"""How many times that part it asks of questions with one form or two."""


@pytest.mark.parametrize(("place", "person", "where"), CASES, indirect=["place"])
def test_an_engine_answers_as_memory_does(tmp_path, place, person, where):
    seed = CASES.index((place, person, where))
    tables = opened(tmp_path, seed, 37 if place == "held" else 300, PERSON[person])
    ours, theirs = (narrowed(table, where) for table in tables)
    part = 1.0 if os.environ.get("HYPOTHESIS_PROFILE") == "search" else PART[place][ours.unit.people]
    with ours.snapshot():
        Comparison(seed, part, rare=RARE * part).tables(ours, theirs)


def brute(values, whose, unit):
    """The definition in plain Python: n, z(1), ..., z(n) of rows with a value, and the values with their units."""
    m, units = Counter(whose), Counter()
    for value, person in zip(values, whose, strict=True):
        each = U // m[person] if unit.people else 1
        units[value] += each if unit.at_most is None else min(each, U // unit.at_most)
    total, most = sum(units.values()), U if unit.people else 1
    n = len(m) if unit.people and unit.at_most is None else (total + most // 2) // most
    up_to, found = 0, []
    for value in sorted(units):
        up_to += units[value]
        found += [value] * (min((2 * up_to + most) // (2 * most) if unit.people else up_to, n) - len(found))
    return n, found, units


UNITS = [PrivacyUnit(), PrivacyUnit(("id",), "people"), PrivacyUnit(("id",), "rows", 4)]
SUMS = [
    (place, unit, "xi"[(row + column) % 2])
    for row, place in enumerate(("held", "few at a time", "engine"))
    for column, unit in enumerate(UNITS)
]
"""Every place with every unit, and each of them with floats and with integers."""


@pytest.mark.parametrize(("place", "unit", "name"), SUMS, indirect=["place"])
def test_order_statistics_and_exact_sums_are_the_definition(tmp_path, place, unit, name):
    table = made(4, 400)
    lines = zip(table[name].to_pylist(), table["id"].to_pylist(), strict=True)
    lines = [(x, who) for x, who in lines if (who is not None or not unit.people) and x is not None and x == x]
    n, ordered, _ = brute([min(max(float(x), -LARGEST), LARGEST) for x, _ in lines], [who for _, who in lines], unit)
    a, b = n // 4, n - n // 4
    for one in opened(tmp_path, 4, 400, "id" if unit.people else None):
        with one.snapshot():
            column = one.with_unit(unit).column(name).drop()
            found, apart = column.order([(1, n)]), column.order([(a, a), (b, b)])
            assert column.count() == found.n == n
            assert found.at(np.arange(1, n + 1)).tolist() == [v + 0.0 for v in ordered]
            assert found.total(1, n) == sum(map(Fraction, ordered)) * 2**1074
            assert apart.total(a, b) == sum(map(Fraction, ordered[a - 1 : b])) * 2**1074  # between two windows


@pytest.mark.parametrize(
    "unit",
    [
        PrivacyUnit(),
        PrivacyUnit(("id",), "people"),
        PrivacyUnit(("id",), "rows", 4),
        PrivacyUnit(("id",), "any", 1),
        PrivacyUnit(("id",), "any", 2),
    ],
)
def test_counts_are_the_definition(tmp_path, place, unit):
    table, wanted, theirs = made(6, 300), Counter(), defaultdict(Counter)
    lines = zip(table["g"].to_pylist(), table["id"].to_pylist(), strict=True)
    lines = [(g or "", who) for g, who in lines if who is not None or not unit.people]
    for g, who in lines:
        theirs[who][g] += 1
    if unit.share == "any":
        for cells in theirs.values():
            wanted.update(sorted(cells, key=lambda g, cells=cells: (-cells[g], g == "", g))[: unit.at_most])
    else:
        wanted = brute(*zip(*lines, strict=True), unit)[2]
    wanted = {key or None: units for key, units in wanted.items()}
    for one in opened(tmp_path, 6, 300, "id" if unit.people else None):
        with one.snapshot():
            found = one.with_unit(unit).counts([one.column("g")])
            assert {key: int(units) for (key,), units in zip(found.keys, found.units, strict=True)} == wanted
            if unit.share == "any":
                groups, some = one.groups(["g"]).within(unit.at_most), list(wanted)[:2]
                assert dict(zip(*groups.sizes(), strict=True)) == wanted
                assert dict(zip(*groups.sizes(unit), strict=True)) == wanted
                parts = {g: groups.part(g).column("x").count() for g in wanted}
                assert parts == wanted
                numbers = Counter(len(cells) for cells in theirs.values())
                found = one.cells_per_person(one.column("g"))
                assert {k: int(n) for k, n in enumerate(found) if n} == numbers
                assert groups.per_person().tolist() == found.tolist()
                own = Counter(sum((g or "") in cells for g in some) for cells in theirs.values())
                inside = groups.among(some).per_person()
                assert {k: int(n) for k, n in enumerate(inside) if n} == {k: n for k, n in own.items() if k}


def added(rows):
    """From the least on."""
    return functools.reduce(float.__add__, rows, 0.0)


@pytest.mark.parametrize("how", ["mean", "sum", "median", "count", "min", "max"])
def test_numbers_of_people_are_the_definition(tmp_path, place, how):
    table, theirs = made(9, 300), defaultdict(list)
    for y, who in zip(table["y"].to_pylist(), table["id"].to_pylist(), strict=True):
        if who is not None:
            theirs[who].append(y)
    made_of = {
        "sum": added, "count": len, "min": min, "max": max, "mean": lambda rows: added(rows) / len(rows),
        "median": lambda rows: rows[(len(rows) - 1) // 2],
    }[how]  # fmt: skip
    wanted = sorted(made_of(sorted(rows)) for rows in theirs.values())
    for one in opened(tmp_path, 9, 300, "id"):
        with one.snapshot():
            found = one.column("y").drop().per_person(how).order([(1, len(wanted))])
            assert found.at(np.arange(1, len(wanted) + 1)).tolist() == wanted


def test_small_tables_are_read_and_large_ones_stay(tmp_path, place):
    one, _ = opened(tmp_path, 2, 100, None)
    with one.snapshot():
        rows = one.column("x").drop().rows
        assert isinstance(rows, MemoryRows if place == "held" else EngineRows)
        if place == "held":
            assert one.column("x").drop().rows is rows  # figures share the work
