"""Files and DuckDB: names, encodings, collations, errors that quote a cell, tables that change."""

import gc
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import uptack as ut
from tests.answers import categories, in_order, matrix, part_size
from tests.answers import part as group
from uptack.cli import main
from uptack.errors import InvalidArgument, UptackError
from uptack.table import snapshots
from uptack.table.engine import private_folders
from uptack.table.opening import open_table

SECRET = "Ada-has-the-flu"


def invalid(texts):
    """A column of texts that are bytes of any kind."""
    return pa.Array.from_buffers(pa.string(), len(texts), pa.array(texts, pa.binary()).buffers())


def bare(error):
    """What is to be seen of an error, with all that hangs on it."""
    assert error.__context__ is None
    assert error.__cause__ is None
    assert SECRET not in str(error)


@pytest.fixture
def base():
    """A connection to DuckDB of a user's own."""
    return ibis.duckdb.connect()


@pytest.mark.parametrize("first", ["flu", "Flu"])
def test_spellings_are_different_keys_whatever_the_collation(base, first):
    base.raw_sql("CREATE TABLE t (dx VARCHAR COLLATE NOCASE, x DOUBLE)")
    base.con.executemany("INSERT INTO t VALUES (?, 1)", [[first], *[["flu"]] * 300, *[["FLU"]] * 20])
    rows = open_table(base.table("t"))
    assert categories(rows, "dx") == {"flu": 300 + (first == "flu"), "FLU": 20} | ({first: 1} if first == "Flu" else {})
    assert part_size(rows, "dx", "FLU") == 20
    assert part_size(rows, "dx", "fLU") == 0
    assert open_table(base.table("t"), person="dx").size == (3 if first == "Flu" else 2)
    session = ut.open(rows, entropy=ut.SeededEntropy(1))
    assert abs(session["dx"].histogram(keys=["flu"], epsilon=1).value.counts[0] - 300) < 40


def test_texts_of_any_kind_can_be_asked_for(tmp_path):
    texts = ["", "a'b", "\\x66", "a\0b", "⊥ ü", '"']
    pq.write_table(pa.table({"s": texts}), tmp_path / "t.parquet")
    rows = open_table(tmp_path / "t.parquet")
    for text in texts:
        assert part_size(rows, "s", text) == 1, text
    assert part_size(rows, "s", "\udcff") == 0


CASTS = f"CREATE VIEW v AS SELECT CAST(s AS DOUBLE) AS x, s AS s FROM (VALUES ('1'), ('{SECRET}'), ('2')) AS t(s)"


def test_a_view_that_casts_shows_no_cell(base, tmp_path, capsys):
    base.raw_sql(CASTS)
    session = ut.open(base.table("v").filter(base.table("v").x > 0), entropy=ut.SeededEntropy(1))
    for ask in (
        lambda: session["x"].median(epsilon=1),
        lambda: session.plan([ut.Request("median", "x", epsilon=1)]),
        session.describe,
        lambda: session.source.size,
        lambda: matrix(session.source, "x"),
        lambda: categories(session.source, "x"),
        lambda: session.source.column("x").sum(lambda x: [float(x.sum())]),
    ):
        with pytest.raises(UptackError) as error:
            ask()
        bare(error.value)
    with duckdb.connect(str(tmp_path / "base.duckdb")) as con:
        con.execute("CREATE TABLE w AS SELECT s FROM (VALUES ('1'), ('" + SECRET + "')) AS t(s)")
        con.execute("CREATE VIEW v AS SELECT * FROM (SELECT CAST(s AS DOUBLE) AS x FROM w) WHERE x > 0")
    for command in (["median", "x", "-e", "1"], ["plan", "median:x:1"]):
        assert main([command[0], f"{tmp_path}/base.duckdb::v", *command[1:]]) == 2
        printed = capsys.readouterr()
        assert SECRET not in printed.out + printed.err


def test_errors_of_a_release_have_no_context(monkeypatch):
    session = ut.open({"x": np.arange(500.0)}, entropy=ut.SeededEntropy(1))

    def fails(self, name):
        try:
            float(SECRET)
        except ValueError:
            raise UptackError("typed, inside the block") from None

    for failing in (fails, lambda self, name: float(SECRET)):
        monkeypatch.setattr(type(session.source), "column", failing)
        with pytest.raises(UptackError) as error:
            session["x"].median(epsilon=1)
        bare(error.value)


