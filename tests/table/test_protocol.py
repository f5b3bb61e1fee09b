"""A table of an engine answers as the same table in memory does, to the last bit, and both as a plain definition."""

import pyarrow.parquet as pq
import pytest

from tests.table.questions import CONDITIONS, PERSON, Comparison, made, narrowed
from uptack.table import search
from uptack.table.engine import held, rows
from uptack.table.memory import order
from uptack.table.opening import open_table


@pytest.fixture(params=["held", "few at a time", "engine"])
def place(request, monkeypatch):
    """Small tables in memory, and in the engine with searches of several rounds or of one."""
    if request.param != "held":
        monkeypatch.setattr(held, "COLUMN", 0)
    if request.param == "few at a time":
        for name in ("SMALL", "FETCHED"):
            monkeypatch.setattr(search, name, 60)
        monkeypatch.setattr(order, "SORTED", 60)
        monkeypatch.setattr(order.ArrayScans, "small", 60)
        monkeypatch.setattr(rows, "HELD", 200)
    return request.param


def opened(tmp_path, seed, n, person):
    """The same table in memory and in a file."""
    table, path = made(seed, n), tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=100)
    return open_table(path, person=person), open_table(table, person=person)


CASES = [(person, where) for person in PERSON for where in CONDITIONS]


@pytest.mark.parametrize(("person", "where"), CASES)
def test_an_engine_answers_as_memory_does(tmp_path, place, person, where):
    seed = 3 * CASES.index((person, where)) + len(place)
    tables = opened(tmp_path, seed, 37 if place == "held" else 700, PERSON[person])
    ours, theirs = (narrowed(table, where) for table in tables)
    with ours.snapshot():
        Comparison(seed, 0.1 if ours.unit.people else 0.3).tables(ours, theirs)
