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
from uptack.columns.batched import Batched, UnreadTable
from uptack.columns.unread import Touched
from uptack.data import ordering, people_batches, source
from uptack.data.batches import Layout, QueryRows
from uptack.data.computed import QueryDesign
from uptack.data.people import people
from uptack.data.queries import QuerySource
from uptack.multivariate.people import PeopleMatrix, StreamedPeople
from uptack.multivariate.rows import MatrixRows
from uptack.multivariate.streams import StreamedRows

import uptack
from tests.backends.engines import PLACES
from uptack.errors import InvalidArgument, UptackError
from uptack.multivariate import pairs, rows
from uptack.multivariate.terms import Squares, Vectors
from uptack.noise import SeededEntropy
from uptack.regression import block_assignment, formulas
from uptack.table import snapshots
from uptack.table.engine import connection

ROWS = 4002
ENGINES = ["parquet", *(pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("spark", "postgres"))]
NAMES = ["y", "plain", "whole", "gaps", "odd", "flag"]


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
    "formula": lambda s: s.regression(formula="y ~ log(odd)*flag + C(kind):plain + I(odd/whole)", **KINDS, epsilon=90),
    "formula, secret size": lambda s: s.regression(formula="I(y**3) ~ exp(plain) + kind:gaps", **FOUND, **SECRET),
    "formula, classes": lambda s: s.logistic_regression(formula="kind ~ abs(y) + gaps", classes=("b", "B"), epsilon=90),
    "formula, people": lambda s: s.regression(formula="y ~ log(odd) + plain:gaps + flag", epsilon=90),
    "columns, people": lambda s: s.regression("y", ["plain", "kind"], delta=1e-6, epsilon=60),
    "people, secret size": lambda s: s.scatter("y", "plain", "odd", epsilon=30, **SECRET),
}


@cache
def in_memory(ask):
    return shown(source(table()), ask)


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
    if kept.table.get_backend().name == "pyspark" and ask != "scatter":
        return
    if kept.table.get_backend().name == "postgres" and ask in ("logistic", "quantile", "columns, people"):
        return  # its rows are read as those of other regressions
    monkeypatch.setattr(QuerySource, "coded", None)
    monkeypatch.setattr(block_assignment, "TOGETHER", 1000)
    apply = Layout.apply
    monkeypatch.setattr(Layout, "apply", lambda self, f, batch: apply(self, loads(cloudpickle.dumps(f)), batch))
    assert shown(kept, ask) == in_memory(ask)


@pytest.mark.parametrize("place", ["pandas", "polars", "arrow"])
def test_frames_are_as_arrays(place, tmp_path):
    assert shown(PLACES[place].put(table(), tmp_path), "regression") == in_memory("regression")


@pytest.mark.parametrize("sizes", [(1000, 7), (2049, 8192)])
def test_batches_do_not_matter(sizes, tmp_path, monkeypatch):
    """Neither those of the engine, nor the parts of them that are added up at once, nor the files."""
    wanted, kept = in_memory("scatter"), PLACES["parquet folder"].put(table(), tmp_path)
    monkeypatch.setattr(connection, "BATCH", sizes[0])
    monkeypatch.setattr(rows, "BATCH", sizes[1])
    assert shown(kept, "scatter") == wanted


FORMULA = "I(y**3) ~ log(odd)*flag + kind:plain + I(odd*1e300) + I(whole/odd) + exp(odd) + sqrt(-gaps)"
HOSTILE = {"formula": FORMULA, "levels": {"kind": ["b", "é", "B"]}}


def test_what_is_computed_of_rows_is_what_it_is_in_memory(kept):
    """Overflows, roots and logarithms of what has none, gaps and infinities: row by row, to the last bit."""
    names = formulas.read(FORMULA).columns
    here = formulas.of_source(source(table()), names, HOSTILE)
    there = formulas.of_engine(kept, names, HOSTILE, QueryDesign(kept))
    x, y, public = formulas.designed(FORMULA, here, HOSTILE["levels"])
    far, response, same = formulas.designed(FORMULA, there, HOSTILE["levels"])
    rows = far.beside(response)
    assert (same, rows.size, rows.width) == (public, ROWS, 11)
    wanted = np.column_stack([x, y]).T
    assert np.array_equal(rows.taken(np.arange(ROWS), complete=False), wanted, equal_nan=True)
    complete = np.isfinite(wanted).all(axis=0)
    assert 100 < rows.count() == complete.sum() < ROWS
    if not rows.on_spark:
        folder = connection.folder(connection.backend(rows.source.table))
        assert [file.name for file in folder.iterdir() if file.suffix] == ["made.parquet"]
        del far, response, rows, there
        gc.collect()
        assert not folder.exists()


def test_a_table_without_rows_is_computed(tmp_path):
    kept = PLACES["parquet"].put(table(20).slice(0, 0), tmp_path)
    for ids in ((), ("who",)):
        x, y = QueryDesign(kept, ids).computed([("plain", None, "", 0)], lambda lines: [*lines, *lines], 1)
        assert (x.size, x.beside(y).count()) == (0, 0)


