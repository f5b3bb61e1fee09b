"""Ids that Python has no value for: dates beyond the year 9999, infinities, 24:00. No row decides on an error."""

import contextlib
import datetime as dt

import ibis
import pytest

import uptack as ut

ROWS = 1500
ODD = {
    "date": ("'infinity'", "{early}"),
    "timestamp": ("'infinity'", "{early}"),
    "timestamptz": ("'-infinity'", "'20000-01-01'"),
    "time": ("'24:00'",),
}
"""Odd ids by their type."""
PLAIN = {
    "date": ("'2024-01-05'", "'2024-01-06'"),
    "timestamp": ("'2024-01-05'", "'2024-01-06'"),
    "timestamptz": ("'2024-01-05'", "'2024-01-06'"),
    "time": ("'00:00'",),
}
"""Ordinary ids in their place."""
EARLY = {"duckdb": "'4000-01-01 (BC)'", "postgres": "'4000-01-01 BC'"}
ORDINARY = {
    "date": "date '2000-01-01' + (i % 300)::int",
    "timestamp": "timestamp '2000-01-01' + (i % 300) * interval '1 day'",
    "timestamptz": "timestamptz '2000-01-01' + (i % 300) * interval '1 day'",
    "time": "time '01:00' + (i % 300) * interval '1 minute'",
}
ASKS = {
    "median": lambda s: s["x"].median(epsilon=2),
    "one mean each": lambda s: s["x"].median(per_person="mean", epsilon=2),
    "the last each": lambda s: s["x"].median(per_person="last", order="i", epsilon=2),
    "one cell each": lambda s: s["g"].histogram(keys=range(7), weights="any", at_most=1, epsilon=2),
    "groups": lambda s: s["x"].median(by="g", groups=range(3), epsilon=2),
    "count": lambda s: s.count(epsilon=2),
    "ranks": lambda s: s.kendall_tau("x", "g", per_person="mean", epsilon=2),
    "regression": lambda s: s.regression("x", ["g"], epsilon=9),
}


@contextlib.contextmanager
def table(where, request, dtype, ids):
    """A table in which some rows have these ids, and how it is opened."""
    columns = f"{ORDINARY[dtype]} AS id, (i % 97)::float8 AS x, i % 7 AS g, i"
    if where == "duckdb":
        con = ibis.duckdb.connect()
        con.con.execute(f"CREATE TABLE rows AS SELECT {columns} FROM range({ROWS}) t(i)")
        for row, one in enumerate(ids, 800):
            con.con.execute(f"UPDATE rows SET id = {one} WHERE i = {row}")
        yield con.table("rows")
        return
    psycopg = pytest.importorskip("psycopg")
    uri = request.getfixturevalue("postgres_uri")
    with psycopg.connect(uri, autocommit=True) as writer, psycopg.connect(uri) as reader:
        writer.execute("DROP TABLE IF EXISTS odd_ids")
        writer.execute(f"CREATE TABLE odd_ids AS SELECT {columns} FROM generate_series(0, {ROWS - 1}) i")
        for row, one in enumerate(ids, 800):
            writer.execute(f"UPDATE odd_ids SET id = {one} WHERE i = {row}")
        yield ibis.postgres.from_connection(reader).table("odd_ids")


def seen(opened, dtype):
    """The type of every reply, or the error: all of them for timestamps, and half of them for other types."""
    session = ut.open(opened, person="id", entropy=ut.SeededEntropy(1))
    found = {"people": session.source.size}
    asks = list(ASKS.items())
    for name, ask in asks if dtype == "timestamp" else asks[list(ODD).index(dtype) % 2 :: 2]:
        try:
            found[name] = type(ask(session)).__name__
        except ut.UptackError as error:
            found[name] = str(error)
    return found


@pytest.mark.parametrize("dtype", ODD)
@pytest.mark.parametrize("where", ["duckdb", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def test_no_id_decides_between_an_answer_and_an_error(where, dtype, request):
    replies = []
    for ids in (PLAIN[dtype], ODD[dtype]):
        with table(where, request, dtype, [one.format(early=EARLY[where]) for one in ids]) as opened:
            replies.append(seen(opened, dtype))
    assert replies[0] == replies[1]
    assert replies[0]["people"] == 300 + len(ids)
    assert {value for name, value in replies[0].items() if name != "people"} <= {
        "Release",
        "NoReply",
        "RegressionRelease",
    }


def test_people_by_dates_are_those_in_memory():
    """In one order, too: with the same randomness the same bits."""
    days = [dt.date(1999, 12, 20) + dt.timedelta(days=i * 7 % 300) for i in range(ROWS)]
    import pyarrow as pa

    rows = pa.table({"id": days, "x": [i % 97 * 1.0 for i in range(ROWS)], "g": [i % 7 for i in range(ROWS)]})
    here, there = (ut.open(data, person="id", entropy=ut.SeededEntropy(1)) for data in (rows, ibis.memtable(rows)))
    for name in ("median", "one mean each", "one cell each", "groups", "ranks", "regression"):
        assert repr(ASKS[name](here).value) == repr(ASKS[name](there).value), name
