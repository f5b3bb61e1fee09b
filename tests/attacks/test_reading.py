"""Files whose rows, names or readers are hostile."""

import threading

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import uptack
from tests.answers import categories, in_order
from tests.backends.test_many_people import categories_with
from uptack import ADD_REMOVE, Ledger, NoReply, SeededEntropy, histogram, linear_regression
from uptack.discrete.histograms import in_steps
from uptack.errors import InvalidArgument
from uptack.regression.formulas import formula_designs, grammar
from uptack.regression.formulas.category_levels import CategoryLevels
from uptack.table.engine import connection
from uptack.table.opening import open_table
from uptack.table.unit import PrivacyUnit, U


def test_a_view_of_times_says_the_same_before_and_after_ibis(tmp_path, monkeypatch):
    """The zone of the machine would decide, until something is asked that ibis is needed for."""
    monkeypatch.setenv("TZ", "America/New_York")
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE t AS SELECT TIMESTAMPTZ '2024-01-01 02:00:00+00' AS t")
        con.execute("CREATE VIEW v AS SELECT extract(hour FROM t) AS h, CAST(t AS VARCHAR) AS s FROM t")
    rows = open_table(path, table="v")
    assert isinstance(rows.opened, connection.Plain)
    for _ in range(2):
        assert (categories(rows, "h"), categories(rows, "s")) == ({2: 1}, {"2024-01-01 02:00:00+00": 1})
        assert in_order(rows.column("h")).tolist() == [2.0]
        assert rows.table is not None


def test_a_thread_that_needs_ibis_waits_for_one_that_reads(tmp_path):
    """DuckDB has one open result at a time: the other thread failed, with an error of the engine."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": np.arange(1_000_000) / 7}), path)
    assert connection.ibis.duckdb  # to import it takes longer than to read the rows
    rows, found = open_table(path), []
    other = threading.Thread(target=lambda: found.append(rows.table.columns))

    def fold(batches):
        total = 0
        for batch in batches:
            if not total:
                other.start()
                other.join(0.5)
                assert not found
            total += batch.num_rows
        return total

    assert connection.fold_batches(rows.opened.beside(["a"], ()), fold) == 1_000_000
    other.join()
    assert list(found[0]) == ["a"]


@pytest.mark.parametrize("codes", [None, pa.int8(), pa.int32()], ids=str)
@pytest.mark.parametrize("name", ["A", "", "b\0c", "b", "b.c"])
def test_one_broken_text_changes_no_other_whatever_columns_are_called(tmp_path, name, codes):
    """By its name, the column was not found, or all of its texts were bytes to be escaped.

    Categories of pandas have codes of 8 bits. Arrow checks texts when it makes such codes of its own.
    """
    told = []
    for last in (b"q", b"\xff"):
        raw = pa.array(["ä".encode(), last], pa.binary())
        texts = pa.StringArray.from_buffers(2, raw.buffers()[1], raw.buffers()[2])
        if codes is not None:
            texts = pa.DictionaryArray.from_arrays(pa.array([0, 1], codes), texts)
        pq.write_table(pa.table([[1, 2], texts], names=["a", name]), tmp_path / "rows.parquet")
        rows = open_table(tmp_path / "rows.parquet")
        told.append((dict(rows.kinds), categories(rows, list(rows.kinds)[1])))
    (columns, plain), (others, mended) = told
    assert columns == others
    assert (plain, mended) == ({"q": 1, "ä": 1}, {"ä": 1, None: 1})


def test_two_columns_of_one_name_are_refused(tmp_path):
    """Arrow can't tell them apart, so one broken text was an error."""
    within = pa.array([{"a": 1, "b": {"a": 2}}])
    pq.write_table(pa.table([within, pa.array([1])], names=["b", "a"]), tmp_path / "rows.parquet")
    assert open_table(tmp_path / "rows.parquet").size == 1
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "rows.parquet")
    with pytest.raises(InvalidArgument, match=r"data must be .* different names"):
        open_table(tmp_path / "rows.parquet")


