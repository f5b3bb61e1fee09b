"""Tables of PostgreSQL and Spark answer as the same tables in memory do, to the last bit."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.table.questions import PERSON, Comparison, made, narrowed
from uptack.table import search
from uptack.table.engine import rows
from uptack.table.opening import open_table

ENGINES = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("spark", "postgres")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("person", "where", "few"), [("rows", "some", False), ("people", "text", True)])
def test_an_engine_answers_as_memory_does(request, tmp_path, monkeypatch, engine, person, where, few):
    if few:
        for name in ("SMALL", "FETCHED"):
            monkeypatch.setattr(search, name, 60)
        monkeypatch.setattr(rows, "HELD", 200)
    table = made(5, 300, zone="UTC")
    if engine == "spark":  # ibis does not say whether its times have a zone
        table = table.set_column(
            3, "t", pc.cast(pc.floor_temporal(table["t"], unit="day").cast(pa.timestamp("us")), pa.date32())
        )
    put = request.getfixturevalue(engine).put(table, tmp_path)
    ours = narrowed(open_table(put.table, person=PERSON[person]), where)
    theirs = narrowed(open_table(table, person=PERSON[person]), where)
    with ours.snapshot():
        Comparison(1, 0.003 if engine == "spark" else 0.03).tables(ours, theirs)
