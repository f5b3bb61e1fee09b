"""Sessions for people: nothing but released values tells how many rows anybody has, or what the ids are."""

import json
import warnings

import ibis
import numpy as np
import pytest

import uptack as ut
from tests.helpers import CountingEntropy
from uptack import ADD_REMOVE, SUBSTITUTE, SeededEntropy
from uptack.errors import Incomparable, InvalidArgument, UptackError
from uptack.registry import declared, in_tables
from uptack.registry.declaration import STATED
from uptack.session import Request
from uptack.table.ids import repeats
from uptack.table.opening import open_table

PEOPLE = 900
RNG = np.random.default_rng(3)
ROWS = RNG.integers(1, 5, PEOPLE)
KINDS = {"id": "integer", "town": "text", "age": "integer", "cost": "number", "ill": "boolean", "ward": "text"}


def table(rows_of_one=3, nobody=0, without=None):
    """A panel in which the first person has so many rows, and so many rows have no id."""
    counts = ROWS.copy()
    counts[0] = rows_of_one
    ids = np.repeat(np.arange(PEOPLE), counts)
    rng = np.random.default_rng(5)
    others = counts[1:].sum()
    draw = {
        "age": np.concatenate([np.full(rows_of_one, 20), rng.integers(18, 90, others)]),
        "cost": np.concatenate([np.full(rows_of_one, 1e6), rng.lognormal(5, 1, others)]),
        "ill": np.concatenate([np.ones(rows_of_one, bool), rng.random(others) < 0.3]),
        "ward": np.concatenate([np.full(rows_of_one, "a"), rng.choice(["a", "b"], others)]),
    }
    made = {"id": ids.astype(np.float64), "town": np.array(["t"])[ids * 0], **draw}
    if nobody:
        made = {name: np.concatenate([values, values[:nobody]]) for name, values in made.items()}
        made["id"][-nobody:] = np.nan
    if without is not None:
        made = {name: values[made["id"] != without] for name, values in made.items()}
    return made


def in_memory(made, _):
    return made


def parquet(made, folder):
    import pyarrow as pa
    import pyarrow.parquet

    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    pyarrow.parquet.write_table(pa.table(made), path)
    return path


places = pytest.mark.parametrize("put", [in_memory, parquet])


def requests():
    yield Request("median", "age", epsilon=0.1)
    yield Request("median", "age", epsilon=0.001)
    yield Request("median", "age", epsilon=0.5, per_person="mean")
    yield Request("median", "age", epsilon=0.5, weights="rows", at_most=3)
    yield Request("iqr", "cost", epsilon=0.5)
    yield Request("histogram", "ward", epsilon=0.5, delta=1e-6)
    yield Request("histogram", "cost", epsilon=0.5, edges=[0, 10, 100])
    yield Request("count", "ill", epsilon=0.5)
    yield Request("median", "age", epsilon=0.5, adjacency=ADD_REMOVE)


MISUSE = {
    "an id": lambda s: s["id"],
    "an id by name": lambda s: s.run(Request("median", "id", epsilon=1)),
    "groups by ids": lambda s: s["age"].median(epsilon=1, by="id", groups=[1.0]),
    "the order of ids": lambda s: s["age"].median(epsilon=1, per_person="last", order="id"),
    "no such order": lambda s: s["age"].median(epsilon=1, per_person="last", order="tim"),
    "no order": lambda s: s["age"].median(epsilon=1, per_person="last"),
    "no cap": lambda s: s["age"].median(epsilon=1, weights="rows"),
    "no weights": lambda s: s["age"].median(epsilon=1, at_most=3),
    "no such way": lambda s: s["age"].median(epsilon=1, per_person="mode"),
    "another person": lambda s: s["age"].median(epsilon=1, person="town"),
    "another adjacency": lambda s: s["age"].median(epsilon=1, adjacency=SUBSTITUTE.by_person("town")),
    "rows per person": lambda s: s["age"].median(epsilon=1, rows_per_person=3),
    "missing": lambda s: s["age"].median(epsilon=1, missing="error"),
    "weights of a table": lambda s: s["ward"].histogram(epsilon=1, delta=1e-6, weights="rows"),
    "ids in a table": lambda s: s["id"].histogram(epsilon=1, delta=1e-6),
}


