"""Whatever is wrong with an argument is found before the debit: a fuzz of every option, in sessions with a ledger."""

import contextlib
import sqlite3
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import uptack as ut
from tests.attacks.small_tables import columns_of, tabular
from uptack.errors import BudgetExceeded, InvalidArgument
from uptack.ledger import Ledger
from uptack.registry import declared
from uptack.report.profile import profile

ROWS, EPSILON = 400, 4
HOSTILE = {
    "None": None, "text": "zzz", "NUL": "\0", "huge": 10**30, "beyond floats": 10**400, "negative": -1, "zero": 0,
    "half": 0.5, "NaN": float("nan"), "infinity": float("inf"), "tiny": 1e-320, "array": np.array([1, 2]),
    "matrix": np.ones((2, 2)), "list": [0.2, 0.7], "nothing": [], "missing": [None, "a"], "mapping": {"a": 1},
    "object": object(), "NA": pd.NA, "bytes": b"x", "time": np.timedelta64(1, "s"), "True": True,
    "fraction": Fraction(1, 3), "function": len,
}  # fmt: skip

NAMES = [made.name for made in tabular()]
COMMON = 9
"""An option that so many functions have gets a third of the values from each: each value from three or more."""


def frame():
    rng = np.random.default_rng(0)
    numbers = {name: rng.normal(size=ROWS) for name in "abc"}
    texts = pd.array(["x", "y"] * (ROWS // 2), "string")
    flags = pd.array([True, False] * (ROWS // 2), "boolean")
    labels = np.repeat([0.0, 1.0], ROWS // 2)
    return pd.DataFrame({**numbers, "g": labels, "t": flags, "w": texts, "id": np.arange(ROWS)})


def opened(tmp_path, person=None):
    relation = ut.SUBSTITUTE if person is None else ut.SUBSTITUTE.by_person(person)
    ledger = Ledger(tmp_path / f"{person}.db", epsilon=10**9, delta=0.9, adjacency=relation)
    return ut.open(frame(), ledger=ledger, person=person), ledger


def asked(session, name, columns, options):
    """The error of a request; None where there is an answer or ⊥."""
    try:
        session.run(ut.Request(name, *columns, **options))
    except Exception as error:  # of any type: what matters is when
        return error
    return None


def debits(book):
    """How many entries a ledger has, without reading them."""
    return book.execute("SELECT count(*) FROM uptack_entries").fetchone()[0]


@pytest.mark.parametrize("person", [None, "id"])
@pytest.mark.parametrize("name", NAMES)
def test_no_argument_is_refused_after_the_debit(tmp_path, name, person):
    declaration = declared()[name]
    if person and declaration.people is False:
        pytest.skip("not proved for people")
    session, ledger = opened(tmp_path, person)
    needed = {"per_person": "mean"} if person and declaration.people == "each" else {}
    base, wrong = {**declaration.examples[0], **needed, "epsilon": EPSILON}, []
    place, hostile = NAMES.index(name), list(HOSTILE.items())
    with contextlib.closing(sqlite3.connect(tmp_path / f"{person}.db")) as book:
        before = debits(book)
        for option in declaration.allowed:
            if option in ("entropy", "person"):
                continue
            few = person is not None or sum(option in made.allowed for made in tabular()) >= COMMON
            for what, value in hostile[place % 3 :: 3] if few else hostile:
                error = asked(session, name, columns_of(declaration), {**base, option: value})
                after = debits(book)
                if error is not None and after > before:
                    wrong.append((option, what, repr(error)))
                before = after
    assert not wrong, wrong[:5]
    assert before == len(ledger.entries()) > 0


@pytest.mark.parametrize(
    ("name", "columns", "options", "argument"),
    [
        ("kde", ["a"], {"delta": 1e-6, "most_points": 10**30}, "most_points"),
        ("kde", ["a"], {"delta": 1e-6, "bandwidth": 1.0, "most_points": 10**30}, "most_points"),
        ("kde", ["a"], {"delta": 1e-6, "bandwidth": 1.0, "most_points": 10**400}, "most_points"),
        ("kde", ["a"], {"delta": 1e-6, "bandwidth": 1.0, "points": [1.0, 2.0], "most_points": 1}, "points"),
        ("kde", ["a"], {"delta": 1e-6, "bandwidth": 1.0, "rows_per_person": 10**30}, "rows_per_person"),
        ("kernel_machine", ["a", "b"], {"delta": 1e-6, "rows_per_person": 10**30}, "rows_per_person"),
        ("count", ["t"], {"rows_per_person": 10**30}, "rows_per_person"),
        ("count", ["t"], {"rows_per_person": 10**12, "epsilon": 1e-10}, "epsilon"),
        ("count", ["t"], {"nonnegative": np.array([True, False])}, "nonnegative"),
        ("count", ["t"], {"nonnegative": "no"}, "nonnegative"),
        ("histogram", ["g"], {"keys": [0, 1], "nonnegative": np.array([True, False])}, "nonnegative"),
        ("histogram", ["g"], {"keys": [0, 1], "total": pd.NA}, "total"),
        ("shortcut_regression", ["a", "b"], {"progress": np.array([True, False])}, "progress"),
        ("shortcut_regression", ["a", "b"], {"standard_errors": pd.NA}, "standard_errors"),
        ("superiority", ["a", "w"], {"groups": np.array([1, 2])}, "groups"),
    ],
)
def test_an_argument_that_was_debited_is_refused_by_name_and_for_free(tmp_path, name, columns, options, argument):
    session, ledger = opened(tmp_path)
    with pytest.raises(InvalidArgument, match=f"^{argument} must be"):
        session.run(ut.Request(name, *columns, **{"epsilon": EPSILON, **options}))
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize("name", [made.name for made in tabular() if made.reads.most is None or made.reads.most > 1])
def test_a_column_that_is_named_twice_is_refused_before_the_debit_or_not_at_all(tmp_path, name):
    session, ledger = opened(tmp_path)
    declaration = declared()[name]
    width = max(declaration.reads.least, 2)
    for columns in (["a"] * width, ["w"] * width, ["t"] * width, ["a", "b", "b"][:width], ["g", *"ab", "a"]):
        before = ledger.spent()
        error = asked(session, name, columns, {**declaration.examples[0], "epsilon": EPSILON})
        assert error is None or ledger.spent() == before, (columns, error)


@pytest.mark.parametrize(
    "ask",
    [
        lambda session: session.margins("w", "t", epsilon=1, groups={"w": ["x", "y"], "t": [True, False]}),
        lambda session: session.run_all([ut.Request("median", "a", epsilon=0.5)] * 2, progress=False),
        lambda session: session.run_all(
            [ut.Request("median", "a", epsilon=0.5), ut.Request("median", "z", epsilon=0.1)], progress=False
        ),
    ],
    ids=["margins", "several requests", "several requests, one of them wrong"],
)
def test_a_budget_that_does_not_cover_all_pays_for_none(tmp_path, ask):
    ledger = Ledger(tmp_path / "small.db", epsilon="3/4")
    with pytest.raises((BudgetExceeded, InvalidArgument)):
        ask(ut.open(frame(), ledger=ledger))
    assert ledger.spent().epsilon == 0


def test_what_is_wrong_with_one_of_two_columns_is_found_before_the_debit():
    session = ut.open({"a": np.arange(3000.0), "b": np.arange(3000.0)})
    with pytest.raises(InvalidArgument, match="plausible"):
        profile(session, 2, 1e-6, plausible={"a": (1, 100), "b": (True, 100)}, progress=False)
    assert session.spent.exact_epsilon == 0


# --------------------------------------------------------------------------------------------- public groups and levels

TEXTS = ["a", "b"], ["p", "q"]


@pytest.fixture(params=["memory", "file"])
def grouped(request, tmp_path):
    """A table of two texts, an integer, a truth value and a number, in memory or in a CSV file."""
    columns = {"t": np.array(TEXTS[0] * 700), "u": np.array(TEXTS[1] * 700), "k": np.arange(1400) % 3}
    columns |= {"f": np.arange(1400) % 2 == 0, "x": np.arange(1400) % 97 * 0.5}
    ledger = Ledger(tmp_path / "l.db", epsilon=1000, delta=0.1)
    if request.param == "memory":
        return ut.open(columns, ledger=ledger, entropy=ut.SeededEntropy(1)), ledger
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    types = {"t": "text", "u": "text", "k": "integer", "f": "boolean", "x": "number"}
    return ut.open(tmp_path / "t.csv", types=types, ledger=ledger, entropy=ut.SeededEntropy(1)), ledger


PAIRS = {
    "count": lambda s, groups: s.count(by=["t", "u"], groups=groups, epsilon=1),
    "crosstab": lambda s, groups: s.crosstab("t", "u", groups=groups, epsilon=1),
    "median": lambda s, groups: s["x"].median(by=["t", "u"], groups=groups, epsilon=1),
}
NO_PAIRS = {
    "a number": 3, "the number of columns": 2, "NumPy's number": np.int64(2), "a range": range(3), "bytes": b"ab",
    "a long range": range(10**30), "a scalar array": np.array(1), "a text": "ap", "a matrix": np.array([["a", "p"]]),
    "a text array": np.array(["ap", "bq"]), "a frame": pd.DataFrame({"t": ["a"], "u": ["p"]}), "texts": ["a", "b"],
    "a series": pd.Series(["ap"]), "lists": [["a", "p"]], "triples": [("a", "p", "p")], "one value": [("a",)],
    "a list inside": [(["a"], "p")], "mixed": [("a", "p"), "a"], "nothing": [], "one column": {"t": ["a"]},
    "another column": {"t": ["a"], "uu": ["p"]}, "a text for a list": {"t": "a", "u": "p"}, "numbers": [("a", 1)],
    "no mapping": {},
}  # fmt: skip


@pytest.mark.parametrize("ask", PAIRS)
def test_groups_of_several_columns_are_tuples_of_their_values(grouped, ask):
    session, ledger = grouped
    for what, groups in NO_PAIRS.items():
        with pytest.raises(InvalidArgument, match=r"^groups must be"):
            pytest.fail(f"{what}: {PAIRS[ask](session, groups)}")
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize("ask", PAIRS)
def test_groups_of_several_columns_can_be_any_collection_of_tuples(grouped, ask):
    session, _ = grouped
    wanted = {("a", "p"), ("b", "q")}
    listed = np.empty(2, object)
    listed[:] = list(wanted)
    for groups in (wanted, list(wanted), listed, pd.Series(list(wanted)), iter(wanted), dict.fromkeys(wanted).keys()):
        assert set(PAIRS[ask](session, groups).value) == wanted


def test_lists_by_column_are_all_combinations(grouped):
    session, _ = grouped
    made = session.count(by=["t", "k"], groups={"k": 3, "t": ["a", "b"]}, epsilon=5).value
    assert list(made) == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)]
    assert min(made.values()) > 200
    assert list(session.crosstab("t", "u", groups={"t": ["a"], "u": ["q", "p"]}, epsilon=1).value.levels(1)) == [
        "p",
        "q",
    ]
    assert list(session.count(by="t", groups={"t": ["b"]}, epsilon=1).value) == ["b"]


def test_an_unknown_column_of_groups_has_a_suggestion(grouped):
    with pytest.raises(InvalidArgument, match=r"Did you mean 'u'"):
        PAIRS["count"](grouped[0], {"t": ["a"], "uu": ["p"]})


NO_GROUPS = [
    ("k", ["1", "2"]), ("k", [0.5]), ("k", [("a",)]), ("t", [("a",)]), ("t", 2), ("t", [1, 2]), ("t", [b"a"]),
    ("f", ["True"]), ("f", [2]), ("t", np.array(1)), ("t", b"ab"), ("t", np.array([["a"]])), ("k", 10**30),
    ("k", np.int64(10**12)), ("t", {"k": ["a"]}),
]  # fmt: skip


def test_groups_that_no_row_can_be_in_are_refused(grouped):
    session, ledger = grouped
    for by, groups in NO_GROUPS:
        for ask in (session.count, session["x"].median):
            with pytest.raises(InvalidArgument, match=r"^groups must be"):
                pytest.fail(f"{by}, {groups}: {ask(by=by, groups=groups, epsilon=1)}")
    assert ledger.spent().epsilon == 0


def test_groups_that_rows_can_be_in_are_not_refused(grouped):
    session, _ = grouped
    for by, groups in (("k", [0, 1.0, None]), ("k", 3), ("f", [True, False]), ("f", [0, 1]), ("t", ["a", None])):
        assert len(session.count(by=by, groups=groups, epsilon=1).value) == (groups if groups == 3 else len(groups))
    years = pd.DataFrame({"year": pd.Categorical([2020, 2021] * 700), "x": np.arange(1400.0)})
    session = ut.open(years, entropy=ut.SeededEntropy(1))
    assert min(session.count(by="year", groups=[2020, 2021], epsilon=5).value.values()) > 650
    assert all(session["x"].median(by="year", groups=[2020, 2021], epsilon=5).value.values())
    assert session.chi_square("year", "year", levels=[[2020, 2021]] * 2, epsilon=5)
    assert session.chi_square("year", "year", levels=[[2020, 2021]] * 2, by="year", groups=[2020], epsilon=5)


@pytest.mark.parametrize(("column", "keys"), [("k", ["0", "1"]), ("k", [0.5]), ("t", [0, 1]), ("t", [("a",)])])
def test_keys_that_no_row_can_have_are_refused(grouped, column, keys):
    session, ledger = grouped
    with pytest.raises(InvalidArgument, match=r"^keys must be of type"):
        session.histogram(column, keys=keys, epsilon=1)
    assert ledger.spent().epsilon == 0
    assert session.histogram("k", keys=[0, 1.0, None], epsilon=1)


@pytest.mark.parametrize("groups", [np.array(1), np.array([["a", "b"]]), b"ab", 2, {"a": 1, "b": 2}])
def test_labels_must_be_a_list(grouped, groups):
    session, ledger = grouped
    for column in ("k", "t"):
        with pytest.raises(InvalidArgument, match=r"^groups must be"):
            session.mean_difference("k", column, groups=groups, epsilon=1)
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": [["a", "b"], ["0", "1"]]}, "of type integer, as the column 'k' is"),
        ({"levels": [2, 3]}, "of type text, as the column 't' is"),
        ({"levels": {"t": ["a", "b"], "kk": [0, 1]}, "delta": 1e-6}, "Did you mean 'k'?"),
        ({"levels": [list(map(str, range(100))), list(range(100))]}, "at most 400 cells"),
        ({"levels": [["a", "b"], np.array(1)]}, "levels must be"),
        ({"levels": [["a", "b"], [[0], [1]]]}, "levels must be"),
    ],
)
def test_levels_that_no_table_can_have_are_refused(grouped, options, message):
    session, ledger = grouped
    for more in ({}, {"by": "u", "groups": ["p", "q"]}):
        with pytest.raises(InvalidArgument, match=r"^levels must be") as found:
            session.chi_square("t", "k", epsilon=1, **options, **more)
        assert message in str(found.value)
    assert ledger.spent().epsilon == 0


def test_delta_finds_groups_or_levels_and_not_both(grouped):
    session, ledger = grouped
    with pytest.raises(InvalidArgument, match=r"^groups must be given .* List the groups, or list the categories"):
        session.chi_square("t", "k", by="u", epsilon=1, delta=1e-6)
    with pytest.raises(InvalidArgument, match=r"^groups must be given"):
        session.chi_square("t", "k", by="u", levels={"t": ["a", "b"]}, epsilon=1, delta=1e-6)
    assert ledger.spent().epsilon == 0
    assert session.chi_square("t", "k", by="u", levels=[["a", "b"], 3], epsilon=5, delta=1e-6)
    assert session.chi_square("t", "k", by="u", groups=["p", "q"], epsilon=5, delta=1e-6)


@pytest.mark.parametrize("groups", [["x"], None])
@pytest.mark.parametrize("many", [10**400, 10**30, (1 << 40) + 1], ids=["beyond floats", "huge", "one more"])
def test_groups_per_person_has_a_bound(tmp_path, many, groups):
    session, ledger = opened(tmp_path, "id")
    known = {"groups": groups} if groups else {"delta": 1e-6}
    for ask in (session.count, session["a"].median):
        with pytest.raises(InvalidArgument, match=r"^groups_per_person must be at most"):
            ask(by="w", groups_per_person=many, epsilon=1, **known)
    assert ledger.spent().epsilon == 0
    session.count(by="w", groups_per_person=1 << 40, epsilon=1, **known)
