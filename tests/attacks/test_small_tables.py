"""No rows, nobody, one row, one person, nothing but missing values: an answer, ⊥ or a public refusal, and alike."""

import pytest

import uptack as ut
from tests.attacks import small_tables
from tests.attacks.small_tables import APART, PAPERS, SLOW, TABLES, VALUES, observed, tabular
from uptack.registry import declared

CURATOR = ("free of NaN and infinities", "y must be -1 or +1 in every row")
"""What is said of rows where a curator's own call says missing="error"."""


def bad(seen, way):
    """Whether a caller saw what must not be seen."""
    if seen == "reply" or (seen.startswith("InvalidArgument") and "weights='rows'" in seen):
        return False
    return not (way.startswith("call") and "missing" not in way and any(words in seen for words in CURATOR))


@pytest.mark.parametrize("name", [made.name for made in tabular()])
def test_functions_of_columns_reply_on_next_to_nobody(name):
    declaration = declared()[name]
    seen = {table: {way: observed(ask) for way, ask in small_tables.calls(declaration, table)} for table in TABLES}
    wrong = [(table, way, said) for table, ways in seen.items() for way, said in ways.items() if bad(said, way)]
    assert not wrong, wrong[:3]
    for way in seen["nobody"]:  # how many people there are is secret, and so is whether there is one
        if "of people" in way and "session" in way:
            assert seen["nobody"][way] == seen["one person"][way] == seen["no rows"][way], way


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", APART)
def test_functions_of_other_rows_reply_on_next_to_nobody(name, table):
    data = small_tables.frame(table)
    for options in ({}, {"adjacency": ut.ADD_REMOVE}):
        for person in ({}, {"person": data["id"]}):
            said = observed(lambda o=options | person: APART[name](data, o))
            assert said == "reply" or said.startswith("InvalidArgument: blocks must be at most times·"), said
            if options:  # the number of rows, or of people, is secret
                assert said == "reply"


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", PAPERS)
def test_functions_of_papers_reply_or_refuse_by_the_public_number_of_rows(name, table):
    said = observed(lambda: PAPERS[name](small_tables.frame(table)))
    refused = said.startswith("InvalidArgument") and (table == "no rows" or "free of NaN" in said)
    assert said == "reply" or refused, said


def test_every_declared_function_is_tried_or_has_no_rows():
    own = {name for name, made in declared().items() if made.function.__module__.startswith("uptack.")}
    tried = {made.name for made in tabular()} & own | {*APART, *PAPERS} | SLOW | VALUES
    assert own == tried


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Two of the same tables as files, which an engine reads: without rows by a condition, and with rows of nobody."""
    folder = tmp_path_factory.mktemp("small")
    for table in ("nobody", "one person"):
        small_tables.frame(table).to_parquet(folder / f"{table}.parquet")
    return ut.open(folder / "one person.parquet").where(a=(">", 100)), ut.open(folder / "nobody.parquet", person="id")


@pytest.mark.parametrize("name", [made.name for made in tabular()])
def test_an_engine_replies_where_no_row_meets_a_condition_and_for_nobody(name, sessions):
    made = declared()[name]
    options = {**made.examples[0], "epsilon": small_tables.EPSILON, "adjacency": ut.ADD_REMOVE}
    nothing, nobody = sessions
    for session, people in [(nothing, {}), *((nobody, more) for more in small_tables.people_options(made)[:1])]:
        request = ut.Request(name, *small_tables.columns_of(made), **options, **people)
        assert observed(lambda s=session, r=request: s.run(r)) == "reply", people
