"""Whatever is wrong with an argument is found before the debit: a fuzz of every option, in sessions with a ledger."""

import contextlib
import sqlite3
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import uptack as ut
from tests.attacks.small_tables import columns_of, tabular
from uptack.errors import InvalidArgument
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


def frame():
    rng = np.random.default_rng(0)
    numbers = {name: rng.normal(size=ROWS) for name in "abc"}
    texts, flags = ["x", "y"] * (ROWS // 2), pd.array([True, False] * (ROWS // 2), "boolean")
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
@pytest.mark.parametrize("name", [made.name for made in tabular()])
def test_no_argument_is_refused_after_the_debit(tmp_path, name, person):
    declaration = declared()[name]
    if person and declaration.people is False:
        pytest.skip("not proved for people")
    session, ledger = opened(tmp_path, person)
    needed = {"per_person": "mean"} if person and declaration.people == "each" else {}
    base, wrong = {**declaration.examples[0], **needed, "epsilon": EPSILON}, []
    hostile = list(HOSTILE.items())[:: 3 if person else 1]
    with contextlib.closing(sqlite3.connect(tmp_path / f"{person}.db")) as book:
        before = debits(book)
        for option in declaration.allowed:
            for what, value in hostile if option not in ("entropy", "person") else ():
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


def test_what_is_wrong_with_one_of_two_columns_is_found_before_the_debit():
    session = ut.open({"a": np.arange(3000.0), "b": np.arange(3000.0)})
    with pytest.raises(InvalidArgument, match="plausible"):
        profile(session, 2, 1e-6, plausible={"a": (1, 100), "b": (True, 100)}, progress=False)
    assert session.spent.exact_epsilon == 0