def streamed(kept, names=NAMES, truth=()):
    return QueryRows.of(kept, names).clipped(truth)


def memory(names=NAMES, truth=()):
    values = source(table()).matrix(names)
    values[:, list(truth)] = np.clip(values[:, list(truth)], 0, 1)
    return values


def test_rows_of_an_engine_answer_as_rows_in_memory(kept):
    """An infinite value in a column that is declared to be 0 or 1 is one of the two."""
    for truth in ((), (4,)):
        ours, theirs = streamed(kept, truth=truth), MatrixRows.of(memory(truth=truth))
        assert (ours.size, ours.width, ours.count()) == (ROWS, 6, theirs.count())
    assert ours.count() == MatrixRows.of(memory()).count() + 2
    places = np.array([ROWS - 1, 0, 5, 2000, 2001, 1999])
    assert np.array_equal(ours.taken(places, complete=False), memory(truth=truth)[places].T, equal_nan=True)
    places = np.array([7, theirs.count() - 1, 0])
    assert (ours.taken(places, complete=True) == theirs._kept[:, places]).all()


def test_medians_of_all_columns_share_their_scans(kept, monkeypatch):
    """A sample, a count, and a fetch of a few rows: for six columns as for one."""
    monkeypatch.setattr(ordering, "SMALL", 100)
    ours, theirs, scans = StreamedRows(streamed(kept)), MatrixRows.of(memory()), []
    assert (ours.size, ours.count()) == (theirs.size, theirs.count())
    run = snapshots.run
    monkeypatch.setattr(snapshots, "run", lambda con, read: (scans.append(con), run(con, read))[1])
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
    spark = kept.table.get_backend().name == "pyspark"
    if spark and ids != IDS[0]:
        return
    monkeypatch.setattr(ordering, "SMALL", 100)
    monkeypatch.setattr(people_batches, "BATCH", 700)
    found = people(source(table()), ids).points(NAMES)
    values = np.where(np.arange(6) == 4, np.clip(found.values, 0, 1), found.values)
    theirs = PeopleMatrix.of(values, found.codes, found.people)
    ours = StreamedPeople(people(kept, ids).batched(NAMES).clipped([4]))
    for one, other in zip(ours.sums(moments), theirs.sums(moments), strict=True):
        assert (one == other).all()
    for slots in (700,) if spark else (None, 700):
        (one,), (other,) = (each.pairs(listed, slots, SeededEntropy(3), most=500) for each in (ours, theirs))
        assert (one == other).all()
        assert one[0] > 100 or ids == ("all",)
    if not spark:
        assert (ours.size, ours.width, ours.count()) == (theirs.size, theirs.width, theirs.count())
        assert (ours.size > ours.count()) == (ids != ("all",))
        assert ours.table.lacking()
        assert not people(kept, ids).batched(["y", "plain"]).lacking()
        ranks = theirs.count() // 2 + np.arange(-20, 20)
        for held in (1 << 25, 200):
            monkeypatch.setattr(people_batches, "HELD", held)
            for column in (0, 2, 3, 5):
                assert (ours.ordered(column, 20).at(ranks) == theirs.ordered(column, 20).at(ranks)).all()
        ends = ranks[[3, 9]] if ids != ("all",) else (1, 1)
        assert ours.ordered(0, 20).total(*ends) == theirs.ordered(0, 20).total(*ends)


