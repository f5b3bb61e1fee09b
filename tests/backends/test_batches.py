"""Regressions and scatter matrices of rows that are read in batches: those of the same rows in memory."""

import gc
import itertools
from functools import cache
from pickle import loads

import ibis
import numpy as np
import psycopg
import pyarrow as pa
import pytest
from pyspark import cloudpickle

import uptack
from tests.backends.engines import PLACES
from uptack.account import Account
from uptack.errors import InvalidArgument, UptackError
from uptack.multivariate import row_sums as pairs
from uptack.multivariate.row_sums import Sample, Squares, Vectors
from uptack.noise import SeededEntropy
from uptack.papers import block_fits
from uptack.regression import formulas
from uptack.table import search, snapshots
from uptack.table.engine import connection, rows
from uptack.table.engine import table as engine_table
from uptack.table.engine.rows import BatchLayout, EngineRows
from uptack.table.engine.table import EngineTable
from uptack.table.opening import open_table
from uptack.table.protocol import Columns, RowDesign
from uptack.table.unit import ROW
from uptack.table.unread import DataNeeded, UnreadTable

ROWS = 4002
ENGINES = ["parquet", *(pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("spark", "postgres"))]
NAMES = ["y", "plain", "whole", "gaps", "odd", "flag"]


@pytest.fixture(autouse=True)
def streamed(monkeypatch):
    """Small tables are not read into memory either."""
    monkeypatch.setattr(engine_table, "COLUMN", 0)