def test_how_many_units_there_are_in_all_changes_no_count_and_no_type():
    """From 2^62 units on there is no room for sums in 64 bits. Floats of them were rounded once more than others."""
    units = np.random.default_rng(3).integers(1 << 54, 1 << 61, 1000)
    assert in_steps(units, U).tobytes() == in_steps(units.astype(object), U).tobytes()
    told = {"keys": ["a", "b"], "epsilon": 1, "adjacency": ADD_REMOVE.by_person("id")}
    for some in (np.array([7, 5]) * U, np.array([10**10, 5]).astype(object) * U):
        made = histogram(categories_with(some), **told, weights="rows", at_most=U // 2, entropy=SeededEntropy(1))
        assert made.value.counts.dtype == np.float64
    with pytest.raises(InvalidArgument, match=r"at_most must be at most"):
        PrivacyUnit.of_people(("id",), "rows", U)


def test_a_ledger_keeps_no_guess_that_nobody_asked_for(tmp_path):
    """Whether all rows of a column are integers is theirs, unless the curator gives it away."""
    seen = []
    for last in ("2", "two"):
        (tmp_path / "rows.csv").write_text(f"a,b\n1,1\n2,{last}\n")
        book = Ledger(tmp_path / f"{last}.db", 1)
        opened = uptack.open(tmp_path / "rows.csv", ledger=book, types={"a": "guess", "b": "text"})
        seen.append((dict(opened.source.kinds), [line.what for line in book.entries()]))
    assert seen[0] == seen[1]
    assert seen[0][0] == {"a": "integer", "b": "text"}
    again = uptack.open(tmp_path / "rows.csv", ledger=book, types="guess")
    assert dict(again.source.kinds) == {"a": "integer", "b": "text"}


@pytest.mark.parametrize("told", [{"na": "\ud800"}, {"types": {"a": "boolean:\ud800/no"}}])
def test_words_that_no_file_can_have_are_refused_by_name(tmp_path, told):
    """They were taken for rows that can't be read."""
    (tmp_path / "rows.csv").write_text("a\n1\n")
    with pytest.raises(InvalidArgument, match=next(iter(told))):
        open_table(tmp_path / "rows.csv", **{"types": {"a": "integer"}, **told})


@pytest.mark.parametrize(
    "text",
    [
        "+".join(["(a+b+c+d+e+f)**6"] * 2),
        ":".join(f"x{i}" for i in range(6000)),
        f"({'+'.join(f'x{i}' for i in range(1000))})/({'+'.join(f'z{i}' for i in range(1000))})",
        f"I({'x' * 10**6})",
        "a**17",
    ],
    ids=["powers", "product", "nested", "name", "power"],
)
def test_a_formula_of_few_terms_that_takes_for_ever_is_refused(text, monkeypatch):
    """A power took 4 seconds, and a term of 6000 columns 17. What is short is read."""
    assert [len(grammar.read(f"y ~ {few}").terms) for few in ("(a+b)**8", "a:b:c", "(a+b)/c", "a**16")] == [3, 1, 3, 1]
    monkeypatch.setattr("formulaic.Formula", None)
    with pytest.raises(InvalidArgument, match=r"^formula must be of at most"):
        grammar.read(f"y ~ {text}")


def test_tables_of_other_schemas_are_none_that_there_are(tmp_path):
    """They were listed, and then not found: an error of the engine."""
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as con:
        con.execute("CREATE SCHEMA s")
        con.execute("CREATE TABLE s.hidden AS SELECT 1 AS a")
        con.execute("CREATE TABLE s.seen AS SELECT 1 AS a")
        con.execute("CREATE TABLE seen AS SELECT 2 AS a")
    assert categories(open_table(tmp_path / "rows.duckdb"), "a") == {2: 1}
    with pytest.raises(InvalidArgument, match=r"^no table named 'hidden'"):
        open_table(tmp_path / "rows.duckdb", table="hidden")


def test_products_of_found_levels_are_counted_before_they_are_made(monkeypatch):
    """Three categories of 1000 found levels took all memory, after the debit."""
    rng = np.random.default_rng(0)
    rows = {"y": rng.normal(size=4000), **{c: np.array([f"{c}{i}" for i in rng.integers(0, 40, 4000)]) for c in "abc"}}
    for text in ("y ~ C(a):C(b):C(c)", "y ~ C(a)*C(b) - 1", "y ~ C(a) + C(a):C(c) + C(c):C(b)"):
        draft = formula_designs.draft_formula(text, rows, None)
        for sizes in ((2, 3, 4), (1, 2, 1), (0, 3, 1), (0, 0, 0)):
            found = {
                c: CategoryLevels(tuple(range(n)), "own" if n == 4 else "first")
                for c, n in zip("abc", sizes, strict=True)
            }
            found = {name: found[name] for name in draft.open}
            assert draft.width(found) == len(draft.columns(found).names)
    made = []
    monkeypatch.setattr(
        formula_designs.Draft,
        "columns",
        lambda draft, *found, f=formula_designs.Draft.columns: made.append(found) or f(draft, *found),
    )
    assert isinstance(linear_regression(rows, formula="y ~ C(a):C(b):C(c)", epsilon=100, delta=1e-2), NoReply)
    assert made == [()]


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow", "rows.duckdb"])
def test_a_file_that_cannot_be_opened_is_an_error_without_another_behind_it(tmp_path, name):
    (tmp_path / name).write_bytes(b"alice,7\n" * 2000)
    with pytest.raises(InvalidArgument, match="data must be a") as caught:
        uptack.open(tmp_path / name)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