def test_bytes_that_are_no_text_are_missing(tmp_path):
    texts = invalid([b"flu"] * 4000 + [b"\xff\xfe"] + [b"cold"] * 999)
    ward = pa.array(["A", "B"] * 2500).dictionary_encode()
    table = pa.table({"dx": texts, "x": np.arange(5000), "ward": ward, "long": texts.cast(pa.large_string())})
    pq.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, str(tmp_path / "t.feather"))
    for name in ("t.parquet", "t.feather"):
        rows = open_table(tmp_path / name)
        assert dict(rows.kinds) == {"dx": "text", "x": "integer", "ward": "text", "long": "text"}
        assert categories(rows, "dx") == categories(rows, "long") == {"cold": 999, "flu": 4000, None: 1}
        assert categories(rows, "ward") == {"A": 2500, "B": 2500}
        assert in_order(group(rows, "dx", None).column("x")).tolist() == [4000.0]
        assert part_size(rows, "dx", "flu") == 4000
        assert categories(rows, "x")[7] == 1
        session = ut.open(tmp_path / name, entropy=ut.SeededEntropy(1))
        assert session["dx"].histogram(keys=["flu"], epsilon=5).value.counts[0] > 0
        found = session["x"].median(epsilon=8, by="dx", groups=["flu"])
        assert found


def test_types_are_not_the_first_files(tmp_path):
    pq.write_table(pa.table({"x": pa.array([1, 2], pa.int32())}), tmp_path / "part-0.parquet")
    pq.write_table(pa.table({"x": pa.array([SECRET])}), tmp_path / "part-1.parquet")
    for part, cell in enumerate((1, SECRET)):
        pyarrow.feather.write_feather(pa.table({"x": [cell]}), str(tmp_path / f"part-{part}.feather"))
    with pytest.raises(InvalidArgument, match=r"part-1\.feather"):
        open_table(tmp_path / "part-*.feather")
    for name in ("part-*.parquet", ""):
        place = tmp_path / name if name else tmp_path.rename(tmp_path.with_name(tmp_path.name + ".parquet"))
        with pytest.raises(InvalidArgument, match=r"part-1\.parquet") as error:
            open_table(place)
        bare(error.value)


def test_folders_are_no_columns_unless_asked(tmp_path):
    for ward in ("ward=1", "ward=2", "ward=n%2Fa"):
        (tmp_path / "t.parquet" / ward).mkdir(parents=True)
        pq.write_table(pa.table({"x": [1], "s": invalid([b"\xff"])}), tmp_path / "t.parquet" / ward / "a.parquet")
    assert dict(open_table(tmp_path / "t.parquet").kinds) == {"x": "integer", "s": "text"}
    rows = open_table(tmp_path / "t.parquet", hive=True)
    assert dict(rows.kinds) == {"x": "integer", "s": "text", "ward": "text"}
    assert categories(rows, "ward") == {"1": 1, "2": 1, "n/a": 1}
    assert list(categories(rows, "s", "ward")) == [(None, "1"), (None, "2"), (None, "n/a")]


@pytest.mark.parametrize("end", ["parquet", "feather", "csv", "duckdb"])
def test_names_are_names(tmp_path, end):
    def put(name, value):
        path = tmp_path / name
        if end == "parquet":
            pq.write_table(pa.table({"x": [value]}), path)
        elif end == "feather":
            pyarrow.feather.write_feather(pa.table({"x": [value]}), str(path))
        elif end == "csv":
            path.write_text(f"x\n{value}\n")
        else:
            with duckdb.connect(str(path)) as con:
                con.execute(f"CREATE TABLE t AS SELECT {value} AS x")

    more = {"types": {"x": "integer"}} if end == "csv" else {}
    for value, name in enumerate((f"data1.{end}", f"data[1].{end}", f"da*a.{end}", f"a::b.{end}")):
        put(name, value)
        assert categories(open_table(tmp_path / name, **more), "x") == {value: 1}
    with pytest.raises(InvalidArgument, match="no file named"):
        open_table(tmp_path / f"nothing[1].{end}", **more)


def test_engines_are_checked_before_a_debit(tmp_path):
    with sqlite3.connect(tmp_path / "t.sqlite") as con:
        con.execute("CREATE TABLE t AS SELECT 1.0 AS x")
    con.close()
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=1)
    with pytest.raises(UptackError, match="sqlite") as error:
        ut.open(f"sqlite:///{tmp_path}/t.sqlite", table="t", ledger=ledger)
    bare(error.value)
    assert ledger.spent() == ut.Privacy(0)