def table(n=ROWS):
    """Integers beyond 2^53, gaps, infinities, the largest and the least floats, -0.0, truth values; and ids of people.

    Of these some are missing, one has hundreds of rows, and one has rows that lack a value only.
    """
    rng = np.random.default_rng(11)
    plain, whole = rng.normal(size=n), (rng.normal(size=n) * 1e17).astype(np.int64)
    flag, odd = rng.random(n) < 0.3, rng.standard_cauchy(n)
    odd[:9] = [np.inf, -np.inf, np.nan, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, -0.0, 0.0, 1e300]
    y = 3 + plain - 2e-17 * whole + 2 * flag + rng.normal(size=n)
    gaps = [None if i % 97 == 5 else float("nan") if i % 89 == 7 else v for i, v in enumerate(rng.normal(size=n))]
    flags = [None if i == 40 else bool(v) for i, v in enumerate(flag)]
    columns = [y, plain, whole, pa.array(gaps, pa.float64()), odd, pa.array(flags, pa.bool_())]
    kinds = [("a", "b", "B", "b ", "é", None)[i % 12 % 6 if i % 12 < 6 else i % 2] for i in range(n)]
    number = np.where(rng.random(n) < 0.1, 7, rng.integers(10, 2000, n))
    number[5::97] = np.where(np.arange(number[5::97].size) < 3, 8, number[5::97])
    texts = [None if i % 29 == 0 else f"O'Brien {p}" if p % 3 else f"ß ⊥ {p}" for i, p in enumerate(number.tolist())]
    ids = {"who": pa.array(texts, pa.string()), "number": number % 50, "rest": number // 50, "all": np.zeros(n, int)}
    ids |= {"kind": pa.array(kinds, pa.string())}
    return pa.table(dict(zip(NAMES, map(pa.array, columns), strict=True)) | ids)


@pytest.fixture(scope="session", params=ENGINES)
def kept(request, tmp_path_factory):
    """The table in an engine that keeps its rows in order. Spark has it in two partitions."""
    place = PLACES.get(request.param) or request.getfixturevalue(request.param)
    return place.put(table(), tmp_path_factory.mktemp("batches"))


SECRET = {"adjacency": uptack.ADD_REMOVE}
KINDS, FOUND = {"levels": {"kind": ["b", "é", "B"]}}, {"delta": 1e-6, "epsilon": 60}
ASKS = {
    "regression": lambda s: s.regression("y", ["plain", "gaps", "flag"], binary=[2], epsilon=20),
    "regression, secret size": lambda s: s.regression("y", ["plain", "gaps"], fit_intercept=False, epsilon=9, **SECRET),
    "levels": lambda s: s.regression("y", ["plain", "kind"], levels={"kind": ["b", "é", "B"]}, epsilon=20),
    "levels found, secret size": lambda s: s.regression("y", ["kind", "flag"], delta=1e-6, epsilon=20, **SECRET),
    "scatter": lambda s: s.scatter("y", "whole", "gaps", "odd", epsilon=20),
    "scatter, secret size": lambda s: s.scatter("y", "plain", "odd", epsilon=20, **SECRET),
    "logistic": lambda s: s.logistic_regression("flag", "y", "gaps", classes=(True, False), epsilon=30),
    "quantile": lambda s: s.quantile_regression("y", "plain", "gaps", epsilon=30),
    "Poisson": lambda s: s.poisson_regression("y", "plain", "gaps", epsilon=30),
    "short cut": lambda s: s.shortcut_regression("y", ["plain", "gaps"], epsilon=30),
    "short cut, round": lambda s: s.shortcut_regression("y", ["whole", "gaps"], coordinates="scatter", epsilon=60),
    "short cut, secret size": lambda s: s.shortcut_regression("y", ["plain", "gaps"], epsilon=30, **SECRET),
    "short cut, people": lambda s: s.shortcut_regression("y", ["gaps"], block_fit="lad", epsilon=30),
    "short cut, people, round, secret size": lambda s: s.shortcut_regression(
        "y", ["plain", "whole"], coordinates="scatter", epsilon=90, **SECRET
    ),
    "people": lambda s: s.regression("y", ["plain", "gaps", "flag"], binary=[2], epsilon=30),
    "people, logistic": lambda s: s.logistic_regression("flag", "y", epsilon=30),
    "formula": lambda s: s.regression(formula="y ~ log(odd)*flag + C(kind):plain + I(gaps/2)", **KINDS, epsilon=90),
    "formula, secret size": lambda s: s.regression(formula="I(y**3) ~ exp(plain) + kind:gaps", **FOUND, **SECRET),
    "formula, classes": lambda s: s.logistic_regression(formula="kind ~ abs(y) + gaps", classes=("b", "B"), epsilon=90),
    "formula, people": lambda s: s.regression(formula="y ~ log(odd) + plain:gaps + flag", epsilon=90),
    "columns, people": lambda s: s.regression("y", ["plain", "kind"], delta=1e-6, epsilon=60),
    "people, secret size": lambda s: s.scatter("y", "plain", "odd", epsilon=30, **SECRET),
}

ON_POSTGRES = ("regression", "levels found, secret size", "scatter", "short cut, people", "formula, people", "people")


@cache
def in_memory(ask):
    return shown(open_table(table()), ask)


def shown(data, ask):
    """All that is seen of a release, to the last bit."""
    relation = uptack.ADD_REMOVE if "secret" in ask else uptack.SUBSTITUTE
    person = {"person": "who"} if "people" in ask else {}
    made = ASKS[ask](uptack.open(data, entropy=SeededEntropy(5), adjacency=relation, **person))
    assert made
    return str(made), made.value.to_dict() if hasattr(made.value, "to_dict") else made.value.tolist()


@pytest.mark.parametrize("ask", ASKS)
def test_the_same_randomness_gives_the_same_release_wherever_rows_are(kept, ask, monkeypatch):
    """Nothing reads all of them, and every step can be sent to another process.

    (A scan of Spark takes a while, so it is asked for one release.)
    """
    if on_spark(kept) and ask != "scatter":
        return
    if kept.table.get_backend().name == "postgres" and ask not in ON_POSTGRES:
        return  # its rows are read as those of other regressions
    monkeypatch.setattr(EngineRows, "in_memory", None)
    monkeypatch.setattr(block_fits, "TOGETHER", 1000)
    apply = BatchLayout.apply
    monkeypatch.setattr(BatchLayout, "apply", lambda self, f, *rest: apply(self, loads(cloudpickle.dumps(f)), *rest))
    assert shown(kept, ask) == in_memory(ask)


def on_spark(table):
    return table.table.get_backend().name == "pyspark"


@pytest.mark.parametrize("place", ["pandas", "polars", "arrow"])
def test_frames_are_as_arrays(place, tmp_path):
    assert shown(PLACES[place].put(table(), tmp_path), "regression") == in_memory("regression")


@pytest.mark.parametrize("sizes", [(1000, 7), (2049, 8192)])
def test_batches_do_not_matter(sizes, tmp_path, monkeypatch):
    """Neither those of the engine, nor the parts of them that are added up at once, nor the files."""
    wanted, kept = in_memory("scatter"), PLACES["parquet folder"].put(table(), tmp_path)
    monkeypatch.setattr(connection, "BATCH", sizes[0])
    monkeypatch.setattr(pairs, "BATCH", sizes[1])
    assert shown(kept, "scatter") == wanted


FORMULA = "I(y**3) ~ log(odd)*flag + kind:plain + I(odd*1e300) + I(whole/odd) + exp(odd) + sqrt(-gaps)"
LEVELS = {"kind": ["b", "é", "B"]}


def every_row(columns):
    """All rows of columns, one line per column, those without a value among them."""
    return columns[0].table.rows(columns).in_memory().lines


def test_what_is_computed_of_rows_is_what_it_is_in_memory(kept):
    """Overflows, roots and logarithms of what has none, gaps and infinities: row by row, to the last bit."""
    x, y, public = formulas.build_design(FORMULA, open_table(table()), LEVELS)
    far, response, same = formulas.build_design(FORMULA, kept, LEVELS)
    made = Columns([*far, response])
    wanted, found = every_row(Columns([*x, y])), every_row(made)
    assert (same, found.shape) == (public, (11, ROWS))
    assert np.array_equal(found, wanted, equal_nan=True)
    complete = np.isfinite(wanted).all(axis=0)
    assert 100 < made.rows().n == complete.sum() < ROWS
    if not on_spark(kept):
        folder = connection.folder(connection.backend(made.table.table))
        assert [file.name for file in folder.iterdir() if file.suffix] == ["made.parquet"]
        del far, response, made
        gc.collect()
        assert not folder.exists()


def test_a_table_without_rows_is_computed(tmp_path):
    kept = PLACES["parquet"].put(table(20).slice(0, 0), tmp_path)
    for data in (kept, open_table(kept, person="who")):
        x, y = data.design(RowDesign(1, ["plain"], lambda lines: [*lines, *lines]))
        rows = Columns([*x, y]).rows()
        assert (rows.size, rows.n, rows.width) == (0, 0, 2)


def beside(data, names=NAMES, truth=()):
    """Columns side by side, some of them brought to between 0 and 1."""
    return Columns(data.column(n).clipped() if i in truth else data.column(n) for i, n in enumerate(names)).rows()


def test_an_infinite_value_of_a_column_that_is_0_or_1_is_one_of_the_two(kept):
    counts = []
    for truth in ((), (4,)):
        ours, theirs = (beside(data, truth=truth) for data in (kept, open_table(table())))
        assert (ours.size, ours.width, ours.n) == (ROWS, 6, theirs.n)
        counts.append(ours.n)
    assert counts[1] == counts[0] + 2


def test_medians_of_all_columns_share_their_scans(kept, monkeypatch):
    """A sample, a count, and a fetch of a few rows: for six columns as for one."""
    monkeypatch.setattr(search, "SMALL", 100)
    ours, theirs, scans = (*(Sample.of(beside(data)) for data in (kept, open_table(table()))), [])
    assert (ours.size, ours.count()) == (theirs.size, theirs.count())
    run = snapshots.run_query
    monkeypatch.setattr(snapshots, "run_query", lambda con, read: (scans.append(con), run(con, read))[1])
    ranks = theirs.count() // 2 + np.arange(-20, 20)
    for column in range(6):
        assert (ours.ordered(column, 20).at(ranks) == theirs.ordered(column, 20).at(ranks)).all()
    assert len(scans) <= 3
    ranks = np.arange(-5, ROWS + 5)
    assert (ours.ordered(2, ROWS).at(ranks) == theirs.ordered(2, ROWS).at(ranks)).all()


IDS = [("who",), ("number", "rest"), ("all",)]


@pytest.mark.parametrize("ids", IDS, ids=" ".join)
def test_people_of_an_engine_are_as_people_in_memory(kept, ids, monkeypatch):
    """Whichever batches their rows are in: sums, order statistics and pairs, to the last bit.

    (Spark is asked for the ones that are worked out where its rows are.)
    """
    spark = on_spark(kept)
    if spark and ids != IDS[0]:
        return
    monkeypatch.setattr(search, "SMALL", 100)
    monkeypatch.setattr(rows, "BATCH", 700)
    people = [open_table(data, person=ids) for data in (kept, table())]
    ours, theirs = (Sample.of(beside(data, truth=[4])) for data in people)
    for one, other in zip(ours.sums(moments), theirs.sums(moments), strict=True):
        assert (one == other).all()
    for slots in (700,) if spark else (None, 700):
        (one,), (other,) = (
            each.pairs(listed, slots, Account.elsewhere("pairs", SeededEntropy(3)), most=500) for each in (ours, theirs)
        )
        assert (one == other).all()
        assert one[0] > 100 or ids == ("all",)
    if not spark:
        assert (ours.size, ours.width, ours.count()) == (theirs.size, theirs.width, theirs.count())
        assert (ours.size > ours.count()) == (ids != ("all",))
        assert ours.rows.lacking()
        assert not beside(people[0], ["y", "plain"]).lacking()
        ranks = theirs.count() // 2 + np.arange(-20, 20)
        for most in (1 << 25, 200):
            monkeypatch.setattr(rows, "HELD", most)
            for column in (0, 2, 3, 5):
                assert (ours.ordered(column, 20).at(ranks) == theirs.ordered(column, 20).at(ranks)).all()
        ends = ranks[[3, 9]] if ids != ("all",) else (1, 1)
        assert ours.ordered(0, 20).total(*ends) == theirs.ordered(0, 20).total(*ends)


def test_rows_and_people_are_dealt_wherever_they_are(kept):
    """Each to its slot, one partition of Spark after the other, and never all of them in memory."""
    for person in (None, "who"):
        ours, theirs = (beside(open_table(data, person=person), ["y", "gaps"]) for data in (kept, table()))
        size = theirs.size
        slots = np.arange(size)[::-1].copy()
        dealt = [list(each.deal(slots, 700, -(-size // 700), "all")) for each in (ours, theirs)]
        for parts in dealt:
            assert all((slots // 700 == part).all() for part, (slots, _) in enumerate(parts))
        for (one, values), (other, wanted) in zip(*dealt, strict=True):
            here, there = np.lexsort((*values, one)), np.lexsort((*wanted, other))
            assert (one[here] == other[there]).all()
            assert (values[:, here] == wanted[:, there]).all()


def moments(batch):
    """Whole numbers of every column, and their products."""
    whole = np.rint(np.clip(batch, -1e3, 1e3))
    return [Vectors(whole), Squares(whole)]


def ones(batch):
    """One for each row."""
    return [Vectors(np.ones(batch.shape[1]))]


def listed(one, other):
    """How many pairs there are, and sums that tell which, but not which row of them is first."""
    apart = np.rint(np.clip(np.abs(one - other), 0, 1e3) * 1024)
    return [np.append(one.shape[1], (apart * np.arange(1, 7)[:, None]).sum(axis=1))]


def test_tables_without_rows_and_with_one(tmp_path):
    for n, name in ((0, "none"), (1, "one")):
        (tmp_path / name).mkdir()
        kept = PLACES["parquet"].put(table(20).slice(10, n), tmp_path / name)
        for data in (kept, open_table(kept, person="all")):
            ours = Sample.of(beside(data, NAMES[:2]))
            assert (ours.size, ours.count(), ours.rows.lacking()) == (n, n, False)
            for slots in (None, 1, 3):
                (found,) = ours.pairs(
                    lambda a, b: [np.ones(a.shape[1]).sum()], slots, Account.elsewhere("pairs", SeededEntropy(1))
                )
                assert found == 0
            assert ours.sums(ones)[0] == n


def test_an_error_about_missing_values_is_for_the_curator(tmp_path):
    session = uptack.open(PLACES["parquet"].put(table(), tmp_path), missing="error", entropy=SeededEntropy(1))
    with pytest.raises(InvalidArgument, match="free of NaN"):
        session.regression("y", ["plain", "gaps"], epsilon=9)
    assert session.regression("y", ["plain"], epsilon=9, binary=[]).value.size == 2


def by_first(slots, lines):
    """A key that is of no use where rows are their own."""
    return np.zeros(slots.size, np.uint64)


def test_a_table_that_changes_is_an_error(tmp_path, monkeypatch):
    kept = PLACES["parquet"].put(table(), tmp_path)
    for n in (ROWS - 1, ROWS + 1):
        with pytest.raises(UptackError, match=snapshots.CHANGED):
            next(beside(kept, NAMES[:2]).deal(np.arange(n), ROWS, 2, "all"))
    monkeypatch.setattr(EngineTable, "count", lambda table: ROWS + 1)
    for ask in (lambda rows: rows.pick(np.array([3]), by_first, "all"), EngineRows.in_memory):
        with pytest.raises(UptackError, match=snapshots.CHANGED):
            ask(beside(kept, NAMES[:2]))


@pytest.mark.xdist_group("postgres")
def test_all_scans_see_one_state_of_the_table(postgres_uri, monkeypatch):
    """Somebody empties the table after the first scan: the release is that of the rows that there were."""
    con = ibis.postgres.from_connection(psycopg.connect(postgres_uri, autocommit=True))
    kept, run, gone = open_table(con.create_table("emptied", table())), snapshots.run_query, []

    def disturbed(con, read):
        found = run(con, read)
        if snapshots.state(con).reading is not None and not gone:
            with psycopg.connect(postgres_uri, autocommit=True) as other:
                gone.append(other.execute("DELETE FROM emptied").rowcount)
        return found

    monkeypatch.setattr(snapshots, "run_query", disturbed)
    assert shown(kept, "scatter") == in_memory("scatter")
    assert (gone, kept.size) == ([ROWS], 0)
    con.disconnect()


def test_an_order_that_changes_from_scan_to_scan():
    """Sums are the same, and no row is in two pairs."""
    plain = ibis.memtable(pa.table({"x": np.arange(999.0), "y": -np.arange(999.0)}))
    data = Sample.of(beside(open_table(plain.order_by(ibis.random())), ["x", "y"]))

    def listed(slots):
        seen, account = [], Account.elsewhere("pairs", SeededEntropy(2))
        data.pairs(lambda a, b: (seen.append((a, b)), [a.shape[1]])[1], slots, account)
        return np.concatenate([np.stack(pair) for pair in seen], axis=2)

    for slots in (None, 400):
        one, other = listed(slots), listed(slots)
        assert not np.array_equal(one, other)
        for found in (one, other):
            assert (found[:, 0] == -found[:, 1]).all()
            assert np.unique(found[:, 0]).size == found[:, 0].size > (900 if slots is None else 400)
    assert data.sums(lambda b: [Vectors(b)])[0].tolist() == [499 * 999, -499 * 999]
    slots = np.where(np.arange(999) % 3, np.random.default_rng(0).permutation(999), -1)
    parts = list(data.rows.deal(slots, 100, 10, "all"))
    assert [slot.tolist() for slot, _ in parts] == [[s for s in slots if s // 100 == part] for part in range(10)]
    assert np.unique(np.concatenate([lines[0] for _, lines in parts])).size == 666


def test_a_rehearsal_makes_nothing_of_the_size_of_the_table():
    unread = UnreadTable(dict.fromkeys("abc", "number"), {}, ROW, 10**15)
    x, y = unread.design(RowDesign(3, ["a", "b", "c"], list))
    rows = Columns([*x, y.clipped()]).rows()
    assert (rows.width, rows.size, rows.n) == (4, 10**15, 10**15)
    assert unread.column("a").coded(0, 1).count() == 10**15
    for ask in (rows.lacking, lambda: rows.order(0, []), lambda: rows.sum(ones), lambda: rows.in_memory()):
        with pytest.raises(DataNeeded):
            ask()


# --------------------------------------------------------------------------------------------------------------- pairs


class Scripted(SeededEntropy):
    """Numbers that are given one after the other."""

    def __init__(self, numbers):
        super().__init__(0)
        self.numbers = list(numbers)

    def integers(self, bound, size):
        drawn, self.numbers = self.numbers[:size], self.numbers[size:]
        assert len(drawn) == size
        return np.array(drawn, np.int64)


def test_all_pairs_of_places_have_the_same_chance():
    """All sequences of eight draws of four places, two at a time: every ordered choice of two comes equally often."""
    counts = dict.fromkeys(itertools.permutations(range(4), 2), 0)
    for drawn in itertools.product(range(4), repeat=6):
        if len(set(drawn)) > 1:
            counts[tuple(pairs._distinct(4, 2, Scripted(drawn)).tolist())] += 1
    assert set(counts.values()) == {(4**6 - 4) // 12}
    found = pairs.equal_pairs(10_000, 100, SeededEntropy(1))
    assert found.shape == (2, 100)
    assert np.unique(found).size == 200


def chosen(names, numbers, slots, most=9):
    """The pairs of rows, by name, if each row has this number: slot·2^b + b bits."""
    bits = 63 - slots.bit_length()
    drawn = [(n // 4 << bits) + n % 4 for n in numbers]
    slot, places = pairs.choose_slots(len(names), slots, most, Scripted(drawn))
    return {(s, frozenset(names[i] for i in pair)) for s, pair in zip(slot.tolist(), places.T.tolist(), strict=True)}


def test_pairs_depend_on_the_rows_of_a_slot_and_not_on_their_order():
    """All numbers of four rows, of three and two in the two slots, in another order; and each row gone, or replaced."""
    rng = np.random.default_rng(0)
    for numbers in itertools.product((0, 1, 2, 4, 5), repeat=4):
        names = list(range(len(numbers)))
        found, order = chosen(names, numbers, 2), rng.permutation(len(numbers))
        assert chosen([names[i] for i in order], [numbers[i] for i in order], 2) == found
        assert chosen(names, numbers, 2, most=1) == {pair for pair in found if pair[0] == 0}
        for gone in names:
            rest = [name for name in names if name != gone]
            others = chosen(rest, [numbers[i] for i in rest], 2)
            assert {s for s, _ in found ^ others} <= {numbers[gone] // 4}
            replaced = chosen([-1 if name == gone else name for name in names], numbers, 2)
            assert {s for s, _ in found ^ replaced} <= {numbers[gone] // 4}


@pytest.mark.parametrize("sizes", [[0, 0], [0, 0, 3], [2, 0, 0, 9, 0, 0], [0], []])
def test_batches_without_rows_are_no_error(sizes):
    """Two of them alone were one: whether all rows lack a value decided that."""
    batches = [pa.RecordBatch.from_pydict({"v": pa.array([1.0] * size, pa.float64())}) for size in sizes]
    assert sum(batch.num_rows for batch in connection._larger(iter(batches), 4)) == sum(sizes)
