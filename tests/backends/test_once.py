"""Tables that are small by their number of rows are read once: few queries, one state, the same bits, a bound."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import uptack as ut
from tests.answers import part
from uptack.report.profile import plan, profile
from uptack.table import snapshots
from uptack.table.engine import table as engine_table
from uptack.table.engine.rows import EngineRows
from uptack.table.engine.table import EngineTable
from uptack.table.memory.rows import MemoryRows, Selection, order_of
from uptack.table.opening import open_table
from uptack.table.unit import ROW

ROWS = 3000
TYPES = {"age": "integer", "cost": "number", "ward": "text", "ill": "boolean"}


def rows(seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    gone = rng.random(ROWS) < 0.1
    return pa.table(
        {
            "age": pa.array(rng.integers(0, 2**60 if seed > 1 else 100, ROWS), mask=gone),
            "cost": pa.array(rng.lognormal(6, 1, ROWS), mask=gone[::-1]),
            "ward": rng.choice(["north", "south", "east"], ROWS),
            "ill": pa.array(rng.random(ROWS) < 0.2, mask=np.roll(gone, 7)),
        }
    )


@pytest.fixture
def asked(monkeypatch) -> list[object]:
    """A list that gets longer with every query."""
    found, run = list[object](), snapshots.run_query
    monkeypatch.setattr(snapshots, "run_query", lambda con, read: found.append(read) or run(con, read))
    return found


def put(tmp_path, form: str, table: pa.Table) -> ut.Session:
    path, entropy = tmp_path / f"rows.{form}", ut.SeededEntropy(3)
    (pa.csv if form == "csv" else pa.parquet).__dict__[f"write_{'csv' if form == 'csv' else 'table'}"](table, path)
    return ut.open(path, entropy=entropy, **({"types": TYPES} if form == "csv" else {}))


def made(session: ut.Session, delta: float = 0) -> dict:
    return profile(session, 9, delta, progress=False).to_dict()


@pytest.mark.parametrize(("form", "delta"), [("csv", 0), ("parquet", 1e-6)])
def test_a_report_makes_few_queries_and_holds_nothing_afterwards(tmp_path, asked, form, delta):
    session = put(tmp_path, form, rows())
    made(session, delta)
    assert len(asked) <= 1 + len(TYPES) + 2  # the number of rows, each column, and how often categories have a value
    assert not snapshots.state(session.source._con).columns


def test_their_number_does_not_depend_on_rows(tmp_path, asked):
    """Figures are asked for by public numbers, so no row decides what is read."""
    numbers = []
    for table in (rows(), rows(2), rows().set_column(1, "cost", pa.nulls(ROWS, pa.float64()))):
        session = put(tmp_path, "parquet", table)
        asked.clear()
        for statistic in ("median", "trimmed_mean", "mad", "variance"):
            getattr(session["cost"], statistic)(epsilon=1)
        numbers.append(len(asked))
    assert set(numbers) == {8}  # a state each, in which rows are counted and the column is read


def test_a_plan_counts_the_rows_and_reads_nothing_else(tmp_path, asked):
    plan(put(tmp_path, "parquet", rows()), 9)
    assert len(asked) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_bits_as_from_memory_and_from_the_engine(tmp_path, asked, monkeypatch, seed):
    table = rows(seed)
    here = made(ut.open(table, entropy=ut.SeededEntropy(3)))
    once = made(put(tmp_path, "parquet", table))
    few = len(asked)
    monkeypatch.setattr(engine_table, "COLUMN", 0)
    streamed = made(put(tmp_path, "parquet", table))
    assert len(asked) > 3 * few
    assert here == once == streamed


def test_what_is_held_is_bounded_by_the_number_of_rows(tmp_path, asked, monkeypatch):
    monkeypatch.setattr(engine_table, "ALL", 2 * 16 * ROWS)
    names = [f"c{i}" for i in range(4)]
    session = put(tmp_path, "parquet", pa.table({name: np.arange(float(ROWS)) for name in names}))
    with session.source.snapshot():
        found = [session.source.column(name).rows for name in (*names, "c3", "c2", "c0")]
        assert len(asked) == 1 + 5  # c3 and c2 are still there, c0 is not
        assert len(snapshots.state(session.source._con).columns) == 2
    assert found[3] is found[4]
    assert found[0] is not found[6]


def test_groups_of_a_large_table_stay_with_the_engine(tmp_path, monkeypatch):
    """Else the number of rows in a group, which is secret, would decide what is read."""
    table = put(tmp_path, "parquet", rows()).source
    assert isinstance(part(table, "ward", "north").column("cost").rows, MemoryRows)
    monkeypatch.setattr(engine_table, "COLUMN", 8 * ROWS - 1)
    assert isinstance(part(table, "ward", "nowhere").column("cost").rows, EngineRows)
    assert isinstance(table.column("cost").drop().rows, EngineRows)


def test_a_report_sees_one_state(tmp_path, monkeypatch):
    """What another connection adds meanwhile is not in it."""
    import ibis

    put(tmp_path, "parquet", rows())
    base = ibis.duckdb.connect(tmp_path / "rows.duckdb")
    base.con.execute(f"CREATE TABLE visits AS FROM '{tmp_path}/rows.parquet'")
    table = base.table("visits")
    other, column = base.con.cursor(), EngineTable.column

    def add(self, name):
        other.execute("INSERT INTO visits SELECT * FROM visits LIMIT 100")
        return column(self, name)

    before = made(ut.open(table, entropy=ut.SeededEntropy(3)))
    monkeypatch.setattr(EngineTable, "column", add)
    assert made(ut.open(table, entropy=ut.SeededEntropy(3))) == before
    assert open_table(table).size > ROWS


def test_figures_from_before_a_file_changed_stay(tmp_path, monkeypatch):
    """A report was paid for. What was released before the file changed is in it, and no more."""
    session, table = put(tmp_path, "parquet", rows()), rows(2)
    column = EngineTable.column

    def replaced(self, name):
        if name == "cost":
            pa.parquet.write_table(table, tmp_path / "rows.parquet")
        return column(self, name)

    monkeypatch.setattr(EngineTable, "column", replaced)
    age, cost, _, ill = profile(session, 9, progress=False).columns
    assert age["median"].value is not None
    assert cost["median"].value is None
    assert "could not be read" in ill.releases[-1].note


def test_a_text_that_is_none_does_not_stop_a_report_of_people(tmp_path):
    """One such cell makes DuckDB fail on the file. It is read in another way then, and tables of people stay."""
    n = 200
    cells = pa.array([b"north"] * (n - 1) + [b"\xff"], pa.binary())
    ward = pa.Array.from_buffers(pa.string(), n, cells.buffers())
    pa.parquet.write_table(pa.table({"who": np.arange(n), "ward": ward}), tmp_path / "rows.parquet")
    session = ut.open(tmp_path / "rows.parquet", person="who", entropy=ut.SeededEntropy(3))
    made = session["ward"].histogram(epsilon=5, delta=1e-6)
    assert list(made.value) == ["north"]


def test_windows_one_after_the_other_are_those_of_a_sort():
    """Exhaustively for few rows: all pairs of windows, then random ones on more rows, with ties and without a value."""
    rng = np.random.default_rng(5)
    few = [(a, b) for a in range(-1, 5) for b in range(a, 6)]
    for first in few:
        for second in few:
            check(rng.integers(0, 3, 4).astype(float), [[first], [second], [first, second]])
    for n in (1, 40, 300):
        for _ in range(30):
            values = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, rng.integers(1, 2 * n + 1), n).astype(float))
            ends = np.sort(rng.integers(-5, n + 6, (6, 3, 2)), axis=2)
            check(values, [[(int(a), int(b)) for a, b in some] for some in ends])


def check(values: np.ndarray, asked: list[list[tuple[int, int]]]) -> None:
    held, known = Selection(values.copy()), list[tuple[int, int]]()
    for windows in asked:
        held.order(windows, ROW)
        known += windows
        ours, plain = held.order(known, ROW), order_of(values, known, ROW)
        for a, b in known:
            ranks = np.arange(a, b + 1)
            np.testing.assert_array_equal(ours.at(ranks), plain.at(ranks))
            whole = np.r_[-np.inf, np.sort(values), np.inf][np.clip(ranks, 0, values.size + 1)]
            np.testing.assert_array_equal(ours.at(ranks), whole)
    np.testing.assert_array_equal(np.sort(held.values), np.sort(values))