def test_threads_share_a_session(tmp_path):
    pq.write_table(pa.table({"x": np.arange(200_000.0), "dx": ["flu", "cold"] * 100_000}), tmp_path / "t.parquet")
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=1000)
    session = ut.open(tmp_path / "t.parquet", ledger=ledger)
    found, failed = [], []

    def ask(place):
        try:
            for _ in range(2):
                found.append(session["x"].median(epsilon=1).value)
                found.append(session["dx"].histogram(keys=["flu"], epsilon=1).value.counts[0])
        except BaseException as error:
            failed.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=ask, args=(place,)) for place in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failed == []
    assert np.abs(np.array(found) - 100_000).max() < 200
    assert session.spent == ledger.spent() == ut.Privacy(32)


def test_spilled_rows_are_private_and_go_away(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n")
    rows = open_table(path, types={"x": "integer"})
    folder = snapshots.state(rows._con).folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert folder.stat().st_uid == os.getuid()
    ((where,),) = rows._con.con.execute("SELECT current_setting('temp_directory')").fetchall()
    assert Path(where).parent == folder
    assert (folder / "rows.parquet").exists()
    other = open_table(path, types={"x": "integer"})  # a sweep leaves folders of living processes alone
    assert rows.size == other.size == 1
    del rows
    gc.collect()
    assert not folder.exists()
    assert other.size == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv"]


def test_a_killed_process_is_swept_up_after(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    code = "\n".join(
        [
            "import os, signal, pathlib, sys",
            "from uptack.table.engine import private_folders as private",
            "class Owner: pass",
            "owner = Owner()",
            "(private.folder(owner) / 'rows').write_text('secret')",
            "os.kill(os.getpid(), signal.SIGKILL)",
        ]
    )
    child = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert child.returncode == -signal.SIGKILL
    (left,) = tmp_path.glob(f"{private_folders.PREFIX}*")
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    with private_folders.temporary() as mine:
        assert not left.exists()
        private_folders.sweep()
        assert mine.exists()
    assert list(tmp_path.iterdir()) == []


def test_each_release_counts_the_rows_anew(base):
    base.raw_sql("CREATE TABLE t AS SELECT i * 1.0 AS x FROM range(2000) AS r(i)")
    session = ut.open(base.table("t"), entropy=ut.SeededEntropy(1))
    assert abs(session["x"].median(epsilon=1).value - 1000) < 100
    base.raw_sql("INSERT INTO t SELECT 10000 + i FROM range(6000) AS r(i)")
    assert abs(session["x"].median(epsilon=1).value - 12000) < 200
    assert "8,000 rows" in session.describe()
    assert session.source.size == 8000


def test_a_release_reads_one_state(base, tmp_path):
    base.raw_sql("CREATE TABLE t AS SELECT i * 1.0 AS x FROM range(2000) AS r(i)")
    rows, other = open_table(base.table("t")), base.con.cursor()
    with rows.snapshot():
        assert rows.size == 2000
        other.execute("INSERT INTO t SELECT i FROM range(500) AS r(i)")
        assert rows.size == 2000
        assert rows.column("x").count() == 2000
        assert matrix(rows, "x").shape == (2000, 1)
        assert rows.column("x").sum(lambda x: [x.size]) == [2000]
    assert rows.size == 2500
    base.con.begin()
    with rows.snapshot():
        assert rows.size == 2500
    base.con.execute("INSERT INTO t VALUES (1)")  # the owner's own transaction goes on
    base.con.rollback()
    assert rows.size == 2500


def test_files_that_change_are_noticed(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": np.arange(2000.0)}), path)
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=10)
    session = ut.open(path, ledger=ledger)
    with pytest.raises(UptackError, match="changed while it was read"), session.source.snapshot():
        pq.write_table(pa.table({"x": np.arange(2001.0)}), path)
    with pytest.raises(UptackError, match="open them again"):
        session["x"].median(epsilon=1)
    assert ledger.spent() == ut.Privacy(0)
    assert ut.open(path)["x"].median(epsilon=1)


def test_without_transactions_the_rows_are_counted_before_and_after(base, monkeypatch):
    base.raw_sql("CREATE TABLE t AS SELECT i * 1.0 AS x FROM range(2000) AS r(i)")
    rows = open_table(base.table("t"))
    monkeypatch.setattr(snapshots, "_transaction", lambda con: nullcontext(False))
    with rows.snapshot():
        assert rows.size == 2000
    with pytest.raises(UptackError, match="changed while it was read") as error, rows.snapshot():
        base.raw_sql("INSERT INTO t VALUES (1)")
    bare(error.value)