def said(ask, *arguments):
    """The error that is raised, all of it."""
    with pytest.raises(UptackError) as caught:
        ask(*arguments)
    error = caught.value
    return type(error), str(error), error.__context__, error.__cause__


def public(session):
    """All that can be seen without a release: descriptions, plans, costs and errors."""
    plan = session.plan(requests())
    return (
        session.describe(),
        json.dumps(session.to_dict()),
        str(plan),
        json.dumps(plan.to_dict()),
        [said(ask, session) for ask in MISUSE.values()],
    )


@places
@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE], ids=str)
def test_a_neighbour_with_another_number_of_rows_looks_the_same(put, relation, tmp_path):
    ours, other = (
        ut.open(put(table(rows), tmp_path), person="id", adjacency=relation, entropy=CountingEntropy())
        for rows in (3, 200)
    )
    assert public(ours) == public(other)
    rows = int(ROWS.sum() - ROWS[0] + 200)
    assert not any(form in str(public(other)) for form in (str(rows), f"{rows:,}"))


@places
def test_a_person_who_comes_or_goes_is_not_seen(put, tmp_path):
    ours, other = (
        ut.open(put(made, tmp_path), person="id", adjacency=ADD_REMOVE, entropy=CountingEntropy())
        for made in (table(3), table(3, without=0))
    )
    assert "a secret number of people" in ours.describe()
    assert public(ours) == public(other)


@places
def test_rows_of_nobody_take_part_in_nothing(put, tmp_path):
    found = [
        [ut.open(put(made, tmp_path), person="id", entropy=SeededEntropy(1)).run(request) for request in requests()]
        for made in (table(3), table(3, nobody=50))
    ]
    assert list(map(repr, found[0])) == list(map(repr, found[1]))


@places
def test_what_is_not_proved_is_refused_before_the_debit(put, tmp_path):
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=10, delta=1e-3, adjacency=SUBSTITUTE.by_person("id"))
    session = ut.open(put(table(), tmp_path / ".."), person="id", ledger=ledger)
    refused = 0
    for name, declaration in declared().items():
        if not in_tables(declaration) or declaration.people not in (False, "each", STATED):
            continue
        columns = ("age", "cost") if declaration.reads.least > 1 else ("age",)
        if declaration.reads.kinds[0] == "boolean":
            columns = ("ill",)
        given = {"epsilon": 1, **declaration.examples[0]}
        if "delta" in declaration.allowed:
            given["delta"] = 1e-6
        assert said(session.run, Request(name, *columns, **given))[0] is InvalidArgument
        refused += 1
    for ask in MISUSE.values():
        said(ask, session)
    assert refused
    assert not ledger.history()
    assert ledger.spent().exact_epsilon == 0


def test_a_ledger_has_one_unit(tmp_path):
    data = table()
    rows, people = (
        ut.Ledger(tmp_path / f"{i}.db", epsilon=3, adjacency=relation)
        for i, relation in enumerate((SUBSTITUTE, SUBSTITUTE.by_person("id")))
    )
    assert ut.open(data, ledger=rows)["age"].median(epsilon=1)
    assert ut.open(data, ledger=people, person="id")["age"].median(epsilon=1)
    for ledger, person, fix in (
        (rows, "id", r"SUBSTITUTE.by_person\('id'\)"),
        (people, None, r"person=\['id'\]"),
        (people, ["id", "town"], r"by_person\('id', 'town'\)"),
    ):
        with pytest.raises(InvalidArgument, match="ledger must be a ledger for .*" + fix):
            ut.open(data, ledger=ledger, person=person)
    with pytest.raises(Incomparable):
        people.debit(ut.Privacy(1), what="a median of rows")
    again = ut.Ledger(tmp_path / "1.db")
    assert again.adjacency == SUBSTITUTE.by_person("id")
    assert again.verify()
    assert again.remaining().exact_epsilon == 2


def test_an_old_ledger_of_rows_keeps_working(tmp_path):
    """What is written about rows is what was written before there were people."""
    ledger = ut.Ledger(tmp_path / "old.db", epsilon=3)
    ledger.debit(ut.Privacy(1), what="a median")
    from uptack.ledger.entry_chain import details
    from uptack.privacy.loss import Pure

    assert details(SUBSTITUTE, Pure(1)) == (
        '{"adjacency":{"kind":"substitute","rows_per_person":1},"loss":{"epsilon":"1/1","kind":"Pure"}}'
    )
    assert ut.open(table(), ledger=ut.Ledger(tmp_path / "old.db"))["age"].median(epsilon=1)


