"""Making sources: forms of data in memory, files by extension, and what goes wrong."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.answers import categories, matrix, part_size
from uptack.errors import InvalidArgument, UptackError
from uptack.table import search
from uptack.table.engine import table as engine_table
from uptack.table.engine.files import guess_types
from uptack.table.engine.rows import QueryScans
from uptack.table.opening import open_table


def test_arrays():
    assert dict(open_table(np.arange(3)).kinds) == {"x": "integer"}
    table = open_table(np.array([[1.0, 2.0], [3.0, np.nan]]))
    assert dict(table.kinds) == {"x0": "number", "x1": "number"}
    np.testing.assert_array_equal(matrix(table, "x1", "x0"), [[2, 1], [np.nan, 3]])
    records = np.array([(1, "a"), (2, "b")], dtype=[("n", "i4"), ("s", "U1")])
    assert list(categories(open_table(records), "s", "n")) == [("a", 1), ("b", 2)]


def test_masked_values_are_not_read():
    secret = np.ma.MaskedArray([1, 999, 3], [False, True, False])
    table = open_table({"x": secret})
    assert categories(table, "x") == {1: 1, 3: 1, None: 1}
    assert np.isnan(matrix(table, "x")[1, 0])
    assert table.column("x").integers


def test_times():
    times = np.array(["2024-02-29T12:00", "NaT"], "datetime64[ns]")
    table = open_table({"t": times})
    assert dict(table.kinds) == {"t": "time"}
    assert [str(key) for key in categories(table, "t")] == ["2024-02-29 12:00:00", "None"]


def test_categorical_types():
    texts = pd.DataFrame({"c": pd.Categorical(["a", "b", None]), "n": pd.Categorical([1, 2, 2])})
    assert dict(open_table(texts).kinds) == {"c": "text", "n": "text"}
    assert categories(open_table(texts), "c") == {"a": 1, "b": 1, None: 1}
    assert part_size(open_table(texts), "n", 2) == 2
    arrow = pa.table({"c": pa.array(["a", "b", "a"]).dictionary_encode()})
    assert categories(open_table(arrow), "c") == {"a": 2, "b": 1}
    polars = pl.DataFrame({"c": pl.Series(["a", None], dtype=pl.Categorical)})
    assert categories(open_table(polars), "c") == {"a": 1, None: 1}


def test_lazy_frames_and_record_batches():
    assert open_table(pl.LazyFrame({"x": [1, 2]}).filter(pl.col("x") > 1)).size == 1
    assert open_table(pa.RecordBatch.from_pydict({"x": [1, 2]})).column("x").integers


@pytest.mark.parametrize(
    ("data", "options", "word"),
    [
        (3, {}, "data must be an array"),
        ([1, 2], {}, "data must be an array"),
        ({"x": [1], "y": [1, 2]}, {}, "columns of equal length"),
        ({"x": np.ones((2, 2))}, {}, "one-dimensional"),
        ({"x": [1]}, {"table": "t"}, "table must be left out"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "different names"),
        ("rows.xlsx", {}, "a file that ends in .csv"),
        ("nowhere.parquet", {}, "no file named"),
        ("nowhere.parquet", {"types": {"x": "integer"}}, "types must be left out for parquet"),
        ("nowhere.csv", {"table": "x"}, "table must be left out for csv"),
        ("nowhere.parquet", {"memory": "much"}, "a size such as '2GB'"),
        ("nowhere.parquet", {"threads": 0}, "threads must be an integer of at least 1"),
    ],
)
def test_misuse(data, options, word):
    with pytest.raises(InvalidArgument, match=word):
        open_table(data, **options)


def test_types_of_a_csv_file_look_at_every_row(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("n,s\n" + "1,x\n" * 50_000 + "n/a,y\n")
    assert guess_types(path) == {"n": "integer", "s": "text"}
    assert dict(open_table(path, types="guess").kinds) == {"n": "integer", "s": "text"}
    with path.open("a") as file:
        file.write("soon,z\n")
    assert guess_types(path) == {"n": "text", "s": "text"}
    stated = open_table(path, types={"n": "integer"})
    assert dict(stated.kinds) == {"n": "integer", "s": "text"}
    assert categories(stated, "n") == {1: 50_000, None: 2}
    assert stated.column("n").filled(0.0).order([(2, 3)]).at(np.array([2, 3])).tolist() == [0.0, 1.0]
    with pytest.raises(InvalidArgument, match="Did you mean 'n'"):
        open_table(path, types={"nn": "integer"})
    with pytest.raises(InvalidArgument, match="one of 'integer'"):
        open_table(path, types={"n": "int"})


def test_a_csv_file_with_another_dialect(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("a\tb c\n1\t'x, y'\n2\tz\n")
    rows = open_table(path, types={"a": "integer"})
    assert categories(rows, "a") == {1: 1, 2: 1}
    assert categories(rows, "b c") == {"'x, y'": 1, "z": 1}


def test_tables_of_a_database(tmp_path):
    path = str(tmp_path / "base.duckdb")
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE patients AS SELECT 7 AS age")
    assert categories(open_table(path), "age") == {7: 1}
    assert open_table(path, table="patients").size == 1
    with pytest.raises(InvalidArgument, match="Did you mean 'patients'"):
        open_table(f"{path}::patient")
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE visits AS SELECT 1 AS x")
    with pytest.raises(InvalidArgument, match="The tables are 'patients', 'visits'"):
        open_table(path)


def test_a_pattern_of_files(tmp_path):
    for part in range(3):
        pyarrow.parquet.write_table(pa.table({"x": [part, part]}), tmp_path / f"visits-{part}.parquet")
    assert categories(open_table(f"{tmp_path}/visits-[01].parquet"), "x") == {0: 2, 1: 2}


def test_sorted_files(tmp_path, monkeypatch):
    """A sample of whole vectors of a sorted file is a poor one: the answer is the same, and stays small."""
    rows, fetched = np.sort(np.random.default_rng(2).normal(size=400_000)), []
    pyarrow.parquet.write_table(pa.table({"x": rows}), tmp_path / "sorted.parquet", row_group_size=20_000)
    monkeypatch.setattr(engine_table, "COLUMN", 20_000)
    monkeypatch.setattr(search, "FETCHED", 20_000)
    monkeypatch.setattr(search, "SMALL", 20_000)
    fetch = QueryScans.fetch
    monkeypatch.setattr(QueryScans, "fetch", lambda self, gaps: fetched.append(fetch(self, gaps)) or fetched[-1])
    middle = open_table(tmp_path / "sorted.parquet").column("x").order([(199_900, 200_100)])
    np.testing.assert_array_equal(middle.at(np.arange(199_900, 200_101)), rows[199_899:200_100])
    assert sum(found[0].values.size for found in fetched) <= 20_000


def test_rows_without_an_owner_are_nobodys(tmp_path):
    rows = pa.table({"x": np.arange(4000.0), "who": pa.array([float("nan"), None, 1.0, -0.0, 0.0] * 800)})
    pyarrow.parquet.write_table(rows, tmp_path / "rows.parquet")
    for data in (rows, tmp_path / "rows.parquet"):
        people = open_table(data, person="who")
        assert people.size == people.trues(None) == 2
        assert people.spread() == (2400, 1600)


def test_engines_that_lack_what_we_ask_are_refused_when_opened(tmp_path):
    sqlite = pytest.importorskip("ibis.backends.sqlite")
    import ibis

    assert sqlite
    con = ibis.sqlite.connect(tmp_path / "table.sqlite")
    con.raw_sql("create table t (x real)").close()
    with pytest.raises(UptackError, match="sqlite"):
        open_table(con.table("t"))


def test_integers_beyond_signed_ones_can_be_groups(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"k": pa.array([2**64 - 1] * 4 + [1], pa.uint64())}), tmp_path / "t.parquet")
    rows = open_table(tmp_path / "t.parquet")
    assert part_size(rows, "k", 2**64 - 1) == 4
    assert part_size(rows, "k", -1) == 0
