"""Attacks on servers and clusters: collations, numbers beyond floats, errors that quote a cell, tables that change."""

import sys
import threading
from uuid import uuid4

import ibis
import numpy as np
import psycopg
import pytest

import uptack as ut
from tests.answers import categories, matrix, part, part_size
from uptack.errors import UptackError
from uptack.table.opening import open_table

SECRET = "Ada-has-the-flu"


@pytest.fixture
def table(postgres_uri):
    """Makes a table or a view of PostgreSQL from a query; a second connection changes it."""
    writer = psycopg.connect(postgres_uri, autocommit=True)
    con = ibis.postgres.from_connection(psycopg.connect(postgres_uri, autocommit=True))

    def made(query, kind="TABLE"):
        name = f"t{uuid4().hex}"
        writer.execute(f"CREATE {kind} {name} AS {query}")
        return con.table(name), name

    made.writer = writer
    yield made
    con.disconnect()
    writer.close()


@pytest.mark.xdist_group("postgres")
def test_numbers_beyond_floats(table):
    odd = ["'NaN'", "1e400", "-1e400", "1e-400", "-1e-400", "2.4e-324", "4.9e-324", "1.7976931348623157e308", "NULL"]
    cells = ", ".join(f"({cell}::numeric)" for cell in [*odd, *["10008"] * 9])
    rows = open_table(table(f"SELECT * FROM (VALUES {cells}) AS t(x)")[0])
    expected = {np.inf: 1, -np.inf: 1, 0.0: 3, 5e-324: 1, 1.7976931348623157e308: 1, 10008.0: 9, None: 2}
    assert categories(rows, "x") == expected
    assert rows.column("x").drop().count() == 16
    assert part_size(rows, "x", None) == 2
    found = np.sort(matrix(rows, "x")[:, 0])
    assert np.isnan(found[-2:]).all()
    assert rows.column("x").filled(0.0).order([(18, 18)]).at(np.array([18])).tolist() == [1.7976931348623157e308]


@pytest.mark.xdist_group("postgres")
def test_numeric_nan_is_dropped(table):
    cell = "CASE WHEN i % 2 = 0 THEN 'NaN'::numeric ELSE 10000 + i % 17 END"
    query = f"SELECT {cell} AS x FROM generate_series(1, 4000) i"
    session = ut.open(table(query)[0], entropy=ut.SeededEntropy(1))
    assert 10_000 <= session["x"].median(epsilon=1).value <= 10_016


@pytest.mark.xdist_group("postgres")
def test_a_view_that_casts_shows_no_cell(table):
    query = f"SELECT s::float8 AS x FROM (VALUES ('1'), ('{SECRET}')) AS t(s) WHERE s::float8 > 0"
    session = ut.open(table(query, "VIEW")[0], entropy=ut.SeededEntropy(1))
    for ask in (
        lambda: session["x"].median(epsilon=1),
        lambda: session.plan([ut.Request("median", "x", epsilon=1)]),
        session.describe,
        lambda: matrix(session.source, "x"),
    ):
        with pytest.raises(UptackError) as error:
            ask()
        assert error.value.__context__ is None
        assert SECRET not in str(error.value)
    assert ut.open(table("SELECT 1.5::float8 AS x")[0]).source.size == 1


@pytest.mark.xdist_group("postgres")
def test_spellings_are_different_keys(table):
    kind = "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    try:
        table.writer.execute(f"CREATE COLLATION nocase {kind}")
        collation = "COLLATE nocase"
    except psycopg.Error:  # a server without ICU has only collations that compare bytes; the query is seen all the same
        collation = ""
    cell = f"(CASE WHEN i = 1 THEN 'Flu' ELSE 'flu' END)::text {collation}"
    query = f"SELECT {cell} AS dx FROM generate_series(1, 300) i"
    expression, name = table(query)
    assert table.writer.execute(f"SELECT count(DISTINCT dx) FROM {name}").fetchall() == [(1 if collation else 2,)]
    rows = open_table(expression)
    assert "CONVERT_TO(" in ibis.to_sql(part(rows, "dx", "flu").table)
    assert categories(rows, "dx") == {"Flu": 1, "flu": 299}
    assert part_size(rows, "dx", "Flu") == 1


@pytest.mark.xdist_group("postgres")
def test_texts_of_any_kind_can_be_asked_for(table):
    texts = ["", "a'b", "\\x66", "⊥ ü", '"', "%s", "%"]
    expression, name = table("SELECT ''::text AS s WHERE false")
    for text in texts:
        table.writer.execute(f"INSERT INTO {name} VALUES (%s)", [text])
    rows = open_table(expression)
    assert categories(rows, "s") == dict.fromkeys(sorted(texts), 1)
    for text in texts:
        assert part_size(rows, "s", text) == 1, text
    assert part_size(rows, "s", "a\0b") == part_size(rows, "s", "\udcff") == 0


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("autocommit", [True, False])
def test_a_release_reads_one_state(table, postgres_uri, autocommit):
    name = table("SELECT i::float8 AS x FROM generate_series(1, 2000) i")[1]
    con = ibis.postgres.from_connection(psycopg.connect(postgres_uri, autocommit=autocommit))
    rows = open_table(con.table(name))
    session = ut.open(rows, entropy=ut.SeededEntropy(1))
    assert abs(session["x"].median(epsilon=1).value - 1000) < 100
    with rows.snapshot():
        assert rows.size == 2000
        table.writer.execute(f"INSERT INTO {name} SELECT 10000 + i FROM generate_series(1, 6000) i")
        assert rows.size == 2000
        assert matrix(rows, "x").shape == (2000, 1)
        assert rows.column("x").sum(lambda x: [x.size]) == [2000]
    assert rows.size == 8000
    assert abs(session["x"].median(epsilon=1).value - 12_000) < 200
    con.disconnect()


@pytest.mark.xdist_group("postgres")
def test_threads_share_a_session(table):
    session = ut.open(table("SELECT i::float8 AS x FROM generate_series(1, 20000) i")[0])
    found, failed = [], []

    def ask():
        try:
            found.extend(session["x"].median(epsilon=1).value for _ in range(2))
        except BaseException as error:
            failed.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failed == []
    assert len(found) == 16
    assert np.abs(np.array(found) - 10_000).max() < 300


@pytest.mark.xdist_group("spark")
def test_spellings_and_bytes_in_spark(spark):
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate()
    cell = "CASE WHEN id = 0 THEN 'Flu' WHEN id = 1 THEN CAST(X'FF' AS STRING) ELSE 'flu' END"
    texts = f"SELECT {cell} AS dx FROM range(9)"
    for query in (texts, f"SELECT dx COLLATE UTF8_LCASE AS dx FROM ({texts})"):
        rows = open_table(session.sql(query))
        assert dict(rows.kinds) == {"dx": "text"}
        assert categories(rows, "dx") == {"Flu": 1, "flu": 7, None: 1}
        assert part_size(rows, "dx", "Flu") == 1
        assert part_size(rows, "dx", None) == 1
        with rows.snapshot():
            assert rows.size == 9