def test_rows_and_people_are_dealt_wherever_they_are(kept):
    """Each to its slot, one partition of Spark after the other, and never all of them in memory."""
    found = people(source(table()), "who").points(["y", "gaps"])
    complete = np.isfinite(found.values).all(axis=1)
    there = found.people - 1 - found.codes[complete]
    for plain, size, wanted, ours in (
        (memory(["y", "gaps"]), ROWS, ROWS - 1 - np.arange(ROWS), streamed(kept, ["y", "gaps"])),
        (found.values[complete], found.people, there, people(kept, "who").batched(["y", "gaps"])),
    ):
        parts = list(ours.dealt(np.arange(size)[::-1], 700, -(-size // 700), complete=False))
        assert all((slots // 700 == part).all() for part, (slots, _) in enumerate(parts))
        slots, values = (np.concatenate(side, axis=-1) for side in zip(*parts, strict=True))
        one, other = np.lexsort((*values, slots)), np.lexsort((*plain.T, wanted))
        assert (slots[one] == wanted[other]).all()
        assert np.array_equal(values[:, one], plain[other].T, equal_nan=True)


def moments(batch):
    """Whole numbers of every column, and their products."""
    whole = np.rint(np.clip(batch, -1e3, 1e3))
    return [Vectors(whole), Squares(whole)]


def listed(one, other):
    """How many pairs there are, and sums that tell which, but not which row of them is first."""
    apart = np.rint(np.clip(np.abs(one - other), 0, 1e3) * 1024)
    return [np.append(one.shape[1], (apart * np.arange(1, 7)[:, None]).sum(axis=1))]


def test_tables_without_rows_and_with_one(tmp_path):
    for n, name in ((0, "none"), (1, "one")):
        (tmp_path / name).mkdir()
        ours = StreamedRows(QueryRows.of(PLACES["parquet"].put(table(20).slice(10, n), tmp_path / name), NAMES[:2]))
        assert (ours.size, ours.count()) == (n, n)
        for slots in (None, 1, 3):
            (found,) = ours.pairs(lambda a, b: [np.ones(a.shape[1]).sum()], slots, SeededEntropy(1))
            assert found == 0
        assert ours.sums(lambda b: [Vectors(np.ones(b.shape[1]))])[0] == n
        whose = people(ours.table.source, "all").batched(NAMES[:2])
        assert (whose.size, whose.count(), whose.lacking()) == (n, n, False)
        assert StreamedPeople(whose).sums(lambda b: [Vectors(np.ones(b.shape[1]))])[0] == n


def test_an_error_about_missing_values_is_for_the_curator(tmp_path):
    session = uptack.open(PLACES["parquet"].put(table(), tmp_path), missing="error", entropy=SeededEntropy(1))
    with pytest.raises(InvalidArgument, match="free of NaN"):
        session.regression("y", ["plain", "gaps"], epsilon=9)
    assert session.regression("y", ["plain"], epsilon=9, binary=[]).value.size == 2


def test_a_table_that_changes_is_an_error(tmp_path, monkeypatch):
    ours = streamed(PLACES["parquet"].put(table(), tmp_path), NAMES[:2])
    monkeypatch.setattr(QueryRows, "size", ROWS + 1)
    with pytest.raises(UptackError, match=snapshots.CHANGED):
        ours.taken(np.array([3]), complete=False)
    for n in (ROWS - 1, ROWS + 1):
        with pytest.raises(UptackError, match=snapshots.CHANGED):
            next(ours.dealt(np.arange(n), ROWS, 2, complete=False))


@pytest.mark.xdist_group("postgres")
def test_all_scans_see_one_state_of_the_table(postgres_uri, monkeypatch):
    """Somebody empties the table after the first scan: the release is that of the rows that there were."""
    con = ibis.postgres.from_connection(psycopg.connect(postgres_uri, autocommit=True))
    kept, run, gone = source(con.create_table("emptied", table())), snapshots.run, []

    def disturbed(con, read):
        found = run(con, read)
        if kept._state.reading is not None and not gone:
            with psycopg.connect(postgres_uri, autocommit=True) as other:
                gone.append(other.execute("DELETE FROM emptied").rowcount)
        return found

    monkeypatch.setattr(snapshots, "run", disturbed)
    assert shown(kept, "scatter") == in_memory("scatter")
    assert (gone, kept.rows) == ([ROWS], 0)
    con.disconnect()


def test_an_order_that_changes_from_scan_to_scan():
    """Sums are the same, and no row is in two pairs."""
    plain = ibis.memtable(pa.table({"x": np.arange(999.0), "y": -np.arange(999.0)}))
    data = StreamedRows(QueryRows.of(source(plain.order_by(ibis.random())), ["x", "y"]))

    def listed(slots):
        seen = []
        data.pairs(lambda a, b: (seen.append((a, b)), [a.shape[1]])[1], slots, SeededEntropy(2))
        return np.concatenate([np.stack(pair) for pair in seen], axis=2)

    for slots in (None, 400):
        one, other = listed(slots), listed(slots)
        assert not np.array_equal(one, other)
        for found in (one, other):
            assert (found[:, 0] == -found[:, 1]).all()
            assert np.unique(found[:, 0]).size == found[:, 0].size > (900 if slots is None else 400)
    assert data.sums(lambda b: [Vectors(b)])[0].tolist() == [499 * 999, -499 * 999]
    slots = np.where(np.arange(999) % 3, np.random.default_rng(0).permutation(999), -1)
    parts = list(data.table.dealt(slots, 100, 10, complete=False))
    assert [slot.tolist() for slot, _ in parts] == [[s for s in slots if s // 100 == part] for part in range(10)]
    assert np.unique(np.concatenate([rows[0] for _, rows in parts])).size == 666


def test_a_rehearsal_makes_nothing_of_the_size_of_the_table():
    unread: Batched = UnreadTable(10**15, 3)
    assert unread.beside(UnreadTable(10**15, 1)).clipped([0]).width == 4
    assert unread.coded(0, 1) is unread
    for ask in (unread.count, unread.lacking, lambda: unread.ordered(0, [])):
        with pytest.raises(Touched):
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
    found = pairs.equal(10_000, 100, SeededEntropy(1))
    assert found.shape == (2, 100)
    assert np.unique(found).size == 200


def chosen(names, numbers, slots, most=9):
    """The pairs of rows, by name, if each row has this number: slot·2^b + b bits."""
    bits = 63 - slots.bit_length()
    drawn = [(n // 4 << bits) + n % 4 for n in numbers]
    slot, places = pairs.chosen(len(names), slots, most, Scripted(drawn))
    return {(s, frozenset(names[i] for i in pair)) for s, pair in zip(slot.tolist(), places.T.tolist(), strict=True)}


def test_pairs_depend_on_the_rows_of_a_slot_and_not_on_their_order():
    """All numbers of four rows, of three and two in the two slots, in another order; and each row gone."""
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
