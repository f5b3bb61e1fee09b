"""A plain table of DuckDB is asked in its own words: they say the same as ibis does, of every usual type."""

import duckdb
import numpy as np
import pytest
from uptack.data import source
from uptack.data.queries import QuerySource

from uptack.table.engine import plain

REALS = ["NULL", "'NaN'", "'Infinity'", "'-Infinity'", "-0.0", "0.0", "0.1", "3e38", "-1e-40"]
ROWS = {
    "BOOLEAN": ["NULL", "true", "false", "true"],
    "VARCHAR": ["NULL", "''", "'a'", "'A'", "'ä'", "'a '", "chr(0)", "'1'"],
    "FLOAT": REALS,
    "DOUBLE": [*REALS, "1e308", "5e-324", "9007199254740993"],
    **{kind: ["NULL", "0", "1", "127", "0"] for kind in plain.WHOLE},
    "BIGINT": ["NULL", "9223372036854775807", "-9223372036854775808", "9007199254740993", "9007199254740993"],
    "UBIGINT": ["NULL", "18446744073709551615", "0"],
}
LONGEST = max(map(len, ROWS.values()))


def called(kind: str) -> str:
    return f'the "{kind}", t.x'


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> QuerySource:
    """Each type has a column, with a name that must be quoted."""
    path = tmp_path_factory.mktemp("plain") / "rows.duckdb"
    columns = ", ".join(f"{plain.quoted(called(kind))} {kind}" for kind in ROWS)
    padded = [[*cells, *["NULL"] * (LONGEST - len(cells))] for cells in ROWS.values()]
    with duckdb.connect(str(path)) as con:
        con.execute(f'CREATE TABLE "ro""ws" ({columns})')
        for row in zip(*padded, strict=True):
            con.execute(f'INSERT INTO "ro""ws" VALUES ({", ".join(row)})')
    return source(path)


def test_every_usual_type_is_here(plain):
    assert ROWS.keys() == plain.KINDS.keys()
    assert isinstance(plain._given, plain.Plain)


def test_both_ways_say_the_same(plain):
    other = QuerySource(plain.table)
    assert (plain.rows, list(plain.columns.items())) == (other.rows, list(other.columns.items()))
    assert plain.rows == LONGEST
    for name, kind in plain.columns.items():
        for names in ([name], [name, called("DOUBLE")], [called("VARCHAR"), name]):
            (keys, counts), (others, numbers) = plain.counts(names), other.counts(names)
            assert repr((keys, counts.tolist())) == repr((others, numbers.tolist()))
        if kind != "text":
            ours, theirs = plain.column(name), other.column(name)
            assert ours.integers == theirs.integers
            assert ours.pile.values.tobytes() == theirs.pile.values.tobytes()


def test_rows_side_by_side_are_the_same(plain):
    other = QuerySource(plain.table)
    numbers = [name for name, kind in plain.columns.items() if kind != "text"]
    (ours, codes), (theirs, others) = (each.coded(numbers, list(plain.columns)) for each in (plain, other))
    assert ours.tobytes() == theirs.tobytes()
    assert [code.numbers().tolist() for code in codes] == [code.numbers().tolist() for code in others]
    assert plain.matrix(numbers).tobytes() == ours.tobytes()


def test_they_are_one_connection(plain):
    """What ibis is told of has the same state: the same transaction, and nothing is read twice at once."""
    other = QuerySource(plain.table)
    assert (other._state, other._con.con) == (plain._state, plain._con.con)
    with plain.one_state(), other.snapshot():
        assert np.isnan(plain.column(called("FLOAT")).pile.values[0])
        assert len(plain._state.held) == 1


def test_another_type_makes_no_plain_table(tmp_path):
    path = tmp_path / "rows.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS n, DATE '2024-02-29' AS day) TO '{path}'")
    assert dict(source(path).columns) == {"n": "integer", "day": "time"}
    assert not isinstance(source(path)._given, plain.Plain)
