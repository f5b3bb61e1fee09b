"""An expression that fails on one row: that row has no value, or the table is refused when it is opened."""

import duckdb
import ibis
import pytest

import uptack as ut
from uptack.errors import InvalidArgument
from uptack.table.engine import expressions
from uptack.table.opening import open_table

PARTIAL = {
    "a cast": (lambda t: t.s.cast("int64"), "x"),
    "an integer division": (lambda t: t.i // (t.i - 5000), 5000),
    "a remainder": (lambda t: t.i % (t.i - 5000), 5000),
    "an overflow": (lambda t: t.i * 10**15, 10**10),
    "a cast inside": (lambda t: t.s.cast("int64") + 1, "x"),
}


def table(hostile):
    """A thousand ordinary rows, and one that is hostile or ordinary."""
    text, number = (hostile, 7) if isinstance(hostile, str) else ("7", 7 if hostile is None else hostile)
    con = ibis.duckdb.connect()
    con.con.execute("CREATE TABLE rows AS SELECT range::VARCHAR AS s, range AS i, range % 7 AS g FROM range(1000)")
    con.con.execute("INSERT INTO rows VALUES (?, ?, 1)", [text, number])
    return con.table("rows")


@pytest.mark.parametrize("name", PARTIAL)
def test_a_row_on_which_an_expression_fails_has_no_value(name):
    make, hostile = PARTIAL[name]
    for row in (hostile, None):
        rows = table(row)
        session = ut.open(rows.mutate(n=make(rows)))
        assert session.source.size == 1001
        session["n"].median(epsilon=1)
        session.where(n=(">", -1))["g"].histogram(keys=range(7), epsilon=1)
        session.where(i=(">", -1))["n"].mean(epsilon=5)
    missing = {row: _missing(row, make) for row in (hostile, None)}
    assert missing[hostile] - missing[None] == 1


def _missing(row, make):
    rows = table(row)
    opened = open_table(rows.mutate(n=make(rows)))
    return opened.size - opened.column("n").drop().count()


def test_a_row_on_which_a_condition_of_ibis_fails_does_not_meet_it():
    rows = table("x")
    kept = open_table(rows.filter(rows.s.cast("int64") >= 0))
    assert kept.size == 1000
    assert ut.open(rows.filter(rows.s.cast("int64") >= 0))["i"].median(epsilon=1)


def test_expressions_upon_expressions_are_looked_into():
    rows = table("x")
    first = rows.mutate(n=rows.s.cast("int64"))
    then = first.filter(first.n > 10).mutate(k=lambda t: t.n * 2).order_by("i")
    opened = open_table(then)
    assert opened.size == 989
    assert open_table(first.union(first)).column("n").drop().count() == 2000


@pytest.mark.parametrize("how", ["a window", "an aggregate", "a join"])
def test_what_can_not_be_tried_row_by_row_is_refused_when_opened(how):
    rows = table("x")
    number, others = rows.s.cast("int64"), rows.view()
    made = {
        "a window": lambda: rows.mutate(n=number.sum().over(ibis.window(group_by="g"))),
        "an aggregate": lambda: rows.group_by("g").agg(n=number.sum()),
        "a join": lambda: rows.join(others, [number == others.i]).select(rows.g, rows.i),
    }[how]()
    with pytest.raises(
        InvalidArgument, match=r"^data must be an ibis table that has a value, or none, for every row.*Cast"
    ):
        open_table(made)


def test_what_never_fails_is_left_as_it_is():
    rows = table("x")
    for made in (
        rows,
        rows.mutate(n=rows.i.cast("float64"), t=rows.s.try_cast("int64"), u=rows.s.lower() == "x"),
        rows.mutate(n=ibis.random(), k=ibis.row_number().over(order_by="i")),
        rows.group_by("g").agg(n=rows.i.sum()),
    ):
        assert expressions.with_failures_missing(made) is made
        assert open_table(made).size


def test_engines_without_such_a_word_refuse_what_can_fail(tmp_path):
    con = ibis.sqlite.connect(tmp_path / "rows.db")
    con.con.execute("CREATE TABLE rows (s TEXT, i INTEGER)")
    rows = con.table("rows")
    with pytest.raises(InvalidArgument, match=r"one with Cast in 'Cast\(s, int64\)', which may fail on a row"):
        expressions.with_failures_missing(rows.mutate(n=rows.s.cast("int64")))
    with pytest.raises(InvalidArgument, match=r"one with FloorDivide in"):
        expressions.with_failures_missing(rows.mutate(n=1 // (rows.i - 5)))
    assert expressions.with_failures_missing(rows) is rows


def test_try_does_not_reach_into_a_view_so_the_docs_say_it():
    """Were DuckDB to try what a view computes, opened views could be read so, and `docs/rim.md` be changed."""
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('1'), ('x')) v(s)")
    con.execute("CREATE VIEW w AS SELECT CAST(s AS INTEGER) AS i FROM t")
    with pytest.raises(duckdb.ConversionException):
        con.execute("SELECT TRY(i) FROM w").fetchall()


def test_functions_in_python_are_refused_until_their_results_are_kept():
    """One row could make such a function raise, and so decide between an error and an answer."""
    con = ibis.duckdb.connect()
    con.raw_sql("CREATE TABLE t AS SELECT range::DOUBLE AS x FROM range(3000)")

    @ibis.udf.scalar.python
    def twice(x: float) -> float:
        return 2 * x

    made = con.table("t").mutate(y=twice(ibis._.x))
    with pytest.raises(ut.InvalidArgument, match="store its result in a table"):
        ut.open(made)
    session = ut.open(con.create_table("kept", made))
    assert session["y"].quantile(0.5, epsilon=100).value == pytest.approx(3000, rel=0.05)
