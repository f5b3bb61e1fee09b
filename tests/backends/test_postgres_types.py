"""Types of PostgreSQL that ibis takes for numbers and texts are of no kind that is read: questions are refused free."""

import pytest

import uptack as ut
from uptack.errors import InvalidArgument
from uptack.ledger import Ledger

TYPES = {"money": "g::text::money", "oid": "g::oid", "mood": "'happy'"}


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("dtype", TYPES)
def test_money_oids_and_enums_are_refused_before_the_debit(postgres_uri, tmp_path, dtype, autocommit):
    psycopg, ibis = pytest.importorskip("psycopg"), pytest.importorskip("ibis")
    with psycopg.connect(postgres_uri, autocommit=True) as writer:
        writer.execute("DROP TABLE IF EXISTS odd_types")
        writer.execute("DROP TYPE IF EXISTS mood")
        writer.execute("CREATE TYPE mood AS ENUM ('happy', 'sad')")
        writer.execute(f"CREATE TABLE odd_types (n integer, odd {dtype})")
        writer.execute(f"INSERT INTO odd_types SELECT g, {TYPES[dtype]} FROM generate_series(1, 2000) g")
    con = ibis.postgres.from_connection(psycopg.connect(postgres_uri, autocommit=autocommit))
    ledger = Ledger(tmp_path / "l.db", epsilon=100, delta=0.5)
    session = ut.open(con.table("odd_types"), ledger=ledger, entropy=ut.SeededEntropy(1))
    assert dict(session.source.kinds) == {"n": "integer", "odd": "other"}
    for ask in (
        lambda: session["odd"].median(epsilon=1),
        lambda: session["odd"].histogram(epsilon=1, delta=1e-6),
        lambda: session["odd"].histogram(keys=["happy", "sad"], epsilon=1),
        lambda: session["n"].median(by="odd", epsilon=1, delta=1e-6),
        lambda: session.regression("n", ["odd"], epsilon=1),
        lambda: session.where(odd=1),
    ):
        with pytest.raises(InvalidArgument, match="got other"):
            ask()
    assert ledger.spent().epsilon == 0
    assert abs(session["n"].median(epsilon=1).value - 1000) < 100
    with pytest.raises(InvalidArgument, match="person"):
        ut.open(con.table("odd_types"), person="odd")


UNORDERED = {"json": "'{}'::json", "money": "g::text::money", "box": "box(point(1, 2), point(3, 4))", "xid": "'5'::xid"}


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("dtype", UNORDERED)
def test_the_last_row_by_a_type_without_an_order_is_refused_before_the_debit(postgres_uri, tmp_path, dtype):
    psycopg, ibis = pytest.importorskip("psycopg"), pytest.importorskip("ibis")
    with psycopg.connect(postgres_uri, autocommit=True) as writer:
        writer.execute("DROP TABLE IF EXISTS unordered")
        made = f"SELECT g % 300 AS id, g AS n, {UNORDERED[dtype]} AS odd FROM generate_series(1, 900) g"
        writer.execute(f"CREATE TABLE unordered AS {made}")
    con = ibis.postgres.from_connection(psycopg.connect(postgres_uri))
    ledger = Ledger(tmp_path / "l.db", epsilon=100, adjacency=ut.SUBSTITUTE.by_person("id"))
    session = ut.open(con.table("unordered"), ledger=ledger, person="id", entropy=ut.SeededEntropy(1))
    with pytest.raises(InvalidArgument, match=r"^order 'odd' must be of type"):
        session["n"].median(per_person="last", order="odd", epsilon=1)
    assert ledger.spent().epsilon == 0
    assert session["n"].median(per_person="last", order="n", epsilon=1)