def test_who_opens_says_whose_rows_they_are_once():
    for options, word in (
        ({"person": "idd"}, "Did you mean 'id'"),
        ({"person": []}, "the name of a column"),
        ({"person": ["id", "id"]}, "different columns"),
        ({"person": 3}, "the name of a column"),
        ({"person": "id", "rows_per_person": 2}, "rows_per_person must be 1"),
        ({"person": "id", "adjacency": SUBSTITUTE.by_person("town")}, "as in adjacency"),
        ({"noun": "a\nb"}, "noun must be"),
    ):
        with pytest.raises(InvalidArgument, match=word):
            ut.open(table(), **options)
    assert ut.open(table(), adjacency=SUBSTITUTE.by_person("id")).source.size == PEOPLE


def test_the_words_say_whose_privacy_is_meant():
    data = table()
    assert (
        "Each person is protected with all their rows (those with the same id and town)."
        in ut.open(data, person=["id", "town"]).describe()
    )
    assert "Each person-year is protected." in ut.open(data, noun="person-year").describe()
    assert "Each person with at most 5 rows is protected." in ut.open(data, rows_per_person=5).describe()


def test_threads_share_a_session(tmp_path):
    """Temporary tables of one release are not in the way of another."""
    from concurrent.futures import ThreadPoolExecutor

    session = ut.open(parquet(table(), tmp_path), person="id", entropy=SeededEntropy(1))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: bool(session["age"].median(epsilon=1)), range(12)))
    assert all(found)
    session["age"].median(epsilon=1)
    con = session.source.outer.table.get_backend().con
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchone()[0] <= 2


TYPES = {
    "list": "[1, 2]",
    "struct": "{'a': 1}",
    "interval": "INTERVAL 3 DAY",
    "map": "map([1], [2])",
    "json": "'{}'::JSON",
}


@pytest.mark.parametrize("name", TYPES)
def test_ids_of_types_without_one_equality_are_refused_by_their_type(name):
    """Before anything is read or spent, whatever the rows: those with such an id, none, or no rows at all."""
    said = []
    for rows in (0, 3):
        con = ibis.duckdb.connect()
        con.raw_sql(f"CREATE TABLE t AS SELECT {TYPES[name]} AS id, 1 AS other, 2.0 AS x FROM range({rows})")
        for person in ("id", ["other", "id"]):
            with pytest.raises(InvalidArgument, match=r"^person must be a column of .* got a column of type") as raised:
                ut.open(con.table("t"), person=person)
            said.append(str(raised.value))
        assert all("id" not in line.names for line in repeats(open_table(con.table("t"))))
    assert len(set(said)) == 1


class _Subclassed(int):
    """Python warns of a number whose `__int__` is of a subclass."""

    def __int__(self):
        return _Subclassed(3)


SIGNALLING = np.array([0x7F800001], np.uint32).view(np.float32)


@pytest.mark.parametrize(
    "ids", [np.append(np.ones(9, np.float32), SIGNALLING), [1] * 9 + [_Subclassed(7)]], ids=["NumPy's", "Python's"]
)
def test_no_id_makes_a_session_warn_when_it_is_opened(ids):
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        ut.open({"id": ids, "x": np.arange(10.0)}, person="id")
    assert not caught


def test_options_about_people_hold_in_groups_too():
    """Left out in groups, the largest of each person's numbers would be that of a row."""
    ids, ward = np.repeat(np.arange(2000), 4), np.repeat(["a", "b"], 4000)
    opened = ut.open({"id": ids, "ward": ward, "x": np.tile([0.0, 0.0, 0.0, 8.0], 2000)}, person="id")
    each = {"epsilon": 20, "by": "ward", "groups": ["a", "b"]}
    assert all(abs(one.value - 8) < 0.5 for one in opened.median("x", per_person="max", **each).value.values())
    assert all(abs(one.value) < 0.5 for one in opened.median("x", **each).value.values())
