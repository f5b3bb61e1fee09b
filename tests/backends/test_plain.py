"""A plain table of DuckDB is asked in its own words: they say the same as ibis does, of every usual type."""

import duckdb
import numpy as np
import pytest

from tests.answers import categories, matrix
from uptack.table import snapshots
from uptack.table.engine import connection as words
from uptack.table.engine.counts import in_memory
from uptack.table.engine.table import EngineTable
from uptack.table.opening import open_table

REALS = ["NULL", "'NaN'", "'Infinity'", "'-Infinity'", "-0.0", "0.0", "0.1", "3e38", "-1e-40"]
ROWS = {
    "BOOLEAN": ["NULL", "true", "false", "true"],
    "VARCHAR": ["NULL", "''", "'a'", "'A'", "'ä'", "'a '", "chr(0)", "'1'"],
    "FLOAT": REALS,
    "DOUBLE": [*REALS, "1e308", "5e-324", "9007199254740993"],
    **{kind: ["NULL", "0", "1", "127", "0"] for kind in words.WHOLE},
    "BIGINT": ["NULL", "9223372036854775807", "-9223372036854775808", "9007199254740993", "9007199254740993"],
    "UBIGINT": ["NULL", "18446744073709551615", "0"],
}
LONGEST = max(map(len, ROWS.values()))


def called(kind: str) -> str:
    return f'the "{kind}", t.x'


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> EngineTable:
    """Each type has a column, with a name that must be quoted."""
    path = tmp_path_factory.mktemp("plain") / "rows.duckdb"
    columns = ", ".join(f"{words.quote_name(called(kind))} {kind}" for kind in ROWS)
    padded = [[*cells, *["NULL"] * (LONGEST - len(cells))] for cells in ROWS.values()]
    with duckdb.connect(str(path)) as con:
        con.execute(f'CREATE TABLE "ro""ws" ({columns})')
        for row in zip(*padded, strict=True):
            con.execute(f'INSERT INTO "ro""ws" VALUES ({", ".join(row)})')
    return open_table(path)


def test_every_usual_type_is_here(plain):
    assert ROWS.keys() == words.KINDS.keys()
    assert isinstance(plain.plain, words.Plain)


def test_both_ways_say_the_same(plain):
    other = EngineTable.of(plain.table)
    assert other.plain is None
    assert (plain.size, list(plain.kinds.items())) == (other.size, list(other.kinds.items()))
    assert plain.size == LONGEST
    for name, kind in plain.kinds.items():
        for names in ([name], [name, called("DOUBLE")], [called("VARCHAR"), name]):
            assert repr(categories(plain, *names)) == repr(categories(other, *names))
        if kind != "text":
            assert plain.column(name).integers == other.column(name).integers
            assert matrix(plain, name).tobytes() == matrix(other, name).tobytes()


def test_rows_side_by_side_are_the_same(plain):
    other = EngineTable.of(plain.table)
    numbers = [name for name, kind in plain.kinds.items() if kind != "text"]
    assert matrix(plain, *numbers).tobytes() == matrix(other, *numbers).tobytes()
    columns = [plain.column(name) for name in plain.kinds]
    ours, theirs = (in_memory(table, columns) for table in (plain, other))
    for name in plain.kinds:
        (labels, codes), (others, numbered) = (table.fields[name].codes() for table in (ours, theirs))
        assert repr(labels) == repr(others)
        assert codes.tolist() == numbered.tolist()


def test_they_are_one_connection(plain):
    """What ibis is told of has the same state: the same transaction, and nothing is read twice at once."""
    other = EngineTable.of(plain.table)
    state = snapshots.state(plain._con)
    assert (snapshots.state(other._con), other._con.con) == (state, plain._con.con)
    with plain.one_state(), other.snapshot():
        assert np.isnan(matrix(plain, called("FLOAT"))[0, 0])
        assert len(state.columns) == 1


def test_another_type_makes_no_plain_table(tmp_path):
    path = tmp_path / "rows.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS n, DATE '2024-02-29' AS day) TO '{path}'")
    table = open_table(path)
    assert dict(table.kinds) == {"n": "integer", "day": "time"}
    assert table.plain is None
