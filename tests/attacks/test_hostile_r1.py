"""Files whose rows, names or readers are hostile."""

import duckdb

from uptack.data import duck, source


def test_a_view_of_times_says_the_same_before_and_after_ibis(tmp_path, monkeypatch):
    """The zone of the machine would decide, until something is asked that ibis is needed for."""
    monkeypatch.setenv("TZ", "America/New_York")
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE t AS SELECT TIMESTAMPTZ '2024-01-01 02:00:00+00' AS t")
        con.execute("CREATE VIEW v AS SELECT extract(hour FROM t) AS h, CAST(t AS VARCHAR) AS s FROM t")
    rows = source(path, table="v")
    assert isinstance(rows._given, duck.Plain)
    for _ in range(2):
        assert (rows.categories("h"), rows.categories("s")) == ({2: 1}, {"2024-01-01 02:00:00+00": 1})
        assert rows.column("h").pile.values.tolist() == [2.0]
        assert rows.table is not None
